// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cloudinit/iso.h"

static const struct iso_file files[] = {
    {"user-data", "#cloud-config\n{}\n"},
    {"meta-data", "{\"instance-id\": \"é\"}\n"},
    {"network-config", ""},
};

static void reads_back_what_was_written(void **state)
{
    cleanup_free char *path = temp_path(state, "cidata.iso");
    struct error err;
    assert_ok(iso_write(path, "cidata", files, ARRAY_SIZE(files), &err), err);

    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);

    struct archive *archive = archive_read_new();
    archive_read_support_format_iso9660(archive);
    assert_int_equal(archive_read_open_filename(archive, path, 65536), ARCHIVE_OK);
    size_t found = 0;
    struct archive_entry *entry;
    while (archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
        if (archive_entry_filetype(entry) == AE_IFDIR)
            continue;
        const char *name = archive_entry_pathname(entry);
        size_t i = 0;
        while (i < ARRAY_SIZE(files) && strcmp(files[i].name, name) != 0)
            i++;
        assert_true(i < ARRAY_SIZE(files));
        char content[100];
        la_ssize_t length = archive_read_data(archive, content, sizeof(content));
        assert_int_equal(length, strlen(files[i].text));
        assert_memory_equal(content, files[i].text, length);
        found++;
    }
    assert_int_equal(found, ARRAY_SIZE(files));
    archive_read_free(archive);
}

// The label is what cloud-init looks for: in the primary descriptor (sector 16), where only
// capitals are allowed, and in Joliet's, in UTF-16.
static void carries_the_label(void **state)
{
    cleanup_free char *path = temp_path(state, "label.iso");
    struct error err;
    assert_ok(iso_write(path, "cidata", files, ARRAY_SIZE(files), &err), err);
    CLEANUP(strbuf_release) struct strbuf image = STRBUF_INIT;
    assert_ok(file_read(&image, path, 8 << 20, &err), err);
    assert_memory_equal(image.text + 16 * 2048, "\1CD001", 6);
    assert_memory_equal(image.text + 16 * 2048 + 40, "CIDATA  ", 8);

    size_t sector = 17;
    while (image.text[sector * 2048] != 2) {
        assert_memory_not_equal(image.text + sector * 2048, "\377CD001", 6);
        sector++;
    }
    assert_memory_equal(image.text + sector * 2048 + 40, "\0c\0i\0d\0a\0t\0a", 12);
}

static void replaces_the_old_one_or_leaves_it(void **state)
{
    cleanup_free char *path = temp_path(state, "old.iso");
    put_text(path, "old");
    struct error err;
    assert_ok(iso_write(path, "cidata", files, ARRAY_SIZE(files), &err), err);
    uint64_t size, allocated;
    assert_ok(file_size(path, &size, &allocated, &err), err);
    assert_true(size > 32768);

    cleanup_free char *nowhere = temp_path(state, "none/cidata.iso");
    assert_fails(iso_write(nowhere, "cidata", files, ARRAY_SIZE(files), &err), err, ENOENT, "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back_what_was_written),
        cmocka_unit_test(carries_the_label),
        cmocka_unit_test(replaces_the_old_one_or_leaves_it),
    };
    return cmocka_run_group_tests_name("iso", tests, temp_home_setup, temp_home_teardown);
}
