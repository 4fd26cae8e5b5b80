// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/progress.h"

// What the function writes to stderr. The caller frees.
static char *stderr_of(void **state, void (*function)(void))
{
    cleanup_free char *path = temp_path(state, "stderr");
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDERR_FILENO);
    close(fd);
    function();
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    return get_text(path);
}

static void say_all(void)
{
    log_debug("not %d", 1);
    log_info("not %d", 2);
    log_warn("a \"quoted\" \\ word");
    log_error("bad %d", 3);
}

static void lines_as_podmans(void **state)
{
    cleanup_free char *text = stderr_of(state, say_all);
    assert_null(strstr(text, "not"));
    assert_non_null(strstr(text, "level=warning msg=\"a \\\"quoted\\\" \\\\ word\"\n"));
    assert_non_null(strstr(text, "level=error msg=\"bad 3\"\n"));
    assert_int_equal(strncmp(text, "time=\"20", 8), 0);
}

static void levels_by_name(void **state)
{
    (void)state;
    enum log_level level;
    assert_true(log_level_parse("WARNING", &level));
    assert_int_equal(level, LOG_LEVEL_WARN);
    assert_true(log_level_parse("trace", &level));
    assert_false(log_level_parse("loud", &level));
}

static void move_quietly(void)
{
    struct progress progress;
    progress_begin(&progress, "Quiet", true);
    progress_update(&progress, 1, 2);
    progress_end(&progress, 2);
}

static void move(void)
{
    struct progress progress;
    progress_begin(&progress, "Copying", false);
    progress_update(&progress, 1024, 3 << 20);
    progress_update(&progress, 2048, 3 << 20);
    progress_end(&progress, 3 << 20);
}

static void plain_lines_without_a_terminal(void **state)
{
    cleanup_free char *quiet = stderr_of(state, move_quietly);
    assert_string_equal(quiet, "");
    cleanup_free char *text = stderr_of(state, move);
    assert_string_equal(text, "Copying: 3.0 MiB\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_as_podmans),
        cmocka_unit_test(levels_by_name),
        cmocka_unit_test(plain_lines_without_a_terminal),
    };
    return cmocka_run_group_tests_name("log", tests, temp_home_setup, temp_home_teardown);
}
