// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/vm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/process.h"
#include "provider/vsock.h"

static const int first_free_fd = 10;
static const int64_t remains_look_ms = 100;
static const int remains_patience = 10, remains_looks = 50;

static int write_argv(const struct machine *m, const struct strvec *argv, struct error *err)
{
    cleanup_free char *path = machine_path(m->name, MACHINE_VM_ARGV);
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    cleanup_free char *line = strvec_quote(argv);
    strbuf_addf(&text, "%s\n", line);
    log_info("running %s", line);
    return file_write_atomic(path, text.text, text.length, 0600, err);
}

// In the child: never returns.
static void become(const struct strvec *argv, const struct tools *tools, int log_fd, int lock_fd,
                   int failure_fd)
{
    if (tools->vhost.context_id)
        fcntl(tools->vhost.fd, F_SETFD, 0);
    // A copy without close-on-exec: the VM inherits the lock.
    int null_fd = open("/dev/null", O_RDONLY);
    int kept = fcntl(lock_fd, F_DUPFD, first_free_fd);
    umask(077); // its control socket and logs are ours alone
    if (setpgid(0, 0) == 0 && kept >= 0 && null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 &&
        dup2(log_fd, STDOUT_FILENO) >= 0 && dup2(log_fd, STDERR_FILENO) >= 0) {
        if (null_fd > STDERR_FILENO)
            close(null_fd);
        process_raise_file_limit();
        execv(argv->items[0], argv->items);
    }
    int reason = errno;
    if (write(failure_fd, &reason, sizeof(reason)) < 0)
        _exit(126);
    _exit(127);
}

int vm_start(const struct machine *m, const struct provider *provider, struct sharers *sharers,
             pid_t *pid, struct error *err)
{
    CLEANUP(tools_release) struct tools tools = TOOLS_INIT;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    cleanup_free char *lock_path = machine_path(m->name, MACHINE_VM_LOCK);
    cleanup_free char *log_path = machine_path(m->name, MACHINE_VM_LOG);
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    int failure[2];

    if (provider_probe(provider, m, &tools, err) < 0 ||
        provider_share(provider, m, &tools, err) < 0)
        return -1;
    if (lock_take(&lock, lock_path, lock_glance_ms, err) < 0)
        return err->code == EBUSY
                   ? error_set(err, EBUSY, "a VM of machine \"%s\" is running", m->name)
                   : -1;
    vsock_claim(&tools, m, provider);
    if (provider_command(provider, m, &tools, &argv, err) < 0 || write_argv(m, &argv, err) < 0)
        return -1;
    cleanup_close int log_fd = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log_fd < 0)
        return error_errno(err, "cannot open '%s'", log_path);
    if (process_pipe(failure, err) < 0)
        return -1;
    cleanup_close int failure_read = failure[0];
    cleanup_close int failure_write = failure[1];

    if (sharers_start(sharers, &tools, log_fd, err) < 0)
        return -1;
    pid_t child = process_fork();
    if (child < 0)
        return error_errno(err, "cannot start the VM");
    if (child == 0)
        become(&argv, &tools, log_fd, lock.fd, failure_write);

    setpgid(child, child); // also here: whoever is first
    close(steal_fd(&failure_write));
    int reason;
    if (read(failure_read, &reason, sizeof(reason)) == (ssize_t)sizeof(reason)) {
        waitpid(child, NULL, 0); // until then it holds the lock
        errno = reason;
        return error_errno(err, "cannot run '%s'", argv.items[0]);
    }
    // From here on the VM alone holds its lock: ours is let go when we return.
    if (lock_write_pid(&lock, child, err) < 0)
        return -1;
    *pid = child;
    return 0;
}

void vm_end_remains(const struct machine *m, pid_t pid)
{
    cleanup_free char *lock = machine_path(m->name, MACHINE_VM_LOCK);
    for (int i = 0; pid > 0 && lock_is_held(lock) && i < remains_looks; i++) {
        if (i == remains_patience)
            kill(-pid, SIGKILL);
        clock_sleep_ms(remains_look_ms);
    }
    struct error err;
    if (shares_clear_sockets(m->name, &err) < 0)
        log_error("%s", err.message);
}
