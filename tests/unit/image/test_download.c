// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "tests/support/download_fixture.h"

static void a_file_comes_whole(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
    assert_int_equal(f->server.requests, 1);
    assert_string_equal(f->server.range, "");
}

static void a_file_of_unknown_length_and_an_empty_one_come_whole(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    f->server.no_length = true;
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
    f->server.no_length = false;
    f->server.length = 0;
    digest_of("", 0, f->sha256);
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
}

static void redirects_are_followed_but_not_for_ever(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    free(f->url);
    f->url = http_server_url(&f->server, "/redirect");
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
    free(f->url);
    f->url = http_server_url(&f->server, "/loop");
    assert_fails(download_try(f, &err), err, EIO, "redirects");
    assert_int_equal(f->server.requests, 2 + 11);
}

static void a_cut_connection_is_taken_up_again(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    f->server.cuts = 2;
    f->server.cut_after = DOWNLOAD_PART;
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
    assert_int_equal(f->server.requests, 3);
    assert_string_equal(f->server.range, "bytes=2000000-");
    assert_string_equal(f->server.if_range, "\"v1\"");
}

static void a_wrong_digest_leaves_nothing(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    cleanup_free char *actual = xstrdup(f->sha256);
    memset(f->sha256, 'a', 64);
    assert_fails(download_try(f, &err), err, EBADMSG, "wrong SHA-256: expected aaaa");
    assert_non_null(strstr(err.message, actual));
    assert_false(file_exists(f->path));
    assert_false(file_exists(f->part));
    assert_false(file_exists(f->record));
}

static void answers_of_the_server_are_told(void **state)
{
    static const struct {
        int status, code;
        const char *words;
        unsigned requests;
    } cases[] = {
        {403, EACCES, "403 Forbidden", 1},
        {404, ENOENT, "404 Not Found", 1},
        {503, EIO, "503 Service Unavailable", 2},
    };
    struct download_fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err;
        const struct download download = {
            .url = f->url, .sha256 = f->sha256, .path = f->path, .label = "image", .attempts = 2};
        f->server.status = cases[i].status;
        f->server.requests = 0;
        cleanup_free char *words = xasprintf("downloading '%s': %s", f->url, cases[i].words);
        assert_fails(download_fetch(&download, &f->watch, &err), err, cases[i].code, words);
        assert_int_equal(f->server.requests, cases[i].requests);
        assert_false(file_exists(f->path));
    }
}

static void a_redirector_gets_a_second_chance(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    free(f->url);
    f->url = http_server_url(&f->server, "/redirect");
    const struct download download = {
        .url = f->url, .sha256 = f->sha256, .path = f->path, .label = "image", .attempts = 3};
    f->server.status = 404; // a mirror that does not have it yet
    assert_fails(download_fetch(&download, &f->watch, &err), err, ENOENT, "404 Not Found");
    assert_int_equal(f->server.file_requests, 3);
}

static void a_cut_is_noticed_by_the_known_size(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    const struct download download = {.url = f->url,
                                      .sha256 = f->sha256,
                                      .path = f->path,
                                      .label = "image",
                                      .size = DOWNLOAD_LENGTH};
    f->server.no_length = true;
    f->server.cuts = 1;
    f->server.cut_after = DOWNLOAD_PART;
    assert_ok(download_fetch(&download, &f->watch, &err), err);
    download_assert_whole(f);
    assert_int_equal(f->server.requests, 2);
    assert_string_equal(f->server.range, "bytes=1000000-");
}

static void an_error_does_not_cost_the_part(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    download_leave_part(f);
    f->server.status = 404;
    assert_fails(download_try(f, &err), err, ENOENT, "404 Not Found");
    assert_int_equal(download_part_size(f), DOWNLOAD_PART);
    f->server.status = 0;

    // Nor does a login page in place of the file, when its size is known.
    const struct download download = {.url = f->url,
                                      .sha256 = f->sha256,
                                      .path = f->path,
                                      .label = "image",
                                      .size = DOWNLOAD_LENGTH};
    f->server.body = "<html>";
    f->server.length = 6;
    f->server.ignore_range = true;
    assert_fails(download_fetch(&download, &f->watch, &err), err, EBADMSG,
                 "has 6 bytes, but the image has 3000000");
    assert_int_equal(download_part_size(f), DOWNLOAD_PART);
    f->server.body = f->body;
    f->server.length = DOWNLOAD_LENGTH;
    f->server.ignore_range = false;
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
    assert_string_equal(f->server.range, "bytes=1000000-");
}

static void lengths_that_are_not_kept_are_errors(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    const struct download once = {
        .url = f->url, .sha256 = f->sha256, .path = f->path, .label = "image", .attempts = 1};
    f->server.announced = DOWNLOAD_LENGTH + 10;
    assert_fails(download_fetch(&once, &f->watch, &err), err, EIO, "downloading");
    f->server.announced = DOWNLOAD_LENGTH - 10; // what follows is not part of the answer
    assert_int_equal(unlink(f->part), 0);
    assert_fails(download_fetch(&once, &f->watch, &err), err, EBADMSG, "wrong SHA-256");
}

static void nobody_listening_and_no_such_host(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    free(f->url);
    f->url = xstrdup("http://user:secret@127.0.0.1:1/file");
    assert_fails(download_try(f, &err), err, ECONNREFUSED,
                 "downloading 'http://127.0.0.1:1/file': ");
    assert_null(strstr(err.message, "secret"));
}

static void a_server_that_stands_still_is_given_up(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    const struct download download = {.url = f->url,
                                      .sha256 = f->sha256,
                                      .path = f->path,
                                      .label = "image",
                                      .stall_s = 1,
                                      .attempts = 1};
    f->server.stalls = 1;
    f->server.stall_after = 500000;
    assert_fails(download_fetch(&download, &f->watch, &err), err, ETIMEDOUT, "downloading");
    assert_int_equal(download_part_size(f), 500000);
}

static uint64_t checked;

static int refuse_beginning(int fd, uint64_t have, uint64_t total, const char *label,
                            struct error *err)
{
    (void)fd, (void)total;
    checked = have;
    return error_set(err, EBADMSG, "'%s' is a tree", label);
}

static void what_will_be_refused_is_not_downloaded(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    const struct download download = {.url = f->url,
                                      .sha256 = f->sha256,
                                      .path = f->path,
                                      .label = "image",
                                      .check = refuse_beginning};
    assert_fails(download_fetch(&download, &f->watch, &err), err, EBADMSG, "'image' is a tree");
    assert_in_range(checked, download_check_bytes, DOWNLOAD_LENGTH / 2);
    assert_false(file_exists(f->part));
    assert_int_equal(f->server.requests, 1);
    f->server.length = 100;
    digest_of(f->body, 100, f->sha256);
    assert_fails(download_fetch(&download, &f->watch, &err), err, EBADMSG, "'image' is a tree");
    assert_int_equal(checked, 100);
    assert_false(file_exists(f->part));
}

static unsigned free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    return ntohs(address.sin_port);
}

static void run(const char *program, const char *const *words)
{
    struct error err;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    strvec_push(&argv, program);
    strvec_pushv(&argv, words);
    assert_ok(process_run(&argv, NULL, &err), err);
}

// A certificate that nobody vouches for is refused, and accepted once the user does.
static void tls_is_verified(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    cleanup_free char *openssl = process_find("openssl", NULL);
    if (!openssl) {
        fputs("no openssl program: TLS is not tried\n", stderr);
        skip();
    }
    cleanup_free char *served = xasprintf("%s/served", f->home);
    cleanup_free char *certificate = xasprintf("%s/cert.pem", f->home);
    cleanup_free char *key = xasprintf("%s/key.pem", f->home);
    cleanup_free char *port = xasprintf("%u", free_port());
    put_file(served, f->body, DOWNLOAD_LENGTH);
    const char *const make[] = {"req",
                                "-x509",
                                "-newkey",
                                "ec",
                                "-pkeyopt",
                                "ec_paramgen_curve:prime256v1",
                                "-nodes",
                                "-days",
                                "2",
                                "-subj",
                                "/CN=localhost",
                                "-addext",
                                "subjectAltName=DNS:localhost,IP:127.0.0.1",
                                "-keyout",
                                key,
                                "-out",
                                certificate,
                                NULL};
    run(openssl, make);
    pid_t server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        if (chdir(f->home) == 0)
            execl(openssl, openssl, "s_server", "-quiet", "-WWW", "-accept", port, "-cert",
                  certificate, "-key", key, (char *)NULL);
        _exit(127);
    }
    free(f->url);
    f->url = xasprintf("https://127.0.0.1:%s/served", port);
    unsetenv("CURL_CA_BUNDLE");
    unsetenv("SSL_CERT_FILE");
    int result = -1;
    for (int i = 0; i < 100 && (result = download_try(f, &err)) < 0 && err.code == ECONNREFUSED;
         i++)
        clock_sleep_ms(50);
    int refused = result < 0 && strstr(err.message, "certificate") != NULL;
    setenv("SSL_CERT_FILE", certificate, 1);
    result = download_try(f, &err);
    unsetenv("SSL_CERT_FILE");
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    assert_true(refused);
    assert_ok(result, err);
    download_assert_whole(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DOWNLOAD_TEST(a_file_comes_whole),
        DOWNLOAD_TEST(a_file_of_unknown_length_and_an_empty_one_come_whole),
        DOWNLOAD_TEST(redirects_are_followed_but_not_for_ever),
        DOWNLOAD_TEST(a_cut_connection_is_taken_up_again),
        DOWNLOAD_TEST(a_wrong_digest_leaves_nothing),
        DOWNLOAD_TEST(answers_of_the_server_are_told),
        DOWNLOAD_TEST(a_redirector_gets_a_second_chance),
        DOWNLOAD_TEST(a_cut_is_noticed_by_the_known_size),
        DOWNLOAD_TEST(an_error_does_not_cost_the_part),
        DOWNLOAD_TEST(lengths_that_are_not_kept_are_errors),
        DOWNLOAD_TEST(nobody_listening_and_no_such_host),
        DOWNLOAD_TEST(a_server_that_stands_still_is_given_up),
        DOWNLOAD_TEST(what_will_be_refused_is_not_downloaded),
        DOWNLOAD_TEST(tls_is_verified),
    };
    return cmocka_run_group_tests_name("download", tests, NULL, NULL);
}
