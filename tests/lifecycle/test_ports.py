#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""--localhost-ports: what containers publish in the guest, at 127.0.0.1 of the host. The stand-in
guest has this host's network, so its containers are published at 127.0.0.2."""

import os
import signal
import socket
import sys
import threading

sys.dont_write_bytecode = True
import harness  # noqa: E402

GUEST = "127.0.0.2"


class Container:
    """A server that says its name and then whatever it hears."""

    def __init__(self, name, port=0):
        self.name = name.encode()
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((GUEST, port or harness.free_port()))
        self.socket.listen(16)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer = self.socket.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.talk, args=(peer,), daemon=True).start()

    def talk(self, peer):
        with peer:
            peer.sendall(self.name)
            while True:
                data = peer.recv(65536)
                if not data:
                    return
                peer.sendall(data)


def hear(port):
    """What the server at that port of localhost says first; None: nobody is there."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as peer:
            return peer.recv(100).decode() or None
    except OSError:
        return None


class Ports(harness.MachineTest):
    def container(self, name, port=0):
        made = Container(name, port)
        self.addCleanup(made.socket.close)
        return made

    def ports(self):
        return {port["Port"]: port for port in self.inspect()["Vmnet"]["Ports"]}

    def log(self):
        return self.text(self.machine_file("m1", "monitor.log"))

    def assert_reached(self, container):
        self.wait_for(f"{container.name} at localhost",
                      lambda: hear(container.port) == container.name.decode())

    def test_ports_come_and_go_with_containers(self):
        first, second, third = (self.container(name) for name in ("first", "second", "third"))
        self.containers(root=[[(GUEST, first.port)]])
        self.init("m1", "--now")
        self.assertTrue(self.inspect()["Vmnet"]["LocalhostPorts"])
        self.assert_reached(first)
        self.wait_for("the word of it", lambda: self.ports() == {first.port: {
            "Port": first.port, "Protocol": "tcp", "Address": GUEST, "Forwarded": True,
            "Reason": ""}})

        # A user's container, a pod with two containers that both tell of its ports, and none.
        self.containers(root=[[(GUEST, first.port)], []],
                        user=[[(GUEST, second.port)], [(GUEST, third.port)],
                              [(GUEST, third.port)]])
        self.assert_reached(second)
        self.assert_reached(third)
        self.assert_reached(first)

        # One side alone.
        root, pod = [[(GUEST, first.port)], []], [[(GUEST, third.port)]]
        self.containers(root, pod)
        self.wait_for("the end of one", lambda: not hear(second.port))
        self.containers(root[1:], pod)
        self.wait_for("the end of the other", lambda: not hear(first.port))
        self.containers(root, pod)
        self.assert_reached(first)

        # A large answer, both ways, and a connection that outlives its port.
        with socket.create_connection(("127.0.0.1", third.port)) as peer:
            peer.settimeout(30)
            self.assertEqual(peer.recv(5), b"third")
            self.containers(root=[[(GUEST, first.port)]])
            self.wait_for("its end", lambda: not hear(third.port))
            block = os.urandom(1 << 20)
            threading.Thread(target=peer.sendall, args=(block,), daemon=True).start()
            heard = bytearray()
            while len(heard) < len(block):
                heard += peer.recv(65536)
            self.assertEqual(bytes(heard), block)
        self.assert_reached(first)
        self.assertEqual(list(self.ports()), [first.port])

        self.ok("stop", "m1")
        self.assertIsNone(hear(first.port))
        self.assertEqual(self.ports(), {})
        self.assertEqual([name for name in os.listdir(self.run_dir + "/podman")
                          if "ports" in name], [])
        self.ok("start", "m1")
        self.assert_reached(first)
        self.ok("rm", "--force", "m1")
        self.assert_nothing_left("m1")

    def test_what_cannot_be_had_is_left_alone(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen(1)
            port = taken.getsockname()[1]
            web = self.container("web", port)
            self.init("m1", "--now")
            ssh = int(self.inspect()["SSHConfig"]["Port"])
            self.containers(root=[[(GUEST, port), (GUEST, 53, "udp"), (GUEST, ssh)]])
            self.wait_for("the refusals", lambda: len(self.ports()) == 3)
            found = self.ports()
            self.assertEqual([each["Forwarded"] for each in found.values()], [False] * 3)
            self.assertEqual(found[port]["Reason"],
                             f"cannot listen on 127.0.0.1:{port}: Address already in use")
            self.assertEqual(found[53]["Reason"], "only tcp ports are forwarded")
            self.assertEqual(found[ssh]["Reason"], "it is the machine's own ssh port")
            self.containers(root=[[(GUEST, port), (GUEST, 53, "udp"), (GUEST, ssh)]])
            taken.settimeout(2)
            self.assertRaises(socket.timeout, taken.accept)  # nobody came
        self.assertEqual(self.log().count(f"port {port}/tcp of the guest is not forwarded"), 1)
        # Freed, it is taken without a word from the guest.
        self.assert_reached(web)

    def test_off(self):
        web = self.container("web")
        self.containers(root=[[(GUEST, web.port)]])
        self.init("m1", "--localhost-ports=false", "--now")
        self.assertFalse(self.inspect()["Vmnet"]["LocalhostPorts"])
        self.refused("set", "--localhost-ports", "m1",
                     words="unable to change settings unless vm is stopped")
        self.ok("ssh", "m1", "sleep 1")
        self.assertIsNone(hear(web.port))
        self.ok("stop", "m1")
        self.ok("set", "--localhost-ports", "m1")
        self.ok("start", "m1")
        self.assert_reached(web)

    def test_a_connection_that_breaks(self):
        web = self.container("web")
        self.containers(root=[[(GUEST, web.port)]])
        self.init("m1", "--now")
        self.assert_reached(web)
        for pid in self.processes("ControlMaster=yes"):
            os.kill(pid, signal.SIGKILL)
        self.assertIsNone(hear(web.port))
        self.assert_reached(web)

        # Without its monitor the machine has no ports either; the next one brings them back.
        for pid in self.monitor_pids():
            os.kill(pid, signal.SIGKILL)
        self.wait_for("the end of the ports", lambda: not hear(web.port))
        self.wait_for("the end of ssh", lambda: not self.processes("ControlMaster=yes"))
        self.ok("start", "m1")
        self.assert_reached(web)

    def test_what_is_no_list_is_passed_over(self):
        self.init("m1")
        with open(os.path.join(self.bin, "podman-root.json"), "w", encoding="utf-8") as file:
            file.write("not json")
        self.ok("start", "m1")
        self.wait_for("a word of it", lambda: "not a list of containers" in self.log())
        web = self.container("web")
        self.containers(user=[[(GUEST, web.port)]])
        self.assert_reached(web)


if __name__ == "__main__":
    sys.exit(harness.main())
