// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/virtiofsd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"
#include "provider/hypervisor.h"

static const int64_t help_ms = 10000;
static const int64_t lost_after_ms = 2000;
static const int first_free_fd = 10;
enum { LISTENER_FD = 3 };

static char *find_program(void)
{
    const char *folder = getenv("CONTAINERS_HELPER_BINARY_DIR");
    // Of Debian, Fedora and SUSE; of Arch. Not /usr/lib/qemu, where the one in C is.
    const char *dirs[] = {"/usr/libexec", "/usr/lib", NULL, NULL};
    if (folder && *folder == '/') {
        dirs[2] = dirs[1];
        dirs[1] = dirs[0];
        dirs[0] = folder;
    }
    return process_find("virtiofsd", dirs);
}

bool virtiofsd_find(char **program, bool *read_only)
{
    struct error err;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf help = STRBUF_INIT, words = STRBUF_INIT;
    cleanup_free char *found = find_program();
    if (!found)
        return false;
    strvec_push(&argv, found);
    strvec_push(&argv, "--help");
    // The one in C has `-o source=` instead.
    if (process_run_within(&argv, help_ms, &help, &words, &err) < 0 ||
        !strstr(help.text, "--shared-dir")) {
        log_info("'%s' is passed over: it is not virtiofsd 1.0 or later", found);
        return false;
    }
    *read_only = strstr(help.text, "--readonly") != NULL;
    *program = steal_string(&found);
    return true;
}

// A listener that is there before either side is: qemu can connect at once.
static int listen_at(const char *path, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, ENAMETOOLONG, "the path of socket '%s' is too long", path);
    strcpy(address.sun_path, path);
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        return error_errno(err, "cannot make a socket");
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    unlink(path);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 1) < 0)
        return error_errno(err, "cannot listen at '%s'", path);
    return steal_fd(&fd);
}

// The folder is given as the current one, so that no path has to be spelled. Neither sandbox nor
// filter, as podman does: a sandbox needs more rights than a user has, and it would let the guest's
// users own files that this user may not make.
static void add_words(struct strvec *argv, const struct tools *tools, const struct share *share)
{
    static const char *const words[] = {"--shared-dir", ".",     "--sandbox", "none",
                                        "--seccomp",    "none",  "--fd",      "3",
                                        "--log-level",  "error", NULL};
    strvec_push(argv, tools->virtiofsd);
    strvec_pushv(argv, words);
    if (share->mount->read_only && tools->virtiofsd_read_only)
        strvec_push(argv, "--readonly");
}

// In the child: never returns.
static void become(const struct strvec *argv, const char *folder, int listener, int log_fd)
{
    int null_fd = open("/dev/null", O_RDONLY);
    int kept = fcntl(listener, F_DUPFD, first_free_fd); // may be 3 itself
    int log = fcntl(log_fd, F_DUPFD, first_free_fd);
    if (setpgid(0, 0) == 0 && dup2(null_fd, STDIN_FILENO) >= 0 && dup2(log, STDOUT_FILENO) >= 0 &&
        dup2(log, STDERR_FILENO) >= 0 && dup2(kept, LISTENER_FD) >= 0 && chdir(folder) == 0) {
        close(log);
        close(kept);
        process_raise_file_limit();
        execv(argv->items[0], argv->items);
    }
    log_error("cannot run '%s' in '%s': %s", argv->items[0], folder, strerror(errno));
    _exit(127);
}

static int start_one(pid_t *pid, const struct tools *tools, const struct share *share, int log_fd,
                     struct error *err)
{
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    cleanup_close int listener = listen_at(share->socket, err);
    if (listener < 0)
        return -1;
    add_words(&argv, tools, share);
    cleanup_free char *line = strvec_quote(&argv);
    log_info("running %s in '%s'", line, share->path);
    *pid = process_fork();
    if (*pid < 0)
        return error_errno(err, "cannot start '%s'", tools->virtiofsd);
    if (*pid == 0)
        become(&argv, share->path, listener, log_fd);
    return 0;
}

int sharers_start(struct sharers *sharers, const struct tools *tools, int log_fd, struct error *err)
{
    const struct shares *shares = &tools->shares;
    sharers_release(sharers);
    for (size_t i = 0; i < shares->count; i++) {
        pid_t pid;
        if (!shares->items[i].socket)
            continue;
        if (start_one(&pid, tools, &shares->items[i], log_fd, err) < 0) {
            sharers_release(sharers);
            return -1;
        }
        sharers->pids = xrealloc(sharers->pids, (sharers->count + 1) * sizeof(*sharers->pids));
        sharers->pids[sharers->count++] = pid;
    }
    return 0;
}

void sharers_take_end(struct sharers *sharers, pid_t pid)
{
    for (size_t i = 0; i < sharers->count; i++) {
        if (sharers->pids[i] != pid)
            continue;
        log_info("virtiofsd (process %ld) has ended", (long)pid);
        sharers->pids[i] = 0;
        sharers->ended_ms = clock_monotonic_ms();
    }
}

bool sharers_are_lost(struct sharers *sharers)
{
    if (!sharers->ended_ms || clock_monotonic_ms() < sharers->ended_ms + lost_after_ms)
        return false;
    sharers->ended_ms = 0;
    return true;
}

void sharers_release(struct sharers *sharers)
{
    for (size_t i = 0; i < sharers->count; i++)
        process_end(&sharers->pids[i]);
    free(sharers->pids);
    *sharers = (struct sharers)SHARERS_INIT;
}
