// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_PLIST_H
#define PROVIDER_PLIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

// Writes an XML property list. Text is escaped; what XML cannot hold (control characters, bytes
// that are not UTF-8) is found by plist_end(), so that nobody checks after each line.
struct plist {
    struct strbuf text;
    int depth;
    bool bad; // a string that XML cannot hold was given
};

void plist_begin(struct plist *plist); // the outermost dict is open
void plist_key(struct plist *plist, const char *key);
void plist_string(struct plist *plist, const char *text);
void plist_bool(struct plist *plist, bool value);
void plist_integer(struct plist *plist, int64_t value);
void plist_open(struct plist *plist, const char *kind); // "array" or "dict"
void plist_close(struct plist *plist, const char *kind);

// Closes the outermost dict and gives the text away; the caller frees. EINVAL: see above; then
// there is no text. Either way plist is empty again.
int plist_end(struct plist *plist, char **text, struct error *err);

#endif
