// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "cloudinit/pack.h"

// Read back by other hands: base64 and gzip.
static void packs(void **state, const char *text)
{
    cleanup_free char *packed = NULL, *path = temp_path(state, "packed");
    struct error err;
    assert_ok(pack_text(text, &packed, &err), err);
    assert_null(strchr(packed, '\n'));
    assert_memory_equal(packed, "H4sIAAAAAA", 10); // gzip, without a time
    put_text(path, packed);

    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    strvec_push(&argv, "/bin/sh");
    strvec_push(&argv, "-c");
    strvec_pushf(&argv, "base64 -d <'%s' | gzip -dc", path);
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    assert_ok(process_run(&argv, &out, &err), err);
    assert_string_equal(out.text, text);
}

static void round_trips(void **state)
{
    packs(state, "");
    packs(state, "a");
    packs(state, "line\n====\nline without end");
    char *large = malloc(100001);
    assert_non_null(large);
    unsigned seed = 1;
    for (size_t i = 0; i < 100000; i++) {
        seed = seed * 1103515245 + 12345;
        large[i] = (char)(' ' + (seed >> 16) % 95);
    }
    large[100000] = '\0';
    packs(state, large);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trips)};
    return cmocka_run_group_tests_name("pack", tests, temp_home_setup, temp_home_teardown);
}
