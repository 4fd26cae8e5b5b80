// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/cleanup.h"

// The error idiom. Every function that can fail ends in `struct error *err` and returns 0 or
// -1; out-parameters are touched only on success. The message is written where the fault is
// seen, lower case, what failed first, the subject in quotes, no full stop; callers add a
// prefix only if they know something that it lacks. Nothing below cmd/main.c prints an error.
//
// `code` is an errno value and is what callers branch on: EINVAL usage, ENOENT no such
// machine, EEXIST, EBUSY running or locked, ETIMEDOUT, EBADMSG corrupt input, ENOTSUP, ECHILD
// a tool failed, EINTR interrupted by the user. The struct lives on the caller's stack and
// owns nothing.
struct error {
    int code;
    char message[2048];
};

int error_set(struct error *err, int code, const char *format, ...) PRINTF_LIKE(3, 4);

// As error_set(), with errno as the code and ": <its text>" appended.
int error_errno(struct error *err, const char *format, ...) PRINTF_LIKE(2, 3);

// Puts "<text>: " in front of the message. Returns -1.
int error_prefix(struct error *err, const char *format, ...) PRINTF_LIKE(2, 3);

// Appends to the message, for a hint on what to do. Returns -1.
int error_append(struct error *err, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
