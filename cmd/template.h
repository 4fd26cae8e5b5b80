// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_TEMPLATE_H
#define CMD_TEMPLATE_H

#include "base/error.h"
#include "base/strbuf.h"
#include "cmd/value.h"

// Go's text/template, as far as --format needs it: text, comments, trim markers, fields,
// variables, pipelines, if, with, range, break, continue and the functions of
// template_functions.c; no floating point, no nested templates. Errors are in Go's words.
struct node;
struct template
{
    char *name; // "inspect", as messages call it
    char *text;
    struct node *root;
};

#define TEMPLATE_INIT \
    {                 \
        0             \
    }

// EINVAL with a message like `template: inspect:1: unclosed action`.
int template_parse(struct template *t, const char *name, const char *text, struct error *err);
void template_release(struct template *t);

// Appends to `out`, which keeps what was written before an error, as Go's writer does.
int template_run(const struct template *t, struct value data, struct strbuf *out,
                 struct error *err);

#endif
