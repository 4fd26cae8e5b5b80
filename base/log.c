// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

// The one setting of the process that is not passed along: which lines reach stderr.
static enum log_level threshold = LOG_LEVEL_WARN;

void log_set_level(enum log_level level)
{
    threshold = level;
}

bool log_level_parse(const char *name, enum log_level *level)
{
    static const struct {
        const char *name;
        enum log_level level;
    } names[] = {
        {"trace", LOG_LEVEL_DEBUG}, {"debug", LOG_LEVEL_DEBUG},  {"info", LOG_LEVEL_INFO},
        {"warn", LOG_LEVEL_WARN},   {"warning", LOG_LEVEL_WARN}, {"error", LOG_LEVEL_ERROR},
        {"fatal", LOG_LEVEL_ERROR}, {"panic", LOG_LEVEL_ERROR},
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strcasecmp(name, names[i].name) == 0) {
            *level = names[i].level;
            return true;
        }
    }
    return false;
}

static void PRINTF_LIKE(2, 0) print_line(enum log_level level, const char *format, va_list args)
{
    static const char *const words[] = {"error", "warning", "info", "debug"};
    static const char *const tags[] = {"ERRO", "WARN", "INFO", "DEBU"};
    char message[2048], line[4400], stamp[32];

    if (level > threshold)
        return;
    vsnprintf(message, sizeof(message), format, args);
    if (isatty(STDERR_FILENO)) {
        snprintf(line, sizeof(line), "%s[0000] %s\n", tags[level], message);
    } else {
        char quoted[2 * sizeof(message)];
        size_t n = 0;
        for (const char *c = message; *c; c++) {
            if (*c == '"' || *c == '\\')
                quoted[n++] = '\\';
            quoted[n++] = *c;
        }
        quoted[n] = '\0';
        time_t now = time(NULL);
        struct tm tm;
        strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
        snprintf(line, sizeof(line), "time=\"%s\" level=%s msg=\"%s\"\n", stamp, words[level],
                 quoted);
    }
    fputs(line, stderr); // one write: lines of several processes do not mix
}

#define DEFINE_LOG(name, level)          \
    void name(const char *format, ...)   \
    {                                    \
        va_list args;                    \
        va_start(args, format);          \
        print_line(level, format, args); \
        va_end(args);                    \
    }

DEFINE_LOG(log_error, LOG_LEVEL_ERROR)
DEFINE_LOG(log_warn, LOG_LEVEL_WARN)
DEFINE_LOG(log_info, LOG_LEVEL_INFO)
DEFINE_LOG(log_debug, LOG_LEVEL_DEBUG)
