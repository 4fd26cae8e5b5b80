#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""What the host gives to the guest: a playbook for the first boot, trusted certificates at each
start."""

import base64
import gzip
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402

IMPORTED = "The host trusted CA certificates have been imported successfully\n"
FAILED = ("Warning: Failed to import host trusted CA certificates. The machine will start without "
          "them.\n")
OURS = "/usr/local/share/ca-certificates/podman-machine-vmnet"


class Given(harness.MachineTest):
    def user_data(self):
        text = subprocess.run(["bsdtar", "-xOf", self.machine_file("m1", "cidata.iso"),
                               "user-data"], capture_output=True, check=True).stdout
        return json.loads(text.split(b"\n", 1)[1])

    def put(self, name, content):
        path = os.path.join(self.top, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def test_a_playbook_is_in_the_seed(self):
        content = b"- hosts: localhost # \xe2\x82\xac\n  tasks: []\n"
        self.init("m1", "--playbook", self.put("play book", content))
        files = {file["path"]: file for file in self.user_data()["write_files"]}
        found = files["/var/lib/podman-machine-vmnet/playbook.yaml"]
        self.assertEqual(gzip.decompress(base64.b64decode(found["content"])), content)
        provision = files["/usr/local/sbin/podman-machine-vmnet-provision"]["content"]
        self.assertIn(b"\nPLAYBOOK='/var/lib/podman-machine-vmnet/playbook.yaml'\n",
                      gzip.decompress(base64.b64decode(provision)))
        self.ok("rm", "--force", "m1")
        self.init("m1")
        self.assertNotIn("playbook.yaml", str(self.user_data()))

    def test_what_is_no_playbook(self):
        for name, content, words in (
                ("binary", b"a\0b", f"playbook '{self.top}/binary' is not a text"),
                ("large", b"#" * ((1 << 20) + 1),
                 f"'{self.top}/large' is larger than 1048576 bytes")):
            self.refused("init", "--image", "/dev/null", "--playbook", self.put(name, content),
                         "m1", words=words)
        self.refused("init", "--image", "/dev/null", "--playbook", f"{self.top}/none", "m1",
                     words=f"open {self.top}/none: no such file or directory")
        self.refused("init", "--image", "/dev/null", "--playbook", self.top, "m1")
        self.assertFalse(os.path.exists(self.data("machines", "m1")))

    def test_what_provisioning_has_to_say_is_told_once(self):
        said = "the playbook failed:\nTASK [one]\nfatal: [localhost]: FAILED!\n"
        self.behave(notice=said)
        self.init()
        done = self.ok("start", "--quiet", "m1")
        self.assertEqual(done.err, "Warning: " + said)
        self.ok("stop", "m1")
        self.assertEqual(self.ok("start", "--quiet", "m1").err, "")

    # --- certificates ---------------------------------------------------------------------

    def certificate(self, name):
        path = os.path.join(self.anchors, name)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-keyout", "/dev/null", "-out", path, "-subj", f"/CN={name}"],
                       capture_output=True, check=True)
        return self.text(path)

    def anchors_of_its_own(self):
        self.anchors = os.path.join(self.top, "anchors")
        os.mkdir(self.anchors)
        self.env["PODMAN_MACHINE_VMNET_ANCHORS"] = self.anchors

    def in_guest(self, *words, **how):
        return self.ok("ssh", "m1", *words, **how).out

    def updates(self):
        return len(self.events("update-ca-certificates"))

    def test_certificates_at_each_start(self):
        self.anchors_of_its_own()
        one, two = self.certificate("1.crt"), self.certificate("2.crt")
        self.init("m1", "--import-native-ca")
        self.assertIn(IMPORTED, self.ok("start", "m1").out)
        self.assertEqual(self.in_guest(f"cat {OURS}-001.crt"), one)
        self.assertEqual(self.in_guest(f"cat {OURS}-002.crt"), two)
        self.assertEqual(self.updates(), 1)
        self.ok("stop", "m1")
        os.unlink(os.path.join(self.anchors, "1.crt"))
        self.assertEqual(self.ok("start", "--quiet", "m1").out,
                         'Machine "m1" started successfully\n')
        self.assertEqual(self.in_guest(f"cat {OURS}-001.crt"), two)
        self.assertEqual(self.updates(), 2)
        self.ok("stop", "m1")
        # What is the same is not done again.
        done = self.ok("start", "--format", "json", "m1")
        self.assertNotIn("imported", done.out)
        self.assertEqual(self.updates(), 2)
        self.ok("stop", "m1")

        # Not wanted any more: they go.
        self.ok("set", "--import-native-ca=false", "m1")
        self.assertNotIn("imported", self.ok("start", "m1").out)
        self.assertEqual(self.in_guest(f"ls {os.path.dirname(OURS)}"), "")
        self.assertEqual(self.updates(), 3)
        self.ok("stop", "m1")
        self.ok("set", "--import-native-ca", "m1")
        self.assertIn(IMPORTED, self.ok("start", "m1").out)
        self.assertEqual(self.in_guest(f"cat {OURS}-001.crt"), two)

    def test_certificates_when_started_at_login(self):
        self.anchors_of_its_own()
        one = self.certificate("1.crt")
        self.init("m1", "--import-native-ca")
        monitor = self.start_program("monitor", "--at-login", "m1")
        self.wait_for("the machine", lambda: self.state() == "running")
        self.wait_for("the certificates", self.updates)
        self.assertEqual(self.in_guest(f"cat {OURS}-001.crt"), one)
        self.ok("stop", "m1")
        self.assertEqual(self.finish_program(monitor).code, 0)

    def test_certificates_that_cannot_be_had(self):
        self.anchors_of_its_own()
        self.behave(trust_status=7)
        self.init("m1", "--import-native-ca")
        done = self.ok("start", "m1")
        self.assertIn(IMPORTED, done.out)
        self.assertIn("no trusted CA certificates of its own", done.err)
        self.ok("stop", "m1")

        self.certificate("1.crt")
        done = self.ok("start", "m1")
        self.assertIn(FAILED, done.out)
        self.assertIn("Failed to import native CA certificates: exit status 7 in the guest",
                      done.err)
        self.ok("stop", "m1")
        self.env["PODMAN_MACHINE_VMNET_ANCHORS"] = ""
        self.env["PODMAN_MACHINE_VMNET_MACOS"] = "26.2"
        self.env["PODMAN_MACHINE_VMNET_SUPERVISOR"] = "process"
        done = self.ok("start", "--quiet", "m1")  # without /usr/bin/security
        self.assertIn(FAILED, done.out)
        self.assertIn("Failed to import native CA certificates: cannot run 'security'", done.err)
        self.assertEqual(self.state(), "running")


if __name__ == "__main__":
    sys.exit(harness.main())
