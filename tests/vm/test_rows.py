#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""What `init` and `set` were told, seen from inside a real guest: the rows of podman's own suite
that need one (tests/conformance/README.md; the number is in brackets). One rootless machine with a
user of its own and two boots, driven through the front-end. What stands behind that is podman 4.3,
so that our connections get to where it looks for them."""

import os
import re
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402
from harness import BUSYBOX, CLIENT, CLIENT_4, check  # noqa: E402

IMAGE = harness.image("fast")
NAME = "rows"
USER = "tester"
MIB = 1 << 20

# Values that a shell, systemd or PAM would take apart: they are data.
FIRST = {"HTTP_PROXY": "http://user:p%40$ss@proxy.example:3128",
         "https_proxy": "http://127.0.0.1:8443/a b", "NO_PROXY": "localhost,*.example,\"q\""}
SECOND = {"HTTP_PROXY": "http://localhost:1/%20%%", "NO_PROXY": "a';b\\c`d`"}
# What is on this host is, in the guest, behind this name.
FIRST_SEEN = {**FIRST, "https_proxy": "http://host.containers.internal:8443/a b",
              "NO_PROXY": "host.containers.internal,*.example,\"q\""}
SECOND_SEEN = {**SECOND, "HTTP_PROXY": "http://host.containers.internal:1/%20%%"}


def set_up(world):
    """init with a user, processors, memory, disk, swap and a time zone"""
    world.front("machine", "init", "--provider", "qemu", "--image", IMAGE, "--username", USER,
                "--cpus", "2", "--memory", "2048", "--disk-size", "5", "--swap", "256",
                "--timezone", "Pacific/Honolulu", NAME)
    world.front("machine", "start", NAME, env=FIRST, timeout=1600)


def username(world):
    """[24] user, lingering, subordinate ids"""
    out = world.front("machine", "inspect", "--format", "{{.SSHConfig.RemoteUsername}}", NAME)
    check(out.stdout == USER + "\n", out.stdout)
    check(world.guest("id -un") == USER, "another user")
    check(world.guest(f"loginctl show-user --property=Linger {USER}") == "Linger=yes", "no linger")
    for file in ("/etc/subuid", "/etc/subgid"):
        name, _, count = world.guest(f"head -1 {file}").split(":")
        check(name == USER and int(count) >= 1000000, f"{file}: {name} {count}")
    # Used: a container's own mapping covers all of them.
    rows = world.guest("podman unshare cat /proc/self/uid_map").splitlines()
    check(int(rows[1].split()[2]) >= 1000000, str(rows))


def memory(world):
    return int(world.guest("awk '/^MemTotal/ {print $2}' /proc/meminfo")) // 1024


def disk_sizes(world):
    """Bytes of the disk, and of the file system on it."""
    disk = world.guest("lsblk -bdno SIZE $(findmnt -no SOURCE / | sed 's/[0-9]*$//')")
    return int(disk), int(world.guest("df -B1 --output=size / | tail -1"))


def check_disk(world, gib):
    disk, root = disk_sizes(world)
    check(disk == gib << 30, f"the disk has {disk} bytes")
    # What else is on it: the boot partition, and what ext4 needs for itself.
    check((gib << 30) - 500 * MIB < root < gib << 30, f"the file system has {root} bytes")


def resources(world):
    """[25] processors, disk, memory, time zone"""
    out = world.guest("lscpu")
    check(re.search(r"^CPU\(s\): +2$", out, re.M), out)
    check(1800 < memory(world) <= 2048, f"{memory(world)} MiB")
    check_disk(world, 5)
    check(world.guest("date +%Z") == "HST", world.guest("date +%Z"))
    check("Time zone: Pacific/Honolulu" in world.guest("timedatectl"), world.guest("timedatectl"))


def swap(world):
    """[26] swap"""
    size = int(world.guest("swapon --show=SIZE --bytes --noheadings"))
    # A page of it is the header.
    check(256 * MIB - 65536 <= size <= 256 * MIB, f"{size} bytes")


def docker_link(world, target):
    for path in ("/run/docker.sock", "/var/run/docker.sock"):
        out = world.guest(f"readlink {path}")
        check(out == target, out)
    world.guest("sudo podman --url unix:///var/run/docker.sock version --format {{.Server.Version}}")


def rootless_link(world):
    """[29] docker.sock of a rootless machine"""
    uid = world.guest("id -u")
    docker_link(world, f"/run/user/{uid}/podman/podman.sock")


def variables(text):
    """NAME=VALUE lines; only those of proxies."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {name: value for name, value in pairs if name.lower().endswith("_proxy")}


def proxies_are(world, wanted):
    for options in ([], ["--username", "root"]):
        found = variables(world.front("machine", "ssh", *options, NAME, "printenv").stdout)
        check(found == wanted, f"ssh {options}: {found}")
    check(variables(world.guest("bash -lc printenv")) == wanted, "a login")
    # systemd's services, the engine's own among them: its containers have them from it.
    for connection in (NAME, NAME + "-root"):
        out = world.podman(connection, "run", "--rm", "localhost/busybox", "env").stdout
        check(variables(out) == wanted, f"in a container of {connection}: {variables(out)}")


def proxies(world):
    """[52] proxies: in ssh sessions, logins, and containers of both engines"""
    for connection in (NAME, NAME + "-root"):
        world.podman(connection, "import", BUSYBOX, "localhost/busybox")
    proxies_are(world, FIRST_SEEN)


def podman_4(world):
    """podman 4.3: our connections by name, and without them by `env`: version, run -v, build, cp"""
    # It reads a home's configuration as anybody but root.
    wrap = ["unshare", "--user", "--map-user=1000"] if os.geteuid() == 0 else []

    def podman(*argv, **more):
        return world.run(*wrap, CLIENT_4, *argv, **more)
    for connection in (NAME, NAME + "-root"):
        text = podman("-c", connection, "version").stdout
        check(re.search(r"^Version: +4\.3\.", text, re.M) and "Server:" in text, text)
        out = podman("-c", connection, "run", "--rm", "-v", "/etc/hostname:/name:ro",
                     "localhost/busybox", "cat", "/name").stdout
        check(out.strip() == world.guest("hostname"), out)
    world.write("context/Containerfile", "FROM localhost/busybox\nCOPY said /\n")
    world.write("context/said", "from the context\n")
    podman("-c", NAME, "build", "-t", "built", f"{world.top}/context")
    podman("-c", NAME, "create", "--name", "copies", "localhost/built", "true")
    podman("-c", NAME, "cp", "copies:/said", f"{world.top}/said")
    check(world.read("said") == "from the context\n", "from the container")
    podman("-c", NAME, "cp", f"{world.top}/said", "copies:/tmp/there")
    podman("-c", NAME, "cp", "copies:/tmp/there", f"{world.top}/back")
    check(world.read("back") == "from the context\n", "there and back")
    podman("-c", NAME, "rm", "copies")
    script = f'eval "$({harness.BINARY} env --shell bash {NAME})" && exec "$@"'
    out = world.run("bash", "-c", script, "bash", *wrap, CLIENT_4, "images").stdout
    check("localhost/built" in out, out)


def set_running(world):
    """[63] set while it runs"""
    world.front("machine", "set", "--cpus", "1", NAME, code=125)


def change(world):
    """[63] set: what is refused, then all of it at once, and a start with other proxies"""
    world.front("machine", "stop", NAME)
    world.front("machine", "set", "--memory", "999999999", NAME, code=125)
    world.front("machine", "set", "--disk-size", "4", NAME, code=125)
    world.front("machine", "set", "--cpus", "1", "--memory", "1536", "--disk-size", "7",
                "--rootful", NAME)
    world.front("machine", "start", NAME, env=SECOND, timeout=1600)


def changed(world):
    """[63] processors, memory and disk after it: both sizes of the disk"""
    check(world.guest("nproc") == "1", "processors")
    check(1300 < memory(world) <= 1536, f"{memory(world)} MiB")
    check_disk(world, 7)
    check(world.guest("date +%Z") == "HST", "the time zone is lost")
    size = int(world.guest("swapon --show=SIZE --bytes --noheadings"))
    check(size > 255 * MIB, f"swap: {size} bytes")


def rootful_link(world):
    """[66] docker.sock after set --rootful"""
    docker_link(world, "/run/podman/podman.sock")
    check(world.connections()["Default"] == NAME + "-root", str(world.connections()))


def other_proxies(world):
    """[52] other proxies after the next start, none of the first left"""
    proxies_are(world, SECOND_SEEN)


def remove(world):
    """rm"""
    world.front("machine", "rm", "--force", NAME)
    check(not world.processes(), "processes are left")


STEPS = [set_up, username, resources, swap, rootless_link, proxies, podman_4, set_running, change, changed,
         rootful_link, other_proxies, remove]
VITAL = (set_up, change)

if __name__ == "__main__":
    sys.exit(harness.main(NAME, STEPS, VITAL, (IMAGE, CLIENT, CLIENT_4, BUSYBOX),
                          client=CLIENT_4))
