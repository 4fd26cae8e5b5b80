// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static const int64_t redraw_ms = 100;
// Shorter work than this needs no lines where nobody watches it.
static const int64_t worth_telling_ms = 1000;

void progress_size(char text[17], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        value /= 1024;
    snprintf(text, 17, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

void progress_begin(struct progress *progress, const char *label, bool quiet)
{
    *progress = (struct progress){
        .label = label,
        .quiet = quiet,
        .terminal = isatty(STDERR_FILENO) == 1,
        .begun_ms = clock_monotonic_ms(),
    };
}

void progress_update(struct progress *progress, uint64_t done, uint64_t total)
{
    if (progress->quiet)
        return;
    int64_t now = clock_monotonic_ms();
    if (!progress->started) {
        progress->first = done;
        progress->started = true;
        if (!progress->terminal) {
            char size[17];
            progress_size(size, total);
            fprintf(stderr, total ? "%s: %s\n" : "%s\n", progress->label, size);
        }
    }
    if (!progress->terminal || now - progress->drawn_ms < redraw_ms)
        return;
    progress->drawn_ms = now;

    char done_text[17], total_text[17], rate_text[17], left[32] = "";
    int64_t elapsed = now - progress->begun_ms;
    uint64_t moved = done > progress->first ? done - progress->first : 0;
    uint64_t rate = elapsed > 0 ? moved * 1000 / (uint64_t)elapsed : 0;
    progress_size(done_text, done);
    progress_size(total_text, total);
    progress_size(rate_text, rate);
    if (rate && total > done) {
        uint64_t seconds = (total - done) / rate;
        snprintf(left, sizeof(left), ", %" PRIu64 ":%02" PRIu64 " left", seconds / 60,
                 seconds % 60);
    }
    if (total)
        fprintf(stderr, "\r%s: %3u%% %s of %s, %s/s%s\033[K", progress->label,
                (unsigned)(done * 100 / total), done_text, total_text, rate_text, left);
    else
        fprintf(stderr, "\r%s: %s, %s/s\033[K", progress->label, done_text, rate_text);
}

void progress_end(struct progress *progress, uint64_t done)
{
    if (progress->quiet || !progress->started)
        return;
    char size[17];
    int64_t elapsed = clock_monotonic_ms() - progress->begun_ms;
    progress_size(size, done);
    if (progress->terminal)
        fprintf(stderr, "\r%s: %s in %.1f s\033[K\n", progress->label, size,
                (double)elapsed / 1000);
    else if (elapsed >= worth_telling_ms)
        fprintf(stderr, "%s: done, %s in %.1f s\n", progress->label, size, (double)elapsed / 1000);
}

void progress_abandon(struct progress *progress)
{
    if (!progress->quiet && progress->terminal && progress->started)
        fputc('\n', stderr);
    progress->started = false;
}
