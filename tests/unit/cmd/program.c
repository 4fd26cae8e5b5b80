// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/cmd/program.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

static void split_line(struct strvec *words, const char *line)
{
    while (*line) {
        bool quoted = *line == '\'';
        line += quoted;
        size_t length = strcspn(line, quoted ? "'" : " ");
        strvec_take(words, xstrndup(line, length));
        line += length + (quoted && line[length]);
        line += *line == ' ';
    }
}

static void send_to(const char *path, int fd)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, fd) < 0)
        _exit(99);
    close(file);
}

struct outcome program_run_as(void **state, const char *name, const char *line)
{
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT;
    cleanup_free char *out = temp_path(state, "stdout"), *errors = temp_path(state, "stderr");
    strvec_push(&words, name);
    split_line(&words, line);
    pid_t child = fork();
    if (child == 0) {
        send_to(out, STDOUT_FILENO);
        send_to(errors, STDERR_FILENO);
        execv(PROGRAM, words.items);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return (struct outcome){WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status),
                            get_text(out), get_text(errors)};
}

struct outcome program_run(void **state, const char *line)
{
    return program_run_as(state, PROGRAM, line);
}

void outcome_release(struct outcome *outcome)
{
    free(outcome->out);
    free(outcome->errors);
}

void program_gives(void **state, const char *line, int status, const char *out, const char *errors)
{
    CLEANUP(outcome_release) struct outcome outcome = program_run(state, line);
    if (outcome.status != status || strcmp(outcome.out, out) != 0 ||
        strcmp(outcome.errors, errors) != 0)
        fail_msg("'%s' gave %d:\n%s\n%s\nwanted %d:\n%s\n%s", line, outcome.status, outcome.out,
                 outcome.errors, status, out, errors);
}

void put_machine(const char *name, const char *provider, int64_t created_ns, uint64_t port)
{
    struct error err;
    struct machine m = {.created_ns = created_ns, .rootful = true};
    m.name = xstrdup(name);
    m.provider = xstrdup(provider);
    m.mac = xstrdup("52:54:00:01:02:03");
    m.instance_id = xstrdup("id");
    m.image.source = xstrdup("fedora-44");
    m.ssh.user = xstrdup("core");
    m.ssh.identity = xstrdup("/keys/<machine>");
    m.ssh.port = port;
    m.resources.cpus = 4;
    m.resources.memory_mib = 2048;
    m.resources.disk_gib = 100;
    cleanup_free char *folder = machine_folder(name);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    assert_ok(machine_save(&m, &err), err);
    machine_release(&m);
}
