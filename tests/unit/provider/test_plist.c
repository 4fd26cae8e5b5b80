// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "provider/plist.h"

static char *one_string(const char *text, struct error *err)
{
    struct plist plist;
    char *xml = NULL;
    plist_begin(&plist);
    plist_key(&plist, "K");
    plist_string(&plist, text);
    return plist_end(&plist, &xml, err) < 0 ? NULL : xml;
}

static void escapes(void **state)
{
    (void)state;
    struct error err;
    cleanup_free char *xml = one_string("a<b>&\"c\" é\r", &err);
    assert_non_null(strstr(xml, "<string>a&lt;b&gt;&amp;\"c\" é&#13;</string>"));
}

static void refuses_what_xml_cannot_hold(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x01",         "a\x1b[0m",         "\xff",         "\xc3", "\xc0\x80", "\xed\xa0\x80",
        "\xe0\x80\x80", "\xf5\x80\x80\x80", "\xef\xbf\xbf", "\x80",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error err = {0};
        assert_null(one_string(bad[i], &err));
        assert_int_equal(err.code, EINVAL);
    }
    static const char *const good[] = {"", "\t\n", "\xf0\x9f\x90\xa7", "\xee\x80\x80"};
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct error err;
        cleanup_free char *xml = one_string(good[i], &err);
        assert_non_null(xml);
    }
}

static void nests(void **state)
{
    (void)state;
    struct error err;
    struct plist plist;
    cleanup_free char *xml = NULL;
    plist_begin(&plist);
    plist_key(&plist, "A");
    plist_open(&plist, "array");
    plist_bool(&plist, true);
    plist_integer(&plist, -7);
    plist_close(&plist, "array");
    assert_ok(plist_end(&plist, &xml, &err), err);
    assert_non_null(strstr(xml, "<dict>\n\t<key>A</key>\n\t<array>\n\t\t<true/>\n"
                                "\t\t<integer>-7</integer>\n\t</array>\n</dict>\n</plist>\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes),
        cmocka_unit_test(refuses_what_xml_cannot_hold),
        cmocka_unit_test(nests),
    };
    return cmocka_run_group_tests_name("plist", tests, NULL, NULL);
}
