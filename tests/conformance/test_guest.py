#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""podman's own suite for `podman machine`, the tests that boot something, as far as the stand-in
for QEMU of tests/lifecycle can play the guest. The number is the row of README.md."""

import json
import os
import re
import socket
import sys
import threading

sys.dont_write_bytecode = True
import podman_test as harness  # noqa: E402


class Guest(harness.PodmanTest):
    def make(self, name, *more):
        return self.good("machine", "init", "--disk-size", "1", "--image", self.image(), *more,
                         name)

    def start(self, name, *more, **how):
        return self.good("machine", "start", *more, name, timeout=120, **how)

    def state_of(self, name):
        return self.good("machine", "inspect", "--format", "{{.State}}", name).out.strip()

    def api(self, name, path):
        where = self.good("machine", "inspect", "--format",
                          "{{.ConnectionInfo.PodmanSocket.Path}}", name).out.strip()
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(20)
            client.connect(where)
            client.sendall(f"GET {path} HTTP/1.0\r\nHost: d\r\n\r\n".encode())
            return client.makefile().readline()

    def test_01_03_client_connects_to_the_socket(self):
        self.make("box", "--rootful", "--now")
        self.assertIn(" 200 ", self.api("box", "/_ping"))

    def test_16_machine_cp(self):
        self.make("box", "--now")
        with open(f"{self.top}/a b", "w", encoding="utf-8") as file:
            file.write("there and back")
        os.mkdir(f"{self.top}/folder")
        with open(f"{self.top}/folder/x", "w", encoding="utf-8") as file:
            file.write("x")
        self.assertEqual(self.good("machine", "cp", "--quiet", f"{self.top}/a b",
                                   "box:/run/guest/there").out, "Copy successful\n")
        self.good("machine", "cp", "box:/run/guest/there", f"{self.top}/back")
        self.assertEqual(self.text(f"{self.top}/back"), "there and back")
        self.good("machine", "cp", f"{self.top}/folder", "box:/run/guest/")
        self.good("machine", "cp", "box:/run/guest/folder", f"{self.top}/folder2")
        self.assertEqual(self.text(f"{self.top}/folder2/x"), "x")
        done = self.bad("machine", "cp", "box:/nonexistent", f"{self.top}/y",
                        words="Error: copy failed: exit status ")
        self.assertIn("No such file or directory", done.err)

    def test_23_init_now(self):
        done = self.make("box", "--now")
        self.assertTrue(done.out.startswith('Machine init complete\nStarting machine "box"\n'),
                        done)
        self.assertEqual(self.state_of("box"), "running")

    def test_47_running_and_starting(self):
        self.behave(states=[[3, "running packages\n"], [1, "done\n"]])
        self.make("box")
        last = ("machine", "list", "--format", "{{.LastUp}}")
        self.assertEqual(self.good(*last).out, "Never\n")
        process = self.start_program("machine", "start", "box",
                                     program=f"{self.top}/front/podman")
        seen = set()
        while process.poll() is None:
            seen.add(self.good(*last).out)
        self.finish_program(process)
        self.assertIn("Currently starting\n", seen)
        self.assertEqual(self.good(*last).out, "Currently running\n")

    def test_55_reset_running_and_idle(self):
        self.make("one", "--now")
        self.make("two")
        self.good("machine", "reset", "--force", timeout=120)
        self.assertEqual(self.listed(), [])
        self.assert_nothing_left("one", "two")

    def test_58_remove_running(self):
        self.make("box", "--now")
        self.bad("machine", "rm", "box", words='running vm "box" cannot be destroyed')
        self.good("machine", "rm", "--force", "box")
        self.assert_nothing_left("box")

    def test_68_set_while_running(self):
        self.make("box", "--now")
        for more in ([], ["--rootful"], ["--cpus", "1"]):
            self.bad("machine", "set", *more, "box",
                     words="unable to change settings unless vm is stopped")

    def test_71_ssh(self):
        self.make("podman-machine-default", "--now")
        for name in ([], ["podman-machine-default"]):
            self.assertIn("NAME=", self.good("machine", "ssh", *name, "cat",
                                             "/etc/os-release").out)
        done = self.podman("machine", "ssh", "podman-machine-default", "false")
        self.assertEqual((done.code, done.out, done.err), (1, "", ""))
        self.assertEqual(self.podman("machine", "ssh", "exit 42").code, 42)
        # Podman Desktop: one word that is a shell's.
        self.assertEqual(self.good("machine", "ssh", "podman-machine-default",
                                   "echo aGk= | base64 -d").out, "hi")

    def test_72_rootfulness(self):
        self.make("box", "--username", "core")
        self.start("box")
        self.assertEqual(self.good("machine", "ssh", "box", "echo $USER").out, "core\n")

    def test_73_start(self):
        self.make("box")
        done = self.start("box")
        self.assertRegex(done.out, re.compile(
            r'^Starting machine "box"\n\nThis machine is currently configured in rootless mode\. .*'
            r"\n\tpodman machine set --rootful box\n\nAPI forwarding listening on: (\S+)\n"
            r"You can connect Docker API clients by setting DOCKER_HOST using the\nfollowing "
            r"command in your terminal session:\n\n        export DOCKER_HOST='unix://\1'\n\n"
            r'Machine "box" started successfully\n$', re.DOTALL))
        self.good("machine", "stop", "box")
        done = self.start("box", "--no-info")
        self.assertNotIn("API forwarding", done.out)
        self.assertNotIn("rootless", done.out)
        self.good("machine", "stop", "box")
        self.assertEqual(self.start("box", "--quiet").out,
                         'Machine "box" started successfully\n')

    def test_75_already_started(self):
        self.make("box", "--now")
        self.bad("machine", "start", "box", words='unable to start "box": already running')

    def test_76_conflict_on_the_ssh_port(self):
        self.make("box")
        port = int(self.good("machine", "inspect", "--format", "{{.SSHConfig.Port}}", "box").out)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", port))
            taken.listen(1)
            done = self.start("box")
        self.assertIn(f"detected port conflict on machine ssh port [{port}], reassigning", done.err)
        new = self.good("machine", "inspect", "--format", "{{.SSHConfig.Port}}", "box").out.strip()
        self.assertNotEqual(int(new), port)
        connections, _ = self.connections()
        for entry in connections.values():
            self.assertIn(f":{new}/", entry["URI"])

    def test_77_only_the_machine_that_was_named(self):
        self.make("one")
        self.make("two")
        self.start("one", stdin="")
        self.assertEqual((self.state_of("one"), self.state_of("two")), ("running", "stopped"))

    def test_78_two_in_parallel(self):
        self.make("one")
        self.make("two")
        processes = [self.start_program("machine", "start", name,
                                        program=f"{self.top}/front/podman")
                     for name in ("one", "two")]
        self.assertEqual([self.finish_program(p, timeout=120).code for p in processes], [0, 0])

    def test_79_update_connection(self):
        self.make("one")
        self.make("two")
        self.start("two", "--update-connection=false")
        self.assertEqual(self.connections()[1], "one")
        self.good("machine", "stop", "two")
        self.start("two", "-u")
        self.assertEqual(self.connections()[1], "two")

    def test_80_init_now_update_connection(self):
        self.make("one")
        self.make("two", "--now", "--update-connection=false")
        self.assertEqual(self.connections()[1], "one")
        self.make("three", "--now", "--update-connection")
        self.assertEqual(self.connections()[1], "three")

    def test_84_stop(self):
        self.make("box", "--now")
        before = self.good("machine", "inspect", "--format",
                           '{{.LastUp.Format "2006-01-02T15:04:05Z07:00"}}', "box").out
        for _ in range(2):
            self.assertEqual(self.good("machine", "stop", "box").out,
                             'Machine "box" stopped successfully\n')
        after = self.good("machine", "inspect", "--format",
                          '{{.LastUp.Format "2006-01-02T15:04:05Z07:00"}}', "box").out
        self.assertLess(before, after)

    def test_events(self):
        path = os.path.join(self.top, "events.sock")
        got = []
        self.env["PODMAN_MACHINE_EVENTS_SOCK"] = path
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen(8)

            def listen():
                for _ in range(4):
                    with server.accept()[0] as peer:
                        got.append(json.loads(peer.makefile().read())["Status"])
            thread = threading.Thread(target=listen)
            thread.start()
            self.make("box", "--now")
            self.good("machine", "stop", "box")
            self.good("machine", "rm", "-f", "box")
            thread.join(20)
        self.assertEqual(got, ["init", "start", "stop", "remove"])

    def test_wait_and_logs(self):
        self.make("box")
        self.bad("machine", "wait", "--timeout", "0", "box",
                 words='machine "box" is stopped, not ready')
        self.good("machine", "wait", "--for", "stopped", "box")
        self.bad("machine", "logs", "box", words='machine "box" has no such log yet')
        process = self.start_program("machine", "wait", "box",
                                     program=f"{self.top}/front/podman")
        self.start("box")
        self.assertEqual(self.finish_program(process).code, 0)
        self.assertNotEqual(self.good("machine", "logs", "box").out, "")
        self.good("machine", "logs", "--vm", "box")
        self.good("machine", "logs", "--serial", "-n", "1", "box")

    def test_progress_for_programs(self):
        done = self.good("machine", "init", "--disk-size", "1", "--image", self.image(), "--now",
                         "--format", "json", "box")
        steps = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual({step["machine"] for step in steps}, {"box"})
        phases = [step["phase"] for step in steps]
        self.assertEqual((phases[0], phases[-1]), ("created", "ready"))
        self.assertEqual(steps[-1]["host"], "127.0.0.1")
        self.bad("machine", "start", "--format", "x", "box",
                 words="only value of `json` is supported")

    def test_start_again_for_a_script(self):
        for _ in range(2):
            self.make("box", "--exist-ok", "--now")
            self.assertEqual(self.state_of("box"), "running")


if __name__ == "__main__":
    sys.exit(harness.lifecycle.main(harness.missing()))
