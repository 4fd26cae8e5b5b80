// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cloudinit/volumes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/strvec.h"

// A folder sorts before all that is in it.
static int by_target(const void *a, const void *b)
{
    return strcmp((*(const struct seed_volume *const *)a)->target,
                  (*(const struct seed_volume *const *)b)->target);
}

static void add_line(struct strbuf *script, const struct seed_volume *volume)
{
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT;
    strvec_push(&words, "volume");
    strvec_push(&words, volume->tag);
    strvec_push(&words, volume->read_only ? "ro" : "rw");
    strvec_push(&words, volume->target);
    cleanup_free char *line = strvec_quote(&words);
    strbuf_addf(script, "%s\n", line);
}

char *volumes_script(const struct seed *seed)
{
    const struct seed_volumes *volumes = seed->volumes;
    struct strbuf script = STRBUF_INIT;
    cleanup_free const struct seed_volume **sorted =
        xrealloc(NULL, (volumes->count + 1) * sizeof(*sorted));
    for (size_t i = 0; i < volumes->count; i++)
        sorted[i] = &volumes->items[i];
    qsort(sorted, volumes->count, sizeof(*sorted), by_target);
    strbuf_addf(&script, "#!/bin/sh\nSTATE_FILE='%s'\nCONTAINERS_CONFIG='%s'\n",
                volumes->state_file, volumes->containers_config);
    strbuf_adds(&script, volumes_body);
    for (size_t i = 0; i < volumes->count; i++)
        add_line(&script, sorted[i]);
    strbuf_adds(&script, "finish\n");
    return strbuf_steal(&script);
}
