#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The qemu row where the host has vhost-vsock, which tests/support/vsock plays, with the real agent in
the guest: podman's API and stop go over vsock, and over ssh whatever that lacks."""

import contextlib
import hmac
import json
import os
import signal
import socket
import stat
import sys
import threading
import time

sys.dont_write_bytecode = True
import harness  # noqa: E402

SHIM = os.environ.get("PMV_HOST_VSOCK") or os.path.join(
    harness.HERE, "../../build/tests/support/vsock/host_vsock.so")
PING = b"GET /_ping HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n"
PIECES = len(PING).to_bytes(4, "big") + PING + bytes(4)
CONTROL_PORT, API_ROOT_PORT, API_USER_PORT = 5104, 5106, 5107


class Vhost(harness.MachineTest):
    def setUp(self):
        super().setUp()
        self.vsock = os.path.join(self.top, "vsock")
        os.mkdir(self.vsock)
        self.env.update(LD_PRELOAD=os.path.abspath(SHIM), PMV_VSOCK=self.vsock)
        self.env["ASAN_OPTIONS"] += ":verify_asan_link_order=0"

    def monitor_log(self, name="m1"):
        return self.text(self.machine_file(name, "monitor.log"))

    def context_id(self, name="m1"):
        return self.text(self.machine_file(name, "context-id")).strip()

    def token(self, name="m1"):
        return self.text(self.machine_file(name, "vsock-token"))

    def api(self, name="m1"):
        return self.inspect(name)["ConnectionInfo"]["PodmanSocket"]["Path"]

    def say(self, path, words, token=None):
        """What comes back for it; the guest's ports want to be told the token."""
        heard = b""
        with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(ConnectionError):
            client.settimeout(30 * harness.SLOW)
            client.connect(path)
            if token is not None:
                challenge = client.recv(32, socket.MSG_WAITALL)
                client.sendall(hmac.digest(token.encode(), challenge, "sha256"))
            client.sendall(words)
            client.shutdown(socket.SHUT_WR)
            while chunk := client.recv(4096):
                heard += chunk
        return heard

    def call_guest(self, port, words, token, name="m1"):
        """As any process of the host can."""
        return self.say(os.path.join(self.vsock, self.context_id(name), str(port)), words, token)

    def forwarders(self):
        return self.processes(f"-L {self.run_dir}/podman")

    def wait_for_api(self, how, name="m1"):
        self.wait_for(f"the API socket {how}", lambda: how in self.monitor_log(name))

    def poweroffs(self):
        return [e["words"] for e in self.events("systemctl") if "poweroff" in e["words"]]

    def test_road(self):
        self.init()
        self.assertEqual(stat.S_IMODE(os.stat(self.machine_file("m1", "vsock-token")).st_mode), 0o600)
        self.ok("start", "m1")
        self.wait_for_api("over vsock")
        self.assertEqual(stat.S_IMODE(os.stat(self.api()).st_mode), 0o600)
        # The sender has nothing more to say, and hears the answer all the same.
        self.assertTrue(self.say(self.api(), PING).endswith(b"OK"))
        self.assertEqual(self.forwarders(), [])
        self.assertIn(f"vhost-vsock-pci,guest-cid={self.context_id()},vhostfd=",
                      self.text(self.machine_file("m1", "vm.argv")))
        self.ok("stop", "m1")
        self.assertEqual(self.poweroffs(), ["--no-block poweroff"])
        self.assertEqual(self.state(), "stopped")
        self.assertFalse(os.path.exists(self.machine_file("m1", "context-id")))
        self.assertEqual(os.listdir(self.vsock), [])
        for log in ("monitor.log", "vm.log", "vm.argv"):
            self.assertNotIn(self.token(), self.text(self.machine_file("m1", log)))
        self.ok("rm", "-f", "m1")
        self.assertFalse(os.path.exists(self.data("machines", "m1")))

    def test_doctor(self):
        def finding():
            found, = (row for row in json.loads(self.run_program("doctor", "--json").out)
                      if row["Check"] == "vsock")
            return found
        self.assertEqual(finding()["Verdict"], "good")
        self.env["PMV_QEMU_WITHOUT"] = "vhost-vsock-pci"
        found = finding()
        self.assertEqual(found["Verdict"], "warning")
        self.assertIn("qemu-system-x86_64' has no vhost-vsock-pci", found["What"])
        os.rmdir(self.vsock)
        found = finding()
        self.assertEqual(found["Verdict"], "warning")
        self.assertIn("goes through ssh: cannot open '/dev/vhost-vsock'", found["What"])
        self.assertIn("modprobe vhost_vsock", found["Remedy"])

    def test_a_qemu_without_the_device(self):
        self.env["PMV_QEMU_WITHOUT"] = "vhost-vsock-pci"
        self.init()
        self.ok("start", "m1")
        self.assertIn("going on without vsock: '", self.monitor_log())
        self.wait_for("podman through ssh", lambda: self.forwarders())
        self.assertFalse(os.path.exists(self.machine_file("m1", "context-id")))
        self.ok("stop", "m1")

    def test_a_client_that_stays(self):
        """It keeps nothing of ours once the VM has ended."""
        self.init()
        self.ok("start", "m1")
        self.wait_for_api("over vsock")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.api())
            client.sendall(b"GET /_ping HTTP/1.1\r\nHost: d\r\n")
            time.sleep(1)
            self.ok("stop", "m1")
            self.wait_for("the end of all that is ours", lambda: not self.processes(" monitor "))

    def test_a_damaged_token(self):
        self.init()
        with open(self.machine_file("m1", "vsock-token"), "w", encoding="ascii") as file:
            file.write("no token\n")
        done = self.run_program("set", "--dns", "192.0.2.1", "m1")
        self.assertEqual(done.code, 125, done)
        self.assertIn("/m1/vsock-token' is damaged: remove it", done.err)
        os.unlink(self.machine_file("m1", "vsock-token"))
        self.ok("set", "--dns", "192.0.2.1", "m1")

    def test_who_may_call(self):
        self.init()
        self.ok("start", "m1")
        self.wait_for_api("over vsock")
        for port in (API_ROOT_PORT, API_USER_PORT):
            self.assertIn(b"200 OK", self.call_guest(port, PIECES, self.token()))
            for token in ("", self.token()[::-1], self.token()[:-1], self.token() + "\n"):
                self.assertEqual(self.call_guest(port, PIECES, token), b"", token)
        self.assertEqual(self.call_guest(CONTROL_PORT, b"poweroff\n", ""), b"")
        self.assertEqual(self.poweroffs(), [])
        self.assertEqual(self.state(), "running")
        self.ok("stop", "m1")

    def test_two_machines(self):
        for name in ("m1", "m2"):
            self.init(name)
            self.ok("start", name)
            self.wait_for_api("over vsock", name)
        self.assertNotEqual(self.context_id("m1"), self.context_id("m2"))
        self.assertNotEqual(self.token("m1"), self.token("m2"))
        self.assertEqual(self.call_guest(API_ROOT_PORT, PIECES, self.token("m2")), b"")
        self.ok("stop", "m1")
        self.assertTrue(self.say(self.api("m2"), PING).endswith(b"OK"))
        self.ok("stop", "m2")

    def test_many_clients_at_once(self):
        """A client that does not wait for room, as those in Go, is not refused."""
        self.init()
        self.ok("start", "m1")
        self.wait_for_api("over vsock")
        api, heard = self.api(), []
        clients = [threading.Thread(target=lambda: heard.append(self.say(api, PING)[-2:]))
                   for _ in range(200)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self.assertEqual(heard, [b"OK"] * 200)
        self.ok("stop", "m1")

    def test_both_directions_at_once(self):
        """A guest that writes before it has read all, as what echoes does."""
        self.init()
        self.ok("start", "m1")
        self.wait_for_api("over vsock")
        size, heard = 48 << 20, 0
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60 * harness.SLOW)
            client.connect(self.api())
            client.sendall(b"POST /echo HTTP/1.1\r\nHost: d\r\n\r\n")

            def send():
                client.sendall(bytes(size))
                client.shutdown(socket.SHUT_WR)
            threading.Thread(target=send, daemon=True).start()
            while chunk := client.recv(65536):
                heard += len(chunk)
        self.assertEqual(heard, size)
        self.ok("stop", "m1")

    def test_the_monitor_dies(self):
        self.init()
        self.ok("start", "m1")
        self.wait_for_api("over vsock")
        before = self.context_id()
        for pid in self.monitor_pids():
            os.kill(pid, signal.SIGKILL)
        self.wait_for("no monitor", lambda: not self.inspect()["Vmnet"]["Supervised"])
        self.ok("start", "m1")
        self.wait_for("the API socket again", lambda: self.say(self.api(), PING).endswith(b"OK"))
        self.assertEqual(self.context_id(), before)
        self.assertEqual(self.forwarders(), [])
        # And of one that nobody looks after: stop asks the guest itself.
        for pid in self.monitor_pids():
            os.kill(pid, signal.SIGKILL)
        self.ok("stop", "m1")
        self.assertEqual(self.poweroffs(), ["--no-block poweroff"])
        self.assertEqual(len(self.events("guest")), 1)

    def test_a_host_that_has_it_now_and_then(self):
        self.init()
        os.rmdir(self.vsock)
        self.ok("start", "m1")
        self.wait_for_api("going on without vsock: cannot open '/dev/vhost-vsock'")
        self.wait_for("the API over ssh", lambda: self.forwarders())
        self.assertNotIn("vsock", self.text(self.machine_file("m1", "vm.argv")))
        self.ok("stop", "m1")
        self.assertEqual(self.poweroffs(), ["poweroff"])
        os.mkdir(self.vsock)
        self.ok("start", "m1")
        self.wait_for_api("over vsock")
        self.ok("stop", "m1")

    def test_a_guest_without_the_agent(self):
        self.behave(agent="none")
        self.init()
        self.ok("start", "m1")
        self.wait_for_api("going on with ssh for the API socket")
        self.wait_for("the API over ssh", lambda: self.say(self.api(), PING).endswith(b"OK"))
        self.ok("stop", "m1")
        self.assertEqual(self.poweroffs(), ["poweroff"])

    def test_a_machine_of_before(self):
        """Its guest was set up without a token."""
        self.init()
        os.unlink(self.machine_file("m1", "vsock-token"))
        self.ok("start", "m1")
        self.assertNotIn("vsock", self.text(self.machine_file("m1", "vm.argv")))
        self.wait_for("the API over ssh", lambda: self.forwarders())
        self.ok("stop", "m1")


if __name__ == "__main__":
    harness.main()
