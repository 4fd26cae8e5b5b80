// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/process.h"

static void script(const char *path, const char *text)
{
    put_text(path, text);
    assert_int_equal(chmod(path, 0755), 0);
}

// As Homebrew lays it out.
static void a_path_that_lasts(void **state)
{
    const char *home = *state;
    cleanup_free char *cellar = temp_path(state, "Cellar-1.0");
    cleanup_free char *bin = temp_path(state, "brew-bin");
    cleanup_free char *program = xasprintf("%s/tool", cellar);
    cleanup_free char *link = xasprintf("%s/tool", bin);
    assert_int_equal(mkdir(cellar, 0700), 0);
    assert_int_equal(mkdir(bin, 0700), 0);
    script(program, "#!/bin/sh\n");
    assert_int_equal(symlink("../Cellar-1.0/tool", link), 0);

    cleanup_free char *by_folder =
        process_lasting_path(program, (const char *const[]){home, bin, NULL});
    assert_string_equal(by_folder, link);
    cleanup_free char *old_path = xstrdup(getenv("PATH"));
    setenv("PATH", bin, 1);
    cleanup_free char *by_path = process_lasting_path(program, NULL);
    assert_string_equal(by_path, link);
    setenv("PATH", old_path, 1);
    cleanup_free char *nowhere = process_lasting_path(program, NULL);
    assert_string_equal(nowhere, program);

    // Another version's.
    assert_int_equal(unlink(link), 0);
    script(link, "#!/bin/sh\n");
    cleanup_free char *other = process_lasting_path(program, (const char *const[]){bin, NULL});
    assert_string_equal(other, program);
}

static void captures_and_reports(void **state)
{
    struct error err;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    cleanup_free char *tool = temp_path(state, "tool");
    script(tool, "#!/bin/sh\nread x && exit 9\necho \"out $1\"\necho words >&2\nexit \"$2\"\n");

    CLEANUP(strvec_release) struct strvec good = STRVEC_INIT;
    strvec_push(&good, tool);
    strvec_push(&good, "a b;$c");
    strvec_push(&good, "0");
    assert_ok(process_run(&good, &out, &err), err);
    assert_string_equal(out.text, "out a b;$c\n");

    CLEANUP(strvec_release) struct strvec bad = STRVEC_INIT;
    strvec_push(&bad, tool);
    strvec_push(&bad, "x");
    strvec_push(&bad, "3");
    assert_fails(process_run(&bad, NULL, &err), err, ECHILD, "exit status 3: words");
}

static void a_lot_of_output_on_both_pipes(void **state)
{
    struct error err;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    cleanup_free char *tool = temp_path(state, "loud");
    script(tool, "#!/bin/sh\ni=0\nwhile [ $i -lt 20000 ]; do echo 0123456789; echo error$i >&2; "
                 "i=$((i+1)); done\nkill -9 $$\n");
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    strvec_push(&argv, tool);
    assert_fails(process_run(&argv, &out, &err), err, ECHILD, "killed by signal 9");
    assert_int_equal(out.length, 20000 * 11);
    assert_non_null(strstr(err.message, "error19999"));
}

static void a_missing_program(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    strvec_push(&argv, "no-such-program-here");
    assert_fails(process_run(&argv, NULL, &err), err, ENOENT, "no-such-program-here");
    assert_null(process_find("no-such-program-here", NULL));
}

static void finds_in_folders_then_path(void **state)
{
    cleanup_free char *folder = temp_path(state, "bin");
    cleanup_free char *tool = temp_path(state, "bin/sh");
    assert_int_equal(mkdir(folder, 0755), 0);
    const char *const dirs[] = {folder, NULL};
    cleanup_free char *from_path = process_find("sh", dirs);
    assert_string_not_equal(from_path, tool);
    script(tool, "#!/bin/sh\n");
    cleanup_free char *from_folder = process_find("sh", dirs);
    assert_string_equal(from_folder, tool);
    assert_int_equal(chmod(tool, 0644), 0);
    cleanup_free char *not_executable = process_find("sh", dirs);
    assert_string_not_equal(not_executable, tool);
}

static void the_file_limit_is_raised(void **state)
{
    (void)state;
    struct rlimit limit, before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = (struct rlimit){.rlim_cur = 64, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    process_raise_file_limit();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(limit.rlim_cur == limit.rlim_max || limit.rlim_cur == 10240);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void describes(void **state)
{
    (void)state;
    cleanup_free char *zero = process_describe_status(0);
    assert_string_equal(zero, "exit status 0");
    cleanup_free char *killed = process_describe_status(11);
    assert_non_null(strstr(killed, "killed by signal 11"));
    cleanup_free char *wrapped = process_describe_status(139 << 8);
    assert_non_null(strstr(wrapped, "exit status 139, as after signal 11 ("));
    cleanup_free char *error = process_describe_status(128 << 8);
    assert_string_equal(error, "exit status 128");
    assert_true(process_alive(getpid()));
    assert_false(process_alive(0));
}

static void on_signal(int number)
{
    (void)number;
}

// One that comes before the child has done anything ends it, whatever its parent does with it.
static void a_signal_at_once_ends_the_child(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_signal}, before;
    assert_return_code(sigaction(SIGTERM, &action, &before), errno);
    for (int i = 0; i < 50; i++) {
        int status;
        pid_t child = process_fork();
        if (child == 0) {
            alarm(10);
            for (;;)
                pause();
        }
        assert_return_code(kill(child, SIGTERM), errno);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGTERM);
    }
    sigaction(SIGTERM, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_that_lasts),
        cmocka_unit_test(captures_and_reports),
        cmocka_unit_test(a_lot_of_output_on_both_pipes),
        cmocka_unit_test(a_missing_program),
        cmocka_unit_test(finds_in_folders_then_path),
        cmocka_unit_test(the_file_limit_is_raised),
        cmocka_unit_test(describes),
        cmocka_unit_test(a_signal_at_once_ends_the_child),
    };
    return cmocka_run_group_tests_name("process", tests, temp_home_setup, temp_home_teardown);
}
