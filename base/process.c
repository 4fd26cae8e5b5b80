// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

extern char **environ;

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *process_find(const char *name, const char *const *dirs)
{
    if (strchr(name, '/'))
        return is_program(name) ? realpath(name, NULL) : NULL;

    for (; dirs && *dirs; dirs++) {
        cleanup_free char *path = xasprintf("%s/%s", *dirs, name);
        if (is_program(path))
            return steal_string(&path);
    }
    const char *search = getenv("PATH");
    CLEANUP(strvec_release) struct strvec folders = STRVEC_INIT;
    strvec_split(&folders, search ? search : "/usr/bin:/bin", ':');
    for (size_t i = 0; i < folders.count; i++) {
        if (folders.items[i][0] != '/')
            continue; // a relative entry of PATH would make the answer depend on the folder
        cleanup_free char *path = xasprintf("%s/%s", folders.items[i], name);
        if (is_program(path))
            return steal_string(&path);
    }
    return NULL;
}

char *process_lasting_path(const char *executable, const char *const *dirs)
{
    struct stat own, other;
    cleanup_free char *found = process_find(strrchr(executable, '/') + 1, dirs);
    bool same = found && stat(executable, &own) == 0 && stat(found, &other) == 0 &&
                own.st_dev == other.st_dev && own.st_ino == other.st_ino;
    return same ? steal_string(&found) : xstrdup(executable);
}

int process_pipe(int ends[2], struct error *err)
{
    if (pipe(ends) < 0)
        return error_errno(err, "cannot make a pipe");
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

// Reads both pipes until the child has closed them, or the time is over: false.
static bool drain(int out_fd, struct strbuf *out, int err_fd, struct strbuf *words,
                  int64_t timeout_ms)
{
    struct pollfd fds[2] = {{.fd = out_fd, .events = POLLIN}, {.fd = err_fd, .events = POLLIN}};
    struct strbuf *into[2] = {out, words};
    int64_t deadline = clock_monotonic_ms() + timeout_ms;
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        int64_t left = timeout_ms < 0 ? -1 : deadline - clock_monotonic_ms();
        if (timeout_ms >= 0 && left <= 0)
            return false;
        if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
            return true;
        for (int i = 0; i < 2; i++) {
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            char chunk[4096];
            ssize_t n = read(fds[i].fd, chunk, sizeof(chunk));
            if (n > 0 && into[i])
                strbuf_add(into[i], chunk, (size_t)n);
            if (n == 0 || (n < 0 && errno != EINTR))
                fds[i].fd = -1;
        }
    }
    return true;
}

static const char *last_words(struct strbuf *words)
{
    while (words->length && strchr("\n\r ", words->text[words->length - 1]))
        strbuf_truncate(words, words->length - 1);
    return words->length > 600 ? words->text + words->length - 600 : words->text;
}

int process_run(const struct strvec *argv, struct strbuf *out, struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT;
    return process_run_within(argv, -1, out, &words, err);
}

int process_run_within(const struct strvec *argv, int64_t timeout_ms, struct strbuf *out,
                       struct strbuf *words, struct error *err)
{
    int status;
    if (process_call(argv, timeout_ms, out, words, &status, err) < 0)
        return -1;
    if (status == 0)
        return 0;
    cleanup_free char *how = process_describe_status(status);
    const char *said = last_words(words);
    return error_set(err, ECHILD, "'%s' failed: %s%s%s", argv->items[0], how, *said ? ": " : "",
                     said);
}

int process_call(const struct strvec *argv, int64_t timeout_ms, struct strbuf *out,
                 struct strbuf *words, int *wait_status, struct error *err)
{
    const char *name = argv->items[0];
    cleanup_free char *shown = strvec_quote(argv);
    log_debug("running %s", shown);

    int out_pipe[2], err_pipe[2];
    if (process_pipe(out_pipe, err) < 0)
        return -1;
    cleanup_close int out_read = out_pipe[0];
    cleanup_close int out_write = out_pipe[1];
    if (process_pipe(err_pipe, err) < 0)
        return -1;
    cleanup_close int err_read = err_pipe[0];
    cleanup_close int err_write = err_pipe[1];

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out_write, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err_write, STDERR_FILENO);
    pid_t pid;
    int failed = posix_spawnp(&pid, name, &actions, NULL, argv->items, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        errno = failed;
        return error_errno(err, "cannot run '%s'", name);
    }

    close(steal_fd(&out_write));
    close(steal_fd(&err_write));
    bool in_time = drain(out_read, out, err_read, words, timeout_ms);
    if (!in_time)
        kill(pid, SIGKILL);
    while (waitpid(pid, wait_status, 0) < 0)
        if (errno != EINTR)
            return error_errno(err, "cannot wait for '%s'", name);
    if (!in_time)
        return error_set(err, ETIMEDOUT, "'%s' has not ended after %lld s", name,
                         (long long)(timeout_ms / 1000));
    return 0;
}

// A program that runs another often ends so when a signal ended that: shells, vmnet-run (run.c).
enum { STATUS_OF_SIGNAL = 128, FIRST_UNUSUAL_SIGNAL = 32 };

char *process_describe_status(int wait_status)
{
    if (WIFSIGNALED(wait_status)) {
        int number = WTERMSIG(wait_status);
        return xasprintf("killed by signal %d (%s)", number, strsignal(number));
    }
    int status = WEXITSTATUS(wait_status);
    int number = status - STATUS_OF_SIGNAL;
    if (number > 0 && number < FIRST_UNUSUAL_SIGNAL)
        return xasprintf("exit status %d, as after signal %d (%s)", status, number,
                         strsignal(number));
    return xasprintf("exit status %d", status);
}

int process_pass(const struct strvec *argv, bool quiet, int *wait_status, struct error *err)
{
    cleanup_free char *shown = strvec_quote(argv);
    log_debug("running %s", shown);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (quiet)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    int failed = posix_spawnp(&pid, argv->items[0], &actions, NULL, argv->items, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        errno = failed;
        return error_errno(err, "cannot run '%s'", argv->items[0]);
    }
    while (waitpid(pid, wait_status, 0) < 0)
        if (errno != EINTR)
            return error_errno(err, "cannot wait for '%s'", argv->items[0]);
    return 0;
}

int process_exec(const struct strvec *argv, struct error *err)
{
    cleanup_free char *shown = strvec_quote(argv);
    log_debug("becoming %s", shown);
    process_reset_signals();
    execvp(argv->items[0], argv->items);
    return error_errno(err, "cannot run '%s'", argv->items[0]);
}

void process_reset_signals(void)
{
    static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGQUIT};
    for (size_t i = 0; i < ARRAY_SIZE(handled); i++)
        signal(handled[i], SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

pid_t process_fork(void)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    int reason = errno;
    if (pid == 0)
        process_reset_signals();
    else
        sigprocmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return pid;
}

void process_raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
        return;
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return;
    limit.rlim_cur = 10240; // macOS takes no more than its OPEN_MAX, whatever it says
    if (limit.rlim_cur > before)
        setrlimit(RLIMIT_NOFILE, &limit);
}

void process_end(pid_t *pid)
{
    if (*pid <= 0)
        return;
    kill(*pid, SIGKILL);
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    *pid = 0;
}

bool process_alive(pid_t pid)
{
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}
