// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// doctor: everything that is known to keep machines from working, checked, with what to do.

#include <errno.h>
#include <stdio.h>

#include "base/json.h"
#include "cmd/command.h"
#include "cmd/output.h"
#include "provider/checkup.h"

struct values {
    struct option_bool json;
};

static void print_json(const struct checkup *checkup)
{
    cleanup_json json_t *list = json_array();
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; i < checkup->count; i++) {
        const struct finding *finding = &checkup->findings[i];
        json_t *row = json_pack("{s:s, s:s, s:s, s:s}", "Check", finding->check, "Verdict",
                                verdict_name(finding->verdict), "What", finding->what, "Remedy",
                                finding->remedy ? finding->remedy : "");
        if (row) // not for what is not text
            json_array_append_new(list, row);
    }
    output_json(&out, list, 4, false);
    strbuf_addc(&out, '\n');
    output_write(&out);
}

static void print_table(const struct checkup *checkup)
{
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; i < checkup->count; i++) {
        const struct finding *finding = &checkup->findings[i];
        strbuf_addf(&out, "%-8s %-15s %s\n", verdict_name(finding->verdict), finding->check,
                    finding->what);
        if (finding->remedy)
            strbuf_addf(&out, "%-24s %s\n", "", finding->remedy);
    }
    output_write(&out);
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    CLEANUP(checkup_release) struct checkup checkup = CHECKUP_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;
    checkup_host(&checkup);
    checkup_machines(&checkup);
    if (values.json.value)
        print_json(&checkup);
    else
        print_table(&checkup);
    size_t bad = 0;
    for (size_t i = 0; i < checkup.count; i++)
        bad += checkup.findings[i].verdict == VERDICT_BAD;
    fflush(stdout);
    return bad ? error_set(err, EIO, "%zu of %zu checks failed", bad, checkup.count) : 0;
}

static const struct option_spec options[] = {
    {.name = "json",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, json),
     .help = "Print the findings as JSON"},
    {.name = NULL},
};

const struct command command_doctor = {
    .name = "doctor",
    .operands = "[options]",
    .summary = "Check this host and its machines",
    .details = "Check this host and its machines for what keeps them from working, with what to do "
               "about it",
    .options = options,
    .run = run,
};
