// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/process.h"
#include "provider/known_hosts.h"
#include "tests/support/sshd.h"

#define KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJeMlcdW/5UkYcC4ZUQzN3gq1dFGvYQ1v9jgzQvbYvSR"
#define OTHER "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfBpZ5Xx5mT8f3cUBzqYzq7mE0yv9pWq0T2xZkPb1aC"
#define TAG " podman-machine-vmnet:"

// Every test gets a file of this name that does not exist yet.
static char *fresh_file(void **state)
{
    static int count;
    cleanup_free char *name = xasprintf("known_hosts.%d", ++count);
    return temp_path(state, name);
}

static void expect(const char *file, const char *wanted)
{
    cleanup_free char *text = get_text(file);
    assert_string_equal(text, wanted);
}

static void texts(void **state)
{
    static const struct {
        const char *host;
        unsigned port; // 0: remove
        const char *before, *after;
    } cases[] = {
        // Spelling.
        {"127.0.0.1", 2222, "", "[127.0.0.1]:2222 " KEY TAG "vm\n"},
        {"192.168.64.5", 22, "", "192.168.64.5 " KEY TAG "vm\n"},
        {"FE80::1%en0", 22, "", "fe80::1%en0,[fe80::1%en0] " KEY TAG "vm\n"},
        {"fe80::1", 2222, "", "[fe80::1]:2222 " KEY TAG "vm\n"},
        // What others wrote stays, byte for byte.
        {"10.0.0.1", 22, "# mine\n\n git.example " OTHER "\n",
         "# mine\n\n git.example " OTHER "\n10.0.0.1 " KEY TAG "vm\n"},
        {"10.0.0.1", 22, "a " OTHER, "a " OTHER "\n10.0.0.1 " KEY TAG "vm\n"},
        {"10.0.0.1", 22, "a " OTHER "\r\n", "a " OTHER "\r\n10.0.0.1 " KEY TAG "vm\n"},
        {"10.0.0.1", 22, "10.0.0.1\nbroken\n", "broken\n10.0.0.1 " KEY TAG "vm\n"},
        // This machine's older lines go, those of others with similar names do not.
        {"10.0.0.2", 22, "10.0.0.1 " KEY TAG "vm\nb " KEY TAG "vm2\nc " KEY TAG "v\n",
         "b " KEY TAG "vm2\nc " KEY TAG "v\n10.0.0.2 " KEY TAG "vm\n"},
        {"10.0.0.2", 22, "10.0.0.1 " KEY TAG "vm\r\n", "10.0.0.2 " KEY TAG "vm\n"},
        // Already there: stays where it is; once.
        {"10.0.0.2", 22, "10.0.0.2 " KEY TAG "vm\nb " OTHER "\n",
         "10.0.0.2 " KEY TAG "vm\nb " OTHER "\n"},
        {"10.0.0.2", 22, "10.0.0.2 " KEY TAG "vm\n10.0.0.2 " KEY TAG "vm\n",
         "10.0.0.2 " KEY TAG "vm\n"},
        {"10.0.0.2", 22, "10.0.0.2 " OTHER TAG "vm\n", "10.0.0.2 " KEY TAG "vm\n"},
        // The same host and port under another key, whoever wrote it; other ports are others.
        {"10.0.0.2", 22, "10.0.0.2 " OTHER "\n10.0.0.20 " OTHER "\n",
         "10.0.0.20 " OTHER "\n10.0.0.2 " KEY TAG "vm\n"},
        {"10.0.0.2", 22, "[10.0.0.2]:22 " OTHER "\n[10.0.0.2] " OTHER "\n[10.0.0.2]:23 " OTHER "\n",
         "[10.0.0.2]:23 " OTHER "\n10.0.0.2 " KEY TAG "vm\n"},
        {"10.0.0.2", 23, "10.0.0.2 " OTHER "\n[10.0.0.2]:23 " OTHER TAG "old\n",
         "10.0.0.2 " OTHER "\n[10.0.0.2]:23 " KEY TAG "vm\n"},
        {"vm.local", 22, "a,VM.local,b " OTHER " me\n",
         "a,b " OTHER " me\nvm.local " KEY TAG "vm\n"},
        // Patterns and markers.
        {"10.0.0.2", 22, "a " OTHER "\n10.0.0.* " OTHER "\nb " OTHER "\n",
         "a " OTHER "\n10.0.0.2 " KEY TAG "vm\n10.0.0.* " OTHER "\nb " OTHER "\n"},
        {"10.0.0.2", 22, "10.0.0.? " OTHER "\n10.0.0.2 " KEY TAG "vm\n",
         "10.0.0.2 " KEY TAG "vm\n10.0.0.? " OTHER "\n"},
        {"10.0.0.2", 22, "@cert-authority * " OTHER "\n@revoked 10.0.0.2 " OTHER TAG "vm\n",
         "@cert-authority * " OTHER "\n@revoked 10.0.0.2 " OTHER TAG "vm\n10.0.0.2 " KEY TAG
         "vm\n"},
        // Hashed rubbish.
        {"10.0.0.2", 22, "|1|x " OTHER "\n|1||= " OTHER "\n|1|=|= " OTHER "\n|2|a|b " OTHER "\n",
         "|1|x " OTHER "\n|1||= " OTHER "\n|1|=|= " OTHER "\n|2|a|b " OTHER "\n10.0.0.2 " KEY TAG
         "vm\n"},
        // Removing.
        {NULL, 0, "a " OTHER "\n10.0.0.2 " KEY TAG "vm\nb " KEY TAG "vm2\n#" TAG "vm\nc " OTHER,
         "a " OTHER "\nb " KEY TAG "vm2\n#" TAG "vm\nc " OTHER},
        {NULL, 0, "10.0.0.2 " KEY TAG "vm", ""},
        {NULL, 0, "10.0.0.2 " KEY TAG "vm \t\r\n", ""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err;
        cleanup_free char *file = fresh_file(state);
        put_text(file, cases[i].before);
        int result = cases[i].port ? known_hosts_set(file, "vm", cases[i].host, cases[i].port,
                                                     KEY " root@guest\n", &err)
                                   : known_hosts_remove(file, "vm", &err);
        assert_ok(result, err);
        cleanup_free char *after = get_text(file);
        if (strcmp(after, cases[i].after) != 0)
            fail_msg("case %zu:\n%s", i, after);
    }
}

static void hashed_lines_are_found(void **state)
{
    struct error err;
    cleanup_free char *file = fresh_file(state);
    put_text(file, "10.0.0.2 " OTHER "\n[10.0.0.2]:2222 " OTHER "\n10.0.0.3 " OTHER "\n");
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    const char *const words[] = {"ssh-keygen", "-H", "-f", file, NULL};
    strvec_pushv(&argv, words);
    assert_ok(process_run(&argv, NULL, &err), err);
    cleanup_free char *hashed = get_text(file);
    assert_memory_equal(hashed, "|1|", 3);

    assert_ok(known_hosts_set(file, "vm", "10.0.0.2", 22, KEY, &err), err);
    cleanup_free char *wanted = xasprintf("%s10.0.0.2 " KEY TAG "vm\n", strchr(hashed, '\n') + 1);
    expect(file, wanted);
    assert_ok(known_hosts_set(file, "vm", "10.0.0.2", 2222, KEY, &err), err);
    const char *third = strchr(strchr(hashed, '\n') + 1, '\n') + 1;
    cleanup_free char *left = xasprintf("%s[10.0.0.2]:2222 " KEY TAG "vm\n", third);
    expect(file, left);
}

static void files_keep_their_nature(void **state)
{
    struct error err;
    struct stat st;
    // Missing: folder and file are made for the user alone.
    cleanup_free char *folder = temp_path(state, "home/.ssh");
    cleanup_free char *file = xasprintf("%s/known_hosts", folder);
    assert_ok(known_hosts_remove(file, "vm", &err), err);
    assert_false(file_exists(folder));
    assert_ok(known_hosts_set(file, "vm", "10.0.0.2", 22, KEY, &err), err);
    assert_return_code(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_return_code(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);

    // Mode and link stay, and nothing else appears in the folder.
    assert_return_code(chmod(file, 0644), 0);
    cleanup_free char *link = temp_path(state, "link");
    assert_return_code(symlink(file, link), 0);
    assert_ok(known_hosts_set(link, "vm", "10.0.0.3", 22, KEY, &err), err);
    assert_return_code(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_return_code(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    expect(file, "10.0.0.3 " KEY TAG "vm\n");
    assert_ok(known_hosts_remove(link, "vm", &err), err);
    expect(file, "");
    assert_return_code(unlink(file), 0);
    assert_return_code(rmdir(folder), 0);
}

static void unchanged_files_are_not_written(void **state)
{
    struct error err;
    struct stat before, after;
    cleanup_free char *file = fresh_file(state);
    put_text(file, "10.0.0.2 " KEY TAG "vm\nb " OTHER "\n");
    assert_return_code(stat(file, &before), 0);
    assert_ok(known_hosts_set(file, "vm", "10.0.0.2", 22, KEY, &err), err);
    assert_ok(known_hosts_remove(file, "other", &err), err);
    assert_return_code(stat(file, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
}

static void errors_change_nothing(void **state)
{
    struct error err;
    cleanup_free char *file = fresh_file(state);
    assert_fails(known_hosts_set(file, "vm", "a", 22, "ssh-ed25519 ", &err), err, EINVAL,
                 "not a public key");
    assert_false(file_exists(file));
    put_text(file, "a " OTHER "\n");
    cleanup_free char *below = xasprintf("%s/known_hosts", file);
    assert_int_equal(known_hosts_set(below, "vm", "a", 22, KEY, &err), -1);
    assert_non_null(strstr(err.message, file));
    expect(file, "a " OTHER "\n");
}

static void many_at_once_lose_nothing(void **state)
{
    enum { WRITERS = 20, ROUNDS = 5 };
    struct error err;
    cleanup_free char *file = fresh_file(state);
    put_text(file, "git.example " OTHER "\n");
    pid_t pids[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        pids[i] = fork();
        if (pids[i] != 0)
            continue;
        cleanup_free char *machine = xasprintf("vm%d", i);
        cleanup_free char *host = xasprintf("10.0.0.%d", i);
        for (unsigned round = 0; round < ROUNDS; round++)
            if (known_hosts_set(file, machine, host, 1000 + round, KEY, &err) < 0 ||
                (i % 2 && round == ROUNDS - 1 && known_hosts_remove(file, machine, &err) < 0))
                _exit(1);
        _exit(0);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    cleanup_free char *text = get_text(file);
    int lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 1 + WRITERS / 2);
    for (int i = 0; i < WRITERS; i += 2) {
        cleanup_free char *line = xasprintf("\n[10.0.0.%d]:1004 " KEY TAG "vm%d\n", i, i);
        assert_non_null(strstr(text, line));
    }
}

static void ssh_believes_it(void **state)
{
    struct error err;
    struct sshd sshd;
    cleanup_free char *folder = temp_path(state, "sshd");
    if (!sshd_start(&sshd, folder, ""))
        skip();
    cleanup_free char *file = fresh_file(state);
    cleanup_free char *stale = xasprintf("[127.0.0.1]:%u " OTHER "\n", sshd.port);
    put_text(file, stale);
    int set = known_hosts_set(file, "vm", "127.0.0.1", sshd.port, sshd.host_key, &err);
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    strvec_split(&argv, "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes", ' ');
    strvec_push(&argv, "-o");
    strvec_pushf(&argv, "UserKnownHostsFile=%s", file);
    strvec_push(&argv, "-i");
    strvec_push(&argv, sshd.identity);
    strvec_push(&argv, "-p");
    strvec_pushf(&argv, "%u", sshd.port);
    strvec_pushf(&argv, "%s@127.0.0.1", sshd.user);
    strvec_push(&argv, "true");
    struct error run_err;
    int run = process_run(&argv, NULL, &run_err);
    sshd_stop(&sshd);
    assert_ok(set, err);
    assert_ok(run, run_err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(hashed_lines_are_found),
        cmocka_unit_test(files_keep_their_nature),
        cmocka_unit_test(unchanged_files_are_not_written),
        cmocka_unit_test(errors_change_nothing),
        cmocka_unit_test(many_at_once_lose_nothing),
        cmocka_unit_test(ssh_believes_it),
    };
    return cmocka_run_group_tests_name("known_hosts", tests, temp_home_setup, temp_home_teardown);
}
