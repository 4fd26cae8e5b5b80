#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""set on a Mac: the vmnet network, and the start at login."""

import os
import plistlib
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402
import mac  # noqa: E402


class Set(mac.MacTest):
    def settings(self):
        vmnet = self.inspect()["Vmnet"]
        return {key: vmnet[key] for key in ("Network", "Isolated", "Offload", "DNS",
                                            "RestartPolicy", "Autostart")}

    def record(self):
        return self.text(self.machine_file("m1", "machine.json"))

    def test_the_network(self):
        self.create()
        default = {"Network": "shared", "Isolated": False, "Offload": "auto", "DNS": [],
                   "RestartPolicy": "no", "Autostart": False}
        self.assertEqual(self.settings(), default)
        done = self.ok("set", "--network", "host", "--isolated", "--offload", "off",
                       "--restart-policy", "on-failure", "m1")
        self.assertEqual(done.out + done.err, "")
        self.assertEqual(self.settings(), default | {
            "Network": "host", "Isolated": True, "Offload": "off", "RestartPolicy": "on-failure"})
        self.ok("start", "m1")
        argv = self.text(self.machine_file("m1", "vm.argv"))
        self.assertIn("--operation-mode host --enable-isolation --", argv)
        self.assertNotIn("--enable-tso", argv)
        self.refused("set", "--network", "shared", "m1",
                     words="unable to change settings unless vm is stopped")
        self.ok("stop", "m1")

        # One at a time; the others stay.
        self.ok("set", "--isolated=false", "m1")
        self.ok("set", "--network", "bridged:en0", "m1")
        self.assertEqual(self.settings(), default | {
            "Network": "bridged:en0", "Offload": "off", "RestartPolicy": "on-failure"})
        self.ok("set", "--offload=auto", "--restart-policy=no", "--network=shared", "m1")
        self.assertEqual(self.settings(), default)

    def test_refused(self):
        self.create()
        before = self.record()
        for words, *argv in (
                ('invalid network "x": there are shared, host, bridged:INTERFACE and broker:NAME',
                 "--network", "x"),
                ("a bridged machine cannot be isolated", "--isolated", "--network", "bridged:en0"),
                ('invalid offload "x": there are auto, on and off', "--offload", "x"),
                ('invalid restart policy "x": there are no and on-failure', "--restart-policy",
                 "x"),
                ('invalid DNS server "x": give its IP address', "--dns", "1.1.1.1", "--dns", "x"),
                ('invalid DNS server "": give its IP address', "--dns", "", "--dns", ""),
        ):
            self.refused("set", "--rootful=false", "--disk-size", "2", *argv, "m1", words=words)
        self.assertEqual(self.record(), before)
        self.assertEqual(os.path.getsize(self.machine_file("m1", "disk.raw")), 1 << 30)

    def test_autostart(self):
        self.create()
        done = self.refused("set", "--autostart", "m1",
                            env={"PODMAN_MACHINE_VMNET_SUPERVISOR": "process"})
        self.assertIn('machine "m1" cannot be started at login on this system', done.err)
        self.assertFalse(self.settings()["Autostart"])
        self.ok("set", "--autostart=false", "m1")

        agent = os.path.join(self.home, "Library/LaunchAgents/io.github.podman-machine-vmnet."
                                        "m1.plist")
        self.ok("set", "--autostart", "m1")
        self.assertTrue(self.settings()["Autostart"])
        with open(agent, "rb") as file:
            job = plistlib.load(file)
        self.assertTrue(job["RunAtLoad"])
        self.assertEqual(job["ProgramArguments"][1:], ["monitor", "--timeout=1800", "--at-login",
                                                       "m1"])
        self.assertEqual(job["EnvironmentVariables"]["HOME"], self.home)
        # As Homebrew has it: a link on PATH, which an update leads to the next version.
        link = os.path.join(self.bin, "podman-machine-vmnet")
        os.symlink(harness.BINARY, link)
        self.ok("set", "--autostart", "m1")
        with open(agent, "rb") as file:
            self.assertEqual(plistlib.load(file)["ProgramArguments"][0], link)
        self.ok("set", "--autostart=false", "m1")
        self.assertFalse(self.settings()["Autostart"])
        self.assertFalse(os.path.exists(agent))
        self.ok("set", "--autostart", "m1")
        self.ok("rm", "-f", "m1")
        self.assertFalse(os.path.exists(agent))

    def test_login(self):
        self.create()
        self.ok("set", "--autostart", "--dns", "192.0.2.2", "m1")
        self.launchd.logout()
        self.launchd.login(self.home)
        self.wait_for("a machine that runs", lambda: self.state() == "running", 60)
        self.assertEqual(self.domains(), ["gui"])
        self.wait_for("the guest is told", lambda: "dns_changed" not in self.record())
        self.assertEqual(len([event for event in self.events("nmcli")
                              if "ipv4.dns 192.0.2.2" in event["words"]]), 1)
        self.ok("stop", "m1")
        self.ok("set", "--autostart=false", "m1")
        self.launchd.logout()
        self.launchd.login(self.home)
        self.assertEqual(self.domains(), [])
        self.ok("rm", "-f", "m1")


if __name__ == "__main__":
    mac.main()
