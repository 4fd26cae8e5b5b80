// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// run PROGRAM [ARGUMENT...]: runs it and prints what it took. A small process does this, because
// the kernel counts the memory of whoever made the child as the child's own.

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    struct timespec begun, ended;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    pid_t child = argc > 1 ? fork() : -1;
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    double wall =
        (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
    printf("{\"wall\": %.4f, \"cpu\": %.4f, \"maxrss\": %ld}\n", wall,
           seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
