// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// `podman`, to be found before the real one: see cmd/frontend.h. A program of its own because it
// stands in the way of every podman command: with only libjansson to load it costs a
// millisecond, where podman-machine-vmnet, which brings curl and its forty libraries, takes ten.

#include <stdio.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/frontend.h"
#include "cmd/program.h"

int main(int argc, char **argv)
{
    struct error err = {0};
    if (frontend_run(argc, argv, &err) == 0) {
        cleanup_free char *program = program_full();
        argv[0] = (char *)"podman"; // it has to make the same choice, and to speak of podman
        if (program)
            execv(program, argv);
        error_errno(&err, "cannot run podman-machine-vmnet");
    }
    if (err.code == COMMAND_PLAIN) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    fprintf(stderr, "Error: %s\n", err.message);
    return 125;
}
