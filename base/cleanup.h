// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>

// The ownership idiom: a local that owns something is declared with one of these, `return`
// is the only way out, and handing over is spelled steal_*().
//
//     cleanup_free char *path = machine_path(m, MACHINE_DISK);
//     cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
//     CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
#define CLEANUP(function) __attribute__((cleanup(function)))
#define PRINTF_LIKE(at, first) __attribute__((format(printf, at, first)))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define cleanup_free CLEANUP(cleanup_free_pointer)
#define cleanup_close CLEANUP(cleanup_close_fd)
#define cleanup_file CLEANUP(cleanup_close_file)
#define cleanup_dir CLEANUP(cleanup_close_dir)
#define cleanup_unlink CLEANUP(cleanup_unlink_path) // removes the file it names, and frees

void cleanup_free_pointer(void *pointer); // takes the address of the pointer
void cleanup_close_fd(const int *fd);     // -1 is nothing to close; errno is kept
void cleanup_close_file(FILE **file);
void cleanup_close_dir(DIR **dir);
void cleanup_unlink_path(char **path);

// Gives the value away: the variable no longer owns it.
char *steal_string(char **text);
int steal_fd(int *fd);

#endif
