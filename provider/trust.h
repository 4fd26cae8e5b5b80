// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_TRUST_H
#define PROVIDER_TRUST_H

#include "base/error.h"
#include "base/strbuf.h"
#include "base/strvec.h"

// The certificate authorities that this host trusts beyond those of its distribution, which the
// guest has from its own: a company's, a proxy's. As PEM, each once, and nothing else but
// certificates.
//
//   macOS   what the system's and the user's keychain hold and `security verify-cert` (macOS 13 to
//           26; its manual page) finds trusted for TLS
//   Linux   what was put where update-ca-certificates (Debian, Arch, SUSE) and update-ca-trust
//           (Fedora) look for additions
//
// For tests, PODMAN_MACHINE_VMNET_ANCHORS names a folder in place of Linux's.
struct trust {
    struct strbuf pem;
    unsigned count;
    struct strvec digests; // of those that are in it
};

#define TRUST_INIT                  \
    {                               \
        STRBUF_INIT, 0, STRVEC_INIT \
    }
void trust_release(struct trust *trust);

// Adds what is new. EFBIG: more than 4 MiB of certificates in all; ECHILD, ENOENT: macOS's tool.
// A file that cannot be read, or holds something else, is told of and left out.
int trust_collect(struct trust *trust, struct error *err);

// Its two ways. `folder` is searched to the bottom; an absent one is empty.
int trust_add_folder(struct trust *trust, const char *folder, struct error *err);
int trust_add_keychains(struct trust *trust, struct error *err);

#endif
