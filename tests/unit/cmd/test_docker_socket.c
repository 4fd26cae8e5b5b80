// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cmd/docker_socket.h"

struct world {
    char *plist, *link, *docker, *helper;
    struct docker_places places;
};

static void world_release(struct world *w)
{
    unlink(w->plist);
    unlink(w->link);
    unlink(w->docker);
    unlink(w->helper);
    free(w->plist);
    free(w->link);
    free(w->docker);
    free(w->helper);
}

static struct world world_make(void **state)
{
    struct world w = {
        .plist = temp_path(state, "plist"),
        .link = temp_path(state, "podman.sock"),
        .docker = temp_path(state, "docker.sock"),
        .helper = temp_path(state, "helper.sock"),
    };
    w.places = (struct docker_places){w.plist, w.link, w.docker, w.helper};
    return w;
}

static int listen_on(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_true(strlen(path) < sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

// A helper that takes one request and does what the real one does.
static pid_t start_helper(const struct world *w, const char *answer)
{
    int fd = listen_on(w->helper);
    pid_t child = fork();
    if (child == 0) {
        char request[8] = "";
        alarm(20);
        int peer = accept(fd, NULL, NULL);
        ssize_t n = read(peer, request, sizeof(request));
        if (n != 3 || memcmp(request, "GO\n", 3) != 0 || symlink(w->link, w->docker) < 0 ||
            write(peer, answer, strlen(answer)) < 0)
            _exit(1);
        _exit(0);
    }
    close(fd);
    return child;
}

static void end_helper(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void target_is(const char *link, const char *target)
{
    char found[512] = "";
    assert_true(readlink(link, found, sizeof(found) - 1) > 0);
    assert_string_equal(found, target);
}

static void without_the_helper(void **state)
{
    CLEANUP(world_release) struct world w = world_make(state);
    assert_int_equal(docker_socket_claim(&w.places, "/api"), DOCKER_NOT_INSTALLED);
    assert_int_equal(access(w.link, F_OK), -1);
}

static void the_helper_makes_the_link(void **state)
{
    CLEANUP(world_release) struct world w = world_make(state);
    put_text(w.plist, "");
    pid_t helper = start_helper(&w, "OK");
    assert_int_equal(docker_socket_claim(&w.places, "/api"), DOCKER_OURS);
    end_helper(helper);
    target_is(w.link, "/api");
    // The next machine finds the link and has only its own part to do.
    assert_int_equal(docker_socket_claim(&w.places, "/other"), DOCKER_OURS);
    target_is(w.link, "/other");
}

static void a_helper_that_cannot(void **state)
{
    CLEANUP(world_release) struct world w = world_make(state);
    put_text(w.plist, "");
    assert_int_equal(docker_socket_claim(&w.places, "/api"), DOCKER_TAKEN);
    pid_t helper = start_helper(&w, "NO");
    assert_int_equal(docker_socket_claim(&w.places, "/api"), DOCKER_TAKEN);
    end_helper(helper);
}

static void somebody_is_served_there(void **state)
{
    CLEANUP(world_release) struct world w = world_make(state);
    put_text(w.plist, "");
    int fd = listen_on(w.docker);
    assert_int_equal(docker_socket_claim(&w.places, "/api"), DOCKER_TAKEN);
    assert_int_equal(access(w.link, F_OK), -1);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_helper),
        cmocka_unit_test(the_helper_makes_the_link),
        cmocka_unit_test(a_helper_that_cannot),
        cmocka_unit_test(somebody_is_served_there),
    };
    return cmocka_run_group_tests_name("docker_socket", tests, temp_home_setup, temp_home_teardown);
}
