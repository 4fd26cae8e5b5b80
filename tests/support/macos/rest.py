# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The REST services of krunkit and vfkit on their unix sockets, each with its own manners."""

import contextlib
import json
import os
import socket
import threading

STATE = "VirtualMachineState"


def serve(uri, answer, replace):
    """One request after another, as krunkit does. `replace`: a file in the way is removed; else it
    is an error of the caller's."""
    scheme, path = uri
    if scheme != "unix":
        return
    if replace:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(16)

    def loop():
        while True:
            client, _ = server.accept()
            with client, contextlib.suppress(OSError):
                answer(client)
    threading.Thread(target=loop, daemon=True).start()


def reply(client, status, body=None, kind="application/json"):
    text = json.dumps(body, separators=(",", ":")) if body is not None else ""
    client.sendall(f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n"
                   f"Content-Length: {len(text)}\r\n\r\n{text}".encode())


def split_request(data):
    """(method, path, body) or None when it is not all of a request."""
    head, separator, body = data.partition(b"\r\n\r\n")
    words = head.split(b"\r\n")[0].decode("latin-1").split(" ")
    if not separator or len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
    return words[0], words[1], body[:length]


def wanted_state(body):
    try:
        return json.loads(body)["state"]
    except (ValueError, KeyError, TypeError):
        return None


class OldKrunkit:
    """Before 1.3.1 (src/status.rs): one read; "POST" anywhere in it stops the VM; no length, and a
    NUL at the end."""

    def __init__(self, machine):
        self.machine = machine

    def __call__(self, client):
        stop = b"POST" in client.recv(4096)
        state = STATE + ("Stopping" if stop else "Running")
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-type: application/json\r\n\r\n"
                       + f'{{"state": "{state}"}}'.encode() + b"\0")
        if stop:
            self.machine.press_power_button()


class Krunkit:
    """1.3.1 (src/status.rs): one read, which must have all of the request. HardStop is Stop."""

    def __init__(self, machine):
        self.machine, self.stopping = machine, False

    def facts(self):
        can_stop = not self.stopping
        return {"state": STATE + ("Stopping" if self.stopping else "Running"), "canStart": False,
                "canPause": False, "canResume": False, "canStop": can_stop,
                "canHardStop": can_stop}

    def __call__(self, client):
        data = client.recv(4096)
        if not data:
            return
        request = split_request(data)
        if not request:
            return reply(client, "400 Bad Request")
        method, path, body = request
        if path.split("?")[0].removesuffix("/") != "/vm/state":
            return reply(client, "404 Not Found")
        if method == "GET":
            return reply(client, "200 OK", self.facts())
        if method != "POST":
            return reply(client, "405 Method Not Allowed")
        state = wanted_state(body)
        if not isinstance(state, str):
            return reply(client, "400 Bad Request", {"error": "missing or invalid 'state' field"})
        if state not in ("Stop", "HardStop"):
            return reply(client, "400 Bad Request", {"error": f"unsupported state change: {state}"})
        self.stopping = True
        reply(client, "200 OK", self.facts())
        return self.machine.press_power_button()


class Vfkit:
    """pkg/rest: Stop asks the guest, HardStop does not. 202 has no body."""

    def __init__(self, machine):
        self.machine = machine

    def __call__(self, client):
        data = client.recv(4096)
        while data and not split_request(data):
            more = client.recv(4096)
            if not more:
                return
            data += more
        if not data:
            return
        method, path, body = split_request(data)
        if path == "/vm/state" and method == "GET":
            reply(client, "200 OK", {"state": STATE + "Running", "canStart": False,
                                     "canPause": True, "canResume": False, "canStop": True,
                                     "canHardStop": True})
        elif path == "/vm/state" and method == "POST":
            self.change(client, wanted_state(body))
        elif path == "/vm/inspect" and method == "GET":
            reply(client, "200 OK", {"vcpus": self.machine.spec.cpus,
                                     "memoryBytes": self.machine.spec.memory_mib << 20})
        else:
            client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n"
                           b"Content-Length: 18\r\n\r\n404 page not found")

    def change(self, client, state):
        if state == "Stop":
            self.machine.press_power_button()
        elif state == "HardStop":
            self.machine.cut_power()
        elif state in (None, ""):
            return reply(client, "400 Bad Request", {"error": "no state"})
        elif state not in ("Pause", "Resume"):
            return reply(client, "500 Internal Server Error",
                         {"error": f"invalid new VMState: {state}"})
        return client.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
