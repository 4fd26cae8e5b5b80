#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""test_agent.py AGENT.py: the guest's side of the control plane, over unix sockets."""

import contextlib
import hmac
import io
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PORTS = {"REPORT_PORT": 5100, "CONTROL_PORT": 5104, "SSH_PORT": 5105, "API_ROOT_PORT": 5106,
         "API_USER_PORT": 5107}
END = b"\0\0\0\0"


def in_pieces(data, size=65536):
    pieces = (data[at:at + size] for at in range(0, len(data), size))
    return b"".join(len(piece).to_bytes(4, "big") + piece for piece in pieces)


def echo_server(path, greeting):
    """Greets each caller, then gives back what it gets."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()

    def serve():
        while True:
            client, _ = server.accept()
            with client, contextlib.suppress(OSError):  # it may have gone
                client.sendall(greeting)
                while chunk := client.recv(65536):
                    client.sendall(chunk)
    threading.Thread(target=serve, daemon=True).start()


class Agent(unittest.TestCase):
    TOKEN = ""
    REPORTS = True

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="pmv-agent.")
        self.addCleanup(self.folder.cleanup)
        path = self.path("agent")
        self.state = self.path("state")
        with open("/sys/class/net/lo/address", encoding="ascii") as file:
            mac = file.read().strip()
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"MAC = '{mac}'\nSTATE_FILE = '{self.state}'\n")
            for name, port in PORTS.items():
                file.write(f"{name} = {port if self.REPORTS or name != 'REPORT_PORT' else 0}\n")
            file.write(f"TOKEN = '{self.TOKEN}'\n")
            for name in ("ROOT", "USER"):
                file.write(f"API_{name}_SOCKET = '{self.path('podman-' + name.lower())}'\n")
            with open(sys.argv[1], encoding="utf-8") as body:
                file.write(body.read().replace("GREETING_S = 10\n", "GREETING_S = 2\n")
                           .replace("TOKEN_S = 10\n", "TOKEN_S = 2\n"))
        # What powers off only writes that it was asked to.
        with open(self.path("systemctl"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho \"$*\" >{self.path('asked')}\n"
                       f"[ ! -e {self.path('refuse')} ]\n")
        os.chmod(self.path("systemctl"), 0o755)
        self.host = socket.socket(socket.AF_UNIX)
        self.host.bind(self.path(5100))
        self.host.listen()
        self.addCleanup(self.host.close)
        environment = {"PATH": f"{self.folder.name}:/usr/bin:/bin",
                       "PODMAN_MACHINE_VMNET_AGENT_FOLDER": self.folder.name}
        self.agent = subprocess.Popen([sys.executable, "-I", path], env=environment)
        self.addCleanup(self.agent.wait)
        self.addCleanup(self.agent.kill)

    def path(self, name):
        return f"{self.folder.name}/{name}"

    def put_state(self, text):
        with open(self.state + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.state + ".new", self.state)

    def call(self, port):
        for _ in range(200):
            try:
                client = socket.socket(socket.AF_UNIX)
                client.connect(self.path(port))
                client.settimeout(20)
                return client
            except OSError:
                client.close()
                time.sleep(0.05)
        raise AssertionError(f"the agent does not listen at {port}")

    def ask(self, port, text, token=None):
        with self.call(port) as client:
            self.prove(client, self.TOKEN if token is None else token)
            with contextlib.suppress(OSError):  # it may have closed already
                client.sendall(text)
                client.shutdown(socket.SHUT_WR)
            heard = b""
            with contextlib.suppress(ConnectionResetError):  # not all that we said was read
                while chunk := client.recv(65536):
                    heard += chunk
            return heard

    def prove(self, client, token):
        if self.TOKEN:
            challenge = client.recv(32, socket.MSG_WAITALL)
            client.sendall(hmac.digest(token.encode(), challenge, "sha256"))

    def test_reports_at_boot_and_at_each_change(self):
        self.host.settimeout(20)
        guest, _ = self.host.accept()
        lines = guest.makefile()
        first = json.loads(lines.readline())
        guest.sendall(b"hello\n")
        self.assertEqual(first["state"], "absent")
        self.assertIn("127.0.0.1", first["addresses"])
        self.put_state("running packages\n")
        self.assertEqual(json.loads(lines.readline())["state"], "running packages")
        self.put_state("failed packages\ncannot install podman:\nno network\n")
        failed = json.loads(lines.readline())
        self.assertEqual(failed["detail"], "cannot install podman:\nno network")
        self.put_state("done\n")
        self.assertEqual(json.loads(lines.readline())["state"], "done")
        # Another monitor takes over: it is told everything again.
        lines.close()
        guest.close()
        guest, _ = self.host.accept()
        with guest.makefile() as lines:
            self.assertEqual(json.loads(lines.readline())["state"], "done")
        guest.close()

    def test_a_host_that_does_not_greet_is_called_again(self):
        self.host.settimeout(30)
        self.put_state("done\n")
        guest, _ = self.host.accept()
        begun = time.monotonic()
        with guest, guest.makefile() as lines:
            self.assertEqual(json.loads(lines.readline())["state"], "done")
            again, _ = self.host.accept()
            self.assertGreater(time.monotonic() - begun, 1.9)
            self.assertEqual(lines.readline(), "")
        with again, again.makefile() as lines:
            self.assertEqual(json.loads(lines.readline())["state"], "done")

    def test_leads_to_podman(self):
        echo_server(self.path("podman-root"), b"root ")
        echo_server(self.path("podman-user"), b"user ")
        self.assertEqual(self.ask(5106, in_pieces(b"hello") + END), b"root hello")
        self.assertEqual(self.ask(5107, in_pieces(b"hello", 1) + END), b"user hello")
        large = os.urandom(3_000_000)
        with self.call(5106) as client:
            # Only the last piece is the end: a hypervisor may tell nothing of another one.
            self.prove(client, self.TOKEN)
            threading.Thread(target=client.sendall, args=(in_pieces(large) + END,),
                             daemon=True).start()
            heard = b""
            while chunk := client.recv(1 << 20):
                heard += chunk
        self.assertEqual(heard, b"root " + large)

    def test_what_is_no_piece_closes(self):
        echo_server(self.path("podman-root"), b"")
        for said in (b"GET / HTTP/1.1\r\n\r\n", in_pieces(b"hello")[:-1], b"\0\0"):
            self.assertEqual(self.ask(5106, said), b"", said)
        self.assertIsNone(self.agent.poll())

    def test_more_callers_than_descriptors(self):
        echo_server(self.path("podman-root"), b"root ")
        resource.prlimit(self.agent.pid, resource.RLIMIT_NOFILE, (40, 40))
        callers = [self.call(5106) for _ in range(100)]
        time.sleep(0.5)
        for caller in callers:
            caller.close()
        until = time.monotonic() + 20
        while self.ask(5106, in_pieces(b"hello") + END) != b"root hello":
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)

    def test_a_socket_that_is_not_there_closes(self):
        self.assertEqual(self.ask(5107, END), b"")
        self.assertIsNone(self.agent.poll())

    def test_powers_off_when_told_and_only_then(self):
        self.assertEqual(self.ask(5104, b"GET / HTTP/1.1\n"), b"unknown\n")
        self.assertEqual(self.ask(5104, b""), b"unknown\n")
        self.assertFalse(os.path.exists(self.path("asked")))
        self.assertEqual(self.ask(5104, b"poweroff\n"), b"ok\n")
        with open(self.path("asked"), encoding="ascii") as file:
            self.assertEqual(file.read(), "--no-block poweroff\n")
        with open(self.path("refuse"), "w", encoding="ascii"):
            pass
        self.assertEqual(self.ask(5104, b"poweroff\n"), b"failed 1\n")


class AgentWithToken(Agent):
    """Every process of the host can call, and nobody listens for reports."""
    TOKEN = "0123abcd"
    REPORTS = False

    def test_without_the_token(self):
        echo_server(self.path("podman-root"), b"root ")
        for port, words in ((5106, in_pieces(b"hello") + END), (5104, b"poweroff\n")):
            for token in ("", "0123abce", "0123ABCD", "0123abcd\n"):
                self.assertEqual(self.ask(port, words, token), b"", token)
            # Another one's answer is of no use.
            with self.call(port) as one, self.call(port) as other:
                first, second = (client.recv(32, socket.MSG_WAITALL) for client in (one, other))
                self.assertNotEqual(first, second)
                other.sendall(hmac.digest(self.TOKEN.encode(), first, "sha256") + words)
                with contextlib.suppress(ConnectionResetError):
                    self.assertEqual(other.recv(1), b"")
        self.assertFalse(os.path.exists(self.path("asked")))

    def test_who_says_nothing_is_not_waited_for(self):
        with self.call(5106) as client:
            client.recv(32, socket.MSG_WAITALL)
            self.assertEqual(client.recv(1), b"")

    def test_nothing_is_reported(self):
        self.call(5104).close()
        self.host.settimeout(1.5)
        self.assertRaises(TimeoutError, self.host.accept)

    test_reports_at_boot_and_at_each_change = None
    test_a_host_that_does_not_greet_is_called_again = None


class Callers(unittest.TestCase):
    """Who may call is told by the context id of the other end, which no process can choose."""

    def take(self, context_id):
        with open(sys.argv[1], encoding="utf-8") as file:
            program = file.read()
        self.assertTrue(program.endswith("\nmain()\n"))
        names = {"TOKEN": ""}
        exec(program.removesuffix("main()\n"), names)
        ours, theirs = socket.socketpair()
        ours.settimeout(10)

        class Server:
            @staticmethod
            def accept():
                return theirs, (context_id, 12345)
        names["take"](Server, lambda client, target: client.sendall(target), b"hello")
        with ours:
            return ours.recv(100)

    def test_only_the_host(self):
        self.assertEqual(self.take(2), b"hello")
        for other in (0, 1, 3, 4294967295):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(self.take(other), b"")
            self.assertIn(f"context id {other}", said.getvalue())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
