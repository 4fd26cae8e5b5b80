// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// logs: what the monitor, the hypervisor or the guest's console wrote.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/target.h"

static const int64_t look_every_ms = 200;

struct values {
    struct option_bool follow, serial, vm;
    struct option_uint lines;
};

// Everything from `fd`'s position to the end of the file.
static int copy_rest(int fd, struct error *err)
{
    char chunk[16384];
    ssize_t n;
    while ((n = read(fd, chunk, sizeof(chunk))) > 0)
        fwrite(chunk, 1, (size_t)n, stdout);
    fflush(stdout);
    return n < 0 ? error_errno(err, "cannot read the log") : 0;
}

static int follow(const char *path, int fd, struct error *err)
{
    for (;;) {
        struct stat now, shown;
        if (copy_rest(fd, err) < 0)
            return -1;
        if (interrupted())
            return 0;
        // A new start writes a new log, or the same one from its beginning.
        if (fstat(fd, &shown) == 0 && stat(path, &now) == 0 &&
            (now.st_ino != shown.st_ino || now.st_size < lseek(fd, 0, SEEK_CUR))) {
            cleanup_close int fresh = open(path, O_RDONLY | O_CLOEXEC);
            if (fresh >= 0)
                dup2(fresh, fd);
        }
        clock_sleep_ms(look_every_ms);
    }
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;
    const char *name = target_name(&operands);
    if (!machine_exists(name))
        return error_set(err, ENOENT, "%s: VM does not exist", name);
    cleanup_free char *path = machine_path(name, values.serial.value ? MACHINE_SERIAL_LOG
                                                 : values.vm.value   ? MACHINE_VM_LOG
                                                                     : MACHINE_MONITOR_LOG);
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return error_set(err, ENOENT, "machine \"%s\" has no such log yet: it has never run", name);
    if (fd < 0)
        return error_errno(err, "cannot open '%s'", path);
    if (values.lines.given) {
        cleanup_free char *tail = file_tail(path, (unsigned)values.lines.value);
        lseek(fd, 0, SEEK_END);
        if (values.lines.value && *tail)
            puts(tail);
    }
    if (!values.follow.value)
        return copy_rest(fd, err);
    interrupt_watch();
    return follow(path, fd, err);
}

static const struct option_spec options[] = {
    {.name = "follow",
     .letter = 'f',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, follow),
     .help = "Go on with what is written from now on"},
    {.name = "lines",
     .letter = 'n',
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, lines),
     .help = "Show only this many of the last lines"},
    {.name = "serial",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, serial),
     .help = "Show the guest's console"},
    {.name = "vm",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, vm),
     .help = "Show what the hypervisor printed"},
    {.name = NULL},
};

const struct command command_logs = {
    .name = "logs",
    .operands = "[options] [MACHINE]",
    .summary = "Show the logs of a machine",
    .details = "Show what was done to start and stop a machine, or its guest's console",
    .examples = "logs myvm\nlogs --serial -f myvm",
    .most = 1,
    .options = options,
    .run = run,
};
