// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "image/qcow2.h"
#include "tests/support/qcow2_builder.h"

enum { BITS = 12, CLUSTER = 1 << BITS, PER_TABLE = CLUSTER / 8 };
static const uint64_t disk_size = UINT64_C(3) * PER_TABLE * CLUSTER;
static unsigned char pattern[CLUSTER];

static void fill(unsigned seed)
{
    for (size_t i = 0; i < CLUSTER; i++)
        pattern[i] = (unsigned char)(i * seed / 5 + seed);
}

// Opens, checks and reads all of it, as a conversion would.
static int walk(const struct qcow2_builder *b, uint64_t *data, struct error *err)
{
    cleanup_close int fd = builder_open(b);
    struct qcow2 *image;
    if (qcow2_open(&image, fd, b->file.length, b->file.length, "test.qcow2", err) < 0)
        return -1;
    struct qcow2_reader *reader = qcow2_reader_new(image);
    size_t size = qcow2_cluster_size(image);
    cleanup_free unsigned char *bytes = xmalloc(size);
    int result = qcow2_check(image, data, err);
    for (uint64_t i = 0; result == 0 && i * size < qcow2_virtual_size(image); i++) {
        bool zero;
        result = qcow2_read(reader, i, bytes, &zero, err);
    }
    qcow2_reader_free(reader);
    qcow2_free(image);
    return result;
}

static void assert_cluster(struct qcow2_reader *reader, uint64_t cluster, const void *wanted)
{
    struct error err;
    unsigned char bytes[CLUSTER];
    bool zero = false;
    assert_ok(qcow2_read(reader, cluster, bytes, &zero, &err), err);
    assert_int_equal(zero, wanted == NULL);
    if (wanted)
        assert_memory_equal(bytes, wanted, CLUSTER);
}

static void read_all_kinds(unsigned version, bool zstd)
{
    struct error err;
    CLEANUP(builder_release) struct qcow2_builder b;
    unsigned char first[CLUSTER], second[CLUSTER], noise[CLUSTER];
    builder_begin(&b, version, BITS, disk_size, zstd);
    fill(7);
    memcpy(first, pattern, CLUSTER);
    fill(31);
    memcpy(second, pattern, CLUSTER);
    uint32_t random = 1;
    for (size_t i = 0; i < CLUSTER; i++)
        noise[i] = (unsigned char)((random = random * 1103515245 + 12345) >> 16);

    builder_plain(&b, 0, first);
    builder_packed(&b, 1, second);
    builder_packed(&b, 2, first);
    builder_packed(&b, 3, noise); // longer packed than plain
    builder_plain(&b, PER_TABLE * 2 + 5, second);
    builder_packed(&b, PER_TABLE * 3 - 1, second);
    if (version == 3) {
        builder_zero(&b, 4);
        builder_plain(&b, 5, first);
        builder_entry(&b, 5, builder_get_entry(&b, 5) | 1); // allocated, reads as zeros
    }

    cleanup_close int fd = builder_open(&b);
    struct qcow2 *image;
    uint64_t data;
    assert_ok(qcow2_open(&image, fd, b.file.length, b.file.length, "test.qcow2", &err), err);
    assert_int_equal(qcow2_virtual_size(image), disk_size);
    assert_int_equal(qcow2_cluster_size(image), CLUSTER);
    assert_int_equal(qcow2_table_count(image), 3);
    assert_int_equal(qcow2_table_clusters(image), PER_TABLE);
    assert_false(qcow2_table_is_absent(image, 0));
    assert_true(qcow2_table_is_absent(image, 1));
    assert_ok(qcow2_check(image, &data, &err), err);
    assert_int_equal(data, 6 * CLUSTER);

    struct qcow2_reader *reader = qcow2_reader_new(image);
    assert_cluster(reader, PER_TABLE * 3 - 1, second);
    assert_cluster(reader, 0, first);
    assert_cluster(reader, 1, second);
    assert_cluster(reader, 2, first);
    assert_cluster(reader, 3, noise);
    assert_cluster(reader, 4, NULL);
    assert_cluster(reader, 5, NULL);
    assert_cluster(reader, 6, NULL);
    assert_cluster(reader, PER_TABLE, NULL);
    assert_cluster(reader, PER_TABLE * 2 + 5, second);
    bool zero;
    assert_fails(qcow2_read(reader, PER_TABLE * 3, noise, &zero, &err), err, EINVAL, "no cluster");
    qcow2_reader_free(reader);
    qcow2_free(image);
}

static void all_kinds_of_clusters_are_read(void **state)
{
    (void)state;
    read_all_kinds(2, false);
    read_all_kinds(3, false);
    read_all_kinds(3, true);
}

static void every_cluster_size_is_read(void **state)
{
    (void)state;
    for (unsigned bits = 9; bits <= 21; bits++) {
        struct error err;
        CLEANUP(builder_release) struct qcow2_builder b;
        size_t size = (size_t)1 << bits;
        cleanup_free unsigned char *bytes = xcalloc(1, size);
        memset(bytes, 'x', size / 2);
        uint64_t data;
        builder_begin(&b, 3, bits, size * 3 + 512, false);
        builder_plain(&b, 0, bytes);
        builder_packed(&b, 2, bytes);
        assert_ok(walk(&b, &data, &err), err);
        assert_int_equal(data, size * 2);
    }
}

static void a_last_cluster_may_be_cut_at_the_end_of_the_disk(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(builder_release) struct qcow2_builder b;
    unsigned char wanted[CLUSTER] = "";
    fill(9);
    builder_begin(&b, 3, BITS, CLUSTER + 512, false);
    builder_plain(&b, 1, pattern);
    b.file.length -= CLUSTER - 512;
    memcpy(wanted, pattern, 512);
    cleanup_close int fd = builder_open(&b);
    struct qcow2 *image;
    assert_ok(qcow2_open(&image, fd, b.file.length, b.file.length, "test.qcow2", &err), err);
    struct qcow2_reader *reader = qcow2_reader_new(image);
    assert_cluster(reader, 1, wanted);
    qcow2_reader_free(reader);
    qcow2_free(image);

    uint64_t data;
    b.file.length--;
    assert_fails(walk(&b, &data, &err), err, EBADMSG, "cluster 1 lies behind the file's end");
}

static void lies_are_found(void **state)
{
    (void)state;
    enum { TABLE0 = CLUSTER * 2, POKE32 = 32, POKE64 = 64, POKE_ENTRY, CUT };
    static const struct {
        unsigned version, how;
        uint64_t at, value; // an entry's cluster, or an offset; the value, or the new length
        const char *words;
    } lies[] = {
        {3, POKE32, 0, 0x514649fa, "not a qcow2 image"},
        {3, POKE32, 4, 1, "version 1"},
        {3, POKE32, 4, 4, "version 4"},
        {3, CUT, 0, 0, "truncated"},
        {2, CUT, 0, 71, "truncated"},
        {3, CUT, 0, 103, "truncated"},
        {3, CUT, 0, CLUSTER + 8, "L1 table lies behind"},
        {3, POKE32, QCOW2_CLUSTER_BITS, 8, "cluster bits 8"},
        {3, POKE32, QCOW2_CLUSTER_BITS, 22, "cluster bits 22"},
        {3, POKE32, QCOW2_CLUSTER_BITS, 0xffffffff, "cluster bits"},
        {3, POKE64, QCOW2_SIZE, 0, "virtual size is 0"},
        {3, POKE64, QCOW2_SIZE, 1000, "virtual size 1000"},
        {3, POKE64, QCOW2_SIZE, UINT64_C(1) << 63, "virtual size"},
        {3, POKE64, QCOW2_SIZE, UINT64_MAX - 511, "virtual size"},
        {3, POKE64, QCOW2_SIZE, UINT64_C(1) << 40, "too small an L1 table"},
        {3, POKE32, QCOW2_L1_COUNT, 2, "too small an L1 table"},
        {3, POKE32, QCOW2_L1_COUNT, 0, "too small an L1 table"},
        {3, POKE32, QCOW2_L1_COUNT, (32 << 20) / 8, "lies behind"},
        {3, POKE32, QCOW2_L1_COUNT, (32 << 20) / 8 + 1, "too large an L1 table"},
        {3, POKE32, QCOW2_L1_COUNT, 0xffffffff, "too large an L1 table"},
        {3, POKE64, QCOW2_L1_OFFSET, 0, "offset of the L1 table 0"},
        {3, POKE64, QCOW2_L1_OFFSET, CLUSTER + 8, "offset of the L1 table"},
        {3, POKE64, QCOW2_L1_OFFSET, UINT64_MAX - CLUSTER + 1, "lies behind"},
        {3, POKE64, QCOW2_L1_OFFSET, UINT64_C(1) << 40, "lies behind"},
        {3, POKE64, QCOW2_BACKING_OFFSET, 0x100, "backing file"},
        {3, POKE64, QCOW2_BACKING_OFFSET, UINT64_MAX, "backing file"},
        {2, POKE32, QCOW2_CRYPT, 1, "encrypted (AES)"},
        {3, POKE32, QCOW2_CRYPT, 2, "encrypted (LUKS)"},
        {3, POKE32, QCOW2_CRYPT, 9, "encrypted (unknown method)"},
        {3, POKE64, QCOW2_INCOMPATIBLE, 1 << 1, "marked corrupt"},
        {3, POKE64, QCOW2_INCOMPATIBLE, 1 << 2, "data in another file"},
        {3, POKE64, QCOW2_INCOMPATIBLE, 1 << 3, "contradicts itself"},
        {3, POKE64, QCOW2_INCOMPATIBLE, 1 << 4, "extended L2"},
        {3, POKE64, QCOW2_INCOMPATIBLE, 1 << 5, "unknown feature (bit 5)"},
        {3, POKE64, QCOW2_INCOMPATIBLE, UINT64_C(1) << 63, "unknown feature (bit 63)"},
        {3, POKE32, QCOW2_HEADER_LENGTH, 72, "header length 72"},
        {3, POKE32, QCOW2_HEADER_LENGTH, 105, "header length 105"},
        {3, POKE32, QCOW2_HEADER_LENGTH, CLUSTER + 8, "header length"},
        {3, POKE32, QCOW2_HEADER_LENGTH, 0xfffffff8, "header length"},
        {3, POKE32, QCOW2_REFCOUNT_ORDER, 7, "refcount order 7"},
        {3, POKE32, 104, 0x12345678, "extension 0x12345678"}, // with the length below
        {3, POKE64, CLUSTER, TABLE0 + 512, "L1 entry 0"},
        {3, POKE64, CLUSTER, TABLE0 | 1, "L1 entry 0"},
        {3, POKE64, CLUSTER, TABLE0 | UINT64_C(1) << 62, "L1 entry 0"},
        {3, POKE64, CLUSTER + 8, UINT64_C(1) << 40, "L2 table 1 lies behind"},
        {3, POKE64, CLUSTER + 8, UINT64_C(0x00fffffffffff000), "L2 table 1 lies behind"},
        {3, POKE64, CLUSTER + 16, TABLE0, "used more than once"},
        {3, POKE_ENTRY, 7, TABLE0 + 512, "cluster 7 is not aligned"},
        {3, POKE_ENTRY, 7, UINT64_C(1) << 40, "cluster 7 lies behind"},
        {3, POKE_ENTRY, 7, UINT64_C(0x00fffffffffff000), "cluster 7 lies behind"},
        {3, POKE_ENTRY, 7, TABLE0 | 2, "cluster 7 has reserved bits"},
        {3, POKE_ENTRY, 7, TABLE0 | UINT64_C(1) << 57, "cluster 7 has reserved bits"},
        {2, POKE_ENTRY, 7, 1, "version 2 does not know"},
        {3, POKE_ENTRY, 7, UINT64_C(1) << 62 | UINT64_C(1) << 40, "cluster 7 lies behind"},
        {3, POKE_ENTRY, 7, UINT64_C(0x7fffffffffffffff), "cluster 7 lies behind"},
        {3, POKE_ENTRY, 7, UINT64_C(1) << 62 | UINT64_C(15) << 58 | (TABLE0 + CLUSTER),
         "ends behind"},
        {3, POKE_ENTRY, 7, UINT64_C(1) << 62 | TABLE0, "cluster 7: compressed data"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
        struct error err;
        CLEANUP(builder_release) struct qcow2_builder b;
        uint64_t data;
        fill(3);
        builder_begin(&b, lies[i].version, BITS, disk_size, false);
        builder_plain(&b, 0, pattern);
        builder_packed(&b, 1, pattern);
        builder_poke32(&b, 108, 0);
        assert_ok(walk(&b, &data, &err), err);
        builder_poke32(&b, 108, lies[i].at == 104 ? CLUSTER : 0);
        if (lies[i].how == POKE32)
            builder_poke32(&b, lies[i].at, (uint32_t)lies[i].value);
        else if (lies[i].how == POKE64)
            builder_poke64(&b, lies[i].at, lies[i].value);
        else if (lies[i].how == POKE_ENTRY)
            builder_entry(&b, lies[i].at, lies[i].value);
        else
            strbuf_truncate(&b.file, (size_t)lies[i].value);
        assert_fails(walk(&b, &data, &err), err, EBADMSG, lies[i].words);
    }
}

static void names_in_the_file_are_told(void **state)
{
    (void)state;
    struct error err;
    uint64_t data;
    CLEANUP(builder_release) struct qcow2_builder b;
    builder_begin(&b, 3, BITS, disk_size, false);
    char features[96] = {0, 9};
    memcpy(features + 2, "nine", 4);
    features[49] = 40;
    memset(features + 50, 'n', 46); // a name that fills its field has no NUL
    builder_extension(&b, 0x11111111, "ignored", 7);
    builder_extension(&b, 0x6803f857, features, sizeof(features));
    assert_ok(walk(&b, &data, &err), err);
    builder_poke64(&b, QCOW2_INCOMPATIBLE, 1 << 9);
    assert_fails(walk(&b, &data, &err), err, EBADMSG, "unknown feature 'nine' (bit 9)");
    builder_poke64(&b, QCOW2_INCOMPATIBLE, UINT64_C(1) << 40);
    assert_fails(walk(&b, &data, &err), err, EBADMSG, "nnnn' (bit 40)");
    builder_poke64(&b, QCOW2_INCOMPATIBLE, 1 << 10);
    assert_fails(walk(&b, &data, &err), err, EBADMSG, "unknown feature (bit 10)");

    memcpy(b.file.text + 0x400, "base.raw", 8);
    builder_poke64(&b, QCOW2_BACKING_OFFSET, 0x400);
    builder_poke32(&b, QCOW2_BACKING_LENGTH, 8);
    assert_fails(walk(&b, &data, &err), err, EBADMSG, "backing file 'base.raw'");
}

static void what_does_not_matter_for_reading_is_ignored(void **state)
{
    (void)state;
    struct error err;
    uint64_t data;
    CLEANUP(builder_release) struct qcow2_builder b;
    builder_begin(&b, 3, BITS, disk_size, false);
    fill(3);
    builder_packed(&b, 0, pattern);
    builder_poke64(&b, QCOW2_INCOMPATIBLE, 1); // dirty: the refcounts may be wrong
    builder_poke64(&b, 80, UINT64_MAX);        // compatible features
    builder_poke64(&b, 88, UINT64_MAX);        // autoclear features
    builder_poke32(&b, 60, 3);                 // snapshots
    builder_poke64(&b, 64, UINT64_MAX);
    builder_poke64(&b, 48, UINT64_MAX); // refcount table
    assert_ok(walk(&b, &data, &err), err);
}

static void streams_of_a_wrong_length_are_refused(void **state)
{
    (void)state;
    for (int zstd = 0; zstd < 2; zstd++) {
        struct error err;
        uint64_t data;
        unsigned char longer[CLUSTER + 1] = "";
        CLEANUP(builder_release) struct qcow2_builder b;
        builder_begin(&b, 3, BITS, disk_size, zstd);
        builder_packed_length(&b, 0, longer, CLUSTER - 1);
        assert_fails(walk(&b, &data, &err), err, EBADMSG, "cluster 0: compressed data gives fewer");
        builder_packed_length(&b, 0, longer, CLUSTER + 1);
        assert_fails(walk(&b, &data, &err), err, EBADMSG, "cluster 0: compressed data gives more");
        fill(5);
        builder_packed(&b, 0, pattern);
        assert_ok(walk(&b, &data, &err), err);
        b.file.length -= 8; // the end of the last stream
        assert_fails(walk(&b, &data, &err), err, EBADMSG, "cluster 0: compressed data");
    }
}

// Cutting anywhere gives an error or, behind the last data, the whole; never anything else.
static void truncation_is_found_everywhere(void **state)
{
    (void)state;
    CLEANUP(builder_release) struct qcow2_builder b;
    builder_begin(&b, 3, BITS, disk_size, false);
    fill(11);
    builder_packed(&b, 3, pattern);
    builder_plain(&b, PER_TABLE, pattern);
    builder_packed(&b, PER_TABLE + 1, pattern);
    for (size_t whole = b.file.length, length = 0; length < whole; length += 97) {
        struct error err;
        uint64_t data;
        b.file.length = length;
        assert_int_equal(walk(&b, &data, &err), -1);
        assert_int_equal(err.code, EBADMSG);
    }
}

// Every bit of the metadata is turned once: nothing may crash or leave the file (the sanitizers
// watch), whatever it then reads as.
static void no_bit_can_harm(void **state)
{
    (void)state;
    CLEANUP(builder_release) struct qcow2_builder b;
    builder_begin(&b, 3, 9, 512 * 64 * 2, false);
    unsigned char bytes[512] = "some bytes";
    builder_plain(&b, 0, bytes);
    builder_packed(&b, 1, bytes);
    builder_packed(&b, 64, bytes);
    for (size_t at = 0; at < b.file.length; at++) {
        if (at >= 120 && at < 512)
            continue;
        for (int bit = 0; bit < 8; bit++) {
            struct error err = {.code = EBADMSG};
            uint64_t data;
            b.file.text[at] = (char)(b.file.text[at] ^ 1 << bit);
            if (walk(&b, &data, &err) < 0)
                assert_int_equal(err.code, EBADMSG);
            b.file.text[at] = (char)(b.file.text[at] ^ 1 << bit);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_of_clusters_are_read),
        cmocka_unit_test(every_cluster_size_is_read),
        cmocka_unit_test(a_last_cluster_may_be_cut_at_the_end_of_the_disk),
        cmocka_unit_test(lies_are_found),
        cmocka_unit_test(names_in_the_file_are_told),
        cmocka_unit_test(what_does_not_matter_for_reading_is_ignored),
        cmocka_unit_test(streams_of_a_wrong_length_are_refused),
        cmocka_unit_test(truncation_is_found_everywhere),
        cmocka_unit_test(no_bit_can_harm),
    };
    return cmocka_run_group_tests_name("qcow2", tests, temp_home_setup, temp_home_teardown);
}
