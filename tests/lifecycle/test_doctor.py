#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""doctor, with stand-ins for a Mac's programs, in a network of its own."""

import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402

TOOLS = {
    "krunkit": "echo krunkit 1.3.1",
    "vfkit": "echo vfkit version: v0.6.1",
    "vmnet-run": "echo version: v0.13.0",
    "vmnet-helper": "",
    "launchctl": r"[ $1 = list ] && printf -- '-\t0\tio.github.podman-machine-vmnet.lost\n'",
    "socketfilterfw": "case $1 in --getglobalstate) echo 'Firewall is enabled. (State = 1)' ;; "
                      "*) echo 'Incoming connection to the application is blocked' ;; esac",
    "sysctl": "[ $2 = kern.hv_vmm_present ] && echo 0 || echo 1",
    "defaults": "echo 192.168.77.1",
}
VPN = ("ip link add utun4 type veth && ip addr add 192.168.{}.9/24 dev utun4 && "
       "ip link set utun4 up && exec \"$0\" \"$@\"")


class Doctor(harness.MachineTest):
    def setUp(self):
        super().setUp()
        for name, script in TOOLS.items():
            path = os.path.join(self.bin, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + script + "\n")
            os.chmod(path, 0o755)
        self.env |= {"PODMAN_MACHINE_VMNET_MACOS": "26.2"}

    def findings(self, third_byte, code):
        done = self.run_program("--user", "--map-root-user", "--net", "sh", "-c",
                                VPN.format(third_byte), harness.BINARY, "doctor", "--json",
                                program="unshare")
        self.assertEqual(done.code, code, done)
        found = json.loads(done.out)
        for row in found:
            self.assertEqual(row["Remedy"] == "", row["Verdict"] == "good", row)
        return {(row["Check"], row["Verdict"]): row["What"] + " | " + row["Remedy"]
                for row in found}

    def test_everything_wrong(self):
        found = self.findings(77, 125)
        self.assertIn("interface utun4 is in 192.168.77.0/24, where the machines' addresses are "
                      "(192.168.77.0/24)", found["subnet", "warning"])
        self.assertIn("Shared_Net_Address", found["subnet", "warning"])
        self.assertIn("a VPN is up (utun4)", found["vpn", "warning"])
        self.assertIn("blocks bootpd", found["firewall", "bad"])
        self.assertIn("--unblockapp", found["firewall", "bad"])
        self.assertIn("machine \"lost\", which is gone", found["jobs", "warning"])
        self.assertIn("vfkit 0.6.1", found["tools", "warning"])

    def test_another_network(self):
        self.assertIn("no other network has the addresses of the machines, 192.168.77.0/24",
                      self.findings(64, 125)["subnet", "good"])

    def test_a_machine_with_a_wrong_clock(self):
        del self.env["PODMAN_MACHINE_VMNET_MACOS"]
        self.init()
        self.ok("start", "m1")
        done = self.run_program("doctor", "--json")
        self.assertIn('"machine \\"m1\\" has the right time"', done.out)
        self.ok("ssh", "--username", "root", "m1",
                "printf '#!/bin/sh\\necho 1000\\n' >/usr/local/sbin/date; "
                "chmod 755 /usr/local/sbin/date")
        clock = [row for row in json.loads(self.run_program("doctor", "--json").out)
                 if row["Check"] == "clock"][0]
        self.assertRegex(clock["What"], r'the clock of machine "m1" is -\d{9,} s off')
        self.assertEqual(clock["Remedy"],
                         "run `podman-machine-vmnet ssh m1 sudo chronyc makestep`")


def missing():
    probe = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c",
             "ip link add utun4 type veth"]
    if not shutil.which("ip") or subprocess.run(probe, capture_output=True).returncode != 0:
        return "no network namespaces with veth here"
    return harness.missing()


if __name__ == "__main__":
    sys.exit(harness.main(missing()))
