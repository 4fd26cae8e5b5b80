// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_UNITS_H
#define CMD_UNITS_H

#include <stdint.h>

// Sizes and times for people, in the words that podman uses. The caller frees.

// "2GiB", "1.5GiB", "0B": four digits at most, units of 1024.
char *units_size(uint64_t bytes);

// "Less than a second", "About an hour", "3 weeks". A negative time is less than a second.
char *units_duration(int64_t ns);

// A moment (nanoseconds since 1970 in UTC, 0 is Go's zero time, in the year 1) in a layout of
// Go's time.Format: "2006-01-02T15:04:05Z07:00", "Jan _2 15:04", ".000". The zone is UTC.
char *units_time(int64_t wall_ns, const char *layout);

// How Go prints a time by itself.
extern const char units_default_layout[];

#endif
