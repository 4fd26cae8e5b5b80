#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""What shells are given: completion, `shellenv`, `env`; and the manual page."""

import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import podman_test as harness  # noqa: E402

TOP = os.path.abspath(os.path.join(harness.HERE, "../.."))
BINARY = harness.lifecycle.BINARY
FILES = os.path.join(TOP, "contrib/completions")

BASH = """
source {files}/podman-machine-vmnet.bash
compopt() {{ :; }}
COMP_LINE=$1 COMP_POINT=${{#1}}
read -ra COMP_WORDS <<<"$1"; [[ $1 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_podman_machine_vmnet
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
_describe() {{ local name=$argv[-1]; [[ $name == '' ]] && name=$argv[-3]
  print -rl -- ${{(P)name}} | sed 's/\\\\:/\\x01/g; s/:.*//; s/\\x01/:/g'; }}
_files() {{ print FILES }}
words=(${{(z)1}}); [[ $1 == *' ' ]] && words+=('')
CURRENT=$#words
source {files}/_podman-machine-vmnet
"""
FISH = """
source {files}/podman-machine-vmnet.fish
complete -C "$argv[1]" | string replace -r '\\t.*' ''
"""


class Shells(harness.PodmanTest):
    def setUp(self):
        super().setUp()
        os.symlink(BINARY, f"{self.bin}/podman-machine-vmnet")
        self.env["PATH"] = f"{self.bin}:/usr/local/bin:/usr/bin:/bin"

    def shell(self, name, script, *words):
        if not shutil.which(name):
            self.skipTest(f"{name} is not installed")
        quiet = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[name]
        argv = [name, *quiet, "-c", script, *([] if name == "fish" else [name]), *words]
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=60,
                              check=False, cwd=self.top)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def complete(self, script, shell):
        self.ok("init", "--disk-size", "1", *harness.NO_IMAGE, "--provider", "qemu", "my-box")

        def words(line):
            out = self.shell(shell, script.format(files=FILES), "podman-machine-vmnet " + line)
            return sorted(out.split())
        self.assertEqual(words("sta"), ["start"])
        self.assertEqual(words("machine st"), ["start", "stop"])
        self.assertEqual(words("start "), ["my-box"])
        self.assertEqual(words("rm --force my"), ["my-box"])
        self.assertEqual(words("init --provider "), ["qemu"])
        self.assertEqual(words("init --disk"), ["--disk-size"])
        self.assertEqual(words("cp my"), ["my-box:"])
        self.assertEqual(words("wait --for r"), ["ready"])

    def test_completion_in_bash(self):
        self.complete(BASH, "bash")

    def test_completion_in_zsh(self):
        self.complete(ZSH, "zsh")

    def test_completion_in_fish(self):
        self.complete(FISH, "fish")

    def test_all_options_are_offered(self):
        out = self.ok("__complete", "init", "--").out
        for option in ("--cpus", "--memory", "--volume", "--now"):
            self.assertIn(f"\n{option}\t", "\n" + out)
        self.assertNotIn("--reexec", out)
        self.assertTrue(out.endswith("\n:4\n"), out)
        self.assertNotIn("\t", self.ok("__completeNoDesc", "init", "--").out)

    def test_shellenv(self):
        front = os.path.dirname(os.path.realpath(harness.FRONT))
        for shell in ("bash", "zsh"):
            out = self.shell(shell, f'eval "$({BINARY} shellenv {shell})"; '
                             f'eval "$({BINARY} shellenv {shell})"; command -v podman; echo $PATH')
            path, search = out.split("\n")[:2]
            self.assertEqual(path, f"{front}/podman")
            self.assertEqual(search.split(":").count(front), 1)
        out = self.shell("fish", f"{BINARY} shellenv fish | source; command -s podman")
        self.assertEqual(out.strip(), f"{front}/podman")
        self.refused("shellenv", "csh", words='unknown shell "csh": bash, zsh or fish')

    def test_env(self):
        self.ok("init", "--disk-size", "1", *harness.NO_IMAGE, "--provider", "qemu", "my-box")
        socket = f"unix://{self.run_dir}/podman/my-box-api.sock"
        for shell in ("bash", "zsh", "fish"):
            script = f"{BINARY} env --shell {shell} my-box | source" if shell == "fish" else \
                f'eval "$({BINARY} env --shell {shell} my-box)"'
            out = self.shell(shell, script + "; echo $DOCKER_HOST $CONTAINER_HOST "
                             "$TESTCONTAINERS_DOCKER_SOCKET_OVERRIDE")
            self.assertEqual(out, f"{socket} {socket} /var/run/docker.sock\n")

    def test_the_manual_page_is_what_the_program_says(self):
        made = subprocess.run([os.path.join(TOP, "contrib/man/make-man.py"), BINARY],
                              capture_output=True, text=True, check=True).stdout
        with open(os.path.join(TOP, "contrib/man/podman-machine-vmnet.1"),
                  encoding="utf-8") as file:
            self.assertEqual(file.read(), made, "make it again: contrib/man/make-man.py")

    def test_the_manual_page_is_well_formed(self):
        if not shutil.which("mandoc"):
            self.skipTest("mandoc is not installed")
        page = os.path.join(TOP, "contrib/man/podman-machine-vmnet.1")
        out = subprocess.run(["mandoc", "-Tlint", page], capture_output=True, text=True,
                             check=False).stdout
        self.assertEqual([line for line in out.splitlines()
                          if "referenced manual not found" not in line], [])


if __name__ == "__main__":
    sys.exit(harness.main())
