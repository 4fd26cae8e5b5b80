#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The plain road: init, start, stop, rm, and what is true on the way."""

import json
import os
import socket
import stat
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402


class Road(harness.MachineTest):
    def test_there_and_back(self):
        done = self.init()
        self.assertTrue(done.out.startswith("Machine init complete\nTo start your machine run:\n"),
                        done)
        self.assertIn("\tpodman-machine-vmnet start m1\n", done.out)
        self.assertEqual(self.state(), "stopped")

        done = self.ok("start", "m1")
        self.assertTrue(done.out.startswith('Starting machine "m1"\n'), done)
        self.assertTrue(done.out.endswith('Machine "m1" started successfully\n'), done)
        api = os.path.join(self.run_dir, "podman/m1-api.sock")
        self.assertIn(f"export DOCKER_HOST='unix://{api}'", done.out)
        self.assertTrue(stat.S_ISSOCK(os.stat(api).st_mode))
        self.assertEqual(stat.S_IMODE(os.stat(api).st_mode), 0o600)
        self.assertEqual(self.state(), "running")
        self.assertEqual(len(self.vm_pids()), 1)
        self.assertEqual({e["path"] for e in self.events("api")}, {"/_ping"})

        done = self.ok("stop", "m1")
        self.assertEqual(done.out, 'Machine "m1" stopped successfully\n')
        self.assertEqual(self.state(), "stopped")
        self.assertEqual(self.events("guest off")[-1]["why"], "systemctl")
        self.assertEqual(self.processes(), [])
        self.assertFalse(os.path.exists(api))

        done = self.ok("start", "--quiet", "m1")
        self.assertEqual(done.out, 'Machine "m1" started successfully\n')
        self.assertEqual(done.err, "")
        self.ok("stop", "m1")

        done = self.ok("rm", "--force", "m1")
        self.assertEqual(done.out, "")
        self.assert_nothing_left("m1")
        self.refused("inspect", "m1", words="m1: VM does not exist")

    def test_the_default_machine(self):
        done = self.ok("init", "--provider", "qemu", "--image", self.image(), "--disk-size", "1")
        self.assertIn("\tpodman-machine-vmnet start\n", done.out)
        self.assertTrue(os.path.exists(self.machine_file("podman-machine-default",
                                                         "machine.json")))
        self.ok("start")
        self.assertEqual(self.state("podman-machine-default"), "running")
        self.ok("stop")
        self.ok("rm", "-f")
        self.assert_nothing_left("podman-machine-default")

    def test_init_now(self):
        done = self.init("m1", "--now")
        self.assertTrue(done.out.startswith('Machine init complete\nStarting machine "m1"\n'), done)
        self.assertTrue(done.out.endswith('Machine "m1" started successfully\n'), done)
        self.assertEqual(self.state(), "running")

    def test_no_info(self):
        self.init()
        self.assertEqual(self.ok("start", "--no-info", "m1").out,
                         'Starting machine "m1"\nMachine "m1" started successfully\n')

    def test_start_of_a_running_one(self):
        self.init("m1", "--now")
        self.refused("start", "m1", words='unable to start "m1": already running')
        self.assertEqual(self.state(), "running")
        self.assertEqual(len(self.events("guest")), 1)

    def test_stop_of_a_stopped_one(self):
        self.init()
        for _ in range(2):
            self.assertEqual(self.ok("stop", "m1").out, 'Machine "m1" stopped successfully\n')

    def test_two_machines_at_once(self):
        self.init("one", "--now")
        self.init("two", "--now")
        self.assertEqual((self.state("one"), self.state("two")), ("running", "running"))
        self.ok("rm", "-f", "one")
        self.assertEqual(self.state("two"), "running")
        self.assertEqual(self.ok("ssh", "two", "echo still here").out, "still here\n")
        self.ok("rm", "-f", "two")
        self.assert_nothing_left("one", "two")

    def test_a_guest_that_powers_itself_off(self):
        self.init("m1", "--now")
        self.run_program("ssh", "m1", "systemctl poweroff")
        self.wait_for("the end", lambda: self.state() == "stopped")
        self.wait_for("the end of all processes", lambda: not self.processes())
        self.ok("start", "m1")
        self.ok("stop", "m1")

    def test_keys_and_folders_are_private(self):
        self.init("m1", "--now")
        for folder in (self.data(), self.data("machines"), self.data("machines/m1")):
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode) & 0o077, 0, folder)
        for name in ("id_ed25519", "host_ed25519", "cidata.iso", "disk.raw", "machine.json"):
            mode = stat.S_IMODE(os.stat(self.machine_file("m1", name)).st_mode)
            self.assertEqual(mode, 0o600, name)
        self.ok("stop", "m1")

    def test_inspect_in_each_state(self):
        self.init("m1")
        stopped = self.inspect()
        self.assertEqual((stopped["Name"], stopped["State"]), ("m1", "stopped"))
        self.assertEqual(stopped["LastUp"], "0001-01-01T00:00:00Z")
        self.assertEqual(stopped["Resources"]["DiskSize"], 1)
        self.assertEqual(stopped["SSHConfig"]["IdentityPath"],
                         self.machine_file("m1", "id_ed25519"))
        self.assertEqual(stopped["SSHConfig"]["RemoteUsername"], "core")
        self.behave(states=[[0.1, "running packages\n"], [2, "done\n"]])
        process = self.start_program("start", "m1")
        self.wait_for("starting", lambda: self.state() == "starting")
        listed = json.loads(self.ok("list", "--format", "json").out)[0]
        self.assertEqual((listed["Running"], listed["Starting"]), (False, True))
        self.finish_program(process)
        running = self.inspect()
        self.assertEqual(running["State"], "running")
        self.assertEqual(running["ConnectionInfo"]["PodmanSocket"]["Path"],
                         os.path.join(self.run_dir, "podman/m1-api.sock"))
        self.ok("stop", "m1")
        self.assertNotEqual(self.inspect()["LastUp"], "0001-01-01T00:00:00Z")

    def test_as_podman_machine(self):
        self.init()
        self.assertEqual(self.ok("machine", "stop", "m1").out,
                         'Machine "m1" stopped successfully\n')

    def test_list(self):
        self.assertEqual(json.loads(self.ok("list", "--format", "json").out), [])
        self.init("m1", "--now")
        self.init("m2")
        found = {m["Name"]: m["Running"] for m in
                 json.loads(self.ok("list", "--format", "json").out)}
        self.assertEqual(found, {"m1": True, "m2": False})
        self.assertEqual(self.ok("ls", "--noheading", "--format", "{{.Name}} {{.VMType}}").out,
                         "m1* qemu\nm2 qemu\n")
        self.ok("stop", "m1")
        self.assertIn("Never", self.ok("list").out)


class Connections(harness.MachineTest):
    def port_of(self, name):
        return json.loads(self.text(self.machine_file(name, "machine.json")))["ssh"]["port"]

    def test_what_is_registered(self):
        self.init()
        self.ok("start", "m1")
        connections, default = self.connections()
        port = self.inspect()["SSHConfig"]["Port"]
        identity = self.machine_file("m1", "id_ed25519")
        uid = os.getuid() if os.getuid() >= 1000 else 1000
        self.assertEqual(default, "m1")
        self.assertEqual(connections, {
            "m1": {"URI": f"ssh://core@127.0.0.1:{port}/run/user/{uid}/podman/podman.sock",
                   "Identity": identity},
            "m1-root": {"URI": f"ssh://root@127.0.0.1:{port}/run/podman/podman.sock",
                        "Identity": identity}})
        host_key = self.text(self.machine_file("m1", "host_ed25519.pub")).split()[:2]
        self.assertEqual([line.split()[:3] for line in self.known_hosts()],
                         [[f"[127.0.0.1]:{port}"] + host_key])
        self.assertEqual(stat.S_IMODE(os.stat(self.known_hosts_file()).st_mode), 0o600)
        self.ok("stop", "m1")
        self.assertEqual(self.connections(), (connections, default))
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")

    def test_rootful(self):
        self.init("m1", "--rootful")
        self.assertEqual(self.connections()[1], "m1-root")

    def test_others_are_left_alone(self):
        other = {"URI": "ssh://root@192.0.2.1:22/run/podman/podman.sock", "IsMachine": False,
                 "Tomorrow": {"a": [1]}}
        before = {"Connection": {"Default": "mine", "Connections": {"mine": other}},
                  "Farm": {"List": {"f": ["mine"]}}}
        os.makedirs(os.path.dirname(self.connections_file()))
        with open(self.connections_file(), "w", encoding="utf-8") as file:
            json.dump(before, file)
        os.makedirs(os.path.dirname(self.known_hosts_file()), mode=0o700)
        line = "example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGn84DSLgo0YU1PP7QQ mine\n"
        with open(self.known_hosts_file(), "w", encoding="utf-8") as file:
            file.write(line)
        self.init("m1", "--now")
        self.assertEqual(self.connections()[1], "mine")
        self.assertEqual(len(self.known_hosts()), 2)
        self.ok("rm", "-f", "m1")
        self.assertEqual(json.loads(self.text(self.connections_file())), before)
        self.assertEqual(self.text(self.known_hosts_file()), line)

    def put_podman(self, version):
        path = os.path.join(self.bin, "podman")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho podman version {version}\n")
        os.chmod(path, 0o755)

    def test_an_old_podman(self):
        """podman before 5 finds connections in containers.conf; a newer one would show them twice."""
        conf = os.path.join(self.home, ".config/containers/containers.conf.d",
                            "podman-machine-vmnet-m1.conf")
        self.put_podman("4.3.1")
        self.init()
        port = self.inspect()["SSHConfig"]["Port"]
        self.assertIn('[engine.service_destinations."m1-root"]\n'
                      f'uri = "ssh://root@127.0.0.1:{port}/run/podman/podman.sock"\n'
                      f'identity = "{self.machine_file("m1", "id_ed25519")}"\n', self.text(conf))
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", port))
            taken.listen(1)
            self.ok("start", "m1")
        self.assertNotIn(f":{port}/", self.text(conf))
        self.ok("stop", "m1")
        self.put_podman("5.0.0")
        self.ok("start", "m1")
        self.assertFalse(os.path.exists(conf))
        self.ok("stop", "m1")
        self.put_podman("4.9.4")
        self.ok("start", "m1")
        self.ok("rm", "--force", "m1")
        self.assertFalse(os.path.exists(conf))

    def test_update_connection(self):
        self.init("one")
        self.init("two")
        self.assertEqual(self.connections()[1], "one")
        self.ok("start", "two")
        self.assertEqual(self.connections()[1], "one")
        self.ok("stop", "two")
        self.ok("start", "--update-connection", "two")
        self.assertEqual(self.connections()[1], "two")
        self.ok("rm", "-f", "two")
        self.assertEqual(self.connections()[1], "one")

    def test_a_taken_connection_name(self):
        os.makedirs(os.path.dirname(self.connections_file()))
        with open(self.connections_file(), "w", encoding="utf-8") as file:
            json.dump({"Connection": {"Connections": {"m1-root": {"URI": "ssh://a@b:22/c"}}}}, file)
        self.refused("init", "--provider", "qemu", "--image", self.image(), "m1",
                     words='system connection "m1-root" already exists. consider a different '
                     'machine name or remove the connection with `podman system connection rm`')
        self.assertFalse(os.path.exists(self.data("machines/m1")))

    def test_a_port_that_somebody_took(self):
        self.init()
        port = self.port_of("m1")
        with socket.socket() as squatter:
            squatter.bind(("127.0.0.1", port))
            squatter.listen()
            done = self.ok("start", "m1")
        self.assertIn(f"detected port conflict on machine ssh port [{port}], reassigning",
                      done.err)
        new = self.port_of("m1")
        self.assertNotEqual(new, port)
        for entry in self.connections()[0].values():
            self.assertIn(f":{new}/", entry["URI"])
        self.assertEqual([line.split()[0] for line in self.known_hosts()],
                         [f"[127.0.0.1]:{new}"])
        self.assertEqual(self.ok("ssh", "m1", "echo here").out, "here\n")
        self.ok("rm", "-f", "m1")
        self.assert_nothing_left("m1")


if __name__ == "__main__":
    sys.exit(harness.main())
