// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/lock.h"
#include "provider/checkup.h"
#include "provider/machine.h"

static void tool(void **state, const char *name, const char *script)
{
    struct error err;
    cleanup_free char *folder = temp_path(state, "bin");
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    cleanup_free char *path = xasprintf("%s/%s", folder, name);
    cleanup_free char *text = xasprintf("#!/bin/sh\n%s\n", script);
    put_text(path, text);
    chmod(path, 0700);
    setenv("PATH", folder, 1);
}

// As Homebrew has it, in the folder above the tools'.
static void libkrun(void **state, const char *version)
{
    struct error err;
    cleanup_free char *folder = temp_path(state, "opt");
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    cleanup_free char *link = xasprintf("%s/libkrun", folder);
    cleanup_free char *target = xasprintf("../Cellar/libkrun/%s", version);
    unlink(link);
    assert_int_equal(symlink(target, link), 0);
}

static const struct finding *find(const struct checkup *checkup, const char *check,
                                  const char *words)
{
    for (size_t i = 0; i < checkup->count; i++)
        if (strcmp(checkup->findings[i].check, check) == 0 &&
            strstr(checkup->findings[i].what, words))
            return &checkup->findings[i];
    fail_msg("no finding '%s' about '%s'", check, words);
    return NULL;
}

static void a_mac_in_good_order(void **state)
{
    CLEANUP(checkup_release) struct checkup checkup = CHECKUP_INIT;
    setenv("PODMAN_MACHINE_VMNET_MACOS", "26.2", 1);
    tool(state, "krunkit", "echo krunkit 1.2.1");
    libkrun(state, "1.18.0_1");
    tool(state, "vfkit", "echo vfkit version: v0.6.4");
    tool(state, "vmnet-run", "echo version: v0.13.0");
    tool(state, "vmnet-helper", "");
    tool(state, "sysctl", "[ $2 != kern.hv_vmm_present ] && echo 1");
    tool(state, "ssh", "");
    tool(state, "ssh-keygen", "");
    tool(state, "launchctl", "exit 1");
    tool(state, "socketfilterfw", "echo 'Firewall is disabled. (State = 0)'");
    checkup_host(&checkup);
    assert_int_equal(find(&checkup, "system", "26.2")->verdict, VERDICT_GOOD);
    assert_int_equal(find(&checkup, "tools", "krunkit 1.2.1 at")->verdict, VERDICT_GOOD);
    assert_int_equal(find(&checkup, "tools", "libkrun 1.18.0 at")->verdict, VERDICT_GOOD);
    assert_int_equal(find(&checkup, "tools", "vfkit 0.6.4 at")->verdict, VERDICT_GOOD);
    assert_int_equal(find(&checkup, "tools", "vmnet-run 0.13.0 at")->verdict, VERDICT_GOOD);
    assert_int_equal(find(&checkup, "firewall", "off")->verdict, VERDICT_GOOD);
    int runs = 0; // both rows have it
    for (size_t i = 0; i < checkup.count; i++) {
        assert_int_equal(!checkup.findings[i].remedy, checkup.findings[i].verdict == VERDICT_GOOD);
        runs += strncmp(checkup.findings[i].what, "vmnet-run ", 10) == 0;
    }
    assert_int_equal(runs, 1);
}

static void a_mac_with_everything_wrong(void **state)
{
    CLEANUP(checkup_release) struct checkup checkup = CHECKUP_INIT;
    setenv("PODMAN_MACHINE_VMNET_MACOS", "15.6", 1);
    tool(state, "krunkit", "echo krunkit 0.2.2");
    libkrun(state, "1.17.4");
    tool(state, "vfkit", "echo vfkit version: v0.6.1");
    tool(state, "vmnet-run", "echo version: v0.11.0");
    tool(state, "vmnet-helper", "");
    tool(state, "sudo", "echo 'a password is required' >&2; exit 1");
    tool(state, "sysctl", "echo 1");
    tool(state, "launchctl",
         "[ $1 = list ] && printf -- "
         "'-\\t0\\tio.github.podman-machine-vmnet.lost\\n7\\t0\\tcom.apple.x\\n'");
    tool(state, "socketfilterfw",
         "case $1 in --getglobalstate) echo 'Firewall is enabled. (State = 1)' ;; "
         "*) echo 'The file path is blocked' ;; esac");
    checkup_host(&checkup);
    assert_int_equal(find(&checkup, "system", "15.6")->verdict, VERDICT_WARNING);
    assert_non_null(find(&checkup, "virtualization", "virtual machine")->remedy);
    const struct finding *old = find(&checkup, "tools", "vmnet-krunkit cannot work");
    assert_non_null(strstr(old->remedy, "krunkit 0.2.2, and 1.0 is the first"));
    assert_non_null(strstr(find(&checkup, "tools", "libkrun 1.17.4")->remedy, "1.18.0 or later"));
    assert_non_null(strstr(find(&checkup, "tools", "vfkit 0.6.1")->remedy, "0.6.3 or later"));
    assert_non_null(strstr(find(&checkup, "network", "cannot work")->remedy, "needs root"));
    const struct finding *firewall = find(&checkup, "firewall", "blocks bootpd");
    assert_int_equal(firewall->verdict, VERDICT_BAD);
    assert_non_null(strstr(find(&checkup, "jobs", "\"lost\"")->remedy, "launchctl bootout user/"));
    assert_non_null(strstr(find(&checkup, "jobs", "\"lost\"")->remedy,
                           "/io.github.podman-machine-vmnet.lost`"));
}

static void programs_of_the_system_are_missed(void **state)
{
    CLEANUP(checkup_release) struct checkup checkup = CHECKUP_INIT;
    setenv("PATH", *state, 1);
    checkup_host(&checkup);
    const struct finding *ssh = find(&checkup, "tools", "no OpenSSH");
    assert_int_equal(ssh->verdict, VERDICT_BAD);
    assert_non_null(strstr(ssh->remedy, "install OpenSSH's client"));
}

static void an_old_macos_is_told_for_each_provider(void **state)
{
    CLEANUP(checkup_release) struct checkup checkup = CHECKUP_INIT;
    setenv("PODMAN_MACHINE_VMNET_MACOS", "13.6", 1);
    tool(state, "sysctl", "echo 0");
    checkup_host(&checkup);
    assert_non_null(strstr(find(&checkup, "system", "vmnet-krunkit cannot work")->remedy,
                           "krunkit needs macOS 14"));
    assert_non_null(strstr(find(&checkup, "system", "vmnet-vfkit cannot work")->remedy,
                           "kern.hv_support is 0"));
}

#define ADDRESS(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static void subnets_that_meet(void **state)
{
    (void)state;
    const uint32_t shared = ADDRESS(192, 168, 64, 1), wide = 0xffffff00, one = 0xffffffff;
    const struct subnet lan = {"en0", ADDRESS(192, 168, 1, 9), wide};
    const struct subnet vpn = {"utun4", ADDRESS(192, 168, 64, 200), one};
    const struct subnet all_of_it = {"en1", ADDRESS(192, 168, 1, 9), 0xffff0000};
    const struct subnet bridge = {"bridge100", ADDRESS(192, 168, 65, 1), wide};
    const struct subnet thunderbolt = {"bridge0", ADDRESS(192, 168, 64, 3), wide};
    const struct {
        struct subnet subnets[2];
        const char *says;
        enum verdict verdict;
    } cases[] = {
        {{lan, lan},
         "no other network has the addresses of the machines, 192.168.64.0/24",
         VERDICT_GOOD},
        {{lan, vpn}, "interface utun4 is in 192.168.64.200/32", VERDICT_WARNING},
        {{all_of_it, lan}, "interface en1 is in 192.168.0.0/16", VERDICT_WARNING},
        {{thunderbolt, lan}, "interface bridge0 is in 192.168.64.0/24", VERDICT_WARNING},
        // The bridge that is there counts, not the one that would be made.
        {{bridge, vpn},
         "no other network has the addresses of the machines, 192.168.65.0/24",
         VERDICT_GOOD},
        {{bridge, all_of_it},
         "where the machines' addresses are (192.168.65.0/24)",
         VERDICT_WARNING},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(checkup_release) struct checkup checkup = CHECKUP_INIT;
        checkup_subnets(&checkup, cases[i].subnets, 2, shared);
        assert_int_equal(checkup.count, 1);
        const struct finding *finding = find(&checkup, "subnet", cases[i].says);
        assert_int_equal(finding->verdict, cases[i].verdict);
        assert_int_equal(finding->remedy == NULL, finding->verdict == VERDICT_GOOD);
    }
}

static void what_starts_at_login(void **state)
{
    struct error err;
    CLEANUP(checkup_release) struct checkup checkup = CHECKUP_INIT;
    cleanup_free char *agents = temp_path(state, "Library/LaunchAgents");
    cleanup_free char *record = machine_path("here", MACHINE_RECORD);
    cleanup_free char *folder = machine_folder("here");
    assert_ok(file_make_dirs(agents, 0700, &err), err);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    put_text(record, "{}");
    static const char *const names[] = {"here", "lost"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        cleanup_free char *path =
            xasprintf("%s/io.github.podman-machine-vmnet.%s.plist", agents, names[i]);
        put_text(path, "<key>ProgramArguments</key><array><string>/Cellar/1.0/pmv</string>");
    }
    setenv("PODMAN_MACHINE_VMNET_MACOS", "26.2", 1);
    tool(state, "sysctl", "echo 1");
    checkup_host(&checkup);
    assert_non_null(
        strstr(find(&checkup, "jobs", "'/Cellar/1.0/pmv' is gone")->remedy, "--autostart here"));
    assert_non_null(
        strstr(find(&checkup, "jobs", "machine \"lost\" at login")->remedy, "run `rm '"));
    assert_ok(file_remove_tree(folder, &err), err);
}

static void reads_the_tools(void **state)
{
    (void)state;
    assert_true(checkup_firewall_is_on("Firewall is enabled. (State = 1)\n"));
    assert_false(checkup_firewall_is_on("Firewall is disabled. (State = 0)\n"));
    assert_true(checkup_is_blocked("Incoming connection to the application is blocked\n"));
    assert_false(checkup_is_blocked("Incoming connection to the application is permitted\n"));
    assert_false(checkup_is_blocked("The application is not part of the firewall\n"));
    CLEANUP(strvec_release) struct strvec machines = STRVEC_INIT;
    checkup_jobs(&machines, "PID\tStatus\tLabel\n"
                            "812\t0\tio.github.podman-machine-vmnet.my-vm.1\n"
                            "-\t0\tother.io.github.podman-machine-vmnet.no\n"
                            "-\t0\tcom.apple.x\n");
    assert_int_equal(machines.count, 1);
    assert_string_equal(machines.items[0], "my-vm.1");
}

static void machines_that_run(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(checkup_release) struct checkup checkup = CHECKUP_INIT;
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    CLEANUP(machine_release)
    struct machine m = {
        .name = xstrdup("vm"),
        .provider = xstrdup("qemu"),
        .mac = xstrdup("52:54:00:00:00:01"),
        .instance_id = xstrdup("i"),
        .ssh = {.user = xstrdup("core"), .identity = xstrdup("/no/key")},
    };
    cleanup_free char *folder = machine_folder("vm");
    cleanup_free char *path = machine_path("vm", MACHINE_VM_LOCK);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    assert_ok(machine_save(&m, &err), err);
    checkup_machines(&checkup);
    assert_int_equal(checkup.count, 0); // it does not run
    assert_ok(lock_take(&lock, path, 0, &err), err);
    checkup_machines(&checkup);
    assert_non_null(strstr(find(&checkup, "monitor", "without its monitor")->remedy, "start vm"));
    assert_int_equal(find(&checkup, "ssh", "cannot be logged in")->verdict, VERDICT_BAD);
    cleanup_free char *record = machine_path("vm", MACHINE_RECORD);
    put_text(record, "broken");
    checkup_machines(&checkup);
    assert_int_equal(find(&checkup, "record", "JSON")->verdict, VERDICT_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mac_in_good_order),
        cmocka_unit_test(a_mac_with_everything_wrong),
        cmocka_unit_test(programs_of_the_system_are_missed),
        cmocka_unit_test(an_old_macos_is_told_for_each_provider),
        cmocka_unit_test(subnets_that_meet),
        cmocka_unit_test(what_starts_at_login),
        cmocka_unit_test(reads_the_tools),
        cmocka_unit_test(machines_that_run),
    };
    return cmocka_run_group_tests_name("checkup", tests, temp_home_setup, temp_home_teardown);
}
