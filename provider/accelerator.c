// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/accelerator.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/platform.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "provider/kvm_guest.h"

extern char **environ;

static const int64_t limit_ms = 3000;
static const int64_t pause_ms = 20;
static const unsigned fixed_major = 8, fixed_minor = 1; // multi-threaded TCG, see below

// How the test guest ended. `wait_status` is as waitpid gives it.
struct trial {
    bool timed_out, gave_up; // gave_up: KVM itself said that it cannot go on
    int wait_status;
    struct strbuf words; // qemu's stderr
};

// What qemu prints when KVM gives up on a guest; it does not exit then, but waits for a debugger.
static bool says_broken(const char *words)
{
    return strstr(words, "KVM internal error") || strstr(words, "KVM: entry failed") ||
           strstr(words, "kvm run failed");
}

static void listen_to(struct trial *trial, int fd)
{
    char chunk[1024];
    ssize_t n;
    while ((n = read(fd, chunk, sizeof(chunk))) > 0)
        strbuf_add(&trial->words, chunk, (size_t)n);
}

static int run_trial(struct trial *trial, const struct strvec *argv, struct error *err)
{
    int ends[2];
    if (pipe(ends) < 0)
        return error_errno(err, "cannot make a pipe");
    cleanup_close int from_qemu = ends[0];
    cleanup_close int to_us = ends[1];
    fcntl(from_qemu, F_SETFD, FD_CLOEXEC);
    fcntl(to_us, F_SETFD, FD_CLOEXEC);
    fcntl(from_qemu, F_SETFL, O_NONBLOCK);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, to_us, STDERR_FILENO);
    pid_t pid;
    int failed = posix_spawn(&pid, argv->items[0], &actions, NULL, argv->items, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        errno = failed;
        return error_errno(err, "cannot run '%s'", argv->items[0]);
    }

    int64_t deadline = clock_monotonic_ms() + limit_ms;
    for (;;) {
        pid_t ended = waitpid(pid, &trial->wait_status, WNOHANG);
        listen_to(trial, from_qemu);
        if (ended == pid)
            return 0;
        if (ended < 0 && errno != EINTR)
            return error_errno(err, "cannot wait for '%s'", argv->items[0]);
        trial->gave_up = says_broken(trial->words.text);
        trial->timed_out = clock_monotonic_ms() >= deadline;
        if (trial->gave_up || trial->timed_out)
            break;
        clock_sleep_ms(pause_ms);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, &trial->wait_status, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

// The line of qemu's words that names the fault, without "qemu-system-x86_64: " before it.
static char *telling_line(const struct trial *trial)
{
    CLEANUP(strvec_release) struct strvec lines = STRVEC_INIT;
    strvec_split(&lines, trial->words.text, '\n');
    const char *line = "";
    for (size_t i = 0; i < lines.count; i++) {
        if (!*lines.items[i] || strstr(lines.items[i], "warning:"))
            continue;
        line = lines.items[i];
        if (strstr(line, "KVM") || strstr(line, "kvm"))
            break;
    }
    const char *colon = strstr(line, ": ");
    if (strncmp(line, "qemu-", 5) == 0 && colon)
        line = colon + 2;
    return xstrndup(line, strcspn(line, "\r"));
}

// Runs the guest. true: it did all it should. `lasting`: the answer will be the same next time.
static bool try_kvm(const struct tools *tools, const char *image, char **reason, bool *lasting)
{
    struct error err;
    *lasting = false;
    if (kvm_guest_write(image, tools->arch, &err) < 0) {
        *reason = xstrdup(err.message);
        return false;
    }
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    strvec_push(&argv, tools->hypervisor);
    strvec_push(&argv, "-accel");
    strvec_push(&argv, "kvm");
    strvec_push(&argv, "-cpu");
    strvec_push(&argv, "host");
    kvm_guest_argv(&argv, image, tools->arch);

    struct trial trial = {.words = STRBUF_INIT};
    int ran = run_trial(&trial, &argv, &err);
    unlink(image);
    bool works = ran == 0 && !trial.gave_up && !trial.timed_out && WIFEXITED(trial.wait_status) &&
                 WEXITSTATUS(trial.wait_status) == kvm_guest_status(tools->arch);
    // A busy host can be late once, so a timeout is not remembered.
    // Neither is a guest that somebody's ctrl-C ended.
    bool cut_short =
        !WIFEXITED(trial.wait_status) || strstr(trial.words.text, "terminating on signal") != NULL;
    *lasting = ran == 0 && !trial.timed_out && (trial.gave_up || !cut_short);
    if (!works) {
        cleanup_free char *line = telling_line(&trial);
        cleanup_free char *how = process_describe_status(trial.wait_status);
        if (ran < 0)
            *reason = xstrdup(err.message);
        else if (trial.timed_out)
            *reason = xasprintf("a test guest was not done after %d s", (int)(limit_ms / 1000));
        else
            *reason = xasprintf("a test guest failed: %s", *line ? line : how);
    }
    strbuf_release(&trial.words);
    return works;
}

// What the answer depends on: another boot, qemu or user may have another one.
static json_t *identity(const struct tools *tools)
{
    struct stat st;
    cleanup_free char *boot = platform_boot_id();
    if (!boot || stat(tools->hypervisor, &st) < 0)
        return NULL;
    return json_pack("{s:s, s:s, s:I, s:I}", "boot_id", boot, "qemu", tools->hypervisor,
                     "qemu_changed", (json_int_t)st.st_mtime, "uid", (json_int_t)geteuid());
}

static bool remembered(const char *cache, json_t *who, bool *works, char **reason)
{
    struct error err;
    cleanup_json json_t *kept = NULL;
    if (json_read_file(&kept, cache, &err) < 0 || !json_equal(json_object_get(kept, "of"), who))
        return false;
    const json_t *answer = json_object_get(kept, "works");
    if (!json_is_boolean(answer))
        return false;
    const char *why = json_string_value(json_object_get(kept, "reason"));
    *works = json_is_true(answer);
    if (!*works)
        *reason = xstrdup(why ? why : "it failed before");
    return true;
}

static void remember(const char *cache, json_t *who, bool works, const char *reason)
{
    struct error err;
    cleanup_json json_t *kept =
        json_pack("{s:O, s:b, s:s?}", "of", who, "works", works, "reason", reason);
    if (!kept || json_write_file(cache, kept, 0600, &err) < 0)
        log_debug("cannot remember whether KVM works: %s", kept ? err.message : "bad text");
}

// What probes that were killed have left. The caller has the lock that a probe has.
static void clear_rubble(const char *folder)
{
    static const char *const beginnings[] = {"kvm-probe-", ".tmp-kvm-probe"};
    cleanup_dir DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
            if (strncmp(entry->d_name, beginnings[i], strlen(beginnings[i])) == 0)
                unlinkat(dirfd(dir), entry->d_name, 0);
    }
}

bool accelerator_kvm_works(const struct tools *tools, const char *device, const char *cache,
                           char **reason)
{
    if (access(device, R_OK | W_OK) < 0) {
        if (errno == EACCES || errno == EPERM)
            *reason = xasprintf("no access to %s: join the group that owns it", device);
        else
            *reason = xasprintf("%s: %s", device, strerror(errno));
        return false;
    }
    cleanup_json json_t *who = identity(tools);
    bool works, lasting;
    if (who && remembered(cache, who, &works, reason))
        return works;

    struct error err;
    cleanup_free char *folder = xstrndup(cache, (size_t)(strrchr(cache, '/') - cache));
    if (file_make_dirs(folder, 0700, &err) < 0) {
        *reason = xstrdup(err.message);
        return false;
    }
    // One at a time, for as long as that takes no longer than a probe can.
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    cleanup_free char *lock_path = xasprintf("%s/kvm-probe.lock", folder);
    if (lock_take(&lock, lock_path, 2 * limit_ms, &err) == 0) {
        if (who && remembered(cache, who, &works, reason))
            return works;
        clear_rubble(folder);
    }
    cleanup_free char *image = xasprintf("%s/kvm-probe-%ld.bin", folder, (long)getpid());
    works = try_kvm(tools, image, reason, &lasting);
    if (who && lasting)
        remember(cache, who, works, works ? NULL : *reason);
    return works;
}

bool accelerator_qemu_version(const char *qemu, unsigned *major, unsigned *minor)
{
    struct error err;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    strvec_push(&argv, qemu);
    strvec_push(&argv, "--version");
    if (process_run(&argv, &out, &err) < 0) {
        log_debug("%s", err.message);
        return false;
    }
    const char *version = strstr(out.text, "version ");
    return version && sscanf(version, "version %u.%u", major, minor) == 2;
}

void accelerator_choose(struct tools *tools, const char *cache)
{
    if (strcmp(platform_name, "darwin") == 0) {
        tools->accelerator = "hvf";
        return;
    }
    cleanup_free char *reason = NULL;
    if (accelerator_kvm_works(tools, "/dev/kvm", cache, &reason)) {
        tools->accelerator = "kvm";
        return;
    }

    // Before 8.1 two processors can run a page of code while it is being translated, and guests
    // with more than one die of it now and then while they boot.
    unsigned major = 0, minor = 0;
    bool known = accelerator_qemu_version(tools->hypervisor, &major, &minor);
    bool old = known && (major < fixed_major || (major == fixed_major && minor < fixed_minor));
    tools->accelerator = old ? "tcg,thread=single" : "tcg";
    cleanup_free char *also =
        old ? xasprintf(", and on one processor of the host, since QEMU %u.%u is older than %u.%u",
                        major, minor, fixed_major, fixed_minor)
            : xstrdup("");
    free(tools->notice);
    tools->notice = xasprintf("KVM is not usable here (%s): the machine runs under TCG, about 20 "
                              "times slower%s",
                              reason, also);
}
