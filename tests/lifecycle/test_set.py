#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""set, of what podman's machines do not have: what the next start makes of it, and what is refused
before anything is changed."""

import json
import os
import plistlib
import subprocess
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402
import mac  # noqa: E402


class Set(mac.MacTest):
    def on_a_mac(self):
        self.set_environment(PODMAN_MACHINE_VMNET_SUPERVISOR="process")
        self.ok("init", "--provider", "vmnet-krunkit", "--image", self.image(), "--disk-size", "1",
                "m1")

    def settings(self):
        vmnet = self.inspect()["Vmnet"]
        return {key: vmnet[key] for key in ("Network", "Isolated", "Offload", "DNS",
                                            "RestartPolicy", "Autostart")}

    def record(self):
        return self.text(self.machine_file("m1", "machine.json"))

    def seed_dns(self):
        text = subprocess.run(["bsdtar", "-xOf", self.machine_file("m1", "cidata.iso"),
                               "network-config"], capture_output=True, check=True).stdout
        return json.loads(text)["ethernets"]["eth0"].get("nameservers", {}).get("addresses")

    def nmcli(self):
        return [event["words"] for event in self.events("nmcli") if "modify" in event["words"]]

    def test_the_network(self):
        self.on_a_mac()
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
        self.on_a_mac()
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

    def test_a_qemu_machine_has_no_such_network(self):
        self.init()
        before = self.record()
        for option in ("--network=shared", "--isolated", "--offload=auto"):
            self.refused("set", option, "m1",
                         words="--network, --isolated and --offload are for the vmnet providers: "
                               "qemu has a network of its own kind")
        self.assertEqual(self.record(), before)
        self.ok("set", "--restart-policy", "on-failure", "m1")
        self.assertEqual(self.settings()["RestartPolicy"], "on-failure")
        self.assertEqual(self.settings()["Network"], "")

    def test_dns_before_the_first_boot(self):
        self.init("m1", "--dns", "192.0.2.1")
        self.assertEqual(self.seed_dns(), ["192.0.2.1"])
        self.ok("set", "--dns", "192.0.2.2", "--dns", "2001:db8::2", "m1")
        self.assertEqual(self.seed_dns(), ["192.0.2.2", "2001:db8::2"])
        self.assertEqual(self.settings()["DNS"], ["192.0.2.2", "2001:db8::2"])

    def test_dns_of_a_guest_that_was_set_up(self):
        self.init()
        self.ok("start", "m1")
        self.ok("stop", "m1")
        self.assertEqual(self.nmcli(), [])
        self.ok("set", "--dns", "192.0.2.2", "--dns", "2001:db8::2", "--dns", "192.0.2.3", "m1")
        self.ok("start", "m1")
        wanted = ["connection modify cloud-init eth0 ipv4.dns 192.0.2.2 192.0.2.3 "
                  "ipv6.dns 2001:db8::2"]
        self.assertEqual(self.nmcli(), wanted)
        self.assertEqual(self.events("nmcli")[-1]["words"], "device reapply eth0")
        self.ok("stop", "m1")
        self.ok("start", "m1")
        self.assertEqual(self.nmcli(), wanted)
        self.ok("stop", "m1")
        self.ok("set", "--dns", "", "m1")
        self.assertEqual(self.settings()["DNS"], [])
        self.ok("start", "m1")
        self.assertEqual(self.nmcli(), wanted + ["connection modify cloud-init eth0 ipv4.dns  "
                                                 "ipv6.dns "])
        self.ok("stop", "m1")

    def test_dns_of_a_guest_that_cannot(self):
        self.behave(network="ifupdown")
        self.init()
        self.ok("set", "--dns", "192.0.2.2", "m1")
        done = self.ok("start", "m1")
        self.assertIn("the guest does not use the DNS servers that it was given: its network is "
                      "run by neither NetworkManager nor systemd-networkd", done.err)
        self.ok("stop", "m1")
        self.behave()
        self.ok("start", "m1")
        self.assertEqual(len(self.nmcli()), 1)

    def test_dns_when_started_at_login(self):
        self.init()
        self.ok("set", "--dns", "192.0.2.2", "m1")
        monitor = self.start_program("monitor", "--at-login", "m1")
        self.wait_for("the guest is told", lambda: len(self.nmcli()) == 1)
        self.wait_for("the record", lambda: "dns_changed" not in self.record())
        self.assertEqual(self.state(), "running")
        self.ok("stop", "m1")
        self.assertEqual(self.finish_program(monitor).code, 0)
        self.wait_for("the end of all processes", lambda: not self.processes())

    def test_autostart(self):
        self.on_a_mac()
        self.refused("set", "--autostart", "m1")
        self.assertFalse(self.settings()["Autostart"])
        self.ok("set", "--autostart=false", "m1")

        self.env["PODMAN_MACHINE_VMNET_SUPERVISOR"] = "launchd"
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


if __name__ == "__main__":
    mac.main()
