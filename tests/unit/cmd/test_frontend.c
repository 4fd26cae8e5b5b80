// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include "cmd/command.h"
#include "cmd/frontend.h"

// The front-end has no option tables, only names: they have to say the same.
static void knows_the_options(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        for (const struct option_spec *o = commands[i]->options; o && o->name; o++) {
            bool takes = o->kind != OPTION_BOOL;
            const char *verb = commands[i]->name;
            if (frontend_takes_value(verb, o->name, 0) != takes)
                fail_msg("%s --%s", verb, o->name);
            if (o->letter && frontend_takes_value(verb, NULL, o->letter) != takes)
                fail_msg("%s -%c", verb, o->letter);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(knows_the_options)};
    return cmocka_run_group_tests_name("frontend", tests, NULL, NULL);
}
