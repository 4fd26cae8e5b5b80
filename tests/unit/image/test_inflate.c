// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "image/inflate.h"

enum { LENGTH = 4096 };
static unsigned char plain[LENGTH];
static const enum inflate_method methods[] = {INFLATE_DEFLATE, INFLATE_ZSTD};

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH; i++)
        plain[i] = (unsigned char)(i * i / 7 + i % 13);
    return 0;
}

static size_t pack(enum inflate_method method, const void *bytes, size_t length, void *packed,
                   size_t room)
{
    if (method == INFLATE_ZSTD)
        return ZSTD_compress(packed, room, bytes, length, 3);
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(6);
    size_t made = libdeflate_deflate_compress(compressor, bytes, length, packed, room);
    libdeflate_free_compressor(compressor);
    return made;
}

static void streams_with_anything_behind_them_are_unpacked(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        struct error err;
        unsigned char packed[LENGTH * 2], bytes[LENGTH];
        struct inflater *inflater = inflater_new(methods[i]);
        size_t length = pack(methods[i], plain, LENGTH, packed, LENGTH + 512);
        memset(packed + length, 0x5a, 512);
        for (int again = 0; again < 2; again++) {
            memset(bytes, 0, LENGTH);
            assert_ok(inflater_unpack(inflater, packed, length + 512, bytes, LENGTH, &err), err);
            assert_memory_equal(bytes, plain, LENGTH);
            assert_ok(inflater_unpack(inflater, packed, length, bytes, LENGTH, &err), err);
        }
        inflater_free(inflater);
    }
}

static void wrong_lengths_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        struct error err;
        unsigned char packed[LENGTH * 2], bytes[LENGTH];
        struct inflater *inflater = inflater_new(methods[i]);
        size_t length = pack(methods[i], plain, LENGTH, packed, sizeof(packed));
        assert_fails(inflater_unpack(inflater, packed, length, bytes, LENGTH - 1, &err), err,
                     EBADMSG, "more than 4095");
        length = pack(methods[i], plain, LENGTH - 1, packed, sizeof(packed));
        assert_fails(inflater_unpack(inflater, packed, length, bytes, LENGTH, &err), err, EBADMSG,
                     "fewer than 4096");
        inflater_free(inflater);
    }
}

static void damaged_and_short_streams_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        struct error err;
        unsigned char packed[LENGTH * 2], bytes[LENGTH];
        struct inflater *inflater = inflater_new(methods[i]);
        size_t length = pack(methods[i], plain, LENGTH, packed, sizeof(packed));
        for (size_t cut = 0; cut < length; cut += length / 50 + 1) {
            // In a block of its own, so that a read behind the end is seen.
            cleanup_free unsigned char *shorter = malloc(cut ? cut : 1);
            memcpy(shorter, packed, cut);
            assert_int_equal(inflater_unpack(inflater, shorter, cut, bytes, LENGTH, &err), -1);
            assert_int_equal(err.code, EBADMSG);
        }
        memset(packed, 0xff, length);
        assert_fails(inflater_unpack(inflater, packed, length, bytes, LENGTH, &err), err, EBADMSG,
                     "damaged");
        inflater_free(inflater);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_with_anything_behind_them_are_unpacked),
        cmocka_unit_test(wrong_lengths_are_refused),
        cmocka_unit_test(damaged_and_short_streams_are_refused),
    };
    return cmocka_run_group_tests_name("inflate", tests, fill, NULL);
}
