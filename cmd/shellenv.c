// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// shellenv: puts the front-end first on PATH, by `eval "$(podman-machine-vmnet shellenv)"`.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cmd/command.h"
#include "cmd/output.h"
#include "cmd/program.h"
#include "cmd/shell.h"

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    enum shell shell;
    if (options_parse(self, argc, argv, NULL, &operands, err) < 0 ||
        shell_find(&shell, operands.count ? operands.items[0] : NULL, err) < 0)
        return -1;
    cleanup_free char *front = program_front();
    if (!front)
        return error_set(err, ENOENT, "the front-end 'podman' is not installed");
    *strrchr(front, '/') = '\0';
    if (shell == SHELL_FISH) {
        strbuf_adds(&out, "fish_add_path --path --move --prepend ");
        shell_quote(&out, shell, front);
        strbuf_adds(&out, ";\n");
    } else { // a second time it changes nothing
        strbuf_adds(&out, "case \":$PATH:\" in\n  :");
        shell_quote(&out, shell, front);
        strbuf_adds(&out, ":*) ;;\n  *) export PATH=");
        shell_quote(&out, shell, front);
        strbuf_adds(&out, "\":$PATH\" ;;\nesac\n");
    }
    output_write(&out);
    return 0;
}

static const struct option_spec options[] = {{.name = NULL}};

const struct command command_shellenv = {
    .name = "shellenv",
    .operands = "[SHELL]",
    .summary = "Print what makes `podman machine` use this program",
    .details = "Print shell code that puts our `podman` first on PATH. It hands everything that "
               "is not about one of our machines to the real podman.",
    .examples = "shellenv fish",
    .most = 1,
    .options = options,
    .run = run,
};
