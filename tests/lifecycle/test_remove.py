#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""rm: the question, refusals, force; and what verbs say about machines that are not there."""

import fcntl
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import harness  # noqa: E402


class Remove(harness.MachineTest):
    def setUp(self):
        super().setUp()
        self.init()

    def test_yes(self):
        done = self.ok("rm", "m1", stdin="y\n")
        self.assertTrue(done.out.startswith("The following files will be deleted:\n\n\n"), done)
        for name in ("machine.json", "disk.raw", "cidata.iso", "id_ed25519", "host_ed25519"):
            self.assertIn(self.machine_file("m1", name) + "\n", done.out)
        self.assertTrue(done.out.rstrip("\n").endswith(
            "Are you sure you want to continue? [y/N] "), repr(done.out))
        self.assert_nothing_left("m1")

    def test_yes_in_full(self):
        self.ok("rm", "m1", stdin="Yes, please\n")
        self.assert_nothing_left("m1")

    def test_no(self):
        for answer in ("n\n", "\n", "no\n", "q\n"):
            before = self.files()
            done = self.ok("rm", "m1", stdin=answer)
            self.assertEqual(done.err, "", done)
            self.assertEqual(self.files(), before)
            self.assertEqual(self.state(), "stopped")

    def test_end_of_file(self):
        before = self.files()
        self.refused("rm", "m1", stdin="", words="EOF")
        self.assertEqual(self.files(), before)

    def test_a_running_one(self):
        self.ok("start", "m1")
        self.refused("rm", "m1", words='running vm "m1" cannot be destroyed')
        self.assertEqual(self.state(), "running")
        done = self.ok("rm", "--force", "m1")
        self.assertEqual(done.out, "", done)
        self.assert_nothing_left("m1")

    def held_lock(self):
        """The machine's lock, held as by another command."""
        lock = open(self.data("locks", "m1.lock"), "a", encoding="utf-8")
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def test_a_start_that_was_first_at_the_lock(self):
        # Both wait for the lock; whoever gets it first, no machine may run on without a record.
        for force in ([], ["--force"]):
            with self.held_lock():
                start = self.start_program("start", "m1")
                time.sleep(0.4)
                remove = self.start_program("rm", *force, "m1", stdin=subprocess.DEVNULL)
                time.sleep(0.4)
            removed = self.finish_program(remove, timeout=120)
            self.finish_program(start, timeout=120)
            if os.path.exists(self.machine_file("m1", "machine.json")):
                self.assertNotEqual(removed.code, 0, removed)
                self.ok("rm", "--force", "m1")
            self.assert_nothing_left("m1")
            self.init()

    def test_a_broken_connections_file(self):
        with open(self.connections_file(), "w", encoding="utf-8") as file:
            file.write("not JSON")
        for argv, answer in ((["start", "m1"], None), (["rm", "m1"], "y\n")):
            done = self.run_program(*argv, stdin=answer)
            self.assertEqual(done.code, 125, done)
            self.assertIn("podman-connections.json' is not valid JSON", done.err)
            self.assertEqual(self.vm_pids(), [])
        done = self.ok("rm", "--force", "m1")
        self.assertIn("podman-connections.json", done.err)
        self.assertFalse(os.path.exists(self.data("machines", "m1")))
        os.unlink(self.connections_file())

    def test_one_that_is_starting(self):
        self.behave(states=[[0.1, "running packages\n"]])
        process = self.start_program("start", "m1")
        self.wait_for("the machine to come up", lambda: self.events("ssh"))
        self.refused("rm", "m1", words='running vm "m1" cannot be destroyed')
        self.ok("rm", "--force", "m1")
        self.assertNotEqual(self.finish_program(process).code, 0)
        self.assert_nothing_left("m1")

    def test_two_at_once(self):
        both = [self.start_program("rm", "-f", "m1") for _ in range(2)]
        codes = sorted(self.finish_program(p).code for p in both)
        self.assertIn(codes, ([0, 0], [0, 125]))
        self.assert_nothing_left("m1")

    def test_again_after_a_cut(self):
        """Everything but the record is gone already."""
        for name in ("disk.raw", "cidata.iso", "id_ed25519", "host_ed25519"):
            os.unlink(self.machine_file("m1", name))
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")

    def test_a_connection_that_somebody_removed(self):
        os.unlink(self.connections_file())
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")

    def test_the_same_name_again(self):
        self.ok("start", "m1")
        first = self.known_hosts()
        self.ok("rm", "-f", "m1")
        self.init("m1", "--now")
        self.assertEqual(len(self.known_hosts()), 1)
        self.assertNotEqual(self.known_hosts(), first)
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")


class Nobody(harness.MachineTest):
    def test_unknown_names(self):
        for argv in (["start", "m9"], ["stop", "m9"], ["rm", "m9"], ["rm", "--force", "m9"],
                     ["inspect", "m9"]):
            done = self.refused(*argv, words="m9: VM does not exist")
            self.assertEqual(done.out, "[]\n" if argv[0] == "inspect" else "", done)

    def test_bad_words(self):
        self.refused("frob", words="unrecognized command `podman-machine-vmnet frob`")
        done = self.refused("start", "--bogus", words="unknown flag: --bogus")
        self.assertIn("See 'podman-machine-vmnet start --help'\n", done.err)
        self.refused("start", "a", "b", words="accepts at most 1 arg(s), received 2")
        self.assertEqual(self.files(), set())


if __name__ == "__main__":
    sys.exit(harness.main())
