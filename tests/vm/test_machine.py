#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""test_machine.py fast|stock|selinux

The whole road with nothing made up: our program, real QEMU, a Debian guest, a real podman client
over the connections that we registered. One machine and at most two boots for all of it; each step
is one test, and after a failed step those that need it are not tried.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

FLAVOUR = sys.argv[1] if len(sys.argv) > 1 else "fast"
BINARY = os.environ.get("PMV_BINARY", "build/cmd/podman-machine-vmnet")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                     "podman-machine-vmnet-tests")
IMAGE = os.path.join(CACHE, FLAVOUR, "guest.qcow2")
CLIENT = os.path.join(CACHE, "client/podman")
BUSYBOX = os.path.join(CACHE, "busybox.tar")
NAME = "vmtest"


class Failed(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failed(text)


class World:
    def __init__(self, qemu):
        # Not below /tmp, which may be memory: the disk is 3 GB.
        self.top = tempfile.mkdtemp(prefix="pmv-vm.", dir="/var/tmp")
        self.home = os.path.join(self.top, "home")
        self.run_dir = os.path.join(self.top, "run")
        for folder in (self.home, self.run_dir):
            os.mkdir(folder, 0o700)
        self.env = {
            "HOME": self.home, "XDG_RUNTIME_DIR": self.run_dir, "LANG": "C.UTF-8",
            "PATH": f"{os.path.dirname(qemu)}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "PMV_TEST": self.top,
        }

    def run(self, *argv, stdin=None, timeout=900, code=0):
        begun = time.monotonic()
        try:
            done = subprocess.run(argv, env=self.env, input=stdin, capture_output=True, text=True,
                                  timeout=timeout, cwd=self.top,
                                  stdin=None if stdin is not None else subprocess.DEVNULL)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{' '.join(argv)}: not within {timeout} s\n{error.stdout}\n{error.stderr}")
        shown = f"{' '.join(argv)}: exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        check(code is None or done.returncode == code, shown)
        print(f"#   {time.monotonic() - begun:6.1f} s  {os.path.basename(argv[0])} "
              + " ".join(argv[1:])[:80], flush=True)
        return done

    def program(self, *argv, **more):
        return self.run(os.path.abspath(BINARY), *argv, **more)

    def podman(self, connection, *argv, **more):
        return self.run(CLIENT, "-c", connection, *argv, **more)

    def machine(self, *parts):
        return os.path.join(self.home, ".local/share/podman-machine-vmnet/machines", NAME, *parts)

    def processes(self, word=""):
        mark, found = f"PMV_TEST={self.top}".encode(), []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    ours = mark in file.read().split(b"\0")
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    argv = file.read().replace(b"\0", b" ").decode(errors="replace")
                if ours and word in argv:
                    found.append(int(pid))
            except OSError:
                pass
        return found

    def state(self):
        return json.loads(self.program("inspect", NAME).stdout)[0]["State"]

    def connections(self):
        path = os.path.join(self.home, ".config/containers/podman-connections.json")
        with open(path, encoding="utf-8") as file:
            return json.load(file)["Connection"]

    def clean_up(self):
        for pid in self.processes():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        time.sleep(0.5)
        shutil.rmtree(self.top, ignore_errors=True)

    def print_logs(self):
        for name in ("monitor.log", "vm.log", "serial.log", "status.json", "last-exit.json"):
            try:
                with open(self.machine(name), encoding="utf-8", errors="replace") as file:
                    text = file.read()[-6000:]
            except OSError:
                continue
            print(f"# {name}\n" + "\n".join("#   " + line for line in text.splitlines()))


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
    path = os.path.join(world.run_dir, "podman", f"{NAME}-api.sock")
    out = world.run("curl", "-sS", "-m", "60", "--retry", "5", "--retry-connrefused",
                    "--unix-socket", path, "http://d/_ping").stdout
    check(out == "OK", out)


def stop(world):
    """stop"""
    done = world.program("stop", NAME)
    check(done.stdout == f'Machine "{NAME}" stopped successfully\n', done.stdout)
    check(world.state() == "stopped", "not stopped")
    check(not world.processes(), "processes are left")
    log = open(world.machine("monitor.log"), encoding="utf-8").read()
    check("sending signal" not in log, "the guest had to be forced:\n" + log)


def dns_servers(world):
    return world.program("ssh", NAME, "resolvectl dns").stdout


def set_dns(world):
    """set --dns: the guest asks other servers after the next start"""
    check("192.0.2.53" not in dns_servers(world), "it has the server already")
    stop(world)
    world.program("set", "--dns", "192.0.2.53", "--dns", "192.0.2.54", NAME)


def start_again(world):
    """start again: nothing is set up twice, what was imported is there; the DNS servers are new"""
    start(world)
    for attempt in range(30):  # networkd gets its lease anew
        servers = dns_servers(world).split()
        if "192.0.2.53" in servers:
            break
        time.sleep(1)
    check("192.0.2.53" in servers, " ".join(servers))
    first = servers.index("192.0.2.53")
    check(servers[first + 1] == "192.0.2.54" and servers[first + 2:] == ["10.0.2.3"],
          "not before DHCP's: " + " ".join(servers))
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


def as_root(world, command):
    return world.program("ssh", "--username", "root", NAME, command).stdout


def our_rules(world):
    return [name for name in as_root(world, "semodule -l").split() if name.startswith("pmv_")]


def enforcing(world):
    """SELinux enforces, and knows the program that set the guest up"""
    check(as_root(world, "getenforce") == "Enforcing\n", "SELinux does not enforce")
    check("pmv_sshd_connect" in our_rules(world), "the rules are not there")
    label = as_root(world, "stat -c %C /usr/local/sbin/podman-machine-vmnet-provision")
    check(":bin_t:" in label, label)
    check("sshd_t" in as_root(world, "ps -o label= -C sshd-session"), "sshd is not confined")


def refused(world):
    """without the rules SELinux refuses podman's API over ssh"""
    as_root(world, "semodule -r " + " ".join(our_rules(world)))
    for connection in (NAME, NAME + "-root"):
        done = world.podman(connection, "version", code=125)
        check("open failed" in done.stderr, done.stderr)
    # That it is SELinux which refuses:
    as_root(world, "setenforce 0")
    version(world)
    as_root(world, "setenforce 1")
    world.podman(NAME, "version", code=125)


def repaired(world):
    """start finds the API refused, installs the rules, and proves it"""
    # A new monitor takes the VM over, and waits for what each start waits for.
    for pid in world.processes(" monitor "):
        os.kill(pid, 9)
    done = world.program("start", "--timeout", "1500", NAME, timeout=1600)
    check(f'Machine "{NAME}" started successfully\n' in done.stdout, done.stdout)
    with open(world.machine("monitor.log"), encoding="utf-8") as file:
        log = file.read()
    check("taking over the VM" in log, log)
    check(log.count("applying the SELinux rules") == 1, log)
    version(world)
    check(as_root(world, "getenforce") == "Enforcing\n", "SELinux does not enforce")
    check("pmv_sshd_connect" in our_rules(world), "the rules are not there")


STEPS = {
    "fast": [init, start, ssh, disk, version, import_image, run_rootless, run_rootful,
             published_port, api_socket, set_dns, start_again, remove],
    "stock": [init, start, ssh, version, import_image, run_rootless, run_rootful, remove_stopped],
    "selinux": [init, start, enforcing, version, refused, repaired, remove],
}[FLAVOUR]
# Without these there is nothing to test further.
VITAL = (init, start, import_image, set_dns, start_again, refused)


def find_qemu():
    try:
        with open(os.path.join(CACHE, "qemu-path"), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return None


def main():
    qemu = find_qemu()
    missing = [path for path in (IMAGE, CLIENT, BUSYBOX) if not os.path.exists(path)]
    if missing or not qemu:
        reason = f"contrib/check.sh makes what is missing: {(missing or ['QEMU'])[0]}"
        if os.environ.get("CI") == "true":
            print(f"1..1\nnot ok 1 - {reason}")
            return 1
        print(f"1..0 # SKIP {reason}")
        return 0
    world = World(qemu)
    broken = None
    wrong = 0
    print(f"1..{len(STEPS)}", flush=True)
    try:
        for number, step in enumerate(STEPS, 1):
            begun = time.monotonic()
            try:
                check(not broken, f"not tried: {broken} failed")
                step(world)
                word = "ok"
            except Failed as failed:
                print("\n".join("# " + line for line in str(failed).splitlines()))
                word = "not ok"
                wrong += 1
                if not broken:
                    world.print_logs()
                if step in VITAL and not broken:
                    broken = step.__name__
            print(f"{word} {number} - {step.__doc__} ({time.monotonic() - begun:.1f} s)",
                  flush=True)
    finally:
        world.clean_up()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
