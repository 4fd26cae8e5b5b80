// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// The supervisor against a scripted launchctl: a job is a file in the folder of its domain, and
// each bootstrap takes its exit status from a list.

#include "tests/support/support.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "provider/supervisor.h"

static const char launchctl[] =
    "#!/bin/sh\n"
    "cd \"$HOME/launchd\" || exit 99\n"
    "echo \"$*\" >>calls\n"
    "case $1 in\n"
    "bootstrap)\n"
    "  [ -d \"$2\" ] || { echo 'Bootstrap failed' >&2; exit \"$(cat missing || echo 125)\"; }\n"
    "  read -r code rest <codes || code=0\n"
    "  echo \"$rest\" >codes\n"
    "  if [ \"${code:-0}\" != 0 ]; then echo \"Bootstrap failed: $code\" >&2; exit \"$code\"; fi\n"
    "  : >\"$2/io.github.podman-machine-vmnet.vm\" ;;\n"
    "kickstart) [ -e \"$2\" ] && [ ! -e no-kick ] || exit 113; echo running >\"$2\" ;;\n"
    "kill) [ -e \"$3\" ] || exit 113 ;;\n"
    "bootout)\n"
    "  if [ -e slow ]; then rm slow; exit 36; fi\n"
    "  rm \"$2\" 2>/dev/null || exit 3 ;;\n"
    "print)\n"
    "  [ ! -d \"$2\" ] || exit 0\n"
    "  [ -e \"$2\" ] || exit 113\n"
    "  echo \"$2 = {\"\n"
    "  if [ -s \"$2\" ]; then echo ' state = running'; echo ' pid = 7'; fi\n"
    "  [ -s \"$2\" ] || echo ' state = not running'\n"
    "  echo '}' ;;\n"
    "enable) rm -f disabled ;;\n"
    "esac\n";

static char name[] = "vm";
static const struct machine m = {.name = name};

static char *in_launchd(const char *file)
{
    return xasprintf("%s/launchd/%s", getenv("HOME"), file);
}

static void put_launchd(const char *file, const char *text)
{
    cleanup_free char *path = in_launchd(file);
    put_text(path, text);
}

static bool is_loaded(const char *domain)
{
    cleanup_free char *file =
        xasprintf("%s/%lu/io.github.podman-machine-vmnet.vm", domain, (unsigned long)getuid());
    cleanup_free char *path = in_launchd(file);
    return file_exists(path);
}

static unsigned count_calls(const char *verb)
{
    cleanup_free char *path = in_launchd("calls");
    cleanup_free char *text = get_text(path);
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, verb)); at += strlen(verb))
        count++;
    return count;
}

// A fresh launchd with these domains, whose bootstraps end with these codes.
static void set_up(bool gui, bool user, const char *codes)
{
    struct error err;
    cleanup_free char *launchd = in_launchd("");
    cleanup_free char *program = in_launchd("launchctl");
    cleanup_free char *gui_path = xasprintf("%sgui/%lu", launchd, (unsigned long)getuid());
    cleanup_free char *user_path = xasprintf("%suser/%lu", launchd, (unsigned long)getuid());
    cleanup_free char *folder = machine_folder(name);
    assert_ok(file_remove_tree(launchd, &err), err);
    assert_ok(file_make_dirs(launchd, 0700, &err), err);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    if (gui)
        assert_ok(file_make_dirs(gui_path, 0700, &err), err);
    if (user)
        assert_ok(file_make_dirs(user_path, 0700, &err), err);
    put_text(program, launchctl);
    chmod(program, 0700);
    put_launchd("codes", codes);
    put_launchd("calls", "");
    cleanup_free char *path = xasprintf("%s:/usr/bin:/bin", launchd);
    setenv("PATH", path, 1);
}

static void starts_in_the_gui_domain(void **state)
{
    (void)state;
    struct error err;
    pid_t pid = -1;
    set_up(true, true, "");
    setenv("XDG_CONFIG_HOME", "/x & y", 1);
    setenv("SECRET_TOKEN", "not for launchd", 1);
    assert_ok(supervisor_launchd.start(&m, 60000, &pid, &err), err);
    assert_int_equal(pid, 0);
    assert_true(is_loaded("gui"));
    assert_false(is_loaded("user"));
    assert_int_equal(count_calls("bootstrap"), 1);
    assert_int_equal(count_calls("kickstart"), 1);

    cleanup_free char *plist = machine_path(name, MACHINE_LAUNCHD_PLIST);
    cleanup_free char *text = get_text(plist);
    assert_non_null(strstr(text, "<string>--timeout=60</string>"));
    assert_non_null(strstr(text, "/x &amp; y"));
    assert_null(strstr(text, "SECRET_TOKEN"));
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("SECRET_TOKEN");
}

static void a_race_is_tried_again(void **state)
{
    (void)state;
    struct error err;
    pid_t pid;
    set_up(true, true, "5 37 0\n");
    assert_ok(supervisor_launchd.start(&m, 60000, &pid, &err), err);
    assert_true(is_loaded("gui"));
    assert_int_equal(count_calls("bootstrap"), 3);
    // EIO may also mean that the job is disabled.
    assert_int_equal(count_calls("enable"), 1);
}

static void a_domain_that_is_not_there_is_not_tried_again(void **state)
{
    (void)state;
    struct error err;
    pid_t pid;
    set_up(false, true, "");
    put_launchd("missing", "5");
    assert_ok(supervisor_launchd.start(&m, 60000, &pid, &err), err);
    assert_true(is_loaded("user"));
    assert_int_equal(count_calls("bootstrap"), 2);
}

static void a_disabled_job_is_enabled(void **state)
{
    (void)state;
    struct error err;
    pid_t pid;
    set_up(true, true, "119 0\n");
    assert_ok(supervisor_launchd.start(&m, 60000, &pid, &err), err);
    assert_int_equal(count_calls("enable"), 1);
    assert_true(is_loaded("gui"));
}

static void leftovers_go_first(void **state)
{
    (void)state;
    struct error err;
    pid_t pid;
    set_up(true, true, "");
    cleanup_free char *old =
        xasprintf("user/%lu/io.github.podman-machine-vmnet.vm", (unsigned long)getuid());
    put_launchd(old, "");
    put_launchd("slow", ""); // the first bootout is still under way when it comes back
    assert_ok(supervisor_launchd.start(&m, 60000, &pid, &err), err);
    assert_false(is_loaded("user"));
    assert_true(is_loaded("gui"));
    assert_int_equal(count_calls("bootout"), 2);
}

static void without_a_screen_in_the_user_domain(void **state)
{
    (void)state;
    struct error err;
    pid_t pid;
    set_up(false, true, "");
    assert_ok(supervisor_launchd.start(&m, 60000, &pid, &err), err);
    assert_true(is_loaded("user"));
    assert_int_equal(count_calls("bootstrap"), 2);
}

// The executable is this test, which ends when it is called as a monitor.
static void without_launchd_as_a_process(void **state)
{
    (void)state;
    struct error err;
    pid_t pid = 0;
    set_up(false, false, "");
    assert_ok(supervisor_launchd.start(&m, 60000, &pid, &err), err);
    assert_true(pid > 0);
    kill(pid, SIGKILL);
    set_up(true, false, "");
    put_launchd("no-kick", "");
    assert_ok(supervisor_launchd.start(&m, 60000, &pid, &err), err);
    assert_true(pid > 0);
    assert_false(is_loaded("gui")); // nothing half started is left
    kill(pid, SIGKILL);
    setenv("PATH", "/nowhere", 1);
    assert_ok(supervisor_launchd.start(&m, 60000, &pid, &err), err);
    assert_true(pid > 0);
    kill(pid, SIGKILL);
}

static void stops_and_clears(void **state)
{
    (void)state;
    struct error err;
    pid_t pid;
    set_up(true, true, "");
    assert_ok(supervisor_launchd.start(&m, 60000, &pid, &err), err);
    assert_ok(supervisor_launchd.stop(&m, false, &err), err);
    assert_int_equal(count_calls("kill SIGTERM gui/"), 1);
    assert_ok(supervisor_launchd.stop(&m, true, &err), err);
    assert_int_equal(count_calls("kill SIGUSR1 gui/"), 1);
    assert_ok(supervisor_launchd.clear(&m, &err), err);
    assert_false(is_loaded("gui"));
    cleanup_free char *plist = machine_path(name, MACHINE_LAUNCHD_PLIST);
    assert_false(file_exists(plist));
    assert_ok(supervisor_launchd.clear(&m, &err), err);
    // A monitor that launchd does not have is looked for by its lock.
    assert_fails(supervisor_launchd.stop(&m, false, &err), err, ESRCH, "no monitor");
}

static void starts_at_login(void **state)
{
    (void)state;
    struct error err;
    set_up(true, true, "");
    cleanup_free char *path = xasprintf(
        "%s/Library/LaunchAgents/io.github.podman-machine-vmnet.vm.plist", getenv("HOME"));
    assert_ok(supervisor_launchd.autostart(&m, true, &err), err);
    cleanup_free char *text = get_text(path);
    assert_non_null(strstr(text, "<key>RunAtLoad</key>\n\t<true/>"));
    assert_int_equal(count_calls("enable gui/"), 1);
    assert_true(supervisor_launchd.autostarts(&m));
    assert_ok(supervisor_launchd.autostart(&m, false, &err), err);
    assert_false(file_exists(path));
    assert_false(supervisor_launchd.autostarts(&m));
    assert_ok(supervisor_launchd.autostart(&m, false, &err), err);
    assert_fails(supervisor_process.autostart(&m, true, &err), err, ENOTSUP, "at login");
}

static void is_chosen_by_system_or_test(void **state)
{
    (void)state;
    setenv("PODMAN_MACHINE_VMNET_SUPERVISOR", "launchd", 1);
    assert_ptr_equal(supervisor_for(&m), &supervisor_launchd);
    setenv("PODMAN_MACHINE_VMNET_SUPERVISOR", "process", 1);
    assert_ptr_equal(supervisor_for(&m), &supervisor_process);
    unsetenv("PODMAN_MACHINE_VMNET_SUPERVISOR");
    setenv("PODMAN_MACHINE_VMNET_MACOS", "26.2", 1);
    assert_ptr_equal(supervisor_for(&m), &supervisor_launchd);
    unsetenv("PODMAN_MACHINE_VMNET_MACOS");
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return 0; // called as a monitor
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_in_the_gui_domain),
        cmocka_unit_test(a_race_is_tried_again),
        cmocka_unit_test(a_domain_that_is_not_there_is_not_tried_again),
        cmocka_unit_test(a_disabled_job_is_enabled),
        cmocka_unit_test(leftovers_go_first),
        cmocka_unit_test(without_a_screen_in_the_user_domain),
        cmocka_unit_test(without_launchd_as_a_process),
        cmocka_unit_test(stops_and_clears),
        cmocka_unit_test(starts_at_login),
        cmocka_unit_test(is_chosen_by_system_or_test),
    };
    return cmocka_run_group_tests_name("supervisor_launchd", tests, temp_home_setup,
                                       temp_home_teardown);
}
