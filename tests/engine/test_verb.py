#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""test_verb.py PROGRAM: what `image` prints and refuses."""

import json
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
MIB = 1 << 20


def image(home, *words, status=0):
    done = subprocess.run(
        [PROGRAM, "image", *words],
        env=dict(os.environ, HOME=home, XDG_CACHE_HOME=os.path.join(home, "cache")),
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


def write_raw(home, name, fill):
    with open(os.path.join(home, name), "wb") as file:
        file.write(bytes(510) + b"\x55\xaa" + fill * MIB)
        file.truncate(4 * MIB)


def main():
    with tempfile.TemporaryDirectory() as home:
        assert json.loads(image(home, "ls", "--format", "json")) == []
        assert image(home, "ls").split() == ["DIGEST", "DISK", "ON", "DISK", "CREATED", "SOURCE"]
        assert "Freed 0B" in image(home, "prune")
        assert image(home, "list", "-q") == ""

        write_raw(home, "a.raw", b"a")
        write_raw(home, "b.raw", b"b")
        a = json.loads(image(home, "pull", "-q", "--format", "json", "a.raw"))
        assert a["Size"] == 4 * MIB and os.path.getsize(a["Path"]) == 4 * MIB, a
        b = image(home, "pull", "-q", "b.raw").strip()
        rows = json.loads(image(home, "ls", "--format", "json"))
        assert sorted(row["Digest"] for row in rows) == sorted([a["Digest"], b])
        assert all(row["Ready"] and row["Source"].startswith(home) for row in rows), rows
        assert all(MIB <= row["Allocated"] < 2 * MIB for row in rows), rows
        assert b[:12] in image(home, "ls") and "4MiB" in image(home, "ls")

        # What is unfinished is listed, and pruned without what is ready.
        cache = os.path.dirname(a["Path"])
        part = os.path.join(cache, "c" * 64 + ".download.part")
        with open(part, "wb") as file:
            file.write(b"c" * 8192)
        with open(os.path.join(cache, "a word of somebody.txt"), "wb") as file:
            file.write(b"not ours")
        rows = {row["Digest"]: row for row in json.loads(image(home, "ls", "--format=json"))}
        assert not rows["c" * 64]["Ready"] and rows["c" * 64]["Path"] is None
        assert "unfinished" in image(home, "ls")
        assert json.loads(image(home, "prune", "--format", "json"))["Freed"] == 8192
        assert not os.path.exists(part) and len(image(home, "ls", "-q").split()) == 2

        assert "no image 'fedora-1'" in image(home, "rm", "fedora-1", status=125)
        assert "no image 'ab'" in image(home, "rm", "ab", status=125)
        image(home, "rm", "./b.raw")
        assert image(home, "ls", "-q").split() == [a["Digest"]]
        image(home, "prune", "--all")
        assert image(home, "ls", "-q") == "" and os.path.exists(cache + "/a word of somebody.txt")

        image(home, "convert", "-q", "a.raw", "out.raw")
        with open(home + "/a.raw", "rb") as one, open(home + "/out.raw", "rb") as other:
            assert one.read() == other.read()
        image(home, "convert", "-q", "b.raw", "out.raw")  # replaces
        assert "same file" in image(home, "convert", "a.raw", "a.raw", status=125)
        assert "not a regular file" in image(home, "convert", "a.raw", "/dev/null", status=125)
        assert "No such file" in image(home, "convert", "none", "x", status=125)
        assert "No such file" in image(home, "convert", "a.raw", "no/x", status=125)
        assert "only json" in image(home, "ls", "--format", "yaml", status=125)
        assert "list, pull, rm, prune, convert" in image(home, "push", status=125)
        assert "missing command" in image(home, status=125)
        for verb in ("ls", "pull", "rm", "prune", "convert"):
            assert "Usage:" in image(home, verb, "--help")
        assert "PODMAN_MACHINE_VMNET_RELEASES" in image(home, "--help")
    return 0


if __name__ == "__main__":
    sys.exit(main())
