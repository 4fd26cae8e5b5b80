# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""A Mac for the lifecycle tests: the strict stand-ins of ../support/macos for vmnet-run,
vmnet-helper and launchctl, a krunkit without a VM (fake/krunkit), bridges and a bootpd in a network
namespace of the test's own."""

import os
import subprocess
import sys

import harness
import launchd
import network


class MacTest(harness.MachineTest):
    macos = "26.2"
    gui = True  # somebody is logged in at the screen

    def setUp(self):
        super().setUp()
        self.launchd = self.enterContext(launchd.Launchd(os.path.join(self.top, "launchd"),
                                                         self.gui))
        self.world = self.enterContext(network.World(os.path.join(self.top, "world")))
        self.link(os.path.join(harness.FAKE, "krunkit"))
        for name in ("vmnet-run", "vmnet-helper", "launchctl"):
            self.link(os.path.join(harness.MACOS, name))
        self.set_environment(
            **self.world.environment, **self.launchd.environment,
            PODMAN_MACHINE_VMNET_MACOS=self.macos, PODMAN_MACHINE_VMNET_MDNS="127.0.0.1:9")

    def link(self, path):
        os.symlink(path, os.path.join(self.bin, os.path.basename(path)))

    def set_environment(self, **more):
        """Of the program, and of what is for the stand-ins also in launchd's jobs."""
        self.env |= more
        self.launchd.setenv(**{name: value for name, value in self.env.items()
                               if name.startswith("PMV_") or name.endswith("SAN_OPTIONS")})

    def create(self, *more, name="m1"):
        self.ok("init", "--provider", "vmnet-krunkit", "--image", self.image(), "--disk-size", "1",
                *more, name)

    def monitor_log(self, name="m1"):
        return self.text(self.machine_file(name, "monitor.log"))

    def vm_log(self, name="m1"):
        return self.text(self.machine_file(name, "vm.log"))

    def domains(self, name="m1"):
        """Where launchd has a running job for the machine."""
        found = []
        for kind in ("gui", "user"):
            done = subprocess.run(
                [os.path.join(harness.MACOS, "launchctl"), "print",
                 f"{kind}/{os.getuid()}/io.github.podman-machine-vmnet.{name}"],
                capture_output=True, text=True, env=self.env)
            if "\n\tstate = running\n" in done.stdout:
                found.append(kind)
        return found

    def helpers(self):
        """Pids of vmnet-helper; sudo is not among them."""
        return [pid for pid in self.processes("/vmnet-helper --fd") if not self.is_sudo(pid)]

    @staticmethod
    def is_sudo(pid):
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read() == "sudo\n"


def main():
    reason = harness.missing()
    if not reason and subprocess.run(["sh", "-c", "command -v busybox"],
                                     capture_output=True).returncode != 0:
        reason = "busybox is not installed"
    reason = reason or network.missing()
    if not reason:
        network.enter()
    sys.exit(harness.main(reason, needs_guest=False))
