#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""init: what it refuses, downloads that go wrong, and cuts at any moment."""

import hashlib
import http.server
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import harness  # noqa: E402


class Server:
    """Serves one file, with ranges, and does what it is told wrong."""

    def __init__(self, body):
        self.body = body
        self.cut_at = None  # bytes after which the connection is closed
        self.pace = 0  # seconds between pieces
        self.etag = '"one"'
        self.requests = []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                owner.requests.append(dict(self.headers))
                if self.path != "/image.raw":
                    self.send_error(404)
                    return
                start, status = 0, 200
                wanted = self.headers.get("Range")
                if wanted and self.headers.get("If-Range") in (None, owner.etag):
                    start, status = int(wanted.split("=")[1].split("-")[0]), 206
                rest = owner.body[start:]
                self.send_response(status)
                self.send_header("ETag", owner.etag)
                self.send_header("Accept-Ranges", "bytes")
                self.send_header("Content-Length", str(len(rest)))
                if status == 206:
                    self.send_header("Content-Range",
                                     f"bytes {start}-{len(owner.body) - 1}/{len(owner.body)}")
                self.end_headers()
                if owner.cut_at is not None:
                    rest = rest[:max(0, owner.cut_at - start)]
                    self.close_connection = True
                try:
                    for at in range(0, len(rest), 65536):
                        self.wfile.write(rest[at:at + 65536])
                        self.wfile.flush()
                        time.sleep(owner.pace)
                except OSError:
                    pass

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/image.raw"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Init(harness.MachineTest):
    def argv(self, *more, name="m1"):
        return ["init", "--provider", "qemu", "--disk-size", "1", *more, name]

    def assert_nothing_there(self, name="m1"):
        self.assertFalse(os.path.exists(self.data("machines", name)))
        self.assertEqual(self.connections(), ({}, None))
        self.assertEqual(self.known_hosts(), [])

    def test_names(self):
        image = self.image()
        for name, words in (
                ("a/b", 'invalid name "a/b": names must match [a-zA-Z0-9][a-zA-Z0-9_.-]*: '
                        'invalid argument'),
                ("-a", None),
                ("x" * 31, f'machine name "{"x" * 31}" must be 30 characters or less'),
                ("qemu", 'cannot use "qemu" for a machine name'),
                ("LibKrun", 'cannot use "LibKrun" for a machine name')):
            self.refused(*self.argv("--image", image, name=name), words=words)
        self.refused(*self.argv("--image", image, "--username", "-/a"),
                     words='invalid username "-/a": names must match '
                     '[a-zA-Z0-9][a-zA-Z0-9_.-]*: invalid argument')
        self.assertEqual([n for n in self.files() if "machines/" in n], [])

    def test_resources(self):
        image = self.image()
        done = self.refused(*self.argv("--image", image, "--memory", "99999999"))
        self.assertRegex(done.err, r"^Error: requested amount of memory \(99999999 MB\) greater "
                         r"than total system memory \(\d+ MB\)\n$")
        done = self.refused(*self.argv("--image", image, "--cpus", "99999"))
        self.assertRegex(done.err, r"^Error: requested number of CPUs \(99999\) greater than "
                         r"number of host CPUs \(\d+\)\n$")
        self.refused("init", "--provider", "frob", "m1")
        done = self.refused("init", "--provider", "vmnet-krunkit", "--image", image, "m1")
        self.assertIn('unsupported provider "vmnet-krunkit"', done.err)
        self.assert_nothing_there()

    def test_twice(self):
        self.init()
        self.refused(*self.argv("--image", self.image()), words='machine "m1" already exists')
        self.assertEqual(self.state(), "stopped")

    def test_images_that_are_none(self):
        for content, words in ((b"<!DOCTYPE html><html>404</html>", "HTML|web page"),
                               (b"KDMV" + b"\1" * 2000, "VMDK"),
                               (b"\x01" * 4096, "image")):
            path = os.path.join(self.top, "other")
            with open(path, "wb") as file:
                file.write(content)
            done = self.refused(*self.argv("--image", path))
            self.assertRegex(done.err, words)
        self.refused(*self.argv("--image", os.path.join(self.top, "nowhere.raw")))
        self.refused(*self.argv("--image", "docker://quay.io/podman/machine-os"))
        self.refused(*self.argv("--image", "fedora-9"))
        self.assert_nothing_there()

    def test_words_that_are_lost(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            argv = [harness.BINARY, "init", "--provider", "qemu", "--image", self.image(),
                    "--disk-size", "1", "m1"]
            done = subprocess.run(argv, env=self.env, stdout=full, stderr=subprocess.PIPE,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("cannot write to standard output", done.stderr)
            self.assertEqual(self.state("m1"), "stopped")
            # What was asked for is another matter.
            done = subprocess.run([harness.BINARY, "inspect", "m1"], env=self.env, stdout=full,
                                  check=False, stderr=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 125)

    def test_dev_null(self):
        """podman's own tests init machines like that; they never boot."""
        self.ok(*self.argv("--image", "/dev/null"))
        self.assertEqual(self.state(), "stopped")
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")

    def test_wrong_checksum_of_a_file(self):
        done = self.refused(*self.argv("--image", self.image(), "--image-sha256", "0" * 64))
        self.assertRegex(done.err, "(?i)sha-?256|checksum|digest")
        self.assert_nothing_there()

    def test_a_disk_smaller_than_the_image(self):
        done = self.refused("init", "--provider", "qemu", "--disk-size", "1", "--image",
                            self.image(2 << 30), "m1")
        self.assertRegex(done.err, "(?i)disk|smaller|size")
        self.assert_nothing_there()

    def test_a_full_disk(self):
        """As far as a limit on the size of files goes for one."""
        image = self.image(8 << 20)
        with open(image, "r+b") as file:
            file.write(bytes(510) + b"\x55\xaa" + random.Random(3).randbytes(4 << 20))
        done = self.run_program(*self.argv("--image", image), preexec_fn=lambda: (
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)))
        self.assertEqual(done.code, 125, done)
        self.assertRegex(done.err, "File too large|No space left")
        self.assert_nothing_there()
        self.ok(*self.argv("--image", image))

    def test_killed_at_any_moment(self):
        """kill -9 leaves rubble at worst: the same init works afterwards."""
        image = self.image(64 << 20)
        with open(image, "r+b") as file:
            file.seek(4096)
            file.write(random.Random(1).randbytes(8 << 20))
        outcomes = set()
        for delay in (0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5):
            process = self.start_program(*self.argv("--image", image))
            time.sleep(delay * harness.SLOW)
            process.kill()
            process.communicate()
            exists = os.path.exists(self.machine_file("m1", "machine.json"))
            outcomes.add(exists)
            if exists:
                # Registered or not, it is a machine: it can be removed.
                self.assertEqual(self.state(), "stopped")
            else:
                self.refused("inspect", "m1", words="m1: VM does not exist")
                self.ok(*self.argv("--image", image))
            self.ok("rm", "-f", "m1")
            self.assert_nothing_left("m1")
        self.assertIn(False, outcomes)

    def test_ctrl_c(self):
        server = Server(bytes(510) + b"\x55\xaa" + random.Random(1).randbytes(8 << 20))
        self.addCleanup(server.close)
        server.pace = 0.05
        process = self.start_program(*self.argv(
            "--image", server.url, "--image-sha256", hashlib.sha256(server.body).hexdigest()))
        self.wait_for("the download", lambda: server.requests)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        done = self.finish_program(process, 10)
        self.assertEqual(done.code, 1, done)
        self.assert_nothing_there()


class Download(harness.MachineTest):
    def setUp(self):
        super().setUp()
        body = bytearray(random.Random(2).randbytes(4 << 20))
        body[0:510] = bytes(510)
        body[510:512] = b"\x55\xaa"
        self.server = Server(bytes(body))
        self.addCleanup(self.server.close)
        self.digest = hashlib.sha256(body).hexdigest()

    def argv(self, digest=None):
        return ["init", "--provider", "qemu", "--disk-size", "1", "--image", self.server.url,
                "--image-sha256", digest or self.digest, "m1"]

    def disk_start(self):
        with open(self.machine_file("m1", "disk.raw"), "rb") as file:
            return file.read(len(self.server.body))

    def test_whole(self):
        self.ok(*self.argv())
        self.assertEqual(self.disk_start(), self.server.body)
        self.ok("rm", "-f", "m1")
        # The verified image is kept: the next machine needs no network.
        before = len(self.server.requests)
        self.ok(*self.argv())
        self.assertEqual(len(self.server.requests), before)

    def test_wrong_checksum(self):
        done = self.refused(*self.argv("1" * 64))
        self.assertIn(self.digest, done.err)
        self.assertFalse(os.path.exists(self.data("machines/m1")))
        left = [n for n in self.files() if n.endswith((".part", ".raw"))]
        self.assertEqual(left, [])

    def test_a_url_needs_a_checksum(self):
        done = self.refused("init", "--provider", "qemu", "--image", self.server.url, "m1")
        self.assertRegex(done.err, "(?i)sha-?256|checksum|digest")
        self.assertEqual(self.server.requests, [])

    def test_a_host_that_cannot_is_not_downloaded_for(self):
        """The Mac is too old, or runs in a virtual machine itself."""
        for name in ("krunkit", "vmnet-run", "vmnet-helper"):
            folder = harness.FAKE if name == "krunkit" else harness.MACOS
            os.symlink(os.path.join(folder, name), os.path.join(self.bin, name))
        with open(os.path.join(self.bin, "sysctl"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\n[ "$2" = kern.hv_support ] && echo $HV\n')
        os.chmod(os.path.join(self.bin, "sysctl"), 0o755)
        self.env["PODMAN_MACHINE_VMNET_SUPERVISOR"] = "process"
        argv = ["vmnet-krunkit" if word == "qemu" else word for word in self.argv()]
        for macos, support, words in (("13.6", "1", "krunkit needs macOS 14 or later"),
                                      ("26.2", "0", "kern.hv_support is 0")):
            self.env |= {"PODMAN_MACHINE_VMNET_MACOS": macos, "HV": support}
            done = self.refused(*argv)
            self.assertIn(words, done.err)
            self.assertEqual(self.server.requests, [])
            self.assertEqual(self.run_program("inspect", "m1").code, 125)
        self.env["HV"] = "1"
        self.ok(*argv)
        self.env["HV"] = "0"
        self.assertIn("kern.hv_support is 0", self.refused("start", "m1").err)

    def test_without_openssh_nothing_is_downloaded(self):
        self.env["PATH"] = self.bin
        done = self.refused(*self.argv())
        self.assertIn("cannot find 'ssh' in $PATH: install OpenSSH's client", done.err)
        self.assertEqual(self.server.requests, [])

    def test_cut_then_resumed(self):
        self.server.cut_at = 3 << 20
        done = self.run_program(*self.argv(), timeout=120)
        self.server.cut_at = None
        if done.code != 0:  # it may have resumed by itself, but the server always cut there
            self.assertEqual(done.code, 125, done)
            self.assertFalse(os.path.exists(self.data("machines/m1")))
            before = len(self.server.requests)
            self.ok(*self.argv())
            self.assertIn("Range", self.server.requests[before])
        self.assertEqual(self.disk_start(), self.server.body)

    def test_killed_then_resumed(self):
        self.server.pace = 0.02
        process = self.start_program(*self.argv())
        self.wait_for("the download", lambda: self.server.requests)
        time.sleep(0.5)
        process.kill()
        process.communicate()
        self.server.pace = 0
        before = len(self.server.requests)
        self.ok(*self.argv())
        self.assertIn("Range", self.server.requests[before])
        self.assertEqual(self.disk_start(), self.server.body)

    def test_another_file_in_between(self):
        """The server's file changed while we were away: If-Range gives the whole new one."""
        self.server.cut_at = 1 << 20
        self.refused(*self.argv(), timeout=120)
        self.server.cut_at = None
        self.server.body = self.server.body[:512] + bytes(reversed(self.server.body[512:]))
        self.server.etag = '"two"'
        self.digest = hashlib.sha256(self.server.body).hexdigest()
        self.ok(*self.argv())
        self.assertEqual(self.disk_start(), self.server.body)

    def test_not_found(self):
        done = self.refused("init", "--provider", "qemu", "--image",
                            self.server.url.replace("image.raw", "other"), "--image-sha256",
                            self.digest, "m1")
        self.assertIn("404", done.err)
        self.assertFalse(os.path.exists(self.data("machines/m1")))

    def test_two_inits_share_one_download(self):
        self.server.pace = 0.01
        argv = self.argv()
        both = [self.start_program(*argv[:-1], name) for name in ("m1", "m2")]
        for process in both:
            self.assertEqual(self.finish_program(process).code, 0)
        self.assertEqual(len([r for r in self.server.requests]), 1)


if __name__ == "__main__":
    sys.exit(harness.main())
