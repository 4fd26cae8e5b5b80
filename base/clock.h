// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

// Monotonic milliseconds, for deadlines: they do not jump with the wall clock.
int64_t clock_monotonic_ms(void);
bool clock_sleep_ms(int64_t ms); // false: a signal handler ran, and it came back early

// Wall clock in nanoseconds since 1970, UTC. 0 means "never" in records.
int64_t clock_wall_ns(void);

// RFC 3339 with nanoseconds (trailing zeros cut, as Go's RFC3339Nano does) and "Z".
// 0 gives Go's zero time, "0001-01-01T00:00:00Z". The caller frees.
char *clock_format_rfc3339(int64_t wall_ns);

// Reads what clock_format_rfc3339() writes, and any numeric zone offset.
bool clock_parse_rfc3339(const char *text, int64_t *wall_ns);

#endif
