// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/qcow2_builder.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/support/support.h"

static size_t cluster_size(const struct qcow2_builder *b)
{
    return (size_t)1 << b->cluster_bits;
}

static void pad(struct qcow2_builder *b, size_t alignment)
{
    while (b->file.length % alignment != 0)
        strbuf_addc(&b->file, '\0');
}

// Zeroed clusters at the end; returns their offset.
static uint64_t append_clusters(struct qcow2_builder *b, size_t length)
{
    pad(b, cluster_size(b));
    uint64_t offset = b->file.length;
    cleanup_free char *zeros = xcalloc(1, length);
    strbuf_add(&b->file, zeros, length);
    pad(b, cluster_size(b));
    return offset;
}

void builder_poke32(struct qcow2_builder *b, uint64_t offset, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        b->file.text[offset + (uint64_t)i] = (char)(value >> (24 - i * 8));
}

void builder_poke64(struct qcow2_builder *b, uint64_t offset, uint64_t value)
{
    builder_poke32(b, offset, (uint32_t)(value >> 32));
    builder_poke32(b, offset + 4, (uint32_t)value);
}

uint64_t builder_peek64(const struct qcow2_builder *b, uint64_t offset)
{
    uint64_t value = 0;
    for (uint64_t i = 0; i < 8; i++)
        value = value << 8 | (unsigned char)b->file.text[offset + i];
    return value;
}

void builder_begin(struct qcow2_builder *b, unsigned version, unsigned cluster_bits,
                   uint64_t virtual_size, bool zstd)
{
    *b = (struct qcow2_builder){.version = version,
                                .cluster_bits = cluster_bits,
                                .virtual_size = virtual_size,
                                .zstd = zstd,
                                .file = STRBUF_INIT};
    uint64_t span = (uint64_t)cluster_size(b) * (cluster_size(b) / 8);
    b->l1_count = virtual_size ? (virtual_size - 1) / span + 1 : 1;
    append_clusters(b, cluster_size(b));
    b->l1_offset = append_clusters(b, (size_t)b->l1_count * 8);

    builder_poke32(b, 0, 0x514649fb);
    builder_poke32(b, 4, version);
    builder_poke32(b, QCOW2_CLUSTER_BITS, cluster_bits);
    builder_poke64(b, QCOW2_SIZE, virtual_size);
    builder_poke32(b, QCOW2_L1_COUNT, (uint32_t)b->l1_count);
    builder_poke64(b, QCOW2_L1_OFFSET, b->l1_offset);
    if (version < 3)
        return;
    builder_poke32(b, QCOW2_REFCOUNT_ORDER, 4);
    builder_poke32(b, QCOW2_HEADER_LENGTH, zstd ? 112 : 104);
    if (zstd) {
        builder_poke64(b, QCOW2_INCOMPATIBLE, 1 << 3);
        b->file.text[QCOW2_COMPRESSION] = 1;
    }
}

void builder_release(struct qcow2_builder *b)
{
    strbuf_release(&b->file);
}

static uint64_t entry_offset(struct qcow2_builder *b, uint64_t cluster)
{
    uint64_t per_table = cluster_size(b) / 8, at = b->l1_offset + cluster / per_table * 8;
    if (builder_peek64(b, at) == 0)
        builder_poke64(b, at, append_clusters(b, cluster_size(b)) | UINT64_C(1) << 63);
    uint64_t table = builder_peek64(b, at) & UINT64_C(0x00fffffffffffe00);
    return table + cluster % per_table * 8;
}

void builder_entry(struct qcow2_builder *b, uint64_t cluster, uint64_t entry)
{
    builder_poke64(b, entry_offset(b, cluster), entry);
}

uint64_t builder_get_entry(struct qcow2_builder *b, uint64_t cluster)
{
    return builder_peek64(b, entry_offset(b, cluster));
}

void builder_plain(struct qcow2_builder *b, uint64_t cluster, const void *bytes)
{
    entry_offset(b, cluster); // its table comes first
    uint64_t offset = append_clusters(b, cluster_size(b));
    memcpy(b->file.text + offset, bytes, cluster_size(b));
    builder_entry(b, cluster, offset | UINT64_C(1) << 63);
}

void builder_zero(struct qcow2_builder *b, uint64_t cluster)
{
    builder_entry(b, cluster, 1);
}

void builder_stream(struct qcow2_builder *b, uint64_t cluster, const void *stream, size_t length)
{
    // Streams follow each other without alignment, as QEMU packs them.
    entry_offset(b, cluster); // its table comes first
    uint64_t offset = b->file.length;
    strbuf_add(&b->file, stream, length);
    uint64_t further = (offset % 512 + length - 1) / 512;
    builder_entry(b, cluster, UINT64_C(1) << 62 | further << (62 - (b->cluster_bits - 8)) | offset);
}

void builder_packed_length(struct qcow2_builder *b, uint64_t cluster, const void *bytes,
                           size_t length)
{
    size_t room = length * 2 + 1024, packed_length;
    cleanup_free char *packed = xmalloc(room);
    if (b->zstd) {
        packed_length = ZSTD_compress(packed, room, bytes, length, 3);
    } else {
        struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(6);
        packed_length = libdeflate_deflate_compress(compressor, bytes, length, packed, room);
        libdeflate_free_compressor(compressor);
    }
    assert_true(packed_length > 0 && packed_length <= room);
    builder_stream(b, cluster, packed, packed_length);
}

void builder_packed(struct qcow2_builder *b, uint64_t cluster, const void *bytes)
{
    builder_packed_length(b, cluster, bytes, cluster_size(b));
}

void builder_extension(struct qcow2_builder *b, uint32_t type, const void *bytes, uint32_t length)
{
    uint64_t at = b->version < 3 ? 72 : b->zstd ? 112 : 104;
    while (builder_peek64(b, at) != 0)
        at += 8 + ((builder_peek64(b, at) & UINT32_MAX) + 7) / 8 * 8;
    builder_poke32(b, at, type);
    builder_poke32(b, at + 4, length);
    memcpy(b->file.text + at + 8, bytes, length);
}

int builder_open(const struct qcow2_builder *b)
{
    cleanup_unlink char *path = xasprintf("%s/qcow2.XXXXXX", getenv("HOME"));
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, b->file.text, b->file.length), 0);
    return fd;
}
