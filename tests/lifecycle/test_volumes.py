#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""Volumes: from init's words to QEMU's, what serves them, and what a start makes of the guest's
word on them."""

import hashlib
import os
import signal
import sys

import harness


def tag(target):
    return hashlib.sha256(target.encode()).hexdigest()[:36]


class Volumes(harness.MachineTest):
    def folder(self, name):
        path = os.path.join(self.top, name)
        os.makedirs(path, exist_ok=True)
        return path

    def words(self):
        """QEMU's, of the last start."""
        return self.events("run")[-1]["argv"]

    def mounts(self, name="m1"):
        return self.inspect(name)["Vmnet"]["Mounts"]

    def served(self):
        """The folders, in no order: each virtiofsd tells by itself."""
        return sorted(e["folder"] for e in self.events("virtiofsd"))

    def test_defaults(self):
        """podman's: the home folder, and the configuration at the guest's /etc/containers."""
        self.init()
        config = os.path.join(self.home, ".config/containers")
        self.assertEqual([(m["Source"], m["Target"], m["ReadOnly"]) for m in self.mounts()],
                         [(self.home, self.home, False), (config, "/etc/containers", False)])
        self.assertEqual(self.mounts()[1]["Tag"], "9ddeaea5d41a791d2cc3bcc676b9645fee0e")
        self.ok("start", "m1")
        self.assertEqual(self.served(), [self.home, config])
        self.ok("stop", "m1")
        self.wait_for("their end", lambda: len(self.events("virtiofsd ends")) == 2, 5)
        self.ok("rm", "--force", "m1")
        self.assert_nothing_left("m1")
        self.assertTrue(os.path.isdir(config))

    def test_none(self):
        self.init("m1", "--volume", "")
        self.assertEqual(self.mounts(), [])
        self.ok("start", "m1")
        self.assertEqual(self.served(), [])
        self.assertFalse([word for word in self.words() if "memory-backend" in word])
        self.assertEqual(self.state(), "running")

    def test_containers_conf(self):
        config = os.path.join(self.home, ".config/containers")
        os.makedirs(config)
        with open(os.path.join(config, "containers.conf"), "w", encoding="utf-8") as file:
            file.write("[machine]\nvolumes = ['$HOME:/src:ro']\n")
        self.init()
        self.assertEqual([(m["Source"], m["Target"], m["ReadOnly"]) for m in self.mounts()],
                         [(self.home, "/src", True)])
        self.init("m2", "--volume", f"{self.top}:/top")
        self.assertEqual([m["Target"] for m in self.mounts("m2")], ["/top"])

    def test_virtiofs(self):
        odd = self.folder("a b,c=d 'e' \"ü\" " + 100 * "l")
        link = os.path.join(self.top, "link")
        os.symlink(odd, link)
        self.init("m1", "--volume", f"{odd}:/odd", "--volume", f"{link}:/link:ro",
                  "--volume", "tmp:/relative")
        self.assertEqual(self.mounts()[2]["Source"], os.path.join(self.top, "tmp"))
        self.ok("start", "m1")
        self.assertEqual(self.served(), sorted([odd, odd, os.path.join(self.top, "tmp")]))
        read_only = sorted("--readonly" in e["argv"] for e in self.events("virtiofsd"))
        self.assertEqual(read_only, [False, False, True])
        for target in ("/odd", "/link", "/relative"):
            self.assertTrue([w for w in self.words()
                             if w.startswith("vhost-user-fs-pci,") and w.endswith("tag=" + tag(target))])
        self.ok("stop", "m1")
        self.wait_for("their end", lambda: not self.processes("virtiofsd"), 5)
        self.assertEqual([name for name in os.listdir(os.path.join(self.run_dir, "podman"))
                          if "-fs" in name], [])

    def test_an_older_virtiofsd(self):
        """It cannot refuse writes: the guest's mount alone does."""
        self.behave(virtiofsd="1.10")
        self.init("m1", "--volume", f"{self.top}:/top:ro")
        self.ok("start", "m1")
        self.assertNotIn("--readonly", self.events("virtiofsd")[0]["argv"])

    def test_9p(self):
        """Where there is no virtiofsd that can be used; QEMU's own syntax doubles commas."""
        self.behave(virtiofsd="in C")
        odd = self.folder("a,b c=d")
        self.init("m1", "--volume", f"{odd}:/odd:ro,security_model=mapped-xattr",
                  "--volume", f"{self.top}:/top")
        self.ok("start", "m1")
        shares = [value for word, value in zip(self.words(), self.words()[1:])
                  if word == "-fsdev" or "9p" in value]
        self.assertEqual(shares, [
            "local,id=fs0,security_model=mapped-xattr,readonly=on,multidevs=remap,path="
            + odd.replace(",", ",,"), f"virtio-9p-pci,fsdev=fs0,mount_tag={tag('/odd')[:31]}",
            f"local,id=fs1,security_model=none,multidevs=remap,path={self.top}",
            f"virtio-9p-pci,fsdev=fs1,mount_tag={tag('/top')[:31]}"])
        self.assertEqual(self.served(), [])

    def test_a_source_that_is_gone(self):
        """init takes it, as podman does; start names it, before anything runs."""
        gone = os.path.join(self.top, "gone")
        self.init("m1", "--volume", f"{gone}:/gone")
        self.refused("start", "m1", words=f"cannot share '{gone}' with the machine: "
                                          "No such file or directory")
        self.assertEqual(self.events("guest"), [])
        self.assertEqual(self.state(), "stopped")
        with open(gone, "w", encoding="utf-8"):
            pass
        self.refused("start", "m1",
                     words=f"cannot share '{gone}' with the machine: it is not a folder")
        os.unlink(gone)
        os.mkdir(gone)
        self.ok("start", "m1")

    def test_a_default_that_is_gone(self):
        self.env["PODMAN_CONNECTIONS_CONF"] = os.path.join(self.top, "connections.json")
        config = os.path.join(self.home, ".config/containers")
        self.init()
        os.rmdir(config)
        done = self.ok("start", "m1")
        self.assertIn(f"cannot share '{config}' with the machine: No such file", done.err)
        self.assertEqual(self.served(), [self.home])

    def test_the_guest_cannot_mount(self):
        self.behave(volumes=f"{tag('/top')} mount: unknown filesystem\n")
        self.init("m1", "--volume", f"{self.top}:/top")
        done = self.refused("start", "m1")
        self.assertIn(f"cannot mount volume '{self.top}' at '/top' in the guest: "
                      "mount: unknown filesystem\n", done.err)
        self.assertEqual(self.state(), "stopped")

    def test_the_guest_cannot_mount_a_default(self):
        """Nobody asked for it: the machine is ready, and says what it lacks."""
        self.behave(volumes=f"{tag('/etc/containers')} no overlay\n")
        self.init()
        done = self.ok("start", "m1")
        text = (f"cannot mount volume '{self.home}/.config/containers' at '/etc/containers' in "
                "the guest: no overlay")
        self.assertIn(text, done.err)
        self.assertEqual(self.inspect()["Vmnet"]["Detail"], text)

    def test_the_guests_unit_fails(self):
        self.behave(volumes_unit="failed")
        self.init("m1", "--volume", f"{self.top}:/top")
        done = self.refused("start", "m1")
        self.assertIn("podman-machine-vmnet-volumes.service has failed in the guest", done.err)

    def test_virtiofsd_dies(self):
        self.init("m1", "--volume", f"{self.top}:/top", "--volume", f"{self.home}:/home/host")
        self.ok("start", "m1")
        os.kill(self.events("virtiofsd")[0]["pid"], signal.SIGKILL)
        self.wait_for("the monitor's notice", lambda: "virtiofsd has ended" in
                      self.inspect()["Vmnet"]["Detail"], 10)
        self.ok("stop", "m1")
        self.assertEqual(self.processes("virtiofsd"), [])

    def test_virtiofsd_does_not_start(self):
        self.behave(virtiofsd="dies")
        self.init("m1", "--volume", f"{self.top}:/top")
        done = self.refused("start", "m1")
        self.assertIn("no more of this", done.err)
        self.assertEqual(self.processes(), [])

    def test_the_monitor_is_killed(self):
        """The VM and what serves it live on, and end together."""
        self.init("m1", "--volume", f"{self.top}:/top")
        self.ok("start", "m1")
        os.kill(self.monitor_pids()[0], signal.SIGKILL)
        self.wait_for("its end", lambda: not self.monitor_pids())
        self.assertEqual(len(self.processes("virtiofsd")), 1)
        self.ok("stop", "m1")
        self.wait_for("their end", lambda: not self.processes("virtiofsd"), 5)
        self.ok("rm", "--force", "m1")
        self.assert_nothing_left("m1")


if __name__ == "__main__":
    sys.exit(harness.main())
