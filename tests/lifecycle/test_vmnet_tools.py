#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The stand-ins for vmnet-run, vmnet-helper, bootpd and sudo: that they refuse what the real ones
refuse, version by version, and that frames really travel."""

import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
import harness  # noqa: E402
import network  # noqa: E402
import vmnet_offload  # noqa: E402

RUN, HELPER, CARD = (os.path.join(harness.MACOS, name)
                     for name in ("vmnet-run", "vmnet-helper", "guest-card"))
VERSIONS = ("0.11", "0.12", "0.13", "1.0")
FROM_12, FROM_13 = VERSIONS[1:], VERSIONS[2:]
NETWORK_WORDS = ("--network", "default", "--operation-mode", "host")
NOT_ALL = ("--start-address", "192.168.64.1")
ALL = (*NOT_ALL, "--end-address", "192.168.64.254", "--subnet-mask", "255.255.255.0")
MAC = bytes.fromhex("525400000001")
OTHER = bytes.fromhex("525400000002")
IPV4, LOCAL = b"\x08\x00", b"\x88\xb5"  # kinds of frames; the second is for experiments
BRIDGE = bytes.fromhex(network.bridge_mac("shared").replace(":", ""))


class ToolTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="pmv.", dir="/tmp")
        cls.world = cls.enterClassContext(network.World(os.path.join(cls.folder, "world")))
        cls.addClassCleanup(subprocess.run, ["rm", "-rf", cls.folder], check=True)

    def environment(self, **more):
        return network.environment() | self.world.environment | {"TMPDIR": self.folder} | more

    def run_tool(self, *argv, version="0.13", **more):
        return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=60 * harness.SLOW,
                              env=self.environment(PMV_VMNET_HELPER_VERSION=version, **more))

    def start(self, *argv, **more):
        process = subprocess.Popen(argv, stdin=more.pop("stdin", subprocess.DEVNULL),
                                   stdout=subprocess.PIPE,
                                   stderr=more.pop("stderr", subprocess.PIPE), text=True,
                                   start_new_session=True,
                                   env=self.environment(**more.pop("env", {})), **more)

        def end():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()
        self.addCleanup(end)
        return process

    def path(self, name):
        return os.path.join(self.folder, name)

    def wait_for(self, what, condition, seconds=20):
        until = time.monotonic() + seconds * harness.SLOW
        while not (value := condition()):
            if time.monotonic() > until:
                self.fail(f"not in time: {what}")
            time.sleep(0.02)
        return value

    def read(self, name):
        with contextlib.suppress(OSError), open(self.path(name), encoding="utf-8") as file:
            return file.read()
        return ""


class Options(ToolTest):
    """What each version's parser takes (run.c, options.c)."""

    def test_versions(self):
        for program in (RUN, HELPER):
            done = self.run_tool(program, "--version", version="0.12")
            self.assertRegex(done.stdout, r"\Aversion: v0\.12\.0\ncommit: [0-9a-f]{40}\n\Z")

    def test_runner_takes(self):
        for words, versions in (
                ((), VERSIONS),
                (("--operation-mode", "host", "--enable-isolation"), VERSIONS),
                (("--op=host", "-v"), VERSIONS),  # shortened
                (("--enable-isolation",), FROM_12),
                (("--network", "default", "--enable-isolation"), VERSIONS),
                (("--operation-mode", "bridged", "--shared-interface", "en0"), VERSIONS),
                (("--interface-id", "2835E074-9892-4A79-AFFB-7E41D2605678"), VERSIONS),
                (("--enable-tso", "--enable-checksum-offload"), VERSIONS),
                (("--stats-interval", "5"), FROM_13),
                (ALL, VERSIONS)):
            for version in versions:
                with self.subTest(words=words, version=version):
                    process = self.start(RUN, *words, "--", "cat", stdin=subprocess.PIPE,
                                         env={"PMV_VMNET_HELPER_VERSION": version})
                    # The helper's line comes once it too has taken the words.
                    self.assertTrue(select.select([process.stdout], [], [], 20)[0],
                                    "the helper did not start")
                    self.assertIn("vmnet_mtu", process.stdout.readline())
                    process.stdin.close()
                    self.assertEqual(process.wait(20), 0)

    def test_runner_refuses(self):
        for words, versions, text in (
                (("--unprivileged",), VERSIONS, "invalid option: --unprivileged"),
                (("--enable-tso=yes",), VERSIONS, "invalid option: --enable-tso=yes"),
                (("--enable",), VERSIONS, "invalid option: --enable"),
                (("--fd", "3"), VERSIONS, "invalid option: --fd"),
                (("--interface-id", "1"), VERSIONS, 'invalid interface-id: "1"'),
                (("--operation-mode", "nat"), VERSIONS, 'invalid operation-mode: "nat"'),
                (("--subnet-mask", "x"), VERSIONS, 'invalid --subnet-mask: "x"'),
                (("--operation-mode", "bridged"), VERSIONS, "shared-interface is required"),
                (("--operation-mode", "bridged", "--shared-interface", "en0",
                  "--enable-isolation"), FROM_12, "not compatible with operation-mode=bridged"),
                (("--enable-isolation",), ("0.11",), "requires operation-mode=host"),
                (NETWORK_WORDS, VERSIONS, "--network cannot be used with --operation-mode"),
                (("--stats-interval", "5"), ("0.11", "0.12"), "invalid option: --stats-interval")):
            for version in versions:
                with self.subTest(words=words, version=version):
                    done = self.run_tool(RUN, *words, "--", "true", version=version)
                    self.assertEqual(done.returncode, 1)
                    self.assertIn("ERROR [runner] ", done.stderr)
                    self.assertIn(text, done.stderr)
        done = self.run_tool(RUN, "--interface-id")
        self.assertEqual(done.returncode, 1)
        self.assertIn("option --interface-id requires an argument", done.stderr)
        # Without -- the command's own options are taken for vmnet-run's.
        done = self.run_tool(RUN, "krunkit", "--cpus", "1")
        self.assertIn("invalid option: --cpus", done.stderr)
        done = self.run_tool(RUN, "--enable-tso")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no command specified", done.stderr)

    def test_helper_refuses(self):
        for words, versions, text in (
                ((), VERSIONS, 'either "fd" or "socket" required'),
                (("--fd", "3", "--socket", "/x"), VERSIONS, "mutually exclusive"),
                (("--fd", "three"), VERSIONS, "Invalid fd 'three'"),
                (("--socket", "/" + "x" * 103), VERSIONS, "too long"),
                (("--fd=3", *NOT_ALL), FROM_12, "must be given together"),
                (("--fd=3", "--enable-isolation"), ("0.11",), "cannot be used with shared mode"),
                (("--fd=3", "--stats-interval", "0"), ("0.13",), "must be a positive integer"),
                (("--fd=3", "--operation-mode=bridged"), VERSIONS, "shared-interface is required"),
                (("--fd=3", *NETWORK_WORDS), VERSIONS, "cannot be used with --operation-mode"),
                (("--fd=3", "--network", "nobody"), VERSIONS, "VMNET_FAILURE")):
            for version in versions:
                with self.subTest(words=words, version=version):
                    done = self.run_tool(HELPER, *words, version=version)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn(text, done.stderr)

    def test_broker_needs_macos_26(self):
        done = self.run_tool(HELPER, "--fd=3", "--network=default",
                             PODMAN_MACHINE_VMNET_MACOS="15.6")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--network requires macOS 26 or later", done.stderr)


class Processes(ToolTest):
    def test_descriptors(self):
        done = self.run_tool(RUN, "--", "sh", "-c", "ls -l /proc/$$/fd; ps -o pgid= $$; echo $PPID; "
                             "grep SigIgn /proc/$$/status")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r" 4 -> socket:")
        self.assertNotRegex(done.stdout, r" 3 -> socket:")
        group, parent = [line.strip() for line in done.stdout.splitlines()
                         if line.strip().isdigit()]
        self.assertEqual(group, parent)
        self.assertIn("SigIgn:\t0000000000000000", done.stdout)

    def test_statuses(self):
        self.assertEqual(self.run_tool(RUN, "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.run_tool(RUN, "--", "sh", "-c", "kill -9 $$").returncode, 137)
        # Its own atexit, run by the child that could not be the command, ends vmnet-run.
        done = self.run_tool(RUN, "--", "/no/such/program")
        self.assertEqual(done.returncode, 143)
        self.assertIn("[runner] execvp: No such file or directory", done.stderr)

    def test_a_signal_ends_all(self):
        process = self.start(RUN, "--", "sh", "-c", f"echo $$ > {self.path('command')}; exec "
                             "sleep 100")
        self.wait_for("the helper", lambda: self.helper_of(process.pid))
        command = self.wait_for("the command", lambda: self.read("command").strip())
        process.terminate()
        self.assertEqual(process.wait(20), 143)
        self.assertFalse(os.path.exists(f"/proc/{command}"))
        self.assertIsNone(self.helper_of(process.pid))

    def helper_of(self, group):
        done = subprocess.run(["pgrep", "-o", "-g", str(group), "-x", "vmnet-helper"], text=True,
                              capture_output=True)
        return int(done.stdout) if done.stdout else None

    def test_a_dead_helper_is_nobody_s_business(self):
        process = self.start(RUN, "--", "sh", "-c", f"while [ ! -e {self.path('go')} ]; do "
                             "sleep 0.05; done; exit 3")
        helper = self.wait_for("the helper", lambda: self.helper_of(process.pid))
        os.kill(helper, signal.SIGKILL)
        self.wait_for("its end", lambda: open(f"/proc/{helper}/stat").read().split()[2] == "Z")
        time.sleep(0.2)
        self.assertIsNone(process.poll())
        with open(self.path("go"), "w", encoding="utf-8"):
            self.assertEqual(process.wait(20), 3)

    def test_the_helper_notices_the_end_of_its_peer(self):
        process = self.start(RUN, "--", "sleep", "100")
        helper = self.wait_for("the helper", lambda: self.helper_of(process.pid))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.3)
        self.assertTrue(os.path.exists(f"/proc/{helper}"), "the command still has its end")
        subprocess.run(["pkill", "-KILL", "-g", str(process.pid), "-x", "sleep"], check=True)
        self.wait_for("the helper's end", lambda: self.helper_of(process.pid) is None)

    def test_sudo(self):
        rules = self.path("sudoers")
        old = {"PODMAN_MACHINE_VMNET_MACOS": "15.6", "PMV_SUDOERS": rules}
        old["PATH"] = f"{harness.MACOS}:{network.environment()['PATH']}"
        for text, words in (("", "sudo: a password is required"),
                            (f"{HELPER}\n", "not permitted to use the -C option"),
                            (f"{HELPER}\nclosefrom_override\n", "started vmnet interface")):
            with open(rules, "w", encoding="utf-8") as file:
                file.write(text)
            with open(self.path("words"), "w", encoding="utf-8") as log:
                process = self.start(RUN, "--", "cat", stdin=subprocess.PIPE, stderr=log, env=old)
            self.wait_for(words, lambda: words in self.read("words"))
            process.stdin.close()
            # Whether the helper lives is not vmnet-run's concern.
            self.assertEqual(process.wait(20 * harness.SLOW), 0)


class Cards(ToolTest):
    """Guests that are a network namespace each, through all of it."""

    def card(self, number, *words, dhcp="mac", name=None, runner=(), **more):
        words = words or ("sh", "-c", f"echo $CARD_ADDRESS > {self.path(str(number))}; "
                          "exec sleep 100")
        more_words = ("--name", name) if name else ()
        return [RUN, *runner, "--", CARD, "--dhcp", dhcp, *more_words,
                f"52:54:00:00:0a:{number:02x}", *words]

    def address_of(self, number):
        return self.wait_for("an address", lambda: self.read(str(number)).strip())

    def leases(self, start):
        return [lease for lease in self.world.read_leases()
                if lease["hw_address"].startswith(start)]

    def reaches(self, number, address, **more):
        """Whether a new guest does."""
        done = self.run_tool(*self.card(number, "busybox", "ping", "-c", "1", "-W", "2", address,
                                        **more))
        self.assertIn("ping statistics", done.stdout, done.stderr)
        return done.returncode == 0

    def test_leases(self):
        self.run_tool(*self.card(1, "true", name="vm1"))
        self.run_tool(*self.card(2, "true", dhcp="duid"))
        ours, = self.wait_for("a lease", lambda: self.leases("1,52:54:0:0:a:1"))
        self.assertEqual(ours["name"], "vm1")
        self.assertEqual(ours["identifier"], "1,52:54:0:0:a:1")
        self.assertTrue(ours["ip_address"].startswith("192.168.64."))
        self.assertTrue(86000 < int(ours["lease"], 16) - time.time() < 86800)
        other, = self.wait_for("a lease", lambda: self.leases("ff,"))
        self.assertNotIn("name", other)
        self.assertNotIn("52:54:0:0:a:2", other["hw_address"])

    def test_networks(self):
        for runner, version, net in (
                ((), "0.11", "192.168.105."), ((), "0.12", "192.168.64."),
                (("--operation-mode", "host"), "0.11", "192.168.128."),
                (("--network", "default"), "0.13", "192.168.65."),
                (("--operation-mode", "bridged", "--shared-interface", "en0"), "0.13", "10.44.0.")):
            done = self.run_tool(*self.card(3, "sh", "-c", "echo address $CARD_ADDRESS",
                                            runner=runner), version=version)
            self.assertIn(f"address {net}", done.stdout, done.stderr)
        self.assertFalse([lease for lease in self.world.read_leases()
                          if lease["ip_address"].startswith("10.44.")])

    def test_isolation(self):
        self.start(*self.card(4))
        self.start(*self.card(5, runner=("--enable-isolation",)))
        plain, isolated = self.address_of(4), self.address_of(5)
        self.assertTrue(self.reaches(6, plain))
        self.assertFalse(self.reaches(6, isolated, runner=("--enable-isolation",)))
        self.assertTrue(self.reaches(6, "192.168.64.1", runner=("--enable-isolation",)))
        for address in (plain, isolated):
            subprocess.run(["busybox", "ping", "-c", "1", "-W", "2", address], check=True,
                           stdout=subprocess.DEVNULL)

    def test_without_bootpd(self):
        with network.World(self.path("silent"), {"shared": {"bridge": "silent0",
                                                 "address": "192.168.66.1/24"}}) as silent:
            silent.stop_bootpd()
            done = self.run_tool(*self.card(7, "true"), **silent.environment)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(silent.read_leases(), [])


class Frames(ToolTest):
    """Frame by frame, with the test as the hypervisor."""

    def plug(self, *words):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        helper = self.start(HELPER, f"--fd={theirs.fileno()}", *words, pass_fds=[theirs.fileno()])
        theirs.close()
        self.addCleanup(ours.close)
        self.assertIn("vmnet_max_packet_size", helper.stdout.readline())
        ours.settimeout(5)
        return ours, helper

    def receive(self, card, kind):
        """The next frame of that kind for the second guest."""
        while (frame := card.recv(70000))[:6] != OTHER or frame[12:14] != kind:
            pass
        return frame

    @staticmethod
    def ipv4(protocol, body, to=BRIDGE):
        header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 1, 0, 64, protocol, 0,
                             socket.inet_aton("192.168.64.77"), socket.inet_aton("192.168.64.1"))
        total = sum(struct.unpack("!10H", header))
        total = ~((total & 0xffff) + (total >> 16)) & 0xffff
        header = header[:10] + struct.pack("!H", total) + header[12:]
        return to + MAC + IPV4 + header + body

    def udp(self, port, text, checksum):
        return self.ipv4(17, struct.pack("!HHHH", 9, port, 8 + len(text), checksum) + text)

    def test_checksums_are_finished_with_offload_only(self):
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(server.close)
        server.bind(("192.168.64.1", 0))
        port = server.getsockname()[1]
        for words, arrives in (((), False), (("--enable-tso", "--enable-checksum-offload"), True)):
            card, helper = self.plug(*words)
            card.send(self.udp(port, b"offload" if arrives else b"plain", 0x1234))
            server.settimeout(5 if arrives else 0.5)
            if arrives:
                self.assertEqual(server.recv(100), b"offload")
            else:
                with self.assertRaises(TimeoutError):
                    server.recv(100)
            helper.kill()

    def test_large_frames(self):
        """One of 8 KiB leaves as frames of the bridge's size, with right checksums, and without
        anything before the Ethernet header."""
        other, _ = self.plug()
        other.send(BRIDGE + OTHER + LOCAL + bytes(60))  # now the bridge knows where it is
        card, helper = self.plug("--enable-tso", "--enable-checksum-offload")
        tcp = struct.pack("!HHIIBBHHH", 9, 9, 1, 0, 0x50, 0x10, 1000, 0x1234, 0)
        card.send(self.ipv4(6, tcp + os.urandom(8000), OTHER))
        found = 0
        while found < 8000:
            frame = self.receive(other, IPV4)
            self.assertLessEqual(len(frame), 1514)
            size = struct.unpack_from("!H", frame, 16)[0] - 20
            check = vmnet_offload.sum_words(
                frame[26:34] + struct.pack("!HH", 6, size) + frame[34:34 + size] + bytes(size % 2))
            self.assertEqual(check, 0xffff)
            found += size - 20
        self.assertEqual(found, 8000)

    def test_without_offload_the_rest_is_cut_off(self):
        other, _ = self.plug()
        other.send(BRIDGE + OTHER + LOCAL + bytes(60))
        card, _ = self.plug()
        card.send(OTHER + MAC + LOCAL + bytes(3000))
        self.assertEqual(len(self.receive(other, LOCAL)), 1514)

    def test_to_the_guest(self):
        card, _ = self.plug("--enable-tso", "--enable-checksum-offload")
        card.send(b"\xff" * 6 + MAC + b"\x08\x06" + struct.pack(
            "!HHBBH6s4s6s4s", 1, 0x800, 6, 4, 1, MAC, socket.inet_aton("192.168.64.77"),
            bytes(6), socket.inet_aton("192.168.64.1")))
        while (frame := card.recv(2000))[:6] != MAC:
            pass
        self.assertEqual(frame[6:12], BRIDGE)
        self.assertEqual(frame[12:14] + frame[20:22], b"\x08\x06\x00\x02")

    def test_what_is_no_frame_ends_the_helper(self):
        card, helper = self.plug()
        card.send(b"VFKT")
        self.assertEqual(helper.wait(20), 1)
        self.assertIn("vmnet_write: VMNET_INVALID_ARGUMENT", helper.stderr.read())

    def test_an_end_of_the_peer_is_a_good_end(self):
        card, helper = self.plug()
        card.close()
        self.assertEqual(helper.wait(20), 0)
        self.assertIn("socket was closed by peer", helper.stderr.read())


def missing():
    if subprocess.run(["sh", "-c", "command -v busybox"], capture_output=True).returncode != 0:
        return "busybox is not installed"
    return network.missing()


if __name__ == "__main__":
    REASON = missing()
    if not REASON:
        network.enter()
    sys.exit(harness.main(REASON, needs_guest=False))
