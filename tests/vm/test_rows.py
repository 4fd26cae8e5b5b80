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
    out = world.guest(f"id -un; loginctl show-user --property=Linger {USER}; "
                      "head -qn 1 /etc/subuid /etc/subgid; podman unshare cat /proc/self/uid_map")
    name, linger, uids, gids, *rows = out.splitlines()
    check((name, linger) == (USER, "Linger=yes"), out)
    for line in (uids, gids):
        check(line.startswith(USER + ":") and int(line.split(":")[2]) >= 1000000, out)
    # Used: a container's own mapping covers all of them.
    check(int(rows[1].split()[2]) >= 1000000, out)


def facts(world):
    """What the guest says of itself, sizes in bytes: of the disk, and of the file system on it."""
    out = world.guest(
        "echo cpus $(nproc); echo memory $(awk '/^MemTotal/ {print $2 * 1024}' /proc/meminfo); "
        "echo disk $(lsblk -bdno SIZE $(findmnt -no SOURCE / | sed 's/[0-9]*$//')); "
        "echo root $(df -B1 --output=size / | tail -1); echo zone $(date +%Z); "
        "echo swap $(awk 'NR > 1 {print $3 * 1024}' /proc/swaps)")
    found = dict(line.split(" ", 1) for line in out.splitlines() if " " in line)
    return {name: int(text) if text.isdigit() else text for name, text in found.items()}


def check_resources(world, cpus, memory_mib, disk_gib):
    found = facts(world)
    check(found["cpus"] == cpus, str(found))
    # The kernel keeps some of it for itself.
    check(memory_mib * MIB * 0.88 < found["memory"] <= memory_mib * MIB, str(found))
    check(found["disk"] == disk_gib << 30, str(found))
    # What else is on it: the boot partition, and what ext4 needs for itself.
    check((disk_gib << 30) - 500 * MIB < found["root"] < disk_gib << 30, str(found))
    check(found["zone"] == "HST", str(found))
    # A page of it is the header.
    check(256 * MIB - 65536 <= found["swap"] <= 256 * MIB, str(found))


def resources(world):
    """[25, 26] processors, memory, disk and the file system on it, time zone; swap"""
    check_resources(world, 2, 2048, 5)
    check("Time zone: Pacific/Honolulu" in world.guest("timedatectl"), "timedatectl")


def docker_link(world, target):
    out = world.guest("readlink /run/docker.sock /var/run/docker.sock")
    check(out.splitlines() == [target] * 2, out)
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
    wrap = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []

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
    """[63] processors, memory, disk and the file system on it after that; the rest as it was"""
    check_resources(world, 1, 1536, 7)


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


STEPS = [set_up, username, resources, rootless_link, proxies, podman_4, set_running, change, changed,
         rootful_link, other_proxies, remove]
VITAL = (set_up, change)

if __name__ == "__main__":
    sys.exit(harness.main(NAME, STEPS, VITAL, (IMAGE, CLIENT, CLIENT_4, BUSYBOX),
                          client=CLIENT_4))
