# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""What vmnet-run and vmnet-helper take, version by version.

Read in nirs/vmnet-helper at the tags v0.11.0 (run.c, options.c), v0.12.0 and v0.13.0
(programs/run.c, programs/options.c). Its main branch of August 2026 parses as 0.13.0 does, and
there is no tag v1.0 yet: "1.0" is that parser under the next name. Versions before 0.11 have no
vmnet-run, so there is nothing to stand in for. What differs:

    0.11  isolation in host mode or with --network only, refused by both programs; the helper's
          shared mode has addresses of its own, 192.168.105.1 to .254
    0.12  isolation in shared mode too; the three addresses together or none; without them macOS
          chooses a network
    0.13  --stats-interval; larger socket buffers with --enable-tso

Every refusal ends with exit status 1, and every word of a program on standard error.
"""

import os
import re
import socket
import sys

import getopt_bsd

COMMITS = {
    "0.11.0": "3164bb571e132022a9c35621b3e3bb1db5fb8a3b",
    "0.12.0": "0caef043005c7d9f03422a9914bc9d3d4637dc84",
    "0.13.0": "222c121ba31e49856c9ec6c3a14426b49d77c8fe",
    "1.0.0": "255cb10f0472ee1da6e77ebc70cc2522c6b5dd6b",
}
ADDRESSES = ("start-address", "end-address", "subnet-mask")
FLAGS = ("enable-tso", "enable-checksum-offload", "enable-isolation")
MODES = ("shared", "bridged", "host")
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
LONGEST_SOCKET = 103  # sizeof(sun_path) - 1 on macOS
INT_MAX = 2**31 - 1


def version():
    """The version that is played: PMV_VMNET_HELPER_VERSION, as "0.12" or "0.12.0"."""
    wanted = os.environ.get("PMV_VMNET_HELPER_VERSION", "0.13.0")
    full = wanted if wanted.count(".") == 2 else wanted + ".0"
    if full not in COMMITS:
        sys.exit(f"PMV_VMNET_HELPER_VERSION={wanted}: there are {', '.join(COMMITS)}")
    return full


def at_least(major, minor):
    return tuple(map(int, version().split(".")))[:2] >= (major, minor)


def print_version():
    print(f"version: v{version()}\ncommit: {COMMITS[version()]}", flush=True)
    sys.exit(0)


def macos_version():
    """kern.osproductversion, from the variable by which the program is told it too."""
    numbers = os.environ.get("PODMAN_MACHINE_VMNET_MACOS", "26.2").split(".")
    return tuple(int(number) for number in (numbers + ["0", "0"])[:3])


def is_address(text):
    try:
        socket.inet_aton(text)
    except OSError:
        return False
    return True


def number(text, least, most):
    """strtol() of a whole word, or None."""
    match = re.fullmatch(r"\s*([+-]?\d+)", text)
    return int(match.group(1)) if match and least <= int(match.group(1)) <= most else None


class Options:
    """Parsed and checked. Attributes are the option names with _ for -; None or False if not
    given. `complain` takes one line of text, `usage` prints the help and ends."""

    mark = ""  # before each message
    shorts = "vh"
    capital = False  # how sentences begin

    def __init__(self, argv):
        self.verbose = False
        self.fd = self.socket = None
        self.stats_interval = None
        for name in ("interface-id", "operation-mode", "shared-interface", "network", *ADDRESSES):
            setattr(self, name.replace("-", "_"), None)
        for name in FLAGS:
            setattr(self, name.replace("-", "_"), False)
        parser = getopt_bsd.Parser(argv, self.shorts, self.longs())
        try:
            for option, value, word in parser:
                self.take(option, value, word)
        except getopt_bsd.Missing as missing:
            self.refuse(f"option {missing} requires an argument")
        except getopt_bsd.Unknown as unknown:
            self.refuse(f"invalid option: {unknown}")
        self.check_network()
        self.operands = parser.operands
        self.check()

    def longs(self):
        longs = {"interface-id": True, "operation-mode": True, "shared-interface": True,
                 "network": True, "verbose": False, "version": False, "help": False}
        longs |= {name: True for name in ADDRESSES} | {name: False for name in FLAGS}
        if at_least(0, 13):
            longs["stats-interval"] = True
        return longs

    def complain(self, text):
        if self.capital:
            text = text[0].upper() + text[1:]
        sys.stderr.write(f"ERROR {self.mark}{text}\n")
        sys.stderr.flush()

    def refuse(self, text):
        self.complain(text)
        sys.exit(1)

    def usage(self, status):
        sys.stderr.write(self.help())
        sys.stderr.flush()
        sys.exit(status)

    def help(self):
        words = " ".join(f"[--{name}{' VALUE' if value else ''}]"
                         for name, value in self.longs().items())
        return f"\n{self.name} {words}\n\n"

    def take(self, option, value, word):
        if option in ("help", "h"):
            self.usage(0)
        elif option == "version":
            print_version()
        elif option in ("verbose", "v"):
            self.verbose = True
        elif option in FLAGS:
            setattr(self, option.replace("-", "_"), True)
        else:
            self.check_value(option, value, word)
            setattr(self, option.replace("-", "_"), value)

    def check_value(self, option, value, word):
        if option == "interface-id" and not UUID.fullmatch(value):
            self.refuse(f'invalid interface-id: "{value}"')
        if option == "operation-mode" and value not in MODES:
            self.refuse(f'invalid operation-mode: "{value}"')
        if option in ADDRESSES and not is_address(value):
            self.refuse(f'invalid {word}: "{value}"')

    def check_network(self):
        """--network excludes what describes a network."""
        if self.network is None:
            return
        for name in ("operation-mode", "shared-interface", *ADDRESSES):
            if getattr(self, name.replace("-", "_")) is not None:
                self.refuse(f"conflicting arguments: --network cannot be used with --{name}")

    def check(self):
        raise NotImplementedError


class RunOptions(Options):
    """vmnet-run: run.c, parse_options(). `operands` is the command."""

    name = "vmnet-run"
    mark = "[runner] "

    def check(self):
        if self.network is None:
            self.check_isolation()
        if not self.operands:
            self.complain("no command specified")
            self.usage(1)

    def check_isolation(self):
        if self.operation_mode == "bridged" and self.shared_interface is None:
            self.refuse("missing argument: shared-interface is required for "
                        "operation-mode=bridged")
        if not self.enable_isolation:
            return
        if not at_least(0, 12) and self.operation_mode != "host":
            self.refuse("conflicting arguments: enable-isolation requires operation-mode=host")
        if self.operation_mode == "bridged":
            self.refuse("conflicting arguments: enable-isolation not compatible with "
                        "operation-mode=bridged")

    def helper_argv(self, path):
        """build_helper_argv(): the order is the real one's."""
        argv = [path, "--fd=3"]
        for name in ("interface-id", "operation-mode", *ADDRESSES, "shared-interface"):
            value = getattr(self, name.replace("-", "_"))
            argv += [] if value is None else ["--" + name, value]
        argv += ["--" + name for name in FLAGS if getattr(self, name.replace("-", "_"))]
        argv += [] if self.network is None else ["--network", self.network]
        argv += [] if self.stats_interval is None else ["--stats-interval", self.stats_interval]
        return argv + ["--verbose"] * self.verbose


class HelperOptions(Options):
    """vmnet-helper: options.c, parse_options(). Operands are not looked at."""

    name = "vmnet-helper"
    shorts = "f:s:i:vh"
    capital = True

    def longs(self):
        return {"fd": True, "socket": True, **super().longs(), "list-shared-interfaces": False}

    def take(self, option, value, word):
        option = {"f": "fd", "s": "socket", "i": "interface-id"}.get(option, option)
        if option == "list-shared-interfaces":
            print("en0", flush=True)
            sys.exit(0)
        super().take(option, value, word)

    def check_value(self, option, value, word):
        super().check_value(option, value, word)
        if option == "fd" and number(value, 0, INT_MAX) is None:
            self.complain(f"invalid fd '{value}'")
            self.usage(1)
        if option == "socket" and len(value.encode()) > LONGEST_SOCKET:
            self.complain(f'socket "{value}" too long')
            self.usage(1)
        if option == "stats-interval" and number(value, 1, INT_MAX) is None:
            self.refuse(f"invalid --stats value '{value}': must be a positive integer")

    def check(self):
        if self.network is None:
            self.operation_mode = self.operation_mode or "shared"
            self.check_mode()
        if (self.fd is None) == (self.socket is None):
            self.complain('missing argument: either "fd" or "socket" required' if self.fd is None
                          else 'conflicting arguments: "fd" and "socket" are mutually exclusive')
            self.usage(1)

    def check_mode(self):
        given = [getattr(self, name.replace("-", "_")) for name in ADDRESSES]
        if self.operation_mode == "bridged":
            if self.shared_interface is None:
                self.refuse("missing argument: shared-interface is required for "
                            "operation-mode=bridged")
            if self.enable_isolation:
                self.refuse("conflicting arguments: enable-isolation cannot be used with bridged "
                            "mode")
        elif at_least(0, 12):
            if any(given) and not all(given):
                self.refuse("--start-address, --end-address, and --subnet-mask must be given "
                            "together, or all omitted")
        elif self.operation_mode == "shared":
            self.start_address = self.start_address or "192.168.105.1"
            self.end_address = self.end_address or "192.168.105.254"
            self.subnet_mask = self.subnet_mask or "255.255.255.0"
            if self.enable_isolation:
                self.refuse("conflicting arguments: enable-isolation cannot be used with shared "
                            "mode")
