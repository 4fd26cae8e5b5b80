// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "provider/network_options.h"

static void parses(void **state)
{
    (void)state;
    static const char *const good[] = {"shared", "host", "bridged:en0", "bridged:bridge100",
                                       "broker:my-net_1.x"};
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct error err;
        CLEANUP(network_options_release) struct network_options options = NETWORK_OPTIONS_INIT;
        assert_ok(network_options_parse(&options, good[i], &err), err);
        cleanup_free char *text = network_options_text(&options);
        assert_string_equal(text, good[i]);
    }
}

static void refuses(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",         "nat",    "Shared",        "shared:",   "host:en0",    "bridged",
        "bridged:", "broker", "bridged:en0,x", "broker:-v", "bridged:a b", "bridged:a:b"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error err;
        CLEANUP(network_options_release) struct network_options options = NETWORK_OPTIONS_INIT;
        assert_fails(network_options_parse(&options, bad[i], &err), err, EINVAL,
                     "bridged:INTERFACE");
    }
    struct error err;
    enum network_offload offload = OFFLOAD_AUTO;
    assert_ok(network_offload_parse(&offload, "off", &err), err);
    assert_int_equal(offload, OFFLOAD_OFF);
    assert_fails(network_offload_parse(&offload, "true", &err), err, EINVAL, "auto, on and off");
    char name[] = "en0";
    const struct network_options bridged = {
        .mode = NETWORK_BRIDGED, .name = name, .isolated = true};
    assert_fails(network_options_check(&bridged, &err), err, EINVAL, "isolated");
}

static void bridges(void **state)
{
    (void)state;
    char en0[] = "en0", en1[] = "en1";
    const struct network_options shared = {0}, isolated = {.isolated = true},
                                 first = {.mode = NETWORK_BRIDGED, .name = en0},
                                 second = {.mode = NETWORK_BRIDGED, .name = en1};
    assert_true(network_options_share(&shared, &isolated));
    assert_false(network_options_share(&shared, &first));
    assert_false(network_options_share(&first, &second));
}

static void round_trip(void **state)
{
    (void)state;
    struct error err;
    char en0[] = "en0";
    const struct network_options options = {
        .mode = NETWORK_BRIDGED, .name = en0, .offload = OFFLOAD_ON};
    cleanup_json json_t *json = network_options_to_json(&options);
    CLEANUP(network_options_release) struct network_options again = NETWORK_OPTIONS_INIT;
    assert_ok(network_options_from_json(&again, json, &err), err);
    assert_true(network_options_share(&options, &again));
    assert_int_equal(again.offload, OFFLOAD_ON);
    // A record without them has the defaults; one with nonsense cannot be used.
    assert_ok(network_options_from_json(&again, NULL, &err), err);
    assert_int_equal(again.mode, NETWORK_SHARED);
    assert_null(again.name);
    cleanup_json json_t *odd = json_pack("{s:s}", "mode", "wifi");
    assert_fails(network_options_from_json(&again, odd, &err), err, EBADMSG, "wifi");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),
        cmocka_unit_test(refuses),
        cmocka_unit_test(bridges),
        cmocka_unit_test(round_trip),
    };
    return cmocka_run_group_tests_name("network_options", tests, NULL, NULL);
}
