// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "provider/firmware.h"

static void add(void **state, const char *path)
{
    struct error err;
    cleanup_free char *full = temp_path(state, path);
    cleanup_free char *folder = xstrndup(full, (size_t)(strrchr(full, '/') - full));
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    put_text(full, "x");
}

// NULL vars: a single image.
static void expect(void **state, const char *arch, const char *accelerator, const char *code,
                   const char *vars)
{
    struct error err;
    CLEANUP(tools_release) struct tools tools = TOOLS_INIT;
    tools.arch = arch;
    tools.accelerator = accelerator;
    tools.hypervisor = temp_path(state, "prefix/bin/qemu-system");
    assert_ok(firmware_find(&tools, *state, &err), err);
    cleanup_free char *wanted = temp_path(state, code);
    assert_string_equal(tools.firmware, wanted);
    if (!vars) {
        assert_null(tools.firmware_vars);
    } else {
        cleanup_free char *wanted_vars = temp_path(state, vars);
        assert_string_equal(tools.firmware_vars, wanted_vars);
    }
}

static void none(void **state)
{
    struct error err;
    CLEANUP(tools_release) struct tools tools = TOOLS_INIT;
    tools.arch = "x86_64";
    tools.accelerator = "kvm";
    tools.hypervisor = temp_path(state, "prefix/bin/qemu-system");
    assert_fails(firmware_find(&tools, *state, &err), err, ENOENT, "apt install ovmf");
    tools.arch = "aarch64";
    assert_fails(firmware_find(&tools, *state, &err), err, ENOENT, "edk2-aarch64");
}

static void by_accelerator(void **state)
{
    // A pair with its variables missing does not count.
    add(state, "usr/share/OVMF/OVMF_CODE_4M.fd");
    add(state, "prefix/share/qemu/edk2-x86_64-code.fd");
    add(state, "prefix/share/qemu/edk2-i386-vars.fd");
    add(state, "prefix/bin/qemu-system");
    expect(state, "x86_64", "tcg", "prefix/bin/../share/qemu/edk2-x86_64-code.fd",
           "prefix/bin/../share/qemu/edk2-i386-vars.fd");
    add(state, "usr/share/OVMF/OVMF_VARS_4M.fd");
    expect(state, "x86_64", "kvm", "usr/share/OVMF/OVMF_CODE_4M.fd",
           "usr/share/OVMF/OVMF_VARS_4M.fd");
    add(state, "usr/share/ovmf/OVMF.fd");
    expect(state, "x86_64", "tcg", "usr/share/ovmf/OVMF.fd", NULL);
    expect(state, "x86_64", "tcg,thread=single", "usr/share/ovmf/OVMF.fd", NULL);
    expect(state, "x86_64", "kvm", "usr/share/OVMF/OVMF_CODE_4M.fd",
           "usr/share/OVMF/OVMF_VARS_4M.fd");
}

static void single_image_as_a_last_resort(void **state)
{
    add(state, "usr/share/qemu-efi-aarch64/QEMU_EFI.fd");
    expect(state, "aarch64", "kvm", "usr/share/qemu-efi-aarch64/QEMU_EFI.fd", NULL);
    add(state, "usr/share/edk2/aarch64/QEMU_EFI-pflash.raw");
    add(state, "usr/share/edk2/aarch64/vars-template-pflash.raw");
    expect(state, "aarch64", "kvm", "usr/share/edk2/aarch64/QEMU_EFI-pflash.raw",
           "usr/share/edk2/aarch64/vars-template-pflash.raw");
}

static void variables_are_kept(void **state)
{
    struct error err;
    cleanup_free char *template = temp_path(state, "template");
    cleanup_free char *vars = temp_path(state, "efi-vars");
    put_text(template, "blank");
    assert_ok(firmware_make_vars(template, vars, &err), err);
    struct stat st;
    assert_int_equal(stat(vars, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);

    put_text(vars, "entry");
    assert_ok(firmware_make_vars(template, vars, &err), err);
    cleanup_free char *kept = get_text(vars);
    assert_string_equal(kept, "entry");

    // Another build of the firmware, with a store of another size.
    put_text(template, "longer blank");
    assert_ok(firmware_make_vars(template, vars, &err), err);
    cleanup_free char *fresh = get_text(vars);
    assert_string_equal(fresh, "longer blank");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none),
        cmocka_unit_test(by_accelerator),
        cmocka_unit_test(single_image_as_a_last_resort),
        cmocka_unit_test(variables_are_kept),
    };
    return cmocka_run_group_tests_name("firmware", tests, temp_home_setup, temp_home_teardown);
}
