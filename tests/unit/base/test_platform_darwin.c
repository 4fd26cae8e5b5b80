// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// base/platform_darwin.c on Linux: it is compiled against tests/support/darwin, and this file is
// what it calls.

#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mach-o/dyld.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/clonefile.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/platform.h"
#include "image/image.h"

// What the system answers: set by each test.
static struct {
    const char *sysctl_name; // the only one there is
    const void *sysctl_value;
    size_t sysctl_size;
    const char *executable;
    int clone_errno;
    int sync_errno;
    unsigned clones, syncs; // calls
    uint32_t clone_flags;
} system_;

int sysctlbyname(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen)
{
    assert_null(newp);
    assert_int_equal(newlen, 0);
    if (!system_.sysctl_name || strcmp(name, system_.sysctl_name) != 0) {
        errno = ENOENT;
        return -1;
    }
    bool fits = system_.sysctl_size <= *oldlenp;
    if (fits)
        *oldlenp = system_.sysctl_size;
    memcpy(oldp, system_.sysctl_value, *oldlenp);
    errno = ENOMEM;
    return fits ? 0 : -1;
}

int kqueue(void)
{
    return open("/dev/null", O_RDONLY);
}

int kevent(int kq, const struct kevent *changes, int nchanges, struct kevent *events, int nevents,
           const struct timespec *timeout)
{
    (void)events, (void)timeout;
    assert_true(kq >= 0);
    assert_int_equal(nchanges, 1);
    assert_int_equal(nevents, 0);
    assert_int_equal(changes->filter, EVFILT_PROC);
    assert_int_equal(changes->fflags, NOTE_EXIT);
    errno = changes->ident == 4711 ? 0 : ESRCH;
    return errno ? -1 : 0;
}

int _NSGetExecutablePath(char *buf, uint32_t *bufsize)
{
    uint32_t needed = (uint32_t)strlen(system_.executable) + 1;
    bool fits = needed <= *bufsize;
    *bufsize = needed;
    if (!fits)
        return -1;
    memcpy(buf, system_.executable, needed);
    return 0;
}

int clonefile(const char *src, const char *dst, uint32_t flags)
{
    struct error err;
    CLEANUP(strbuf_release) struct strbuf content = STRBUF_INIT;
    system_.clones++;
    system_.clone_flags = flags;
    errno = system_.clone_errno;
    if (errno)
        return -1;
    struct stat st;
    assert_int_equal(stat(src, &st), 0);
    assert_ok(file_read(&content, src, 1 << 20, &err), err);
    put_file(dst, content.text, content.length);
    return chmod(dst, st.st_mode & 07777); // a clone has the mode too
}

int fake_fcntl(int fd, int command, ...)
{
    (void)fd;
    if (command == F_SETFD)
        return 0;
    assert_int_equal(command, F_FULLFSYNC);
    system_.syncs++;
    errno = system_.sync_errno;
    return errno ? -1 : 0;
}

static int reset(void **state)
{
    (void)state;
    memset(&system_, 0, sizeof(system_));
    return 0;
}

static void answer(const char *name, const void *value, size_t size)
{
    system_.sysctl_name = name;
    system_.sysctl_value = value;
    system_.sysctl_size = size;
}

static void assert_version(const char *text, unsigned major, unsigned minor)
{
    unsigned got_major = 99, got_minor = 99;
    answer("kern.osproductversion", text, strlen(text) + 1);
    platform_os_version(&got_major, &got_minor);
    if (got_major != major || got_minor != minor)
        fail_msg("'%s' is %u.%u", text, got_major, got_minor);
}

static void versions(void **state)
{
    (void)state;
    assert_version("26.2", 26, 2);
    assert_version("13.6.9", 13, 6);
    assert_version("15", 15, 0);
    assert_version("15.", 15, 0);
    assert_version("10.16", 10, 16);
    assert_version("", 0, 0);
    assert_version("Tahoe", 0, 0);
    assert_version(".5", 0, 0);
    assert_version("26.2 and more than there is room for", 0, 0); // ENOMEM

    unsigned major = 99, minor = 99;
    answer("kern.osproductversion", "14.1......................................", 31); // no NUL
    platform_os_version(&major, &minor);
    assert_int_equal(major, 14);
    assert_int_equal(minor, 1);
    reset(NULL);
    platform_os_version(&major, &minor);
    assert_int_equal(major, 0);
    assert_int_equal(minor, 0);
}

static void processors_and_memory(void **state)
{
    (void)state;
    int count = 12;
    answer("hw.logicalcpu", &count, sizeof(count));
    assert_int_equal(platform_cpu_count(), 12);
    count = 0;
    assert_int_equal(platform_cpu_count(), 1);
    count = -3;
    assert_int_equal(platform_cpu_count(), 1);
    assert_int_equal(platform_memory_bytes(), 0);

    uint64_t bytes = UINT64_C(192) << 30;
    answer("hw.memsize", &bytes, sizeof(bytes));
    assert_int_equal(platform_memory_bytes(), bytes);
    assert_int_equal(platform_cpu_count(), 1);
}

static void boot_ids(void **state)
{
    (void)state;
    static const char uuid[] = "5A2C7F4E-5B8A-4B1C-9F0B-6C1D2E3F4A5B";
    answer("kern.bootsessionuuid", uuid, sizeof(uuid));
    cleanup_free char *id = platform_boot_id();
    assert_string_equal(id, uuid);
    answer("kern.bootsessionuuid", "", 1);
    assert_null(platform_boot_id());
    reset(NULL);
    assert_null(platform_boot_id());
}

static void assert_runtime_dir(const char *tmpdir, const char *wanted)
{
    if (tmpdir)
        setenv("TMPDIR", tmpdir, 1);
    else
        unsetenv("TMPDIR");
    cleanup_free char *dir = platform_runtime_dir();
    assert_string_equal(dir, wanted);
}

static void the_runtime_folder_has_no_slash_at_the_end(void **state)
{
    (void)state;
    const char *tmpdir = getenv("TMPDIR");
    cleanup_free char *before = tmpdir ? xstrdup(tmpdir) : NULL;
    assert_runtime_dir("/var/folders/x1/y2/T/", "/var/folders/x1/y2/T");
    assert_runtime_dir("/var/folders/x1/y2/T", "/var/folders/x1/y2/T");
    assert_runtime_dir("/t//", "/t");
    assert_runtime_dir("/", "/");
    assert_runtime_dir("///", "/");
    assert_runtime_dir("", "/tmp");
    assert_runtime_dir(NULL, "/tmp");
    if (before)
        setenv("TMPDIR", before, 1);
}

static void the_executable_without_links(void **state)
{
    cleanup_free char *target = temp_path(state, "target");
    cleanup_free char *link = temp_path(state, "link");
    put_text(target, "");
    assert_int_equal(symlink("target", link), 0);
    cleanup_free char *wanted = realpath(target, NULL);
    system_.executable = link;
    cleanup_free char *path = platform_executable();
    assert_string_equal(path, wanted);

    assert_int_equal(unlink(target), 0);
    assert_null(platform_executable());
    static char longer[8192];
    memset(longer, '/', sizeof(longer) - 1);
    system_.executable = longer;
    assert_null(platform_executable());
}

static void clones(void **state)
{
    struct error err;
    cleanup_free char *from = temp_path(state, "from");
    cleanup_free char *to = temp_path(state, "to");
    put_text(from, "content");
    assert_ok(platform_clone_file(from, to, &err), err);
    cleanup_free char *content = get_text(to);
    assert_string_equal(content, "content");
    // A link is followed, as on Linux: else what is done to the clone is done to its target.
    assert_int_equal(system_.clone_flags & CLONE_NOFOLLOW, 0);

    system_.clone_errno = ENOTSUP;
    assert_fails(platform_clone_file(from, to, &err), err, ENOTSUP, "cannot clone");
    system_.clone_errno = EXDEV;
    assert_fails(platform_clone_file(from, to, &err), err, ENOTSUP, from);
    system_.clone_errno = EEXIST;
    assert_fails(platform_clone_file(from, to, &err), err, EEXIST, to);
    system_.clone_errno = ENOSPC;
    assert_fails(platform_clone_file(from, to, &err), err, ENOSPC, "No space");
}

static void a_drive_that_knows_no_flush(void **state)
{
    cleanup_free char *path = temp_path(state, "synced");
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(platform_sync(-1), 0); // fsync, which would refuse it, is not called
    system_.sync_errno = ENOTSUP;
    assert_int_equal(platform_sync(fd), 0);
    assert_int_equal(platform_sync(-1), -1);
    assert_int_equal(errno, EBADF);
    // The drive's own word is not to be replaced by that of the cache.
    system_.sync_errno = EIO;
    assert_int_equal(platform_sync(fd), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(system_.syncs, 4);
}

static const uint64_t image_size = 8 << 20;
static const uint64_t disk_size = 64 << 20;

// An image that is read-only, with a hole between its first and its last bytes.
static char *make_image(void **state)
{
    char *raw = temp_path(state, "image.raw");
    unlink(raw);
    put_text(raw, "first");
    cleanup_close int fd = open(raw, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "last", 4, (off_t)image_size - 4), 4);
    assert_int_equal(fchmod(fd, 0400), 0);
    return raw;
}

static void assert_disk(const char *disk, uint64_t most_allocated)
{
    struct error err;
    struct stat st;
    uint64_t size, allocated;
    char bytes[6] = "";
    assert_ok(file_size(disk, &size, &allocated, &err), err);
    assert_int_equal(size, disk_size);
    assert_in_range(allocated, 1, most_allocated);
    assert_int_equal(stat(disk, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    cleanup_close int fd = open(disk, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, bytes, 5, 0), 5);
    assert_string_equal(bytes, "first");
    assert_int_equal(pread(fd, bytes, 5, (off_t)image_size - 4), 5);
    assert_memory_equal(bytes, "last\0", 5);
}

static void a_disk_is_a_clone(void **state)
{
    struct error err;
    cleanup_free char *raw = temp_path(state, "small.raw");
    cleanup_free char *disk = temp_path(state, "clone.disk");
    put_text(raw, "first");
    assert_int_equal(chmod(raw, 0400), 0);
    assert_ok(image_install(raw, disk, disk_size, &err), err);
    assert_int_equal(system_.clones, 1);
    assert_true(system_.syncs > 0);
    struct stat st;
    assert_int_equal(stat(disk, &st), 0);
    assert_int_equal(st.st_size, disk_size);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_disk_is_a_sparse_copy_where_nothing_can_be_cloned(void **state)
{
    struct error err;
    cleanup_free char *raw = make_image(state);
    cleanup_free char *disk = temp_path(state, "copy.disk");
    system_.clone_errno = ENOTSUP;
    assert_ok(image_install(raw, disk, disk_size, &err), err);
    assert_int_equal(system_.clones, 1);
    assert_disk(disk, 1 << 20);
    system_.clone_errno = EXDEV;
    assert_ok(image_install(raw, disk, disk_size, &err), err);
    assert_disk(disk, 1 << 20);
}

static void no_disk_when_cloning_fails_otherwise(void **state)
{
    struct error err;
    cleanup_free char *raw = make_image(state);
    cleanup_free char *disk = temp_path(state, "no.disk");
    system_.clone_errno = ENOSPC;
    assert_fails(image_install(raw, disk, disk_size, &err), err, ENOSPC, "cannot clone");
    assert_false(file_exists(disk));
}

static void what_this_system_is(void **state)
{
    (void)state;
    assert_string_equal(platform_name, "darwin");
    assert_string_equal(platform_arch(), ARCH);
    assert_string_equal(platform_default_provider, DEFAULT_PROVIDER);
    assert_string_equal(platform_providers[0], DEFAULT_PROVIDER);
    for (size_t i = 0; platform_program_dirs[i]; i++)
        assert_int_equal(platform_program_dirs[i][0], '/');
}

static void watches_a_process(void **state)
{
    (void)state;
    cleanup_close int fd = platform_watch_exit(4711);
    assert_true(fd >= 0);
    assert_int_equal(platform_watch_exit(1), -1);
    assert_int_equal(errno, ESRCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(versions, reset),
        cmocka_unit_test_setup(processors_and_memory, reset),
        cmocka_unit_test_setup(boot_ids, reset),
        cmocka_unit_test_setup(the_runtime_folder_has_no_slash_at_the_end, reset),
        cmocka_unit_test_setup(the_executable_without_links, reset),
        cmocka_unit_test_setup(clones, reset),
        cmocka_unit_test_setup(a_drive_that_knows_no_flush, reset),
        cmocka_unit_test_setup(a_disk_is_a_clone, reset),
        cmocka_unit_test_setup(a_disk_is_a_sparse_copy_where_nothing_can_be_cloned, reset),
        cmocka_unit_test_setup(no_disk_when_cloning_fails_otherwise, reset),
        cmocka_unit_test(what_this_system_is),
        cmocka_unit_test(watches_a_process),
    };
    return cmocka_run_group_tests_name("platform_darwin", tests, temp_home_setup,
                                       temp_home_teardown);
}
