#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""rm: the question, refusals, force; and what verbs say about machines that are not there."""

import os
import sys

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
