// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "cmd/nameservers.h"
#include "cmd/settle.h"

// The script's text with the guest's folders /etc, /run/user, /sys and /var/lib below another one.
static char *moved(const char *script, const char *home)
{
    static const char *const tops[] = {"/etc/", "/run/user/*", "/sys/", "/var/lib/"};
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    for (; *script; script++) {
        for (size_t i = 0; i < ARRAY_SIZE(tops); i++)
            if (strncmp(script, tops[i], strlen(tops[i])) == 0)
                strbuf_adds(&out, home);
        strbuf_addc(&out, *script);
    }
    return strbuf_steal(&out);
}

// One that notes how it was called; `more` is what else it does.
static void put_program_with(void **state, const char *name, const char *more)
{
    const char *home = *state;
    struct error err;
    cleanup_free char *folder = xasprintf("%s/bin", home);
    cleanup_free char *path = xasprintf("%s/bin/%s", home, name);
    cleanup_free char *text =
        xasprintf("#!/bin/sh\necho %s \"$*\" >>%s/calls\n%s\n", name, home, more);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    put_text(path, text);
    assert_int_equal(chmod(path, 0700), 0);
}

static void put_program(void **state, const char *name)
{
    put_program_with(state, name, "");
}

// Runs the script as the guest would; what it called is the result.
static char *settle_with(void **state, const struct machine *m, enum settle_proxies proxies,
                         int wanted)
{
    const char *home = *state;
    cleanup_free char *calls = temp_path(state, "calls");
    cleanup_free char *script = settle_script(m, proxies);
    cleanup_free char *here = moved(script, home);
    cleanup_free char *path = xasprintf("%s/bin:%s", home, "/usr/bin:/bin");
    put_text(calls, "");
    pid_t child = fork();
    if (child == 0) {
        setenv("PATH", path, 1);
        execl("/bin/sh", "sh", "-c", here, (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), wanted);
    return get_text(calls);
}

static char *settle(void **state, const struct machine *m)
{
    return settle_with(state, m, SETTLE_PROXIES, 0);
}

static void holds(void **state, const char *name, const char *text)
{
    cleanup_free char *path = temp_path(state, name);
    cleanup_free char *found = get_text(path);
    assert_string_equal(found, text);
}

// A user's manager listens there.
static int put_bus(void **state)
{
    struct error err;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_free char *path = temp_path(state, "run/user/1000/bus");
    cleanup_free char *folder = temp_path(state, "run/user/1000");
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    assert_true(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_return_code(bind(fd, (struct sockaddr *)&address, sizeof(address)), errno);
    return fd;
}

// An engine that a user's manager started before has the variables of then.
static void engines_of_users(void **state)
{
    const struct machine m = {.rootful = true};
    put_program(state, "systemctl");
    cleanup_close int bus = put_bus(state);
    assert_true(bus >= 0);
    setenv("FTP_PROXY", "x", 1);
    cleanup_free char *calls = settle(state, &m);
    unsetenv("FTP_PROXY");
    assert_non_null(strstr(calls, "systemctl daemon-reload\n"
                                  "systemctl restart user@1000.service\n"
                                  "systemctl try-restart podman.service\n"));
}

static void proxies(void **state)
{
    const struct machine m = {.rootful = true};
    put_program(state, "systemctl");
    put_program(state, "systemd-tmpfiles");
    cleanup_free char *nothing = settle(state, &m);
    assert_string_equal(nothing, "");
    struct error err;
    cleanup_free char *folder = temp_path(state, "etc");
    cleanup_free char *environment = temp_path(state, "etc/environment");
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    put_text(environment, "LANG=C\n");

    setenv("HTTP_PROXY", "http://u:p%20$x\"'\\y@127.0.0.1:3128", 1);
    setenv("no_proxy", "localhost,a b", 1);
    cleanup_free char *first = settle(state, &m);
    assert_non_null(strstr(first, "systemctl daemon-reload\n"));
    assert_non_null(strstr(first, "systemctl try-restart podman.service\n"));
    holds(state, "etc/environment.d/default-env.conf",
          "no_proxy=\"host.containers.internal,a b\"\n"
          "HTTP_PROXY=\"http://u:p%20\\$\\$x\\\"'\\\\y@host.containers.internal:3128\"\n");
    holds(state, "etc/systemd/system.conf.d/default-env.conf",
          "[Manager]\nDefaultEnvironment=\"no_proxy=host.containers.internal,a b\" "
          "\"HTTP_PROXY=http://u:p%%20$x\\\"'\\\\y@host.containers.internal:3128\"\n");
    holds(state, "etc/environment",
          "LANG=C\n# podman-machine-vmnet: begin\n"
          "no_proxy=\"host.containers.internal,a b\"\n"
          "HTTP_PROXY=\"http://u:p%20$x\"'\\y@host.containers.internal:3128\"\n"
          "# podman-machine-vmnet: end\n");
    cleanup_free char *profile = temp_path(state, "etc/profile.d/default-env.sh");
    cleanup_free char *command = xasprintf(
        ". %s; [ \"$HTTP_PROXY\" = 'http://u:p%%20$x\"'\\''\\y@host.containers.internal:3128' ]",
        profile);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);

    cleanup_free char *again = settle(state, &m);
    assert_string_equal(again, "");
    unsetenv("HTTP_PROXY");
    cleanup_free char *kept = settle_with(state, &m, SETTLE_KEEP_PROXIES, 0);
    assert_string_equal(kept, "");
    assert_int_equal(access(profile, F_OK), 0);
    unsetenv("no_proxy");
    cleanup_free char *gone = settle(state, &m);
    assert_non_null(strstr(gone, "systemctl daemon-reload\n"));
    assert_int_equal(access(profile, F_OK), -1);
    holds(state, "etc/environment", "LANG=C\n");
}

static void the_docker_link_follows(void **state)
{
    const struct machine m = {.rootful_changed = true, .ssh = {.uid = 1000}};
    put_program(state, "systemctl");
    put_program(state, "systemd-tmpfiles");
    cleanup_free char *calls = settle(state, &m);
    assert_string_equal(calls, "systemd-tmpfiles --create --prefix=/run/docker.sock\n");
    holds(state, "etc/tmpfiles.d/podman-docker.conf",
          "L+  /run/docker.sock   -    -    -     -   /run/user/1000/podman/podman.sock\n");
}

static void certificates_go_when_they_are_not_wanted_any_more(void **state)
{
    struct error err;
    struct machine m = {.rootful = true, .import_native_ca = true};
    cleanup_free char *folder = temp_path(state, "var/lib/podman-machine-vmnet");
    cleanup_free char *kept = temp_path(state, "var/lib/podman-machine-vmnet/host-ca-certs.pem");
    cleanup_free char *anchors = temp_path(state, "etc/pki/ca-trust/source/anchors");
    cleanup_free char *anchor = xasprintf("%s/host-ca-certs.pem", anchors);
    put_program(state, "update-ca-trust");
    put_program(state, "systemctl");
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    assert_ok(file_make_dirs(anchors, 0700, &err), err);
    put_text(kept, "PEM");
    put_text(anchor, "PEM");
    cleanup_free char *wanted = settle(state, &m);
    assert_string_equal(wanted, "");
    assert_true(file_exists(anchor));
    m.import_native_ca = false;
    cleanup_free char *calls = settle(state, &m);
    assert_non_null(strstr(calls, "update-ca-trust"));
    assert_false(file_exists(anchor));
    assert_false(file_exists(kept));
    cleanup_free char *again = settle(state, &m);
    assert_string_equal(again, "");
}

static void swap(void **state)
{
    const struct machine m = {.resources = {.swap_mib = 2048}, .rootful = true};
    put_program(state, "systemctl");
    put_program(state, "zram-generator");
    cleanup_free char *text = settle_script(&m, SETTLE_PROXIES);
    assert_non_null(strstr(text, "zram-size=2048"));
}

// The interface is told by its address, whatever its name.
static void put_card(void **state, const char *name, const char *address)
{
    struct error err;
    cleanup_free char *relative = xasprintf("sys/class/net/%s", name);
    cleanup_free char *folder = temp_path(state, relative);
    cleanup_free char *path = xasprintf("%s/address", folder);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    put_text(path, address);
}

static void dns_of_networkd(void **state)
{
    char mac[] = "52:54:00:AA:bb:cc";
    char *servers[] = {(char[]){"192.0.2.2"}, (char[]){"2001:db8::2"}};
    const struct machine m = {
        .mac = mac, .rootful = true, .dns_changed = true, .dns = {.items = servers, .count = 2}};
    const struct machine none = {.mac = mac, .rootful = true, .dns_changed = true};
    put_card(state, "eth0", "52:54:00:00:00:01\n");
    put_program_with(state, "systemctl", "[ \"$3\" != NetworkManager.service ]");
    put_program_with(state, "networkctl",
                     "[ $1 != status ] || printf ' Link File: /x.link\\n"
                     "  Network File: /run/systemd/network/10-netplan-a.network\\n'");
    cleanup_free char *no_card = settle_with(state, &m, SETTLE_PROXIES, NAMESERVERS_FAILED);
    assert_string_equal(no_card, "");

    put_card(state, "enp0s1", "52:54:00:aa:bb:cc\n");
    cleanup_free char *calls = settle(state, &m);
    assert_non_null(strstr(calls, "networkctl status enp0s1\nnetworkctl reload\n"));
    assert_null(strstr(calls, "daemon-reload"));
    holds(state, "etc/systemd/network/10-netplan-a.network.d/podman-machine-vmnet.conf",
          "[Network]\nDNS=\nDNS=192.0.2.2\nDNS=2001:db8::2\n");
    cleanup_free char *again = settle(state, &m);
    assert_null(strstr(again, "networkctl reload"));
    cleanup_free char *gone = settle(state, &none);
    assert_non_null(strstr(gone, "networkctl reload"));
    holds(state, "etc/systemd/network/10-netplan-a.network.d/podman-machine-vmnet.conf",
          "[Network]\nDNS=\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proxies),
        cmocka_unit_test(the_docker_link_follows),
        cmocka_unit_test(certificates_go_when_they_are_not_wanted_any_more),
        cmocka_unit_test(swap),
        cmocka_unit_test(dns_of_networkd),
        cmocka_unit_test(engines_of_users),
    };
    return cmocka_run_group_tests_name("settle", tests, temp_home_setup, temp_home_teardown);
}
