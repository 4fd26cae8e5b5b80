// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "provider/vm.h"

// A hypervisor that is a shell script: the test says which.
static char program[512];

static int probe(struct tools *tools, const struct machine *m, struct error *err)
{
    (void)m;
    (void)err;
    tools->hypervisor = xstrdup(program);
    return 0;
}

static int probe_network(struct tools *tools, const struct machine *m,
                         const struct hypervisor *unused, struct error *err)
{
    (void)unused;
    (void)tools;
    (void)m;
    (void)err;
    return 0;
}

static int append_network(const struct machine *m, const struct tools *tools, struct strvec *argv,
                          struct network_port *port, struct error *err)
{
    (void)m;
    (void)tools;
    (void)argv;
    (void)err;
    port->fd = -1;
    return 0;
}

static int append(const struct machine *m, const struct tools *tools,
                  const struct network_port *port, struct strvec *argv, struct error *err)
{
    (void)port;
    (void)err;
    strvec_push(argv, tools->hypervisor);
    strvec_push(argv, m->name);
    strvec_push(argv, "two words");
    return 0;
}

static const struct hypervisor hypervisor = {.name = "script", .probe = probe, .append = append};
static const struct network network = {
    .name = "none", .probe = probe_network, .append = append_network};
static const struct provider provider = {
    .name = "script", .hypervisor = &hypervisor, .network = &network};

static int start(void **state, char *name, const char *text, pid_t *pid, struct error *err)
{
    cleanup_free char *path = temp_path(state, "hypervisor");
    cleanup_free char *folder = machine_folder(name);
    assert_ok(file_make_dirs(folder, 0700, err), *err);
    if (text) {
        put_text(path, text);
        assert_int_equal(chmod(path, 0755), 0);
    }
    strcpy(program, path);
    const struct machine m = {.name = name,
                              .resources = {.cpus = 1, .memory_mib = 512, .disk_gib = 1}};
    CLEANUP(sharers_release) struct sharers sharers = SHARERS_INIT;
    return vm_start(&m, &provider, &sharers, pid, err);
}

static void the_lock_lives_as_long_as_the_vm(void **state)
{
    struct error err;
    pid_t pid, second;
    char name[] = "life";
    cleanup_free char *lock = machine_path(name, MACHINE_VM_LOCK);
    assert_ok(start(state, name, "#!/bin/sh\nsleep 60 &\necho up\nexec sleep 60\n", &pid, &err),
              err);
    assert_true(lock_is_held(lock));
    assert_int_equal(lock_read_pid(lock), pid);
    assert_int_equal(getpgid(pid), pid);
    // No second VM on the same disk, whoever asks.
    assert_fails(start(state, name, NULL, &second, &err), err, EBUSY, "is running");
    cleanup_free char *log_path = machine_path(name, MACHINE_VM_LOG);
    for (int i = 0; i < 500; i++) {
        cleanup_free char *log = get_text(log_path);
        if (strcmp(log, "up\n") == 0)
            break;
        clock_sleep_ms(20);
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    // A child of it still has the disk open as far as anybody knows.
    assert_true(lock_is_held(lock));
    const struct machine m = {.name = name};
    vm_end_remains(&m, pid);
    assert_false(lock_is_held(lock));
    vm_end_remains(&m, 0);
}

static void it_gets_its_words_and_its_log(void **state)
{
    struct error err;
    pid_t pid;
    int status;
    char name[] = "words";
    assert_ok(start(state, name,
                    "#!/bin/sh\necho \"out $1 $2 $#\"\necho err >&2\n"
                    "read line && echo \"stdin has $line\"\n"
                    "for fd in 3 4 5 6 7 8 9; do { true >&$fd; } 2>/dev/null && echo open $fd; "
                    "done\nexit 3\n",
                    &pid, &err),
              err);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 3);
    cleanup_free char *log_path = machine_path(name, MACHINE_VM_LOG);
    cleanup_free char *log = get_text(log_path);
    assert_string_equal(log, "out words two words 2\nerr\n");
    cleanup_free char *argv_path = machine_path(name, MACHINE_VM_ARGV);
    cleanup_free char *argv = get_text(argv_path);
    assert_non_null(strstr(argv, "hypervisor words 'two words'\n"));
}

static void a_program_that_cannot_run_is_an_error(void **state)
{
    struct error err;
    pid_t pid;
    char name[] = "broken";
    cleanup_free char *lock = machine_path(name, MACHINE_VM_LOCK);
    assert_fails(start(state, name, "#!/no/such/interpreter\n", &pid, &err), err, ENOENT,
                 "cannot run");
    assert_false(lock_is_held(lock));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lock_lives_as_long_as_the_vm),
        cmocka_unit_test(it_gets_its_words_and_its_log),
        cmocka_unit_test(a_program_that_cannot_run_is_an_error),
    };
    return cmocka_run_group_tests_name("vm", tests, temp_home_setup, temp_home_teardown);
}
