// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cloudinit/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>

#include "base/strbuf.h"

static void free_archive(struct archive **archive)
{
    archive_write_free(*archive);
}

static void free_entry(struct archive_entry **entry)
{
    archive_entry_free(*entry);
}

static la_ssize_t collect(struct archive *archive, void *encoded, const void *bytes, size_t length)
{
    (void)archive;
    strbuf_add(encoded, bytes, length);
    return (la_ssize_t)length;
}

// libarchive puts a line "begin-base64 644 NAME" in front, wraps, and ends with "====".
static char *unwrap(const char *encoded)
{
    struct strbuf packed = STRBUF_INIT;
    const char *line = strchr(encoded, '\n');
    while (line && *++line && strncmp(line, "====", 4) != 0) {
        size_t length = strcspn(line, "\n");
        strbuf_add(&packed, line, length);
        line = strchr(line, '\n');
    }
    return strbuf_steal(&packed);
}

int pack_text(const char *text, char **packed, struct error *err)
{
    size_t length = strlen(text);
    CLEANUP(strbuf_release) struct strbuf encoded = STRBUF_INIT;
    CLEANUP(free_archive) struct archive *archive = archive_write_new();
    CLEANUP(free_entry) struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, "text");
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_size(entry, (la_int64_t)length);
    if (archive_write_set_format_raw(archive) != ARCHIVE_OK ||
        archive_write_add_filter_gzip(archive) != ARCHIVE_OK ||
        archive_write_set_options(archive, "gzip:!timestamp") != ARCHIVE_OK ||
        archive_write_add_filter_b64encode(archive) != ARCHIVE_OK ||
        archive_write_open(archive, &encoded, NULL, collect, NULL) != ARCHIVE_OK ||
        archive_write_header(archive, entry) != ARCHIVE_OK ||
        archive_write_data(archive, text, length) != (la_ssize_t)length ||
        archive_write_close(archive) != ARCHIVE_OK)
        return error_set(err, EIO, "cannot pack a file for the seed: %s",
                         archive_error_string(archive));
    *packed = unwrap(encoded.text);
    return 0;
}
