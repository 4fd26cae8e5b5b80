# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
#
# The host's ways into this guest over vsock, which need no network between the two: reports to
# the host, sshd, podman's API, and a way to power off. agent.c puts the lines in front that set
# the names in capitals. Where the hypervisor alone can call, TOKEN is empty; with vhost-vsock every
# process of the host can, and only who proves to know the token is heard.
#
# One program, not systemd's socket units with systemd-socket-proxyd: what a unit runs from
# /usr/local is unconfined_service_t under SELinux, which may use vsock and connect to podman,
# while systemd_socket_proxyd_t needs rules for both; and a vsock port is open to every process in the
# guest, so the one who calls must be checked, which socket units cannot do.

import fcntl
import glob
import hmac
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

HOST = 2  # the host's context id, VMADDR_CID_HOST
SIOCGIFADDR = 0x8915
ADDRESS_CHANGES = 0x10 | 0x100  # RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR
CHUNK = 256 * 1024
GREETING_S = 10
TOKEN_S = 10
CHALLENGE = 32  # GUEST_VSOCK_CHALLENGE
VIRTIO_VSOCK = 19  # virtio 1.2, 5 (device types)

# Tests' own: unix sockets in this folder in place of vsock ports.
FOLDER = os.environ.get("PODMAN_MACHINE_VMNET_AGENT_FOLDER")


def say(text):
    print(text, file=sys.stderr, flush=True)


def listen_at(port):
    if FOLDER:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(f"{FOLDER}/{port}")
    else:
        server = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
        server.bind((socket.VMADDR_CID_ANY, port))
    server.listen(1024)  # Linux resets who does not fit: net/vmw_vsock/virtio_transport_common.c
    return server


def connect_to(target):
    """A path, an (address, port), or the number of a port of the host."""
    if isinstance(target, int):
        target = f"{FOLDER}/{target}" if FOLDER else (HOST, target)
        family = socket.AF_UNIX if FOLDER else socket.AF_VSOCK
    else:
        family = socket.AF_UNIX if isinstance(target, str) else socket.AF_INET
    client = socket.socket(family, socket.SOCK_STREAM)
    try:
        client.connect(target)
    except OSError:
        client.close()
        raise
    return client


def give_up(*ends):
    """None of them can go on."""
    for end in ends:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def pump(source, sink):
    """Moves what comes until the end, which it passes on."""
    chunk = memoryview(bytearray(CHUNK))
    try:
        while True:
            count = source.recv_into(chunk)
            if not count:
                break
            sink.sendall(chunk[:count])
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        give_up(source, sink)


def read_whole(file, count):
    data = file.read(count) if count <= CHUNK else b""
    if len(data) < count:
        raise OSError("the host has gone")
    return data


def pump_pieces(source, sink):
    """Moves what the host sends: pieces, each after its length, and one of no length at the end,
    which hypervisors do not pass on (provider/relay.h)."""
    try:
        with source.makefile("rb", CHUNK) as host:
            while length := int.from_bytes(read_whole(host, 4), "big"):
                sink.sendall(read_whole(host, length))
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        give_up(source, sink)


def forward(client, target):
    with connect_to(target) as server:
        back = threading.Thread(target=pump, args=(server, client), daemon=True)
        back.start()
        pump_pieces(client, server)
        back.join()


def knows_token(client):
    """It is never said itself: see prove_token() in provider/vsock.c."""
    challenge, said = os.urandom(CHALLENGE), b""
    wanted = hmac.digest(TOKEN.encode(), challenge, "sha256")
    deadline = time.monotonic() + TOKEN_S
    client.settimeout(TOKEN_S)
    client.sendall(challenge)
    while len(said) < len(wanted) and (more := client.recv(len(wanted) - len(said))):
        said += more
        client.settimeout(max(0.001, deadline - time.monotonic()))
    client.settimeout(None)
    return hmac.compare_digest(said, wanted)


def control(client, _):
    client.settimeout(10)
    line = client.makefile().readline(64)
    if line != "poweroff\n":
        client.sendall(b"unknown\n")
        return
    status = subprocess.run(["systemctl", "--no-block", "poweroff"], check=False).returncode
    client.sendall(b"failed %d\n" % status if status else b"ok\n")


def answer(handler, client, target):
    with client:
        try:
            if TOKEN and not knows_token(client):
                say(f"{target or 'control'}: refused a caller without the token")
                return
            handler(client, target)
        except OSError as error:
            say(f"{target or 'control'}: {error}")


def take(server, handler, target):
    client, peer = server.accept()
    if not FOLDER and peer[0] != HOST:
        say(f"refused a caller with the context id {peer[0]}")
        client.close()
        return
    try:
        threading.Thread(target=answer, args=(handler, client, target), daemon=True).start()
    except RuntimeError:
        client.close()
        raise


def serve(server, handler, target):
    """For good: when descriptors or threads have run out, others end."""
    while True:
        try:
            take(server, handler, target)
        except (OSError, RuntimeError) as error:
            say(f"cannot take a caller: {error}")
            time.sleep(0.2)


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def interfaces():
    return [name for name in sorted(os.listdir("/sys/class/net"))
            if read(f"/sys/class/net/{name}/address").strip() == MAC]


def ipv4_of(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("256s", name.encode()[:15])
        try:
            return [socket.inet_ntoa(fcntl.ioctl(any_socket, SIOCGIFADDR, request)[20:24])]
        except OSError:
            return []  # none yet


def ipv6_of(name):
    """Global ones that can be used: neither tentative nor failed nor deprecated."""
    found = []
    for line in read("/proc/net/if_inet6").splitlines():
        address, _, _, scope, flags, device = line.split()
        if device == name and scope == "00" and not int(flags, 16) & (0x40 | 0x08 | 0x20):
            found.append(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(address)))
    return found


def facts():
    state, _, detail = read(STATE_FILE).partition("\n")
    names = interfaces()
    addresses = [address for name in names for address in ipv4_of(name)]
    addresses += [address for name in names for address in ipv6_of(name)]
    return {"version": 1, "state": state or "absent", "detail": detail.strip(),
            "addresses": addresses}


def report_until_closed(host, changes):
    """krunkit says yes to every call of the host, also when nobody takes it there (libkrun 1.18,
    vsock/unix.rs), and what is sent then is lost without a word: so the host has to greet."""
    last = None
    deadline = time.monotonic() + GREETING_S
    while True:
        now = facts()
        if now != last:
            host.sendall(json.dumps(now).encode() + b"\n")
            last = now
        # After that only addresses change, and the kernel tells of them.
        patience = None if now["state"] == "done" and not deadline else 1
        ready, _, _ = select.select([host, changes], [], [], patience)
        if changes in ready:
            changes.recv(65536)
            time.sleep(0.2)  # they come in flocks
        if host in ready:
            if not host.recv(4096):
                return
            deadline = None
        elif deadline and time.monotonic() > deadline:
            return


def report():
    changes = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    changes.bind((0, ADDRESS_CHANGES))
    pause = 1
    while True:
        try:
            with connect_to(REPORT_PORT) as host:
                begun = time.monotonic()
                report_until_closed(host, changes)
            pause = 1 if time.monotonic() - begun > 10 else pause
        except OSError:
            pass  # nobody listens: no monitor runs now
        time.sleep(pause)
        pause = min(pause * 2, 15)


def has_device():
    """A machine may be started where its host has no vhost-vsock, and again where it has."""
    return FOLDER or any(read(path).strip() == f"{VIRTIO_VSOCK:#06x}"
                         for path in glob.glob("/sys/bus/virtio/devices/*/device"))


def main():
    if not has_device():
        say("this VM has no vsock device: the host reaches it over the network")
        return
    ways = ((SSH_PORT, forward, ("127.0.0.1", 22)),
            (API_ROOT_PORT, forward, API_ROOT_SOCKET),
            (API_USER_PORT, forward, API_USER_SOCKET),
            (CONTROL_PORT, control, None))
    for port, handler, target in ways:
        server = listen_at(port)
        threading.Thread(target=serve, args=(server, handler, target), daemon=True).start()
    if REPORT_PORT:
        report()
    while True:
        signal.pause()


main()
