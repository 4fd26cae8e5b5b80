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
#include "cloudinit/provision.h"
#include "sample.h"

// The script runs for real, by /bin/sh, in a root folder of its own: with some of this host's
// small tools, and with fake-guest.sh under the names of all that would change a guest.
static char *root;

static char *in_root(const char *path)
{
    return xasprintf("%s/%s", root, path);
}

static void put(const char *path, const char *text)
{
    cleanup_free char *full = in_root(path);
    cleanup_free char *folder = xstrndup(full, (size_t)(strrchr(full, '/') - full));
    struct error err;
    assert_ok(file_make_dirs(folder, 0755, &err), err);
    put_text(full, text);
}

static char *get(const char *path)
{
    cleanup_free char *full = in_root(path);
    return file_exists(full) ? get_text(full) : xstrdup("");
}

static bool present(const char *path)
{
    cleanup_free char *full = in_root(path);
    return file_exists(full);
}

static void drop(const char *path)
{
    cleanup_free char *full = in_root(path);
    unlink(full);
}

static void assert_content(const char *path, const char *wanted)
{
    cleanup_free char *got = get(path);
    assert_string_equal(got, wanted);
}

static void assert_link(const char *path, const char *wanted)
{
    cleanup_free char *full = in_root(path);
    char target[200] = "";
    assert_true(readlink(full, target, sizeof(target) - 1) > 0);
    assert_string_equal(target, wanted);
}

static void fake(const char *names)
{
    CLEANUP(strvec_release) struct strvec list = STRVEC_INIT;
    strvec_split(&list, names, ' ');
    for (size_t i = 0; i < list.count; i++) {
        cleanup_free char *path = xasprintf("%s/bin/%s", root, list.items[i]);
        unlink(path);
        assert_int_equal(symlink("fake", path), 0);
    }
}

static void real(const char *names)
{
    CLEANUP(strvec_release) struct strvec list = STRVEC_INIT;
    strvec_split(&list, names, ' ');
    for (size_t i = 0; i < list.count; i++) {
        cleanup_free char *path = xasprintf("%s/bin/%s", root, list.items[i]);
        cleanup_free char *program = process_find(list.items[i], NULL);
        assert_non_null(program);
        assert_int_equal(symlink(program, path), 0);
    }
}

// A guest after cloud-init's part, with a network and without any of the packages.
static int make_guest(void **state)
{
    root = temp_path(state, "guest.XXXXXX");
    assert_non_null(mkdtemp(root));
    cleanup_free char *bin = in_root("bin"), *program = in_root("bin/fake"),
                      *home = in_root("home");
    assert_int_equal(mkdir(bin, 0755), 0);
    assert_int_equal(symlink(FAKE_GUEST, program), 0);
    assert_int_equal(mkdir(home, 0755), 0);
    real("cat chmod cp env grep ln mkdir mv rm sed tail");
    fake("chown journalctl loginctl runuser sleep stat sync systemctl systemd-tmpfiles usermod");
    put("etc/passwd", "root:x:0:0::/root:/bin/bash\ncore:x:501:1000::/home/core:/bin/bash\n");
    put("etc/group", "root:x:0:\nadm:x:4:\nsudo:x:27:admin\nwheel:x:10:core\ncore:x:1000:\n");
    put("etc/subuid", "core:524288:65536\nother:100:5\n");
    put("home/core/.bashrc", "");
    put("etc/skel/.bashrc", "# skeleton\n");
    put("proc/net/route", "Iface\tDestination\tGateway\neth0\t00000000\t0202000A\n");
    put("usr/share/zoneinfo/Europe/Berlin", "");
    put("calls", "");
    put("modules", "base\n");
    return 0;
}

static int drop_guest(void **state)
{
    (void)state;
    struct error err;
    assert_ok(file_remove_tree(root, &err), err);
    free(root);
    unsetenv("CUT");
    unsetenv("OWNER");
    return 0;
}

static int run(const struct seed *seed, const char *argument)
{
    cleanup_free char *script = provision_script(seed);
    cleanup_free char *program = in_root("program"), *bin = in_root("bin");
    put_text(program, script);
    put("calls", "");
    cleanup_free char *path = xstrdup(getenv("PATH"));
    setenv("PATH", bin, 1);
    setenv("PROVISION_ROOT", root, 1);
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    strvec_push(&argv, "/bin/sh");
    strvec_push(&argv, program);
    if (argument)
        strvec_push(&argv, argument);
    struct error err;
    int result = process_run(&argv, NULL, &err);
    setenv("PATH", path, 1);
    return result;
}

static unsigned calls(const char *words)
{
    cleanup_free char *all = get("calls");
    unsigned count = 0;
    for (const char *at = all; (at = strstr(at, words)); at++)
        count++;
    return count;
}

static void assert_state(const char *wanted)
{
    cleanup_free char *got = get("var/lib/podman-machine-vmnet/state");
    if (strncmp(got, wanted, strlen(wanted)) != 0)
        fail_msg("the state is '%s', not '%s'", got, wanted);
}

static void assert_provisioned(void)
{
    assert_state("done\n");
    assert_content("etc/podman-machine-vmnet", "vmnet-krunkit\n");
    assert_content("etc/subuid", "core:100000:1000000\nother:100:5\n");
    assert_content("etc/subgid", "core:100000:1000000\n");
    assert_content("home/core/.config/containers/containers.conf",
                   "[containers]\nnetns=\"bridge\"\npids_limit=0\n");
    assert_content("etc/tmpfiles.d/podman-docker.conf",
                   "L+  /run/docker.sock   -    -    -     -   /run/podman/podman.sock\n");
    assert_content("home/core/.bashrc", "# skeleton\n");
    assert_link("etc/localtime", "../usr/share/zoneinfo/Europe/Berlin");
    assert_link("usr/local/bin/docker", "/usr/bin/podman");
    assert_link("etc/systemd/user/sockets.target.wants/podman.socket",
                "/usr/lib/systemd/podman.socket");
    assert_link("etc/systemd/system/sockets.target.wants/podman.socket",
                "/usr/lib/systemd/podman.socket");
    assert_true(present("var/lib/systemd/linger/core"));
    assert_true(present("run/user/501/podman/podman.sock"));
    assert_true(present("bin/podman"));
    assert_false(present("var/lib/podman-machine-vmnet/installing"));
    assert_false(present("var/lib/podman-machine-vmnet/log"));
}

static void fedora_offline_with_the_packages_there(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    fake("dnf rpm podman newuidmap avahi-daemon semodule restorecon");
    put("sys/fs/selinux/enforce", "1");
    put("offline", "");
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();
    assert_int_equal(calls("dnf "), 0);
    assert_int_equal(calls("usermod -a -G adm,sudo core\n"), 1);
    assert_int_equal(calls("semodule -i "), 1);
    assert_int_equal(calls("runuser"), 0);
    cleanup_free char *modules = get("modules");
    assert_string_equal(modules, "base\npmv_ssh_connect\npmv_ssh_write_run\n"
                                 "pmv_ssh_write_container_run\npmv_ssh_write_user_tmp\n"
                                 "pmv_sshd_connect\npmv_sshd_write_run\n"
                                 "pmv_sshd_connect_user\npmv_sshd_search_user_tmp\n"
                                 "pmv_sshd_write_user_tmp\npmv_agent_vsock\n");

    // What is done stays done.
    assert_int_equal(run(&seed, NULL), 0);
    assert_content("calls", "");
    // And nothing is done twice when the state is lost.
    drop("var/lib/podman-machine-vmnet/state");
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();
    assert_int_equal(calls("enable"), 0);
    assert_int_equal(calls("semodule -i"), 0);
}

static void debian_online(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    seed.agent_vsock = true;
    fake("apt-get dpkg");
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();
    assert_int_equal(calls(" update\n"), 1);
    assert_int_equal(calls(" install podman qemu-guest-agent uidmap avahi-daemon libnss-mdns\n"),
                     1);
    assert_int_equal(calls("dpkg --configure"), 0);
    assert_int_equal(calls("semodule"), 0);
    cleanup_free char *unit = get("etc/systemd/system/qemu-guest-agent.service");
    assert_non_null(strstr(unit, "/bin/qemu-ga --method=vsock-listen --path=3:1234\n"));
    assert_non_null(strstr(unit, "WantedBy=multi-user.target\n"));
    assert_int_equal(calls("systemctl --no-reload reenable qemu-guest-agent.service\n"), 1);
    assert_int_equal(calls("systemctl restart qemu-guest-agent.service\n"), 1);
}

static const struct seed_vsock vsock = {
    .program = "/usr/local/sbin/podman-machine-vmnet-agent",
    .report = 5100,
    .ssh = 5101,
    .api_root = 5102,
    .api_user = 5103,
    .control = 5104,
    .api_root_socket = "/run/podman/podman.sock",
    .api_user_socket = "/run/user/501/podman/podman.sock",
};

static void the_control_plane_comes_first(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    seed.vsock = &vsock;
    fake("dnf rpm");
    // Without an interpreter a machine works over the network.
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();
    assert_int_equal(calls("podman-machine-vmnet-agent"), 0);

    drop("var/lib/podman-machine-vmnet/state");
    put("usr/bin/python3", "");
    cleanup_free char *python = in_root("usr/bin/python3");
    assert_int_equal(chmod(python, 0755), 0);
    fake("semodule restorecon");
    put("sys/fs/selinux/enforce", "1");
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();
    cleanup_free char *relabel =
        xasprintf("restorecon %s/usr/local/sbin/podman-machine-vmnet-agent\n", root);
    assert_int_equal(calls(relabel), 1);
    cleanup_free char *unit = get("etc/systemd/system/podman-machine-vmnet-agent.service");
    assert_non_null(strstr(unit, "\nExecStart=/usr/local/sbin/podman-machine-vmnet-agent\n"));
    // What would keep it out of its SELinux domain.
    assert_null(strstr(unit, "NoNewPrivileges"));
    assert_null(strstr(unit, "Private"));
    assert_int_equal(calls("systemctl --no-reload enable podman-machine-vmnet-agent.service\n"), 1);
    assert_int_equal(calls("systemctl --no-block restart podman-machine-vmnet-agent.service\n"), 1);

    // A boot that is cut off while it is set up is mended by the next one.
    drop("var/lib/podman-machine-vmnet/state");
    setenv("CUT", "enable podman-machine-vmnet-agent", 1);
    assert_int_equal(run(&seed, NULL), -1);
    assert_state("running control\n");
    unsetenv("CUT");
    assert_int_equal(run(&seed, NULL), 0);
    assert_state("done\n");
}

// Before podman's sockets are opened, and by a unit that comes before them at later boots.
static void volumes_are_mounted_by_a_unit(void **state)
{
    (void)state;
    struct seed_volume item = {"tag", "/src", false};
    const struct seed_volumes volumes = {
        .items = &item,
        .count = 1,
        .program = "/usr/local/sbin/volumes",
        .unit = "volumes.service",
        .containers_config = "/etc/containers",
    };
    struct seed seed = sample_seed();
    seed.volumes = &volumes;
    fake("dnf rpm");
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();
    cleanup_free char *unit = get("etc/systemd/system/volumes.service");
    assert_non_null(strstr(unit, "\nExecStart=/usr/local/sbin/volumes\n"));
    assert_non_null(strstr(unit, "\nBefore=basic.target"));
    assert_int_equal(calls("systemctl --no-reload enable volumes.service\n"), 1);
    cleanup_free char *all = get("calls");
    const char *mounted = strstr(all, "systemctl start volumes.service\n");
    const char *opened = strstr(all, "systemctl start podman.socket");
    assert_non_null(mounted);
    assert_true(opened > mounted);
    assert_false(present("etc/systemd/system/podman.service.d/podman-machine-vmnet.conf"));

    drop("var/lib/podman-machine-vmnet/state");
    item.target = "/etc/containers";
    assert_int_equal(run(&seed, NULL), 0);
    assert_content("etc/systemd/system/podman.service.d/podman-machine-vmnet.conf",
                   "[Service]\nExecStartPre=-/usr/local/sbin/volumes refresh\n");
    assert_content("etc/systemd/user/podman.service.d/podman-machine-vmnet.conf",
                   "[Service]\nExecStartPre=-/usr/bin/sudo -n /usr/local/sbin/volumes refresh\n");
}

static void fedora_online(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    fake("dnf rpm");
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();
    assert_int_equal(calls("dnf -y install podman shadow-utils avahi nss-mdns\n"), 1);
    assert_int_equal(calls("reinstall"), 0);
}

static void says_why_packages_are_missing(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    fake("dnf rpm");
    put("offline", "");
    drop("proc/net/route");
    assert_int_equal(run(&seed, NULL), -1);
    assert_content("var/lib/podman-machine-vmnet/state",
                   "failed packages\ncannot install podman:\nReading metadata...\n"
                   "Could not resolve host: mirrors.example\n"
                   "the guest has no network (no default route)\n");
    assert_int_equal(calls("dnf -y install"), 5);
    assert_false(present("var/lib/podman-machine-vmnet/installing"));

    // The next boot tries again.
    drop("offline");
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();

    fake("podman");
    drop("bin/podman");
    drop("bin/dnf");
    drop("var/lib/podman-machine-vmnet/state");
    assert_int_equal(run(&seed, NULL), -1);
    assert_state("failed packages\ncannot install podman: there is neither dnf nor apt-get\n");
}

static void goes_on_without_what_is_not_vital(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    fake("apt-get dpkg podman newuidmap");
    put("offline", "");
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();
    assert_int_equal(calls(" update\n"), 1);
    assert_int_equal(calls("avahi-daemon.service"), 0);
}

// The power goes at each of the commands in turn; the next boot mends it.
static void mends_a_boot_that_was_cut(void **state)
{
    static const char *const words[] = {
        "sync",
        "sleep",
        "dnf -y install",
        "daemon-reload",
        "reenable",
        "restart",
        "semodule -l",
        "semodule -i",
        "usermod",
        "stat -c %u",
        "chown -R",
        "--global",
        "loginctl",
        "tmpfiles",
        "enable avahi",
        "start avahi",
        "restorecon",
        "--no-reload enable podman.socket",
        "systemctl start podman.socket",
    };
    struct seed seed = sample_seed();
    seed.agent_vsock = true;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        drop_guest(state);
        make_guest(state);
        fake("dnf rpm semodule restorecon");
        if (strcmp(words[i], "sleep") == 0)
            drop("proc/net/route");
        put("sys/fs/selinux/enforce", "1");
        setenv("CUT", words[i], 1);
        assert_int_equal(run(&seed, NULL), -1);
        assert_state("running ");
        unsetenv("CUT");
        assert_int_equal(run(&seed, NULL), 0);
        assert_provisioned();
        cleanup_free char *modules = get("modules");
        assert_non_null(strstr(modules, "\npmv_agent_vsock\n"));
        assert_true(present("etc/systemd/system/qemu-guest-agent.service"));
    }
}

static void mends_an_installation_that_was_cut(void **state)
{
    struct seed seed = sample_seed();
    fake("dnf rpm podman"); // unpacked, but who knows
    put("var/lib/podman-machine-vmnet/installing", "");
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();
    assert_int_equal(calls("dnf -y reinstall crun podman\n"), 1);
    assert_int_equal(calls("dnf -y install podman shadow-utils avahi nss-mdns\n"), 1);

    drop_guest(state);
    make_guest(state);
    fake("apt-get dpkg podman newuidmap avahi-daemon");
    put("var/lib/podman-machine-vmnet/installing", "");
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();
    assert_int_equal(calls("dpkg --configure -a\n"), 1);
    assert_int_equal(calls(" -f install\n"), 1);
    assert_int_equal(calls(" update\n"), 0);

    // It is not forgotten while it cannot be mended.
    drop_guest(state);
    make_guest(state);
    fake("dnf rpm podman");
    put("var/lib/podman-machine-vmnet/installing", "");
    put("offline", "");
    assert_int_equal(run(&seed, NULL), -1);
    assert_state("failed packages\ncannot finish an installation that was cut off:\n");
    assert_true(present("var/lib/podman-machine-vmnet/installing"));
}

static void installs_selinux_rules_on_request(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    fake("semodule");
    assert_int_equal(run(&seed, "selinux"), 0);
    assert_int_equal(calls("semodule"), 0); // SELinux is off

    put("sys/fs/selinux/enforce", "1");
    put("var/lib/podman-machine-vmnet/state", "done\n");
    assert_int_equal(run(&seed, "selinux"), 0);
    assert_int_equal(run(&seed, "selinux"), 0);
    assert_int_equal(calls("semodule -i "), 1);
    put("no-policy", "");
    assert_int_equal(run(&seed, "selinux"), -1);
    assert_state("done\n");
    assert_int_equal(run(&seed, "nonsense"), -1);
}

static void says_why_selinux_rules_are_missing(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    fake("podman newuidmap avahi-daemon");
    put("sys/fs/selinux/enforce", "1");
    assert_int_equal(run(&seed, NULL), -1);
    assert_state("failed selinux\nSELinux is on, but there is no semodule");
    fake("semodule");
    put("no-policy", "");
    assert_int_equal(run(&seed, NULL), -1);
    assert_state("failed selinux\n'install_rules' failed:\nsemodule: Failed on policy\n");
}

static void needs_the_user_of_the_host(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    fake("podman newuidmap avahi-daemon");
    seed.uid = 1000;
    assert_int_equal(run(&seed, NULL), -1);
    assert_state("failed user\nthe image has a user 'core' of its own, with the id 501");
    seed.user = "joe";
    assert_int_equal(run(&seed, NULL), -1);
    assert_state("failed user\ncloud-init did not create the user 'joe'\n");
}

static void rootless_with_a_manager_that_is_up(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    seed.rootful = false;
    seed.timezone = "Mars/Olympus";
    fake("podman newuidmap avahi-daemon");
    put("manager-is-up", "");
    put("no-logind", "");
    put("etc/chrony.conf", "pool a\n  makestep 1.0 3\nrtcsync\n");
    put("usr/bin/docker", "");
    put("home/core/.config/containers/containers.conf", "# mine\n");
    setenv("OWNER", "0", 1);
    assert_int_equal(run(&seed, NULL), 0);
    assert_state("done\n");
    assert_content("etc/tmpfiles.d/podman-docker.conf",
                   "L+  /run/docker.sock   -    -    -     -   /run/user/501/podman/podman.sock\n");
    assert_int_equal(calls("runuser -u core -- env XDG_RUNTIME_DIR=/run/user/501 "
                           "systemctl --user start podman.socket\n"),
                     1);
    assert_true(present("var/lib/systemd/linger/core"));
    assert_int_equal(calls("chown 501:1000 "), 2); // the home, .bashrc
    assert_content("home/core/.config/containers/containers.conf", "# mine\n");
    assert_content("etc/chrony.conf", "pool a\nrtcsync\nmakestep 1 -1\n");
    assert_false(present("etc/localtime"));
    assert_false(present("usr/local/bin/docker"));
}

static struct seed seed_with_playbook(void)
{
    struct seed seed = sample_seed();
    seed.playbook = "- hosts: localhost\n";
    seed.playbook_file = "/var/lib/podman-machine-vmnet/playbook.yaml";
    put("var/lib/podman-machine-vmnet/playbook.yaml", seed.playbook); // by cloud-init
    return seed;
}

static void runs_a_playbook_once(void **state)
{
    (void)state;
    struct seed seed = seed_with_playbook();
    fake("dnf rpm");
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();
    assert_int_equal(calls("dnf -y install podman ansible-core shadow-utils avahi nss-mdns\n"), 1);
    assert_content("home/core/playbook.yaml", "- hosts: localhost\n");
    cleanup_free char *owner = xasprintf("chown 501:1000 %s/home/core/playbook.yaml\n", root);
    assert_int_equal(calls(owner), 1);
    cleanup_free char *unit = get("etc/systemd/system/playbook.service");
    cleanup_free char *command =
        xasprintf("\nExecStart=%s/bin/ansible-playbook /home/core/playbook.yaml\n", root);
    assert_non_null(strstr(unit, "\nType=oneshot\nUser=core\n"));
    assert_non_null(strstr(unit, command));
    // After everything that it may want, and before the end.
    cleanup_free char *all = get("calls");
    const char *start = strstr(all, "systemctl start playbook.service\n");
    assert_non_null(start);
    assert_true(strstr(all, "systemctl start podman.socket") < start);
    assert_false(present("var/lib/podman-machine-vmnet/notice"));
    assert_int_equal(run(&seed, NULL), 0);
    assert_content("calls", "");

    // Without one there is nothing of it.
    drop("var/lib/podman-machine-vmnet/state");
    drop("etc/systemd/system/playbook.service");
    seed.playbook = NULL;
    assert_int_equal(run(&seed, NULL), 0);
    assert_int_equal(calls("playbook"), 0);
    assert_false(present("etc/systemd/system/playbook.service"));
}

static void a_playbook_that_fails_is_told_of(void **state)
{
    (void)state;
    struct seed seed = seed_with_playbook();
    fake("podman newuidmap avahi-daemon ansible-playbook");
    put("playbook-fails", "");
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();
    assert_content("var/lib/podman-machine-vmnet/notice",
                   "the playbook failed (to run it again: sudo systemctl start "
                   "playbook.service):\nTASK [one]\nfatal: [localhost]: FAILED!\n");

    // One that cannot be run at all: offline, and on an image without a package manager.
    drop("var/lib/podman-machine-vmnet/state");
    drop("bin/ansible-playbook");
    fake("apt-get dpkg");
    put("offline", "");
    assert_int_equal(run(&seed, NULL), 0);
    assert_provisioned();
    assert_content("var/lib/podman-machine-vmnet/notice",
                   "the playbook was not run: there is no ansible-playbook (package ansible-core) "
                   "in the guest\nReading metadata...\nCould not resolve host: mirrors.example\n");
    drop("var/lib/podman-machine-vmnet/state");
    drop("bin/apt-get");
    assert_int_equal(run(&seed, NULL), 0);
    assert_content("var/lib/podman-machine-vmnet/notice",
                   "the playbook was not run: there is no ansible-playbook (package ansible-core) "
                   "in the guest\n");
    assert_content("home/core/playbook.yaml", "- hosts: localhost\n");
}

static void a_cut_playbook_runs_again(void **state)
{
    (void)state;
    struct seed seed = seed_with_playbook();
    fake("podman newuidmap avahi-daemon ansible-playbook");
    setenv("CUT", "start playbook.service", 1);
    assert_int_equal(run(&seed, NULL), -1);
    assert_state("running playbook\n");
    unsetenv("CUT");
    assert_int_equal(run(&seed, NULL), 0);
    assert_int_equal(calls("systemctl start playbook.service\n"), 1);
    assert_provisioned();
}

static void subids_keep_clear_of_the_user(void **state)
{
    (void)state;
    static const struct {
        unsigned uid;
        const char *line;
    } rows[] = {{501, "SUBID_START=100000\n"},     {99999, "SUBID_START=100000\n"},
                {100000, "SUBID_START=100001\n"},  {1099999, "SUBID_START=1100000\n"},
                {1100000, "SUBID_START=100000\n"}, {1502938475, "SUBID_START=100000\n"}};
    struct seed seed = sample_seed();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        seed.uid = rows[i].uid;
        cleanup_free char *script = provision_script(&seed);
        assert_non_null(strstr(script, rows[i].line));
    }
}

#define guest_test(function) cmocka_unit_test_setup_teardown(function, make_guest, drop_guest)

int main(void)
{
    const struct CMUnitTest tests[] = {
        guest_test(fedora_offline_with_the_packages_there),
        guest_test(fedora_online),
        guest_test(debian_online),
        guest_test(the_control_plane_comes_first),
        guest_test(volumes_are_mounted_by_a_unit),
        guest_test(says_why_packages_are_missing),
        guest_test(goes_on_without_what_is_not_vital),
        guest_test(mends_a_boot_that_was_cut),
        guest_test(mends_an_installation_that_was_cut),
        guest_test(installs_selinux_rules_on_request),
        guest_test(says_why_selinux_rules_are_missing),
        guest_test(needs_the_user_of_the_host),
        guest_test(rootless_with_a_manager_that_is_up),
        guest_test(runs_a_playbook_once),
        guest_test(a_playbook_that_fails_is_told_of),
        guest_test(a_cut_playbook_runs_again),
        cmocka_unit_test(subids_keep_clear_of_the_user),
    };
    return cmocka_run_group_tests_name("provision", tests, temp_home_setup, temp_home_teardown);
}
