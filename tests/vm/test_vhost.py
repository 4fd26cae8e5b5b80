#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""vhost-vsock with Linux's own device and real QEMU, where this host has neither the device nor the
right to make one: the host of the test is a guest, and its machine is a guest of that (vhost/). What is
so far down is emulated twice, so all that the inner machine has is what is tested."""

import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402
from harness import BINARY, check  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGE = harness.image("fast")
FIRMWARE = "/usr/share/ovmf/OVMF.fd"  # looked for by our program, and never run
QEMU = os.path.dirname(harness.find_program("qemu") or "/none/qemu")
LIBC = ("libc.so", "libm.so", "libresolv.so", "libpthread.so", "libdl.so", "librt.so", "ld-linux")
INNER = ("export LD_LIBRARY_PATH=/opt/kit/lib PATH=/opt/kit:$PATH HOME=/root XDG_RUNTIME_DIR=/run; "
         "cd /opt/kit; ")


def outer(world, command, **more):
    """Runs it in the guest that is the host here."""
    return world.program("ssh", "--username", "root", "outer", INNER + command, **more)


def inner(world, *words, **more):
    """Runs our program there."""
    return outer(world, "./podman-machine-vmnet " + " ".join(words), **more)


def text(world, name):
    return outer(world, f"cat /root/.local/share/podman-machine-vmnet/machines/m1/{name}").stdout


def libraries(program):
    """Those of the program that are not the C library's."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return [word for word in listed.split() if word.startswith("/")
            and not os.path.basename(word).startswith(LIBC)]


def pack(world):
    """What the outer guest needs, in a folder that it sees as /kit. One file: of pages that
    virtiofsd has put into its memory, emulation would go on to run what was there before."""
    kit = os.path.join(world.top, "kit")
    shutil.copytree(os.path.join(HERE, "vhost"), kit)
    os.mkdir(os.path.join(kit, "lib"))
    for path in libraries(BINARY):
        shutil.copy(path, os.path.join(kit, "lib"))
    shutil.copy(BINARY, os.path.join(kit, "podman-machine-vmnet"))
    shutil.copy(FIRMWARE, kit)
    shutil.copytree(QEMU, os.path.join(kit, "qemu"), symlinks=True)
    with open(os.path.join(kit, "disk.raw"), "wb") as file:
        file.write(b"\0" * 510 + b"\x55\xaa")
        file.truncate(1 << 20)
    os.mkdir(os.path.join(world.top, "shared"))
    world.run("tar", "-C", world.top, "-cf", os.path.join(world.top, "shared/kit.tar"), "kit")
    shutil.rmtree(kit)


def start_outer(world):
    """the host, a guest with vhost-vsock"""
    pack(world)
    world.program("init", "--provider", "qemu", "--image", IMAGE, "--disk-size", "6", "--cpus", "2",
                  "--memory", "3072", "--volume", f"{world.top}/shared:/kit:ro", "outer")
    world.program("start", "--timeout", "1500", "outer", timeout=1600)
    world.program("ssh", "--username", "root", "outer",
                  "tar -C /opt -xf /kit/kit.tar && mkdir -p /usr/share/ovmf && "
                  f"cp /opt/kit/OVMF.fd {FIRMWARE} && modprobe vhost_vsock && "
                  "test -c /dev/vhost-vsock && python3 /opt/kit/make_initrd.py /opt/kit")


def start_inner(world):
    """start: podman answers over vsock"""
    inner(world, "init --provider qemu --image disk.raw --disk-size 1 --cpus 1 --memory 768",
          "--volume '' m1")
    done = inner(world, "start --timeout 1500 m1", timeout=1600)
    check('Machine "m1" started successfully\n' in done.stdout, done.stdout + done.stderr)
    check("vhost-vsock-pci,guest-cid=" in text(world, "vm.argv"), text(world, "vm.argv"))
    log = text(world, "monitor.log")
    check("m1-api.sock' over vsock" in log, log)
    check(outer(world, "pgrep -f -- '[-]L /run/podman' || true").stdout == "", "ssh forwards, too")


def api(world):
    """the API socket: an answer to all of 1 MB whose sender has ended"""
    done = outer(world, "python3 vsock_calls.py socket /run/podman/m1-api.sock 1000000")
    check(done.stdout.endswith("\n\n1000000\n"), done.stdout)


def callers(world):
    """a caller without the token is not heard, whoever he is; nobody calls another VM"""
    done = outer(world, "python3 vsock_calls.py callers "
                 "/root/.local/share/podman-machine-vmnet/machines/m1")
    check(done.stdout == "without: nothing\nwrong: nothing\nright: OK\npoweroff: nothing\n"
                         "another port: ECONNRESET\nanother VM: ENODEV\n", done.stdout)


def two_ids(world):
    """a context id that a VM has is given to no other"""
    done = outer(world, "python3 vsock_calls.py claim "
                 "/root/.local/share/podman-machine-vmnet/machines/m1")
    check(done.stdout == "EADDRINUSE\n", done.stdout)


def monitor_dies(world):
    """another monitor takes over: over vsock again"""
    outer(world, "pkill -KILL -f '[v]mnet monitor '; "
                 "while pgrep -f '[v]mnet monitor ' >/dev/null; do sleep 0.2; done")
    inner(world, "start --timeout 600 m1", timeout=700)
    done = outer(world, "python3 vsock_calls.py socket /run/podman/m1-api.sock 1000")
    check(done.stdout.endswith("\n\n1000\n"), done.stdout)


def stop(world):
    """stop: over vsock"""
    inner(world, "stop m1")
    log = text(world, "monitor.log").rpartition('msg="stopping"')[2]
    check("asked the guest to power off" in log and "cannot" not in log, log)
    check("reboot: Power down" in text(world, "serial.log"), "not powered off")
    inner(world, "rm -f m1")


def without(world):
    """a host where the device is not for us: nothing but a line in the log"""
    inner(world, "init --provider qemu --image disk.raw --disk-size 1 --cpus 1 --memory 768",
          "--volume '' m1")
    # The inner guest need not get far.
    outer(world, "mv /dev/vhost-vsock /dev/elsewhere")
    done = inner(world, "start --timeout 5 m1", code=125)
    check("not ready after 5 s" in done.stderr, done.stderr)
    check("going on without vsock: cannot open '/dev/vhost-vsock'" in text(world, "monitor.log"),
          text(world, "monitor.log"))
    check("vsock" not in text(world, "vm.argv"), text(world, "vm.argv"))
    inner(world, "rm -f m1")


def stop_outer(world):
    """the host is stopped"""
    world.program("stop", "outer")
    world.program("rm", "-f", "outer")


STEPS = [start_outer, start_inner, api, callers, two_ids, monitor_dies, stop, without, stop_outer]

if __name__ == "__main__":
    # One that get-qemu.sh has unpacked, with all its libraries.
    NEEDED = [IMAGE, FIRMWARE, os.path.join(QEMU, "root")]
    sys.exit(harness.main("outer", STEPS, {start_outer, start_inner}, NEEDED))
