#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""test_machine.py fast|stock

The whole road with nothing made up: our program, real QEMU, a Debian guest, a real podman client
over the connections that we registered. One machine and two boots for all of it; each step is one
test, and after a failed step those that need it are not tried.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request

sys.dont_write_bytecode = True
import harness  # noqa: E402
from harness import BUSYBOX, CLIENT, Failed, check  # noqa: E402

FLAVOUR = sys.argv[1] if len(sys.argv) > 1 else "fast"
IMAGE = harness.image(FLAVOUR)
NAME = "vmtest"


# --- the steps, in order ------------------------------------------------------------------------

def init(world):
    """init"""
    done = world.program("init", "--provider", "qemu", "--image", IMAGE, "--disk-size", "6",
                         "--cpus", "2", "--memory", "2048", NAME)
    check("Machine init complete\n" in done.stdout, done.stdout)
    check(world.state() == "stopped", "not stopped")


def start(world):
    """start"""
    done = world.program("start", "--timeout", "1500", NAME, timeout=1600)
    check(f'Machine "{NAME}" started successfully\n' in done.stdout, done.stdout)
    check(world.state() == "running", "not running")


def ssh(world):
    """ssh: command, exit status, both users"""
    check(world.program("ssh", NAME, "id -un").stdout == "core\n", "not core")
    world.program("ssh", NAME, "false", code=1)
    check(world.program("ssh", "--username", "root", NAME, "id -u").stdout == "0\n", "not root")
    name = world.program("ssh", NAME, "hostname").stdout.strip()
    check(name.split(".")[0] == NAME, f"the guest calls itself {name}")


def disk(world):
    """the guest's root file system fills the disk"""
    size = int(world.program("ssh", NAME, "df --output=size -BM / | tail -1").stdout.strip(" M\n"))
    check(size > 5000, f"{size} MB")


def version(world):
    """podman version, both connections and the default one"""
    for connection in (NAME, NAME + "-root"):
        text = world.podman(connection, "version").stdout
        check("Server:" in text, text)
    check("Server:" in world.run(CLIENT, "--remote", "version").stdout, "the default connection")


def import_image(world):
    """podman import, rootless and rootful"""
    for connection in (NAME, NAME + "-root"):
        world.podman(connection, "import", BUSYBOX, "localhost/busybox")
        check("localhost/busybox" in world.podman(connection, "images").stdout, "no image")


def run_container(world, connection):
    out = world.podman(connection, "run", "--rm", "localhost/busybox", "sh", "-c",
                       "echo uid $(id -u)").stdout
    check(out == "uid 0\n", out)
    world.podman(connection, "run", "--rm", "localhost/busybox", "false", code=1)


def run_rootless(world):
    """podman run, rootless"""
    run_container(world, NAME)


def run_rootful(world):
    """podman run, rootful"""
    run_container(world, NAME + "-root")


def published_port(world):
    """a published port, from the host by ssh; exec; rm"""
    for number, connection in enumerate((NAME, NAME + "-root")):
        world.podman(connection, "run", "-d", "--name", "web", "-p", f"808{number}:80",
                     "localhost/busybox", "httpd", "-f", "-p", "80", "-h", "/www")
        fetch_by_ssh(world, 18080 + number, 8080 + number)
        out = world.podman(connection, "exec", "web", "cat", "/www/index.html").stdout
        check("hello" in out, out)
        world.podman(connection, "rm", "-f", "-t", "0", "web")
        check("web" not in world.podman(connection, "ps", "-a", "--format", "{{.Names}}").stdout,
              "still there")


def fetch_by_ssh(world, local, remote):
    record = json.load(open(world.machine("machine.json"), encoding="utf-8"))["ssh"]
    forward = subprocess.Popen(
        ["ssh", "-F", "none", "-N", "-i", record["identity"], "-p", str(record["port"]),
         "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes",
         "-o", f"UserKnownHostsFile={world.home}/.ssh/known_hosts",
         "-L", f"127.0.0.1:{local}:127.0.0.1:{remote}", "core@127.0.0.1"], env=world.env)
    try:
        for attempt in range(60):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{local}/", timeout=10) as answer:
                    check(b"hello" in answer.read(), "another page")
                return
            except OSError as error:
                check(forward.poll() is None, "ssh ended")
                reason = error
                time.sleep(1)
        raise Failed(f"the published port does not answer: {reason}")
    finally:
        forward.kill()
        forward.wait()


def api_socket(world):
    """podman's API at the socket on the host"""
    out = world.run("curl", "-sS", "-m", "60", "--retry", "5", "--retry-connrefused",
                    "--unix-socket", world.api_socket(), "http://d/_ping").stdout
    check(out == "OK", out)


def stop(world):
    """stop"""
    done = world.program("stop", NAME)
    check(done.stdout == f'Machine "{NAME}" stopped successfully\n', done.stdout)
    check(world.state() == "stopped", "not stopped")
    check(not world.processes(), "processes are left")
    log = open(world.machine("monitor.log"), encoding="utf-8").read()
    check("sending signal" not in log, "the guest had to be forced:\n" + log)


def start_again(world):
    """start again: nothing is set up twice, what was imported is there"""
    start(world)
    check("localhost/busybox" in world.podman(NAME, "images").stdout, "the image is gone")
    run_container(world, NAME)
    state = world.program("ssh", NAME, "sudo cat /var/lib/podman-machine-vmnet/state").stdout
    check(state.startswith("done"), state)


def remove(world):
    """rm of a running machine needs --force; nothing is left"""
    world.program("rm", NAME, code=125)
    world.program("rm", "--force", NAME)
    check(not os.path.exists(world.machine()), "the folder is left")
    check(not world.processes(), "processes are left")
    check(not world.connections().get("Connections"), str(world.connections()))
    check(os.path.getsize(os.path.join(world.home, ".ssh/known_hosts")) == 0
          if os.path.exists(os.path.join(world.home, ".ssh/known_hosts")) else True, "known_hosts")
    check(os.listdir(os.path.join(world.run_dir, "podman")) == [], "sockets are left")


def remove_stopped(world):
    """stop, rm; nothing is left"""
    stop(world)
    world.program("rm", NAME, stdin="y\n")
    check(not os.path.exists(world.machine()), "the folder is left")
    check(not world.connections().get("Connections"), str(world.connections()))


STEPS = {
    "fast": [init, start, ssh, disk, version, import_image, run_rootless, run_rootful,
             published_port, api_socket, stop, start_again, remove],
    "stock": [init, start, ssh, version, import_image, run_rootless, run_rootful, remove_stopped],
}[FLAVOUR]
# Without these there is nothing to test further.
VITAL = (init, start, import_image, stop, start_again)


if __name__ == "__main__":
    sys.exit(harness.main(NAME, STEPS, VITAL, (IMAGE, CLIENT, BUSYBOX)))
