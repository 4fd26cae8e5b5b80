#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""check.py CHECK [FOLDER]

The rules of the house that a machine can check. FOLDER is the source tree (this one).
Exit status 0: kept; 1: broken, one line for each place; 77: the tool for it is not installed
(under CI=true that is a failure too).
"""

import os
import re
import shutil
import subprocess
import sys

ROOMS = ("base", "image", "cloudinit", "provider", "cmd")

# Who may include whom. A room always sees itself.
ARROWS = {
    "base": {"base"},
    "image": {"base", "image"},
    "cloudinit": {"base", "cloudinit"},
    "provider": {"base", "provider"},
    "cmd": {"base", "cmd"},
}
# What the hall may include of the other rooms: their front doors.
FRONT_DOORS = {
    "image/catalog.h",
    "image/image.h",
    "cloudinit/seed.h",
    "provider/checkup.h",
    "provider/connection.h",
    "provider/guest.h",
    "provider/guest_session.h",
    "provider/known_hosts.h",
    "provider/ladder.h",
    "provider/localhost.h",
    "provider/machine.h",
    "provider/monitor.h",
    "provider/network_options.h",
    "provider/paths.h",
    "provider/port.h",
    "provider/preflight.h",
    "provider/provider.h",
    "provider/reach.h",
    "provider/registration.h",
    "provider/ssh.h",
    "provider/state.h",
    "provider/status.h",
    "provider/supervisor.h",
    "provider/trust.h",
}

LONGEST_FILE = 500
LONGEST_TEST = 700

# Not on macOS, a shell in disguise, or a buffer without a length.
FORBIDDEN_CALLS = {
    "pipe2": "not on macOS: pipe() and FD_CLOEXEC",
    "execvpe": "not on macOS: process_find() and process_exec()",
    "getrandom": "not on macOS: random_bytes()",
    "posix_fallocate": "not on macOS",
    "argp_parse": "not on macOS: cmd/options.h",
    "system": "runs a shell: process_run()",
    "popen": "runs a shell: process_run()",
    "strtok": "changes its argument and hides state: strvec_split()",
    "sprintf": "has no length: xasprintf() or snprintf()",
    "vsprintf": "has no length: xvasprintf() or vsnprintf()",
    "gets": "has no length",
    "alloca": "the stack is not for sizes from outside: base/alloc.h",
}
FORBIDDEN_WORDS = (
    # Paths of a machine that somebody happened to work on. (Split, so that this file is clean.)
    (re.compile(r"(?<![\w.\-])/" + r"work/\w"), "an absolute path of somebody's machine"),
    (re.compile(r"/\.py" + r"env/"), "an absolute path of somebody's machine"),
    (re.compile(r"/tmp/bash" + r"_jobs"), "an absolute path of somebody's machine"),
)


class Report:
    def __init__(self):
        self.lines = []

    def add(self, path, line, text):
        place = f"{path}:{line}" if line else path
        self.lines.append(f"{place}: {text}")


def source_files(root):
    """Paths of the project's files, relative to its top; build folders are not among them."""
    try:
        found = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, check=True).stdout.decode().split("\0")
        top = subprocess.run(["git", "-C", root, "rev-parse", "--show-prefix"],
                             capture_output=True, check=True).stdout.strip()
        if top:  # a folder inside another repository: not ours to ask
            raise subprocess.CalledProcessError(1, "git")
        found = [name for name in found if name]
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, folders, names in os.walk(root):
            folders[:] = [f for f in folders if not f.startswith((".git", "build"))
                          and f != "__pycache__"]
            found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(name for name in found if os.path.isfile(os.path.join(root, name)))


def c_files(root):
    return [name for name in source_files(root) if name.endswith((".c", ".h"))]


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
        return file.read()


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def without_comments(text, strings=True):
    """The C text with comments (and strings) blanked, line numbers kept."""
    def blank(match):
        token = match.group(0)
        if token.startswith("/"):
            return re.sub(r"[^\n]", " ", token)
        return token if strings else token[0] + " " * (len(token) - 2) + token[0]
    return TOKEN.sub(blank, text)


def check_includes(root, report):
    include = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
    for name in c_files(root):
        room = name.split("/")[0]
        if room not in ROOMS:
            continue
        for number, line in enumerate(read(root, name).splitlines(), 1):
            match = include.match(line)
            if not match:
                continue
            target = match.group(1)
            to = target.split("/")[0]
            if "/" not in target or to not in ROOMS:
                report.add(name, number, f'"{target}": name it from the top, as "{room}/{target}"')
            elif to not in ARROWS[room] and not (room == "cmd" and target in FRONT_DOORS):
                what = "its front doors only" if room == "cmd" else "base/ and itself only"
                report.add(name, number, f'{room}/ must not include "{target}" ({what})')


def check_platform(root, report):
    macro = re.compile(r"\b(__APPLE__|__MACH__|__linux__|__linux|linux|TARGET_OS_\w+|__FreeBSD__)\b")
    proc = re.compile(r'"/proc/')
    for name in c_files(root):
        if name.split("/")[0] not in ROOMS or re.fullmatch(r"base/platform_\w+\.c", name):
            continue
        for number, line in enumerate(without_comments(read(root, name)).splitlines(), 1):
            if line.lstrip().startswith("#") and macro.search(line):
                report.add(name, number, "asks which system this is: base/platform.h's business")
            if proc.search(line):
                report.add(name, number, "/proc is Linux's alone: base/platform.h's business")


def check_calls(root, report):
    call = re.compile(r"(?<![\w.>])(" + "|".join(FORBIDDEN_CALLS) + r")\s*\(")
    for name in c_files(root):
        if name.split("/")[0] not in ROOMS or re.fullmatch(r"base/platform_\w+\.c", name):
            continue
        text = read(root, name)
        for number, line in enumerate(without_comments(text, strings=False).splitlines(), 1):
            for match in call.finditer(line):
                report.add(name, number, f"{match.group(1)}(): {FORBIDDEN_CALLS[match.group(1)]}")
            if re.search(r"\bgoto\b", line):
                report.add(name, number, "goto: cleanup attributes and return (CONTRIBUTING.md)")
            if re.search(r"^\s*#\s*include\s*<argp\.h>", line):
                report.add(name, number, "<argp.h>: not on macOS")
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            strings = " ".join(m.group(0) for m in TOKEN.finditer(line))
            if re.search(r"(?<!%)(%%)*%m(?!\w)", strings) and not re.search(r"%[YHMSd]", strings):
                report.add(name, number, "%m: not on macOS: error_errno()")


def check_length(root, report):
    for name in c_files(root) + [n for n in source_files(root) if n.endswith((".py", ".sh"))]:
        lines = read(root, name).count("\n")
        most = LONGEST_TEST if name.startswith("tests/") else LONGEST_FILE
        if lines > most:
            report.add(name, 0, f"{lines} lines: a file over {most} asks to be split")


def check_words(root, report):
    for name in source_files(root):
        if name == "LICENSE":
            continue
        for number, line in enumerate(read(root, name).splitlines(), 1):
            for pattern, why in FORBIDDEN_WORDS:
                if pattern.search(line):
                    report.add(name, number, f"'{pattern.search(line).group(0)}': {why}")


def check_headers(root, report):
    """Licence lines, include guards, no tabs, no blanks at the end of a line."""
    for name in source_files(root):
        if not name.endswith((".c", ".h", ".py", ".sh", ".build")) and name != ".ci/run":
            continue
        text = read(root, name)
        if name.endswith((".c", ".h")) and not text.startswith(
                "// SPDX-FileCopyrightText: The podman-machine-vmnet authors\n"
                "// SPDX-License-Identifier: Apache-2.0\n"):
            report.add(name, 1, "does not begin with the two SPDX lines")
        if name.endswith(".h") and not re.search(r"^#ifndef (\w+)\n#define \1$", text, re.M):
            report.add(name, 1, "has no include guard")
        for number, line in enumerate(text.splitlines(), 1):
            if line != line.rstrip():
                report.add(name, number, "blanks at the end of the line")
        if text and not text.endswith("\n"):
            report.add(name, 0, "does not end in a newline")


def find_tool(*names):
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    print(f"{names[-1]} is not installed")
    sys.exit(1 if os.environ.get("CI") == "true" else 77)


def run_tool(argv, root, report, hint):
    done = subprocess.run(argv, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        report.lines += done.stdout.decode(errors="replace").rstrip().splitlines()
        report.lines.append(hint)


def check_format(root, report):
    # The same rules give other line breaks in other versions: Debian 12's is the one that counts.
    tool = find_tool("clang-format-14", "clang-format")
    version = subprocess.run([tool, "--version"], capture_output=True).stdout.decode()
    if " 14." not in version and os.environ.get("CI") != "true":
        print(f"needs clang-format 14, this is {version.strip()}")
        sys.exit(77)
    names = c_files(root)
    if names:
        run_tool([tool, "--dry-run", "--Werror", "--style=file"] + names, root, report,
                 "put right by: git ls-files '*.[ch]' | xargs clang-format-14 -i")


def shell_files(root):
    names = []
    for name in source_files(root):
        if name.endswith((".py", ".c", ".h")):
            continue
        first = read(root, name).split("\n", 1)[0]
        if name.endswith(".sh") or re.match(r"#!\s*/(usr/)?bin/(env )?(ba|da)?sh\b", first):
            names.append(name)
    return names


def check_shell(root, report):
    tool = find_tool("shellcheck")
    names = shell_files(root)
    if names:
        run_tool([tool, "--external-sources", "--source-path=SCRIPTDIR"] + names, root, report,
                 "shellcheck found the above")


def check_spelling(root, report):
    tool = find_tool("codespell")
    ignored = os.path.join(os.path.dirname(os.path.abspath(__file__)), "words")
    names = [name for name in source_files(root)
             if name != "LICENSE" and not re.search(r"\.(json|qcow2|bin|patch|options)$", name)
             and not name.startswith(("tests/fuzz/corpus", "tests/style/words"))]
    if names:
        run_tool([tool, "--ignore-words", ignored] + names, root, report,
                 "codespell found the above; a word that is right goes into tests/style/words")


def check_python(root, report):
    for name in source_files(root):
        text = read(root, name)
        if name.endswith(".py") or re.match(r"#!.*\bpython3\b", text.split("\n", 1)[0]):
            try:
                compile(text, name, "exec")
            except SyntaxError as error:
                report.add(name, error.lineno, f"not Python: {error.msg}")


CHECKS = {
    "includes": check_includes,
    "platform": check_platform,
    "calls": check_calls,
    "length": check_length,
    "words": check_words,
    "headers": check_headers,
    "format": check_format,
    "shell": check_shell,
    "spelling": check_spelling,
    "python": check_python,
}


def run_check(name, root):
    report = Report()
    CHECKS[name](root, report)
    return report.lines


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in CHECKS:
        print(__doc__)
        print("CHECK is one of: " + " ".join(CHECKS))
        return 2
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[2] if len(sys.argv) == 3 else os.path.dirname(os.path.dirname(here))
    lines = run_check(sys.argv[1], root)
    print("\n".join(lines) if lines else f"{sys.argv[1]}: kept")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
