// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/restarts.h"

static const unsigned most = 3;
static const int64_t long_ms = 600000;

bool restarts_allow(struct restarts *restarts, int64_t now_ms)
{
    if (now_ms - restarts->begun_ms > long_ms)
        restarts->count = 0;
    return restarts->count++ < most;
}
