// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/strvec.h"

// Other programs. Always an argv vector, never a shell; every descriptor that we open is
// close-on-exec, so a child gets 0, 1, 2 and what is named here.

// A pipe, both ends close-on-exec.
int process_pipe(int ends[2], struct error *err);

// The absolute path of `name`: as it is when it holds a slash, else the first executable file
// in the NULL-terminated `dirs` (may be NULL) and then in $PATH. The caller frees; NULL: none.
char *process_find(const char *name, const char *const *dirs);

// A path of the program at the absolute path `executable` that goes on leading to it when it is
// updated: where process_find() finds it by its name. Homebrew's links in bin lead to a folder of
// the version, which the next one's takes the place of. `executable` itself when what is found
// is another file. The caller frees.
char *process_lasting_path(const char *executable, const char *const *dirs);

// Runs to the end. stdin is /dev/null; stdout goes to `out` (NULL: discarded); stderr is kept
// for the error. A status other than 0, or a signal, is ECHILD with the program's last words.
int process_run(const struct strvec *argv, struct strbuf *out, struct error *err);

// The same, for a program that may hang: after `timeout_ms` (-1: never) it is killed, ETIMEDOUT.
// `words` gets its stderr, also when it succeeds.
int process_run_within(const struct strvec *argv, int64_t timeout_ms, struct strbuf *out,
                       struct strbuf *words, struct error *err);

// As process_run_within(), but every end of the program is an answer: `wait_status` as waitpid
// gives it. `words` may be NULL.
int process_call(const struct strvec *argv, int64_t timeout_ms, struct strbuf *out,
                 struct strbuf *words, int *wait_status, struct error *err);

// "exit status 3", "killed by signal 9 (Killed)", "exit status 137, as after signal 9 (Killed)".
// The caller frees.
char *process_describe_status(int wait_status);

// Runs to the end with our own stdin, stdout (or nothing, when `quiet`) and stderr. `wait_status`
// is as waitpid gives it.
int process_pass(const struct strvec *argv, bool quiet, int *wait_status, struct error *err);

// Becomes the program. Returns only on failure: ENOENT or EACCES as execv says.
int process_exec(const struct strvec *argv, struct error *err);

// fork() whose child takes no signal by the parent's handlers: it has the defaults and an empty
// mask before the first one can come.
pid_t process_fork(void);

// For a process before exec: default signal handlers, empty mask.
void process_reset_signals(void);

// For a child that will have many files open, as one that serves folders does: as many as it may.
// (macOS starts programs with a limit of 256.)
void process_raise_file_limit(void);

// Kills a child and waits for it; then the variable is 0, as it may be before.
void process_end(pid_t *pid);

// Whether the process exists (a zombie does).
bool process_alive(pid_t pid);

#endif
