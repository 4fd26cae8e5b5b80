// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "provider/accelerator.h"
#include "provider/kvm_guest.h"

// A qemu that counts its runs in a file beside it and does what `script` says.
static char *fake_qemu(void **state, const char *script)
{
    char *path = temp_path(state, "qemu-system-x86_64");
    cleanup_free char *text = xasprintf("#!/bin/sh\necho run >> %s.runs\n%s\n", path, script);
    put_text(path, text);
    chmod(path, 0700);
    cleanup_free char *runs = xasprintf("%s.runs", path);
    unlink(runs);
    return path;
}

static size_t runs(const char *qemu)
{
    cleanup_free char *path = xasprintf("%s.runs", qemu);
    if (!file_exists(path))
        return 0;
    cleanup_free char *text = get_text(path);
    return strlen(text) / strlen("run\n");
}

struct scene {
    struct tools tools;
    char *device, *cache;
};

static struct scene scene(void **state, const char *script)
{
    struct scene s = {.device = temp_path(state, "kvm"), .cache = temp_path(state, "c/kvm.json")};
    s.tools.hypervisor = fake_qemu(state, script);
    s.tools.arch = "x86_64";
    put_text(s.device, "");
    unlink(s.cache);
    return s;
}

static void scene_release(struct scene *s)
{
    tools_release(&s->tools);
    free(s->device);
    free(s->cache);
}

static bool works(struct scene *s, char **reason)
{
    *reason = NULL;
    return accelerator_kvm_works(&s->tools, s->device, s->cache, reason);
}

static void a_good_one_is_remembered(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state, "exit 33");
    cleanup_free char *reason = NULL;
    assert_true(works(&s, &reason));
    assert_true(works(&s, &reason));
    assert_int_equal(runs(s.tools.hypervisor), 1);
    // The test guest's file is gone.
    cleanup_free char *left = xasprintf("%s/c/kvm-probe-%ld.bin", (char *)*state, (long)getpid());
    assert_false(file_exists(left));
}

static void what_a_killed_probe_left_goes(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state, "exit 33");
    struct error err;
    cleanup_free char *folder = temp_path(state, "c");
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    static const char *const names[] = {"kvm-probe-12.bin", ".tmp-kvm-probe-12.bin.Ab3xYz",
                                        ".tmp-kvm-probe.json.Ab3xYz", "other"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        cleanup_free char *path = xasprintf("%s/%s", folder, names[i]);
        put_text(path, "");
    }
    cleanup_free char *reason = NULL;
    assert_true(works(&s, &reason));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        cleanup_free char *path = xasprintf("%s/%s", folder, names[i]);
        assert_int_equal(file_exists(path), strcmp(names[i], "other") == 0);
    }
}

static void a_bad_one_is_remembered_with_its_reason(void **state)
{
    CLEANUP(scene_release)
    struct scene s = scene(state, "echo 'qemu-system-x86_64: warning: x' >&2\n"
                                  "echo 'qemu-system-x86_64: failed to initialize kvm: no' >&2\n"
                                  "exit 1");
    for (int i = 0; i < 2; i++) {
        cleanup_free char *reason = NULL;
        assert_false(works(&s, &reason));
        assert_string_equal(reason, "a test guest failed: failed to initialize kvm: no");
    }
    assert_int_equal(runs(s.tools.hypervisor), 1);
}

static void another_qemu_is_tried_anew(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state, "exit 1");
    cleanup_free char *reason = NULL, *other = NULL;
    assert_false(works(&s, &reason));
    assert_string_equal(reason, "a test guest failed: exit status 1");
    struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, s.tools.hypervisor, old, 0), 0);
    assert_false(works(&s, &other));
    assert_int_equal(runs(s.tools.hypervisor), 2);
}

static void a_damaged_memory_is_no_memory(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state, "exit 33");
    cleanup_free char *reason = NULL;
    assert_true(works(&s, &reason));
    put_text(s.cache, "{\"of\": 3, \"works\": \"yes\"}");
    assert_true(works(&s, &reason));
    assert_int_equal(runs(s.tools.hypervisor), 2);
}

// qemu does not exit when KVM gives up.
static void a_hang_after_kvm_gave_up_is_cut_short(void **state)
{
    CLEANUP(scene_release)
    struct scene s = scene(state, "echo 'KVM internal error. Suberror: 1' >&2\n"
                                  "echo 'emulation failure' >&2\nexec sleep 30");
    cleanup_free char *reason = NULL;
    int64_t begun = clock_monotonic_ms();
    assert_false(works(&s, &reason));
    assert_true(clock_monotonic_ms() - begun < 2500);
    assert_string_equal(reason, "a test guest failed: KVM internal error. Suberror: 1");
    assert_true(file_exists(s.cache));
}

static void lateness_is_not_remembered(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state, "exec sleep 30");
    cleanup_free char *reason = NULL;
    assert_false(works(&s, &reason));
    assert_string_equal(reason, "a test guest was not done after 3 s");
    assert_false(file_exists(s.cache));
}

static void no_device(void **state)
{
    CLEANUP(scene_release) struct scene s = scene(state, "exit 33");
    cleanup_free char *reason = NULL, *denied = NULL;
    unlink(s.device);
    assert_false(works(&s, &reason));
    assert_non_null(strstr(reason, "No such file"));
    assert_int_equal(runs(s.tools.hypervisor), 0);
    if (geteuid() == 0)
        return; // root may open anything
    put_text(s.device, "");
    chmod(s.device, 0);
    assert_false(works(&s, &denied));
    assert_non_null(strstr(denied, "no access"));
}

static void versions(void **state)
{
    unsigned major, minor;
    cleanup_free char *qemu = fake_qemu(
        state, "echo 'QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)'; echo 'Copyright'");
    assert_true(accelerator_qemu_version(qemu, &major, &minor));
    assert_int_equal(major, 10);
    assert_int_equal(minor, 0);
    cleanup_free char *odd = fake_qemu(state, "echo hello");
    assert_false(accelerator_qemu_version(odd, &major, &minor));
    cleanup_free char *broken = fake_qemu(state, "exit 1");
    assert_false(accelerator_qemu_version(broken, &major, &minor));
}

// The guest is right if it ends as it should where everything is known to work: under TCG.
static void run_guest(void **state, const char *arch)
{
    struct error err;
    cleanup_free char *name = xasprintf("qemu-system-%s", arch);
    cleanup_free char *qemu = process_find(name, NULL);
    if (!qemu)
        return;
    cleanup_free char *image = temp_path(state, "guest.bin");
    assert_ok(kvm_guest_write(image, arch, &err), err);
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    static const char *const words[] = {"-accel", "tcg", "-cpu", "max", NULL};
    strvec_push(&argv, qemu);
    strvec_pushv(&argv, words);
    kvm_guest_argv(&argv, image, arch);
    int result = process_run(&argv, NULL, &err);
    if (kvm_guest_status(arch) == 0) {
        assert_ok(result, err);
    } else {
        cleanup_free char *wanted = xasprintf("exit status %d", kvm_guest_status(arch));
        assert_fails(result, err, ECHILD, wanted);
    }
}

static void the_guest_ends_under_tcg(void **state)
{
    run_guest(state, "x86_64");
    run_guest(state, "aarch64");
    struct error err;
    assert_fails(kvm_guest_write("/nowhere", "riscv64", &err), err, ENOTSUP, "riscv64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_one_is_remembered),
        cmocka_unit_test(what_a_killed_probe_left_goes),
        cmocka_unit_test(a_bad_one_is_remembered_with_its_reason),
        cmocka_unit_test(another_qemu_is_tried_anew),
        cmocka_unit_test(a_damaged_memory_is_no_memory),
        cmocka_unit_test(a_hang_after_kvm_gave_up_is_cut_short),
        cmocka_unit_test(lateness_is_not_remembered),
        cmocka_unit_test(no_device),
        cmocka_unit_test(versions),
        cmocka_unit_test(the_guest_ends_under_tcg),
    };
    return cmocka_run_group_tests_name("accelerator", tests, temp_home_setup, temp_home_teardown);
}
