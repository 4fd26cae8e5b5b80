// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "provider/ladder.h"
#include "provider/launchd.h"

static const char running[] = "gui/501/io.github.podman-machine-vmnet.default = {\n"
                              "\tactive count = 1\n"
                              "\tpath = /Users/u/launchd.plist\n"
                              "\ttype = LaunchAgent\n"
                              "\tstate = running\n"
                              "\n"
                              "\tprogram = /opt/homebrew/bin/podman-machine-vmnet\n"
                              "\targuments = {\n"
                              "\t\t/opt/homebrew/bin/podman-machine-vmnet\n"
                              "\t\tmonitor\n"
                              "\t\tstate = not running\n"
                              "\t}\n"
                              "\n"
                              "\tdefault environment = {\n"
                              "\t\tPATH => /usr/bin:/bin\n"
                              "\t\tpid = 1\n"
                              "\t}\n"
                              "\tdomain = gui/501 [100022]\n"
                              "\tminimum runtime = 10\n"
                              "\texit timeout = 180\n"
                              "\tpid = 4711\n"
                              "\timmediate reason = non-ipc demand\n"
                              "\tlast exit code = (never exited)\n"
                              "\tresource coalition = {\n"
                              "\t\tID = 741\n"
                              "\t\tstate = active\n"
                              "\t}\n"
                              "\tspawn type = interactive (4)\n"
                              "}\n";

static void words_of_launchctl(void **state)
{
    (void)state;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    cleanup_free char *gui = launchd_domain(true, 501);
    cleanup_free char *user = launchd_domain(false, 501);
    launchd_bootstrap_argv(&argv, gui, "/m/launchd.plist");
    launchd_kickstart_argv(&argv, gui, "my-vm");
    launchd_kill_argv(&argv, gui, "my-vm", "SIGTERM");
    launchd_print_argv(&argv, user, "my-vm");
    launchd_bootout_argv(&argv, user, "my-vm");
    cleanup_free char *line = strvec_quote(&argv);
    assert_string_equal(line, "launchctl bootstrap gui/501 /m/launchd.plist "
                              "launchctl kickstart gui/501/io.github.podman-machine-vmnet.my-vm "
                              "launchctl kill SIGTERM gui/501/io.github.podman-machine-vmnet.my-vm "
                              "launchctl print user/501/io.github.podman-machine-vmnet.my-vm "
                              "launchctl bootout user/501/io.github.podman-machine-vmnet.my-vm");
}

static void parses_a_running_job(void **state)
{
    (void)state;
    struct error err;
    struct launchd_state found;
    assert_ok(launchd_parse_print(&found, running, &err), err);
    assert_true(found.running);
    assert_int_equal(found.pid, 4711);
    assert_false(found.has_exit);
}

static void parses_an_ended_job(void **state)
{
    (void)state;
    struct error err;
    struct launchd_state found;
    assert_ok(launchd_parse_print(&found,
                                  "gui/501/x = {\r\n\tstate = not running\r\n"
                                  "\tlast exit code = 78: EX_CONFIG\r\n}\r\n",
                                  &err),
              err);
    assert_false(found.running);
    assert_int_equal(found.pid, 0);
    assert_true(found.has_exit);
    assert_int_equal(found.last_exit, 78);
}

static void other_text_is_no_job(void **state)
{
    (void)state;
    struct error err;
    struct launchd_state found;
    assert_fails(launchd_parse_print(&found, "", &err), err, EBADMSG, "job");
    assert_fails(launchd_parse_print(&found, "Could not find service \"x\" in domain\n", &err), err,
                 EBADMSG, "job");
    assert_fails(launchd_parse_print(&found, "state = running\n", &err), err, EBADMSG, "job");
    assert_fails(launchd_parse_print(&found, "}\n}\na = {\nb = {\nstate = running\n", &err), err,
                 EBADMSG, "job");
}

// launchd kills a job at its ExitTimeOut: the ladder must be through by then.
static void exit_timeout_is_longer_than_the_ladder(void **state)
{
    (void)state;
    struct error err;
    cleanup_free char *text = NULL;
    CLEANUP(strvec_release) struct strvec none = STRVEC_INIT;
    const struct launchd_job job = {
        .machine = "m", .program = "/p", .log = "/l", .environment = &none};
    assert_ok(launchd_plist(&text, &job, &err), err);
    const char *key = strstr(text, "<key>ExitTimeOut</key>");
    assert_non_null(key);
    long seconds = strtol(strstr(key, "<integer>") + strlen("<integer>"), NULL, 10);
    assert_true(seconds * 1000 > ladder_longest_ms);
}

static void a_path_that_is_not_text(void **state)
{
    (void)state;
    struct error err;
    char *text = NULL;
    CLEANUP(strvec_release) struct strvec none = STRVEC_INIT;
    const struct launchd_job job = {
        .machine = "m", .program = "/p\xff", .log = "/l", .environment = &none};
    assert_fails(launchd_plist(&text, &job, &err), err, EINVAL, "property list");
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_launchctl),
        cmocka_unit_test(parses_a_running_job),
        cmocka_unit_test(parses_an_ended_job),
        cmocka_unit_test(other_text_is_no_job),
        cmocka_unit_test(exit_timeout_is_longer_than_the_ladder),
        cmocka_unit_test(a_path_that_is_not_text),
    };
    return cmocka_run_group_tests_name("launchd", tests, NULL, NULL);
}
