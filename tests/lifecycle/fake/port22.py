#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""port22.py SOCKET FILE

In the network of a guest-card: writes the card's address to FILE and hands what connects to port
22 to the unix socket of the guest's sshd.
"""

import os
import socket
import sys
import threading


def copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(client, path):
    with client, socket.socket(socket.AF_UNIX) as guest:
        try:
            guest.connect(path)
        except OSError:
            return
        back = threading.Thread(target=copy, args=(guest, client), daemon=True)
        back.start()
        copy(client, guest)
        back.join()


def main():
    path, file = sys.argv[1:]
    server = socket.create_server(("0.0.0.0", 22), backlog=16)
    with open(file + ".new", "w", encoding="utf-8") as out:
        out.write(os.environ["CARD_ADDRESS"])
    os.rename(file + ".new", file)
    while True:
        client, _ = server.accept()
        threading.Thread(target=serve, args=(client, path), daemon=True).start()


if __name__ == "__main__":
    main()
