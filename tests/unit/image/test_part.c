// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// What is kept of a download that was broken off, and how a later run goes on.

#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "tests/support/download_fixture.h"

static void a_later_run_goes_on_where_it_was(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    download_leave_part(f);
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
    assert_int_equal(f->server.requests, 2);
    assert_string_equal(f->server.range, "bytes=1000000-");
}

static void the_time_of_change_will_do_where_there_is_no_strong_tag(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    f->server.etag = "W/\"weak\"";
    f->server.last_modified = "Wed, 15 Apr 2026 10:00:00 GMT";
    download_leave_part(f);
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
    assert_string_equal(f->server.if_range, f->server.last_modified);
}

static void without_a_validator_it_begins_anew(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    f->server.etag = NULL;
    download_leave_part(f);
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
    assert_string_equal(f->server.range, "");
}

static void a_file_that_changed_meanwhile_begins_anew(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    download_leave_part(f);
    f->server.etag = "\"v2\"";
    f->body[5] ^= 1;
    digest_of(f->body, DOWNLOAD_LENGTH, f->sha256);
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
}

static void servers_that_do_ranges_wrong_are_survived(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    download_leave_part(f);
    f->server.ignore_range = true;
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
    assert_int_equal(unlink(f->path), 0);

    f->server.ignore_range = false;
    download_leave_part(f);
    f->server.wrong_range = true;
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
}

static void a_spoilt_part_is_noticed_and_fetched_again(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    download_leave_part(f);
    cleanup_close int fd = open(f->part, O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "spoilt", 6, 500), 6);
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
    assert_string_equal(f->server.range, "");
}

static void odd_leftovers_are_not_used(void **state)
{
    struct download_fixture *f = *state;
    static const char *const records[] = {
        NULL, "", "{", "[]", "{}", "{\"url\": 5}", "{\"url\": \"http://elsewhere/\"}"};
    for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
        struct error err;
        put_text(f->part, "something else");
        if (records[i])
            put_text(f->record, records[i]);
        assert_ok(download_try(f, &err), err);
        download_assert_whole(f);
        assert_string_equal(f->server.range, "");
        assert_int_equal(unlink(f->path), 0);
    }
}

static void a_whole_part_needs_no_server(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    download_leave_part(f);
    put_file(f->part, f->body, DOWNLOAD_LENGTH);
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
    assert_int_equal(f->server.requests, 1);
}

static const char *watched_part;

static bool when_something_is_there(void)
{
    struct stat st;
    return stat(watched_part, &st) == 0 && st.st_size == 700000;
}

static void an_interrupted_download_is_kept(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    const struct download patient = {
        .url = f->url, .sha256 = f->sha256, .path = f->path, .label = "image"};
    f->server.stalls = 1;
    f->server.stall_after = 700000;
    watched_part = f->part;
    f->watch.interrupted = when_something_is_there;
    assert_fails(download_fetch(&patient, &f->watch, &err), err, EINTR, "interrupted");
    assert_int_equal(download_part_size(f), 700000);
    f->watch.interrupted = NULL;
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
    assert_string_equal(f->server.range, "bytes=700000-");
}

static void a_killed_download_is_taken_up(void **state)
{
    struct download_fixture *f = *state;
    struct error err;
    f->server.stalls = 1;
    f->server.stall_after = 700000;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct download patient = {
            .url = f->url, .sha256 = f->sha256, .path = f->path, .label = "image"};
        download_fetch(&patient, &f->watch, &err);
        _exit(1);
    }
    struct stat st = {.st_size = 0};
    for (int i = 0; i < 500 && st.st_size < 700000; i++) {
        clock_sleep_ms(20);
        if (stat(f->part, &st) < 0)
            st.st_size = 0;
    }
    assert_int_equal(st.st_size, 700000);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_ok(download_try(f, &err), err);
    download_assert_whole(f);
    assert_string_equal(f->server.range, "bytes=700000-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DOWNLOAD_TEST(a_later_run_goes_on_where_it_was),
        DOWNLOAD_TEST(the_time_of_change_will_do_where_there_is_no_strong_tag),
        DOWNLOAD_TEST(without_a_validator_it_begins_anew),
        DOWNLOAD_TEST(a_file_that_changed_meanwhile_begins_anew),
        DOWNLOAD_TEST(servers_that_do_ranges_wrong_are_survived),
        DOWNLOAD_TEST(a_spoilt_part_is_noticed_and_fetched_again),
        DOWNLOAD_TEST(odd_leftovers_are_not_used),
        DOWNLOAD_TEST(a_whole_part_needs_no_server),
        DOWNLOAD_TEST(an_interrupted_download_is_kept),
        DOWNLOAD_TEST(a_killed_download_is_taken_up),
    };
    return cmocka_run_group_tests_name("part", tests, NULL, NULL);
}
