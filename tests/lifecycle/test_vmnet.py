#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The vmnet-krunkit row: the control plane over vsock, the network that vmnet-helper makes, and what
happens without either."""

import os
import signal
import socket
import stat
import sys

sys.dont_write_bytecode = True
import mac  # noqa: E402


# What socat and nc -U do.
THROUGH = """
import os, socket, sys, threading
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
def up():
    while d := os.read(0, 65536): s.sendall(d)
    s.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while d := s.recv(65536): os.write(1, d)
"""


class Vmnet(mac.MacTest):
    def helper(self):
        return self.helpers()[0]

    def leased(self):
        return next((lease["ip_address"] for lease in self.world.read_leases()
                     if lease["name"] == "m1"), None)

    def say_all(self, path):
        """What comes back for a request whose sender has nothing more to say."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(20)
            client.connect(path)
            client.sendall(b"GET /_ping HTTP/1.1\r\n\r\n")
            client.shutdown(socket.SHUT_WR)
            heard = b""
            while chunk := client.recv(4096):
                heard += chunk
            return heard

    def test_road(self):
        self.create()
        self.ok("start", "m1")
        found = self.inspect()
        self.assertEqual(found["State"], "running")
        self.wait_for("the report", lambda: self.inspect()["Vmnet"]["Address"])
        self.assertEqual(self.inspect()["Vmnet"]["Address"], self.leased())
        self.assertTrue(found["Rootful"])
        self.assertFalse(found["UserModeNetworking"])
        port = found["SSHConfig"]["Port"]
        self.assertIn(f"127.0.0.1:{port}", str(self.connections()))
        self.assertEqual(self.ok("ssh", "m1", "echo here").out, "here\n")
        sshd = os.path.join(self.run_dir, "podman", "m1-sshd.sock")
        self.assertEqual(stat.S_IMODE(os.stat(sshd).st_mode), 0o600)
        through = os.path.join(self.top, "through.py")
        with open(through, "w", encoding="utf-8") as file:
            file.write(THROUGH)
        done = self.run_program(
            "-F", "none", "-q", "-i", self.machine_file("m1", "id_ed25519"),
            "-o", f"UserKnownHostsFile={self.machine_file('m1', 'known_hosts')}",
            "-o", "StrictHostKeyChecking=yes", "-o", "HostKeyAlias=podman-machine-vmnet",
            "-o", f"ProxyCommand={sys.executable} {through} {sshd}", "root@m1", "echo there",
            program="ssh")
        self.assertEqual(done.out, "there\n", str(done))
        api = found["ConnectionInfo"]["PodmanSocket"]["Path"]
        self.wait_for("the API socket", lambda: "answers at" in self.monitor_log())
        self.assertEqual(stat.S_IMODE(os.stat(api).st_mode), 0o600)
        self.assertTrue(self.say_all(api).endswith(b"all is heard"))
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
        self.wait_for("the report", lambda: self.inspect()["Vmnet"]["Address"] == self.leased())
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
        self.world.stop_bootpd()
        self.create()
        done = self.run_program("start", "--timeout", "5", "m1")
        self.assertEqual(done.code, 125, str(done))
        for words in ("relay: ", "report: the guest has not reported yet", "lease: ",
                      "mDNS: nobody answers for 'm1.local' yet"):
            self.assertIn(words, done.err)


if __name__ == "__main__":
    mac.main()
