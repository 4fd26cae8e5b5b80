// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cloudinit/iso.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"

static void free_archive(struct archive **archive)
{
    archive_write_free(*archive);
}

static void free_entry(struct archive_entry **entry)
{
    archive_entry_free(*entry);
}

static la_ssize_t collect(struct archive *archive, void *image, const void *bytes, size_t length)
{
    (void)archive;
    strbuf_add(image, bytes, length);
    return (la_ssize_t)length;
}

static int cannot_make(const char *path, struct archive *archive, struct error *err)
{
    int code = archive_errno(archive);
    const char *reason = archive_error_string(archive);
    return error_set(err, code > 0 ? code : EIO, "cannot make the volume '%s': %s", path,
                     reason ? reason : "libarchive gives no reason");
}

// libarchive assembles the volume in an unnamed file of its own in $TMPDIR, then hands it over.
static int build(struct archive *archive, const struct iso_file *files, size_t count)
{
    CLEANUP(free_entry) struct archive_entry *entry = archive_entry_new2(archive);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(files[i].text);
        archive_entry_clear(entry);
        archive_entry_set_pathname(entry, files[i].name);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, 0600);
        archive_entry_set_size(entry, (la_int64_t)length);
        archive_entry_set_mtime(entry, time(NULL), 0);
        if (archive_write_header(archive, entry) != ARCHIVE_OK ||
            archive_write_data(archive, files[i].text, length) != (la_ssize_t)length)
            return -1;
    }
    return archive_write_close(archive) == ARCHIVE_OK ? 0 : -1;
}

int iso_write(const char *path, const char *label, const struct iso_file *files, size_t count,
              struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf image = STRBUF_INIT;
    CLEANUP(free_archive) struct archive *archive = archive_write_new();
    cleanup_free char *options = xasprintf("volume-id=%s,rockridge=useful,joliet", label);
    if (archive_write_set_format_iso9660(archive) != ARCHIVE_OK ||
        archive_write_set_options(archive, options) != ARCHIVE_OK ||
        archive_write_open(archive, &image, NULL, collect, NULL) != ARCHIVE_OK ||
        build(archive, files, count) < 0)
        return cannot_make(path, archive, err);
    return file_write_atomic(path, image.text, image.length, 0600, err);
}
