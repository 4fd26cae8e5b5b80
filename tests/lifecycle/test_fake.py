#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The stand-in for QEMU on its own: that it behaves like a VM, and refuses what QEMU refuses."""

import json
import os
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import harness  # noqa: E402


class FakeTest(harness.MachineTest):
    def setUp(self):
        super().setUp()
        self.port = harness.free_port()
        for name in ("key", "host"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(name)],
                           check=True)
        key = self.text(self.path("key.pub"))
        seed = {"ssh_keys": {"ed25519_private": self.text(self.path("host"))},
                "users": [{"name": "root", "ssh_authorized_keys": [key]},
                          {"name": "core", "uid": 501, "ssh_authorized_keys": [key]}]}
        with open(self.path("user-data"), "w", encoding="utf-8") as file:
            file.write("#cloud-config\n" + json.dumps(seed))
        card = {"match": {"macaddress": "52:54:00:00:00:01"}, "dhcp4": True}
        with open(self.path("network-config"), "w", encoding="utf-8") as file:
            json.dump({"version": 2, "ethernets": {"eth0": card}}, file)
        subprocess.run(["bsdtar", "-cf", self.path("cidata.iso"), "--format", "iso9660",
                        "-C", self.top, "user-data", "network-config"], check=True)
        with open(self.path("disk.raw"), "wb") as file:
            file.truncate(1 << 20)

    def path(self, name):
        return os.path.join(self.top, name)

    def argv(self, *more):
        return [os.path.join(self.bin, "qemu-system-x86_64"), "-nodefaults", "-accel", "tcg",
                "-drive", f"if=virtio,format=raw,file={self.path('disk.raw')}",
                "-drive", f"if=virtio,format=raw,file={self.path('cidata.iso')}",
                "-netdev", f"user,id=n,hostfwd=tcp:127.0.0.1:{self.port}-:22",
                "-qmp", f"unix:{self.path('qmp.sock')},server=on,wait=off", *more]

    def boot(self, **how):
        self.behave(**how)
        process = subprocess.Popen(self.argv(), env=self.env)
        self.started.append(process)
        self.wait_for("the guest's state", lambda: "done" in str(self.events("state"))
                      or how.get("states"))
        return process

    def ssh(self, user, *command):
        return subprocess.run(
            ["ssh", "-F", "none", "-q", "-i", self.path("key"), "-p", str(self.port),
             "-o", "StrictHostKeyChecking=accept-new", "-o", f"UserKnownHostsFile={self.path('kh')}",
             "-o", "IdentitiesOnly=yes", "-o", "ConnectTimeout=10", f"{user}@127.0.0.1", *command],
            env=self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def ping(self, path):
        """GET /_ping through a forwarded socket, as a podman client does it."""
        local = self.path("forward.sock")
        if os.path.exists(local):
            os.unlink(local)
        forward = subprocess.Popen(
            ["ssh", "-F", "none", "-q", "-N", "-i", self.path("key"), "-p", str(self.port),
             "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
             "-L", f"{local}:{path}", "root@127.0.0.1"], env=self.env)
        self.started.append(forward)
        try:
            with socket.socket(socket.AF_UNIX) as peer:
                # It is there a moment before somebody listens.
                self.wait_for("the forwarded socket", lambda: peer.connect_ex(local) == 0)
                peer.sendall(b"GET /_ping HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n")
                return b"".join(iter(lambda: peer.recv(4096), b""))
        except ConnectionResetError:
            return b""
        finally:
            forward.kill()  # OpenSSH 9.2 can sleep through a SIGTERM
            forward.wait()

    def test_a_guest_to_log_in_to(self):
        process = self.boot()
        for user in ("root", "core"):
            done = self.ssh(user, "cat /var/lib/podman-machine-vmnet/state; exit 3")
            self.assertEqual((done.stdout, done.returncode), ("done\n", 3), done.stderr)
        host_key = self.text(self.path("host.pub")).split()[1]
        self.assertIn(host_key, self.text(self.path("kh")))
        self.assertIn(b"OK", self.ping("/run/podman/podman.sock"))
        self.assertIn(b"OK", self.ping("/run/user/501/podman/podman.sock"))
        self.ssh("root", "systemctl", "poweroff")
        self.assertEqual(process.wait(10), 0)
        self.assertFalse(os.path.exists(self.path("qmp.sock")))
        self.wait_for("the end of the guest", lambda: not self.processes())

    def test_a_socket_that_is_refused_until_the_rules_are_there(self):
        self.boot(streamlocal="repairable")
        self.assertEqual(self.ping("/run/podman/podman.sock"), b"")
        done = self.ssh("root", "/usr/local/sbin/podman-machine-vmnet-provision", "selinux")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"OK", self.ping("/run/podman/podman.sock"))

    def test_a_killed_one_takes_its_guest_along(self):
        process = self.boot()
        process.kill()
        process.wait()
        self.wait_for("the end of the guest", lambda: not self.processes())

    def test_the_power_button(self):
        process = self.boot()
        with socket.socket(socket.AF_UNIX) as qmp:
            qmp.connect(self.path("qmp.sock"))
            stream = qmp.makefile("rw")
            self.assertIn("QMP", json.loads(stream.readline()))
            for command in ("qmp_capabilities", "system_powerdown"):
                stream.write(json.dumps({"execute": command}))
                stream.write("\n")
                stream.flush()
                self.assertEqual(json.loads(stream.readline()), {"return": {}})
            stream.close()
        self.assertEqual(process.wait(10), 0)

    def test_state_outlives_a_reboot(self):
        for states in ([[0, "running packages\n"], [0, "done\n"]], [[0, "failed again\n"]]):
            process = self.boot(states=states)
            self.wait_for("done", lambda: self.ssh(
                "root", "cat /var/lib/podman-machine-vmnet/state").stdout == "done\n")
            self.ssh("root", "systemctl poweroff")
            process.wait(10)

    def test_tcp_before_the_guest_is_up(self):
        self.behave(boot=2, drop_connections=1)
        self.started.append(subprocess.Popen(self.argv(), env=self.env))
        self.wait_for("the VM", lambda: self.events("guest"))
        time.sleep(0.2)
        with socket.create_connection(("127.0.0.1", self.port), 5) as peer:
            self.assertEqual(peer.recv(1), b"")  # accepted, then closed: slirp with nobody there
        done = self.ssh("root", "true")
        self.assertEqual(done.returncode, 0, done.stderr)

    def assert_refuses(self, words, *more):
        done = subprocess.run(self.argv(*more), env=self.env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(words, done.stderr)

    def test_strict(self):
        self.assert_refuses("-frob: invalid option", "-frob")
        self.assert_refuses("not a valid device model", "-device", "flux-capacitor")
        self.assert_refuses("Parameter 'mac' is unexpected", "-netdev", "user,id=x,mac=1")
        self.assert_refuses("requires an argument", "-smp")
        self.assert_refuses("Could not open '/nowhere'", "-drive", "file=/nowhere")
        self.assert_refuses("Could not access KVM", "-accel", "kvm")

    def test_one_vm_for_a_disk(self):
        self.boot()
        self.assert_refuses('Failed to get "write" lock')
        self.assertEqual(len(self.events("second VM on one disk")), 1)


if __name__ == "__main__":
    sys.exit(harness.main())
