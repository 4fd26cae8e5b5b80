#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The vmnet-krunkit row among the habits of a Mac: launchd's domains and races, logout, sudo before
macOS 26, every version and every network of vmnet-helper."""

import contextlib
import json
import os
import plistlib
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import harness  # noqa: E402
import launchd  # noqa: E402
import mac  # noqa: E402


class Launchd(mac.MacTest):
    def test_in_the_session_with_a_screen(self):
        self.create()
        self.ok("start", "m1")
        self.assertEqual(self.domains(), ["gui"])
        with open(self.machine_file("m1", "launchd.plist"), "rb") as file:
            plist = plistlib.load(file)
        self.assertEqual(plist["EnvironmentVariables"]["HOME"], self.home)
        self.assertEqual(plist["LimitLoadToSessionType"], ["Aqua", "Background"])
        with open(f"/proc/{self.monitor()}/limits", encoding="utf-8") as file:
            limit = next(line for line in file if line.startswith("Max open files"))
        self.assertGreaterEqual(int(limit.split()[3]), 4096)
        self.assertEqual(self.ok("ssh", "m1", "echo here").out, "here\n")
        self.ok("stop", "m1")
        self.assertEqual(self.domains(), [])
        self.ok("start", "m1")
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")
        done = self.launchctl("print", self.target("gui"))
        self.assertEqual(done.returncode, 113, done.stdout)

    def monitor(self):
        return json.loads(self.text(self.machine_file("m1", "status.json")))["monitor_pid"]

    def launchctl(self, *words):
        return subprocess.run([os.path.join(harness.MACOS, "launchctl"), *words],
                              capture_output=True, text=True, env=self.env)

    @staticmethod
    def target(kind):
        return f"{kind}/{os.getuid()}/io.github.podman-machine-vmnet.m1"

    def test_launchd_is_slow_to_forget(self):
        self.create()
        self.launchd.settle(2)  # after every bootout
        self.ok("start", "m1")
        self.ok("stop", "m1")
        self.ok("start", "m1")
        self.assertEqual(self.domains(), ["gui"])
        self.ok("stop", "m1")

    def test_every_passing_failure(self):
        self.create()
        self.ok("start", "m1")
        self.ok("stop", "m1")
        self.launchd.script(bootstrap=[5, 37, 17], bootout=[36])
        self.ok("start", "m1")
        self.assertEqual(self.domains(), ["gui"])
        self.assertEqual(len(self.launchd.calls("bootstrap")), 5)
        self.ok("stop", "m1")

    def test_a_disabled_job(self):
        self.create()
        self.assertEqual(self.launchctl("disable", self.target("gui")).returncode, 0)
        self.ok("start", "m1")
        self.assertEqual(self.domains(), ["gui"])
        self.ok("stop", "m1")

    def test_logout(self):
        self.create()
        self.ok("start", "m1")
        begun = time.monotonic()
        self.launchd.logout()  # comes back when all jobs have ended, by themselves or killed
        self.assertLess(time.monotonic() - begun, 60 * harness.SLOW)
        self.assertEqual(self.state(), "stopped")
        self.assertEqual(len(self.events("vsock poweroff")), 1)
        self.assertEqual(self.events("power cut"), [])
        self.assertEqual(self.processes(), [])
        last = json.loads(self.text(self.machine_file("m1", "last-exit.json")))
        self.assertTrue(last["expected"], last)
        # From elsewhere, while nobody is at the screen.
        self.ok("start", "m1")
        self.assertEqual(self.domains(), ["user"])
        self.launchd.login(self.home)
        self.assertEqual(self.state(), "running")
        self.ok("stop", "m1")

    def test_a_reboot(self):
        """The power goes: no process, no launchd's memory, no runtime folder."""
        self.create()
        self.ok("start", "m1")
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.launchd.close()
        self.wait_for("silence", lambda: not self.processes())
        shutil.rmtree(self.run_dir)
        os.mkdir(self.run_dir, 0o700)
        self.launchd = self.enterContext(launchd.Launchd(os.path.join(self.top, "launchd2")))
        self.set_environment(**self.launchd.environment)
        self.assertEqual(self.state(), "stopped")
        self.ok("start", "m1")
        self.assertEqual(self.domains(), ["gui"])
        self.assertEqual(self.ok("ssh", "m1", "echo here").out, "here\n")
        self.ok("stop", "m1")

    def test_the_hypervisor_crashes(self):
        self.create()
        self.behave(die={"signal": 11, "after": 0.3})
        done = self.refused("start", "m1")
        self.assertIn("signal 11", done.err)
        self.assertEqual(self.state(), "stopped")
        self.wait_for("the end", lambda: not self.processes())

    def test_login(self):
        """What launchd finds in ~/Library/LaunchAgents is started once, not in each domain."""
        self.create()
        self.ok("set", "--autostart", "m1")
        for _ in range(2):
            self.launchd.login(self.home)
            self.wait_for("the machine", lambda: self.inspect()["Vmnet"]["Phase"] == "ready", 60)
            self.assertEqual(self.domains(), ["gui"])
            self.assertNotEqual(self.launchctl("print", self.target("user")).returncode, 0)
            self.assertEqual(self.ok("ssh", "m1", "echo here").out, "here\n")
            self.launchd.logout()
            self.assertEqual(self.state(), "stopped")
        self.assertEqual(self.events("power cut"), [])
        self.launchd.login(self.home)
        self.wait_for("the machine", lambda: self.inspect()["Vmnet"]["Phase"] == "ready", 60)
        self.ok("stop", "m1")
        self.ok("start", "m1")  # now it is start's job, under the same label
        self.assertEqual(self.domains(), ["gui"])
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")
        self.assertEqual([path for path in self.files() if "LaunchAgents" in path], [])

    def test_bootout_by_hand(self):
        self.create()
        self.ok("start", "m1")
        self.assertEqual(self.launchctl("bootout", self.target("gui")).returncode, 0)
        self.wait_for("the end", lambda: not self.processes())
        self.assertEqual(len(self.events("vsock poweroff")), 1)
        self.assertEqual(self.state(), "stopped")

    def test_launchd_takes_no_job(self):
        self.create()
        self.launchd.script(bootstrap=[125, 134])
        self.ok("start", "m1")
        self.assertEqual(self.domains(), [])
        self.assertTrue(os.path.exists(f"/proc/{self.monitor()}"))
        self.ok("stop", "m1")
        os.unlink(os.path.join(self.bin, "launchctl"))
        self.ok("start", "m1")
        self.ok("stop", "m1")
        self.assertEqual(self.state(), "stopped")


class OverSsh(mac.MacTest):
    gui = False

    def test_in_the_user_domain(self):
        self.create()
        self.ok("start", "m1")
        self.assertEqual(self.domains(), ["user"])
        self.assertEqual([call[1].split("/")[0] for call in self.launchd.calls("bootstrap")],
                         ["gui", "user"])
        self.ok("stop", "m1")

    def test_a_version_that_only_says_5(self):
        self.create()
        self.launchd.script(bootstrap=[5])
        self.ok("start", "m1")
        self.assertEqual(self.domains(), ["user"])
        self.assertEqual(len(self.launchd.calls("bootstrap")), 2)
        self.ok("stop", "m1")


class Versions(mac.MacTest):
    def words(self, name="m1"):
        return self.text(self.machine_file(name, "vm.argv")).split(" -- ")[0]

    def test_all_of_them(self):
        self.create()
        for version, offload, net in (("0.11", False, "192.168.105."),
                                      ("0.12", False, "192.168.64."),
                                      ("0.13", True, "192.168.64."), ("1.0", True, "192.168.64.")):
            with self.subTest(version=version):
                self.set_environment(PMV_VMNET_HELPER_VERSION=version)
                self.ok("start", "m1")
                self.assertEqual("--enable-tso" in self.words(), offload)
                address = self.wait_for("an address", lambda: self.inspect()["Vmnet"]["Address"])
                self.assertTrue(address.startswith(net), address)
                self.ok("stop", "m1")
                self.assertNotIn("ERROR", self.vm_log())

    def test_offload_that_cannot_be(self):
        self.create("--offload", "on")
        self.set_environment(PMV_VMNET_HELPER_VERSION="0.12")
        done = self.ok("start", "m1")
        self.assertIn("offload is off: it needs vmnet-helper 0.13 or later", done.err)
        self.ok("stop", "m1")

    def test_offload_is_one_on_a_bridge(self):
        """Mixed, all of them would be slow."""
        self.create("--offload", "off")
        self.create(name="m2")
        self.create("--network", "host", name="m3")
        self.ok("start", "m1")
        self.ok("start", "m2")
        self.assertNotIn("--enable-tso", self.words("m2"))  # as it would have by itself
        self.ok("start", "m3")
        self.assertIn("--enable-tso", self.words("m3"))  # another bridge
        for name in ("m1", "m2"):
            self.ok("stop", name)
        self.ok("start", "m2")
        self.assertIn("--enable-tso", self.words("m2"))
        done = self.ok("start", "m1")
        self.assertIn("other machines run on the same bridge with offload on and this one with it "
                      "off", done.err)
        for name in ("m1", "m2", "m3"):
            self.ok("stop", name)

    def test_isolation(self):
        self.create("--isolated")
        self.set_environment(PMV_VMNET_HELPER_VERSION="0.11")
        done = self.refused("start", "m1")
        self.assertIn("an isolated machine on the shared network needs vmnet-helper 0.12 or later, "
                      "and this is 0.11.0", done.err)
        self.assertEqual(self.events("guest"), [])
        for version in ("0.12", "0.13"):
            self.set_environment(PMV_VMNET_HELPER_VERSION=version)
            self.ok("start", "m1")
            ports = json.loads(subprocess.run(["bridge", "-j", "-d", "link"], check=True,
                                              capture_output=True).stdout)
            self.assertEqual([port["isolated"] for port in ports], [True])
            self.ok("stop", "m1")

    def test_doctor(self):
        self.create()
        self.ok("start", "m1")
        shutil.rmtree(self.data("machines", "m1"))  # by hand, while it runs
        for version, verdict in (("0.11", "warning"), ("0.12", "good")):
            self.set_environment(PMV_VMNET_HELPER_VERSION=version)
            found = json.loads(self.run_program("doctor", "--json").out)
            about = [one["Verdict"] for one in found
                     if one["What"].startswith(f"vmnet-run {version}.0 at ")]
            self.assertEqual(set(about), {verdict}, found)
        self.assertIn('launchd has a job for machine \\"m1\\", which is gone', json.dumps(found))

    def test_too_old(self):
        """Before 0.11 there was no vmnet-run."""
        os.unlink(os.path.join(self.bin, "vmnet-run"))
        done = self.refused("init", "--provider", "vmnet-krunkit", "--image", self.image(), "m1")
        self.assertIn("install vmnet-helper 0.11 or later", done.err)
        self.link(os.path.join(harness.MACOS, "vmnet-run"))
        os.unlink(os.path.join(self.bin, "vmnet-helper"))
        done = self.refused("init", "--provider", "vmnet-krunkit", "--image", self.image(), "m1")
        self.assertIn("has no vmnet-helper beside it", done.err)


class Networks(mac.MacTest):
    def road(self, net, *words):
        self.create(*words)
        self.ok("start", "m1")
        address = self.wait_for("an address", lambda: self.inspect()["Vmnet"]["Address"])
        self.assertTrue(address.startswith(net), address)
        self.assertEqual(self.ok("ssh", "m1", "echo here").out, "here\n")
        self.assertNotIn("ERROR", self.vm_log())
        self.ok("stop", "m1")

    def test_host(self):
        # 0.11 can isolate here.
        self.set_environment(PMV_VMNET_HELPER_VERSION="0.11")
        self.road("192.168.128.", "--network", "host", "--isolated")

    def test_bridged(self):
        self.road("10.44.0.", "--network", "bridged:en0")
        self.assertEqual(self.world.read_leases(), [])

    def test_broker(self):
        self.road("192.168.65.", "--network", "broker:default", "--isolated")

    def test_an_interface_that_is_not_there(self):
        """vmnet-helper ends at once, and vmnet-run says nothing: the machine must."""
        self.create("--network", "bridged:en7")
        self.ok("start", "m1")
        self.wait_for("the loss", lambda: "vmnet-helper has ended" in
                      self.inspect()["Vmnet"]["Detail"])
        self.assertIn("vmnet_start_interface: VMNET_FAILURE", self.vm_log())
        self.ok("stop", "m1")

    def test_by_lease_alone(self):
        self.behave(vsock="none")
        self.create()
        self.ok("start", "m1")
        self.assertEqual(self.ok("ssh", "m1", "echo here").out, "here\n")
        leased = next(lease["ip_address"] for lease in self.world.read_leases()
                      if lease["name"] == "m1")
        self.wait_for("the address", lambda: self.inspect()["Vmnet"]["Address"] == leased)
        self.assertIn(leased, self.ok("env", "m1").out)
        self.ok("stop", "m1")
        self.assertEqual(self.events("vsock poweroff"), [])
        self.assertEqual(self.events("power cut"), [])

    def test_doctor_at_the_address(self):
        self.create()
        self.ok("start", "m1")
        address = self.wait_for("an address", lambda: self.inspect()["Vmnet"]["Address"])

        def finding(*route):
            if route:
                subprocess.run(["ip", "route", "add", *route, f"{address}/32"], check=True)
            try:
                found = json.loads(self.run_program("doctor", "--json").out)
            finally:
                if route:
                    subprocess.run(["ip", "route", "del", *route, f"{address}/32"], check=True)
            row, = (row for row in found if row["Check"] == "address")
            return row["Verdict"], row["Remedy"]
        self.assertEqual(finding(), ("good", ""))
        # What macOS answers a program that may not use the local network.
        verdict, remedy = finding("unreachable")
        self.assertEqual(verdict, "warning")
        self.assertIn("Privacy & Security, Local Network", remedy)
        verdict, remedy = finding("blackhole")
        self.assertEqual(verdict, "warning")
        self.assertIn("look for a VPN", remedy)
        self.ok("stop", "m1")

    def test_without_a_network(self):
        self.world.stop_bootpd()
        self.create()
        self.ok("start", "m1")
        self.assertEqual(self.inspect()["Vmnet"]["Address"], "")
        self.assertEqual(self.ok("ssh", "m1", "echo here").out, "here\n")
        self.ok("stop", "m1")

    def test_two_at_once(self):
        for name in ("m1", "m2"):
            self.create(name=name)
        first, second = (self.start_program("start", name) for name in ("m1", "m2"))
        for process in (first, second):
            done = self.finish_program(process)
            self.assertEqual(done.code, 0, str(done))
        addresses = {self.wait_for("an address", lambda: self.inspect(name)["Vmnet"]["Address"])
                     for name in ("m1", "m2")}
        self.assertEqual(len(addresses), 2)
        self.ok("stop", "m1")
        self.assertEqual(self.ok("ssh", "m2", "echo here").out, "here\n")
        self.assertEqual(len(self.helpers()), 1)
        self.ok("stop", "m2")


class BeforeMacOS26(mac.MacTest):
    macos = "15.6"

    def setUp(self):
        super().setUp()
        self.link(os.path.join(harness.MACOS, "sudo"))
        self.rules = os.path.join(self.top, "sudoers")
        self.set_environment(PMV_SUDOERS=self.rules)

    def allow(self, *lines):
        with open(self.rules, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))

    def test_rules(self):
        helper = os.path.join(self.bin, "vmnet-helper")
        for lines, words in (((), "a password is required"),
                             ((helper,), "you are not permitted to use the -C option")):
            self.allow(*lines)
            done = self.refused("init", "--provider", "vmnet-krunkit", "--image", self.image(),
                                "m1")
            self.assertIn("vmnet-helper needs root on macOS 15 and cannot get it", done.err)
            self.assertIn(words, done.err)
        self.allow(helper, "closefrom_override")
        self.create()
        self.ok("start", "m1")
        self.assertIn("started vmnet interface", self.vm_log())
        self.assertNotIn("--enable-tso", self.text(self.machine_file("m1", "vm.argv")))
        # Between vmnet-run and the helper stands sudo, and it is watched all the same.
        pid, = self.helpers()
        time.sleep(1.5)
        os.kill(pid, 9)
        self.wait_for("the loss", lambda: "vmnet-helper has ended" in
                      self.inspect()["Vmnet"]["Detail"])
        self.ok("stop", "m1")

    def test_broker(self):
        self.allow(os.path.join(self.bin, "vmnet-helper"), "closefrom_override")
        done = self.refused("init", "--provider", "vmnet-krunkit", "--image", self.image(),
                            "--network", "broker:default", "m1")
        self.assertIn("a broker's network needs macOS 26 or later: this is 15.6", done.err)


if __name__ == "__main__":
    mac.main()
