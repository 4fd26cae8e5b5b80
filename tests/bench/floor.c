// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// floor IMAGE TARGET: what converting IMAGE costs at least. Unpacks every compressed cluster of a
// qcow2 image by libdeflate or libzstd, one after the other and from memory, then writes as many
// bytes to the same places of TARGET. Prints the CPU seconds of both. Knows nothing of our own
// reader, and believes the image: it is for images that the bench has made.

#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

static uint64_t be(const unsigned char *at, size_t length)
{
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++)
        value = value << 8 | at[i];
    return value;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

struct image {
    const unsigned char *file;
    uint64_t length, virtual_size;
    unsigned cluster_bits;
    int zstd;
};

// The entry of one cluster; 0: nothing there.
static uint64_t find(const struct image *image, uint64_t cluster)
{
    unsigned table_bits = image->cluster_bits - 3;
    uint64_t l1 = be(image->file + 40, 8);
    uint64_t l2 = be(image->file + l1 + (cluster >> table_bits) * 8, 8) & 0xfffffffffffe00;
    return l2 ? be(image->file + l2 + (cluster & ((UINT64_C(1) << table_bits) - 1)) * 8, 8) : 0;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void unpack_all(const struct image *image, unsigned char *bytes)
{
    size_t size = (size_t)1 << image->cluster_bits, made;
    unsigned offset_bits = 62 - (image->cluster_bits - 8);
    struct libdeflate_decompressor *deflate = libdeflate_alloc_decompressor();
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    for (uint64_t i = 0; i << image->cluster_bits < image->virtual_size; i++) {
        uint64_t entry = find(image, i);
        if (!(entry >> 62 & 1))
            continue;
        uint64_t at = entry & ((UINT64_C(1) << offset_bits) - 1);
        uint64_t packed =
            (((entry & ((UINT64_C(1) << 62) - 1)) >> offset_bits) + 1) * 512 - at % 512;
        if (packed > image->length - at)
            packed = image->length - at;
        const unsigned char *from = image->file + at;
        if (image->zstd)
            ZSTD_decompressDCtx(zstd, bytes, size, from,
                                ZSTD_findFrameCompressedSize(from, (size_t)packed));
        else
            libdeflate_deflate_decompress(deflate, from, (size_t)packed, bytes, size, &made);
    }
    libdeflate_free_decompressor(deflate);
    ZSTD_freeDCtx(zstd);
}

static void write_all(const struct image *image, int to, const unsigned char *bytes)
{
    uint64_t clusters = image->virtual_size >> image->cluster_bits, most = 16;
    for (uint64_t i = 0; i < clusters;) {
        uint64_t count = 0;
        while (count < most && i + count < clusters && find(image, i + count))
            count++;
        if (count && pwrite(to, bytes, (size_t)count << image->cluster_bits,
                            (off_t)(i << image->cluster_bits)) < 0)
            fail("write");
        i += count ? count : 1;
    }
}

int main(int argc, char **argv)
{
    struct stat st;
    int from = argc == 3 ? open(argv[1], O_RDONLY) : -1;
    if (from < 0 || fstat(from, &st) < 0)
        fail("floor IMAGE TARGET");
    void *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, from, 0);
    int to = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file == MAP_FAILED || to < 0)
        fail("floor");
    struct image image = {.file = file, .length = (uint64_t)st.st_size};
    image.virtual_size = be(image.file + 24, 8);
    image.cluster_bits = (unsigned)be(image.file + 20, 4);
    image.zstd = be(image.file + 4, 4) == 3 && (be(image.file + 72, 8) >> 3 & 1);

    volatile unsigned char sum = 0;
    for (off_t at = 0; at < st.st_size; at += 4096) // page faults are not the libraries' cost
        sum = sum ^ image.file[at];
    unsigned char *bytes = calloc(16, (size_t)1 << image.cluster_bits);
    double begun = cpu_seconds();
    unpack_all(&image, bytes);
    double unpacked = cpu_seconds();
    write_all(&image, to, bytes);
    double written = cpu_seconds();
    printf("{\"unpack\": %.3f, \"write\": %.3f}\n", unpacked - begun, written - unpacked);
    free(bytes);
    return 0;
}
