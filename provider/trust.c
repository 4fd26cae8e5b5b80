// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/trust.h"

#include <dirent.h>
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process.h"
#include "provider/host.h"
#include "provider/paths.h"

static const size_t largest_file = 1 << 20, largest_pem = 4 << 20;
static const unsigned deepest = 4;
static const int64_t security_ms = 60000; // a keychain may ask its owner first

static void free_certificate(X509 **certificate)
{
    X509_free(*certificate);
}

static void free_bio(BIO **bio)
{
    BIO_free(*bio);
}

void trust_release(struct trust *trust)
{
    strbuf_release(&trust->pem);
    strvec_release(&trust->digests);
    *trust = (struct trust)TRUST_INIT;
}

static char *digest_of(const X509 *certificate)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    X509_digest(certificate, EVP_sha256(), digest, &length);
    for (unsigned i = 0; i < length; i++)
        strbuf_addf(&text, "%02x", digest[i]);
    return strbuf_steal(&text);
}

static char *pem_of(X509 *certificate)
{
    CLEANUP(free_bio) BIO *bio = BIO_new(BIO_s_mem());
    char *bytes = NULL;
    if (!bio || PEM_write_bio_X509(bio, certificate) != 1)
        return NULL;
    long length = BIO_get_mem_data(bio, &bytes);
    return xstrndup(bytes, (size_t)length);
}

static int add(struct trust *trust, X509 *certificate, struct error *err)
{
    cleanup_free char *digest = digest_of(certificate);
    cleanup_free char *pem = pem_of(certificate);
    if (!pem || strvec_contains(&trust->digests, digest))
        return 0;
    if (trust->pem.length + strlen(pem) > largest_pem)
        return error_set(err, EFBIG, "this host trusts more than %zu bytes of certificates",
                         largest_pem);
    strbuf_adds(&trust->pem, pem);
    strvec_take(&trust->digests, steal_string(&digest));
    trust->count++;
    return 0;
}

// Whether macOS trusts it for TLS: only what is a CA at all, for a keychain also holds people's
// and services' own certificates.
static bool is_trusted_by_keychains(X509 *certificate)
{
    struct error err;
    CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    cleanup_free char *pem = pem_of(certificate);
    const char *folder = getenv("TMPDIR");
    cleanup_unlink char *path = xasprintf("%s/pmv-ca.XXXXXX", folder && *folder ? folder : "/tmp");
    cleanup_close int fd = -1;
    if (!pem || X509_check_ca(certificate) == 0 || (fd = mkstemp(path)) < 0 ||
        file_write_all(fd, pem, strlen(pem)) < 0)
        return false;
    static const char *const before[] = {"security", "verify-cert", "-p", "ssl", "-c", NULL};
    static const char *const after[] = {"-l", "-L", NULL}; // it is a CA; do not ask the network
    strvec_pushv(&argv, before);
    strvec_push(&argv, path);
    strvec_pushv(&argv, after);
    return process_run_within(&argv, security_ms, NULL, &words, &err) == 0;
}

// Every block of the text that is a certificate; other blocks (keys, lists of revoked ones) and
// what stands between them are passed over.
static int add_text(struct trust *trust, const char *text, size_t length, bool ask,
                    struct error *err)
{
    CLEANUP(free_bio) BIO *bio = BIO_new_mem_buf(text, (int)length);
    char *name = NULL, *header = NULL;
    unsigned char *bytes = NULL;
    long size;
    int result = 0;
    while (bio && result == 0 && PEM_read_bio(bio, &name, &header, &bytes, &size) == 1) {
        const unsigned char *at = bytes;
        CLEANUP(free_certificate)
        X509 *certificate = strcmp(name, PEM_STRING_X509) == 0 ? d2i_X509(NULL, &at, size) : NULL;
        if (certificate && (!ask || is_trusted_by_keychains(certificate)))
            result = add(trust, certificate, err);
        OPENSSL_free(name);
        OPENSSL_free(header);
        OPENSSL_free(bytes);
    }
    return result;
}

// PEM, or a single certificate in DER, which update-ca-trust takes as well.
static int add_file(struct trust *trust, const char *path, struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    if (file_read(&text, path, largest_file, err) < 0) {
        log_warn("left out of the trusted CA certificates: %s", err->message);
        return 0;
    }
    const unsigned char *at = (const unsigned char *)text.text;
    CLEANUP(free_certificate) X509 *single = d2i_X509(NULL, &at, (long)text.length);
    if (single)
        return add(trust, single, err);
    return add_text(trust, text.text, text.length, false, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Sorted, so that the same certificates give the same text.
static int list_folder(struct strvec *paths, const char *folder)
{
    cleanup_dir DIR *dir = opendir(folder);
    const struct dirent *entry;
    if (!dir)
        return -1;
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            strvec_pushf(paths, "%s/%s", folder, entry->d_name);
    if (paths->count)
        qsort(paths->items, paths->count, sizeof(*paths->items), by_name);
    return 0;
}

static int add_folder(struct trust *trust, const char *folder, unsigned depth, struct error *err)
{
    CLEANUP(strvec_release) struct strvec paths = STRVEC_INIT;
    if (list_folder(&paths, folder) < 0) {
        if (errno != ENOENT)
            log_warn("left out of the trusted CA certificates: folder '%s': %s", folder,
                     strerror(errno));
        return 0;
    }
    for (size_t i = 0; i < paths.count; i++) {
        struct stat st;
        if (stat(paths.items[i], &st) < 0)
            continue;
        if (S_ISREG(st.st_mode) && add_file(trust, paths.items[i], err) < 0)
            return -1;
        if (S_ISDIR(st.st_mode) && depth < deepest &&
            add_folder(trust, paths.items[i], depth + 1, err) < 0)
            return -1;
    }
    return 0;
}

int trust_add_folder(struct trust *trust, const char *folder, struct error *err)
{
    return add_folder(trust, folder, 0, err);
}

static int add_keychain(struct trust *trust, const char *keychain, struct error *err)
{
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT, words = STRBUF_INIT;
    static const char *const find[] = {"security", "find-certificate", "-a", "-p", NULL};
    strvec_pushv(&argv, find);
    strvec_push(&argv, keychain);
    if (process_run_within(&argv, security_ms, &text, &words, err) < 0)
        return -1;
    return add_text(trust, text.text, text.length, true, err);
}

int trust_add_keychains(struct trust *trust, struct error *err)
{
    cleanup_free char *home = paths_home();
    cleanup_free char *login = xasprintf("%s/Library/Keychains/login.keychain-db", home);
    if (add_keychain(trust, "/Library/Keychains/System.keychain", err) < 0)
        return -1;
    return file_exists(login) ? add_keychain(trust, login, err) : 0;
}

int trust_collect(struct trust *trust, struct error *err)
{
    static const char *const folders[] = {
        "/usr/local/share/ca-certificates",
        "/etc/pki/ca-trust/source/anchors",
        "/etc/ca-certificates/trust-source/anchors",
        "/etc/pki/trust/anchors",
    };
    const char *only = getenv("PODMAN_MACHINE_VMNET_ANCHORS");
    if (only && *only)
        return trust_add_folder(trust, only, err);
    if (host_is_macos())
        return trust_add_keychains(trust, err);
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        if (trust_add_folder(trust, folders[i], err) < 0)
            return -1;
    return 0;
}
