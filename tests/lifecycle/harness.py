# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""What the lifecycle tests stand on: the real program in a home of its own, with the stand-in
for QEMU first on PATH."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.join(HERE, "fake")
MACOS = os.path.abspath(os.path.join(HERE, "../support/macos"))
BINARY = os.path.abspath(os.environ.get("PMV_BINARY") or
                         os.path.join(HERE, "../../build/cmd/podman-machine-vmnet"))
CI = os.environ.get("CI") == "true"
sys.path.insert(1, MACOS)
SLOW = float(os.environ.get("PMV_SLOW", "1"))  # a factor for patience: sanitizers, busy machines


def missing():
    """Why the tests cannot run here, or None."""
    for program in ("bsdtar", "unshare", "ssh-keygen", "/usr/sbin/sshd"):
        if not shutil.which(program):
            return f"{program} is not installed"
    # The guest is a user in namespaces of its own, inside which it makes one more.
    probe = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc",
             "sh", "-c", "mount -t tmpfs none /run && unshare --user --map-user=1000 true"]
    done = subprocess.run(probe, capture_output=True)
    if done.returncode != 0:
        return "no user namespaces here: " + done.stderr.decode().strip()
    return None


class Done:
    """How a run of the program ended."""

    def __init__(self, argv, code, out, err, seconds):
        self.argv, self.code, self.out, self.err, self.seconds = argv, code, out, err, seconds

    def __str__(self):
        return (f"{' '.join(self.argv)}\nexit status {self.code} after {self.seconds:.1f} s\n"
                f"--- stdout\n{self.out}--- stderr\n{self.err}---")


class MachineTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        # Short: a socket's path has at most 103 bytes on some systems.
        self.top = tempfile.mkdtemp(prefix="pmv.", dir="/tmp")
        self.home = os.path.join(self.top, "home")
        self.bin = os.path.join(self.top, "bin")
        self.run_dir = os.path.join(self.top, "run")
        for folder in (self.home, self.bin, self.run_dir, os.path.join(self.top, "tmp")):
            os.mkdir(folder, 0o700)
        for name in ("qemu-system-x86_64", "virtiofsd"):
            os.symlink(os.path.join(FAKE, name), os.path.join(self.bin, name))
        self.env = {
            "HOME": self.home,
            "XDG_RUNTIME_DIR": self.run_dir,
            "TMPDIR": os.path.join(self.top, "tmp"),
            "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "LANG": "C.UTF-8",
            "CONTAINERS_HELPER_BINARY_DIR": self.bin,
            "PMV_TEST": self.top,  # how we know the processes that are ours
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            # Into files: the monitor has no terminal to complain on.
            self.env[name] = f"{os.environ.get(name, '')}:log_path={self.top}/sanitizer"
        self.started = []
        self.ran = {}  # containers, by side
        self.addCleanup(self.clean_up)

    def clean_up(self):
        for name in os.listdir(self.top):
            if name.startswith("sanitizer."):
                self._outcome.result.addFailure(self, (AssertionError, AssertionError(
                    self.text(os.path.join(self.top, name))[:6000]), None))
        left = self.processes()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for process in self.started:
            process.wait()
        if self.failed() and os.environ.get("PMV_KEEP"):
            print(f"# kept: {self.top}")
            return
        if self.failed():
            self.print_logs()
        for _ in range(50):  # the guest's namespaces need a moment to go
            shutil.rmtree(self.top, ignore_errors=True)
            if not os.path.exists(self.top):
                break
            time.sleep(0.1)

    def failed(self):
        result = self._outcome.result
        return any(test is self for test, _ in result.failures + result.errors)

    def print_logs(self):
        """What a person would look at first."""
        for folder, _, names in os.walk(self.top):
            for name in sorted(names):
                if name.endswith(".log") or name in ("events", "status.json", "last-exit.json"):
                    path = os.path.join(folder, name)
                    with open(path, errors="replace", encoding="utf-8") as file:
                        text = file.read()[-3000:]
                    print(f"# {path}\n" + "\n".join("#   " + line for line in text.splitlines()))

    # --- running the program -------------------------------------------------------------

    def start_program(self, *argv, **more):
        """In the background; finish_program() waits for it."""
        process = subprocess.Popen(
            [more.pop("program", BINARY), *argv], env={**self.env, **more.pop("env", {})}, text=True,
            stdin=more.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, cwd=self.top, **more)
        process.argv, process.begun = argv, time.monotonic()
        self.started.append(process)
        return process

    def finish_program(self, process, timeout=60, stdin=None):
        try:
            out, err = process.communicate(stdin, timeout=timeout * SLOW)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            self.fail(f"{process.argv} was still running after {timeout * SLOW} s\n{out}{err}")
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()
        done = Done(process.argv, process.returncode, out, err, time.monotonic() - process.begun)
        return done

    def run_program(self, *argv, stdin=None, timeout=60, **more):
        if stdin is not None:
            more["stdin"] = subprocess.PIPE
        return self.finish_program(self.start_program(*argv, **more), timeout, stdin)

    def ok(self, *argv, **more):
        done = self.run_program(*argv, **more)
        self.assertEqual(done.code, 0, str(done))
        return done

    def refused(self, *argv, words=None, code=125, **more):
        """Ends with the status and, when `words` are given, with exactly that error line."""
        done = self.run_program(*argv, **more)
        self.assertEqual(done.code, code, str(done))
        if words is not None:
            self.assertIn(f"Error: {words}\n", done.err, str(done))
        return done

    # --- the world around it --------------------------------------------------------------

    def behave(self, **how):
        """What the next VM does wrong: see fake/qemu-system-x86_64. `_` in a name is a blank."""
        with open(os.path.join(self.bin, "behaviour.json"), "w", encoding="utf-8") as file:
            json.dump({key.replace("_", " "): value for key, value in how.items()}, file)

    def events(self, kind=None):
        try:
            with open(os.path.join(self.bin, "events"), encoding="utf-8") as file:
                found = [json.loads(line) for line in file]
        except FileNotFoundError:
            return []
        return [e for e in found if kind is None or e["event"] == kind]

    def containers(self, root=(), user=()):
        """What runs in the guest from now on: for each container a list of (address, port) or
        (address, port, protocol)."""
        for side, found in (("root", root), ("user", user)):
            path = os.path.join(self.bin, f"podman-{side}")
            ports = [[dict(zip(("host_ip", "host_port", "protocol", "container_port", "range"),
                               (*port, "tcp")[:3] + (80, 1))) for port in container]
                     for container in found]
            with open(path + ".new", "w", encoding="utf-8") as file:
                json.dump([{"Id": "0", "Ports": each or None} for each in ports], file, indent=4)
            os.rename(path + ".new", path + ".json")
            with open(path + ".events", "a", encoding="utf-8") as file:
                if found != self.ran.get(side):
                    file.write("start\n")
            self.ran[side] = found

    def image(self, size=1 << 20):
        """A disk with a boot record and nothing in it."""
        path = os.path.join(self.top, "disk-image.raw")
        with open(path, "wb") as file:
            file.write(b"\0" * 510 + b"\x55\xaa")
            file.truncate(size)
        return path

    def init(self, name="m1", *more, image=None, **how):
        return self.ok("init", "--provider", "qemu", "--image", image or self.image(),
                       "--disk-size", "1", *more, name, **how)

    def data(self, *parts):
        return os.path.join(self.home, ".local/share/podman-machine-vmnet", *parts)

    def machine_file(self, name, file):
        return self.data("machines", name, file)

    def text(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def inspect(self, name="m1"):
        return json.loads(self.ok("inspect", name).out)[0]

    def state(self, name="m1"):
        return self.inspect(name)["State"]

    def connections_file(self):
        return os.path.join(self.home, ".config/containers/podman-connections.json")

    def connections(self):
        try:
            found = json.loads(self.text(self.connections_file()))["Connection"]
        except FileNotFoundError:
            return {}, None
        return found.get("Connections") or {}, found.get("Default") or None

    def known_hosts_file(self):
        return os.path.join(self.home, ".ssh/known_hosts")

    def known_hosts(self):
        try:
            return self.text(self.known_hosts_file()).splitlines()
        except FileNotFoundError:
            return []

    def wait_for(self, what, condition, seconds=20):
        until = time.monotonic() + seconds * SLOW
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > until:
                self.fail(f"not within {seconds * SLOW} s: {what}")
            time.sleep(0.02)

    def processes(self, word=None):
        """Pids of what our runs have left: by the environment that they were given."""
        mark = f"PMV_TEST={self.top}".encode()
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    ours = mark in file.read().split(b"\0")
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    argv = file.read().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if ours and argv and (word is None or word in argv):
                found.append(int(pid))
        return found

    def vm_pids(self):
        return self.processes("qemu-system-x86_64")

    def monitor_pids(self):
        """Without the monitor's own children, which are the same program until they run another."""
        found = self.processes(" monitor ")
        return [pid for pid in found if parent(pid) not in found]

    def files(self):
        """Every path below the home and the runtime folder."""
        found = set()
        for top in (self.home, self.run_dir):
            for folder, folders, names in os.walk(top):
                found |= {os.path.relpath(os.path.join(folder, name), self.top)
                          for name in names}
        return found

    def assert_nothing_left(self, *names):
        """After rm: no files of the machine, no processes, no connections, no known hosts."""
        self.wait_for("the end of all processes", lambda: not self.processes(), 10)
        for name in names:
            self.assertFalse(os.path.exists(self.data("machines", name)), self.files())
        sockets = [path for path in self.files() if path.startswith("run/")]
        self.assertEqual(sockets, [])
        self.assertEqual([path for path in self.files() if path.endswith((".part", ".tmp"))
                          or ("/.tmp" in path and "kvm-probe" not in path)], [])
        connections, default = self.connections()
        for name in names:
            self.assertNotIn(name, connections)
            self.assertNotIn(name + "-root", connections)
            self.assertNotIn(default, (name, name + "-root"))
            self.assertEqual([line for line in self.known_hosts()
                              if line.endswith(":" + name)], [])
        self.assertEqual(self.events("second VM on one disk"), [])


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


class Tap(unittest.TextTestResult):
    """Prints one line a test in the Test Anything Protocol, which meson reads."""

    count = 0

    def line(self, test, good, more=""):
        self.count += 1
        name = test.id().split(".", 1)[1]
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}{more}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line(test, True)

    def report(self, test, error):
        for line in self._exc_info_to_string(error, test).splitlines():
            print("# " + line)
        self.line(test, False)

    def addError(self, test, error):
        super().addError(test, error)
        self.report(test, error)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.report(test, error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line(test, not CI, f" # SKIP {reason}")


def main(reason=None, needs_guest=True):
    """`reason`: why this file's tests cannot run here. Under CI that is a failure."""
    # What nohup, or a shell for what it runs in the background, has ignored would be inherited by
    # all that we start.
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    reason = reason or (missing() if needs_guest else None)
    loaded = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    wanted = sys.argv[1:]
    tests = [test for group in loaded for test in group
             if not wanted or any(word in test.id() for word in wanted)]
    if reason:
        print(f"not ok 1 - {reason}\n1..1" if CI else f"1..0 # SKIP {reason}")
        return 1 if CI else 0
    print(f"1..{len(tests)}", flush=True)
    with open(os.devnull, "w", encoding="utf-8") as null:
        result = unittest.TextTestRunner(stream=null, resultclass=Tap).run(
            unittest.TestSuite(tests))
    return 0 if result.wasSuccessful() else 1
