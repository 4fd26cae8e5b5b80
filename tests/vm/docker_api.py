# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""A client of Docker's HTTP API on a socket of this host, as tools have one in them, and an image
that it can load. Paths carry no version, as those of testcontainers' first calls."""

import hashlib
import http.client
import io
import json
import socket
import tarfile

from harness import BUSYBOX, check


class Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Docker:
    def __init__(self, path, timeout=120):
        self.path, self.timeout = path, timeout

    def open(self, method, path, body=None):
        """The answer, to be read as it comes."""
        headers = {"Content-Type": "application/x-tar" if isinstance(body, bytes)
                   else "application/json"}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body)
        connection = Connection(self.path, self.timeout)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        answer.connection = connection  # closed with it
        return answer

    def ask(self, method, path, body=None, code=200):
        with self.open(method, path, body) as answer:
            text = answer.read()
        check(answer.status == code, f"{method} {path}: {answer.status}, not {code}: {text[:2000]}")
        try:
            return json.loads(text)
        except ValueError:
            return text.decode(errors="replace")

    def get(self, path, code=200):
        return self.ask("GET", path, code=code)

    def create(self, name, **config):
        made = self.ask("POST", f"/containers/create?name={name}", config, 201)
        check(isinstance(made["Id"], str) and len(made["Id"]) == 64, str(made))
        return made["Id"]

    def start(self, container):
        self.ask("POST", f"/containers/{container}/start", code=204)

    def logs(self, container):
        """Follows both streams until the container ends: 8 bytes of stream and length, then text."""
        found = {1: b"", 2: b""}
        with self.open("GET", f"/containers/{container}/logs?follow=true&stdout=true&stderr=true"
                       ) as answer:
            check(answer.status == 200, f"logs: {answer.status}")
            while head := answer.read(8):
                check(len(head) == 8 and head[0] in found, f"not a frame: {head}")
                found[head[0]] += answer.read(int.from_bytes(head[4:], "big"))
        return found[1].decode(), found[2].decode()

    def published(self, container, port):
        details = self.get(f"/containers/{container}/json")
        return int(details["NetworkSettings"]["Ports"][f"{port}/tcp"][0]["HostPort"])


def member(archive, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def image_archive():
    """busybox as `docker save` would write it. /usr is free for the guest's own, whose programs then
    run too: hence the links."""
    links = io.BytesIO()
    with tarfile.open(fileobj=links, mode="w") as archive:
        for name in ("lib", "lib64"):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, f"usr/{name}"
            archive.addfile(info)
    with open(BUSYBOX, "rb") as file:
        layers = [file.read(), links.getvalue()]
    config = {"architecture": "amd64", "os": "linux", "config": {"Cmd": ["/bin/sh"]},
              "rootfs": {"type": "layers", "diff_ids": [
                  "sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]}}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member(archive, "config.json", json.dumps(config).encode())
        for number, layer in enumerate(layers):
            member(archive, f"{number}.tar", layer)
        member(archive, "manifest.json", json.dumps([
            {"Config": "config.json", "RepoTags": ["busybox:latest"],
             "Layers": [f"{number}.tar" for number in range(len(layers))]}]).encode())
    return out.getvalue()
