# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""A property list as launchd.plist(5) describes it, and the process that it makes.

Stricter than launchd, which overlooks what it does not know: a key that this file does not know
is refused, since a misspelt one would do nothing. What a job gets is what launchd gives it: a few
variables, / as its folder, no input, 256 open files, a session of its own. What is left of its
process group when it ends is killed, unless AbandonProcessGroup.
"""

import contextlib
import os
import plistlib
import resource
import signal
import stat
import subprocess
from xml.parsers.expat import ExpatError

EIO, BAD_OWNERSHIP = 5, 122
EX_CONFIG = 78
DEFAULT_EXIT_TIMEOUT_S = 5  # what launchd logs for agents: "scheduling cleanup in 5 sec"
DEFAULT_THROTTLE_S = 10
DEFAULT_OPEN_FILES = 256
PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
SESSIONS = ("Aqua", "Background", "LoginWindow", "StandardIO", "System")
PROCESS_TYPES = ("Background", "Standard", "Adaptive", "Interactive")


def is_strings(value):
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def is_words(value):
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_flag(value):
    return isinstance(value, bool)


def is_text(value):
    return isinstance(value, str) and value != ""


def is_limits(value):
    return isinstance(value, dict) and all(
        key == "NumberOfFiles" and is_count(one) for key, one in value.items())


def is_keep_alive(value):
    return is_flag(value) or isinstance(value, dict) and all(
        key in ("SuccessfulExit", "Crashed") and is_flag(one) for key, one in value.items())


def is_session(value):
    return value in SESSIONS or is_strings(value) and set(value) <= set(SESSIONS)


KEYS = {
    "AbandonProcessGroup": is_flag,
    "EnvironmentVariables": is_words,
    "ExitTimeOut": is_count,
    "HardResourceLimits": is_limits,
    "KeepAlive": is_keep_alive,
    "Label": is_text,
    "LimitLoadToSessionType": is_session,
    "ProcessType": PROCESS_TYPES.__contains__,
    "Program": is_text,
    "ProgramArguments": is_strings,
    "RunAtLoad": is_flag,
    "SoftResourceLimits": is_limits,
    "StandardErrorPath": is_text,
    "StandardOutPath": is_text,
    "ThrottleInterval": is_count,
    "WorkingDirectory": is_text,
}


class Refused(Exception):
    """launchctl's exit status, and what launchd logs about it."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def read_plist(path):
    """The checked property list. Refused, with the status that bootstrap ends with."""
    try:
        facts = os.stat(path)
        with open(path, "rb") as file:
            plist = plistlib.load(file)
    except OSError as error:
        raise Refused(EIO, f"{path}: {error.strerror}") from None
    except (ExpatError, plistlib.InvalidFileException, ValueError) as error:
        raise Refused(EIO, f"{path}: {error}") from None
    if facts.st_uid not in (0, os.getuid()) or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Refused(BAD_OWNERSHIP, f"{path}: not owned by the user, or others may write it")
    check(plist, path)
    return plist


def check(plist, path):
    if not isinstance(plist, dict):
        raise Refused(EIO, f"{path}: not a dictionary")
    for key, value in plist.items():
        if key not in KEYS:
            raise Refused(EIO, f"{path}: unknown key {key}")
        if not KEYS[key](value):
            raise Refused(EIO, f"{path}: {key} cannot be {value!r}")
    if "Label" not in plist or not (plist.get("ProgramArguments") or plist.get("Program")):
        raise Refused(EIO, f"{path}: no Label, or no program")


def sessions_of(plist):
    """Aqua is gui/UID, Background is user/UID; without the key an agent is Aqua."""
    found = plist.get("LimitLoadToSessionType", "Aqua")
    return [found] if isinstance(found, str) else found


class Job:
    """One label in one domain. Not locked: launchd.py is."""

    def __init__(self, plist, path, variables):
        self.plist, self.path, self.variables = plist, path, variables
        self.label = plist["Label"]
        self.process = None
        self.runs = 0
        self.last = None  # as subprocess gives it: negative is a signal
        self.leaving = False  # told to go, by a bootout
        self.stopped = False  # told to go, by launchd

    @property
    def exit_timeout_s(self):
        """None: for ever."""
        return self.plist.get("ExitTimeOut", DEFAULT_EXIT_TIMEOUT_S) or None

    @property
    def arguments(self):
        return self.plist.get("ProgramArguments") or [self.plist["Program"]]

    def environment(self):
        return {"PATH": PATH, "XPC_FLAGS": "0x0", "XPC_SERVICE_NAME": self.label,
                **self.variables, **self.plist.get("EnvironmentVariables", {})}

    def limit(self):
        soft = self.plist.get("SoftResourceLimits", {}).get("NumberOfFiles", DEFAULT_OPEN_FILES)
        hard = self.plist.get("HardResourceLimits", {}).get("NumberOfFiles")
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        hard = most if hard is None else min(hard, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, hard), hard))

    def start(self):
        """True: a process runs. A program or a log that is not there ends as launchd says it,
        with 78."""
        self.runs += 1
        self.stopped = False
        program = self.plist.get("Program", self.arguments[0])
        folder = self.plist.get("WorkingDirectory", "/")
        try:
            if not program.startswith("/"):
                raise FileNotFoundError(program)
            with contextlib.ExitStack() as files:
                def log(key):
                    name = os.path.join(folder, self.plist.get(key, "/dev/null"))
                    return files.enter_context(open(name, "ab"))  # launchd appends
                self.process = subprocess.Popen(
                    self.arguments, executable=program, env=self.environment(), cwd=folder,
                    stdin=subprocess.DEVNULL, stdout=log("StandardOutPath"),
                    stderr=log("StandardErrorPath"), start_new_session=True,
                    preexec_fn=self.limit)
        except OSError:
            self.last = EX_CONFIG
            return False
        return True

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def ended(self, status):
        if not self.plist.get("AbandonProcessGroup"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process, self.last = None, status

    def wants_again(self):
        if self.stopped or self.leaving:
            return False
        keep = self.plist.get("KeepAlive", False)
        if isinstance(keep, bool):
            return keep
        crashed = self.last is not None and self.last < 0
        return (keep.get("SuccessfulExit") is (self.last == 0) if "SuccessfulExit" in keep
                else False) or ("Crashed" in keep and keep["Crashed"] is crashed)

    def state(self):
        if self.process is None:
            return "not running"
        return "SIGTERMed" if self.stopped else "running"

    def describe(self, target):
        """launchctl print, as of macOS 12 and later, shortened."""
        code = "(never exited)" if self.last is None else \
            f"{self.last}: EX_CONFIG" if self.last == EX_CONFIG else str(max(self.last, 0))
        lines = [f"{target} = {{", f"\tactive count = {int(self.process is not None)}",
                 f"\tpath = {self.path}", "\ttype = LaunchAgent", f"\tstate = {self.state()}", "",
                 f"\tprogram = {self.arguments[0]}", "\targuments = {",
                 *(f"\t\t{word}" for word in self.arguments), "\t}", "",
                 "\tenvironment = {",
                 *(f"\t\t{name} => {value}" for name, value in self.environment().items()), "\t}",
                 "", f"\texit timeout = {self.exit_timeout_s or 0}", "\t" f"runs = {self.runs}"]
        if self.process is not None:
            lines.append(f"\tpid = {self.process.pid}")
        if self.last is not None and self.last < 0:
            name = signal.strsignal(-self.last)
            lines.append(f"\tlast terminating signal = {name}: {-self.last}")
        lines += [f"\tlast exit code = {code}", "", "\tspawn type = interactive (4)",
                  "\tendpoints = {", "\t\t\"inner\" = {", "\t\t\tstate = active", "\t\t}", "\t}",
                  "}"]
        return "\n".join(lines) + "\n"
