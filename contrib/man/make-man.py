#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""make-man.py PROGRAM

Prints the manual page: the words of header.mdoc and footer.mdoc, and between them every command
and option as the program itself explains them.
"""

import os
import re
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga")
    return "\\&" + text if text.startswith((".", "'")) else text


def sentence(text):
    """A line of its own for each sentence, as mdoc wants it, and none too long."""
    return "\n".join(line for part in re.split(r"(?<=\.) (?=[A-Z])", text)
                     for line in textwrap.wrap(escape(part), 78, break_on_hyphens=False))


def helped(program, *words):
    return subprocess.run([program, *words, "--help"], check=True, capture_output=True,
                          text=True).stdout


def sections(text):
    """{"Options": [lines]} of a help text."""
    found, name = {}, ""
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            name = line[:-1]
        elif line.strip():
            found.setdefault(name, []).append(line)
    return found


def options(lines):
    for line in lines:
        words, _, told = re.sub(r" \(default .*\)$", "", line.strip()).partition("   ")
        match = re.fullmatch(r"(?:-(\w), )?--([\w-]+)(?: (.+))?", words.strip())
        letter, name, value = match.groups()
        label = (f"Fl {letter} , " if letter else "") + f"Fl \\-{escape(name)}"
        yield f".It {label}{f' Ar {value}' if value else ''}\n{sentence(told.strip())}"


def command(program, name):
    part = sections(helped(program, name))
    usage = part["Usage"][0].split(None, 2)
    operands = usage[2] if len(usage) > 2 else ""
    lines = [f".Ss {name}", ".Bd -literal -offset indent -compact",
             f"podman\\-machine\\-vmnet {name} {escape(operands)}".rstrip(), ".Ed", ".Pp",
             *(sentence(line.strip()) + "." * (not line.rstrip().endswith("."))
               for line in part["Description"])]
    if "Aliases" in part:
        lines.append(f"Also called {part['Aliases'][0].split(', ')[1]}.")
    if "Options" in part:
        lines += [".Bl -tag -width Ds", *options(part["Options"]), ".El"]
    return "\n".join(lines)


def main():
    program = sys.argv[1]
    names = [line.split()[0] for line in sections(helped(program))["Available Commands"]]
    print(read("header.mdoc") + ".Sh COMMANDS\n" +
          "\n".join(command(program, name) for name in names) + "\n" + read("footer.mdoc"), end="")


if __name__ == "__main__":
    main()
