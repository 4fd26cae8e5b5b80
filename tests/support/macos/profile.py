# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""What one version of krunkit or vfkit takes: the lists of tests/contract, which say where in the
tool's source each was read, and which hold our own command line to the same.

Which version: PMV_KRUNKIT_VERSION or PMV_VFKIT_VERSION, else the newest. These and the other
PMV_ words of the stand-ins may also stand in a file `stand-in.json` beside the name that the
stand-in was called by, for where no environment gets through (launchd).
"""

import collections
import json
import os
import sys

CONTRACT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../contract")


class Refused(Exception):
    """The tool would not have it. `status` as it ends then."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


def setting(name, default=""):
    """A PMV_ word, of the environment or of stand-in.json."""
    try:
        with open(os.path.join(os.path.dirname(sys.argv[0]), "stand-in.json"),
                  encoding="utf-8") as file:
            default = json.load(file).get(name, default)
    except OSError:
        pass
    return os.environ.get(name, default)


def only_read():
    if setting("PMV_ONLY_READ") != "yes":
        return False
    print("the command line is taken", flush=True)
    return True


Key = collections.namedtuple("Key", "name form needed")  # form: None for a bare word


def read_key(word):
    needed = word.endswith("!")
    name, equals, form = word.removesuffix("!").partition("=")
    return Key(name, form if equals else None, needed)


def fits(value, form):
    if form == "NUMBER":
        return value.isascii() and value.isdigit()
    return form == "TEXT" or value in form.split("|")


class Profile:
    """`plain`: {option: form, None for one without a value}; `lists`: {option: {kind: {key: Key}}},
    kind "-" for a list that does not begin with a kind."""

    def __init__(self, tool, versions, newest):
        self.tool = tool
        self.version = setting(f"PMV_{tool.upper()}_VERSION", newest)
        if self.version not in versions:
            sys.exit(f"{tool}: there is no profile for version {self.version}")
        self.plain, self.lists = {}, {}
        path = os.path.join(CONTRACT, f"{tool}-{self.version}.options")
        with open(path, encoding="utf-8") as file:
            for line in file.read().splitlines()[1:]:
                self.take(line.split())

    def take(self, words):
        if not words or words[0] == "#":
            return
        option, *rest = words
        if rest == ["NUMBER"] or rest == ["TEXT"] or not rest:
            self.plain[option] = rest[0] if rest else None
        else:
            kind, *keys = rest
            self.lists.setdefault(option, {})[kind] = {key.name: key
                                                       for key in map(read_key, keys)}

    def takes(self, option):
        return option in self.plain or option in self.lists

    def has_value(self, option):
        return option in self.lists or self.plain[option] is not None

    def at_least(self, *numbers):
        return tuple(map(int, self.version.split("."))) >= numbers
