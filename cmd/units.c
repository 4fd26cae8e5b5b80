// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/alloc.h"
#include "base/strbuf.h"

char *units_size(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes;
    size_t unit = 0;
    while (size >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
        size /= 1024;
        unit++;
    }
    return xasprintf("%.4g%s", size, units[unit]);
}

char *units_duration(int64_t ns)
{
    const int64_t day = 24, week = 7 * day, month = 30 * day, year = 365 * day;
    int64_t seconds = ns / 1000000000;
    if (seconds < 1)
        return xstrdup("Less than a second");
    if (seconds == 1)
        return xstrdup("1 second");
    if (seconds < 60)
        return xasprintf("%lld seconds", (long long)seconds);
    if (seconds < 120)
        return xstrdup("About a minute");
    if (seconds < 3600)
        return xasprintf("%lld minutes", (long long)(seconds / 60));
    int64_t hours = (seconds + 1800) / 3600; // rounded, half up
    if (hours == 1)
        return xstrdup("About an hour");
    if (hours < 2 * day)
        return xasprintf("%lld hours", (long long)hours);
    if (hours < 2 * week)
        return xasprintf("%lld days", (long long)(hours / day));
    if (hours < 2 * month)
        return xasprintf("%lld weeks", (long long)(hours / week));
    if (hours < 2 * year)
        return xasprintf("%lld months", (long long)(hours / month));
    return xasprintf("%lld years", (long long)(seconds / 3600 / year));
}

const char units_default_layout[] = "2006-01-02 15:04:05.999999999 -0700 MST";

struct moment {
    struct tm tm;
    int nanos;
};

static struct moment moment_at(int64_t wall_ns)
{
    if (wall_ns == 0) // Monday, the first of January of the year 1
        return (struct moment){.tm = {.tm_year = 1 - 1900, .tm_mday = 1, .tm_wday = 1}};
    const int64_t second = 1000000000;
    struct moment m;
    int64_t nanos = wall_ns % second;
    time_t seconds = (time_t)(wall_ns / second);
    if (nanos < 0) {
        nanos += second;
        seconds--;
    }
    m.nanos = (int)nanos;
    gmtime_r(&seconds, &m.tm);
    return m;
}

// The words of a layout, the longer before the shorter that they begin with.
static const char *const layout_words[] = {
    "January", "Jan",   "Monday", "Mon",       "MST",     "2006",   "002",   "01",        "02",
    "03",      "04",    "05",     "06",        "15",      "__2",    "_2",    "-07:00:00", "-070000",
    "-07:00",  "-0700", "-07",    "Z07:00:00", "Z070000", "Z07:00", "Z0700", "Z07",       "PM",
    "pm",      "1",     "2",      "3",         "4",       "5",
};

static const char *word_at(const char *at)
{
    for (size_t i = 0; i < ARRAY_SIZE(layout_words); i++) {
        const char *word = layout_words[i];
        size_t length = strlen(word);
        if (strncmp(at, word, length) != 0)
            continue;
        // "Janet" is no month, and "_2006" is a line and a year.
        if ((strcmp(word, "Jan") == 0 || strcmp(word, "Mon") == 0) &&
            islower((unsigned char)at[length]))
            continue;
        if (strcmp(word, "_2") == 0 && strncmp(at, "_2006", 5) == 0)
            continue;
        return word;
    }
    return NULL;
}

static void add_zone(struct strbuf *out, const char *word)
{
    if (*word == 'Z') {
        strbuf_addc(out, 'Z');
        return;
    }
    for (; *word; word++)
        strbuf_addc(out, *word == '-' ? '+' : *word == ':' ? ':' : '0');
}

static void add_word(struct strbuf *out, const struct moment *m, const char *word)
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};
    const struct tm *tm = &m->tm;
    int hour12 = tm->tm_hour % 12 ? tm->tm_hour % 12 : 12;
    const struct {
        const char *word;
        int number, width;
        char fill;
    } numbers[] = {
        {"2006", tm->tm_year + 1900, 4, '0'},
        {"06", (tm->tm_year + 1900) % 100, 2, '0'},
        {"01", tm->tm_mon + 1, 2, '0'},
        {"1", tm->tm_mon + 1, 0, ' '},
        {"02", tm->tm_mday, 2, '0'},
        {"_2", tm->tm_mday, 2, ' '},
        {"2", tm->tm_mday, 0, ' '},
        {"002", tm->tm_yday + 1, 3, '0'},
        {"__2", tm->tm_yday + 1, 3, ' '},
        {"15", tm->tm_hour, 2, '0'},
        {"03", hour12, 2, '0'},
        {"3", hour12, 0, ' '},
        {"04", tm->tm_min, 2, '0'},
        {"4", tm->tm_min, 0, ' '},
        {"05", tm->tm_sec, 2, '0'},
        {"5", tm->tm_sec, 0, ' '},
    };
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        if (strcmp(word, numbers[i].word) == 0) {
            strbuf_addf(out, numbers[i].fill == '0' ? "%0*d" : "%*d", numbers[i].width,
                        numbers[i].number);
            return;
        }
    }
    if (strncmp(word, "Jan", 3) == 0)
        strbuf_addf(out, word[3] ? "%s" : "%.3s", months[tm->tm_mon]);
    else if (strncmp(word, "Mon", 3) == 0)
        strbuf_addf(out, word[3] ? "%s" : "%.3s", days[tm->tm_wday]);
    else if (strcmp(word, "MST") == 0)
        strbuf_adds(out, "UTC");
    else if (strcasecmp(word, "pm") == 0)
        strbuf_addf(out, "%c%c", word[0] - (tm->tm_hour < 12 ? 'P' - 'A' : 0), word[1]);
    else
        add_zone(out, word);
}

// ".000" keeps its digits, ".999" loses trailing zeros. Returns the length of the word, or 0.
static size_t add_fraction(struct strbuf *out, int nanos, const char *at)
{
    if ((*at != '.' && *at != ',') || (at[1] != '0' && at[1] != '9'))
        return 0;
    size_t digits = strspn(at + 1, at[1] == '0' ? "0" : "9");
    if (isdigit((unsigned char)at[1 + digits]))
        return 0;
    char text[10];
    snprintf(text, sizeof(text), "%09d", nanos);
    size_t kept = digits < 9 ? digits : 9;
    while (at[1] == '9' && kept > 0 && text[kept - 1] == '0')
        kept--;
    if (kept > 0)
        strbuf_addf(out, "%c%.*s", *at, (int)kept, text);
    return 1 + digits;
}

char *units_time(int64_t wall_ns, const char *layout)
{
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    struct moment m = moment_at(wall_ns);
    while (*layout) {
        size_t length = add_fraction(&out, m.nanos, layout);
        const char *word = length ? NULL : word_at(layout);
        if (word) {
            add_word(&out, &m, word);
            length = strlen(word);
        } else if (length == 0) {
            strbuf_addc(&out, *layout);
            length = 1;
        }
        layout += length;
    }
    return strbuf_steal(&out);
}
