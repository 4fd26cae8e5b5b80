#!/usr/bin/python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""vsock_calls.py socket PATH COUNT | callers FOLDER | claim FOLDER: what a host's other programs do."""

import errno
import fcntl
import hmac
import os
import socket
import struct
import sys

API, CONTROL, NOBODYS = 5107, 5104, 9999
NOBODY = 65534
VHOST_VSOCK_SET_GUEST_CID = 0x4008af60
PING = b"GET /_ping HTTP/1.1\r\n\r\n"


def read(folder, name):
    with open(os.path.join(folder, name), encoding="ascii") as file:
        return file.read().strip()


def say(client, words):
    heard = b""
    client.settimeout(60)
    client.sendall(words)
    client.shutdown(socket.SHUT_WR)
    while chunk := client.recv(65536):
        heard += chunk
    return heard.decode()


def call(context_id, port, words, token=b""):
    with socket.socket(socket.AF_VSOCK) as client:
        try:
            client.settimeout(60)
            client.connect((context_id, port))
            if port != NOBODYS:
                client.sendall(hmac.digest(token, client.recv(32, socket.MSG_WAITALL), "sha256"))
            return say(client, words).rpartition("\r\n")[2] or "nothing"
        except OSError as error:
            return errno.errorcode[error.errno]


def callers(folder):
    context_id, token = int(read(folder, "context-id")), read(folder, "vsock-token").encode()
    os.setuid(NOBODY)
    pieces = struct.pack(">I", len(PING)) + PING + bytes(4)
    print("without:", call(context_id, API, pieces))
    print("wrong:", call(context_id, API, pieces, bytes(reversed(token))))
    print("right:", call(context_id, API, pieces, token))
    print("poweroff:", call(context_id, CONTROL, b"poweroff\n"))
    print("another port:", call(context_id, NOBODYS, b""))
    print("another VM:", call(context_id + 1, API, b""))


def claim(folder):
    with open("/dev/vhost-vsock", "r+b", buffering=0) as device:
        try:
            fcntl.ioctl(device, VHOST_VSOCK_SET_GUEST_CID,
                        struct.pack("Q", int(read(folder, "context-id"))))
            print("given")
        except OSError as error:
            print(errno.errorcode[error.errno])


if sys.argv[1] == "socket":
    with socket.socket(socket.AF_UNIX) as api:
        api.connect(sys.argv[2])
        print(say(api, b"POST /count HTTP/1.1\r\nHost: d\r\n\r\n" + b"x" * int(sys.argv[3])))
else:
    {"callers": callers, "claim": claim}[sys.argv[1]](sys.argv[2])
