// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "base/cleanup.h"

// Four levels on stderr, in the form that podman's log lines have, since tools scan for it:
//     time="2026-11-30T17:09:39Z" level=warning msg="..."
// and on a terminal `WARN[0000] ...`. The default level is warn. A module may log progress and
// what it works around, never the error that it returns.
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level);
bool log_level_parse(const char *name, enum log_level *level); // podman's names; false: unknown
void log_error(const char *format, ...) PRINTF_LIKE(1, 2);     // a fault that does not end the verb
void log_warn(const char *format, ...) PRINTF_LIKE(1, 2);
void log_info(const char *format, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
