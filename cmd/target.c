// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/target.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cmd/interrupt.h"

const char *const default_machine = "podman-machine-default";

const char *target_name(const struct strvec *operands)
{
    return operands->count && operands->items[0][0] ? operands->items[0] : default_machine;
}

char *target_hint(const char *name)
{
    return strcmp(name, default_machine) == 0 ? xstrdup("") : xasprintf(" %s", name);
}

int target_provider(const struct provider **provider, const struct machine *m, struct error *err)
{
    *provider = provider_find(m->provider);
    if (!*provider)
        return error_set(err, EINVAL, "unsupported provider \"%s\"", m->provider);
    return 0;
}

int target_confirm(const char *question, bool *yes, struct error *err)
{
    char line[256];
    fputs(question, stdout);
    fflush(stdout);
    if (!fgets(line, sizeof(line), stdin))
        return interrupted() ? interrupt_error(err) : error_set(err, EIO, "EOF");
    *yes = tolower((unsigned char)line[0]) == 'y';
    return 0;
}
