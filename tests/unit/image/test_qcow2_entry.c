// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "image/qcow2_image.h"

enum { BITS = 14, CLUSTER = 1 << BITS, PART = CLUSTER / 32 };
static const uint64_t used = UINT64_C(1) << 63, compressed = UINT64_C(1) << 62;

static struct qcow2 image_of(bool extended)
{
    return (struct qcow2){
        .fd = -1,
        .file_size = 10 * CLUSTER,
        .name = (char *)"test.qcow2",
        .header =
            {
                .version = 3,
                .cluster_bits = BITS,
                .virtual_size = 3 * CLUSTER - PART - 512,
                .extended = extended,
            },
    };
}

static void put64(unsigned char *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        at[i] = (unsigned char)(value >> (56 - 8 * i));
}

// Of cluster 1, or of the last one, which the disk ends in.
static int locate(bool extended, uint64_t cluster, uint64_t entry, uint64_t bitmap,
                  struct qcow2_place *place, struct error *err)
{
    unsigned char table[64] = {0};
    const struct qcow2 image = image_of(extended);
    put64(table + cluster * (extended ? 16 : 8), entry);
    if (extended)
        put64(table + cluster * 16 + 8, bitmap);
    return qcow2_locate(&image, table, cluster, place, err);
}

static void assert_place(bool extended, uint64_t cluster, uint64_t entry, uint64_t bitmap,
                         uint64_t offset, size_t length)
{
    struct error err;
    struct qcow2_place place;
    assert_ok(locate(extended, cluster, entry, bitmap, &place, &err), err);
    assert_int_equal(place.kind, length ? QCOW2_PLAIN : QCOW2_ZERO);
    assert_int_equal(place.offset, offset);
    assert_int_equal(place.length, length);
}

static void plain_clusters(void **state)
{
    (void)state;
    assert_place(false, 1, 0, 0, 0, 0);
    assert_place(false, 1, used | CLUSTER, 0, CLUSTER, CLUSTER);
    assert_place(false, 1, used | CLUSTER | 1, 0, 0, 0);
    assert_place(false, 2, used | CLUSTER, 0, CLUSTER, CLUSTER - PART - 512);
}

static void subclusters(void **state)
{
    (void)state;
    assert_place(true, 1, used | CLUSTER, UINT32_MAX, CLUSTER, CLUSTER);
    assert_place(true, 1, used | CLUSTER, 1, CLUSTER, PART);
    assert_place(true, 1, used | CLUSTER, 0x80000000, CLUSTER, CLUSTER);
    assert_place(true, 1, used | CLUSTER, UINT64_C(0xfffffffe) << 32 | 1, CLUSTER, PART);
    assert_place(true, 1, used | CLUSTER, UINT64_C(0xffffffff) << 32, 0, 0);
    assert_place(true, 1, 0, UINT64_C(0xffffffff) << 32, 0, 0);
    assert_place(true, 2, used | CLUSTER, UINT32_MAX, CLUSTER, CLUSTER - PART - 512);
    // The file may end behind the last part that is stored.
    assert_place(true, 1, used | 9 * CLUSTER, 3, 9 * CLUSTER, 2 * PART);
}

static void compressed_clusters(void **state)
{
    struct error err;
    struct qcow2_place place;
    (void)state;
    for (int extended = 0; extended <= 1; extended++) {
        uint64_t entry = compressed | UINT64_C(2) << (62 - (BITS - 8)) | (CLUSTER + 100);
        assert_ok(locate(extended, 1, entry, 12345, &place, &err), err);
        assert_int_equal(place.kind, QCOW2_COMPRESSED);
        assert_int_equal(place.offset, CLUSTER + 100);
        assert_int_equal(place.length, 3 * 512 - 100);
        // The last sector of the file may be cut, but not be missing.
        entry = compressed | UINT64_C(1) << (62 - (BITS - 8)) | (10 * CLUSTER - 600);
        assert_ok(locate(extended, 1, entry, 0, &place, &err), err);
        assert_int_equal(place.length, 600);
        entry = compressed | UINT64_C(3) << (62 - (BITS - 8)) | (10 * CLUSTER - 600);
        assert_fails(locate(extended, 1, entry, 0, &place, &err), err, EBADMSG, "ends behind");
        entry = compressed | 10 * CLUSTER;
        assert_fails(locate(extended, 1, entry, 0, &place, &err), err, EBADMSG, "lies behind");
        entry = UINT64_MAX;
        assert_fails(locate(extended, 1, entry, 0, &place, &err), err, EBADMSG, "behind");
    }
}

static void lies(void **state)
{
    static const struct {
        bool extended;
        uint64_t entry, bitmap;
        const char *words;
    } lies[] = {
        {false, UINT64_C(1) << 56 | CLUSTER, 0, "reserved bits"},
        {false, CLUSTER | 2, 0, "reserved bits"},
        {false, CLUSTER + 512, 0, "not aligned"},
        {false, 10 * CLUSTER, 0, "behind the file's end"},
        {false, UINT64_C(0x00ffffffffffc000), 0, "behind the file's end"},
        {true, CLUSTER | 1, 1, "reserved bits"},
        {true, CLUSTER, UINT64_C(1) << 32 | 1, "subclusters"},
        {true, CLUSTER, UINT64_MAX, "subclusters"},
        {true, 0, 1, "subclusters"},
        {true, 10 * CLUSTER, 1, "behind the file's end"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
        struct error err;
        struct qcow2_place place;
        assert_fails(locate(lies[i].extended, 1, lies[i].entry, lies[i].bitmap, &place, &err), err,
                     EBADMSG, lies[i].words);
        assert_non_null(strstr(err.message, "cluster 1 "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_clusters),
        cmocka_unit_test(subclusters),
        cmocka_unit_test(compressed_clusters),
        cmocka_unit_test(lies),
    };
    return cmocka_run_group_tests_name("qcow2_entry", tests, NULL, NULL);
}
