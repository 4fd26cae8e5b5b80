// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/process.h"
#include "image/convert.h"
#include "tests/support/qcow2_builder.h"

enum { BITS = 12, CLUSTER = 1 << BITS, PER_TABLE = CLUSTER / 8, TABLES = 20 };

static int convert_fd(int from, const char *target, bool (*interrupted)(void), uint64_t *size,
                      struct error *err)
{
    struct stat st;
    struct watch watch = {.quiet = true, .interrupted = interrupted};
    cleanup_close int to = open(target, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(fstat(from, &st), 0);
    watch_begin(&watch, "Converting", "it");
    return convert_qcow2(from, (uint64_t)st.st_size, "test.qcow2", to, &watch, size, err);
}

static int convert_built(void **state, const struct qcow2_builder *b, bool (*interrupted)(void),
                         uint64_t *size, struct error *err)
{
    cleanup_free char *target = temp_path(state, "out.raw");
    cleanup_close int from = builder_open(b);
    return convert_fd(from, target, interrupted, size, err);
}

static void many_tables_are_converted_by_many_workers(void **state)
{
    struct error err;
    uint64_t size, allocated;
    CLEANUP(builder_release) struct qcow2_builder b;
    // The disk ends inside a cluster.
    uint64_t disk_size = (uint64_t)TABLES * PER_TABLE * CLUSTER - 1024;
    cleanup_free unsigned char *wanted = xcalloc(1, (size_t)disk_size + CLUSTER);
    builder_begin(&b, 3, BITS, disk_size, false);
    for (unsigned i = 0; i < TABLES * PER_TABLE; i += i % 50 < 10 ? 1 : 41) {
        unsigned char *bytes = wanted + (size_t)i * CLUSTER;
        if (i / PER_TABLE == 3)
            continue;
        for (size_t j = 0; j < CLUSTER; j++)
            bytes[j] = (unsigned char)(j / 3 + i);
        if (i % 2)
            builder_packed(&b, i, bytes);
        else
            builder_plain(&b, i, bytes);
    }
    memset(wanted + (size_t)(TABLES * PER_TABLE - 1) * CLUSTER, 'e', CLUSTER);
    builder_packed(&b, TABLES * PER_TABLE - 1, wanted + (TABLES * PER_TABLE - 1) * (size_t)CLUSTER);
    assert_ok(convert_built(state, &b, NULL, &size, &err), err);
    assert_int_equal(size, disk_size);

    cleanup_free char *target = temp_path(state, "out.raw");
    cleanup_free char *back = get_text(target);
    assert_memory_equal(back, wanted, (size_t)disk_size);
    assert_ok(file_size(target, &size, &allocated, &err), err);
    assert_int_equal(size, disk_size);
    assert_true(allocated < disk_size);
}

static void jobs_smaller_than_a_table_meet_at_their_ends(void **state)
{
    struct error err;
    uint64_t size, disk_size = (40 << 20) + 512;
    CLEANUP(builder_release) struct qcow2_builder b;
    cleanup_free unsigned char *wanted = xcalloc(1, (size_t)disk_size + (1 << 16));
    builder_begin(&b, 3, 16, disk_size, false);
    memset(wanted, 'x', (size_t)disk_size);
    for (unsigned i = 0; (uint64_t)i << 16 < disk_size; i++) {
        wanted[i << 16] = (unsigned char)i;
        builder_packed(&b, i, wanted + ((size_t)i << 16));
    }
    assert_ok(convert_built(state, &b, NULL, &size, &err), err);
    assert_int_equal(size, disk_size);
    cleanup_free char *target = temp_path(state, "out.raw");
    cleanup_free char *back = get_text(target);
    assert_memory_equal(back, wanted, (size_t)disk_size);
}

static void zeros_that_are_stored_become_holes(void **state)
{
    struct error err;
    uint64_t size, allocated;
    CLEANUP(builder_release) struct qcow2_builder b;
    cleanup_free unsigned char *zeros = xcalloc(1, 1 << 16);
    builder_begin(&b, 3, 16, 64 << 20, true);
    for (unsigned i = 0; i < 100; i++)
        builder_packed(&b, i, zeros);
    builder_plain(&b, 500, zeros);
    assert_ok(convert_built(state, &b, NULL, &size, &err), err);
    cleanup_free char *target = temp_path(state, "out.raw");
    assert_ok(file_size(target, &size, &allocated, &err), err);
    assert_int_equal(size, 64 << 20);
    assert_int_equal(allocated, 0);
}

static void a_damaged_cluster_stops_all(void **state)
{
    struct error err;
    uint64_t size;
    unsigned char bytes[CLUSTER] = "content";
    CLEANUP(builder_release) struct qcow2_builder b;
    builder_begin(&b, 3, BITS, (uint64_t)TABLES * PER_TABLE * CLUSTER, false);
    for (unsigned i = 0; i < TABLES; i++)
        builder_packed(&b, i * PER_TABLE, bytes);
    builder_stream(&b, 7 * PER_TABLE + 3, "\xff\xff\xff\xff", 4);
    builder_packed(&b, 0, bytes);
    assert_fails(convert_built(state, &b, NULL, &size, &err), err, EBADMSG,
                 "qcow2 image 'test.qcow2': cluster 3587: compressed data");
}

static void a_truncated_image_is_refused_before_a_byte_is_written(void **state)
{
    struct error err;
    uint64_t size = 0, allocated;
    unsigned char bytes[CLUSTER] = "content";
    CLEANUP(builder_release) struct qcow2_builder b;
    builder_begin(&b, 3, BITS, (uint64_t)TABLES * PER_TABLE * CLUSTER, false);
    for (unsigned i = 0; i < TABLES; i++)
        builder_plain(&b, i * PER_TABLE, bytes);
    b.file.length -= 1;
    assert_fails(convert_built(state, &b, NULL, &size, &err), err, EBADMSG, "truncated");
    cleanup_free char *target = temp_path(state, "out.raw");
    assert_ok(file_size(target, &size, &allocated, &err), err);
    assert_int_equal(size, 0);
}

static bool at_once(void)
{
    return true;
}

static void it_can_be_interrupted(void **state)
{
    struct error err;
    uint64_t size;
    cleanup_free unsigned char *bytes = xcalloc(1, 1 << 16);
    memset(bytes, 'x', 1 << 16);
    CLEANUP(builder_release) struct qcow2_builder b;
    builder_begin(&b, 3, 16, 256 << 20, false);
    for (unsigned i = 0; i < 256 << 4; i++)
        builder_packed(&b, i, bytes);
    assert_fails(convert_built(state, &b, at_once, &size, &err), err, EINTR, "interrupted");
}

static void qemu_img(const char *const *words)
{
    struct error err;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    cleanup_free char *program = process_find("qemu-img", NULL);
    strvec_push(&argv, program);
    strvec_pushv(&argv, words);
    assert_ok(process_run(&argv, NULL, &err), err);
}

// QEMU's own images, in the ways that it writes them, read as what it was given.
static void images_by_qemu_are_read_the_same(void **state)
{
    cleanup_free char *program = process_find("qemu-img", NULL);
    if (!program) {
        fputs("no qemu-img: its images are not compared\n", stderr);
        skip();
    }
    enum { LENGTH = (6 << 20) + 512 };
    cleanup_free char *raw = temp_path(state, "qemu.raw");
    cleanup_free char *image = temp_path(state, "qemu.qcow2");
    cleanup_free char *target = temp_path(state, "back.raw");
    cleanup_free char *bytes = xcalloc(1, LENGTH);
    uint32_t random = 7;
    for (size_t i = 0; i < LENGTH; i++) {
        random = random * 1664525 + 1013904223;
        size_t kind = i >> 18; // each 256 KiB: text, zeros, noise
        bytes[i] = (char)(kind % 3 == 0 ? i / 100 : kind % 3 == 1 ? 0 : random >> 24);
    }
    put_file(raw, bytes, LENGTH);
    static const char *const ways[][4] = {
        {"-o", "compat=1.1"},
        {"-o", "compat=0.10"},
        {"-c"},
        {"-c", "-o", "compat=0.10"},
        {"-c", "-o", "compression_type=zstd"},
        {"-o", "cluster_size=512"},
        {"-c", "-o", "cluster_size=512"},
        {"-c", "-o", "cluster_size=2M"},
        {"-o", "preallocation=metadata"},
        {"-o", "lazy_refcounts=on,refcount_bits=1"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        struct error err;
        uint64_t size;
        const char *words[12] = {"convert", "-f", "raw", "-O", "qcow2"};
        size_t count = 5;
        for (size_t j = 0; j < 4 && ways[i][j]; j++)
            words[count++] = ways[i][j];
        words[count++] = raw;
        words[count++] = image;
        qemu_img(words);
        cleanup_close int from = open(image, O_RDONLY | O_CLOEXEC);
        assert_ok(convert_fd(from, target, NULL, &size, &err), err);
        assert_int_equal(size, LENGTH);
        cleanup_free char *back = get_text(target);
        assert_memory_equal(back, bytes, LENGTH);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_tables_are_converted_by_many_workers),
        cmocka_unit_test(jobs_smaller_than_a_table_meet_at_their_ends),
        cmocka_unit_test(zeros_that_are_stored_become_holes),
        cmocka_unit_test(a_damaged_cluster_stops_all),
        cmocka_unit_test(a_truncated_image_is_refused_before_a_byte_is_written),
        cmocka_unit_test(it_can_be_interrupted),
        cmocka_unit_test(images_by_qemu_are_read_the_same),
    };
    return cmocka_run_group_tests_name("convert", tests, temp_home_setup, temp_home_teardown);
}
