#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""front.py [RUNS]

What the front-end adds to every podman command: the same program is run by itself and through the
front-end, in turns, and the least and the middle times are compared. Fails above 2 ms of the
least, which other work on the machine disturbs the least.
"""

import os
import shutil
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FRONT = os.path.abspath(os.environ.get("PMV_FRONT") or
                        os.path.join(HERE, "../../build/cmd/front/podman"))
LIMIT_MS = 2.0


def once(argv, env):
    null = (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)
    begun = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=[null])
    os.waitpid(pid, 0)
    return (time.perf_counter() - begun) * 1000


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with tempfile.TemporaryDirectory() as top:
        real = os.path.join(top, "podman")
        shutil.copy("/bin/true", real)
        env = {"HOME": top, "PATH": f"{os.path.dirname(FRONT)}:{top}:/usr/bin:/bin"}
        machine = os.path.join(top, ".config/containers/podman/machine/libkrun")
        os.makedirs(machine)
        with open(os.path.join(machine, "theirs.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        rows = {"podman ps": ["ps"], "podman compose up": ["compose", "up"],
                "podman machine start theirs": ["machine", "start", "theirs"]}
        worst = 0
        print(f"{'':30}{'alone':>10}{'through us':>12}{'added':>10}   (least ms; middle ms)")
        for name, words in rows.items():
            alone, through = [], []
            for _ in range(runs):
                alone.append(once([real, *words], env))
                through.append(once([FRONT, *words], env))
            added = min(through) - min(alone)
            middle = statistics.median(through) - statistics.median(alone)
            worst = max(worst, added)
            print(f"{name:30}{min(alone):10.2f}{min(through):12.2f}{added:10.2f}   {middle:.2f}")
    return 0 if worst < LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
