#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""Which commands are ours, and that the others reach podman as they were typed."""

import json
import os
import sys

sys.dont_write_bytecode = True
import podman_test as harness  # noqa: E402


class Front(harness.PodmanTest):
    def test_other_commands_are_podmans(self):
        for argv in (["ps", "-a"], ["run", "--rm", "-v", "/a b:/c", "x", "machine"],
                     ["-c", "machine", "ps"], ["--log-level=debug", "--url", "machine", "info"],
                     ["--bogus", "machine", "list"], [], ["-r", "images"],
                     ["-v", "machine"], ["--help", "machine"], ["-rD", "ps"], ["-Hx", "ps"]):
            before = len(self.calls())
            done = self.good(*argv)
            self.assertEqual(done.out, "real " + " ".join(argv) + "\n")
            self.assertEqual(self.calls()[before]["argv"], argv)
            self.assertEqual(os.path.basename(self.calls()[before]["name"]), "podman")
        self.assertEqual(self.good("--version").out, "real --version\n")

    def test_status_and_stdin_are_podmans(self):
        self.real_how(status=17)
        self.assertEqual(self.podman("exec", "x").code, 17)

    def test_our_machines(self):
        self.make("mine")
        for argv in (["machine", "inspect", "mine"], ["-r", "machine", "stop", "mine"],
                     ["--log-level", "info", "machine", "inspect", "mine"],
                     ["-c", "x", "--identity=y", "--tls-ca", "z", "machine", "stop", "mine"],
                     ["machine", "--log-level", "error", "stop", "mine"]):
            self.good(*argv)
        self.assertEqual(self.calls(), [])

    def test_podmans_machines(self):
        self.real_machine("theirs")
        for argv in (["machine", "start", "theirs"], ["machine", "rm", "-f", "theirs"],
                     ["machine", "set", "theirs", "--cpus", "2"],
                     ["machine", "set", "--cpus", "2", "theirs"],
                     ["machine", "ssh", "theirs", "ls", "-f"],
                     ["machine", "inspect", "--format", "{{.Name}}", "theirs"],
                     ["machine", "cp", "theirs:/x", "/y"],
                     ["machine", "os", "apply", "quay.io/x", "theirs"]):
            done = self.good(*argv)
            if argv[1] != "inspect":
                self.assertEqual(done.out, "real " + " ".join(argv) + "\n")
        self.assertEqual([call["argv"][1] for call in self.calls()],
                         ["start", "rm", "set", "set", "ssh", "inspect", "cp", "os"])

    def test_nobodys_machine_is_ours_to_refuse(self):
        for verb in ("start", "stop", "rm", "inspect"):
            self.bad("machine", verb, "nosuch", words="Error: nosuch: VM does not exist\n")
            self.bad("machine", verb, words="podman-machine-default: VM does not exist\n")
        self.assertEqual(self.calls(), [])

    def test_init_goes_to_the_provider_that_was_named(self):
        self.real_machine("other")
        self.good("machine", "init", env={"CONTAINERS_MACHINE_PROVIDER": "libkrun"})
        self.assertEqual(self.calls().pop()["argv"], ["machine", "init"])
        self.bad("machine", "init", "--provider", "wsl", words='unsupported provider "wsl"')
        self.make("mine", "--provider", "qemu")
        self.assertEqual(len(self.calls()), 1)

    def test_names_are_taken_once(self):
        self.real_machine("theirs")
        self.bad("machine", "init", *harness.NO_IMAGE, "theirs",
                 words='Error: machine "theirs" already exists')

    def test_the_configuration_names_a_provider(self):
        os.makedirs(f"{self.home}/.config/containers/containers.conf.d")
        with open(f"{self.home}/.config/containers/containers.conf.d/1.conf", "w",
                  encoding="utf-8") as file:
            file.write('[machine]\nprovider = "vmnet-krunkit"\ncpus = 1\n')
        self.real_machine("theirs")
        del self.env["CONTAINERS_MACHINE_PROVIDER"]
        self.bad("machine", "init", *harness.NO_IMAGE,
                 words='unsupported provider "vmnet-krunkit"')
        self.good("machine", "start", "theirs")
        self.assertEqual(self.calls()[-1]["env"]["CONTAINERS_MACHINE_PROVIDER"], "")
        self.good("machine", "start", "theirs", env={"CONTAINERS_MACHINE_PROVIDER": "vmnet-vfkit"})
        self.assertEqual(self.calls()[-1]["env"]["CONTAINERS_MACHINE_PROVIDER"], "")
        self.good("ps", env={"CONTAINERS_MACHINE_PROVIDER": "vmnet-vfkit"})
        self.assertIsNone(self.calls()[-1]["env"]["CONTAINERS_MACHINE_PROVIDER"])

    def test_a_broken_configuration(self):
        os.makedirs(f"{self.home}/.config/containers")
        with open(f"{self.home}/.config/containers/containers.conf", "w",
                  encoding="utf-8") as file:
            file.write("[machine\n")
        done = self.bad("machine", "init", code=1)
        self.assertTrue(done.err.startswith("Failed to obtain podman configuration: "), done)

    def test_list_is_merged(self):
        self.make("mine")
        self.real_machine("theirs", LastUp="2026-11-01T00:00:00Z")
        self.real_machine("up", Running=True)
        names = [machine["Name"] for machine in self.listed(
            env={"CONTAINERS_MACHINE_PROVIDER": ""})]
        self.assertEqual(names, ["up", "theirs", "mine"])
        out = self.good("machine", "ls", "-n", env={"CONTAINERS_MACHINE_PROVIDER": ""}).out
        self.assertEqual([line.split()[0] for line in out.splitlines()],
                         ["up", "theirs", "mine*"] if "mine*" in out else ["up", "theirs", "mine"])
        self.assertIn("Currently running", out)

    def test_each_machine_once_for_podman_desktop(self):
        self.make("mine")
        found = [machine["Name"]
                 for provider in ("qemu", "libkrun", "applehv")
                 for machine in self.listed(env={"CONTAINERS_MACHINE_PROVIDER": provider})]
        self.assertEqual(found, ["mine"])

    def test_ramalama(self):
        self.real_machine("theirs")
        done = self.good("machine", "list", "--format", "json", "--all-providers")
        self.assertEqual([machine["Name"] for machine in json.loads(done.out)], ["theirs"])

    def test_a_broken_podman_breaks_nothing(self):
        self.make("mine")
        for how in ({"broken": 125, "stderr": "Error: cannot unmarshal string\n"},
                    {"broken": 0}, {"broken": 2}):
            self.real_how(**how)
            self.assertEqual([m["Name"] for m in self.listed()], ["mine"])
        os.unlink(f"{self.top}/real/podman")
        self.assertEqual([m["Name"] for m in self.listed()], ["mine"])

    def test_its_warnings_are_passed_on(self):
        self.real_how(stderr="incompatible machine config\n")
        self.assertIn("incompatible machine config",
                      self.good("machine", "list", "--format", "json").err)

    def test_inspect_of_both(self):
        self.make("mine")
        self.real_machine("theirs")
        done = self.good("machine", "inspect", "theirs", "mine", "--format", "{{.Name}}")
        self.assertEqual(done.out, "theirs\nmine\n")
        done = self.bad("machine", "inspect", "mine", "nosuch", "theirs",
                        words="Error: nosuch: VM does not exist\n")
        self.assertEqual([m["Name"] for m in json.loads(done.out)], ["mine", "theirs"])

    def test_compose_reaches_our_machine(self):
        self.make("mine", "--rootful")
        socket = self.good("machine", "inspect", "--format",
                           "{{.ConnectionInfo.PodmanSocket.Path}}", "mine").out.strip()
        for argv, more in ((["compose", "env"], {}), (["-c", "mine", "compose", "env"], {}),
                           (["compose", "env"], {"CONTAINER_CONNECTION": "mine-root"})):
            self.assertEqual(self.good(*argv, env=more).out, f"unix://{socket}\n0\n")
        for argv, more in ((["compose", "env"], {"DOCKER_HOST": "tcp://x"}),
                           (["--url", "ssh://x", "compose", "env"], {}),
                           (["-c", "other", "compose", "env"], {})):
            self.assertEqual(self.good(*argv, env=more).out, more.get("DOCKER_HOST", "") + "\n0\n")

    def test_never_itself(self):
        os.unlink(f"{self.top}/real/podman")
        os.symlink(f"{self.top}/front/podman", f"{self.top}/real/podman")
        self.env["PATH"] = f"{self.top}/front:{self.top}/real"
        if os.path.exists("/usr/bin/podman") or os.path.exists("/usr/local/bin/podman"):
            self.skipTest("there is a podman here")
        self.bad("ps", words="Error: there is no podman on $PATH for `podman ps`")

    def test_a_script_that_leads_back(self):
        with open(f"{self.top}/real/podman", "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {self.top}/front/podman "$@"\n')
        self.bad("ps", words="leads back to podman-machine-vmnet")

    def test_completion_of_machine_is_ours(self):
        self.make("mine")
        self.assertIn("mine", self.good("__complete", "machine", "start", "").out)
        self.assertEqual(self.good("__complete", "ps", "").out, "real __complete ps \n")


if __name__ == "__main__":
    sys.exit(harness.main())
