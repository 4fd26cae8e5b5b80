#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The front-end with a real podman client behind it, and machines of both that never start."""

import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import podman_test as harness  # noqa: E402

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                     "podman-machine-vmnet-tests")
CLIENT = os.environ.get("PMV_PODMAN") or os.path.join(CACHE, "clients/podman/podman")
# podman refuses machines to root: then the test is somebody else, in a user namespace.
WRAP = ["unshare", "--user", "--map-user=1000"] if os.geteuid() == 0 else []


class Real(harness.PodmanTest):
    def setUp(self):
        super().setUp()
        os.unlink(f"{self.top}/real/podman")
        self.env["PODMAN_MACHINE_VMNET_PODMAN"] = CLIENT

    def podman(self, *argv, **more):
        return self.run_program(*WRAP[1:], f"{self.top}/front/podman", *argv,
                                program=WRAP[0], **more) if WRAP else super().podman(*argv, **more)

    def real(self, *argv):
        done = subprocess.run([*WRAP, CLIENT, *argv], env=self.env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        done.out = done.stdout
        return done

    def test_other_commands(self):
        self.assertEqual(self.good("--version").out, self.real("--version").out)
        self.bad("nosuch", words="unrecognized command")
        # The table of an empty list, in podman's own hand.
        self.assertEqual(self.good("machine", "list").out, self.real("machine", "list").out)

    def test_both_in_one_list(self):
        self.real("machine", "init", "--image", "/dev/null", "theirs")
        self.make("ours")
        self.assertEqual([m["Name"] for m in self.listed()], ["ours", "theirs"])
        theirs = json.loads(self.real("machine", "list", "--format", "json").out)[0]
        self.assertEqual([m for m in self.listed() if m["Name"] == "theirs"], [theirs])
        ours = [m for m in self.listed() if m["Name"] == "ours"][0]
        self.assertEqual(list(ours), list(theirs))
        self.assertEqual([type(value) for value in ours.values()],
                         [type(value) for value in theirs.values()])
        lines = self.good("machine", "ls").out.splitlines()
        real = self.real("machine", "ls").out.splitlines()
        self.assertEqual(lines[0].split(), real[0].split())
        self.assertEqual([line.split()[0].rstrip("*") for line in lines[1:]], ["ours", "theirs"])

    def test_inspect_of_both(self):
        self.real("machine", "init", "--image", "/dev/null", "theirs")
        self.make("ours")
        theirs, ours = json.loads(self.good("machine", "inspect", "theirs", "ours").out)
        self.assertEqual(theirs, json.loads(self.real("machine", "inspect", "theirs").out)[0])
        ours.pop("Vmnet")
        self.assertEqual(list(ours), list(theirs))
        self.assertEqual(self.good("machine", "inspect", "--format",
                                   "{{.Name}} {{.Resources.Memory}}", "theirs", "ours").out,
                         "theirs 2048\nours 2048\n")

    def test_one_space_of_names(self):
        self.real("machine", "init", "--image", "/dev/null", "theirs")
        self.bad("machine", "init", *harness.NO_IMAGE, "theirs",
                 words='machine "theirs" already exists')
        self.make("ours")
        done = subprocess.run([*WRAP, CLIENT, "machine", "init", "--image", "/dev/null", "ours"],
                              env=self.env, capture_output=True, text=True, check=False)
        self.assertRegex(done.stderr, 'system connection "ours(-root)?" already exists')

    def test_their_machines_stay_theirs(self):
        self.real("machine", "init", "--image", "/dev/null", "theirs")
        self.good("machine", "set", "theirs", "--cpus", "1")
        self.assertEqual(json.loads(self.real("machine", "inspect", "theirs").out)[0]
                         ["Resources"]["CPUs"], 1)
        self.bad("machine", "ssh", "theirs", "true", words='vm "theirs" is not running')
        self.good("machine", "rm", "-f", "theirs")
        self.assertEqual(self.listed(), [])

    def test_info_counts_both(self):
        self.real("machine", "init", "--image", "/dev/null", "theirs")
        self.make("ours")
        info = json.loads(self.good("machine", "info", "-f", "json").out)
        real = json.loads(self.real("machine", "info", "-f", "json").out)
        self.assertEqual(info["Host"]["NumberOfMachines"], 2)
        self.assertEqual(info["Version"], real["Version"])
        self.assertEqual(list(info["Host"]), list(real["Host"]))
        text = self.good("machine", "info").out.splitlines()
        self.assertEqual([line.split(":")[0] for line in text],
                         [line.split(":")[0] for line in self.real("machine", "info").out.splitlines()])

    def test_reset_of_both(self):
        self.real("machine", "init", "--image", "/dev/null", "theirs")
        self.make("ours")
        self.good("machine", "reset", "--force")
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.connections(), ({}, None))

    def test_our_connections_are_podmans(self):
        self.make("ours", "--rootful")
        found = json.loads(self.good("system", "connection", "list", "--format", "json").out)
        self.assertEqual([(c["Name"], c["Default"]) for c in found],
                         [("ours", False), ("ours-root", True)])
        self.good("system", "connection", "default", "ours")
        self.assertEqual(self.connections()[1], "ours")

    def test_podman_desktop(self):
        """What it calls while nothing runs, in its order and with its environment: tests/vm has the
        rest."""
        self.assertRegex(self.good("--version").out.split()[-1], r"^\d+\.\d+\.\d+")
        both = [{"CONTAINERS_MACHINE_PROVIDER": name} for name in ("applehv", "libkrun")]
        for env in both:
            self.assertEqual(self.listed(env=env), [])
        with open(f"{self.top}/playbook.yaml", "w", encoding="utf-8") as file:
            file.write("- hosts: localhost\n")
        self.good("machine", "init", "--cpus", "1", "--memory", "2048", "--disk-size", "11",
                  *harness.NO_IMAGE, "--playbook", f"{self.top}/playbook.yaml", "--rootful", "ours")
        done = self.bad("machine", "init", "--cpus", "1", *harness.NO_IMAGE, "ours")
        self.assertIn('machine "ours" already exists', done.err)
        self.real("machine", "init", "--image", "/dev/null", "theirs")
        # Ours is told once: not to those that want a Mac's. podman 6 tells its own each time.
        self.assertNotIn("ours", [m["Name"] for env in both for m in self.listed(env=env)])
        self.assertEqual(sorted(m["Name"] for m in self.listed()), ["ours", "theirs"])
        path = ("machine", "inspect", "--format", "{{.ConnectionInfo.PodmanSocket.Path}}")
        ours, theirs = self.good(*path, "ours").out, self.real(*path, "theirs").out
        self.assertEqual(ours.replace("ours", "theirs"), theirs)
        for name in ("ours-root", "theirs", "ours"):
            self.good("system", "connection", "default", name)
            listed = json.loads(self.good("system", "connection", "list", "--format", "json").out)
            self.assertEqual([c["Name"] for c in listed if c["Default"]], [name])
            self.assertEqual([m["Name"] for m in self.listed() if m["Default"]],
                             [name.removesuffix("-root")])
        self.good("machine", "set", "ours", "--cpus", "1", "--memory", "1024", "--disk-size", "12",
                  "--rootful=false")
        ours = [m for m in self.listed() if m["Name"] == "ours"][0]
        self.assertEqual((ours["CPUs"], ours["Memory"], ours["DiskSize"]),
                         (1, str(1 << 30), str(12 << 30)))
        self.good("machine", "stop", "ours")
        for name in ("ours", "theirs"):
            self.good("machine", "rm", "-f", name)
        self.assertEqual(self.listed(), [])

    def test_texts(self):
        """The same mistakes, in the same words."""
        self.make("ours")
        self.real("machine", "init", "--image", "/dev/null", "theirs")
        for words in (["inspect", "--format", "{{.Nope}}"], ["inspect", "--bogus"],
                      ["set", "--cpus", "abc"], ["set", "--memory"], ["set", "--cpus", "99999"],
                      ["set", "--disk-size", "1"], ["start", "a", "b"], ["rm", "--force=maybe"],
                      ["ssh", "-Z"], ["stop", "--x"], ["os", "apply"], ["os", "upgrade", "-f", "x"],
                      ["cp", "a"], ["inspect", "--format", "{{.Name"],
                      ["inspect", "--format", "{{.Resources}} {{.ConfigDir}} {{json .SSHConfig.Port}}"]):
            names = ([], []) if words[0] in ("os", "cp", "start") else (["ours"], ["theirs"])
            if words == ["ssh", "-Z"]:
                names = ([], [])
            ours = self.podman("machine", *words, *names[0])
            theirs = subprocess.run([*WRAP, CLIENT, "machine", *words, *names[1]], env=self.env,
                                    capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                    check=False)
            said = theirs.stderr.replace("theirs", "ours")
            if "ours" not in said and "100 GB" in said:
                said = said.replace("100 GB", "11 GB")
            self.assertEqual((ours.code, ours.err), (theirs.returncode, said), words)


def reason():
    if harness.missing():
        return harness.missing()
    if not os.access(CLIENT, os.X_OK):
        return f"no podman client at {CLIENT}"
    if not shutil.which("qemu-img"):
        return "qemu-img is not installed"
    probe = subprocess.run([*WRAP, "true"], capture_output=True, check=False)
    return None if probe.returncode == 0 else "no user namespaces here"


if __name__ == "__main__":
    sys.exit(harness.lifecycle.main(reason(), needs_guest=False))
