// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/process.h"
#include "image/digest.h"
#include "image/image.h"
#include "tests/support/http_server.h"
#include "tests/support/qcow2_builder.h"

enum { BITS = 16, CLUSTER = 1 << BITS };
static const uint64_t disk_size = 8 << 20;

// A small bootable image, in a file and on a server, and an empty cache.
struct fixture {
    char *home, *cache, *file, *url;
    unsigned char *disk; // what the raw image must be
    struct qcow2_builder image;
    struct http_server server;
    struct image_options options;
    struct image_ref by_url, by_file;
    char *raw, *digest;
    uint64_t size;
};

static int set_up(void **state)
{
    struct error err;
    char hex[DIGEST_HEX];
    struct fixture *f = xcalloc(1, sizeof(*f));
    if (temp_home_setup((void **)&f->home) < 0)
        return -1;
    f->disk = xcalloc(1, (size_t)disk_size);
    memcpy(f->disk + 510, "\x55\xaa", 2);
    uint32_t random = 5;
    for (size_t i = CLUSTER; i < 8 * CLUSTER; i++)
        f->disk[i] = (unsigned char)((random = random * 1664525 + 1013904223) >> 25);
    builder_begin(&f->image, 3, BITS, disk_size, true);
    for (unsigned i = 0; i < 8; i++)
        builder_packed(&f->image, i, f->disk + i * CLUSTER);

    CLEANUP(digest_release) struct digest digest = DIGEST_INIT;
    assert_ok(digest_begin(&digest, &err), err);
    digest_add(&digest, f->image.file.text, f->image.file.length);
    digest_end(&digest, hex);

    f->cache = xasprintf("%s/.cache/pmv/images", f->home);
    f->file = xasprintf("%s/image.qcow2", f->home);
    put_file(f->file, f->image.file.text, f->image.file.length);
    http_server_start(&f->server, f->image.file.text, f->image.file.length);
    f->url = http_server_url(&f->server, "/file");
    f->options = (struct image_options){.cache = f->cache, .quiet = true};
    assert_ok(image_resolve(&f->by_file, f->file, NULL, "x86_64", &err), err);
    assert_ok(image_resolve(&f->by_url, f->url, hex, "x86_64", &err), err);
    *state = f;
    return 0;
}

static void forget(struct fixture *f)
{
    free(f->raw);
    free(f->digest);
    f->raw = f->digest = NULL;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    http_server_stop(&f->server);
    forget(f);
    image_ref_release(&f->by_file);
    image_ref_release(&f->by_url);
    builder_release(&f->image);
    free(f->disk);
    free(f->cache);
    free(f->file);
    free(f->url);
    int result = temp_home_teardown((void **)&f->home);
    free(f);
    return result;
}

static int fetch(struct fixture *f, const struct image_ref *ref, struct error *err)
{
    forget(f);
    return image_fetch(ref, &f->options, &f->raw, &f->digest, &f->size, err);
}

static void assert_right(const struct fixture *f)
{
    assert_int_equal(f->size, disk_size);
    assert_string_equal(f->digest, f->by_url.sha256);
    cleanup_free char *bytes = get_text(f->raw);
    assert_memory_equal(bytes, f->disk, (size_t)disk_size);
}

// The names in the cache that do not end in one of the three of a finished entry.
static unsigned count_rubble(const struct fixture *f)
{
    unsigned count = 0;
    cleanup_dir DIR *dir = opendir(f->cache);
    for (struct dirent *file; dir && (file = readdir(dir));) {
        const char *end = strrchr(file->d_name, '.');
        count += file->d_name[0] != '.' && strcmp(end, ".raw") != 0 && strcmp(end, ".json") != 0 &&
                 strcmp(end, ".lock") != 0;
    }
    return count;
}

static ino_t inode(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_ino;
}

static void a_second_fetch_neither_downloads_nor_converts(void **state)
{
    struct fixture *f = *state;
    struct error err;
    struct stat st;
    assert_ok(fetch(f, &f->by_url, &err), err);
    assert_right(f);
    assert_int_equal(count_rubble(f), 0);
    assert_int_equal(stat(f->raw, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0400);
    assert_int_equal(stat(f->cache, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(f->server.requests, 1);
    ino_t first = inode(f->raw);

    assert_ok(fetch(f, &f->by_url, &err), err);
    assert_right(f);
    assert_int_equal(f->server.requests, 1);
    assert_int_equal(inode(f->raw), first);

    // The same bytes from a file are the same image.
    assert_ok(fetch(f, &f->by_file, &err), err);
    assert_right(f);
    assert_int_equal(inode(f->raw), first);
}

static void a_file_is_converted_once(void **state)
{
    struct fixture *f = *state;
    struct error err;
    assert_ok(fetch(f, &f->by_file, &err), err);
    assert_right(f);
    ino_t first = inode(f->raw);
    assert_ok(fetch(f, &f->by_file, &err), err);
    assert_int_equal(inode(f->raw), first);
    assert_int_equal(count_rubble(f), 0);
}

static void a_touched_cache_is_made_anew(void **state)
{
    struct fixture *f = *state;
    struct error err;
    for (int how = 0; how < 4; how++) {
        assert_ok(fetch(f, &f->by_url, &err), err);
        cleanup_free char *record = xasprintf("%s/%s.json", f->cache, f->digest);
        assert_int_equal(chmod(f->raw, 0600), 0);
        cleanup_close int fd = open(f->raw, O_RDWR | O_CLOEXEC);
        if (how == 0)
            assert_int_equal(ftruncate(fd, 4096), 0);
        else if (how == 1)
            assert_int_equal(pwrite(fd, "!", 1, CLUSTER + 9), 1);
        else if (how == 2)
            put_text(record, "{\"digest\": \"another\"}");
        else
            assert_int_equal(unlink(record), 0);
        unsigned requests = f->server.requests;
        assert_ok(fetch(f, &f->by_url, &err), err);
        assert_right(f);
        assert_int_equal(f->server.requests, requests + 1);
    }
}

static void packed_and_raw_images_are_taken(void **state)
{
    struct fixture *f = *state;
    struct error err;
    static const char *const tools[][2] = {{"xz", ".xz"}, {"gzip", ".gz"}, {"zstd", ".zst"}};
    cleanup_free char *raw = xasprintf("%s/disk.img", f->home);
    put_file(raw, f->disk, (size_t)disk_size);
    const char *const plain[] = {raw, f->file};
    for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
        for (size_t j = 0; j <= ARRAY_SIZE(tools); j++) {
            CLEANUP(image_ref_release) struct image_ref ref = {.source = NULL};
            cleanup_free char *path = xasprintf("%s%s", plain[i], j ? tools[j - 1][1] : "");
            cleanup_free char *tool = j ? process_find(tools[j - 1][0], NULL) : NULL;
            if (j && !tool)
                continue;
            if (j) {
                CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
                const char *const words[] = {tool, "-k", "-q", plain[i], NULL};
                strvec_pushv(&argv, words);
                assert_ok(process_run(&argv, NULL, &err), err);
            }
            assert_ok(image_resolve(&ref, path, NULL, "x86_64", &err), err);
            assert_ok(fetch(f, &ref, &err), err);
            assert_int_equal(f->size, disk_size);
            cleanup_free char *bytes = get_text(f->raw);
            assert_memory_equal(bytes, f->disk, (size_t)disk_size);
            assert_int_equal(count_rubble(f), 0);
        }
    }
}

static void empty_files_and_the_null_device_are_empty_images(void **state)
{
    struct fixture *f = *state;
    struct error err;
    cleanup_free char *empty = xasprintf("%s/empty", f->home);
    put_text(empty, "");
    const char *const paths[] = {"/dev/null", empty};
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        CLEANUP(image_ref_release) struct image_ref ref = {.source = NULL};
        assert_ok(image_resolve(&ref, paths[i], NULL, "x86_64", &err), err);
        assert_ok(fetch(f, &ref, &err), err);
        assert_int_equal(f->size, 0);
        cleanup_free char *disk = xasprintf("%s/disk.raw", f->home);
        assert_ok(image_install(f->raw, disk, 1 << 20, &err), err);
    }
}

static void what_cannot_boot_is_refused_at_once(void **state)
{
    struct fixture *f = *state;
    struct error err;
    cleanup_free char *path = xasprintf("%s/other", f->home);
    cleanup_free char *folder = xasprintf("%s/", f->home);
    put_text(path, "<html><body>404</body></html>");
    const struct {
        const char *image, *words;
    } cases[] = {
        {path, "web page"}, {folder, "not a regular file"}, {"/dev/zero", "not a regular file"}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(image_ref_release) struct image_ref ref = {.source = NULL};
        assert_ok(image_resolve(&ref, cases[i].image, NULL, "x86_64", &err), err);
        assert_fails(fetch(f, &ref, &err), err, EBADMSG, cases[i].words);
        assert_null(f->raw);
    }

    put_file(path, f->image.file.text, f->image.file.length - 1000);
    CLEANUP(image_ref_release) struct image_ref truncated = {.source = NULL};
    assert_ok(image_resolve(&truncated, path, NULL, "x86_64", &err), err);
    assert_fails(fetch(f, &truncated, &err), err, EBADMSG, "truncated");
    assert_false(file_exists(f->cache)); // nothing was begun

    // On a server it is the digest that people gave, and still not an image.
    cleanup_free char *iso = xcalloc(1, 1 << 20);
    memcpy(iso + 0x8001, "CD001", 5);
    f->server.body = iso;
    f->server.length = 1 << 20;
    assert_fails(fetch(f, &f->by_url, &err), err, EBADMSG, "installer ISO");
    assert_int_equal(count_rubble(f), 0);
}

static void a_wrong_digest_is_refused(void **state)
{
    struct fixture *f = *state;
    struct error err;
    CLEANUP(image_ref_release) struct image_ref ref = {.source = NULL};
    char wrong[DIGEST_HEX] = "";
    memset(wrong, '0', sizeof(wrong) - 1);
    assert_ok(image_resolve(&ref, f->file, wrong, "x86_64", &err), err);
    assert_fails(fetch(f, &ref, &err), err, EBADMSG, f->by_url.sha256);
    image_ref_release(&ref);
    assert_ok(image_resolve(&ref, f->url, wrong, "x86_64", &err), err);
    assert_fails(fetch(f, &ref, &err), err, EBADMSG, f->by_url.sha256);
    assert_int_equal(count_rubble(f), 0);
}

static void a_damaged_image_with_the_right_digest_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    struct error err;
    CLEANUP(image_ref_release) struct image_ref ref = {.source = NULL};
    builder_stream(&f->image, 5, "\xff\xff\xff\xff", 4);
    put_file(f->file, f->image.file.text, f->image.file.length);
    assert_ok(image_resolve(&ref, f->file, NULL, "x86_64", &err), err);
    assert_fails(fetch(f, &ref, &err), err, EBADMSG, "cluster 5");
    assert_int_equal(count_rubble(f), 0);
}

static int fetch_in_child(const struct fixture *f)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    struct error err;
    char *raw, *digest;
    uint64_t size;
    _exit(image_fetch(&f->by_url, &f->options, &raw, &digest, &size, &err) == 0 && size == disk_size
              ? 0
              : 1);
}

static void two_at_once_share_one_download(void **state)
{
    struct fixture *f = *state;
    int children[4], status;
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        children[i] = fetch_in_child(f);
    for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(f->server.requests, 1);
    assert_int_equal(count_rubble(f), 0);
}

static void a_killed_one_blocks_nobody_and_its_work_is_used(void **state)
{
    struct fixture *f = *state;
    struct error err;
    f->server.stalls = 1;
    f->server.stall_after = 100000;
    cleanup_free char *part = xasprintf("%s/%s.download.part", f->cache, f->by_url.sha256);
    cleanup_free char *rubble = xasprintf("%s/%s.tmp-abcdef", f->cache, f->by_url.sha256);
    int child = fetch_in_child(f);
    struct stat st = {.st_size = 0};
    for (int i = 0; i < 500 && st.st_size < 100000; i++) {
        clock_sleep_ms(20);
        if (stat(part, &st) < 0)
            st.st_size = 0;
    }
    put_text(rubble, "half-made");
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_ok(fetch(f, &f->by_url, &err), err);
    assert_right(f);
    assert_string_equal(f->server.range, "bytes=100000-");
    assert_int_equal(count_rubble(f), 0);
}

static void a_download_that_was_not_converted_is_not_fetched_again(void **state)
{
    struct fixture *f = *state;
    struct error err;
    cleanup_free char *download = xasprintf("%s/%s.download", f->cache, f->by_url.sha256);
    assert_ok(file_make_dirs(f->cache, 0700, &err), err);
    put_file(download, f->image.file.text, f->image.file.length);
    assert_ok(fetch(f, &f->by_url, &err), err);
    assert_right(f);
    assert_int_equal(f->server.requests, 0);

    // Unless it is not what it should be.
    assert_int_equal(unlink(f->raw), 0);
    f->image.file.text[f->image.file.length - 1] ^= 1;
    put_file(download, f->image.file.text, f->image.file.length);
    f->image.file.text[f->image.file.length - 1] ^= 1;
    assert_ok(fetch(f, &f->by_url, &err), err);
    assert_right(f);
    assert_int_equal(f->server.requests, 1);
}

static bool at_once(void)
{
    return true;
}

static void waiting_for_another_can_be_interrupted(void **state)
{
    struct fixture *f = *state;
    struct error err;
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    cleanup_free char *path = xasprintf("%s/%s.lock", f->cache, f->by_url.sha256);
    assert_ok(file_make_dirs(f->cache, 0700, &err), err);
    assert_ok(lock_take(&lock, path, 0, &err), err);
    f->options.interrupted = at_once;
    assert_fails(fetch(f, &f->by_url, &err), err, EINTR, "interrupted");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_second_fetch_neither_downloads_nor_converts),
        TEST(a_file_is_converted_once),
        TEST(a_touched_cache_is_made_anew),
        TEST(packed_and_raw_images_are_taken),
        TEST(empty_files_and_the_null_device_are_empty_images),
        TEST(what_cannot_boot_is_refused_at_once),
        TEST(a_wrong_digest_is_refused),
        TEST(a_damaged_image_with_the_right_digest_leaves_nothing),
        TEST(two_at_once_share_one_download),
        TEST(a_killed_one_blocks_nobody_and_its_work_is_used),
        TEST(a_download_that_was_not_converted_is_not_fetched_again),
        TEST(waiting_for_another_can_be_interrupted),
    };
    return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
