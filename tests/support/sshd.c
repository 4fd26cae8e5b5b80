// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/sshd.h"
#include "tests/support/support.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/process.h"

static int loopback_socket(struct sockaddr_in *address, unsigned port)
{
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return socket(AF_INET, SOCK_STREAM, 0);
}

unsigned free_port(void)
{
    struct sockaddr_in address;
    socklen_t size = sizeof(address);
    cleanup_close int fd = loopback_socket(&address, 0);
    assert_return_code(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_return_code(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    return ntohs(address.sin_port);
}

static bool answers(unsigned port)
{
    struct sockaddr_in address;
    cleanup_close int fd = loopback_socket(&address, port);
    return connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
}

static void make_key(const char *type, const char *path)
{
    struct error err;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    const char *const words[] = {"ssh-keygen", "-q", "-t", type, "-N", "", "-f", path, NULL};
    strvec_pushv(&argv, words);
    assert_ok(process_run(&argv, NULL, &err), err);
}

// Listens on `port`, or has ended (somebody else took it).
static bool launch(struct sshd *sshd, const char *program, const char *folder, const char *config)
{
    sshd->port = free_port();
    cleanup_free char *file = xasprintf("%s/sshd_config", folder);
    cleanup_free char *log = xasprintf("%s/log", folder);
    cleanup_free char *text =
        xasprintf("%s\n"
                  "ListenAddress 127.0.0.1\nPort %u\n"
                  "HostKey \"%s/host_ecdsa\"\nHostKey \"%s/host_ed25519\"\n"
                  "AuthorizedKeysFile \"%s/identity.pub\"\n"
                  "StrictModes no\nUsePAM no\nPidFile none\nMaxStartups 100\n"
                  "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
                  "PermitRootLogin prohibit-password\n",
                  config, sshd->port, folder, folder, folder);
    put_text(file, text);

    sshd->pid = fork();
    if (sshd->pid == 0) {
        close(STDIN_FILENO);
        execl(program, program, "-D", "-f", file, "-E", log, (char *)NULL);
        _exit(127);
    }
    int64_t deadline = clock_monotonic_ms() + 20000;
    while (clock_monotonic_ms() < deadline && waitpid(sshd->pid, NULL, WNOHANG) == 0) {
        if (answers(sshd->port))
            return true;
        clock_sleep_ms(20);
    }
    return false;
}

bool sshd_start(struct sshd *sshd, const char *folder, const char *config)
{
    *sshd = (struct sshd){0};
    static const char *const dirs[] = {"/usr/sbin", "/usr/local/sbin", NULL};
    cleanup_free char *program = process_find("sshd", dirs);
    struct passwd *user = getpwuid(getuid());
    if (!program || !user)
        return false;
    if (getuid() == 0)
        mkdir("/run/sshd", 0755); // which sshd as root insists on, and its service unit makes

    mkdir(folder, 0700);
    cleanup_free char *host_ecdsa = xasprintf("%s/host_ecdsa", folder);
    cleanup_free char *host_ed25519 = xasprintf("%s/host_ed25519", folder);
    cleanup_free char *host_public = xasprintf("%s.pub", host_ed25519);
    sshd->user = xstrdup(user->pw_name);
    sshd->identity = xasprintf("%s/identity", folder);
    make_key("ecdsa", host_ecdsa);
    make_key("ed25519", host_ed25519);
    make_key("ed25519", sshd->identity);
    sshd->host_key = get_text(host_public);

    // Since 9.8 it locks out whoever fails to log in too often; older ones end at the word.
    cleanup_free char *lenient = xasprintf("%s\nPerSourcePenalties no", config);
    for (int tries = 0; tries < 4; tries++)
        if (launch(sshd, program, folder, tries < 2 ? lenient : config))
            return true;
    sshd->pid = 0;
    sshd_stop(sshd);
    return false;
}

void sshd_stop(struct sshd *sshd)
{
    if (sshd->pid > 0) {
        kill(sshd->pid, SIGTERM);
        waitpid(sshd->pid, NULL, 0);
    }
    free(sshd->user);
    free(sshd->identity);
    free(sshd->host_key);
    *sshd = (struct sshd){0};
}
