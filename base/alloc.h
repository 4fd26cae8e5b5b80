// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>

#include "base/cleanup.h"

// Allocators that never return NULL: when memory is out they print one line and abort, so
// that no caller carries an error path that cannot be tested. The caller frees the result.
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *block, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t length);
char *xasprintf(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
