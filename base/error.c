// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *format, ...)
{
    va_list args;
    err->code = code;
    va_start(args, format);
    vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    return -1;
}

int error_errno(struct error *err, const char *format, ...)
{
    int code = errno;
    va_list args;
    err->code = code;
    va_start(args, format);
    vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    return error_append(err, ": %s", strerror(code));
}

int error_prefix(struct error *err, const char *format, ...)
{
    char prefix[sizeof(err->message)];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof(prefix) - 2, format, args);
    va_end(args);
    strcat(prefix, ": ");

    // memmove, since the old text cannot be printed into itself.
    size_t length = strlen(prefix);
    size_t room = sizeof(err->message) - length - 1;
    size_t old = strlen(err->message);
    if (old > room)
        old = room;
    memmove(err->message + length, err->message, old);
    err->message[length + old] = '\0';
    memcpy(err->message, prefix, length);
    return -1;
}

int error_append(struct error *err, const char *format, ...)
{
    size_t used = strlen(err->message);
    va_list args;
    va_start(args, format);
    vsnprintf(err->message + used, sizeof(err->message) - used, format, args);
    va_end(args);
    return -1;
}
