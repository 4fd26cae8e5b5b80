#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""contrib/macos/acceptance.sh, with stand-ins: what it can try here passes, and what is broken
fails."""

import os
import re
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402
import mac  # noqa: E402

SCRIPT = os.path.join(harness.HERE, "../../contrib/macos/acceptance.sh")


class Acceptance:
    def accept(self, *argv, provider="qemu", code=0, image=None):
        done = self.run_program("--program", harness.BINARY, "--provider", provider, "--image",
                                image or self.image(), "--timeout", "60", *argv, program=SCRIPT,
                                timeout=240)
        self.assertEqual(done.code, code, str(done))
        lines = re.findall(r"^(pass|FAIL|n/a|hand) +(\w+): ", done.out, re.M)
        self.results = {item: word for word, item in lines}
        return done

    def assert_results(self, done, word, items):
        for item in items.split():
            self.assertEqual(self.results.get(item), word, f"{item}\n{done}")


class OnLinux(Acceptance, harness.MachineTest):
    def test_qemu(self):
        """From init to rm, and nothing is left."""
        # The stand-in for podman's API knows no more than a ping.
        self.env["PATH"] = self.without("podman", "docker")
        done = self.accept()
        self.assert_results(done, "pass", "tools doctor init start ssh api clock monitor stop again rm")
        self.assert_results(done, "n/a", "address reach podman container port throughput offload "
                            "docker neighbours isolation launchd helper autostart vfkit sleep")
        self.assertIn(" 0 failed, ", done.out)
        self.assert_nothing_left("pmv-accept")

    def without(self, *names):
        """A PATH on which these programs are not."""
        folder = os.path.join(self.top, "path")
        os.mkdir(folder)
        for source in self.env["PATH"].split(":"):
            for name in os.listdir(source) if os.path.isdir(source) else []:
                link = os.path.join(folder, name)
                if name not in names and not os.path.lexists(link):
                    os.symlink(os.path.join(source, name), link)
        return f"{self.bin}:{folder}"

    def test_a_machine_that_does_not_start(self):
        self.behave(die={"after": 0.1, "status": 3, "log": ["could not map the moon"]})
        done = self.accept("--only", "init", "--only", "start", "--only", "ssh", code=1)
        self.assert_results(done, "pass", "init")
        self.assert_results(done, "FAIL", "start")
        self.assert_results(done, "n/a", "ssh")
        self.assertIn("could not map the moon", done.out)
        self.assert_nothing_left("pmv-accept")

    def test_what_is_broken_fails(self):
        self.behave(poweroff="ignored")  # the power button has to do it
        done = self.accept("--only", "stop", "--keep", code=1)
        self.assertEqual(self.results, {}, "--keep leaves it running")
        self.ok("init", "--provider", "qemu", "--image", self.image(), "--disk-size", "1", "--now",
                "pmv-accept")
        os.chmod(self.inspect("pmv-accept")["ConnectionInfo"]["PodmanSocket"]["Path"], 0o644)
        done = self.accept("--only", "init", "--only", "api", code=1)
        self.assert_results(done, "FAIL", "init api")
        self.assertIn("its mode is 644", done.out)
        # A machine that was there before stays.
        self.assertEqual(self.state("pmv-accept"), "running")

    def test_keep(self):
        self.accept("--only", "start", "--keep")
        self.assertEqual(self.state("pmv-accept"), "running")
        self.accept("--only", "clock", "--only", "rm")
        self.assert_nothing_left("pmv-accept")

    def test_options(self):
        for argv in (["--only", "moon"], ["--moon"], ["--image"], ["--program", "/moon"]):
            done = self.run_program(*argv, program=SCRIPT)
            self.assertEqual((done.code, done.out), (2, ""), str(done))
        items = self.run_program("--list", program=SCRIPT).out.split()
        self.assertEqual(len(items), len(set(items)))
        for item in items:
            self.assertIn(f"\nitem_{item}() {{\n", self.text(SCRIPT))


class OnMac(Acceptance, mac.MacTest):
    def test_vmnet(self):
        only = ("tools init start address ssh api offload launchd monitor helper stop again autostart "
                "rm")
        done = self.accept(*[word for item in only.split() for word in ("--only", item)],
                           provider="vmnet-krunkit")
        self.assert_results(done, "pass", only)
        self.assertIn("192.168.", done.out)
        self.assert_nothing_left("pmv-accept")


if __name__ == "__main__":
    mac.main()
