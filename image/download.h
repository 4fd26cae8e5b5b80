// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_DOWNLOAD_H
#define IMAGE_DOWNLOAD_H

#include <stdint.h>

#include "base/error.h"
#include "image/watch.h"

// One file to fetch over http or https. Borrows everything.
struct download {
    const char *url;
    const char *sha256; // 64 lower-case hex digits: the only judge of what arrives
    uint64_t size;      // in bytes; 0: not known
    const char *path;   // where it will be; next to it .part and .part.json while it is not whole
    const char *label;  // what people are shown

    // Looks at the first download_check_bytes when they are there (at all of a smaller file),
    // so that nobody waits for what will be refused. `total` is 0 when it is not known.
    int (*check)(int fd, uint64_t have, uint64_t total, const char *label, struct error *err);
    // Told of everything that is there, `fd` is readable and keeps what has been told of, until
    // `restarted` says that all of it is thrown away. Both or neither.
    void (*arrived)(void *context, int fd, uint64_t have, uint64_t total);
    void (*restarted)(void *context);
    void *context;
    unsigned stall_s;  // give up after so long without a byte; 0: 30
    unsigned attempts; // as long as each brings the download further; 0: 5
};
extern const uint64_t download_check_bytes;

// Fetches, verifies while streaming, syncs and renames: if `path` exists afterwards it is
// right. What an earlier, broken run left is continued, if the server says that it still has
// the same file (If-Range), and is otherwise begun anew. TLS is always verified, by the
// system's authorities or those in $CURL_CA_BUNDLE or $SSL_CERT_FILE; redirects are followed,
// also to plain http, since the digest decides.
//
// On a broken connection, EINTR and ENOSPC the part is kept; it is removed on EBADMSG: a wrong
// digest or size, or what `check` refused. Else: ENOENT no such file, ECONNREFUSED, ETIMEDOUT,
// EACCES, EIO.
int download_fetch(const struct download *download, struct watch *watch, struct error *err);

#endif
