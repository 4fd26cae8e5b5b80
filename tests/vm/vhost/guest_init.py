#!/usr/bin/python3 -I
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The first process of the guest of a guest: all of a machine that our program asks for, without
what would take an hour to boot so far down. Real are the kernel, its vsock, sshd and our agent; podman
is something that answers its ping."""

import base64
import ctypes
import fcntl
import glob
import gzip
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback

AGENT = "/usr/local/sbin/podman-machine-vmnet-agent"
STATE = "/var/lib/podman-machine-vmnet/state"
ADDRESS, MASK = "10.0.2.15", "255.255.255.0"  # what qemu's network gives to the first
SIOCSIFADDR, SIOCSIFNETMASK, SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8916, 0x891c, 0x8913, 0x8914
IFF_UP = 1
LINUX_REBOOT_CMD_POWER_OFF = 0x4321fedc
SSHD = """
HostKey /etc/host_key
AuthorizedKeysFile /etc/keys/%u
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowStreamLocalForwarding yes
SetEnv PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin
"""
libc = ctypes.CDLL(None, use_errno=True)


def mount(what, where, kind, flags=0):
    os.makedirs(where, exist_ok=True)
    if libc.mount(what.encode(), where.encode(), kind.encode(), flags, None) < 0:
        raise OSError(ctypes.get_errno(), f"mount {what}")


def put(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(path, mode)


def load_modules():
    with open("/modules", encoding="utf-8") as file:
        for path in file.read().split():
            with open(path, "rb") as module:
                if libc.syscall(313, module.fileno(), b"", 0) < 0:  # finit_module of x86-64
                    print(f"{path}: {os.strerror(ctypes.get_errno())}")


def raise_card(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        def address(text):
            return struct.pack("16sHH4s8x", name.encode(), socket.AF_INET, 0, socket.inet_aton(text))
        if name != "lo":
            fcntl.ioctl(any_socket, SIOCSIFADDR, address(ADDRESS))
            fcntl.ioctl(any_socket, SIOCSIFNETMASK, address(MASK))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", name.encode(), IFF_UP))


def answer(client):
    """`GET /_ping`, or a count of all that comes after a `POST`, once it has ended."""
    with client, client.makefile("rb") as lines:
        ping = b" /_ping " in lines.readline()
        while lines.readline().strip():
            pass
        body = b"OK" if ping else b"%d" % len(lines.read())
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
                       % (len(body), body))


def serve_api(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(16)
    os.chmod(path, 0o666)

    def serve():
        while True:
            client, _ = server.accept()
            threading.Thread(target=answer, args=(client,), daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()


def set_up(seed):
    put("/etc/host_key", seed["ssh_keys"]["ed25519_private"], 0o600)
    put("/etc/sshd_config", SSHD)
    passwd = "root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/false\n"
    uid = 1000
    for user in seed["users"]:
        put(f"/etc/keys/{user['name']}", "\n".join(user["ssh_authorized_keys"]) + "\n")
        if user["name"] != "root":
            uid = user["uid"]
            passwd += f"{user['name']}:x:{uid}:{uid}::/tmp:/bin/sh\n"
    put("/etc/passwd", passwd)
    put("/etc/group", "root:x:0:\nnogroup:x:65534:\n")
    put("/etc/shadow", "".join(line.split(":")[0] + ":*:19000:0:99999:7:::\n"
                               for line in passwd.splitlines()), 0o600)
    put("/usr/local/sbin/systemctl", "#!/bin/sh\ncase $* in *poweroff*) kill -TERM 1;; "
        "*is-active*) echo active;; *) exit 1;; esac\n", 0o755)
    put("/usr/local/sbin/podman-machine-vmnet-provision", "#!/bin/sh\n", 0o755)
    for file in seed["write_files"]:
        if file["path"] == AGENT:
            put(AGENT, gzip.decompress(base64.b64decode(file["content"])), 0o700)
    for folder in ("/run/sshd", "/root", "/tmp"):
        os.makedirs(folder, exist_ok=True)
    for path in ("/run/podman/podman.sock", f"/run/user/{uid}/podman/podman.sock"):
        serve_api(path)


def power_off():
    os.sync()
    libc.reboot(LINUX_REBOOT_CMD_POWER_OFF)


def main():
    for what, where, kind in (("proc", "/proc", "proc"), ("sys", "/sys", "sysfs"),
                              ("dev", "/dev", "devtmpfs")):
        mount(what, where, kind)
    load_modules()
    mount("/dev/vdb", "/seed", "iso9660", 1)
    with open(glob.glob("/seed/user*")[0], encoding="utf-8") as file:
        set_up(json.loads(file.read().split("\n", 1)[1]))
    card, = {os.path.basename(path) for path in glob.glob("/sys/class/net/*")} - {"lo"}
    for name in ("lo", card):
        raise_card(name)
    environment = {"PATH": "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"}
    subprocess.Popen([AGENT], env=environment)
    subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", "/etc/sshd_config"], env=environment)
    put(STATE, "done\n")
    print("the guest is up", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: power_off())
    while True:
        signal.pause()


try:
    main()
except BaseException:
    traceback.print_exc()
    sys.stderr.flush()
    power_off()
