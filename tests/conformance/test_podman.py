#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""podman's own suite for `podman machine`, the tests that need no VM, in its order: the number is
the row of README.md."""

import json
import os
import re
import sys

sys.dont_write_bytecode = True
import podman_test as harness  # noqa: E402


class Podman(harness.PodmanTest):
    def inspect_one(self, name):
        return json.loads(self.good("machine", "inspect", name).out)[0]

    # --- compose, help, info ------------------------------------------------------------------

    def test_14_compose_env(self):
        self.make("box")
        socket = self.inspect_one("box")["ConnectionInfo"]["PodmanSocket"]["Path"]
        self.assertEqual(self.good("compose", "env").out, f"unix://{socket}\n0\n")

    def test_17_podman_usage(self):
        self.assertNotIn(".exe", self.good("help").out)

    def test_18_machine_info(self):
        before = json.loads(self.good("machine", "info", "--format", "json").out)
        self.make("box")
        done = self.good("machine", "info", "-f", "json")
        after = json.loads(done.out)
        self.assertEqual(after["Host"]["NumberOfMachines"],
                         before["Host"]["NumberOfMachines"] + 1)
        self.assertEqual(after["Host"]["MachineState"], "Stopped")
        self.assertEqual(after["Host"]["CurrentMachine"], "box")
        self.assertIn(after["Host"]["Arch"], ("amd64", "arm64"))
        self.assertEqual(list(after["Host"]),
                         ["Arch", "CurrentMachine", "DefaultMachine", "EventsDir",
                          "MachineConfigDir", "MachineImageDir", "MachineState",
                          "NumberOfMachines", "OS", "VMType"])
        self.assertEqual(self.good("machine", "info", "--format",
                                   "{{.Host.NumberOfMachines}} {{.Host.CurrentMachine}}").out,
                         "1 box\n")
        self.assertEqual(json.loads(self.good("machine", "info", "--format",
                                              "{{json .Host}}").out), after["Host"])
        self.assertEqual(self.good("machine", "info", "-f", "").out, "\n")
        text = self.good("machine", "info").out
        self.assertTrue(text.startswith(f"host:\n    arch: {after['Host']['Arch']}\n"
                                        "    currentmachine: box\n"), text)
        self.assertTrue(text.endswith("\n\n"), text)
        self.assertIn("    numberofmachines: 1\n", text)
        self.assertIn('version:\n    apiversion: ', text)
        self.bad("machine", "info", "--format", "{{.Nope}}",
                 words="can't evaluate field Nope in type entities.MachineInfo")
        self.bad("machine", "info", "--format", "table {{.Host}}", words="range can't iterate over")

    # --- init ---------------------------------------------------------------------------------

    def test_19_bad_init(self):
        long = "a" * 31
        self.bad("machine", "init", long,
                 words=f'machine name "{long}" must be 30 characters or less')
        for name in ("qemu", "LibKrun", "wsl", "hyperv", "applehv"):
            self.bad("machine", "init", name, words=f'cannot use "{name}" for a machine name')
        os.makedirs(os.path.join(self.home, ".config/containers"), exist_ok=True)
        with open(self.connections_file(), "w", encoding="utf-8") as file:
            json.dump({"Connection": {"Connections": {"taken": {"URI": "ssh://x@y:1/z"},
                                                      "half-root": {"URI": "ssh://x@y:1/z"}}}}, file)
        for name, entry in (("taken", "taken"), ("half", "half-root")):
            self.bad("machine", "init", *harness.NO_IMAGE, name,
                     words=f'system connection "{entry}" already exists. consider a different machine '
                     "name or remove the connection with `podman system connection rm`")
        self.bad("machine", "init", "a/b", words='invalid name "a/b": names must match '
                 "[a-zA-Z0-9][a-zA-Z0-9_.-]*: invalid argument")
        self.bad("machine", "init", "--username", "-/a", words='invalid username "-/a": names must '
                 "match [a-zA-Z0-9][a-zA-Z0-9_.-]*: invalid argument")
        done = self.bad("machine", "init", *harness.NO_IMAGE, "--memory", "99999999")
        self.assertRegex(done.err, r"^Error: requested amount of memory \(99999999 MB\) greater than "
                         r"total system memory \(\d+ MB\)\n$")
        done = self.bad("machine", "init", *harness.NO_IMAGE, "--cpus", "99999")
        self.assertRegex(done.err, r"^Error: requested number of CPUs \(99999\) greater than number "
                         r"of host CPUs \(\d+\)\n$")
        self.assertEqual(self.listed(), [])

    def test_20_volume_check(self):
        for volume, target in (("/tmp:/tmp", "/tmp"), ("/tmp", "/tmp"), ("/x:/usr/", "/usr"),
                               ("/x:/usr/../etc:ro", "/etc")):
            self.bad("machine", "init", *harness.NO_IMAGE, "--volume", volume,
                     words=f'machine mount destination cannot be "{target}": consider another '
                     "location or a subdirectory of an existing location")
        self.make("box", "--volume", "/tmp:/tmp/foo")

    def mounts(self, name="box"):
        return [(mount["Source"], mount["Target"], mount["ReadOnly"])
                for mount in self.inspect_one(name)["Vmnet"]["Mounts"]]

    def test_04_host_configuration(self):
        self.make("box")
        config = os.path.join(self.home, ".config/containers")
        self.assertIn((config, "/etc/containers", False), self.mounts())
        self.assertTrue(os.path.isdir(config))

    def test_06_volumes_disabled(self):
        self.make("box", "--volume", "")
        self.assertEqual(self.mounts(), [])

    def test_08_volume_on_another_path(self):
        self.make("box", "--volume", f"{self.home}:/does/not/exist:ro")
        self.assertEqual(self.mounts(), [(self.home, "/does/not/exist", True)])

    def test_27_init_with_volume(self):
        long = "/very-long-test-mount-dir-path-more-than-thirty-six-bytes"
        self.make("box", "--volume", f"{self.home}:{long}", "-v", "$HOME/with spaces:/host folder")
        self.assertEqual(self.mounts(), [(self.home, long, False),
                                         (self.home + "/with spaces", "/host folder", False)])
        self.bad("machine", "init", *harness.NO_IMAGE, "-v", "/a:/x", "-v", "/b:/x/", "other",
                 words='volume "/b:/x/": two volumes have the machine mount destination "/x"')

    def test_21_simple_init(self):
        done = self.make("box")
        self.assertEqual(done.out, "Machine init complete\nTo start your machine run:\n\n"
                         "\tpodman machine start box\n\n")
        found = self.inspect_one("box")
        self.assertEqual(found["Name"], "box")
        self.assertEqual(found["Resources"]["CPUs"], max(1, (os.cpu_count() or 2) // 2))
        self.assertEqual(found["Resources"]["Memory"], 2048)
        self.bad("machine", "init", *harness.NO_IMAGE, "box",
                 words='machine "box" already exists')

    def test_22_playbook_is_read(self):
        self.bad("machine", "init", *harness.NO_IMAGE, "--playbook", "/nonexistent",
                 words="open /nonexistent: no such file or directory")

    def test_24_username(self):
        self.make("box", "--username", "todd")
        self.assertEqual(self.inspect_one("box")["SSHConfig"]["RemoteUsername"], "todd")

    def test_25_cpus_disk_memory_timezone(self):
        self.make("box", "--cpus", "1", "--memory", "4000", "--timezone", "Pacific/Honolulu")
        self.assertEqual(self.inspect_one("box")["Resources"],
                         {"CPUs": 1, "DiskSize": 11, "Memory": 4000, "USBs": []})

    def test_26_swap(self):
        self.make("box", "--swap", "2048")
        self.assertEqual(self.listed()[0]["Swap"], str(2048 << 20))

    def test_28_ignition_path(self):
        self.bad("machine", "init", *harness.NO_IMAGE, "--ignition-path", "/dev/null",
                 words="--ignition-path is not supported")

    def test_30_rootful(self):
        self.make("box", "--rootful")
        self.assertIs(self.inspect_one("box")["Rootful"], True)
        connections, default = self.connections()
        self.assertEqual(default, "box-root")
        self.assertEqual(set(connections), {"box", "box-root"})

    def test_31_cleanup_on_failure(self):
        self.bad("machine", "init", "--image", "/nonexistent", "box")
        self.bad("machine", "inspect", "box", words="box: VM does not exist")
        self.assertEqual(self.connections(), ({}, None))
        self.assertFalse(os.path.exists(self.data("machines", "box")))
        self.make("box")
        self.assertTrue(os.path.isdir(self.good("machine", "inspect", "--format",
                                                "{{.ConfigDir.Path}}", "box").out.strip()))

    def test_32_incompatible_record(self):
        self.make("old")
        self.make("new")
        path = self.machine_file("old", "machine.json")
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        record["version"] = 0
        with open(path, "w", encoding="utf-8") as file:
            json.dump(record, file)
        done = self.good("machine", "list", "-q")
        self.assertIn("incompatible machine config", done.err)
        self.assertIn("new", done.out)
        self.bad("machine", "inspect", "old", words="incompatible machine config")
        self.good("machine", "inspect", "new")
        self.make("another")

    def test_35_invalid_provider(self):
        self.bad("machine", "init", "--provider", "wsl", "box",
                 words='unsupported provider "wsl"')

    def test_36_provider(self):
        self.make("box", "--provider", "qemu")
        self.assertEqual(self.listed()[0]["VMType"], "qemu")

    # --- inspect ------------------------------------------------------------------------------

    def test_41_inspect_bad_name(self):
        self.bad("machine", "inspect", "nosuch", words="nosuch: VM does not exist")

    def test_42_inspect_two_machines(self):
        self.make("foo1")
        self.make("foo2")
        self.assertEqual(self.good("machine", "inspect", "--format", "{{.Name}}", "foo1",
                                   "foo2").out, "foo1\nfoo2\n")

    def test_43_inspect_with_go_format(self):
        self.make("box")
        found = self.inspect_one("box")
        self.assertTrue(found["ConnectionInfo"]["PodmanSocket"]["Path"].endswith("api.sock"))
        self.assertEqual(self.good("machine", "inspect", "--format", "{{.Name}}", "box").out,
                         "box\n")
        self.bad("machine", "inspect", "--format", "{{.Abcde}}", "box",
                 words="can't evaluate field Abcde in type machine.InspectInfo")

    def test_44_unique_socket_names(self):
        paths = set()
        for name in ("one", "two"):
            self.make(name)
            paths.add(self.inspect_one(name)["ConnectionInfo"]["PodmanSocket"]["Path"])
        self.assertEqual(len(paths), 2)

    # --- list ---------------------------------------------------------------------------------

    def test_45_list_machine(self):
        self.assertEqual(len(self.good("machine", "list").out.splitlines()), 1)
        self.make("box")
        lines = self.good("machine", "list").out.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertEqual(re.split(r"  +", lines[0]),
                         ["NAME", "VM TYPE", "CREATED", "LAST UP", "CPUS", "MEMORY", "DISK SIZE"])

    def test_46_quiet_or_noheading(self):
        for option in ("--quiet", "--noheading"):
            self.assertEqual(self.good("machine", "list", option).out, "")
        self.make("one")
        self.make("two")
        for option in ("-q", "-n"):
            names = {line.split()[0].rstrip("*")
                     for line in self.good("machine", "list", option).out.splitlines()}
            self.assertEqual(names, {"one", "two"})

    def test_47_never_ran(self):
        self.make("box")
        self.assertEqual(self.good("machine", "list", "--format", "{{.LastUp}}").out, "Never\n")

    def test_48_list_with_format(self):
        self.make("box", "--rootful")
        out = self.good("machine", "list", "--format", "{{.Name}}").out
        self.assertEqual(out, "box*\n")
        found = json.loads(self.good("machine", "list", "--format", "json").out)
        self.assertEqual(found[0]["Name"], "box")
        self.assertIsInstance(found[0]["CPUs"], int)
        out = self.good("machine", "list", "--format", "table {{.Name}}").out
        self.assertEqual(out.splitlines()[0].strip(), "NAME")
        self.assertEqual(self.good("machine", "list", "--format",
                                   '{{range .}}{{.Name}}{{"\\n"}}{{end}}').out.split(), ["box*"])

    def test_49_machine_readable_bytes(self):
        self.make("box")
        found = self.listed()[0]
        self.assertGreater(int(found["Memory"]), 2_000_000_000)
        self.assertGreater(int(found["DiskSize"]), 11_000_000_000)

    def test_50_human_readable(self):
        self.make("box")
        self.assertEqual(self.good("machine", "list", "--format",
                                   "{{.Memory}} {{.DiskSize}}").out, "2GiB 11GiB\n")

    # --- os, reset, rm ------------------------------------------------------------------------

    def test_51_os_apply(self):
        self.bad("machine", "os", "apply", "quay.io/baude/podman_next", "foobar",
                 words="foobar: VM does not exist")
        self.bad("machine", "os", "upgrade", "foobar", words="foobar: VM does not exist")
        self.bad("machine", "os", words="missing command 'podman machine os COMMAND'")
        self.make("box")
        self.bad("machine", "os", "upgrade", "--restart", "-n", "box",
                 words="--restart cannot be used with --dry-run or --format")
        self.bad("machine", "os", "upgrade", "-f", "yaml", "box",
                 words="only value of `json` is supported")

    def test_53_reset_from_scratch(self):
        self.assertEqual(self.good("machine", "reset", "--force").out, "")

    def test_54_reset_one(self):
        self.make("box")
        self.real_machine("theirs")
        done = self.good("machine", "reset", stdin="n\n")
        self.assertTrue(done.out.startswith(
            "Warning: this command will delete all existing Podman machines\n"
            "and all of the configuration and data directories for Podman machines\n\n"
            "The following machine(s) will be deleted:\n\nNAME "), done)
        self.assertRegex(done.out, r"\nbox +qemu\ntheirs +libkrun\n\nAre you sure you want to "
                         r"continue\? \[y/N\] $")
        self.assertEqual(len(self.listed()), 2)
        self.bad("machine", "reset", stdin="", words="EOF")
        self.good("machine", "reset", "-f")
        self.assertEqual([m["Name"] for m in self.listed()], ["theirs"])
        self.assertIn(["machine", "reset", "--force"], [call["argv"] for call in self.calls()])

    def test_56_rm_bad_name(self):
        for more in ([], ["--force"]):
            self.bad("machine", "rm", *more, "nosuch", words="nosuch: VM does not exist")

    def test_57_remove_machine(self):
        self.make("podman-machine-default")
        self.make("rooty", "--rootful")
        self.assertEqual(self.connections()[1], "podman-machine-default")
        done = self.good("machine", "rm", stdin="n\n")
        self.assertTrue(done.out.startswith("The following files will be deleted:\n\n\n"), done)
        self.assertTrue(done.out.endswith("\nAre you sure you want to continue? [y/N] "), done)
        self.assertEqual(self.good("machine", "rm", "--force").out, "")
        self.bad("machine", "rm", "-f", words="podman-machine-default: VM does not exist")
        self.assertEqual(self.connections()[1], "rooty-root")

    def test_59_save_image(self):
        self.make("box")
        self.good("machine", "rm", "--force", "--save-image", "--save-ignition", "box")
        self.assertTrue(os.path.exists(self.data("saved/box.raw")))
        self.assertTrue(os.path.exists(self.data("saved/box.iso")))
        self.assertEqual(self.listed(), [])

    # --- set, ssh, start, stop ----------------------------------------------------------------

    def test_62_excessive_cpus(self):
        self.make("box")
        self.bad("machine", "set", "--cpus", "99999", "box",
                 words="requested number of CPUs (99999) greater than number of host CPUs (")

    def test_63_set_cpus_disk_memory(self):
        self.make("box")
        self.bad("machine", "set", "--memory", "100000000", "box",
                 words="requested amount of memory (100000000 MB) greater than total system memory")
        self.assertEqual(self.good("machine", "set", "box", "--cpus", "2", "--memory", "3000",
                                   "--disk-size", "12").out, "")
        found = self.inspect_one("box")["Resources"]
        self.assertEqual((found["CPUs"], found["Memory"], found["DiskSize"]), (2, 3000, 12))
        self.assertEqual(os.stat(self.machine_file("box", "disk.raw")).st_size, 12 << 30)
        for size in ("5", "12"):
            self.bad("machine", "set", "--disk-size", size, "box",
                     words="new disk size must be larger than 12 GB")

    def test_65_no_change_without_flags(self):
        self.make("box")
        before = self.inspect_one("box")
        self.assertEqual(self.good("machine", "set", "box").out, "")
        self.assertEqual(self.inspect_one("box"), before)

    def test_66_rootful_change(self):
        self.make("box")
        self.assertEqual(self.connections()[1], "box")
        self.good("machine", "set", "--rootful", "box")
        self.assertIs(self.inspect_one("box")["Rootful"], True)
        self.assertEqual(self.connections()[1], "box-root")
        self.good("machine", "set", "--rootful=false", "box")
        self.assertEqual(self.connections()[1], "box")

    def test_67_user_mode_networking_is_ignored(self):
        self.make("box")
        self.good("machine", "set", "--user-mode-networking", "box")

    def test_69_ssh_bad_name(self):
        self.bad("machine", "ssh", "nosuch", words="not exist")

    def test_70_ssh_not_running(self):
        self.make("box")
        self.bad("machine", "ssh", "box", words='vm "box" is not running')

    def test_74_start_bad_name(self):
        self.bad("machine", "start", "nosuch", words="nosuch: VM does not exist")

    def test_83_stop_bad_name(self):
        self.bad("machine", "stop", "nosuch", words="nosuch: VM does not exist")

    def test_84_stop_of_a_stopped_one(self):
        self.make("box")
        for _ in range(2):
            self.assertEqual(self.good("machine", "stop", "box").out,
                             'Machine "box" stopped successfully\n')

    # --- what has no row of its own -----------------------------------------------------------

    def test_cp_arguments(self):
        self.make("box")
        self.bad("machine", "cp", "box:", "/tmp/y",
                 words='invalid arguments "box:", "/tmp/y": you must specify paths')
        self.bad("machine", "cp", "box:/a", "box:/b",
                 words="copying between two machines is unsupported")
        self.bad("machine", "cp", "./a:b", "/tmp/y", words="a machine name must prefix either the "
                 "source path or destination path")
        self.bad("machine", "cp", "box:/a", "/tmp/y", words='vm "box" is not running')
        self.bad("machine", "cp", "box:/a", words="accepts 2 arg(s), received 1")

    def test_deprecated_flags(self):
        done = self.good("machine", "init", "--image-path", "/dev/null", "--disk-size", "1",
                         "--volume-driver", "x", "box")
        self.assertIn("Flag --image-path has been deprecated, use --image instead\n", done.err)
        self.assertIn("Flag --volume-driver has been deprecated, will be ignored\n", done.err)

    def test_unknown_volume_option(self):
        done = self.make("box", "-v", "/a:/b:zz", "-v", "$NOSUCH")
        self.assertTrue(done.out.startswith("Unknown option: zz\nMachine init complete\n"), done)

    def test_usb(self):
        self.bad("machine", "init", *harness.NO_IMAGE, "--usb", "bus=1,devnum=2",
                 words="USB host passthrough not supported for qemu machines")

    def test_defaults_of_containers_conf(self):
        folder = os.path.join(self.home, ".config/containers")
        os.makedirs(os.path.join(folder, "containers.conf.d"))
        with open(f"{folder}/containers.conf", "w", encoding="utf-8") as file:
            file.write('[machine]\ncpus = 1\nmemory = 1024\ndisk_size = 7\nuser = "todd"\n'
                       'image = "docker://quay.io/podman/machine-os"\n')
        with open(f"{folder}/containers.conf.d/50.conf", "w", encoding="utf-8") as file:
            file.write("[machine]\nmemory = 0x600\n")
        self.good("machine", "init", *harness.NO_IMAGE, "box")
        found = self.inspect_one("box")
        self.assertEqual(found["Resources"],
                         {"CPUs": 1, "DiskSize": 7, "Memory": 1536, "USBs": []})
        self.assertEqual(found["SSHConfig"]["RemoteUsername"], "todd")

    def test_idempotent_init(self):
        self.make("box", "--exist-ok")
        self.assertNotIn("init complete", self.make("box", "--exist-ok").out)

    def test_events(self):
        import socket
        import threading
        path = os.path.join(self.run_dir, "podman", "machine_events.1.sock")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        got = []
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen(4)

            def listen():
                for _ in range(2):
                    with server.accept()[0] as peer:
                        got.append(json.loads(peer.makefile().read()))
            thread = threading.Thread(target=listen)
            thread.start()
            self.make("box")
            self.good("machine", "rm", "-f", "box")
            thread.join(20)
        self.assertEqual([(e["Name"], e["Status"], e["Type"]) for e in got],
                         [("box", "init", "machine"), ("box", "remove", "machine")])
        self.assertEqual(list(got[0]), ["Name", "Status", "Time", "Type", "Attributes"])


if __name__ == "__main__":
    sys.exit(harness.main())
