#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""What tools on a Mac see of a machine of the vmnet-krunkit row, with stand-ins for krunkit,
vmnet-run and the podman behind us. tests/vm has the same tools with a real guest and QEMU."""

import json
import os
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
import podman_test as harness  # noqa: E402
import mac  # noqa: E402
import network  # noqa: E402


class Mac(harness.PodmanTest):
    def setUp(self):
        super().setUp()
        world = self.enterContext(network.World(os.path.join(self.top, "world")))
        for name in ("krunkit", "vmnet-run", "vmnet-helper"):
            folder = harness.lifecycle.FAKE if name == "krunkit" else harness.lifecycle.MACOS
            os.symlink(os.path.join(folder, name), os.path.join(self.bin, name))
        self.env |= world.environment | {
            "PODMAN_MACHINE_VMNET_MACOS": "26.2", "PODMAN_MACHINE_VMNET_SUPERVISOR": "process",
            "PODMAN_MACHINE_VMNET_MDNS": "127.0.0.1:9"}
        del self.env["CONTAINERS_MACHINE_PROVIDER"]
        self.good("machine", "init", "--provider", "vmnet-krunkit", "--image", self.image(),
                  "--disk-size", "1", "box")

    def desktop(self, provider, *argv):
        return self.good(*argv, env={"CONTAINERS_MACHINE_PROVIDER": provider}, timeout=120)

    def test_podman_desktop(self):
        self.real_machine("theirs")
        answers = {provider: json.loads(self.desktop(provider, "machine", "list", "--format",
                                                     "json").out)
                   for provider in ("applehv", "libkrun")}
        self.assertEqual([m["Name"] for m in answers["applehv"]], ["theirs"])
        box = [m for m in answers["libkrun"] if m["Name"] == "box"]
        self.assertEqual([(m["VMType"], m["Running"], m["Starting"]) for m in box],
                         [("libkrun", False, False)])
        self.desktop("libkrun", "machine", "start", "box")
        path = self.desktop("libkrun", "machine", "inspect", "--format",
                            "{{.ConnectionInfo.PodmanSocket.Path}}", "box").out.rstrip("\n")
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(20)
            client.connect(path)
            client.sendall(b"GET /_ping HTTP/1.0\r\nHost: d\r\n\r\n")
            self.assertIn(" 200 ", client.makefile().readline())
        # Its terminal goes to this host, never to the guest's own address.
        box = json.loads(self.desktop("libkrun", "machine", "list", "--format", "json").out)[0]
        self.assertEqual((box["Name"], box["Running"]), ("box", True))
        done = subprocess.run(
            ["ssh", "-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "IdentitiesOnly=yes",
             "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR",
             "-i", box["IdentityPath"], "-p", str(box["Port"]),
             f"{box['RemoteUsername']}@localhost", "echo here"],
            capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.stdout, "here\n", done.stderr)
        self.desktop("libkrun", "machine", "stop", "box")
        self.desktop("libkrun", "machine", "set", "box", "--memory", "1024", "--rootful=false")
        self.desktop("libkrun", "machine", "rm", "-f", "box")
        self.assertEqual([m["Name"] for m in self.listed()], ["theirs"])
        self.assertEqual([call["argv"] for call in self.calls()
                          if call["argv"][1] not in ("list", "inspect")], [])

    def test_ramalama(self):
        done = self.good("machine", "list", "--format", "json", "--all-providers")
        self.assertEqual([(m["Name"], "krun" in m["VMType"], m["Running"])
                          for m in json.loads(done.out)], [("box", True, False)])

    def test_testcontainers(self):
        """Published ports are on the machine's own address, and it would look at localhost."""
        command = ("machine", "env", "--shell", "bash", "box")
        self.assertNotIn("TESTCONTAINERS_HOST_OVERRIDE", self.good(*command).out)
        self.good("machine", "start", "box", timeout=120)
        script = f'eval "$({self.top}/front/podman {" ".join(command)})" && ' \
                 'echo "$DOCKER_HOST $TESTCONTAINERS_HOST_OVERRIDE ' \
                 '$TESTCONTAINERS_DOCKER_SOCKET_OVERRIDE"'
        done = subprocess.run(["bash", "-c", script], env=self.env, capture_output=True, text=True,
                              check=False, timeout=60)
        address = json.loads(self.good("machine", "inspect", "box").out)[0]["Vmnet"]["Address"]
        self.assertRegex(address, r"^192\.168\.64\.\d+$")
        self.assertEqual(done.stdout, f"unix://{self.run_dir}/podman/box-api.sock {address} "
                                      "/var/run/docker.sock\n", done.stderr)
        self.good("machine", "rm", "-f", "box")


if __name__ == "__main__":
    mac.main()
