// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/ahead.h"
#include "tests/support/qcow2_builder.h"

enum { BITS = 16, CLUSTER = 1 << BITS, CLUSTERS = 160 };

struct fixture {
    char *home, *prefix;
    unsigned char *disk;
    struct qcow2_builder image;
    int fd; // of the download
    struct ahead ahead;
    struct watch watch;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    if (temp_home_setup((void **)&f->home) < 0)
        return -1;
    f->disk = xmalloc(CLUSTERS * CLUSTER);
    uint32_t random = 11;
    for (size_t i = 0; i < CLUSTERS * CLUSTER; i++)
        f->disk[i] = (unsigned char)((random = random * 1664525 + 1013904223) >> 24);
    builder_begin(&f->image, 3, BITS, CLUSTERS * CLUSTER, false);
    for (unsigned i = 0; i < CLUSTERS; i++)
        builder_plain(&f->image, i, f->disk + i * CLUSTER);
    f->prefix = xasprintf("%s/it", f->home);
    cleanup_free char *part = xasprintf("%s/part", f->home);
    f->fd = open(part, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    f->ahead = (struct ahead)AHEAD_INIT;
    f->ahead.prefix = f->prefix;
    f->ahead.label = "it";
    f->watch.quiet = true;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    ahead_release(&f->ahead);
    cleanup_close_fd(&f->fd);
    builder_release(&f->image);
    free(f->disk);
    free(f->prefix);
    int result = temp_home_teardown((void **)&f->home);
    free(f);
    return result;
}

// The bytes of the image from `from` to `to` arrive in pieces.
static void arrive(struct fixture *f, size_t from, size_t to)
{
    enum { PIECE = 100000 };
    for (size_t at = from; at < to; at += PIECE) {
        size_t length = to - at < PIECE ? to - at : PIECE;
        assert_int_equal(pwrite(f->fd, f->image.file.text + at, length, (off_t)at), length);
        ahead_arrived(&f->ahead, f->fd, at + length, f->image.file.length);
    }
}

static void assert_finished(struct fixture *f)
{
    struct error err;
    CLEANUP(draft_release) struct draft draft = DRAFT_INIT;
    assert_ok(ahead_finish(&f->ahead, &draft, &f->watch, &err), err);
    cleanup_free char *bytes = get_text(draft.path);
    uint64_t size, allocated;
    assert_ok(file_size(draft.path, &size, &allocated, &err), err);
    assert_int_equal(size, CLUSTERS * CLUSTER);
    assert_memory_equal(bytes, f->disk, CLUSTERS * CLUSTER);
}

static void what_arrives_is_converted_meanwhile(void **state)
{
    struct fixture *f = *state;
    size_t half = f->image.file.length / 2, most = f->image.file.length - CLUSTER;
    arrive(f, 0, half);
    assert_non_null(f->ahead.converter);
    arrive(f, half, most);
    arrive(f, most, f->image.file.length);
    assert_finished(f);
    // The draft was given away, and is gone with its new owner.
    cleanup_dir DIR *dir = opendir(f->home);
    for (struct dirent *file; (file = readdir(dir));)
        assert_null(strstr(file->d_name, ".tmp-"));
}

static void an_image_in_another_order_is_converted_at_the_end(void **state)
{
    struct fixture *f = *state;
    // The first cluster's data comes last, and so does the only L2 table.
    uint64_t table = builder_peek64(&f->image, f->image.l1_offset) & ~(UINT64_C(1) << 63);
    builder_plain(&f->image, 0, f->disk);
    cleanup_free char *copy = xmalloc(CLUSTER);
    memcpy(copy, f->image.file.text + table, CLUSTER);
    uint64_t moved = (f->image.file.length + CLUSTER - 1) / CLUSTER * CLUSTER;
    cleanup_free char *padding = xcalloc(1, CLUSTER);
    strbuf_add(&f->image.file, padding, (size_t)(moved - f->image.file.length));
    strbuf_add(&f->image.file, copy, CLUSTER);
    builder_poke64(&f->image, f->image.l1_offset, moved | UINT64_C(1) << 63);
    arrive(f, 0, f->image.file.length);
    assert_finished(f);
}

static void a_download_that_begins_anew_is_converted_anew(void **state)
{
    struct fixture *f = *state;
    cleanup_free char *other = xmalloc(f->image.file.length);
    memcpy(other, f->image.file.text, f->image.file.length);
    for (size_t i = 8 * CLUSTER; i < f->image.file.length; i++)
        f->image.file.text[i] = 'x';
    arrive(f, 0, 6 << 20);
    ahead_restart(&f->ahead);
    assert_int_equal(ftruncate(f->fd, 0), 0);
    memcpy(f->image.file.text, other, f->image.file.length);
    arrive(f, 0, f->image.file.length);
    assert_finished(f);
}

static void what_is_damaged_gives_nothing(void **state)
{
    struct fixture *f = *state;
    struct error err;
    CLEANUP(draft_release) struct draft draft = DRAFT_INIT;
    builder_entry(&f->image, 100, UINT64_C(1) << 50);
    arrive(f, 0, f->image.file.length);
    assert_int_equal(ahead_finish(&f->ahead, &draft, &f->watch, &err), -1);
    assert_null(draft.path);
}

static void what_is_no_qcow2_image_or_of_unknown_length_is_left_alone(void **state)
{
    struct fixture *f = *state;
    struct error err;
    CLEANUP(draft_release) struct draft draft = DRAFT_INIT;
    ahead_arrived(&f->ahead, f->fd, 5 << 20, 0);
    assert_null(f->ahead.converter);
    memcpy(f->image.file.text, "raw!", 4);
    arrive(f, 0, f->image.file.length);
    assert_null(f->ahead.converter);
    assert_fails(ahead_finish(&f->ahead, &draft, &f->watch, &err), err, EAGAIN, "nothing");
}

static void giving_up_half_way_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    arrive(f, 0, 6 << 20);
    assert_non_null(f->ahead.converter);
    cleanup_free char *path = xstrdup(f->ahead.draft.path);
    assert_true(file_exists(path));
    ahead_release(&f->ahead);
    assert_false(file_exists(path));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_arrives_is_converted_meanwhile),
        TEST(an_image_in_another_order_is_converted_at_the_end),
        TEST(a_download_that_begins_anew_is_converted_anew),
        TEST(what_is_damaged_gives_nothing),
        TEST(what_is_no_qcow2_image_or_of_unknown_length_is_left_alone),
        TEST(giving_up_half_way_leaves_nothing),
    };
    return cmocka_run_group_tests_name("ahead", tests, NULL, NULL);
}
