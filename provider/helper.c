// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/helper.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/platform.h"
#include "base/process.h"

static const int64_t first_look_ms = 1000;
static const int64_t look_again_ms = 2000;
static const int64_t look_slowly_ms = 15000; // where it cannot be watched
static const unsigned most_looks = 15;

void helper_init(struct helper *helper, const char *name, pid_t vm)
{
    *helper = (struct helper){
        .name = name, .vm = vm, .fd = -1, .look_at_ms = clock_monotonic_ms() + first_look_ms};
}

void helper_release(struct helper *helper)
{
    cleanup_close_fd(&helper->fd);
    *helper = (struct helper){.fd = -1};
}

static bool is_named(const char *command, const char *name)
{
    const char *slash = strrchr(command, '/');
    return strcmp(slash ? slash + 1 : command, name) == 0;
}

pid_t helper_find(const char *processes, pid_t parent, const char *name)
{
    CLEANUP(strvec_release) struct strvec lines = STRVEC_INIT;
    strvec_split(&lines, processes, '\n');
    pid_t found = 0;
    for (size_t i = 0; i < lines.count; i++) {
        long pid, above;
        char state[16];
        int words = 0;
        if (sscanf(lines.items[i], "%ld %ld %15s %n", &pid, &above, state, &words) != 3 ||
            above != (long)parent)
            continue;
        char *command = lines.items[i] + words;
        // A process that has ended has lost its name's form: "(vmnet-helper)", "x <defunct>".
        bool ended = state[0] == 'Z';
        bool named = is_named(command, name) || is_named(command, "sudo");
        if (ended && (named || strstr(command, name) || strstr(command, "sudo")))
            found = found ? found : -1;
        else if (!ended && named)
            return (pid_t)pid;
    }
    return found;
}

static pid_t look(const struct helper *helper)
{
    struct error err;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    static const char *const words[] = {"ps", "-A", "-o", "pid=,ppid=,stat=,comm=", NULL};
    strvec_pushv(&argv, words);
    if (process_run(&argv, &out, &err) < 0) {
        log_info("%s", err.message);
        return 0;
    }
    return helper_find(out.text, helper->vm, helper->name);
}

static bool end(struct helper *helper)
{
    helper->lost = true;
    cleanup_close_fd(&helper->fd);
    helper->fd = -1;
    return true;
}

bool helper_has_ended(struct helper *helper, bool readable)
{
    if (!helper->name || helper->lost)
        return false;
    if (readable)
        return end(helper);
    if (helper->fd >= 0 || clock_monotonic_ms() < helper->look_at_ms || helper->looks >= most_looks)
        return false;
    pid_t pid = look(helper);
    if (pid < 0)
        return end(helper);
    helper->look_at_ms = clock_monotonic_ms() + look_again_ms;
    helper->looks++;
    if (pid == 0) {
        if (helper->looks == most_looks)
            log_info("%s of the VM (process %ld) is not found", helper->name, (long)helper->vm);
        return false;
    }
    helper->fd = platform_watch_exit(pid);
    if (helper->fd < 0) {
        helper->looks = 0;
        helper->look_at_ms = clock_monotonic_ms() + look_slowly_ms;
    }
    return false;
}
