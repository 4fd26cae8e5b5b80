#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""set, of what podman's machines do not have: what the next start makes of it, and what is refused
before anything is changed."""

import json
import subprocess
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402


class Set(harness.MachineTest):
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


if __name__ == "__main__":
    sys.exit(harness.main())
