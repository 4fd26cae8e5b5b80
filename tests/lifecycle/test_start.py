#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""start when something goes wrong: what is said, how soon, and that nothing is left running."""

import fcntl
import json
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
import harness  # noqa: E402


class Start(harness.MachineTest):
    def setUp(self):
        super().setUp()
        self.init()

    def assert_stopped_and_usable(self):
        """After a failure: nothing runs, and the next start works as if nothing had been."""
        self.assertEqual(self.state(), "stopped")
        self.wait_for("the end of all processes", lambda: not self.processes())
        self.assertEqual([n for n in self.files() if n.startswith("run/")], [])
        self.behave()
        self.ok("start", "m1")
        self.assertEqual(self.state(), "running")
        self.ok("stop", "m1")
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")

    def test_a_vm_that_dies_at_boot(self):
        self.behave(die={"after": 0.3, "status": 3,
                         "log": ["qemu-system-x86_64: first line", "could not map the moon"]})
        done = self.refused("start", "m1")
        self.assertIn("machine did not transition into running state", done.err)
        self.assertIn("exit status 3", done.err)
        self.assertIn("could not map the moon", done.err)
        died = self.events("dies")[0]["at"]
        self.assertLess(time.time() - died, 1.5 * harness.SLOW, "it was told too late")
        self.assert_stopped_and_usable()

    def test_a_vm_that_is_killed_at_boot(self):
        self.behave(die={"after": 0.3, "signal": signal.SIGSEGV})
        done = self.refused("start", "m1")
        self.assertRegex(done.err, "killed by signal 11|Segmentation")
        self.assert_stopped_and_usable()

    def test_a_hypervisor_that_is_not_there(self):
        os.unlink(os.path.join(self.bin, "qemu-system-x86_64"))
        self.env["PATH"] = self.bin
        os.symlink("/usr/bin/ssh", os.path.join(self.bin, "ssh"))
        done = self.refused("start", "m1")
        self.assertIn("qemu-system-x86_64", done.err)
        self.assertEqual(self.state(), "stopped")

    def test_a_clock_that_was_set_back(self):
        # What an earlier run has left seems to come from this one.
        for phase in ("failed", "ready"):
            with open(self.machine_file("m1", "status.json"), "w", encoding="utf-8") as file:
                json.dump({"phase": phase, "detail": "long ago", "monitor_pid": 2,
                           "changed": "2200-01-01T00:00:00Z", "vm_pid": 3, "port": 1}, file)
            done = self.ok("start", "m1")
            self.assertNotIn("long ago", done.err)
            self.assertEqual(self.ok("ssh", "m1", "echo here").out, "here\n")
            self.ok("stop", "m1")

    def test_little_space(self):
        words = ('mount -t tmpfs -o size=64m none "$HOME" && '
                 '"$0" init --provider qemu --disk-size 1 --image "$1" m2 && '
                 '"$0" start m2; "$0" stop m2')
        done = self.run_program("--user", "--map-root-user", "--mount", "sh", "-c", words,
                                harness.BINARY, self.image(), program="unshare")
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.err, r"only [56]\d MiB are free for the machine's disk")

    def test_ssh_that_never_answers(self):
        self.behave(ssh="silent")
        begun = time.monotonic()
        done = self.refused("start", "--timeout", "3", "m1", timeout=90)
        self.assertIn("machine did not transition into running state", done.err)
        self.assertRegex(done.err, "not ready after 3 s|timed out")
        self.assertLess(time.monotonic() - begun, 60 * harness.SLOW)
        self.assert_stopped_and_usable()

    def test_a_guest_that_never_listens(self):
        self.behave(boot=600)
        done = self.refused("start", "--timeout", "3", "m1", timeout=90)
        self.assertIn("not ready after 3 s", done.err)
        self.assert_stopped_and_usable()

    def test_connections_that_are_dropped_at_first(self):
        self.behave(drop_connections=3)
        self.ok("start", "m1")
        self.assertEqual(len(self.events("dropped")), 3)
        self.assert_running_then_gone()

    def test_another_host_key(self):
        """Somebody else answers at the machine's port: never logged in to, never registered."""
        os.unlink(self.machine_file("m1", "host_ed25519.pub"))
        os.unlink(self.machine_file("m1", "host_ed25519"))
        harness.subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                                self.machine_file("m1", "host_ed25519")], check=True)
        done = self.refused("start", "--timeout", "5", "m1", timeout=90)
        self.assertRegex(done.err, "(?i)host key")
        self.assertEqual(self.state(), "stopped")
        self.wait_for("the end of all processes", lambda: not self.processes())

    def test_provisioning_that_failed(self):
        self.behave(states=[[0.1, "running packages\n"],
                            [0.3, "failed packages\nno network: cannot resolve\n"]])
        done = self.refused("start", "m1", timeout=90)
        self.assertIn("failed packages", done.err)
        self.assertIn("cannot resolve", done.err)
        self.assert_stopped_and_usable()

    def test_the_steps_are_told(self):
        self.behave(states=[[0.1, "running packages\n"], [1.5, "running selinux\n"],
                            [1.5, "done\n"]])
        done = self.ok("start", "m1")
        self.assertIn("packages\n", done.err)
        self.assertIn("selinux\n", done.err)
        self.assertRegex(done.err, "(?s)packages.*selinux")
        self.assert_running_then_gone()

    def test_a_channel_that_is_refused_until_the_rules_are_there(self):
        self.behave(streamlocal="repairable")
        self.ok("start", "m1")
        provision = [e["words"] for e in self.events("provision")]
        self.assertEqual(provision, ["selinux"])
        self.assert_running_then_gone()

    def test_a_channel_that_is_refused_for_good(self):
        self.behave(streamlocal="refused")
        done = self.refused("start", "m1", timeout=90)
        self.assertIn("machine did not transition into running state", done.err)
        self.assertIn("/run/podman/podman.sock", done.err)
        self.assertEqual([e["words"] for e in self.events("provision")], ["selinux"])
        self.assert_stopped_and_usable()

    def test_two_at_once(self):
        self.behave(boot=1)
        first = self.start_program("start", "m1")
        time.sleep(0.1)
        second = self.start_program("start", "m1")
        codes = sorted(self.finish_program(p).code for p in (first, second))
        self.assertEqual(codes, [0, 125])
        self.assertEqual(len(self.events("guest")), 1)
        self.assertEqual(self.events("second VM on one disk"), [])
        self.assertEqual(len(self.vm_pids()), 1)
        self.assert_running_then_gone()

    def test_a_script_that_is_run_again(self):
        self.behave(boot=1)
        first = self.start_program("start", "m1")
        self.wait_for("the VM", lambda: self.events("guest"))
        done = self.ok("start", "--exist-ok", "m1")
        self.assertEqual(done.out, 'Starting machine "m1"\nMachine "m1" is already running\n')
        self.assertEqual(self.state(), "running")
        self.assertEqual(self.finish_program(first).code, 0)
        self.refused("start", "m1", words='unable to start "m1": already running')
        self.assertEqual(json.loads(self.ok("start", "--exist-ok", "--format", "json", "m1").out),
                         {"machine": "m1", "phase": "ready"})
        self.assertEqual(len(self.events("guest")), 1)
        self.assert_running_then_gone()

    def test_one_that_is_on_its_way_already(self):
        """Its start was killed, and the monitor goes on."""
        self.behave(states=[[0.1, "running packages\n"], [2, "done\n"]])
        process = self.start_program("start", "m1")
        self.wait_for("the machine to come up", lambda: self.events("ssh"))
        process.kill()
        process.communicate()
        self.refused("start", "--exist-ok", "--timeout", "1", "m1",
                     words='unable to start "m1": it is still starting')
        self.ok("start", "--exist-ok", "m1")
        self.assert_running_then_gone()

    def test_ctrl_c(self):
        self.behave(states=[[0.1, "running packages\n"]])
        process = self.start_program("start", "m1")
        self.wait_for("the machine to come up", lambda: self.events("ssh"))
        self.assertEqual(self.state(), "starting")
        process.send_signal(signal.SIGINT)
        done = self.finish_program(process)
        self.assertEqual(done.code, 1, done)
        self.assert_stopped_and_usable()

    def test_ctrl_c_at_once(self):
        # Whatever it had come to, when it is over nothing runs that nobody knows of.
        for delay in (0, 0.02, 0.05, 0.1, 0.2):
            process = self.start_program("start", "m1")
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            self.finish_program(process)
            self.assertEqual((self.vm_pids(), self.monitor_pids()), ([], []), delay)
        self.assert_stopped_and_usable()

    def test_ctrl_c_before_the_guest_listens(self):
        self.behave(boot=600)
        process = self.start_program("start", "m1")
        self.wait_for("the VM", lambda: self.events("guest"))
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish_program(process).code, 1)
        self.assert_stopped_and_usable()

    def test_stop_while_starting(self):
        self.behave(states=[[0.1, "running packages\n"]])
        process = self.start_program("start", "m1")
        self.wait_for("the machine to come up", lambda: self.events("ssh"))
        self.ok("stop", "m1")
        self.assertNotEqual(self.finish_program(process).code, 0)
        self.assert_stopped_and_usable()

    def test_a_start_that_is_killed(self):
        """The monitor goes on: start only follows."""
        self.behave(boot=1)
        process = self.start_program("start", "m1")
        self.wait_for("the VM", lambda: self.events("guest"))
        process.kill()
        process.communicate()
        self.wait_for("a running machine", lambda: self.state() == "running")
        self.assert_running_then_gone()

    def test_podmans_lock_held_by_somebody_else(self):
        """Registration waits for it; stop does not wait for registration."""
        with open(self.connections_file() + ".lock", "w", encoding="utf-8") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            process = self.start_program("start", "m1")
            self.wait_for("the machine to come up", lambda: self.events("ssh"))
            time.sleep(1)
            self.assertEqual(self.state(), "starting")
            self.ok("stop", "m1")
            self.assertNotEqual(self.finish_program(process).code, 0)
        self.assert_stopped_and_usable()

    def test_a_connection_of_somebody_else(self):
        """One of the machine's name with another key is neither replaced nor removed."""
        with open(self.connections_file(), encoding="utf-8") as file:
            found = json.load(file)
        found["Connection"]["Connections"]["m1"]["Identity"] = "/home/other/key"
        with open(self.connections_file(), "w", encoding="utf-8") as file:
            json.dump(found, file)
        self.refused("start", "m1", words='cannot overwrite connection "m1": it is not this '
                     "machine's; remove it with `podman system connection rm m1`")
        self.assertEqual(self.vm_pids(), [])
        self.ok("rm", "-f", "m1")
        self.assertEqual(list(self.connections()[0]), ["m1"])

    def test_rm_with_a_broken_connections_file(self):
        with open(self.connections_file(), "w", encoding="utf-8") as file:
            file.write("{")
        done = self.run_program("rm", "m1", stdin="y\n")
        self.assertEqual(done.code, 125, done)
        self.assertTrue(os.path.exists(self.machine_file("m1", "machine.json")))
        self.assertIn("podman-connections.json", self.ok("rm", "-f", "m1").err)
        self.assertFalse(os.path.exists(self.data("machines", "m1")))

    def test_a_lost_disk(self):
        os.unlink(self.machine_file("m1", "disk.raw"))
        done = self.refused("start", "m1")
        self.assertIn("has lost its file", done.err)
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")

    def test_a_damaged_record(self):
        with open(self.machine_file("m1", "machine.json"), "w", encoding="utf-8") as file:
            file.write('{"name": "m1", ')
        done = self.refused("start", "m1")
        self.assertIn("machine.json", done.err)
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")

    def assert_running_then_gone(self):
        self.assertEqual(self.state(), "running")
        self.ok("stop", "m1")
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")


if __name__ == "__main__":
    sys.exit(harness.main())
