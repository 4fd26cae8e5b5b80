# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the other end of a pair of datagram sockets is still there. macOS says so when one reads;
Linux says it only to who writes, and a frame too many must not be sent. sock_diag(7) knows."""

import os
import socket
import struct

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY = 4, 20
NLM_F_REQUEST = 1
UDIAG_SHOW_PEER, UNIX_DIAG_PEER = 4, 2
HEADER = struct.Struct("=IHHII")
REQUEST = struct.Struct("=BBHIIIII")
MESSAGE_SIZE = 16
ANY = 0xffffffff


def peer_is_gone(fd):
    inode = os.fstat(fd).st_ino
    body = REQUEST.pack(socket.AF_UNIX, 0, 0, ANY, inode, UDIAG_SHOW_PEER, ANY, ANY)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as netlink:
        netlink.settimeout(1)
        netlink.send(HEADER.pack(HEADER.size + len(body), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0)
                     + body)
        answer = netlink.recv(4096)
    length, kind = HEADER.unpack_from(answer)[:2]
    if kind != SOCK_DIAG_BY_FAMILY:
        return False  # this kernel does not say
    at = HEADER.size + MESSAGE_SIZE
    while at + 4 <= length:
        size, name = struct.unpack_from("=HH", answer, at)
        if name == UNIX_DIAG_PEER:
            return struct.unpack_from("=I", answer, at + 4)[0] == 0
        at += (size + 3) & ~3
    return True  # it never had one, or has forgotten it
