# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""A home of its own, our front-end first on PATH under the name of podman, and a podman behind it:
a stand-in whose machines are a file, or a real client."""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lifecycle"))
import harness as lifecycle  # noqa: E402

FRONT = os.path.abspath(os.environ.get("PMV_FRONT") or
                        os.path.join(HERE, "../../build/cmd/front/podman"))
CI, Tap = lifecycle.CI, lifecycle.Tap

# Machine records that podman's e2e suite would make, without a VM.
NO_IMAGE = ("--image", "/dev/null")

PODMAN = """#!/usr/bin/env python3
import json, os, sys
here = os.path.dirname(os.path.realpath(__file__))
def load(name, default):
    try:
        with open(os.path.join(here, name)) as file:
            return json.load(file)
    except FileNotFoundError:
        return default
how = load("how.json", {})
argv = sys.argv[1:]
with open(os.path.join(here, "calls"), "a") as file:
    file.write(json.dumps({"argv": argv, "name": sys.argv[0],
                           "env": {k: os.environ.get(k) for k in
                                   ("CONTAINERS_MACHINE_PROVIDER", "DOCKER_HOST")}}) + "\\n")
sys.stderr.write(how.get("stderr", ""))
if how.get("hang"):
    import time
    time.sleep(60)
if how.get("broken"):
    sys.exit(how["broken"])
machines = load("machines.json", [])
if argv[:2] == ["machine", "list"]:
    if "--all-providers" in argv and how.get("version", 6) >= 6:
        sys.exit("Error: unknown flag: --all-providers")
    print(json.dumps(machines, indent=4), end="")
elif argv[:2] == ["machine", "info"]:
    print(json.dumps(load("info.json", {}), indent=2))
elif argv[:2] == ["machine", "inspect"]:
    names = [word for word in argv[2:] if not word.startswith("-")]
    print(json.dumps([{"Name": m["Name"], "State": "stopped"} for m in machines
                      if m["Name"] in names]))
elif argv[-2:] == ["compose", "env"]:
    print(os.environ.get("DOCKER_HOST", ""))
    print("0")
else:
    print("real " + " ".join(argv))
    sys.exit(how.get("status", 0))
"""


def missing():
    return None if os.path.exists(FRONT) else f"{FRONT} is not built"


class PodmanTest(lifecycle.MachineTest):
    """self.podman(...) is what a person types; `real` is what stands behind it."""

    def setUp(self):
        super().setUp()
        self.env["PATH"] = f"{self.top}/front:{self.top}/real:{self.env['PATH']}"
        self.env["CONTAINERS_MACHINE_PROVIDER"] = "qemu"
        os.mkdir(f"{self.top}/front")
        os.mkdir(f"{self.top}/real")
        os.symlink(FRONT, f"{self.top}/front/podman")
        with open(f"{self.top}/real/podman", "w", encoding="utf-8") as file:
            file.write(PODMAN)
        os.chmod(f"{self.top}/real/podman", 0o755)

    # --- running it ------------------------------------------------------------------------

    def podman(self, *argv, **more):
        return self.run_program(*argv, program=f"{self.top}/front/podman", **more)

    def good(self, *argv, **more):
        done = self.podman(*argv, **more)
        self.assertEqual(done.code, 0, str(done))
        return done

    def bad(self, *argv, words=None, code=125, **more):
        done = self.podman(*argv, **more)
        self.assertEqual(done.code, code, str(done))
        if words is not None:
            self.assertIn(words, done.err, str(done))
        return done

    def make(self, name, *more):
        return self.good("machine", "init", "--disk-size", "11", *NO_IMAGE, *more, name)

    def listed(self, **more):
        return json.loads(self.good("machine", "list", "--format", "json", **more).out)

    # --- what stands behind ----------------------------------------------------------------

    def calls(self):
        try:
            with open(f"{self.top}/real/calls", encoding="utf-8") as file:
                found = [json.loads(line) for line in file]
        except FileNotFoundError:
            return []
        # init and start ask which podman it is.
        return [call for call in found if call["argv"] != ["--version"]]

    def real_how(self, **how):
        self.put_json("real/how.json", how)

    def put_json(self, name, value):
        with open(os.path.join(self.top, name), "w", encoding="utf-8") as file:
            json.dump(value, file)

    def real_machine(self, name, **more):
        """A machine that podman itself has: its record, and what it lists."""
        folder = os.path.join(self.home, ".config/containers/podman/machine/libkrun")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            json.dump({"Name": name, "Version": 1}, file)
        path = os.path.join(self.top, "real/machines.json")
        known = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                known = json.load(file)
        known.append({"Name": name, "Default": False, "Created": "2026-01-02T03:04:05Z",
                      "Running": False, "Starting": False, "LastUp": "0001-01-01T00:00:00Z",
                      "Stream": "default", "VMType": "libkrun", "CPUs": 2,
                      "Memory": "2147483648", "Swap": "0", "DiskSize": "107374182400",
                      "Port": 40000, "RemoteUsername": "core", "IdentityPath": "/k",
                      "UserModeNetworking": True, **more})
        self.put_json("real/machines.json", known)


def main():
    reason = missing()
    return lifecycle.main(reason, needs_guest=False)
