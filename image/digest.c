// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/digest.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

static const size_t chunk_size = 1 << 20;

int digest_begin(struct digest *digest, struct error *err)
{
    if (!digest->context)
        digest->context = EVP_MD_CTX_new();
    if (!digest->context || EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) != 1)
        return error_set(err, ENOTSUP, "the cryptography library has no SHA-256");
    return 0;
}

void digest_add(struct digest *digest, const void *bytes, size_t length)
{
    int added = EVP_DigestUpdate(digest->context, bytes, length);
    assert(added == 1);
    (void)added;
}

void digest_end(struct digest *digest, char hex[DIGEST_HEX])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    int ended = EVP_DigestFinal_ex(digest->context, bytes, &length);
    assert(ended == 1 && length * 2 + 1 == DIGEST_HEX);
    (void)ended;
    for (unsigned i = 0; i < length; i++) {
        hex[i * 2] = digits[bytes[i] >> 4];
        hex[i * 2 + 1] = digits[bytes[i] & 15];
    }
    hex[DIGEST_HEX - 1] = '\0';
}

void digest_release(struct digest *digest)
{
    EVP_MD_CTX_free(digest->context);
    digest->context = NULL;
}

int digest_add_file(struct digest *digest, int fd, uint64_t length, const char *name,
                    struct watch *watch, struct error *err)
{
    cleanup_free char *chunk = xmalloc(chunk_size);
    for (uint64_t at = 0; at < length;) {
        size_t wanted = length - at < chunk_size ? (size_t)(length - at) : chunk_size;
        ssize_t n = pread(fd, chunk, wanted, (off_t)at);
        if (n < 0 && errno == EINTR)
            n = 0;
        else if (n < 0)
            return error_errno(err, "cannot read '%s'", name);
        else if (n == 0)
            return error_set(err, EIO, "'%s' became shorter while it was read", name);
        digest_add(digest, chunk, (size_t)n);
        at += (uint64_t)n;
        if (watch_step(watch, at, length, err) < 0)
            return -1;
    }
    return 0;
}

int digest_file(char hex[DIGEST_HEX], int fd, uint64_t length, const char *name,
                struct watch *watch, struct error *err)
{
    CLEANUP(digest_release) struct digest digest = DIGEST_INIT;
    if (digest_begin(&digest, err) < 0 ||
        digest_add_file(&digest, fd, length, name, watch, err) < 0)
        return -1;
    digest_end(&digest, hex);
    return 0;
}

bool digest_parse(char hex[DIGEST_HEX], const char *text)
{
    static const char prefix[] = "sha256:";
    if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
        text += sizeof(prefix) - 1;
    if (strlen(text) != DIGEST_HEX - 1)
        return false;
    for (size_t i = 0; i < DIGEST_HEX; i++) {
        if (text[i] && !isxdigit((unsigned char)text[i]))
            return false;
        hex[i] = (char)tolower((unsigned char)text[i]);
    }
    return true;
}
