#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""Every version of krunkit and vfkit that there is a profile for, by the strict stand-ins: they
refuse what the real ones refuse, and take what our program says to them. Nothing is booted."""

import json
import os
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402
import mac  # noqa: E402
import machine_spec  # noqa: E402
import rest  # noqa: E402
from harness import MACOS  # noqa: E402

KRUNKIT = ("1.0.0", "1.1.1", "1.2.1", "1.3.1")
VFKIT = ("0.6.1", "0.6.2", "0.6.3", "0.6.4")
TAKEN = "the command line is taken\n"
BOOT = ["--bootloader", "efi,variable-store=/v,create"]
SIZES = ["--cpus", "2", "--memory", "2048"]
CARD = "virtio-net,type=unixgram,fd=4,mac=52:54:00:00:00:01,offloading=on"


def versions_from(versions, first):
    return versions[versions.index(first):]


# (words, versions that take them, text of the others): what changed from version to version.
KRUNKIT_WORDS = [
    (SIZES, KRUNKIT, None),
    (SIZES + BOOT, KRUNKIT, None),
    (SIZES + ["--device", CARD], KRUNKIT, None),
    (SIZES + ["--log-file", "/l"], versions_from(KRUNKIT, "1.1.1"), "unexpected argument"),
    (SIZES + ["--timesync", "vsockPort=1234"], versions_from(KRUNKIT, "1.2.1"), "unexpected"),
    (SIZES + ["--timesync", "port=1234"], (), ""),
    (SIZES + ["--firmware-path", "/f"], versions_from(KRUNKIT, "1.2.1"), "unexpected argument"),
    (["--cpus", "2", "--memory", "2G"], versions_from(KRUNKIT, "1.2.1"), "invalid value '2G'"),
    (SIZES + ["--device", "virtio-vsock,port=1,socketURL=/no/s,connect"],
     versions_from(KRUNKIT, "1.2.1"), "unknown virtio-vsock arguments"),
    (SIZES + ["--device", "virtio-vsock,port=1,socketURL=/no/s,listen"], KRUNKIT, None),
    (SIZES + ["--device", "virtio-vsock,port=1,socketURL=/no/s,listen,connect"], (), ""),
    (SIZES + ["--device", "virtio-fs,sharedDir=/s,mountTag=t"], KRUNKIT, None),
    (SIZES + ["--device", "virtio-fs,sharedDir=/s,mountTag=t,permissionSemantics=complete"],
     ("1.3.1",), "unknown virtio-fs arguments"),
    (SIZES + ["--device", "virtio-fs,sharedDir=/s"], (), "virtio-fs is missing argument: mountTag"),
    (["--cpus", "2"], (), "required arguments were not provided"),
    (["--cpus", "0", "--memory", "1"], (), "vcpus must be a minimum of 1"),
    (["--cpus", "256", "--memory", "1"], (), "256 is not in 0..=255"),
    (["--cpus", "2", "--memory", "61441"], (), "larger than upper limit of 61440 MiB"),
    (SIZES + SIZES, (), "cannot be used multiple times"),
    (SIZES + ["--device", CARD + ",vfkitMagic=perhaps"], (), "invalid vfkitMagic"),
    (SIZES + ["--device", CARD.replace(",mac=52:54:00:00:00:01", "")], (), "missing argument: mac"),
    (SIZES + ["--device", CARD.replace("type=unixgram,", "")], (), 'missing "type"'),
    (SIZES + ["--device", CARD + ",path=/p"], (), "mutually exclusive"),
    (SIZES + ["--device", "virtio-blk,path=/a=b"], (), "invalid argument format: path=/a=b"),
    (SIZES + ["--device", "virtio-blk,path=/a,readonly"], (), "unknown virtio-blk arguments"),
    (SIZES + ["--device", "usb-mass-storage,path=/a"], (), "invalid virtio device label"),
    (SIZES + ["--bootloader", "efi,variable-store=/v"], (), "missing argument: create"),
    (SIZES + ["--restful-uri", "unix:/s"], (), "invalid scheme input"),
    (SIZES + ["--pidfile"], (), "a value is required"),
]

VFKIT_WORDS = [
    (BOOT, VFKIT, None),
    ([], (), "empty option list in --bootloader"),
    (BOOT + SIZES + ["--device", "virtio-net,fd=4,mac=52:54:00:00:00:01"], VFKIT, None),
    (BOOT + ["--device", CARD], (), ""),
    (BOOT + ["--device", "virtio-net,fd=4,vfkitMagic=on"], versions_from(VFKIT, "0.6.2"),
     "unknown option for virtio-net devices: vfkitMagic"),
    (BOOT + ["--device", "virtio-net,fd=4,type=unixgram"], (), ""),
    (BOOT + ["--device", "virtio-net,nat,fd=4"], (), "must be set"),
    (BOOT + ["--nested"], (), ""),
    (BOOT + ["--pidfile", "/p"], versions_from(VFKIT, "0.6.2"), "unknown flag: --pidfile"),
    (BOOT + ["--device", "virtio-blk,path=/etc/passwd,readonly"], VFKIT, None),
    (BOOT + ["--device", "virtio-blk,path=/etc/passwd,type=image"], versions_from(VFKIT, "0.6.2"),
     "unknown option for virtio-blk devices: type"),
    (BOOT + ["--device", "virtio-blk,path=/no/such"], (), "failed to open file /no/such"),
    (BOOT + ["--device", "virtio-blk"], (), "missing mandatory 'path'"),
    (BOOT + ["--device", "virtio-vsock,port=1,socketURL=/no/s,connect"], VFKIT, None),
    (BOOT + ["--device", "virtio-vsock,port=x,socketURL=/no/s"], (), "invalid value"),
    (BOOT + ["--timesync", "vsockPort=1234"], VFKIT, None),
    (BOOT + ["--timesync", ""], (), "missing 'vsockPort'"),
    (BOOT + ["--cpus", "two"], (), 'invalid argument "two"'),
    (BOOT + ["--restful-uri", "unix://host/s"], (), "missing path"),
    (BOOT + ["--restful-uri", "unix:///" + "s" * 103], (), "socket path length exceeds"),
    (BOOT + ["--restful-uri", "UNIX:///s"], ("0.6.1",), "invalid scheme UNIX"),
    (["--bootloader", "efi,variable-store=/v,overwrite"], (), "unknown option for EFI bootloaders"),
    (["--bootloader", 'efi,"variable-store=/v'], (), 'mismatched "'),
    (["-b", 'efi,variable-store="/a,b",create'], VFKIT, None),
]


def run_tool(tool, version, words):
    environment = os.environ | {f"PMV_{tool.upper()}_VERSION": version, "PMV_ONLY_READ": "yes"}
    return subprocess.run([os.path.join(MACOS, tool), *words], env=environment, text=True,
                          capture_output=True, check=False)


class StandIns(harness.unittest.TestCase):
    def check(self, tool, versions, table, status):
        for words, takers, text in table:
            for version in versions:
                done = run_tool(tool, version, words)
                shown = f"{tool} {version} {words}: {done.returncode} {done.stdout}{done.stderr}"
                if version in takers:
                    self.assertEqual((done.returncode, done.stdout), (0, TAKEN), shown)
                else:
                    self.assertIn(done.returncode, status, shown)
                    self.assertIn(text, done.stderr, shown)

    def test_krunkit_refuses_what_each_version_does(self):
        self.check("krunkit", KRUNKIT, KRUNKIT_WORDS, (1, 2))

    def test_vfkit_refuses_what_each_version_does(self):
        self.check("vfkit", VFKIT, VFKIT_WORDS, (1,))

    def test_they_say_their_version(self):
        for version in KRUNKIT:
            self.assertEqual(run_tool("krunkit", version, ["--version"]).stdout,
                             f"krunkit {version}\n")
        for version in VFKIT:
            self.assertEqual(run_tool("vfkit", version, ["--version"]).stdout,
                             f"vfkit version: v{version}\n")

    def test_a_socket_in_the_way_stops_krunkit(self):
        done = run_tool("krunkit", "1.3.1", SIZES + [
            "--device", "virtio-vsock,port=1,socketURL=/etc/passwd,connect"])
        self.assertEqual((done.returncode, done.stderr),
                         (1, "Error: unable to add vsock port 1 for path /etc/passwd\n"))


class Rest(harness.unittest.TestCase):
    """The REST services, as they answer on the wire."""

    class Machine:
        def __init__(self):
            self.done, self.spec = [], machine_spec.Spec(cpus=2, memory_mib=1024)

        def press_power_button(self):
            self.done.append("button")

        def cut_power(self):
            self.done.append("cut")

    def ask(self, service, request):
        """(what came back, what was done to the VM)"""
        machine = self.Machine()
        ours, its = socket.socketpair()
        with ours, its:
            ours.sendall(request)
            ours.shutdown(socket.SHUT_WR)
            service(machine)(its)
            its.close()
            return ours.recv(65536), machine.done

    @staticmethod
    def post(state, path="/vm/state"):
        body = json.dumps({"state": state})
        return (f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n"
                f"{body}").encode()

    def test_krunkit_before_1_3_1(self):
        get = b"GET /vm/state HTTP/1.1\r\n\r\n"
        said, done = self.ask(rest.OldKrunkit, get)
        self.assertTrue(said.endswith(b'{"state": "VirtualMachineStateRunning"}\0'), said)
        self.assertEqual(done, [])
        for request in (self.post("Stop"), self.post("Pause"), self.post("x", "/y"), b"POST"):
            said, done = self.ask(rest.OldKrunkit, request)
            self.assertTrue(said.endswith(b'{"state": "VirtualMachineStateStopping"}\0'), said)
            self.assertEqual(done, ["button"])

    def test_krunkit(self):
        for request, status, what in (
                (b"GET /vm/state/?a=b HTTP/1.1\r\n\r\n", b"200 OK", []),
                (self.post("Stop"), b"200 OK", ["button"]),
                (self.post("HardStop"), b"200 OK", ["button"]),
                (self.post("Pause"), b"400 Bad Request", []),
                (self.post("Stop")[:-1], b"400 Bad Request", []),
                (self.post("Stop", "/vm"), b"404 Not Found", []),
                (b"DELETE /vm/state HTTP/1.1\r\n\r\n", b"405 Method Not Allowed", []),
                (b"POST", b"400 Bad Request", [])):
            said, done = self.ask(rest.Krunkit, request)
            self.assertTrue(said.startswith(b"HTTP/1.1 " + status), (request, said))
            self.assertEqual(done, what, request)
            self.assertFalse(said.endswith(b"\0"))

    def test_vfkit(self):
        for request, status, what in (
                (self.post("Stop"), b"202 Accepted", ["button"]),
                (self.post("HardStop"), b"202 Accepted", ["cut"]),
                (self.post("Nap"), b"500 Internal Server Error", []),
                (self.post("Stop", "/vm"), b"404 Not Found", []),
                (b"GET /vm/inspect HTTP/1.1\r\n\r\n", b"200 OK", [])):
            said, done = self.ask(rest.Vfkit, request)
            self.assertTrue(said.startswith(b"HTTP/1.1 " + status), (request, said))
            self.assertEqual(done, what, request)


class Program(mac.MacTest):
    """The whole program with each version, up to where the VM would run."""

    def setUp(self):
        super().setUp()
        os.unlink(os.path.join(self.bin, "krunkit"))
        for name in ("krunkit", "vfkit"):
            self.link(os.path.join(MACOS, name))
        self.set_environment(PMV_ONLY_READ="yes", PODMAN_MACHINE_VMNET_SUPERVISOR="process")

    def machine_file(self, name, file):
        data = self.env.get("XDG_DATA_HOME", os.path.join(self.home, ".local/share"))
        return os.path.join(data, "podman-machine-vmnet/machines", name, file)

    def start(self, provider, *more):
        self.ok("init", "--provider", provider, "--image", self.image(), "--disk-size", "1",
                *more, "m1")
        done = self.run_program("start", "m1")
        self.assertEqual(done.code, 125, str(done))
        self.assertIn("ended", done.err)
        self.assertIn(TAKEN, self.text(self.machine_file("m1", "vm.log")))
        last = json.loads(self.text(self.machine_file("m1", "last-exit.json")))
        self.assertEqual(last["wait_status"], 0)
        argv = self.text(self.machine_file("m1", "vm.argv"))
        self.ok("rm", "-f", "m1")
        return argv

    def test_krunkit(self):
        for version in KRUNKIT:
            self.env["PMV_KRUNKIT_VERSION"] = version
            for more in ([], ["--rootful=false"], ["--isolated", "--offload", "off"]):
                argv = self.start("vmnet-krunkit", *more)
                self.assertEqual("--timesync" in argv, version in ("1.2.1", "1.3.1"))

    def test_vfkit(self):
        for version in VFKIT:
            self.env["PMV_VFKIT_VERSION"] = version
            for more in ([], ["--network", "host"]):
                self.assertNotIn("offload", self.start("vmnet-vfkit", *more))

    def test_folders_that_the_parsers_would_cut(self):
        for odd in ("a,b", "a=b", "a%b#c? \"d"):
            self.env["XDG_RUNTIME_DIR"] = os.path.join(self.top, odd)
            self.env["XDG_DATA_HOME"] = os.path.join(self.top, "data" + odd)
            os.makedirs(self.env["XDG_RUNTIME_DIR"], 0o700)
            for tool in ("krunkit", "vfkit"):
                self.start("vmnet-" + tool)

    def test_a_krunkit_without_firmware_is_told_of(self):
        self.env["PMV_KRUNKIT_FIRMWARE"] = "none"
        self.ok("init", "--provider", "vmnet-krunkit", "--image", self.image(), "--disk-size", "1",
                "m1")
        done = self.run_program("start", "m1")
        self.assertEqual(done.code, 125)
        self.assertIn("can't find a firmware to load", done.err)


if __name__ == "__main__":
    mac.main()
