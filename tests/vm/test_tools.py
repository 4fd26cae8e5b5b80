#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""What tools do with podman and its machines, in their order and with their environment, through
our front-end with a real podman client behind it: Podman Desktop, ramalama, testcontainers, the
docker CLI, podman clients old and new, compose. One rootful machine, one boot, whose name and
options are those that Podman Desktop gives. Numbers in brackets are rows of podman's own suite
(tests/conformance/README.md)."""

import base64
import json
import os
import re
import socket
import stat
import sys
import threading
import time
import urllib.request

sys.dont_write_bytecode = True
import harness  # noqa: E402
from docker_api import Docker, image_archive  # noqa: E402
from harness import BUSYBOX, CLIENT, CLIENT_5, DOCKER, Failed, check  # noqa: E402

IMAGE = harness.image("fast")
NAME = "podman-machine-default"

# What Podman Desktop takes from a machine in the list, and as what.
LISTED = {"Name": str, "CPUs": int, "Memory": str, "DiskSize": str, "Running": bool,
          "Starting": bool, "Default": bool, "VMType": str, "Port": int, "RemoteUsername": str,
          "IdentityPath": str, "UserModeNetworking": bool}
# What it looks for in what a failing `init` says.
COMPLAINTS = re.compile("VM already exists|VM already running or starting|"
                        "only one VM can be active at a time|incompatible machine config|"
                        "cannot unmarshal string")


# --- Podman Desktop -----------------------------------------------------------------------------

def desktop(world, *argv, provider="qemu", **more):
    return world.front(*argv, env={"CONTAINERS_MACHINE_PROVIDER": provider}, **more)


def desktop_list(world, provider):
    return json.loads(desktop(world, "machine", "list", "--format", "json",
                              provider=provider).stdout)


def desktop_connections(world):
    found = json.loads(desktop(world, "system", "connection", "list", "--format", "json").stdout)
    for entry in found:
        check(isinstance(entry["Default"], bool), str(entry))
        check(re.match(r"ssh://[^@]+@127\.0\.0\.1:\d+/", entry["URI"]), str(entry))
        check(os.path.isfile(entry["Identity"]), str(entry))
        check(entry.get("IsMachine") is not True, str(entry))
    return {entry["Name"]: entry for entry in found}


def desktop_before(world):
    """Podman Desktop: before there is a machine"""
    words = desktop(world, "--version").stdout.split()
    check(re.fullmatch(r"\d+\.\d+\.\d+.*", words[-1]), str(words))
    for provider in ("applehv", "libkrun", "qemu"):
        check(desktop_list(world, provider) == [], provider)
    check(desktop_connections(world) == {}, "connections")
    info = json.loads(desktop(world, "machine", "info", "--format", "json").stdout)
    check(info["Host"]["NumberOfMachines"] == 0, str(info))


def desktop_create(world):
    """Podman Desktop: machine init ... NAME --now"""
    playbook = world.write("playbook.yaml", "- hosts: localhost\n  tasks: []\n")
    done = desktop(world, "machine", "init", "--cpus", "2", "--memory", "2048", "--disk-size", "6",
                   "--image", IMAGE, "--playbook", playbook, "--rootful", NAME, "--now",
                   timeout=1600)
    check(not COMPLAINTS.search(done.stderr), done.stderr)
    check(done.stdout.endswith(f'Machine "{NAME}" started successfully\n'), done.stdout)
    done = desktop(world, "machine", "start", NAME, code=125)
    check("already running" in done.stderr, done.stderr)


def desktop_listed(world):
    """Podman Desktop: the list, once for each provider"""
    answers = {provider: desktop_list(world, provider)
               for provider in ("applehv", "libkrun", "qemu")}
    found = [machine for answer in answers.values() for machine in answer]
    check(len(found) == 1, str(answers))
    machine = found[0]
    for field, kind in LISTED.items():
        check(type(machine[field]) is kind, f"{field}: {machine.get(field)!r}")
    check((machine["Name"], machine["Running"], machine["Starting"], machine["Default"]) ==
          (NAME, True, False, True), str(machine))
    check((machine["CPUs"], machine["Memory"], machine["DiskSize"]) ==
          (2, str(2 << 30), str(6 << 30)), str(machine))
    check(os.path.isfile(machine["IdentityPath"]), str(machine))


def desktop_inspect(world):
    """Podman Desktop: inspect, and which connection is the default"""
    found = json.loads(desktop(world, "machine", "inspect", NAME).stdout)
    check([(m["Name"], m["Rootful"]) for m in found] == [(NAME, True)], str(found))
    check(sorted(desktop_connections(world)) == [NAME, NAME + "-root"], "other names")
    for name in (NAME, NAME + "-root"):
        desktop(world, "system", "connection", "default", name)
        chosen = [n for n, entry in desktop_connections(world).items() if entry["Default"]]
        check(chosen == [name], str(chosen))
        check(desktop_list(world, "qemu")[0]["Default"], "the machine is not the default")


def desktop_socket(world):
    """Podman Desktop: the API socket that inspect names, events as they happen"""
    out = desktop(world, "machine", "inspect", "--format",
                  "{{.ConnectionInfo.PodmanSocket.Path}}", NAME).stdout
    path = out.rstrip("\n")
    check(out == path + "\n" and len(path) < 104, repr(out))
    check(stat.S_ISSOCK(os.stat(path).st_mode), path)
    docker = Docker(path)
    check(docker.get("/_ping") == "OK", "_ping")
    version = docker.get("/version")
    check(version["Components"][0]["Name"] == "Podman Engine", str(version))
    check(docker.get("/info")["OSType"] == "linux", "info")
    check(docker.get("/libpod/_ping") == "OK", "libpod/_ping")
    check(docker.get("/v4.0.0/libpod/info")["host"]["security"]["rootless"] is False, "rootless")
    check(docker.get("/containers/json?all=true") == [], "containers")

    check(first_event(docker, "/events")["Type"] == "volume", "another event")


def first_event(docker, path):
    """While volumes come and go: podman answers a little before it looks for events."""
    over = threading.Event()

    def make_some():
        while not over.wait(1):
            docker.ask("POST", "/volumes/create", {"Name": "seen"}, 201)
            docker.ask("DELETE", "/volumes/seen", code=204)
    maker = threading.Thread(target=make_some)
    maker.start()
    try:
        with docker.open("GET", path) as events:
            return json.loads(events.readline())
    finally:
        over.set()
        maker.join()


def desktop_ssh(world):
    """Podman Desktop: certificates by machine ssh, with pipes in one word; the terminal"""
    folder, text = "/etc/pki/ca-trust/source/anchors", "-----BEGIN CERTIFICATE-----\n"
    packed = base64.b64encode(text.encode()).decode()
    for command in (f"sudo mkdir -p {folder}",
                    f"echo {packed} | base64 -d | sudo tee {folder}/desktop.crt > /dev/null",
                    "sudo systemctl restart podman.socket podman.service"):
        desktop(world, "machine", "ssh", NAME, command)
    done = desktop(world, "machine", "ssh", NAME, f"ls -1 {folder}; cat {folder}/desktop.crt")
    check(done.stdout == "desktop.crt\n" + text, done.stdout)
    check(Docker(world.api_socket()).get("/_ping") == "OK", "the API is gone")
    machine = desktop_list(world, "qemu")[0]
    done = world.run("ssh", "-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR",
                     "-o", "UserKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes",
                     "-o", "BatchMode=yes", "-i", machine["IdentityPath"], "-tt",
                     "-p", str(machine["Port"]), f"{machine['RemoteUsername']}@localhost", "tty")
    check(done.stdout.startswith("/dev/pts/"), done.stdout)


def desktop_end(world):
    """Podman Desktop: machine stop, set NAME --..., rm -f"""
    desktop(world, "machine", "stop", NAME)
    desktop(world, "machine", "set", NAME, "--cpus", "1", "--memory", "1536", "--disk-size", "7",
            "--rootful=false")
    machine = desktop_list(world, "qemu")[0]
    check((machine["CPUs"], machine["Memory"], machine["DiskSize"], machine["Running"]) ==
          (1, str(1536 << 20), str(7 << 30), False), str(machine))
    check(desktop_connections(world)[NAME]["Default"], "the default did not follow")
    desktop(world, "machine", "rm", "-f", NAME)
    check(desktop_list(world, "qemu") == [] and desktop_connections(world) == {}, "left over")
    check(not world.processes(), "processes are left")


# --- ramalama -----------------------------------------------------------------------------------

def ramalama(world):
    """ramalama: machine list --format json --all-providers"""
    done = world.front("machine", "list", "--format", "json", "--all-providers")
    found = [(m["Name"], m["VMType"], m["Running"]) for m in json.loads(done.stdout)]
    check(found == [(NAME, "qemu", True)], str(found))


# --- testcontainers -----------------------------------------------------------------------------

def tool_env(world):
    """What a shell has after `eval "$(podman-machine-vmnet env)"`."""
    script = f'eval "$({harness.BINARY} env --shell bash {NAME})" && env -0'
    out = world.run("bash", "-c", script).stdout
    now = dict(line.split("=", 1) for line in out.split("\0") if line)
    return {name: value for name, value in now.items() if name not in world.env}


def testcontainers(world):
    env = tool_env(world)
    check(env["DOCKER_HOST"].startswith("unix:///"), str(env))
    return Docker(env["DOCKER_HOST"][len("unix://"):]), env


def testcontainers_start(world):
    """testcontainers: _ping, info, the image"""
    docker, env = testcontainers(world)
    check(env["CONTAINER_HOST"] == env["DOCKER_HOST"], str(env))
    check(docker.get("/_ping") == "OK", "_ping")
    info = docker.get("/info")
    for field in ("ServerVersion", "OperatingSystem", "MemTotal", "NCPU", "Name"):
        check(info[field], f"no {field}")
    docker.get("/images/busybox:latest/json", code=404)
    docker.ask("POST", "/images/load", image_archive())
    found = docker.get("/images/busybox:latest/json")
    check(found["RepoTags"][0].endswith("/busybox:latest"), str(found["RepoTags"]))
    check(docker.get("/images/json")[0]["Id"] == found["Id"], "images")


# The part of testcontainers' reaper that needs the machine: it talks to the engine from within
# a container, over the socket that the variable names, and waits at a published port.
REAPER = """
import json, socket
def ask(path):
    engine = socket.socket(socket.AF_UNIX)
    engine.connect("/var/run/docker.sock")
    engine.sendall(f"GET {path} HTTP/1.0\\r\\nHost: d\\r\\n\\r\\n".encode())
    return engine.makefile(newline="").read().split("\\r\\n\\r\\n", 1)[1]
server = socket.create_server(("", 8080))
names = [name for one in json.loads(ask("/containers/json")) for name in one["Names"]]
print("Started!", ask("/_ping"), *names, flush=True)
while True:
    peer, _ = server.accept()
    peer.recv(1000)
    peer.sendall(b"ACK\\n")
    peer.close()
"""


def testcontainers_reaper(world):
    """testcontainers: the reaper: docker.sock in a container, its port from here"""
    docker, env = testcontainers(world)
    where = env["TESTCONTAINERS_DOCKER_SOCKET_OVERRIDE"]
    container = docker.create(
        "testcontainers-ryuk-1", Image="busybox:latest", Cmd=["/usr/bin/python3", "-c", REAPER],
        ExposedPorts={"8080/tcp": {}}, Labels={"org.testcontainers": "true"},
        HostConfig={"AutoRemove": True, "PublishAllPorts": True,
                    "Binds": [f"{where}:/var/run/docker.sock", "/usr:/usr:ro"]})
    docker.start(container)
    with docker.open("GET", f"/containers/{container}/logs?follow=true&stdout=true&stderr=true") as logs:
        logs.read(8)
        line = logs.readline().decode()
    check(line == "Started! OK /testcontainers-ryuk-1\n", line)
    # unix:// means localhost to it, if nothing overrides that.
    host = env.get("TESTCONTAINERS_HOST_OVERRIDE", "localhost")
    port = docker.published(container, 8080)
    until = time.monotonic() + 30
    while True:
        try:
            with socket.create_connection((host, port), timeout=10) as peer:
                peer.sendall(b"label=org.testcontainers=true\n")
                check(peer.makefile().readline() == "ACK\n", "no ACK")
            break
        except OSError as error:
            if time.monotonic() > until:
                raise Failed(f"{host}:{port} does not answer: {error}")
            time.sleep(0.5)
    docker.ask("DELETE", f"/containers/{container}?force=true&v=true", code=204)
    docker.get(f"/containers/{container}/json", code=404)


def testcontainers_container(world):
    """testcontainers: create, start, logs as they come, wait, remove"""
    docker, _ = testcontainers(world)
    container = docker.create("tc", Image="busybox:latest", Env=["WHO=me"], Tty=False,
                              Cmd=["sh", "-c", "echo out $WHO; sleep 2; echo err >&2; exit 3"])
    docker.start(container)
    begun = time.monotonic()
    with docker.open("GET", f"/containers/{container}/logs?follow=true&stdout=true") as answer:
        answer.read(8)
        check(answer.readline() == b"out me\n", "the first line")
        first = time.monotonic() - begun
        check(answer.read() == b"" and time.monotonic() - begun - first > 0.3, "not as they come")
    check(docker.logs(container) == ("out me\n", "err\n"), "logs")
    check(docker.ask("POST", f"/containers/{container}/wait")["StatusCode"] == 3, "wait")
    check(docker.get(f"/containers/{container}/json")["State"]["ExitCode"] == 3, "inspect")
    docker.ask("DELETE", f"/containers/{container}?force=true&v=true", code=204)
    docker.get(f"/containers/{container}/json", code=404)


# --- docker CLI ---------------------------------------------------------------------------------

CONTEXT = {"Dockerfile": "FROM busybox\nCOPY . /\nRUN cat /said >/copied\nCMD cat /copied\n",
           "said": "from the context\n"}


def context(world, files, name="context"):
    for path, text in files.items():
        world.write(f"{name}/{path}", text)
    return os.path.join(world.top, name)


def docker_cli(world, *argv, host, env=None, **more):
    return world.run(DOCKER, *argv, timeout=300,
                     env={"DOCKER_HOST": host, "DOCKER_BUILDKIT": "0", **(env or {})}, **more)


def docker_socket(world):
    """[1] docker CLI on the API socket: version, run, ps, build with a context"""
    host = tool_env(world)["DOCKER_HOST"]
    check("Podman Engine" in docker_cli(world, "version", host=host).stdout, "another server")
    out = docker_cli(world, "run", "--rm", "busybox", "echo", "hello", host=host).stdout
    check(out == "hello\n", out)
    done = docker_cli(world, "run", "--rm", "-i", "busybox", "sh", "-c", "cat; exit 7", host=host,
                      stdin="there and back\n", code=7)
    check(done.stdout == "there and back\n", done.stdout)
    docker_cli(world, "build", "-t", "built", context(world, CONTEXT), host=host)
    out = docker_cli(world, "run", "--rm", "built", host=host).stdout
    check(out == CONTEXT["said"], out)
    check(docker_cli(world, "ps", "-aq", host=host).stdout == "", "containers are left")


def with_ssh(world):
    """OpenSSH takes a person's home from the user database. This one's is the test's, and the key
    is what a person would name in ~/.ssh/config."""
    identity = world.record()["ssh"]["identity"]
    world.write("ssh-bin/ssh", f"""#!/bin/sh
exec /usr/bin/ssh -F none -i '{identity}' -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes \\
  -o UserKnownHostsFile='{world.home}/.ssh/known_hosts' "$@"
""", 0o755)
    return {"PATH": f"{world.top}/ssh-bin:{world.env['PATH']}"}


def docker_ssh(world):
    """docker CLI over ssh://, as root and as the user: version, run, ps, build with a context"""
    ssh, env = world.record()["ssh"], with_ssh(world)
    for user, rootless in (("root", False), (ssh["user"], True)):
        host = f"ssh://{user}@127.0.0.1:{ssh['port']}"
        check("Podman Engine" in docker_cli(world, "version", host=host, env=env).stdout, user)
        out = docker_cli(world, "info", "--format", "{{.SecurityOptions}}", host=host, env=env)
        check(("rootless" in out.stdout) == rootless, out.stdout)
        docker_cli(world, "ps", "-a", host=host, env=env)
    host = f"ssh://root@127.0.0.1:{ssh['port']}"
    out = docker_cli(world, "run", "--rm", "busybox", "echo", "hello", host=host, env=env).stdout
    check(out == "hello\n", out)
    docker_cli(world, "build", "-q", "-t", "over-ssh", context(world, CONTEXT), host=host, env=env)


# --- podman clients -----------------------------------------------------------------------------

COMPOSE = """#!/usr/bin/env python3
import os, subprocess, sys
print(os.environ["DOCKER_HOST"], *sys.argv[1:], flush=True)
sys.exit(subprocess.run([os.environ["DOCKER"], "version", "--format", "{{.Server.Version}}"]).returncode)
"""


def client_works(world, client, major):
    path = world.env["PATH"].replace(os.path.dirname(CLIENT), os.path.dirname(client))

    def podman(*argv, **more):
        return world.front(*argv, env={"PATH": path, **more.pop("env", {})}, **more)
    text = podman("version").stdout
    check("Server:" in text and re.search(rf"Version: +{major}\.", text), text)
    hostname = world.guest("hostname")
    out = podman("run", "--rm", "-v", "/etc/hostname:/name:ro", "busybox", "cat", "/name").stdout
    check(out.strip() == hostname, out)
    # A folder as another context is news to the guest's podman 5.4, an image is not.
    built = context(world, {"Containerfile": "FROM scratch\nCOPY --from=more /bin /bin\n"
                                             "COPY said /\nRUN cat said said >twice\n",
                            "said": "one\n"}, "build")
    podman("build", "-t", "contexts", "--build-context", "more=docker://localhost/busybox", built)
    out = podman("run", "--rm", "contexts", "cat", "/twice").stdout
    check(out == "one\none\n", out)

    podman("create", "--name", "copies", "busybox", "true")
    podman("cp", f"{built}/said", "copies:/tmp/there")
    podman("cp", "copies:/tmp/there", f"{world.top}/back")
    check(world.read("back") == "one\n", "a file")
    podman("cp", built, "copies:/tmp/folder")
    podman("cp", "copies:/tmp/folder", f"{world.top}/from-{major}")
    check(world.read(f"from-{major}/said") == "one\n", "a folder")
    podman("cp", "copies:/nosuch", f"{world.top}/nosuch", code=125)
    podman("rm", "copies")

    compose = {"PODMAN_COMPOSE_PROVIDER": world.write("compose", COMPOSE, 0o755), "DOCKER": DOCKER}
    lines = podman("compose", "up", env=compose).stdout.splitlines()
    check(lines[0] == f"unix://{world.api_socket()} up" and len(lines) == 2, str(lines))
    # Without our front-end it is the connection's address, without a path.
    lines = world.run(client, "compose", "up", env={**with_ssh(world), **compose}
                      ).stdout.splitlines()
    port = world.record()["ssh"]["port"]
    check(lines[0] == f"ssh://root@127.0.0.1:{port} up" and len(lines) == 2, str(lines))


def newest_client(world):
    """[9, 15] the newest podman client: version, run -v, build with contexts, cp, compose"""
    major = world.run(CLIENT, "--version").stdout.split()[-1].split(".")[0]
    check(int(major) >= 5, major)
    client_works(world, CLIENT, major)


def client_5(world):
    """podman 5 as a client: the same"""
    client_works(world, CLIENT_5, "5")


# podman's own connections, and a port that is published: rows of its suite.

def published_port(world):
    """[7] a published port on localhost, gone with its container"""
    world.front("run", "-d", "--name", "web", "-p", "62544:80", "busybox", "httpd", "-f", "-p",
                "80", "-h", "/www")
    until = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen("http://localhost:62544/", timeout=10) as answer:
                check(b"hello" in answer.read(), "another page")
            break
        except OSError as error:
            if time.monotonic() > until:
                raise Failed(f"the published port does not answer: {error}")
            time.sleep(0.5)
    check("hello" in world.front("exec", "web", "cat", "/www/index.html").stdout, "exec")
    world.front("rm", "-af", "-t", "0")
    while time.monotonic() < until + 30:
        try:
            socket.create_connection(("localhost", 62544), timeout=5).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.5)
    raise Failed("the port is still there")


def libpod_socket(world):
    """[3] curl on the machine's socket: libpod's own API"""
    out = world.run("curl", "-sS", "-m", "60", "--unix-socket", world.api_socket(),
                    "http://d/v5.0.0/libpod/info").stdout
    check(json.loads(out)["version"]["APIVersion"], out)


def rootful_link(world):
    """[30] docker.sock in the guest of a machine that was made rootful"""
    out = world.guest("readlink /run/docker.sock /var/run/docker.sock")
    check(out.splitlines() == ["/run/podman/podman.sock"] * 2, out)


STEPS = [desktop_before, desktop_create, desktop_listed, desktop_inspect, desktop_socket,
         desktop_ssh, ramalama, rootful_link, libpod_socket, testcontainers_start,
         testcontainers_reaper, testcontainers_container, docker_socket, docker_ssh, newest_client,
         client_5, published_port, desktop_end]
VITAL = (desktop_create, testcontainers_start)

if __name__ == "__main__":
    sys.exit(harness.main(NAME, STEPS, VITAL,
                          (IMAGE, CLIENT, CLIENT_5, DOCKER, BUSYBOX)))
