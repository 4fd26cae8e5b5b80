// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_STRVEC_H
#define BASE_STRVEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

// A growing vector of strings that it owns, always NULL-terminated: every argv is one.
struct strvec {
    char **items; // NULL while empty
    size_t count, capacity;
};

#define STRVEC_INIT \
    {               \
        NULL, 0, 0  \
    }

void strvec_push(struct strvec *vec, const char *text); // copies
void strvec_pushf(struct strvec *vec, const char *format, ...) PRINTF_LIKE(2, 3);
void strvec_pushv(struct strvec *vec, const char *const *texts); // up to NULL
void strvec_take(struct strvec *vec, char *text);                // owns text now
bool strvec_contains(const struct strvec *vec, const char *text);
void strvec_split(struct strvec *vec, const char *text, char separator); // appends the fields
void strvec_release(struct strvec *vec);

// The words as one line, quoted so that a shell would read them back. The caller frees.
// For logs and vm.argv; nothing is ever run through a shell.
char *strvec_quote(const struct strvec *vec);

#endif
