// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/inflate.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/alloc.h"

struct inflater {
    struct libdeflate_decompressor *deflate; // one of the two is set
    ZSTD_DCtx *zstd;
};

struct inflater *inflater_new(enum inflate_method method)
{
    struct inflater *inflater = xcalloc(1, sizeof(*inflater));
    if (method == INFLATE_DEFLATE)
        inflater->deflate = libdeflate_alloc_decompressor();
    else
        inflater->zstd = ZSTD_createDCtx();
    if (!inflater->deflate && !inflater->zstd) {
        fputs("out of memory\n", stderr);
        abort();
    }
    return inflater;
}

void inflater_free(struct inflater *inflater)
{
    if (!inflater)
        return;
    if (inflater->deflate)
        libdeflate_free_decompressor(inflater->deflate);
    ZSTD_freeDCtx(inflater->zstd);
    free(inflater);
}

static int wrong_length(size_t wanted, const char *what, struct error *err)
{
    return error_set(err, EBADMSG, "compressed data gives %s than %zu bytes", what, wanted);
}

static int unpack_deflate(struct inflater *inflater, const void *packed, size_t packed_length,
                          void *bytes, size_t length, struct error *err)
{
    size_t used, made;
    switch (libdeflate_deflate_decompress_ex(inflater->deflate, packed, packed_length, bytes,
                                             length, &used, &made)) {
    case LIBDEFLATE_SUCCESS:
        return made == length ? 0 : wrong_length(length, "fewer", err);
    case LIBDEFLATE_INSUFFICIENT_SPACE:
        return wrong_length(length, "more", err);
    default:
        return error_set(err, EBADMSG, "compressed data is damaged or ends early");
    }
}

// The whole-buffer call needs no window of its own, so a frame that asks for a huge one costs
// nothing; in exchange it wants to know where the frame ends.
static int unpack_zstd(struct inflater *inflater, const void *packed, size_t packed_length,
                       void *bytes, size_t length, struct error *err)
{
    size_t frame = ZSTD_findFrameCompressedSize(packed, packed_length);
    if (ZSTD_isError(frame))
        return error_set(err, EBADMSG, "compressed data is damaged or ends early");
    size_t made = ZSTD_decompressDCtx(inflater->zstd, bytes, length, packed, frame);
    if (ZSTD_isError(made) && ZSTD_getErrorCode(made) == ZSTD_error_dstSize_tooSmall)
        return wrong_length(length, "more", err);
    if (ZSTD_isError(made))
        return error_set(err, EBADMSG, "compressed data is damaged: %s", ZSTD_getErrorName(made));
    return made == length ? 0 : wrong_length(length, "fewer", err);
}

int inflater_unpack(struct inflater *inflater, const void *packed, size_t packed_length,
                    void *bytes, size_t length, struct error *err)
{
    if (inflater->deflate)
        return unpack_deflate(inflater, packed, packed_length, bytes, length, err);
    return unpack_zstd(inflater, packed, packed_length, bytes, length, err);
}
