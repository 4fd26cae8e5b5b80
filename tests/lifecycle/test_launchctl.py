#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The stand-ins for launchd and launchctl do what launchd.plist(5), launchctl(1) and people who
met the real ones say."""

import contextlib
import os
import plistlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
import harness  # noqa: E402
import launchd  # noqa: E402

LAUNCHCTL = os.path.join(harness.MACOS, "launchctl")
GUI, USER = f"gui/{os.getuid()}", f"user/{os.getuid()}"
STUBBORN = "trap '' TERM; touch {}; while :; do sleep 0.05; done"


def is_alive(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    return False


class Launchctl(unittest.TestCase):
    gui = True

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pmv.", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.launchd = self.enterContext(launchd.Launchd(os.path.join(self.folder, "launchd"),
                                                         self.gui))

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def read(self, name):
        with contextlib.suppress(OSError), open(self.path(name), encoding="utf-8") as file:
            return file.read()
        return ""

    def launchctl(self, *words):
        return subprocess.run([LAUNCHCTL, *words], capture_output=True, text=True,
                              env=os.environ | self.launchd.environment, cwd=self.folder)

    def ends(self, status, *words):
        done = self.launchctl(*words)
        self.assertEqual(done.returncode, status, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def plist(self, command="exec sleep 100", folder="", **keys):
        keys = {"Label": "job", "ProgramArguments": ["/bin/sh", "-c", command],
                "StandardErrorPath": self.path("log"), "StandardOutPath": self.path("log")} | keys
        keys = {key: value for key, value in keys.items() if value is not None}
        os.makedirs(self.path(folder), exist_ok=True)
        path = self.path(folder, f"{keys.get('Label', 'none')}.plist")
        with open(path, "wb") as file:
            plistlib.dump(keys, file)
        return path

    def load(self, command="exec sleep 100", domain=GUI, **keys):
        self.ends(0, "bootstrap", domain, self.plist(command, **keys))

    def fact(self, name, domain=GUI, label="job"):
        found = re.search(rf"^\t{name} = (.*)$", self.launchctl("print", f"{domain}/{label}").stdout,
                          re.M)
        return found and found.group(1)

    def wait_for(self, what, condition, seconds=10):
        until = time.monotonic() + seconds * harness.SLOW
        while not (value := condition()):
            if time.monotonic() > until:
                self.fail(f"not in time: {what}")
            time.sleep(0.02)
        return value

    def is_gone(self, domain=GUI):
        return self.launchctl("print", f"{domain}/job").returncode != 0


class Verbs(Launchctl):
    def test_road(self):
        self.load()
        self.assertEqual(self.fact("state"), "not running")
        self.assertEqual(self.fact("last exit code"), "(never exited)")
        self.ends(0, "kickstart", f"{GUI}/job")
        self.assertEqual(self.fact("state"), "running")
        pid = int(self.fact("pid"))
        self.ends(37, "kickstart", f"{GUI}/job")
        self.ends(0, "kickstart", "-k", f"{GUI}/job")
        self.assertNotEqual(int(self.fact("pid")), pid)
        self.assertRegex(self.ends(0, "list"), r"\APID\tStatus\tLabel\n\d+\t-15\tjob\n\Z")
        self.assertIn("\tservices = {", self.ends(0, "print", GUI))
        self.ends(0, "kill", "SIGKILL", f"{GUI}/job")
        self.wait_for("its end", lambda: self.fact("state") == "not running")
        self.assertEqual(self.fact("last terminating signal"), "Killed: 9")
        self.ends(3, "kill", "TERM", f"{GUI}/job")
        self.ends(0, "bootout", f"{GUI}/job")
        for verb in (("kickstart",), ("print",), ("kill", "9")):
            self.assertIn("Could not find service \"job\" in domain for user gui: ",
                          self.ends(113, *verb, f"{GUI}/job"))
        self.assertIn("Boot-out failed: 3: No such process", self.ends(3, "bootout", f"{GUI}/job"))

    def test_words(self):
        for words in ((), ("load", "x"), ("bootstrap", GUI), ("kickstart", "-x", f"{GUI}/job"),
                      ("kill", "NOISE", f"{GUI}/job"), ("print", "job"), ("bootout", GUI)):
            self.ends(64, *words)

    def test_what_is_refused(self):
        for keys in ({"Label": None}, {"Label": ""}, {"Label": 7}, {"ProgramArguments": None},
                     {"ProgramArguments": "sleep 1"}, {"RunAtLoad": "yes"}, {"KeepAlive": 1},
                     {"KeepAlive": {"Successful": True}}, {"ExitTimeOut": "5"},
                     {"ExitTimeout": 5}, {"ProcessType": "Fast"},
                     {"EnvironmentVariables": {"A": 1}}, {"LimitLoadToSessionType": "Screen"},
                     {"SoftResourceLimits": {"NumberOfFiles": "many"}}):
            with self.subTest(keys=keys):
                self.assertIn("Bootstrap failed: 5: Input/output error",
                              self.ends(5, "bootstrap", GUI, self.plist(**keys)))
        path = self.path("bad.plist")
        with open(path, "w", encoding="utf-8") as file:
            file.write("<plist><dict><key>Label</key><string>a & b</string></dict></plist>")
        self.ends(5, "bootstrap", GUI, path)
        self.ends(5, "bootstrap", GUI, self.path("none.plist"))
        path = self.plist()
        os.chmod(path, 0o666)
        self.assertIn("bad ownership", self.ends(122, "bootstrap", GUI, path))
        os.chmod(path, 0o600)
        self.ends(0, "bootstrap", GUI, path)
        self.ends(5, "bootstrap", GUI, path)

    def test_disabled(self):
        self.ends(0, "disable", f"{GUI}/job")
        self.assertIn("Service is disabled", self.ends(119, "bootstrap", GUI, self.plist()))
        self.ends(0, "enable", f"{GUI}/job")
        self.load()

    def test_scripted(self):
        self.launchd.script(bootstrap=[5, 37], kickstart=[113])
        self.ends(5, "bootstrap", GUI, self.plist())
        self.assertIn("37: Operation already in progress",
                      self.ends(37, "bootstrap", GUI, self.plist()))
        self.load()
        self.ends(113, "kickstart", f"{GUI}/job")
        self.ends(0, "kickstart", f"{GUI}/job")
        self.assertEqual(len(self.launchd.calls("bootstrap")), 3)

    def test_a_slow_job_is_in_the_way(self):
        self.load(f"trap 'sleep 3; exit 0' TERM; touch {self.path('up')}; while :; do sleep 0.05; "
                  "done", RunAtLoad=True)
        self.wait_for("the job", lambda: os.path.exists(self.path("up")))
        self.launchd.settle(3)
        self.ends(0, "bootout", f"{GUI}/job")
        self.assertEqual(self.fact("state"), "SIGTERMed")
        self.ends(36, "bootout", f"{GUI}/job")
        self.ends(5, "bootstrap", GUI, self.plist())
        self.wait_for("its end", self.is_gone)
        self.ends(5, "bootstrap", GUI, self.plist())  # forgotten, but not settled
        self.wait_for("room", lambda: self.launchctl("bootstrap", GUI, self.plist())
                      .returncode == 0)

    def test_domains(self):
        self.assertIn("134: Service cannot load in requested session",
                      self.ends(134, "bootstrap", USER, self.plist()))
        both = self.plist(LimitLoadToSessionType=["Aqua", "Background"])
        self.ends(0, "bootstrap", USER, both)
        self.ends(0, "bootstrap", GUI, both)
        self.ends(125, "bootstrap", f"gui/{os.getuid() + 1}", both)


class WithoutScreen(Launchctl):
    gui = False

    def test_domains(self):
        both = self.plist(LimitLoadToSessionType=["Aqua", "Background"])
        self.assertIn("125: Domain does not support specified action",
                      self.ends(125, "bootstrap", GUI, both))
        for verb in ("print", "kickstart", "bootout", "enable"):
            self.ends(125, verb, f"{GUI}/job")
        self.ends(0, "bootstrap", USER, both)


class Jobs(Launchctl):
    def test_environment(self):
        self.launchd.setenv(PMV_MARK="x")
        self.load("env; pwd; ulimit -n; ulimit -Hn; readlink /proc/$$/fd/0; exit 3",
                  RunAtLoad=True, EnvironmentVariables={"HOME": "/h & h"},
                  HardResourceLimits={"NumberOfFiles": 500})
        self.wait_for("its end", lambda: self.fact("last exit code") == "3")
        words = self.read("log").splitlines()
        for line in ("PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/h & h", "XPC_SERVICE_NAME=job",
                     "PMV_MARK=x", "/", "256", "500", "/dev/null"):
            self.assertIn(line, words)
        self.assertFalse([word for word in words if word.startswith(("USER=", "LANG="))])

    def test_what_cannot_run(self):
        for keys in ({"ProgramArguments": ["/no/such/program"]}, {"ProgramArguments": ["sh"]},
                     {"StandardOutPath": "/no/such/folder/log"}):
            self.load(RunAtLoad=True, **keys)
            self.assertEqual(self.fact("last exit code"), "78: EX_CONFIG")
            self.ends(0, "bootout", f"{GUI}/job")

    def test_exit_timeout(self):
        self.load(STUBBORN.format(self.path("up")), RunAtLoad=True, ExitTimeOut=1)
        self.wait_for("the job", lambda: os.path.exists(self.path("up")))
        begun = time.monotonic()
        self.ends(0, "bootout", f"{GUI}/job")
        self.wait_for("its end", self.is_gone)
        self.assertTrue(0.8 < time.monotonic() - begun < 5 * harness.SLOW)

    def test_keep_alive(self):
        for keep, status, again in ((True, 0, True), (False, 1, False),
                                    ({"SuccessfulExit": False}, 1, True),
                                    ({"SuccessfulExit": False}, 0, False),
                                    ({"Crashed": True}, 1, False)):
            with self.subTest(keep=keep, status=status):
                self.load(f"exit {status}", KeepAlive=keep, RunAtLoad=True, ThrottleInterval=0)
                self.wait_for("an end", lambda: self.fact("last exit code") == str(status))
                if again:
                    self.wait_for("a second run", lambda: int(self.fact("runs")) > 1)
                else:
                    time.sleep(0.2)
                    self.assertEqual(self.fact("runs"), "1")
                self.launchctl("bootout", f"{GUI}/job")
                self.wait_for("its end", self.is_gone)

    def test_the_process_group_goes_with_the_job(self):
        self.load(f"sleep 100 & echo $! > {self.path('same')}; setsid sleep 100 & "
                  f"echo $! > {self.path('other')}; sleep 0.2; exit 0", RunAtLoad=True)
        self.wait_for("its end", lambda: self.fact("last exit code") == "0")
        same, other = (int(self.read(name)) for name in ("same", "other"))
        self.addCleanup(os.kill, other, signal.SIGKILL)
        self.wait_for("the end of its group", lambda: not is_alive(same))
        self.assertTrue(is_alive(other))

    def test_logout_and_login(self):
        home = self.path("home")
        agents = "home/Library/LaunchAgents"
        self.plist("trap 'echo told; exit 0' TERM; touch $HERE/up; while :; do sleep 0.05; done",
                   agents, RunAtLoad=True, EnvironmentVariables={"HERE": self.folder})
        self.plist("exec sleep 100", agents, Label="on-demand")
        self.plist("exec sleep 100", agents, Label="both",
                   LimitLoadToSessionType=["Aqua", "Background"])
        self.launchd.login(home)
        self.wait_for("the job", lambda: os.path.exists(self.path("up")))
        self.assertEqual(self.fact("state", label="on-demand"), "not running")
        self.assertEqual(self.fact("state", USER, "both"), "not running")
        self.launchd.logout()
        self.assertEqual(self.read("log"), "told\n")
        self.ends(125, "print", f"{GUI}/job")
        self.ends(0, "print", f"{USER}/both")
        os.unlink(self.path("up"))
        self.launchd.login(home)
        self.wait_for("the job", lambda: os.path.exists(self.path("up")))


if __name__ == "__main__":
    sys.exit(harness.main(needs_guest=False))
