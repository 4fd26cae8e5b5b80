#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""ssh: exit statuses, streams and words go through as they are."""

import os
import signal
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402


class Ssh(harness.MachineTest):
    def setUp(self):
        super().setUp()
        self.init()

    def test_a_running_machine(self):
        self.ok("start", "m1")
        for code in (0, 1, 42):
            done = self.run_program("ssh", "m1", f"exit {code}")
            self.assertEqual((done.code, done.err), (code, ""), done)
        done = self.run_program("ssh", "m1", "false")
        self.assertEqual((done.code, done.out, done.err), (1, "", ""))

        done = self.ok("ssh", "m1", "cat; echo on stderr >&2", stdin="through\n")
        self.assertEqual((done.out, done.err), ("through\n", "on stderr\n"))
        # Words are joined by ssh and parsed by the guest's shell; dashes are the command's.
        self.assertEqual(self.ok("ssh", "m1", "echo", "-n", "a", "b").out, "a b")
        self.assertEqual(self.ok("ssh", "m1", "echo $USER").out, "core\n")
        self.assertEqual(self.ok("ssh", "--username", "root", "m1", "echo $USER").out, "root\n")

        # Even where the command begins with one: nothing of it is an option of OpenSSH's.
        done = self.run_program("ssh", "m1", "-V")
        self.assertNotEqual(done.code, 0, done)
        self.assertNotIn("OpenSSH", done.err)
        self.assertEqual(self.ok("ssh", "m1", "--", "echo", "--", "a").out, "-- a\n")
        self.refused("ssh", "--username=-oProxyCommand=true", "m1", "true",
                     words='invalid username "-oProxyCommand=true"')

        # Without a command: a login shell, fed from standard input.
        done = self.ok("ssh", "m1", stdin="echo in a shell\nexit 0\n")
        self.assertIn("Connecting to vm m1. To close connection, use `~.` or `exit`\n", done.out)
        self.assertIn("in a shell\n", done.out)

    def test_the_user_s_ssh_configuration_has_no_say(self):
        os.makedirs(os.path.join(self.home, ".ssh"), exist_ok=True)
        with open(os.path.join(self.home, ".ssh/config"), "w", encoding="utf-8") as file:
            file.write("Host *\n  ProxyCommand false\n  User nobody\n")
        self.ok("start", "m1")
        self.assertEqual(self.ok("ssh", "m1", "echo $USER").out, "core\n")

    def test_a_stopped_machine(self):
        self.refused("ssh", "m1", "true", words='vm "m1" is not running')

    def test_no_machine(self):
        done = self.refused("ssh", "nosuch", "true")
        self.assertIn("podman-machine-default: VM does not exist\n", done.err)

    def test_an_interrupted_command(self):
        self.ok("start", "m1")
        process = self.start_program("ssh", "m1", "echo up; sleep 60")
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        done = self.finish_program(process, 20)
        self.assertNotEqual(done.code, 0)
        self.assertEqual(self.state(), "running")


if __name__ == "__main__":
    sys.exit(harness.main())
