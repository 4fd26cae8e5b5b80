#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""test_matrix.py PROGRAM: images by qemu-img and qemu-io, in the ways that they can be made, must
give the bytes that qemu-img itself reads from them.

PMV_MATRIX=full runs every combination; without it a part of them, the same each time, that takes
seconds. Exit status 77: qemu-img or qemu-io is not installed.
"""

import concurrent.futures
import filecmp
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile

KIB = 1024
CLUSTERS = (512, 1 * KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, 2048 * KIB)
PREALLOCATIONS = ("off", "metadata", "falloc", "full")


def run(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: {done.stdout.decode(errors='replace')}")


class Pattern:
    """What the disk holds, by stretches of `unit` bytes."""

    def __init__(self, name, kinds):
        self.name, self.kinds = name, kinds

    def bytes(self, size, unit, seed):
        source = random.Random(seed)
        out = bytearray()
        for i in range((size + unit - 1) // unit):
            kind = self.kinds[i % len(self.kinds)]
            if kind == "noise":
                out += source.randbytes(unit)
            elif kind == "text":
                out += (b"%d line of text\n" % i * unit)[:unit]
            elif kind == "tail":  # zeros, and at the end something
                out += bytes(unit - 1) + b"x"
            else:
                out += bytes(unit)
        return bytes(out[:size])


PATTERNS = (
    Pattern("zeros", ("zero",)),
    Pattern("dense", ("text", "noise", "text")),
    Pattern("sparse", ("text", "zero", "zero", "noise", "zero", "zero", "zero", "tail")),
)


def disk_size(cluster, odd):
    size = cluster * {512: 600, 1 * KIB: 400, 4 * KIB: 700}.get(cluster, 40)
    size = min(size, 5 * cluster) if cluster > 1024 * KIB else size
    return size + (512 if odd else 0)


def written_cases():
    """(name, options of qemu-img convert, cluster size, pattern, odd end)"""
    ways = []
    for compat in ("0.10", "1.1"):
        ways += [((), f"compat={compat}"), (("-c",), f"compat={compat}")]
    ways += [(("-c",), "compat=1.1,compression_type=zstd")]
    ways += [((), "compat=1.1,lazy_refcounts=on"), ((), "compat=1.1,refcount_bits=1")]
    ways += [((), f"compat=1.1,preallocation={p}") for p in PREALLOCATIONS[1:]]
    for (flags, options), cluster, pattern, odd in itertools.product(
        ways, CLUSTERS, PATTERNS, (False, True)
    ):
        yield flags, f"{options},cluster_size={cluster}", cluster, pattern, odd
    for cluster, pattern, odd in itertools.product(CLUSTERS[3:], PATTERNS, (False, True)):
        for flags in ((), ("-c",)):
            options = f"compat=1.1,extended_l2=on,cluster_size={cluster}"
            yield flags, options, cluster, pattern, odd


def edited_cases():
    """Images that qemu-io writes into: zeros, discards, rewrites, snapshots."""
    for compat, cluster, extended in itertools.product(("0.10", "1.1"), CLUSTERS, (False, True)):
        if extended and (compat == "0.10" or cluster < 16 * KIB):
            continue
        for seed in range(3):
            yield compat, cluster, extended, seed


def check(program, folder, image):
    ours, theirs = os.path.join(folder, "ours"), os.path.join(folder, "theirs")
    run(program, "image", "convert", "--quiet", image, ours)
    run("qemu-img", "convert", "-O", "raw", image, theirs)
    if not filecmp.cmp(ours, theirs, shallow=False):
        raise RuntimeError("the bytes differ")
    return ours


def try_written(program, case):
    flags, options, cluster, pattern, odd = case
    with tempfile.TemporaryDirectory() as folder:
        raw, image = os.path.join(folder, "raw"), os.path.join(folder, "image")
        content = pattern.bytes(disk_size(cluster, odd), max(cluster // 2, 512), cluster)
        with open(raw, "wb") as file:
            file.write(content)
        run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", *flags, "-o", options, raw, image)
        ours = check(program, folder, image)
        if not filecmp.cmp(ours, raw, shallow=False):
            raise RuntimeError("the bytes are not those of the source")


def try_edited(program, case):
    compat, cluster, extended, seed = case
    source = random.Random(f"{compat} {cluster} {extended} {seed}")
    size = disk_size(cluster, seed % 2)
    with tempfile.TemporaryDirectory() as folder:
        image = os.path.join(folder, "image")
        options = f"compat={compat},cluster_size={cluster}"
        options += ",extended_l2=on" if extended else ""
        run("qemu-img", "create", "-q", "-f", "qcow2", "-o", options, image, str(size))
        for step in range(3):
            commands = []
            for _ in range(12):
                at = source.randrange(size // 512) * 512
                length = min(source.choice((512, cluster // 2, cluster, 3 * cluster)), size - at)
                length = max(length // 512 * 512, 512)
                verb = source.choice(("write", "write", "write -z", "write -z -u", "discard"))
                fill = f" -P {source.randrange(1, 256)}" if verb == "write" else ""
                commands += ["-c", f"{verb}{fill} {at} {length}"]
            if compat == "1.1" and step == 1:
                commands += ["-c", "abort"] if seed == 2 else []
            subprocess.run(
                ["qemu-io", "-d", "unmap", "-f", "qcow2", *commands, image],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
            if step == 0:
                run("qemu-img", "snapshot", "-c", "before", image)
        check(program, folder, image)


def main():
    program = os.path.abspath(sys.argv[1])
    if not shutil.which("qemu-img") or not shutil.which("qemu-io"):
        print("no qemu-img and qemu-io: nothing is compared")
        return 77
    written, edited = list(written_cases()), list(edited_cases())
    every = len(written) + len(edited)
    if os.environ.get("PMV_MATRIX") != "full":
        written, edited = written[::5], edited[::4]
    jobs = [(try_written, case) for case in written] + [(try_edited, case) for case in edited]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = {pool.submit(job, program, case): (job, case) for job, case in jobs}
        for future in concurrent.futures.as_completed(futures):
            try:
                future.result()
            except RuntimeError as why:
                failures += 1
                print(futures[future][0].__name__, futures[future][1], why)
    print(f"{len(jobs)} of {every} images compared, {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
