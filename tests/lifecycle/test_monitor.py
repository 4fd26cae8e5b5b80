#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The monitor dies, the VM dies, the guest does not listen: state is asked of locks, so every verb
still tells and does the right thing."""

import os
import signal
import sys
import time

sys.dont_write_bytecode = True
import harness  # noqa: E402


class Orphan(harness.MachineTest):
    """The monitor was killed and the VM lives on."""

    def setUp(self):
        super().setUp()
        self.init("m1", "--now")
        self.vm = self.vm_pids()
        for pid in self.monitor_pids():
            os.kill(pid, signal.SIGKILL)
        self.wait_for("the end of the monitor", lambda: not self.monitor_pids())
        self.assertEqual(self.vm_pids(), self.vm)

    def test_inspect_and_ssh(self):
        self.assertEqual(self.state(), "running")
        self.assertEqual(self.ok("ssh", "m1", "echo here").out, "here\n")

    def test_stop(self):
        self.assertEqual(self.ok("stop", "m1").out, 'Machine "m1" stopped successfully\n')
        self.assertEqual(self.state(), "stopped")
        self.assertEqual(self.events("guest off")[-1]["why"], "systemctl")
        self.wait_for("the end of all processes", lambda: not self.processes())
        self.ok("start", "m1")
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")

    def test_the_forwarder_ends_too(self):
        self.wait_for("its end", lambda: not self.processes("StreamLocalBindUnlink"))
        self.ok("start", "m1")
        self.wait_for("the next", lambda: len(self.processes("StreamLocalBindUnlink")) == 1)

    def test_start_takes_it_over(self):
        self.ok("start", "m1")
        self.assertEqual(self.vm_pids(), self.vm)
        self.assertEqual(len(self.events("guest")), 1)
        self.assertEqual(len(self.monitor_pids()), 1)
        self.assertEqual(self.state(), "running")
        self.ok("stop", "m1")
        self.assertEqual(self.events("guest off")[-1]["why"], "systemctl")
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")

    def test_rm(self):
        self.refused("rm", "m1", words='running vm "m1" cannot be destroyed')
        self.ok("rm", "--force", "m1")
        self.assert_nothing_left("m1")

    def test_the_vm_dies_too(self):
        for pid in self.vm:
            os.kill(pid, signal.SIGKILL)
        self.wait_for("stopped", lambda: self.state() == "stopped")
        self.ok("start", "m1")
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")


class Monitor(harness.MachineTest):
    def setUp(self):
        super().setUp()
        self.init("m1", "--now")

    def test_a_vm_that_is_killed(self):
        for pid in self.vm_pids():
            os.kill(pid, signal.SIGKILL)
        self.wait_for("stopped", lambda: self.state() == "stopped", 5)
        self.wait_for("the end of all processes", lambda: not self.processes(), 5)
        last = harness.json.loads(self.text(self.machine_file("m1", "last-exit.json")))
        self.assertEqual(os.WTERMSIG(last["wait_status"]) if "wait_status" in last else 9, 9, last)
        self.refused("ssh", "m1", "true", words='vm "m1" is not running')
        self.ok("start", "m1")
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")

    def test_sigterm_to_the_monitor_is_a_clean_stop(self):
        [os.kill(pid, signal.SIGTERM) for pid in self.monitor_pids()[:1]]
        self.wait_for("stopped", lambda: self.state() == "stopped")
        self.assertEqual(self.events("guest off")[-1]["why"], "systemctl")
        self.wait_for("the end of all processes", lambda: not self.processes())

    def test_ctrl_c_in_stop(self):
        process = self.start_program("stop", "m1")
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        self.finish_program(process)
        self.wait_for("stopped", lambda: self.state() == "stopped")
        self.assertEqual(self.ok("stop", "m1").code, 0)

    def test_two_stops_at_once(self):
        both = [self.start_program("stop", "m1") for _ in range(2)]
        for process in both:
            self.assertEqual(self.finish_program(process).code, 0)
        self.assertEqual(self.state(), "stopped")

    def test_a_monitor_that_is_killed_before_it_has_stopped(self):
        monitor, = self.monitor_pids()
        os.kill(monitor, signal.SIGSTOP)
        process = self.start_program("stop", "m1")
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        os.kill(monitor, signal.SIGKILL)
        self.assertEqual(self.finish_program(process, 60).code, 0)
        self.assertEqual(self.events("guest off")[-1]["why"], "systemctl")
        self.assertEqual(self.state(), "stopped")

    def test_the_api_socket_comes_back(self):
        forwarders = self.processes("StreamLocalBindUnlink")
        self.assertEqual(len(forwarders), 1)
        os.kill(forwarders[0], signal.SIGKILL)
        self.wait_for("another forwarder", lambda: self.processes("StreamLocalBindUnlink") not in
                      ([], forwarders))
        self.assertEqual(self.state(), "running")

    def test_no_other_monitor(self):
        done = self.refused("monitor", "m1")
        self.assertIn("already running", done.err)
        self.assertEqual(self.state(), "running")
        self.assertEqual(len(self.events("guest")), 1)


class DeafGuest(harness.MachineTest):
    def test_the_power_button(self):
        self.init()
        self.behave()
        self.ok("start", "m1")
        # sshd is gone: the guest can only be asked by its button.
        sshd = [e for e in self.events("guest")]
        self.assertEqual(len(sshd), 1)
        os.unlink(next(os.path.join(self.bin, name) for name in os.listdir(self.bin)
                       if name.startswith("guest-") and name.endswith(".sock")))
        self.ok("stop", "m1", timeout=120)
        self.assertEqual(len(self.events("power button")), 1)
        self.assertEqual(self.events("guest off")[-1]["why"], "power button")

    def test_force(self):
        """rm --force does not wait for a guest that ignores everything."""
        self.init()
        self.behave(poweroff="ignored", power_button="ignored", SIGTERM="ignored")
        self.ok("start", "m1")
        done = self.ok("rm", "--force", "m1")
        self.assertLess(done.seconds, 25 * harness.SLOW)
        self.assert_nothing_left("m1")


if __name__ == "__main__":
    sys.exit(harness.main())
