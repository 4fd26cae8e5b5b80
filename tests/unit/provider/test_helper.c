// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/platform.h"
#include "provider/helper.h"

static const char name[] = "vmnet-helper";

static void finds_it_among_the_processes(void **state)
{
    (void)state;
    // macOS tells paths, Linux names of at most 15 characters.
    assert_int_equal(helper_find("    1     0 Ss   /sbin/launchd\n"
                                 "  501   500 S    /opt/homebrew/opt/vmnet-helper/libexec/"
                                 "vmnet-helper\n"
                                 "  502   500 S    /opt/homebrew/bin/krunkit\n"
                                 "  503     1 S    /opt/x y/vmnet-helper\n",
                                 500, name),
                     501);
    assert_int_equal(helper_find(" 7 500 S+ vmnet-helper\n", 500, name), 7);
    assert_int_equal(helper_find(" 7 500 S+ sudo\n 8 7 S vmnet-helper\n", 500, name), 7);
    assert_int_equal(helper_find(" 7 501 S vmnet-helper\n 8 500 R krunkit\n", 500, name), 0);
    assert_int_equal(helper_find(" 7 500 S not-vmnet-helper\n", 500, name), 0);
    assert_int_equal(helper_find("", 500, name), 0);
    assert_int_equal(helper_find("nonsense\n\n 1\n", 500, name), 0);
}

static void sees_that_it_has_ended(void **state)
{
    (void)state;
    assert_int_equal(helper_find(" 7 500 Z (vmnet-helper)\n", 500, name), -1);
    assert_int_equal(helper_find(" 7 500 Z+ vmnet-helper <defunct>\n", 500, name), -1);
    assert_int_equal(helper_find(" 7 500 Z (sudo)\n 9 500 Z (krunkit)\n", 500, name), -1);
    // Another one is in its place.
    assert_int_equal(helper_find(" 7 500 Z (vmnet-helper)\n 8 500 S vmnet-helper\n", 500, name), 8);
}

// A wrapper that starts a helper and, as vmnet-run, never asks how it is.
static pid_t start_wrapper(void **state, const char *seconds)
{
    cleanup_free char *helper = temp_path(state, "vmnet-helper");
    cleanup_free char *wrapper = temp_path(state, "wrapper");
    cleanup_free char *text = xasprintf("#!/bin/sh\ncp /bin/sleep '%s'\n'%s' %s &\n"
                                        "exec /bin/sleep 60\n",
                                        helper, helper, seconds);
    put_text(wrapper, text);
    chmod(wrapper, 0700);
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        execl(wrapper, wrapper, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void watches_a_real_one(void **state)
{
    pid_t vm = start_wrapper(state, "4");
    struct helper helper;
    helper_init(&helper, name, vm);
    int64_t deadline = clock_monotonic_ms() + 20000;
    bool ended = false;
    while (!ended && clock_monotonic_ms() < deadline) {
        struct pollfd wanted = {.fd = helper.fd, .events = POLLIN};
        poll(&wanted, 1, 100);
        ended = helper_has_ended(&helper, helper.fd >= 0 && wanted.revents);
    }
    assert_true(ended);
    assert_false(helper_has_ended(&helper, false)); // told once
    helper_release(&helper);
    kill(-vm, SIGKILL);
    waitpid(vm, NULL, 0);

    helper_init(&helper, NULL, vm); // a row without
    assert_false(helper_has_ended(&helper, false));
    helper_release(&helper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_it_among_the_processes),
        cmocka_unit_test(sees_that_it_has_ended),
        cmocka_unit_test(watches_a_real_one),
    };
    return cmocka_run_group_tests_name("helper", tests, temp_home_setup, temp_home_teardown);
}
