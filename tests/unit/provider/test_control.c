// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "provider/control.h"

// A peer in a process of its own: for each step it waits for `expect` in what it has read and
// then sends `reply`. It keeps what it has read in a file.
struct step {
    const char *expect, *reply;
    size_t length; // of reply; 0: strlen
};

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static void serve(int listener, const struct step *steps, const char *transcript)
{
    alarm(20);
    int fd = accept(listener, NULL, NULL);
    char seen[4096] = "";
    size_t length = 0;
    for (; steps->expect; steps++) {
        while (!strstr(seen, steps->expect)) {
            ssize_t n = read(fd, seen + length, sizeof(seen) - 1 - length);
            if (n <= 0)
                _exit(1);
            length += (size_t)n;
            seen[length] = '\0';
        }
        size_t size = steps->length ? steps->length : strlen(steps->reply);
        if (file_write_all(fd, steps->reply, size) < 0)
            _exit(2);
    }
    put_text(transcript, seen);
    _exit(0);
}

static pid_t start_peer(const char *path, const struct step *steps, const char *transcript)
{
    int listener = listen_at(path);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        serve(listener, steps, transcript);
    close(listener);
    return pid;
}

static void end_peer(pid_t pid, int wanted)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), wanted);
}

struct scene {
    char *socket, *transcript;
};

static struct scene scene(void **state)
{
    struct scene scene = {temp_path(state, "s.sock"), temp_path(state, "transcript")};
    unlink(scene.socket);
    return scene;
}

static void scene_release(struct scene *scene)
{
    free(scene->socket);
    free(scene->transcript);
}

static void rest_stop(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state);
    struct error err;
    const struct step steps[] = {
        {"\"Stop\"}", "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", 0}, {0}};
    pid_t peer = start_peer(s.socket, steps, s.transcript);
    assert_ok(control_rest(s.socket, "Stop", &err), err);
    end_peer(peer, 0);
    cleanup_free char *request = get_text(s.transcript);
    assert_string_equal(request, "POST /vm/state HTTP/1.1\r\nHost: localhost\r\n"
                                 "Content-Type: application/json\r\nContent-Length: 16\r\n"
                                 "Connection: close\r\n\r\n{\"state\":\"Stop\"}");
}

// krunkit before 1.3.1: no length, and a NUL at the end.
static void rest_old_krunkit(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state);
    struct error err;
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-type: application/json\r\n\r\n"
                                "{\"state\": \"VirtualMachineStateStopping\"}";
    const struct step steps[] = {{"Stop", reply, sizeof(reply)}, {0}};
    pid_t peer = start_peer(s.socket, steps, s.transcript);
    assert_ok(control_rest(s.socket, "Stop", &err), err);
    end_peer(peer, 0);
}

static void rest_refusal(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state);
    struct error err;
    const struct step steps[] = {{"Stop", "HTTP/1.1 500 Oh\r\n\r\n{\"error\":\"cannot stop\"}", 0},
                                 {0}};
    pid_t peer = start_peer(s.socket, steps, s.transcript);
    assert_fails(control_rest(s.socket, "Stop", &err), err, EPROTO,
                 "HTTP status 500 {\"error\":\"cannot stop\"}");
    end_peer(peer, 0);
}

static void rest_other_answers(void **state)
{
    static const char *const replies[] = {"", "SSH-2.0-x\r\n", "HTTP/1.1 x\r\n", "\n"};
    for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
        CLEANUP(scene_release) struct scene s = scene(state);
        struct error err;
        const struct step steps[] = {{"Stop", replies[i], 0}, {0}};
        pid_t peer = start_peer(s.socket, steps, s.transcript);
        assert_fails(control_rest(s.socket, "Stop", &err), err, EPROTO, "no HTTP answer");
        end_peer(peer, 0);
    }
}

static const char greeting[] = "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n";

static void ping_of_the_api(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state);
    struct error err;
    const struct step yes[] = {{"GET /_ping HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n", 0}, {0}};
    const struct step no[] = {{"\r\n\r\n", "HTTP/1.1 500 No\r\n", 0}, {0}};
    const struct step nothing[] = {{"\r\n\r\n", "", 0}, {0}};
    pid_t peer = start_peer(s.socket, yes, s.transcript);
    assert_ok(control_ping(s.socket, &err), err);
    end_peer(peer, 0);
    unlink(s.socket);
    peer = start_peer(s.socket, no, s.transcript);
    assert_fails(control_ping(s.socket, &err), err, EPROTO, "does not answer");
    end_peer(peer, 0);
    // A hypervisor whose guest has nobody at the port hangs up.
    unlink(s.socket);
    peer = start_peer(s.socket, nothing, s.transcript);
    assert_fails(control_ping(s.socket, &err), err, EPROTO, "does not answer");
    end_peer(peer, 0);
}

static int shut_down(const char *path, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return control_shutdown(fd, "the control port", err);
}

static void shutdown_of_the_guest(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state);
    struct error err;
    const struct step yes[] = {{"poweroff\n", "ok\n", 0}, {0}};
    const struct step no[] = {{"poweroff\n", "failed 1\n", 0}, {0}};
    pid_t peer = start_peer(s.socket, yes, s.transcript);
    assert_ok(shut_down(s.socket, &err), err);
    end_peer(peer, 0);
    unlink(s.socket);
    peer = start_peer(s.socket, no, s.transcript);
    assert_fails(shut_down(s.socket, &err), err, EPROTO, "does not answer");
    end_peer(peer, 0);
}

static void qmp_power_down(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state);
    struct error err;
    // The greeting is sent at once, events come in between, and answers in pieces.
    const struct step steps[] = {
        {"", greeting, 0},
        {"qmp_capabilities", "{\"event\": \"RESUME\"}\r\n{\"retu", 0},
        {"", "rn\": {}}\r\n", 0},
        {"system_powerdown", "{\"event\": \"POWERDOWN\"}\r\n{\"return\": {}}\r\n", 0},
        {0},
    };
    pid_t peer = start_peer(s.socket, steps, s.transcript);
    assert_ok(control_qmp(s.socket, "system_powerdown", &err), err);
    end_peer(peer, 0);
}

static void qmp_refusal(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state);
    struct error err;
    const struct step steps[] = {
        {"", greeting, 0},
        {"qmp_capabilities", "{\"return\": {}}\n", 0},
        {"powerdown", "{\"error\": {\"class\": \"GenericError\", \"desc\": \"not now\"}}\n", 0},
        {0},
    };
    pid_t peer = start_peer(s.socket, steps, s.transcript);
    assert_fails(control_qmp(s.socket, "system_powerdown", &err), err, EPROTO, "refused: not now");
    end_peer(peer, 0);
}

static void qmp_other_answers(void **state)
{
    static const char *const replies[] = {"", "hello\n", "[1]\n", "{\"QMP\""};
    for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
        CLEANUP(scene_release) struct scene s = scene(state);
        struct error err;
        const struct step steps[] = {{"", replies[i], 0}, {0}};
        pid_t peer = start_peer(s.socket, steps, s.transcript);
        assert_int_equal(control_qmp(s.socket, "system_powerdown", &err), -1);
        assert_int_equal(err.code, EPROTO);
        end_peer(peer, 0);
    }
}

static void silence_has_an_end(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state);
    struct error err;
    int listener = listen_at(s.socket);
    int64_t begun = clock_monotonic_ms();
    assert_fails(control_qmp(s.socket, "system_powerdown", &err), err, ETIMEDOUT, "no answer");
    int64_t took = clock_monotonic_ms() - begun;
    assert_true(took >= 4900 && took < 8000);
    close(listener);
}

static void nobody_there(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state);
    struct error err;
    assert_fails(control_rest(s.socket, "Stop", &err), err, ENOENT, "cannot connect");
    close(listen_at(s.socket));
    assert_fails(control_rest(s.socket, "Stop", &err), err, ECONNREFUSED, "cannot connect");
}

static void preparing(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state);
    struct error err;
    assert_ok(control_prepare(s.socket, &err), err);

    int listener = listen_at(s.socket);
    assert_fails(control_prepare(s.socket, &err), err, EBUSY, "a VM is listening");
    close(listener);
    assert_ok(control_prepare(s.socket, &err), err);
    assert_false(file_exists(s.socket));

    put_text(s.socket, "not a socket");
    assert_fails(control_prepare(s.socket, &err), err, EEXIST, "not a socket");
    assert_true(file_exists(s.socket));
    unlink(s.socket);

    char longest[105];
    memset(longest, 'x', sizeof(longest));
    longest[0] = '/';
    longest[103] = '\0';
    assert_ok(control_prepare(longest, &err), err);
    longest[103] = 'x';
    longest[104] = '\0';
    assert_fails(control_prepare(longest, &err), err, ENAMETOOLONG, "is 104 bytes long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rest_stop),         cmocka_unit_test(rest_old_krunkit),
        cmocka_unit_test(rest_refusal),      cmocka_unit_test(rest_other_answers),
        cmocka_unit_test(qmp_power_down),    cmocka_unit_test(qmp_refusal),
        cmocka_unit_test(qmp_other_answers), cmocka_unit_test(silence_has_an_end),
        cmocka_unit_test(ping_of_the_api),   cmocka_unit_test(shutdown_of_the_guest),
        cmocka_unit_test(nobody_there),      cmocka_unit_test(preparing),
    };
    return cmocka_run_group_tests_name("control", tests, temp_home_setup, temp_home_teardown);
}
