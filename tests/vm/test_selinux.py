#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""A guest with SELinux enforcing Debian's policy: podman's API over ssh is refused without our
rules, and start repairs that. One machine, one boot."""

import contextlib
import os
import sys
import time

sys.dont_write_bytecode = True
import harness  # noqa: E402
from harness import check  # noqa: E402

NAME = "selinux"
IMAGE = harness.image("selinux")
CONNECTIONS = (NAME, NAME + "-root")


def as_root(world, command):
    return world.guest(command, "--username", "root")


def our_rules(world):
    return [name for name in as_root(world, "semodule -l").split() if name.startswith("pmv_")]


def assert_podman_answers(world):
    for connection in CONNECTIONS:
        text = world.podman(connection, "version").stdout
        check("Server:" in text, text)


def assert_enforcing(world):
    check(as_root(world, "getenforce") == "Enforcing", "SELinux does not enforce")
    check("pmv_sshd_connect" in our_rules(world), "the rules are not there")


def start(world):
    """init, start; SELinux enforces, and podman answers over both connections"""
    world.program("init", "--provider", "qemu", "--image", IMAGE, "--disk-size", "6", "--cpus", "2",
                  "--memory", "2048", "--volume", "", NAME)
    world.program("start", "--timeout", "1500", NAME, timeout=1600)
    assert_enforcing(world)
    assert_podman_answers(world)


def labels(world):
    """what set the guest up is labelled as a program, and sshd is confined"""
    label = as_root(world, "stat -c %C /usr/local/sbin/podman-machine-vmnet-provision")
    check(":bin_t:" in label, label)
    label = as_root(world, "stat -c %C /home/core/.ssh")
    check(":ssh_home_t:" in label, label)
    check("sshd_t" in as_root(world, "ps -o label= -C sshd-session"), "sshd is not confined")


def refused(world):
    """without the rules SELinux refuses podman's API over ssh"""
    as_root(world, "semodule -r " + " ".join(our_rules(world)))
    for connection in CONNECTIONS:
        done = world.podman(connection, "version", code=125)
        check("open failed" in done.stderr, done.stderr)
    # That it is SELinux which refuses:
    as_root(world, "setenforce 0")
    assert_podman_answers(world)
    as_root(world, "setenforce 1")
    world.podman(NAME, "version", code=125)


def monitors(world):
    found = []
    for pid in world.processes():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"\0monitor\0" in file.read():
                found.append(pid)
    return found


def repaired(world):
    """start finds the API refused, installs the rules, and proves it"""
    # A new monitor takes the VM over, and waits for what each start waits for.
    for pid in monitors(world):
        os.kill(pid, 9)
    while monitors(world):  # on a busy host a moment later
        time.sleep(0.1)
    world.program("start", "--timeout", "1500", NAME, timeout=1600)
    log = world.read(world.machine("monitor.log"))
    check("taking over the VM" in log, log)
    check(log.count("applying the SELinux rules") == 1, log)
    assert_enforcing(world)
    assert_podman_answers(world)


def remove(world):
    """rm --force"""
    world.program("rm", "--force", NAME)
    check(not world.processes(), "processes are left")


STEPS = [start, labels, refused, repaired, remove]

if __name__ == "__main__":
    sys.exit(harness.main(NAME, STEPS, (start, refused), (IMAGE, harness.CLIENT)))
