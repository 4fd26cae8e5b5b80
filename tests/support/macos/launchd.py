#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""launchd for one test: keeps the jobs of gui/UID and user/UID and answers the launchctl beside it.

    with launchd.Launchd(folder) as keeper:   # gui=False: as over plain ssh
        environment |= keeper.environment
        keeper.script(bootstrap=[5, 37])      # the next ones end so, and do nothing
        keeper.logout(); keeper.login(home)

What it does comes from launchctl(1), launchd.plist(5) and what people report of macOS 13 to 26:

  - bootstrap of a label that is there, or still draining, ends with 5 (37 in the log); for about
    5 s after a bootout too (headroomlabs-ai/headroom#1289): `settle` here
  - bootout returns before a job that is slow to end has gone (rossoctl/cortex#880); again: 36
  - no gui/UID without a login at the screen: 125 (home-manager#4413, duh17/oppi#38)
  - an agent without LimitLoadToSessionType is Aqua, and user/UID refuses it: 134
    (duh17/oppi#31, Mic92/sops-nix#966); one that is Background too is loaded there by a login
  - a disabled label: 119 (nix-installer#530), or 5 (openclaw#849)
  - kickstart of what runs: 37, of what is not there: 113; bootout of that: 3
"""

import contextlib
import glob
import json
import os
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import launchd_job  # noqa: E402
from launchd_job import Refused  # noqa: E402

ESRCH, EIO, EINPROGRESS, EALREADY = 3, 5, 36, 37
NO_SERVICE, DISABLED, NO_DOMAIN, WRONG_SESSION = 113, 119, 125, 134
USAGE = 64
WORDS = {
    1: "Operation not permitted", 2: "No such file or directory", ESRCH: "No such process",
    EIO: "Input/output error", 17: "File exists", EINPROGRESS: "Operation now in progress",
    EALREADY: "Operation already in progress", 112: "Could not find specified domain",
    NO_SERVICE: "Could not find specified service", DISABLED: "Service is disabled",
    122: "Path had bad ownership/permissions",
    NO_DOMAIN: "Domain does not support specified action",
    WRONG_SESSION: "Service cannot load in requested session",
}
SESSION_OF = {"gui": "Aqua", "user": "Background"}
BOOTOUT_WAIT_S = 0.2


class Keeper:
    """The state. Every verb is called with the lock held; waiting lets go of it."""

    def __init__(self, folder, gui):
        self.folder = folder
        self.changed = threading.Condition(threading.RLock())
        self.domains = {f"user/{os.getuid()}": {}}
        if gui:
            self.domains[f"gui/{os.getuid()}"] = {}
        self.disabled = set()
        self.variables = {}
        self.codes = {}
        self.settle_s = 0.0
        self.settled_at = {}
        self.calls = []

    # --- jobs ------------------------------------------------------------------------------

    def run(self, domain, job):
        if job.start():
            threading.Thread(target=self.watch, args=(domain, job, job.process),
                             daemon=True).start()

    def watch(self, domain, job, process):
        status = process.wait()
        with self.changed:
            job.ended(status)
            if job.leaving:
                self.forget(domain, job)
            again = job.wants_again()
            self.changed.notify_all()
        if again:
            time.sleep(job.plist.get("ThrottleInterval", launchd_job.DEFAULT_THROTTLE_S))
            with self.changed:
                if self.domains.get(domain, {}).get(job.label) is job and not job.process:
                    self.run(domain, job)

    def forget(self, domain, job):
        if self.domains.get(domain, {}).get(job.label) is job:
            del self.domains[domain][job.label]
            self.settled_at[domain, job.label] = time.monotonic() + self.settle_s

    def stop(self, job):
        """SIGTERM, and SIGKILL after ExitTimeOut."""
        job.stopped = True
        process = job.process
        job.signal(signal.SIGTERM)
        if job.exit_timeout_s is not None:
            timer = threading.Timer(job.exit_timeout_s, self.kill, (job, process))
            timer.daemon = True
            timer.start()

    def kill(self, job, process):
        with self.changed:
            if job.process is process:
                job.signal(signal.SIGKILL)

    def find(self, target):
        domain, _, label = target.rpartition("/")
        if domain not in self.domains:
            raise Refused(NO_DOMAIN, WORDS[NO_DOMAIN])
        job = self.domains[domain].get(label)
        if job is None:
            kind, uid = domain.split("/")
            raise Refused(NO_SERVICE, f'Could not find service "{label}" in domain for user '
                                      f"{kind}: {uid}")
        return domain, job

    # --- launchctl's verbs -----------------------------------------------------------------

    def bootstrap(self, domain, path):
        if domain not in self.domains:
            raise Refused(NO_DOMAIN, WORDS[NO_DOMAIN])
        plist = launchd_job.read_plist(path)
        self.load(domain, plist, path)

    def load(self, domain, plist, path):
        label = plist["Label"]
        if SESSION_OF[domain.split("/")[0]] not in launchd_job.sessions_of(plist):
            raise Refused(WRONG_SESSION, WORDS[WRONG_SESSION])
        if (domain, label) in self.disabled:
            raise Refused(DISABLED, WORDS[DISABLED])
        if label in self.domains[domain] or \
                time.monotonic() < self.settled_at.get((domain, label), 0):
            raise Refused(EIO, WORDS[EIO])
        job = launchd_job.Job(plist, path, self.variables)
        self.domains[domain][label] = job
        if plist.get("RunAtLoad") or plist.get("KeepAlive") is True:
            self.run(domain, job)

    def bootout(self, target):
        try:
            domain, job = self.find(target)
        except Refused as refused:
            status = ESRCH if refused.status == NO_SERVICE else refused.status
            raise Refused(status, WORDS[status]) from None
        if job.leaving:
            raise Refused(EINPROGRESS, WORDS[EINPROGRESS])
        job.leaving = True
        if job.process is None:
            self.forget(domain, job)
            return
        self.stop(job)
        self.changed.wait_for(lambda: job.process is None, BOOTOUT_WAIT_S)

    def kickstart(self, target, again=False):
        domain, job = self.find(target)
        if job.process is not None and not again:
            raise Refused(EALREADY, WORDS[EALREADY])
        if job.process is not None:
            self.stop(job)
            self.changed.wait_for(lambda: job.process is None)
        self.run(domain, job)

    def kill_verb(self, number, target):
        _, job = self.find(target)
        if job.process is None:
            raise Refused(ESRCH, "No process to signal.")
        job.signal(number)

    def print(self, target):
        if target.count("/") == 1:
            if target not in self.domains:
                raise Refused(NO_DOMAIN, WORDS[NO_DOMAIN])
            services = "".join(f"\t\t{job.process.pid if job.process else 0:8} - \t{label}\n"
                               for label, job in self.domains[target].items())
            return f"{target} = {{\n\ttype = user\n\tservices = {{\n{services}\t}}\n}}\n"
        return self.find(service_target(target))[1].describe(target)

    def list(self):
        """Of the session that one is in: the screen's, where there is one."""
        domain = sorted(self.domains)[0]
        lines = [f"{job.process.pid if job.process else '-'}\t{job.last or 0}\t{label}\n"
                 for label, job in self.domains[domain].items()]
        return "PID\tStatus\tLabel\n" + "".join(lines)

    def set_enabled(self, target, enabled):
        domain, _, label = target.rpartition("/")
        if domain not in self.domains:
            raise Refused(NO_DOMAIN, WORDS[NO_DOMAIN])
        (self.disabled.discard if enabled else self.disabled.add)((domain, label))

    # --- what happens to a Mac -------------------------------------------------------------

    def logout(self):
        """The session's jobs get SIGTERM, all at once, and each its ExitTimeOut; then there is no
        gui/UID. user/UID stays."""
        domain = f"gui/{os.getuid()}"
        jobs = [job for job in self.domains.get(domain, {}).values() if job.process]
        for job in jobs:
            job.leaving = True
            self.stop(job)
        self.changed.wait_for(lambda: not any(job.process for job in jobs))
        self.domains.pop(domain, None)

    def login(self, home):
        """Every agent of the user's in each domain that it is for."""
        self.domains.setdefault(f"gui/{os.getuid()}", {})
        for path in sorted(glob.glob(os.path.join(home, "Library/LaunchAgents/*.plist"))):
            for domain in self.domains:
                with contextlib.suppress(Refused):
                    self.load(domain, launchd_job.read_plist(path), path)

    def shut_down(self):
        for jobs in self.domains.values():
            for job in jobs.values():
                job.leaving = True
                if job.process:
                    job.signal(signal.SIGKILL)


def signal_number(word):
    if word.isdigit():
        return int(word)
    name = word if word.startswith("SIG") else "SIG" + word
    try:
        return signal.Signals[name]
    except KeyError:
        raise Refused(USAGE, f"Unknown signal: {word}") from None


def service_target(word):
    if word.count("/") != 2 or word.split("/")[0] not in SESSION_OF or word.endswith("/"):
        raise Refused(USAGE, "Unrecognized target specifier.")
    return word


def perform(keeper, argv):
    """The verb's output. Refused, or a ValueError: not the words of a verb."""
    verb, *words = argv
    if argv == ["list"]:
        return keeper.list()
    if verb == "bootstrap":
        domain, path = words
        return keeper.bootstrap(domain, path)
    if verb in ("enable", "disable"):
        target, = words
        return keeper.set_enabled(service_target(target), verb == "enable")
    if verb == "kickstart":
        *flags, target = words
        if not set(flags) <= {"-k", "-p", "-kp", "-pk"}:
            raise ValueError
        return keeper.kickstart(service_target(target), any("k" in flag for flag in flags))
    if verb == "kill":
        name, target = words
        return keeper.kill_verb(signal_number(name), service_target(target))
    if verb == "setenv":
        name, value = words
        keeper.variables[name] = value
        return None
    if verb not in ("bootout", "print"):
        raise ValueError
    target, = words
    return keeper.print(target) if verb == "print" else keeper.bootout(service_target(target))


FAILED = {"bootstrap": "Bootstrap failed: {}: {}", "bootout": "Boot-out failed: {}: {}",
          "kickstart": "Could not kickstart service: {}: {}"}


def complaint(verb, refused):
    """What launchctl writes, and what launchd would log about it."""
    status = refused.status
    if verb == "print":
        return f"Bad request.\n{refused}\n"
    if verb not in FAILED or status in (NO_SERVICE, USAGE):
        return f"{refused}\n"
    text = FAILED[verb].format(status, WORDS.get(status, str(refused))) + "\n"
    if verb == "bootstrap" and status == EIO:
        text += "Try re-running the command as root for richer errors.\n"
    return text if str(refused) == WORDS.get(status) else text + f"(launchd: {refused})\n"


def launchctl(keeper, argv):
    """(exit status, output, complaint)"""
    verb = argv[0] if argv else ""
    keeper.calls.append(argv)
    codes = keeper.codes.get(verb) or [0]
    code = codes.pop(0)
    try:
        if code:
            raise Refused(code, WORDS.get(code, "scripted"))
        return 0, perform(keeper, argv) or "", ""
    except Refused as refused:
        return refused.status, "", complaint(verb, refused)
    except (KeyError, ValueError):
        return USAGE, "", f"Usage: launchctl {verb}: unrecognized words: {argv[1:]}\n"


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        request = json.loads(self.rfile.readline())
        keeper = self.server.keeper
        with keeper.changed:
            if "launchctl" in request:
                status, out, err = launchctl(keeper, request["launchctl"])
                answer = {"status": status, "out": out, "err": err}
            else:
                answer = {"value": control(keeper, request)}
        self.wfile.write(json.dumps(answer).encode() + b"\n")


def control(keeper, request):
    what = request["do"]
    if what == "script":
        keeper.codes |= request["codes"]
    elif what == "settle":
        keeper.settle_s = request["seconds"]
    elif what == "calls":
        return keeper.calls
    elif what == "login":
        keeper.login(request["home"])
    else:
        {"logout": keeper.logout, "shut down": keeper.shut_down}[what]()
    return None


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


def ask(path, request):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        peer.sendall(json.dumps(request).encode() + b"\n")
        with peer.makefile("rb") as answer:
            return json.loads(answer.readline())


class Launchd:
    """A test's hold on it."""

    def __init__(self, folder, gui=True):
        self.folder, self.gui = folder, gui
        self.socket = os.path.join(folder, "launchd.sock")

    @property
    def environment(self):
        return {"PMV_LAUNCHD": self.socket}

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        ready, write = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), self.folder, str(write),
             "gui" if self.gui else "user"], pass_fds=[write], stdin=subprocess.DEVNULL,
            start_new_session=True)
        os.close(write)
        with open(ready, "rb") as file:
            if not file.read():
                raise RuntimeError("launchd did not start")
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.process.poll() is None:
            self.do("shut down")
            self.process.kill()
        self.process.wait()

    def do(self, what, **more):
        return ask(self.socket, {"do": what, **more})["value"]

    def script(self, **codes):
        self.do("script", codes=codes)

    def settle(self, seconds):
        self.do("settle", seconds=seconds)

    def calls(self, verb=None):
        return [call for call in self.do("calls") if verb in (None, call[0])]

    def logout(self):
        self.do("logout")

    def login(self, home):
        self.do("login", home=home)

    def setenv(self, **variables):
        """What `launchctl setenv` does: for all jobs that are loaded from now on."""
        for name, value in variables.items():
            ask(self.socket, {"launchctl": ["setenv", name, value]})


def end_with(parent, keeper):
    """A test that was killed leaves nothing behind."""
    while os.getppid() == parent:
        time.sleep(1)
    with keeper.changed:
        keeper.shut_down()
    os._exit(1)


def main():
    folder, ready, session = sys.argv[1:]
    parent = os.getppid()
    server = Server(os.path.join(folder, "launchd.sock"), Handler)
    server.keeper = Keeper(folder, session == "gui")
    threading.Thread(target=end_with, args=(parent, server.keeper), daemon=True).start()
    with open(int(ready), "w", encoding="utf-8") as file:
        file.write("ready")
    server.serve_forever()


if __name__ == "__main__":
    main()
