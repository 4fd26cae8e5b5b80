#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The vmnet-krunkit row with stand-ins for krunkit and vmnet-run: the control plane over vsock, and
what happens without it."""

import os
import signal
import stat
import subprocess
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402


class Vmnet(harness.MachineTest):
    def setUp(self):
        super().setUp()
        for name in ("krunkit", "vmnet-run", "vmnet-helper"):
            os.symlink(os.path.join(harness.FAKE, name), os.path.join(self.bin, name))
        self.env |= {"PODMAN_MACHINE_VMNET_MACOS": "26.2",
                     "PODMAN_MACHINE_VMNET_SUPERVISOR": "process",
                     "PODMAN_MACHINE_VMNET_LEASES": os.path.join(self.top, "leases"),
                     "PODMAN_MACHINE_VMNET_MDNS": "127.0.0.1:9"}

    def create(self, *more):
        self.ok("init", "--provider", "vmnet-krunkit", "--image", self.image(), "--disk-size", "1",
                *more, "m1")

    def monitor_log(self):
        return self.text(self.machine_file("m1", "monitor.log"))

    def helper(self):
        return int(subprocess.run(["pgrep", "-f", f"{self.bin}/vmnet-helper"], text=True,
                                  capture_output=True, check=True).stdout.split()[0])

    def test_road(self):
        self.create()
        self.ok("start", "m1")
        found = self.inspect()
        self.assertEqual(found["State"], "running")
        self.assertEqual(found["Vmnet"]["Address"], "192.168.64.7")
        self.assertTrue(found["Rootful"])
        self.assertFalse(found["UserModeNetworking"])
        port = found["SSHConfig"]["Port"]
        self.assertIn(f"127.0.0.1:{port}", str(self.connections()))
        self.assertEqual(self.ok("ssh", "m1", "echo here").out, "here\n")
        api = found["ConnectionInfo"]["PodmanSocket"]["Path"]
        self.wait_for("the API socket", lambda: "answers at" in self.monitor_log())
        self.assertEqual(stat.S_IMODE(os.stat(api).st_mode), 0o600)
        argv = self.text(self.machine_file("m1", "vm.argv"))
        self.assertIn("--enable-tso", argv)
        self.assertIn("offloading=on", argv)
        self.ok("stop", "m1")
        self.assertEqual(len(self.events("vsock poweroff")), 1)
        self.assertEqual(self.events("rest"), [])
        self.assertEqual(self.state(), "stopped")
        self.ok("start", "m1")
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")

    def test_the_monitor_dies(self):
        self.create()
        self.ok("start", "m1")
        for pid in self.monitor_pids():
            os.kill(pid, signal.SIGKILL)
        self.wait_for("no monitor", lambda: not self.inspect()["Vmnet"]["Supervised"])
        self.ok("start", "m1")
        self.assertEqual(self.ok("ssh", "m1", "echo here").out, "here\n")
        self.wait_for("the report", lambda: self.inspect()["Vmnet"]["Address"] == "192.168.64.7")
        self.assertEqual(len(self.events("guest")), 1)
        self.ok("stop", "m1")

    def test_the_helper_dies(self):
        self.create()
        self.ok("start", "m1")
        self.wait_for("the helper is watched", lambda: self.helper())
        os.kill(self.helper(), signal.SIGKILL)
        self.wait_for("the loss", lambda: "vmnet-helper has ended" in
                      self.inspect()["Vmnet"]["Detail"])
        self.assertEqual(self.state(), "running")
        self.ok("stop", "m1")
        self.ok("start", "m1")
        self.assertEqual(self.inspect()["Vmnet"]["Detail"], "")
        self.ok("stop", "m1")

    def test_the_helper_dies_with_the_policy(self):
        self.create("--restart-policy", "on-failure")
        self.ok("start", "m1")
        os.kill(self.helper(), signal.SIGKILL)
        self.wait_for("a second run", lambda: len(self.events("guest")) == 2, 30)
        self.wait_for("ready", lambda: self.inspect()["Vmnet"]["Phase"] == "ready", 30)
        self.ok("stop", "m1")
        self.assertEqual(len(self.events("guest")), 2)

    def test_without_any_way(self):
        self.behave(vsock="none")
        self.create()
        done = self.run_program("start", "--timeout", "5", "m1")
        self.assertEqual(done.code, 125, str(done))
        for words in ("relay: ", "report: the guest has not reported yet", "lease: ",
                      "mDNS: nobody answers for 'm1.local' yet"):
            self.assertIn(words, done.err)


if __name__ == "__main__":
    sys.exit(harness.main())
