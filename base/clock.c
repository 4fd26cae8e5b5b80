// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"

static const int64_t second_ns = 1000000000;

int64_t clock_monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool clock_sleep_ms(int64_t ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
    return nanosleep(&pause, NULL) == 0;
}

int64_t clock_wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * second_ns + now.tv_nsec;
}

char *clock_format_rfc3339(int64_t wall_ns)
{
    if (wall_ns == 0)
        return xstrdup("0001-01-01T00:00:00Z");

    time_t seconds = (time_t)(wall_ns / second_ns);
    long nanos = (long)(wall_ns % second_ns);
    struct tm tm;
    char stamp[32], fraction[16] = "";
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));
    if (nanos) {
        snprintf(fraction, sizeof(fraction), ".%09ld", nanos);
        for (size_t end = strlen(fraction); end > 1 && fraction[end - 1] == '0'; end--)
            fraction[end - 1] = '\0';
    }
    return xasprintf("%s%sZ", stamp, fraction);
}

bool clock_parse_rfc3339(const char *text, int64_t *wall_ns)
{
    struct tm tm = {0};
    int consumed = 0;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec, &consumed) != 6)
        return false;
    if (tm.tm_year == 1) {
        *wall_ns = 0;
        return true;
    }
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    const char *at = text + consumed;

    int64_t nanos = 0;
    if (*at == '.') {
        int64_t unit = second_ns / 10;
        for (at++; *at >= '0' && *at <= '9'; at++, unit /= 10)
            nanos += unit * (*at - '0');
    }
    int64_t offset = 0;
    if (*at == '+' || *at == '-') {
        int hours, minutes;
        if (sscanf(at + 1, "%2d:%2d", &hours, &minutes) != 2)
            return false;
        offset = (hours * 60 + minutes) * 60 * (*at == '-' ? -1 : 1);
    } else if (strcmp(at, "Z") != 0) {
        return false;
    }
    *wall_ns = ((int64_t)timegm(&tm) - offset) * second_ns + nanos;
    return true;
}
