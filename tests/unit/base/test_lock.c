// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"

// A child that holds the lock until it is killed.
static pid_t hold(const char *path, bool record)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct error err;
        struct lock lock = LOCK_INIT;
        int failed = record ? lock_take_record(&lock, path, &err) : lock_take(&lock, path, 0, &err);
        if (failed || (!record && lock_write_pid(&lock, getpid(), &err)) ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

// The id may be of another process by now.
static void a_dead_holder_s_id_is_not_the_next_one_s(void **state)
{
    struct error err;
    cleanup_free char *path = temp_path(state, "lock");
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    end(hold(path, false));
    assert_int_not_equal(lock_read_pid(path), 0);
    assert_ok(lock_take(&lock, path, 0, &err), err);
    assert_true(lock_is_held(path));
    assert_int_equal(lock_read_pid(path), 0);
}

static void the_kernel_lets_go_of_a_dead_holder(void **state)
{
    struct error err;
    cleanup_free char *path = temp_path(state, "lock");
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    assert_false(lock_is_held(path));
    pid_t pid = hold(path, false);
    assert_true(lock_is_held(path));
    assert_int_equal(lock_read_pid(path), pid);
    assert_fails(lock_take(&lock, path, 0, &err), err, EBUSY, "held by another");
    int64_t before = clock_monotonic_ms();
    assert_fails(lock_take(&lock, path, 150, &err), err, EBUSY, "held");
    assert_true(clock_monotonic_ms() - before >= 150);
    end(pid);
    assert_false(lock_is_held(path));
    assert_ok(lock_take(&lock, path, 0, &err), err);
    assert_true(lock_is_held(path));
    lock_release(&lock);
    assert_false(lock_is_held(path));
}

static void record_locks_meet_podmans(void **state)
{
    cleanup_free char *path = temp_path(state, "record.lock");
    pid_t holder = hold(path, true);
    pid_t waiter = fork();
    if (waiter == 0) {
        struct error err;
        struct lock lock = LOCK_INIT;
        _exit(lock_take_record(&lock, path, &err) == 0 ? 0 : 1);
    }
    clock_sleep_ms(200);
    int status;
    assert_int_equal(waitpid(waiter, &status, WNOHANG), 0);
    end(holder);
    assert_int_equal(waitpid(waiter, &status, 0), waiter);
    assert_int_equal(status, 0);
}

static void no_folder_no_lock(void **state)
{
    struct error err;
    struct lock lock = LOCK_INIT;
    cleanup_free char *path = temp_path(state, "none/lock");
    assert_fails(lock_take(&lock, path, 0, &err), err, ENOENT, "none/lock");
    assert_int_equal(lock_read_pid(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_lets_go_of_a_dead_holder),
        cmocka_unit_test(a_dead_holder_s_id_is_not_the_next_one_s),
        cmocka_unit_test(record_locks_meet_podmans),
        cmocka_unit_test(no_folder_no_lock),
    };
    return cmocka_run_group_tests_name("lock", tests, temp_home_setup, temp_home_teardown);
}
