// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "provider/published.h"

static char *parsed(const char *line)
{
    struct error err;
    CLEANUP(published_release) struct published published = PUBLISHED_INIT;
    assert_ok(published_parse(&published, line, strlen(line), &err), err);
    assert_false(published.cut);
    struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < published.count; i++)
        strbuf_addf(&text, "%u/%s at %s\n", published.ports[i].port, published.ports[i].protocol,
                    published.ports[i].address);
    return strbuf_steal(&text);
}

// As podman 5.4 prints them.
static void both_sides(void **state)
{
    (void)state;
    cleanup_free char *found = parsed(
        "{\"root\":[{\"Id\":\"1\",\"Ports\":[{\"host_ip\":\"\",\"container_port\":80,"
        "\"host_port\":8081,\"range\":1,\"protocol\":\"tcp\"}]},{\"Id\":\"2\",\"Ports\":null}],"
        "\"user\":[{\"Ports\":[{\"host_ip\":\"127.0.0.1\",\"container_port\":90,"
        "\"host_port\":9000,\"range\":3,\"protocol\":\"tcp\"},{\"host_ip\":\"::1\",\"host_port\":"
        "80,\"range\":1,\"protocol\":\"tcp\"},{\"host_ip\":\"0.0.0.0\",\"host_port\":53,"
        "\"range\":1,\"protocol\":\"udp\"}]}]}");
    assert_string_equal(found, "53/udp at 127.0.0.1\n80/tcp at ::1\n8081/tcp at 127.0.0.1\n"
                               "9000/tcp at 127.0.0.1\n9001/tcp at 127.0.0.1\n"
                               "9002/tcp at 127.0.0.1\n");
}

static void of_one_port_the_loopbacks_is_taken(void **state)
{
    (void)state;
    cleanup_free char *found =
        parsed("{\"root\":[{\"Ports\":[{\"host_ip\":\"::\",\"host_port\":80},{\"host_ip\":"
               "\"10.0.2.15\",\"host_port\":80},{\"host_ip\":\"\",\"host_port\":80},"
               "{\"host_ip\":\"fe80::1\",\"host_port\":81},{\"host_ip\":\"10.0.2.15\","
               "\"host_port\":81},{\"host_port\":80,\"protocol\":\"udp,tcp\"}]}],\"user\":null}");
    assert_string_equal(found, "80/tcp at 127.0.0.1\n80/udp at 127.0.0.1\n81/tcp at 10.0.2.15\n");
}

static void what_makes_no_sense_is_passed_over(void **state)
{
    (void)state;
    cleanup_free char *found =
        parsed("{\"root\":[7,{\"Ports\":5},{\"Ports\":[null,{\"host_port\":0},{\"host_port\":-1},"
               "{\"host_port\":70000},{\"host_port\":65535,\"range\":9},{\"host_port\":\"80\"},"
               "{\"host_ip\":\"-oProxyCommand=x\",\"host_port\":80},{\"container_port\":80}]}]}");
    assert_string_equal(found, "65535/tcp at 127.0.0.1\n");

    struct error err;
    struct published none = PUBLISHED_INIT;
    static const char *const lines[] = {"", "[]", "{\"root\":", "{\"root\":podman: not found}"};
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_fails(published_parse(&none, lines[i], strlen(lines[i]), &err), err, EBADMSG,
                     "not a list of containers");
}

static void there_is_a_limit(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(published_release) struct published published = PUBLISHED_INIT;
    static const char line[] = "{\"root\":[{\"Ports\":[{\"host_port\":1,\"range\":65535}]}]}";
    assert_ok(published_parse(&published, line, strlen(line), &err), err);
    assert_true(published.cut);
    assert_int_equal(published.count, PUBLISHED_MOST);
}

// The guest's shell gets it as one text. bash does not run it, but must be able to read it.
static void the_command_is_good_bash(void **state)
{
    (void)state;
    struct error err;
    char user[] = "core";
    struct machine m = {.ssh = {.user = user, .uid = 501}};
    cleanup_free char *command = published_command(&m);
    assert_non_null(strstr(command, "user=core uid=501\n"));
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    strvec_push(&argv, "/bin/sh");
    strvec_push(&argv, "-c");
    assert_memory_equal(command, "bash -c ", strlen("bash -c "));
    cleanup_free char *noexec = xasprintf("bash -nc %s", command + strlen("bash -c "));
    strvec_push(&argv, noexec);
    assert_ok(process_run(&argv, NULL, &err), err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides),
        cmocka_unit_test(of_one_port_the_loopbacks_is_taken),
        cmocka_unit_test(what_makes_no_sense_is_passed_over),
        cmocka_unit_test(there_is_a_limit),
        cmocka_unit_test(the_command_is_good_bash),
    };
    return cmocka_run_group_tests_name("published", tests, temp_home_setup, temp_home_teardown);
}
