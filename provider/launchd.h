// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_LAUNCHD_H
#define PROVIDER_LAUNCHD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strvec.h"

// launchd as text: the job's property list, launchctl's command lines and what it prints. All
// pure, so that it is tested on any system; running launchctl is the supervisor's work.

struct launchd_job {
    const char *machine;
    const char *program;              // ours: `program monitor --timeout=N machine` is what runs
    int64_t timeout_s;                // until the machine must be ready
    const char *log;                  // monitor.log: its stdout and stderr
    bool at_login;                    // start it by itself at login, with --at-login
    const struct strvec *environment; // "NAME=value"; launchd gives a job next to nothing
};

// "io.github.podman-machine-vmnet.NAME". The caller frees.
char *launchd_label(const char *machine);

// The property list as XML. EINVAL: a path is not text (plist.h). The caller frees.
int launchd_plist(char **text, const struct launchd_job *job, struct error *err);

// "gui/501" for a session with a screen, which a login makes; "user/501" is there without one,
// as over plain ssh. The caller frees.
char *launchd_domain(bool gui, uid_t uid);

// The words of launchctl. `domain` as launchd_domain() gives it. `enable` undoes a `disable`.
void launchd_bootstrap_argv(struct strvec *argv, const char *domain, const char *plist);
void launchd_bootout_argv(struct strvec *argv, const char *domain, const char *machine);
void launchd_enable_argv(struct strvec *argv, const char *domain, const char *machine);
void launchd_kickstart_argv(struct strvec *argv, const char *domain, const char *machine);
void launchd_kill_argv(struct strvec *argv, const char *domain, const char *machine,
                       const char *signal); // "SIGTERM"
void launchd_print_argv(struct strvec *argv, const char *domain, const char *machine);
void launchd_print_domain_argv(struct strvec *argv, const char *domain);

// What `launchctl print` says of a job. Its format is not promised, so only what is found counts.
struct launchd_state {
    bool running;  // `state = running`
    pid_t pid;     // 0: none
    bool has_exit; // it has ended at least once since it was loaded
    int last_exit; // `last exit code = N`
};

// EBADMSG: this is not the description of a job.
int launchd_parse_print(struct launchd_state *state, const char *text, struct error *err);

#endif
