# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests with a real guest stand on: a home of its own, what contrib/check.sh got, and
steps that share a machine. Each step is one test; after one that is vital has failed, the rest is
not tried."""

import json
import os
import shutil
import subprocess
import tempfile
import time
import traceback

BINARY = os.path.abspath(os.environ.get("PMV_BINARY", "build/cmd/podman-machine-vmnet"))
FRONT = os.path.abspath(os.environ.get("PMV_FRONT", "build/cmd/front/podman"))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                     "podman-machine-vmnet-tests")
CLIENT = os.path.join(CACHE, "clients/podman/podman")  # the newest
CLIENT_5 = os.path.join(CACHE, "clients/podman-5/podman")
CLIENT_4 = os.path.join(CACHE, "clients/podman-4/podman")
DOCKER = os.path.join(CACHE, "clients/docker/docker")
BUSYBOX = os.path.join(CACHE, "busybox.tar")


def image(flavour):
    return os.path.join(CACHE, flavour, "guest.qcow2")


class Failed(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failed(text)


class World:
    """`client` is the podman behind our front-end, which is the first podman on PATH."""

    def __init__(self, name, client=CLIENT):
        self.name = name
        # Not below /tmp, which may be memory: the disk is 3 GB.
        self.top = tempfile.mkdtemp(prefix="pmv-vm.", dir="/var/tmp")
        self.home = os.path.join(self.top, "home")
        self.run_dir = os.path.join(self.top, "run")
        self.bin = os.path.join(self.top, "bin")
        for folder in (self.home, self.run_dir, self.bin):
            os.mkdir(folder, 0o700)
        os.symlink(FRONT, os.path.join(self.bin, "podman"))
        self.env = {
            "HOME": self.home, "XDG_RUNTIME_DIR": self.run_dir, "LANG": "C.UTF-8",
            "PATH": f"{self.bin}:{os.path.dirname(client)}:{os.path.dirname(find_program('qemu'))}:"
                    "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "CONTAINERS_HELPER_BINARY_DIR": os.path.dirname(find_program("virtiofsd")),
            "PMV_TEST": self.top,
        }

    def run(self, *argv, stdin=None, timeout=900, code=0, env=None):
        begun = time.monotonic()
        try:
            done = subprocess.run(argv, env={**self.env, **(env or {})}, input=stdin,
                                  capture_output=True, text=True, timeout=timeout, cwd=self.top,
                                  stdin=None if stdin is not None else subprocess.DEVNULL)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{' '.join(argv)}: not within {timeout} s\n{error.stdout}\n{error.stderr}")
        shown = f"{' '.join(argv)}: exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        check(code is None or done.returncode == code, shown)
        print(f"#   {time.monotonic() - begun:6.1f} s  {os.path.basename(argv[0])} "
              + " ".join(argv[1:])[:80].replace("\n", " "), flush=True)
        return done

    def program(self, *argv, **more):
        return self.run(BINARY, *argv, **more)

    def podman(self, connection, *argv, **more):
        """The real client, over a connection that we registered."""
        return self.run(CLIENT, "-c", connection, *argv, **more)

    def front(self, *argv, **more):
        """What a person or a tool types: `podman`, which is our front-end."""
        return self.run("podman", *argv, **more)

    def guest(self, command, *options, **more):
        """What a shell command prints in the guest."""
        return self.program("ssh", *options, self.name, command, **more).stdout.strip()

    def machine(self, *parts):
        return os.path.join(self.home, ".local/share/podman-machine-vmnet/machines", self.name,
                            *parts)

    def write(self, path, text, mode=0o644):
        """A file below the world's folder, with its parents; its whole path."""
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def read(self, path):
        with open(os.path.join(self.top, path), encoding="utf-8") as file:
            return file.read()

    def share(self):
        """Folders of the host for volumes, with a file in each."""
        self.shared = os.path.join(self.top, "it's \"shared\", ü=é")
        self.read_only = os.path.join(self.top, "ro")
        self.plain = os.path.join(self.top, "plain")
        for folder in (self.shared, self.read_only, self.plain):
            os.mkdir(folder)
            os.chmod(folder, 0o777)
            self.write(os.path.join(folder, "example"), "from the host\n")

    def record(self):
        with open(self.machine("machine.json"), encoding="utf-8") as file:
            return json.load(file)

    def api_socket(self):
        return os.path.join(self.run_dir, "podman", f"{self.name}-api.sock")

    def processes(self):
        mark, found = f"PMV_TEST={self.top}".encode(), []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def inspect(self):
        return json.loads(self.program("inspect", self.name).stdout)[0]

    def state(self):
        return self.inspect()["State"]

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


def find_program(name):
    """What contrib/check.sh has found or unpacked."""
    try:
        with open(os.path.join(CACHE, name + "-path"), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return None


def run_steps(world, steps, vital):
    broken = None
    wrong = 0
    print(f"1..{len(steps)}", flush=True)
    for number, step in enumerate(steps, 1):
        begun = time.monotonic()
        try:
            check(not broken, f"not tried: {broken} failed")
            step(world)
            word = "ok"
        except Exception as error:  # a step's own mistakes fail it too
            text = str(error) if isinstance(error, Failed) else traceback.format_exc()
            print("\n".join("# " + line for line in text.splitlines()))
            word = "not ok"
            wrong += 1
            if not broken:
                world.print_logs()
            if step in vital and not broken:
                broken = step.__name__
        print(f"{word} {number} - {step.__doc__} ({time.monotonic() - begun:.1f} s)", flush=True)
    return wrong


def missing(needed):
    """Why there can be no real guest here, or None; `needed` are files of contrib/check.sh's cache."""
    absent = [path for path in needed if not os.path.exists(path)]
    absent += [program for program in ("qemu", "virtiofsd") if not find_program(program)]
    return f"contrib/check.sh makes what is missing: {absent[0]}" if absent else None


def skip(reason):
    """Under CI nothing may be missing."""
    if os.environ.get("CI") == "true":
        print(f"1..1\nnot ok 1 - {reason}")
        return 1
    print(f"1..0 # SKIP {reason}")
    return 0


def run_and_clean_up(world, steps, vital):
    """The exit status."""
    try:
        return 1 if run_steps(world, steps, vital) else 0
    finally:
        world.clean_up()


def main(name, steps, vital, needed, client=CLIENT):
    """Runs the steps with one world."""
    reason = missing(needed)
    return skip(reason) if reason else run_and_clean_up(World(name, client), steps, vital)
