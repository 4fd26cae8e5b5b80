// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/download_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/support/support.h"

void digest_of(const void *bytes, size_t length, char hex[DIGEST_HEX])
{
    struct error err;
    CLEANUP(digest_release) struct digest digest = DIGEST_INIT;
    assert_ok(digest_begin(&digest, &err), err);
    digest_add(&digest, bytes, length);
    digest_end(&digest, hex);
}

int download_set_up(void **state)
{
    struct download_fixture *f = xcalloc(1, sizeof(*f));
    if (temp_home_setup((void **)&f->home) < 0)
        return -1;
    f->body = xmalloc(DOWNLOAD_LENGTH);
    uint32_t random = 3;
    for (size_t i = 0; i < DOWNLOAD_LENGTH; i++)
        f->body[i] = (char)((random = random * 1664525 + 1013904223) >> 24);
    digest_of(f->body, DOWNLOAD_LENGTH, f->sha256);
    http_server_start(&f->server, f->body, DOWNLOAD_LENGTH);
    f->path = xasprintf("%s/image", f->home);
    f->part = xasprintf("%s.part", f->path);
    f->record = xasprintf("%s.part.json", f->path);
    f->url = http_server_url(&f->server, "/file");
    f->watch.quiet = true;
    *state = f;
    return 0;
}

int download_tear_down(void **state)
{
    struct download_fixture *f = *state;
    http_server_stop(&f->server);
    free(f->body);
    free(f->path);
    free(f->part);
    free(f->record);
    free(f->url);
    int result = temp_home_teardown((void **)&f->home);
    free(f);
    return result;
}

int download_try(struct download_fixture *f, struct error *err)
{
    const struct download download = {
        .url = f->url, .sha256 = f->sha256, .path = f->path, .label = "image", .stall_s = 1};
    return download_fetch(&download, &f->watch, err);
}

void download_assert_whole(const struct download_fixture *f)
{
    struct error err;
    uint64_t size, allocated;
    assert_ok(file_size(f->path, &size, &allocated, &err), err);
    assert_int_equal(size, f->server.length);
    cleanup_free char *bytes = get_text(f->path);
    assert_memory_equal(bytes, f->server.body, f->server.length);
    assert_false(file_exists(f->part));
    assert_false(file_exists(f->record));
}

uint64_t download_part_size(const struct download_fixture *f)
{
    struct error err;
    uint64_t size, allocated;
    assert_false(file_exists(f->path));
    assert_ok(file_size(f->part, &size, &allocated, &err), err);
    return size;
}

void download_leave_part(struct download_fixture *f)
{
    struct error err;
    const struct download once = {
        .url = f->url, .sha256 = f->sha256, .path = f->path, .label = "image", .attempts = 1};
    f->server.cuts = 1;
    f->server.cut_after = DOWNLOAD_PART;
    assert_fails(download_fetch(&once, &f->watch, &err), err, EIO, f->url);
    assert_int_equal(download_part_size(f), DOWNLOAD_PART);
}
