// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// The exact command line of every row for a matrix of machines, against golden files, and every
// word of it against what the tools' own parsers take. UPDATE_GOLDEN=1 writes the golden files:
// read the difference before you commit it.

#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/process.h"
#include "provider/launchd.h"
#include "provider/machine.h"
#include "provider/provider.h"
#include "tests/contract/options.h"

static const char mac[] = "52:54:00:ab:0c:0d";

struct variant {
    const char *label;
    const char *name;
    unsigned long long cpus, memory_mib;
    bool rootful, offload, isolated;
    enum network_mode mode;
    const char *network;
    const char *folder;    // as tools.folder has it
    const char *control;   // NULL: the usual one
    const char *mounts[5]; // sources; the second is read-only
};

static const struct variant variants[] = {
    {.label = "plain", .rootful = true},
    {.label = "rootless", .rootful = false},
    {.label = "offload", .offload = true},
    {.label = "host", .mode = NETWORK_HOST, .isolated = true},
    {.label = "bridged", .mode = NETWORK_BRIDGED, .network = "en0"},
    {.label = "broker", .mode = NETWORK_BROKER, .network = "lab"},
    {.label = "volumes",
     .mounts = {"/Users", "/private/a b's \"ü\"", "/Users/j/.config/containers"}},
    {.label = "large", .cpus = 16, .memory_mib = 61440},
    {.label = "dash-and-dots", .name = "my-vm.test.1"},
    {.label = "space",
     .folder = "/Users/Jane Doe/machines/default",
     .control = "/tmp/a b/podman/default-control.sock"},
    {.label = "percent",
     .folder = "/Users/j/100%?#/default",
     .control = "/tmp/100%?#/podman/default-control.sock"},
    {.label = "non-ascii",
     .folder = "/Users/Zoë/マシン/default",
     .control = "/tmp/Zoë/podman/default-control.sock"},
};

static struct machine make_machine(const struct variant *variant, const char *provider)
{
    struct machine m = MACHINE_INIT;
    m.name = xstrdup(variant->name ? variant->name : "default");
    m.provider = xstrdup(provider);
    m.mac = xstrdup(mac);
    m.resources.cpus = variant->cpus ? variant->cpus : 2;
    m.resources.memory_mib = variant->memory_mib ? variant->memory_mib : 2048;
    m.rootful = variant->rootful;
    m.network.mode = variant->mode;
    m.network.name = variant->network ? xstrdup(variant->network) : NULL;
    m.network.isolated = variant->isolated;
    m.ssh.port = 40022;
    for (size_t i = 0; variant->mounts[i]; i++) {
        struct error err;
        cleanup_free char *source = xstrdup(variant->mounts[i]);
        cleanup_free char *target = xasprintf("/target %zu", i);
        const struct mount mount = {.source = source, .target = target, .read_only = i == 1};
        assert_ok(mounts_add(&m.mounts, &mount, &err), err);
    }
    return m;
}

static struct tools make_tools(const struct variant *variant)
{
    struct tools tools = TOOLS_INIT;
    const char *name = variant->name ? variant->name : "default";
    tools.folder = variant->folder ? xstrdup(variant->folder)
                                   : xasprintf("/home/user/.local/share/machines/%s", name);
    tools.control = variant->control ? xstrdup(variant->control)
                                     : xasprintf("/run/user/501/podman/%s-control.sock", name);
    return tools;
}

// The folders themselves need not be there.
static void plan_shares(struct tools *tools, const struct machine *m, bool sockets)
{
    struct shares *shares = &tools->shares;
    shares->items = xrealloc(NULL, (m->mounts.count + 1) * sizeof(*shares->items));
    for (size_t i = 0; i < m->mounts.count; i++)
        shares->items[shares->count++] = (struct share){
            .mount = &m->mounts.items[i],
            .path = xstrdup(m->mounts.items[i].source),
            .socket = sockets ? xasprintf("/run/user/501/podman/default-fs%zu.sock", i) : NULL,
        };
}

static void compare_text(const char *golden, const char *text)
{
    cleanup_free char *path = xasprintf(CONTRACT_DIR "/golden/%s", golden);
    if (getenv("UPDATE_GOLDEN"))
        put_text(path, text);
    if (!file_exists(path))
        fail_msg("no golden file '%s': run with UPDATE_GOLDEN=1", path);
    cleanup_free char *wanted = get_text(path);
    if (strcmp(wanted, text) != 0)
        fail_msg("differs from '%s':\n%s", path, text);
}

static void compare_argv(const char *row, const char *label, const struct strvec *argv)
{
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < argv->count; i++)
        strbuf_addf(&text, "%s\n", argv->items[i]);
    cleanup_free char *golden = xasprintf("%s-%s.argv", row, label);
    compare_text(golden, text.text);
}

// One of our command lines for an Apple row: vmnet-run's words, "--", the hypervisor's.
static void check_words(const struct strvec *argv, const char *file)
{
    struct error err;
    size_t split = 1;
    while (split < argv->count && strcmp(argv->items[split], "--") != 0)
        split++;
    assert_true(split + 1 < argv->count);
    assert_ok(options_check(CONTRACT_DIR "/vmnet-run-0.11.options", argv, 1, split, &err), err);
    assert_ok(options_check(file, argv, split + 2, argv->count, &err), err);
}

static void plan_vsock(struct tools *tools)
{
    tools->vsock.report = xstrdup("/var/folders/xy/T/podman/vm-report.sock");
    tools->vsock.ssh = xstrdup("/var/folders/xy/T/podman/vm-ssh.sock");
    tools->vsock.api = xstrdup("/var/folders/xy/T/podman/vm-api.sock");
    tools->vsock.shutdown = xstrdup("/var/folders/xy/T/podman/vm-off.sock");
}

static void check_apple_row(const char *row, const char *hypervisor, const char *const *files)
{
    const struct provider *provider = provider_find(row);
    assert_non_null(provider);
    for (size_t i = 0; i < ARRAY_SIZE(variants); i++) {
        struct error err;
        CLEANUP(machine_release) struct machine m = make_machine(&variants[i], row);
        CLEANUP(tools_release) struct tools tools = make_tools(&variants[i]);
        CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
        tools.arch = "aarch64";
        tools.hypervisor = xasprintf("/opt/homebrew/bin/%s", hypervisor);
        tools.network = xstrdup("/opt/homebrew/opt/vmnet-helper/libexec/vmnet-run");
        tools.offload = variants[i].offload;
        plan_vsock(&tools);
        plan_shares(&tools, &m, false);
        assert_ok(provider_command(provider, &m, &tools, &argv, &err), err);
        compare_argv(row, variants[i].label, &argv);
        for (size_t f = 0; files[f]; f++)
            check_words(&argv, files[f]);
        // Offload is on at both ends or at none.
        bool offload = variants[i].offload && provider->hypervisor->offload;
        assert_int_equal(strvec_contains(&argv, "--enable-tso"), offload);
        assert_int_equal(strvec_contains(&argv, "--enable-checksum-offload"), offload);
    }
}

static void krunkit_row(void **state)
{
    (void)state;
    static const char *const files[] = {CONTRACT_DIR "/krunkit-1.2.1.options",
                                        CONTRACT_DIR "/krunkit-1.3.1.options", NULL};
    check_apple_row("vmnet-krunkit", "krunkit", files);
}

static void vfkit_row(void **state)
{
    (void)state;
    static const char *const files[] = {
        CONTRACT_DIR "/vfkit-0.6.1.options", CONTRACT_DIR "/vfkit-0.6.2.options",
        CONTRACT_DIR "/vfkit-0.6.3.options", CONTRACT_DIR "/vfkit-0.6.4.options", NULL};
    check_apple_row("vmnet-vfkit", "vfkit", files);
}

// Before 1.2 krunkit had neither --timesync nor a way from the host to the guest.
static void an_older_krunkit(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(machine_release) struct machine m = make_machine(&variants[0], "vmnet-krunkit");
    CLEANUP(tools_release) struct tools tools = make_tools(&variants[0]);
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    tools.hypervisor = xstrdup("/opt/homebrew/bin/krunkit");
    tools.network = xstrdup("/opt/homebrew/opt/vmnet-helper/libexec/vmnet-run");
    tools.hypervisor_version = (struct version){1, 1, 1};
    tools.vsock.report = xstrdup("/var/folders/xy/T/podman/vm-report.sock");
    assert_ok(provider_command(provider_find("vmnet-krunkit"), &m, &tools, &argv, &err), err);
    compare_argv("vmnet-krunkit", "1.1", &argv);
    check_words(&argv, CONTRACT_DIR "/krunkit-1.1.1.options");
    check_words(&argv, CONTRACT_DIR "/krunkit-1.0.0.options");
}

// What cannot be said is refused, never sent as something else.
static void unspeakable_paths(void **state)
{
    (void)state;
    static const struct {
        const char *row, *folder;
        int result;
    } cases[] = {
        {"vmnet-krunkit", "/a,b/default", -1}, {"vmnet-krunkit", "/a=b/default", -1},
        {"vmnet-vfkit", "/a,b/default", -1},   {"vmnet-vfkit", "/a\"b/default", -1},
        {"vmnet-vfkit", "/a=b/default", 0},    {"vmnet-krunkit", "/a\"b/default", 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err;
        const struct variant variant = {.folder = cases[i].folder};
        CLEANUP(machine_release) struct machine m = make_machine(&variant, cases[i].row);
        CLEANUP(tools_release) struct tools tools = make_tools(&variant);
        CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
        tools.hypervisor = xstrdup("/bin/hypervisor");
        tools.network = xstrdup("/bin/vmnet-run");
        int result = provider_command(provider_find(cases[i].row), &m, &tools, &argv, &err);
        assert_int_equal(result, cases[i].result);
        if (result < 0)
            assert_int_equal(err.code, EINVAL);

        // The same of a shared folder.
        const struct variant shared = {.mounts = {cases[i].folder}};
        CLEANUP(machine_release) struct machine other = make_machine(&shared, cases[i].row);
        CLEANUP(tools_release) struct tools others = make_tools(&shared);
        CLEANUP(strvec_release) struct strvec words = STRVEC_INIT;
        others.hypervisor = xstrdup("/bin/hypervisor");
        others.network = xstrdup("/bin/vmnet-run");
        plan_shares(&others, &other, false);
        result = provider_command(provider_find(cases[i].row), &other, &others, &words, &err);
        bool quotes = strchr(cases[i].folder, '"') != NULL; // vfkit's boot loader alone minds them
        assert_int_equal(result, quotes ? 0 : cases[i].result);
    }
}

struct host {
    const char *label, *arch, *accelerator, *firmware, *vars;
};

static const struct host hosts[] = {
    {"kvm", "x86_64", "kvm", "/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"},
    {"tcg", "x86_64", "tcg", "/usr/share/ovmf/OVMF.fd", NULL},
    {"tcg-old", "x86_64", "tcg,thread=single", "/usr/share/ovmf/OVMF.fd", NULL},
    {"arm-kvm", "aarch64", "kvm", "/usr/share/AAVMF/AAVMF_CODE.fd",
     "/usr/share/AAVMF/AAVMF_VARS.fd"},
    {"arm-tcg", "aarch64", "tcg", "/usr/share/qemu-efi-aarch64/QEMU_EFI.fd", NULL},
};

enum extra { BARE = 0, VIRTIOFSD = 1, VSOCK = 2 };

static void check_qemu(const struct host *host, const struct variant *variant, const char *label,
                       enum extra extra)
{
    struct error err;
    CLEANUP(machine_release) struct machine m = make_machine(variant, "qemu");
    CLEANUP(tools_release) struct tools tools = make_tools(variant);
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    tools.arch = host->arch;
    tools.accelerator = host->accelerator;
    tools.hypervisor = xasprintf("/usr/bin/qemu-system-%s", host->arch);
    tools.firmware = xstrdup(host->firmware);
    tools.firmware_vars = host->vars ? xstrdup(host->vars) : NULL;
    plan_shares(&tools, &m, extra == VIRTIOFSD);
    if (extra == VSOCK) {
        cleanup_close int any = open("/dev/null", O_RDWR);
        tools.vhost.fd = dup2(any, 57); // the number is part of what is compared
        tools.vhost.context_id = 2147483647;
    }
    assert_ok(provider_command(provider_find("qemu"), &m, &tools, &argv, &err), err);
    compare_argv("qemu", label, &argv);
}

static void qemu_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(variants); i++)
        check_qemu(&hosts[0], &variants[i], variants[i].label, VIRTIOFSD);
    const struct variant comma = {.folder = "/home/a,b=c,,d/default",
                                  .control = "/run/a,b/default-control.sock"};
    check_qemu(&hosts[0], &comma, "comma", VIRTIOFSD);
    const struct variant shared = {.mounts = {"/home/a,b=c", "/home/ü \"x\""}};
    check_qemu(&hosts[3], &shared, "arm-volumes", VIRTIOFSD);
    check_qemu(&hosts[0], &shared, "9p", BARE);
    const struct variant plain = {0};
    check_qemu(&hosts[0], &plain, "vsock", VSOCK);
    for (size_t i = 1; i < ARRAY_SIZE(hosts); i++)
        check_qemu(&hosts[i], &plain, hosts[i].label, VIRTIOFSD);
}

static void sizes_are_checked(void **state)
{
    (void)state;
    struct error err;
    const struct variant variant = {.memory_mib = 61441};
    CLEANUP(machine_release) struct machine m = make_machine(&variant, "vmnet-krunkit");
    CLEANUP(tools_release) struct tools tools = make_tools(&variant);
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    tools.hypervisor = xstrdup("/bin/hypervisor");
    tools.network = xstrdup("/bin/vmnet-run");
    assert_fails(provider_command(provider_find("vmnet-krunkit"), &m, &tools, &argv, &err), err,
                 EINVAL, "61441 MiB of memory is more than the 61440 MiB that krunkit takes");
    assert_ok(provider_command(provider_find("vmnet-vfkit"), &m, &tools, &argv, &err), err);
    m.resources.memory_mib = 2048;
    m.resources.cpus = 256;
    assert_fails(provider_command(provider_find("vmnet-krunkit"), &m, &tools, &argv, &err), err,
                 EINVAL, "256 of cpus");
}

// The checker itself: it must refuse what a tool would.
static void lists_refuse(void **state)
{
    (void)state;
    static const char *const refused[][2] = {
        {"--no-such", "1"},
        {"--cpus", "two"},
        {"--device", "virtio-blk"},
        {"--device", "virtio-blk,path=/a,path=/b"},
        {"--device", "virtio-blk,path=/a,readonly"},
        {"--device", "virtio-net,type=unixgram,fd=4"},
        {"--device", "virtio-net,type=tap,fd=4,mac=0"},
        {"--device", "usb-mass-storage,path=/a"},
        {"--bootloader", "efi,create"},
        {"--timesync", "port=1234"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct error err;
        CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
        strvec_push(&argv, refused[i][0]);
        strvec_push(&argv, refused[i][1]);
        int result = options_check(CONTRACT_DIR "/krunkit-1.2.1.options", &argv, 0, 2, &err);
        if (result == 0)
            fail_msg("taken: %s %s", refused[i][0], refused[i][1]);
        assert_int_equal(err.code, EINVAL);
    }
}

static void lint_plist(const char *path)
{
    cleanup_free char *xmllint = process_find("xmllint", NULL);
    cleanup_free char *plutil = process_find("plutil", NULL);
    struct error err;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    if (plutil) {
        strvec_push(&argv, plutil);
        strvec_push(&argv, "-lint");
    } else if (xmllint) {
        strvec_push(&argv, xmllint);
        strvec_push(&argv, "--nonet");
        strvec_push(&argv, "--noout");
    } else {
        return;
    }
    strvec_push(&argv, path);
    assert_ok(process_run(&argv, NULL, &err), err);
}

static void check_plist(const char *golden, const struct launchd_job *job)
{
    struct error err;
    cleanup_free char *text = NULL;
    assert_ok(launchd_plist(&text, job, &err), err);
    compare_text(golden, text);
    cleanup_free char *path = xasprintf(CONTRACT_DIR "/golden/%s", golden);
    lint_plist(path);
}

static void plist(void **state)
{
    (void)state;
    CLEANUP(strvec_release) struct strvec plain = STRVEC_INIT, odd = STRVEC_INIT;
    strvec_push(&plain, "HOME=/Users/user");
    strvec_push(&plain, "PATH=/opt/homebrew/bin:/usr/bin:/bin");
    strvec_push(&plain, "TMPDIR=/var/folders/xy/T/");
    strvec_push(&odd, "HOME=/Users/Zoë & <co>");
    strvec_push(&odd, "XDG_DATA_HOME=/a=b, c/\"d\"/'e'");
    const struct launchd_job usual = {
        .machine = "default",
        .program = "/opt/homebrew/bin/podman-machine-vmnet",
        .timeout_s = 1800,
        .log = "/Users/user/.local/share/podman-machine-vmnet/machines/default/monitor.log",
        .environment = &plain,
    };
    const struct launchd_job escaped = {
        .machine = "my-vm.test.1",
        .program = "/Users/Zoë & <co>/bin/podman-machine-vmnet",
        .timeout_s = 60,
        .log = "/Users/Zoë & <co>/monitor.log",
        .at_login = true,
        .environment = &odd,
    };
    check_plist("launchd-plain.plist", &usual);
    check_plist("launchd-escaped.plist", &escaped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(krunkit_row),  cmocka_unit_test(an_older_krunkit),
        cmocka_unit_test(vfkit_row),    cmocka_unit_test(unspeakable_paths),
        cmocka_unit_test(qemu_row),     cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(lists_refuse), cmocka_unit_test(plist),
    };
    return cmocka_run_group_tests_name("contract", tests, NULL, NULL);
}
