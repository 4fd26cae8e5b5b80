// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <unistd.h>

#include "image/sparse.h"

static const size_t chunk_size = 1 << 20;

static void free_archive(struct archive **archive)
{
    archive_read_free(*archive);
}

static int damaged(struct archive *archive, const char *name, struct error *err)
{
    const char *why = archive_error_string(archive);
    return error_set(err, EBADMSG, "cannot unpack '%s': %s", name,
                     why ? why : "it is damaged or truncated");
}

static int open_packed(struct archive *archive, int from, const char *name, struct error *err)
{
    struct archive_entry *entry;
    if (archive_read_support_filter_xz(archive) != ARCHIVE_OK ||
        archive_read_support_filter_zstd(archive) != ARCHIVE_OK ||
        archive_read_support_filter_gzip(archive) != ARCHIVE_OK ||
        archive_read_support_format_raw(archive) != ARCHIVE_OK)
        return error_set(err, ENOTSUP, "cannot unpack '%s': libarchive lacks a part: %s", name,
                         archive_error_string(archive));
    if (lseek(from, 0, SEEK_SET) < 0)
        return error_errno(err, "cannot read '%s'", name);
    if (archive_read_open_fd(archive, from, chunk_size) != ARCHIVE_OK ||
        archive_read_next_header(archive, &entry) != ARCHIVE_OK)
        return damaged(archive, name, err);
    // Our own magic found a packed file; if libarchive found none, it would copy it as it is.
    if (archive_filter_count(archive) < 2)
        return error_set(err, EBADMSG, "cannot unpack '%s': its header is damaged", name);
    return 0;
}

int unpack_file(int from, uint64_t size, const char *name, int to, struct watch *watch,
                uint64_t *unpacked_size, struct error *err)
{
    CLEANUP(free_archive) struct archive *archive = archive_read_new();
    if (!archive)
        return error_set(err, ENOMEM, "cannot unpack '%s': out of memory", name);
    if (open_packed(archive, from, name, err) < 0)
        return -1;

    uint64_t end = 0;
    for (;;) {
        const void *bytes;
        size_t length;
        la_int64_t offset;
        int status = archive_read_data_block(archive, &bytes, &length, &offset);
        if (status == ARCHIVE_EOF)
            break;
        if (status != ARCHIVE_OK)
            return damaged(archive, name, err);
        uint64_t used = (uint64_t)archive_filter_bytes(archive, -1);
        used = used < size ? used : size;
        if (sparse_write(to, bytes, length, (uint64_t)offset) < 0) {
            error_errno(err, "cannot write what is in '%s'", name);
            // What is still packed, and this, at least.
            return sparse_note_space(to, size - used + length, err);
        }
        end = (uint64_t)offset + length;
        if (watch_step(watch, used, size, err) < 0)
            return -1;
    }
    if (end == 0)
        return error_set(err, EBADMSG, "'%s' is empty inside", name);
    if (ftruncate(to, (off_t)end) < 0)
        return error_errno(err, "cannot write what is in '%s'", name);
    *unpacked_size = end;
    return 0;
}
