#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that a file is an executable which macOS would load.

It must be a position-independent Mach-O executable for one architecture and one minimum macOS
version, use exactly the libraries named, import the functions listed, each from its library, and
on arm64 carry an ad-hoc signature whose page hashes are right: macOS kills a program without one
there. On x86_64 it may be unsigned, as linkers leave it.
"""

import argparse
import hashlib
import struct
import sys

CPUS = {"x86_64": 0x01000007, "arm64": 0x0100000C}
LC_SYMTAB, LC_LOAD_DYLIB, LC_CODE_SIGNATURE = 0x2, 0xC, 0x1D
LC_LOAD_WEAK_DYLIB, LC_REEXPORT_DYLIB = 0x18, 0x1F
LC_MAIN, LC_BUILD_VERSION = 0x28, 0x32
LC_REQ_DYLD = 0x80000000  # a flag on some of the commands
MH_EXECUTE, MH_PIE, PLATFORM_MACOS = 2, 0x200000, 1
N_STAB, N_TYPE, N_EXT = 0xE0, 0x0E, 0x01


def text_at(data, offset):
    return data[offset : data.index(b"\0", offset)].decode()


def version(number):
    return f"{number >> 16}.{number >> 8 & 0xFF}"


class Macho:
    """The parts of a thin 64-bit little-endian Mach-O file that are checked here."""

    def __init__(self, data):
        self.data = data
        self.commands = set()
        self.dylibs = []
        self.build = self.symtab = self.signature = None
        magic, self.cpu, _, self.type, count, _, self.flags = struct.unpack_from("<7I", data, 0)
        if magic != 0xFEEDFACF:
            raise ValueError("not a 64-bit Mach-O file")
        at = 32
        for _ in range(count):
            command, size = struct.unpack_from("<2I", data, at)
            command &= ~LC_REQ_DYLD
            self.commands.add(command)
            if command in (LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB, LC_REEXPORT_DYLIB):
                self.dylibs.append(text_at(data, at + struct.unpack_from("<I", data, at + 8)[0]))
            elif command == LC_BUILD_VERSION:
                self.build = struct.unpack_from("<3I", data, at + 8)
            elif command == LC_SYMTAB:
                self.symtab = struct.unpack_from("<4I", data, at + 8)
            elif command == LC_CODE_SIGNATURE:
                self.signature = struct.unpack_from("<2I", data, at + 8)
            at += size

    def imports(self):
        """The undefined symbols as (file name of the library, name), without variants ($INODE64)."""
        symbols, count, strings, _ = self.symtab
        found = set()
        for i in range(count):
            name, kind, _, desc, _ = struct.unpack_from("<IBBHQ", self.data, symbols + 16 * i)
            if kind & N_STAB or not kind & N_EXT or kind & N_TYPE:
                continue  # a debugger's, a local or a defined one
            library = desc >> 8
            if 0 < library <= len(self.dylibs):
                function = text_at(self.data, strings + name)[1:].split("$")[0]
                found.add((self.dylibs[library - 1].split("/")[-1], function))
        return found

    def signature_faults(self):
        """What is wrong with the signature: all of its page hashes are computed again."""
        if self.signature is None:
            return [] if self.cpu == CPUS["x86_64"] else ["no code signature"]
        offset, size = self.signature
        blob = self.data[offset : offset + size]
        magic, _, count = struct.unpack_from(">3I", blob, 0)
        slots = dict(struct.unpack_from(">2I", blob, 12 + 8 * i) for i in range(count))
        if magic != 0xFADE0CC0 or 0 not in slots:
            return ["the code signature has no code directory"]
        directory = blob[slots[0] :]
        flags, hashes, _, _, pages, limit = struct.unpack_from(">6I", directory, 12)
        hash_size, hash_type, _, page_bits = struct.unpack_from("4B", directory, 36)
        faults = []
        if not flags & 2:
            faults.append("the signature is not an ad-hoc one")
        if (hash_size, hash_type) != (32, 2):
            return faults + ["the signature's hashes are not SHA-256"]
        if limit != offset or pages != (limit + (1 << page_bits) - 1) >> page_bits:
            faults.append("the signature does not cover what is before it")
        wrong = 0
        for i in range(pages):
            page = self.data[i << page_bits : min((i + 1) << page_bits, limit)]
            at = hashes + 32 * i
            wrong += hashlib.sha256(page).digest() != directory[at : at + 32]
        if wrong:
            faults.append(f"{wrong} of {pages} page hashes of the signature are wrong")
        return faults


def faults_of(macho, options):
    faults = []
    if macho.cpu != CPUS[options.arch]:
        faults.append(f"not for {options.arch}")
    if macho.type != MH_EXECUTE or LC_MAIN not in macho.commands:
        faults.append("not an executable")
    if not macho.flags & MH_PIE:
        faults.append("not position-independent")
    if macho.build is None or macho.build[0] != PLATFORM_MACOS:
        faults.append("not for macOS")
    elif version(macho.build[1]) != options.minimum:
        faults.append(f"for macOS {version(macho.build[1])} and newer, not {options.minimum}")
    for dylib in sorted(set(macho.dylibs) - set(options.dylib)):
        faults.append(f"unexpected library {dylib}")
    for dylib in sorted(set(options.dylib) - set(macho.dylibs)):
        faults.append(f"library not used: {dylib}")
    if options.imports:
        with open(options.imports, encoding="utf-8") as lines:
            wanted = {tuple(line.split()) for line in lines if line.strip() and line[0] != "#"}
        for library, name in sorted(wanted - macho.imports()):
            faults.append(f"{name} is not taken from {library}")
    return faults + macho.signature_faults()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--arch", choices=sorted(CPUS), required=True)
    parser.add_argument("--minimum", required=True, help="the oldest macOS, as 13.0")
    parser.add_argument("--dylib", action="append", default=[], help="a library's full name")
    parser.add_argument("--imports", help="a file of lines 'LIBRARY FUNCTION'")
    parser.add_argument("file")
    options = parser.parse_args()
    with open(options.file, "rb") as file:
        data = file.read()
    try:
        macho = Macho(data)
        faults = faults_of(macho, options)
    except (ValueError, struct.error) as error:
        sys.exit(f"{options.file}: {error}")
    for fault in faults:
        print(f"{options.file}: {fault}", file=sys.stderr)
    if faults:
        sys.exit(1)
    print(
        f"{options.file}: {options.arch}, macOS {options.minimum}, {len(macho.dylibs)} libraries,"
        f" {len(macho.imports())} imports, {'signature right' if macho.signature else 'unsigned'}"
    )


main()
