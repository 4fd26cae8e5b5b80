// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/shell.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int shell_find(enum shell *shell, const char *name, struct error *err)
{
    static const struct {
        const char *name;
        enum shell shell;
    } shells[] = {{"bash", SHELL_POSIX}, {"zsh", SHELL_POSIX}, {"sh", SHELL_POSIX},
                  {"dash", SHELL_POSIX}, {"ksh", SHELL_POSIX}, {"fish", SHELL_FISH}};
    bool asked = name && *name;
    const char *path = asked ? name : getenv("SHELL");
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *base = slash ? slash + 1 : path;
    *shell = SHELL_POSIX;
    for (size_t i = 0; base && i < ARRAY_SIZE(shells); i++) {
        if (strcmp(base, shells[i].name) == 0) {
            *shell = shells[i].shell;
            return 0;
        }
    }
    return asked ? error_set(err, EINVAL, "unknown shell \"%s\": bash, zsh or fish", name) : 0;
}

void shell_quote(struct strbuf *out, enum shell shell, const char *text)
{
    strbuf_addc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            strbuf_adds(out, shell == SHELL_FISH ? "\\'" : "'\\''");
        else if (*text == '\\' && shell == SHELL_FISH)
            strbuf_adds(out, "\\\\");
        else
            strbuf_addc(out, *text);
    }
    strbuf_addc(out, '\'');
}

void shell_export(struct strbuf *out, enum shell shell, const char *name, const char *value)
{
    strbuf_addf(out, shell == SHELL_FISH ? "set -gx %s " : "export %s=", name);
    shell_quote(out, shell, value);
    strbuf_adds(out, shell == SHELL_FISH ? ";\n" : "\n");
}
