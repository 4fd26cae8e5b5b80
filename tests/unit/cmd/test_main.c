// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/cmd/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH "podman-machine-vmnet"

static void statuses_and_texts(void **state)
{
    program_gives(state, "--version", 0, PATH " version " PROJECT_VERSION "\n", "");
    program_gives(state, "-v", 0, PATH " version " PROJECT_VERSION "\n", "");
    program_gives(state, "list -q", 0, "", "");
    program_gives(state, "machine list -q", 0, "", "");
    program_gives(state, "machine --log-level info ls -q", 0, "", "");
    program_gives(state, "--log-level error --connection nosuch -r list -q", 0, "", "");
    program_gives(state, "list -q --log-level=debug", 0, "", "");
    program_gives(state, "list --bogus", 125, "",
                  "Error: unknown flag: --bogus\nSee '" PATH " list --help'\n");
    program_gives(state, "--bogus list", 125, "",
                  "Error: unknown flag: --bogus\nSee '" PATH " --help'\n");
    program_gives(state, "ls extra", 125, "",
                  "Error: `" PATH " list` takes no arguments\n"); // the canonical name
    program_gives(state, "nosuchverb", 125, "",
                  "Error: unrecognized command `" PATH " nosuchverb`\nTry '" PATH
                  " --help' for more information\n");
    program_gives(state, "lisst", 125, "",
                  "Error: unrecognized command `" PATH
                  " lisst`\n\nDid you mean this?\n\tlist\n\nTry '" PATH
                  " --help' for more information\n");
    program_gives(state, "inspe", 125, "",
                  "Error: unrecognized command `" PATH
                  " inspe`\n\nDid you mean this?\n\tinspect\n\nTry '" PATH
                  " --help' for more information\n");
    program_gives(state, "machine machine", 125, "",
                  "Error: unrecognized command `" PATH " machine`\nTry '" PATH
                  " --help' for more information\n");
    program_gives(state, "list --log-level loud", 1, "",
                  "Log Level \"loud\" is not supported, choose from: trace, debug, info, warn, "
                  "warning, error, fatal, panic\n");
}

static void without_a_verb(void **state)
{
    static const char *const lines[] = {"", "machine"};
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        CLEANUP(outcome_release) struct outcome outcome = program_run(state, lines[i]);
        assert_int_equal(outcome.status, 125);
        assert_string_equal(outcome.errors, "Error: missing command '" PATH " COMMAND'\n");
        assert_non_null(strstr(outcome.out, "\nAvailable Commands:\n"));
        assert_non_null(strstr(outcome.out, "\n  list        List machines\n"));
    }
}

static void help_goes_to_stdout(void **state)
{
    static const char *const lines[] = {"--help",          "-h",          "machine --help",
                                        "machine list -h", "list --help", "list x y --help"};
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        CLEANUP(outcome_release) struct outcome outcome = program_run(state, lines[i]);
        assert_int_equal(outcome.status, 0);
        assert_string_equal(outcome.errors, "");
        assert_non_null(strstr(outcome.out, "\nUsage:\n  " PATH));
    }
}

static void as_podman(void **state)
{
    CLEANUP(outcome_release)
    struct outcome good = program_run_as(state, "/usr/bin/podman", "machine list -q");
    assert_int_equal(good.status, 0);
    CLEANUP(outcome_release)
    struct outcome wrong = program_run_as(state, "podman", "machine list x");
    assert_int_equal(wrong.status, 125);
    assert_string_equal(wrong.errors, "Error: `podman machine list` takes no arguments\n");
    // Other commands are for the podman behind us: tests/conformance.
    setenv("PODMAN_MACHINE_VMNET_PODMAN", "/nonexistent", 1);
    CLEANUP(outcome_release) struct outcome other = program_run_as(state, "podman", "ps");
    assert_int_equal(other.status, 125);
    assert_non_null(strstr(other.errors, "there is no podman on $PATH for `podman ps`"));
    unsetenv("PODMAN_MACHINE_VMNET_PODMAN");
}

// Runs `list` with this descriptor as stdout; the status as waitpid gives it.
static int status_with_stdout(int fd)
{
    pid_t child = fork();
    if (child == 0) {
        dup2(fd, STDOUT_FILENO);
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDERR_FILENO);
        signal(SIGPIPE, SIG_IGN);
        execl(PROGRAM, PROGRAM, "list", (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void lost_output_is_no_success(void **state)
{
    (void)state;
    cleanup_close int full = open("/dev/full", O_WRONLY);
    if (full < 0)
        skip();
    int status = status_with_stdout(full);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 125);
}

static void a_closed_pipe_ends_quietly(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    int status = status_with_stdout(ends[1]);
    close(ends[1]);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_and_texts),        cmocka_unit_test(without_a_verb),
        cmocka_unit_test(help_goes_to_stdout),       cmocka_unit_test(as_podman),
        cmocka_unit_test(lost_output_is_no_success), cmocka_unit_test(a_closed_pipe_ends_quietly),
    };
    return cmocka_run_group_tests_name("main", tests, temp_home_setup, temp_home_teardown);
}
