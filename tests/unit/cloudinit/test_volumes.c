// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/process.h"
#include "cloudinit/volumes.h"
#include "sample.h"

// The script runs for real, by /bin/sh, in a root folder of its own; mount and its like are
// stand-ins, which note their words, each in brackets.
static const char fake[] = "#!/bin/sh\n"
                           "root=${0%/bin/*} name=${0##*/}\n"
                           "if [ \"$name\" = timeout ]; then shift; exec \"$@\"; fi\n"
                           "printf %s \"$name\" >>\"$root/calls\"\n"
                           "printf '[%s]' \"$@\" >>\"$root/calls\"\n"
                           "echo >>\"$root/calls\"\n"
                           "case $name in\n"
                           "mountpoint) [ -e \"$root/mounted\" ] ;;\n"
                           "mount) [ ! -e \"$root/broken\" ] || { echo 'mount: no\nsuch device'; "
                           "exit 32; } ;;\n"
                           "modprobe) exit 1 ;;\n"
                           "lsattr) cat \"$root/attributes\" ;;\n"
                           "esac\n";
static char *root;

static char *in_root(const char *path)
{
    return xasprintf("%s/%s", root, path);
}

static void put(const char *path, const char *text)
{
    struct error err;
    cleanup_free char *full = in_root(path);
    cleanup_free char *folder = xstrndup(full, (size_t)(strrchr(full, '/') - full));
    assert_ok(file_make_dirs(folder, 0755, &err), err);
    put_text(full, text);
}

static char *get(const char *path)
{
    cleanup_free char *full = in_root(path);
    return get_text(full);
}

static int make_guest(void **state)
{
    static const char *const names[] = {"mount",    "mountpoint", "timeout",
                                        "modprobe", "chattr",     "lsattr"};
    root = temp_path(state, "guest.XXXXXX");
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        cleanup_free char *path = xasprintf("bin/%s", names[i]);
        cleanup_free char *full = in_root(path);
        put(path, fake);
        assert_int_equal(chmod(full, 0755), 0);
    }
    return 0;
}

static int drop_guest(void **state)
{
    (void)state;
    struct error err;
    assert_ok(file_remove_tree(root, &err), err);
    free(root);
    return 0;
}

static const char tag_a[] = "000000000011111111112222222222333333", tag_b[] = "b", tag_c[] = "c";

static void run(const struct seed_volume *items, size_t count, const char *argument)
{
    const struct seed_volumes volumes = {
        .items = items,
        .count = count,
        .program = "/usr/local/sbin/volumes",
        .unit = "volumes.service",
        .state_file = "/run/pmv/volumes",
        .containers_config = "/etc/containers",
    };
    struct seed seed = sample_seed();
    seed.volumes = &volumes;
    cleanup_free char *script = volumes_script(&seed);
    cleanup_free char *program = in_root("program"), *bin = in_root("bin");
    cleanup_free char *old = xstrdup(getenv("PATH"));
    cleanup_free char *path = xasprintf("%s:%s", bin, old);
    put_text(program, script);
    put("calls", "");
    setenv("PATH", path, 1);
    setenv("VOLUMES_ROOT", root, 1);
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    strvec_push(&argv, "/bin/sh");
    strvec_push(&argv, program);
    if (argument)
        strvec_push(&argv, argument);
    struct error err;
    assert_ok(process_run(&argv, NULL, &err), err);
    setenv("PATH", old, 1);
}

// What was called, where %s stands for the root.
static void assert_calls(const char *wanted)
{
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    for (; *wanted; wanted++) {
        if (*wanted == '%')
            strbuf_adds(&text, root);
        else
            strbuf_addc(&text, *wanted);
    }
    cleanup_free char *calls = get("calls");
    assert_string_equal(calls, text.text);
}

static void assert_state(const char *wanted)
{
    cleanup_free char *text = get("run/pmv/volumes");
    assert_string_equal(text, wanted);
}

static void parents_come_first(void **state)
{
    (void)state;
    static const struct seed_volume items[] = {{tag_b, "/host folder/it's \"ü\" $x", false},
                                               {tag_a, "/host folder", true}};
    run(items, 2, NULL);
    assert_calls(
        "mountpoint[-q][%/host folder]\nlsattr[-d][%/]\n"
        "mount[-t][virtiofs][-o][ro][000000000011111111112222222222333333][%/host folder]\n"
        "mountpoint[-q][%/host folder/it's \"ü\" $x]\nlsattr[-d][%/]\n"
        "mount[-t][virtiofs][-o][rw][b][%/host folder/it's \"ü\" $x]\n");
    assert_state("done\n");
    cleanup_free char *folder = in_root("host folder/it's \"ü\" $x");
    assert_true(file_exists(folder));
}

static void the_device_says_that_it_is_9p(void **state)
{
    (void)state;
    static const struct seed_volume items[] = {{tag_a, "/a", false}};
    put("sys/bus/virtio/devices/virtio0/device", "0x0001\n");
    put("sys/bus/virtio/devices/virtio1/device", "0x0009\n");
    put("sys/fs/selinux/enforce", "1");
    run(items, 1, NULL);
    assert_calls("mountpoint[-q][%/a]\nlsattr[-d][%/]\n"
                 "mount[-t][9p][-o][rw,trans=virtio,version=9p2000.L,msize=512000,context=system_u:"
                 "object_r:nfs_t:s0][0000000000111111111122222222223][%/a]\n");
    put("broken", "");
    run(items, 1, NULL);
    assert_state("done\n000000000011111111112222222222333333 mount: no such device this kernel has "
                 "no 9p: with virtiofsd on the host it is not needed \n");
}

static void configuration_is_laid_over(void **state)
{
    (void)state;
    static const struct seed_volume items[] = {{tag_a, "/etc/containers", false}};
    put("etc/containers/policy.json", "{}");
    put("run/pmv/containers/.keep", "");
    put("var/lib/podman-machine-vmnet/containers/files/.keep", "");
    put("var/lib/podman-machine-vmnet/containers/work/.keep", "");
    run(items, 1, NULL);
    assert_calls("mountpoint[-q][%/etc/containers]\n"
                 "mount[-t][virtiofs][-o][rw][000000000011111111112222222222333333]"
                 "[%/run/pmv/containers]\n"
                 "mount[-t][overlay][-o][lowerdir=%/run/pmv/containers:%/etc/containers,"
                 "upperdir=%/var/lib/podman-machine-vmnet/containers/files,"
                 "workdir=%/var/lib/podman-machine-vmnet/containers/work][overlay]"
                 "[%/etc/containers]\n");
    run(items, 1, "refresh");
    assert_calls("mount[-o][remount][%/etc/containers]\n");
    assert_state("done\n");
}

static void what_fails_is_told(void **state)
{
    (void)state;
    static const struct seed_volume items[] = {
        {tag_a, "/a", false}, {tag_b, "/file/x", false}, {tag_c, "/c", false}};
    put("broken", "");
    put("file", "");
    run(items, 3, NULL);
    cleanup_free char *text = get("run/pmv/volumes");
    assert_non_null(strstr(text, "done\n000000000011111111112222222222333333 mount: no such device "
                                 "\nc mount: no such device \nb mkdir: "));
    assert_non_null(strstr(text, "Not a directory"));
    assert_int_equal(text[strlen(text) - 1], '\n');
}

// As ostree's: opened for the new folder alone.
static void an_immutable_root(void **state)
{
    (void)state;
    static const struct seed_volume items[] = {{tag_a, "/a", false}};
    put("attributes", "----i---------e------- /\n");
    run(items, 1, NULL);
    assert_calls("mountpoint[-q][%/a]\nlsattr[-d][%/]\nchattr[-i][%/]\nchattr[+i][%/]\n"
                 "mount[-t][virtiofs][-o][rw][000000000011111111112222222222333333][%/a]\n");
    run(items, 1, NULL); // the folder is there
    assert_calls("mountpoint[-q][%/a]\n"
                 "mount[-t][virtiofs][-o][rw][000000000011111111112222222222333333][%/a]\n");
    cleanup_free char *folder = in_root("a");
    assert_true(file_exists(folder));
}

static void what_is_mounted_stays(void **state)
{
    (void)state;
    static const struct seed_volume items[] = {{tag_a, "/a", false}};
    put("mounted", "");
    run(items, 1, NULL);
    assert_calls("mountpoint[-q][%/a]\n");
    assert_state("done\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parents_come_first, make_guest, drop_guest),
        cmocka_unit_test_setup_teardown(the_device_says_that_it_is_9p, make_guest, drop_guest),
        cmocka_unit_test_setup_teardown(configuration_is_laid_over, make_guest, drop_guest),
        cmocka_unit_test_setup_teardown(what_fails_is_told, make_guest, drop_guest),
        cmocka_unit_test_setup_teardown(an_immutable_root, make_guest, drop_guest),
        cmocka_unit_test_setup_teardown(what_is_mounted_stays, make_guest, drop_guest),
    };
    return cmocka_run_group_tests_name("volumes", tests, temp_home_setup, temp_home_teardown);
}
