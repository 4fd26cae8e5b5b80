#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""test_machine.py fast|stock

The whole road with nothing made up: our program, real QEMU, a Debian guest, a real podman client
over the connections that we registered. One machine and two boots for all of it; each step is one
test, and after a failed step those that need it are not tried.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

sys.dont_write_bytecode = True
import harness  # noqa: E402
from harness import BUSYBOX, CLIENT, Failed, check  # noqa: E402

FLAVOUR = sys.argv[1] if len(sys.argv) > 1 else "fast"
IMAGE = harness.image(FLAVOUR)
NAME = "vmtest"


# --- the steps, in order ------------------------------------------------------------------------

BLANKS = "/host folder/it's \"ü\""
LONG = "/very-long-test-mount-dir-path-more-than-thirty-six-bytes/" + "/".join(["x" * 200] * 3)
PLAYBOOK = """- hosts: localhost
  tasks:
    - ansible.builtin.copy: {dest: ~/foobar.txt, content: here}
"""


def volumes(world):
    """Those of init; none given are podman's defaults."""
    if FLAVOUR != "fast":
        return []
    return [f"{world.shared}:{BLANKS}", f"{world.read_only}:/does/not/exist:ro",
            f"{world.plain}:{LONG}", f"{world.plain}:/tmp/below", world.plain,
            "$HOME/.config/containers:/etc/containers"]


def certificate(world, name):
    """A CA certificate that this host trusts from now on; the only one."""
    path = os.path.join(world.anchors, "ca.crt")
    world.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
              f"/CN={name}", "-keyout", "/dev/null", "-out", path)
    with open(path, encoding="utf-8") as file:
        return file.read()


def lay_out(world):
    """What the machine shares, and the certificates that this host trusts."""
    world.share()
    world.config = os.path.join(world.home, ".config/containers")
    world.anchors = os.path.join(world.top, "anchors")
    os.mkdir(world.anchors)
    world.env["PODMAN_MACHINE_VMNET_ANCHORS"] = world.anchors


def init(world):
    """init"""
    lay_out(world)
    more = [word for volume in volumes(world) for word in ("--volume", volume)]
    if FLAVOUR == "fast":  # the stock one would look for ansible-core on the net
        path = os.path.join(world.top, "play.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PLAYBOOK)
        more += ["--playbook", path, "--import-native-ca"]
        world.certificate = certificate(world, "one")
    done = world.program("init", "--provider", "qemu", "--image", IMAGE, "--disk-size", "6",
                         "--cpus", "2", "--memory", "2048", *more, NAME)
    check("Machine init complete\n" in done.stdout, done.stdout)
    check(world.state() == "stopped", "not stopped")


def start(world):
    """start"""
    done = world.started = world.program("start", "--timeout", "1500", NAME, timeout=1600)
    check(f'Machine "{NAME}" started successfully\n' in done.stdout, done.stdout)
    check(world.state() == "running", "not running")


def ssh(world):
    """ssh: command, exit status, both users"""
    check(world.program("ssh", NAME, "id -un").stdout == "core\n", "not core")
    world.program("ssh", NAME, "false", code=1)
    check(world.program("ssh", "--username", "root", NAME, "id -u").stdout == "0\n", "not root")
    name = world.program("ssh", NAME, "hostname").stdout.strip()
    check(name.split(".")[0] == NAME, f"the guest calls itself {name}")


def as_root(world, command, **more):
    return world.program("ssh", "--username", "root", NAME, command, **more).stdout


# What ansible-core would bring. The playbook is the user's, in a unit of the user's.
STAND_IN = """#!/bin/sh
grep -q foobar "$1" && [ -z "$2" ] || exit 9
echo "$1 $(id -un) $PWD $XDG_RUNTIME_DIR $LC_ALL" >~/foobar.txt
[ ! -e /run/fail ] || { echo 'fatal: [localhost]: FAILED!'; exit 2; }
"""
AGAIN = ("cd /var/lib/podman-machine-vmnet && rm state && podman-machine-vmnet-provision && "
         "cat state notice 2>/dev/null || true")


def playbook(world):
    """a playbook: told when it cannot be run, run as the user, told when it fails"""
    check("Warning: the playbook was not run: there is no ansible-playbook" in world.started.stderr,
          world.started.stderr)
    check(world.program("ssh", NAME, "cat playbook.yaml").stdout == PLAYBOOK, "another playbook")
    as_root(world, "cat >/usr/local/bin/ansible-playbook && chmod 755 /usr/local/bin/*",
            stdin=STAND_IN)
    out = as_root(world, AGAIN)
    check(out == "done\n", out)
    out = world.program("ssh", NAME, "cat foobar.txt; id -u; stat -c %U foobar.txt playbook.yaml")
    lines = out.stdout.splitlines()
    check(lines[0] == f"/home/core/playbook.yaml core /home/core /run/user/{lines[1]} C.UTF-8" and
          lines[2:] == ["core", "core"], out.stdout)
    out = world.program("ssh", NAME, "systemctl is-active playbook.service", code=None).stdout
    check(out == "inactive\n", out)
    out = as_root(world, "touch /run/fail; " + AGAIN)
    check(out.startswith("done\nthe playbook failed") and "fatal: [localhost]: FAILED!\n" in out,
          out)


def trusted(world, pem):
    line = pem.splitlines()[3]
    for path in ("/usr/local/share/ca-certificates/podman-machine-vmnet-001.crt",
                 "/etc/ssl/certs/ca-certificates.crt"):
        if as_root(world, f"grep -c '^{line}$' {path} || true") != "1\n":
            return False
    return True


def native_ca(world):
    """the host's trusted CA certificates"""
    check("have been imported successfully\n" in world.started.stdout, world.started.stdout)
    check(trusted(world, world.certificate), "the guest does not trust it")


def disk(world):
    """the guest's root file system fills the disk"""
    size = int(world.program("ssh", NAME, "df --output=size -BM / | tail -1").stdout.strip(" M\n"))
    check(size > 5000, f"{size} MB")


def quote(path):
    return "'" + path.replace("'", "'\\''") + "'"


def inside(world, text, user="core", code=0):
    return world.program("ssh", "--username", user, NAME, text, code=code)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def volumes_work(world):
    """volumes: odd paths, both ways, really read-only (rows 8 and 27)"""
    for target in (BLANKS, LONG, "/tmp/below", world.plain, "/does/not/exist"):
        out = inside(world, f"cat {quote(target)}/example").stdout
        check(out == "from the host\n", f"{target}: {out}")
    out = inside(world, f"findmnt -no FSTYPE {quote(world.plain)}").stdout
    check(out == "virtiofs\n", out)
    write(os.path.join(world.shared, "later"), "later\n")
    check(inside(world, f"cat {quote(BLANKS)}/later").stdout == "later\n", "not seen in the guest")
    inside(world, f"echo from the guest >{quote(BLANKS)}/guest")
    check(read(os.path.join(world.shared, "guest")) == "from the guest\n", "not seen on the host")
    for command in ("touch /does/not/exist/x", "rm /does/not/exist/example",
                    "mount -o remount,rw /does/not/exist; touch /does/not/exist/x"):
        done = inside(world, command, user="root", code=None)
        check(done.returncode != 0 and "Read-only file system" in done.stderr, str(done))
    check(os.listdir(world.read_only) == ["example"], "the read-only folder was changed")


def configuration(world):
    """the host's configuration at /etc/containers, over what the guest has there (row 4)"""
    write(os.path.join(world.config, "podman-machine-tmpfile"), "content\n")
    check(inside(world, "cat /etc/containers/podman-machine-tmpfile").stdout == "content\n", "")
    inside(world, "test -s /etc/containers/policy.json")
    # What was looked for in vain is there for the next podman.
    inside(world, "cat /etc/containers/new.conf", code=1)
    write(os.path.join(world.config, "new.conf"), "new\n")
    inside(world, "systemctl stop podman.service", user="root")
    world.podman(NAME + "-root", "version")
    check(inside(world, "cat /etc/containers/new.conf").stdout == "new\n", "")
    inside(world, "echo guest >/etc/containers/guest.conf", user="root")
    check(not os.path.exists(os.path.join(world.config, "guest.conf")), "the guest wrote here")


def default_volumes(world):
    """podman's default volumes"""
    out = inside(world, f"findmnt -no FSTYPE {quote(world.home)}", user="root").stdout
    check(out == "virtiofs\n", out)
    inside(world, "grep -q Connections /etc/containers/podman-connections.json", user="root")


def container_volumes(world):
    """podman -v of a volume's folder and file, build -v, a short name (row 5)"""
    path = os.path.join(world.plain, "attr-test-file")
    write(path, "one file\n")
    os.chmod(path, 0o444)
    for relabel in ("", ":Z", ":O"):
        out = world.podman(NAME, "run", "--rm", "-v", f"{world.plain}:/test{relabel}",
                           "localhost/busybox", "ls", "/test").stdout
        check("attr-test-file" in out, out)
    out = world.podman(NAME + "-root", "run", "--rm", "-v", f"{path}:/file:ro",
                       "localhost/busybox", "cat", "/file").stdout
    check(out == "one file\n", out)
    world.podman(NAME + "-root", "run", "--rm", "-v", f"{world.shared}:/test",
                 "localhost/busybox", "true", code=125)  # no such path in the guest
    write(os.path.join(world.plain, "Containerfile"),
          "FROM localhost/busybox\nRUN ls /test/attr-test-file\n")
    world.podman(NAME + "-root", "build", "-t", "built", "-v", f"{world.plain}:/test", world.plain)
    world.podman(NAME, "volume", "create", "a")
    world.podman(NAME, "run", "--rm", "-v", "a:/test:Z", "localhost/busybox", "true")


def version(world):
    """podman version, both connections and the default one"""
    for connection in (NAME, NAME + "-root"):
        text = world.podman(connection, "version").stdout
        check("Server:" in text, text)
    check("Server:" in world.run(CLIENT, "--remote", "version").stdout, "the default connection")


def import_image(world):
    """podman import, rootless and rootful"""
    for connection in (NAME, NAME + "-root"):
        world.podman(connection, "import", BUSYBOX, "localhost/busybox")
        check("localhost/busybox" in world.podman(connection, "images").stdout, "no image")


def run_container(world, connection):
    out = world.podman(connection, "run", "--rm", "localhost/busybox", "sh", "-c",
                       "echo uid $(id -u)").stdout
    check(out == "uid 0\n", out)
    world.podman(connection, "run", "--rm", "localhost/busybox", "false", code=1)


def run_rootless(world):
    """podman run, rootless"""
    run_container(world, NAME)


def run_rootful(world):
    """podman run, rootful"""
    run_container(world, NAME + "-root")


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def fetch(port):
    """The page of the container's server; None: nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
            return answer.read()
    except OSError:
        return None


def wait_for(what, condition, seconds=90):
    until = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < until, f"not within {seconds} s: {what}")
        time.sleep(1)


def localhost_ports(world):
    """Of tcp, by number."""
    found = json.loads(world.program("inspect", NAME).stdout)[0]["Vmnet"]["Ports"]
    return {port["Port"]: port for port in found if port["Protocol"] == "tcp"}


def published_port(world):
    """published ports at localhost: root's and the user's, also the guest's loopback's; exec; rm"""
    for connection, address in ((NAME, ""), (NAME + "-root", ""), (NAME + "-root", "127.0.0.1:")):
        port = free_port()
        world.podman(connection, "run", "-d", "--name", "web", "-p", f"{address}{port}:80",
                     "localhost/busybox", "httpd", "-f", "-p", "80", "-h", "/www")
        wait_for("the published port", lambda: b"hello" in (fetch(port) or b""))
        out = world.podman(connection, "exec", "web", "cat", "/www/index.html").stdout
        check("hello" in out, out)
        world.podman(connection, "rm", "-f", "-t", "0", "web")
        check("web" not in world.podman(connection, "ps", "-a", "--format", "{{.Names}}").stdout,
              "still there")
        wait_for("the end of the port", lambda: port not in localhost_ports(world))
        check(fetch(port) is None, "it still answers")


KUBE = """
apiVersion: v1
kind: Pod
metadata: {name: pod}
spec:
  containers:
  - name: web
    image: localhost/busybox
    command: [httpd, -f, -p, "80", -h, /www]
    ports: [{containerPort: 80, hostPort: PORT}]
"""


def pod_port(world):
    """the port of a pod, of podman kube play"""
    port = free_port()
    path = os.path.join(world.top, "kube.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(KUBE.replace("PORT", str(port)))
    world.podman(NAME, "kube", "play", path)
    wait_for("the published port", lambda: b"hello" in (fetch(port) or b""))
    world.podman(NAME, "kube", "down", path)
    wait_for("the end of the port", lambda: port not in localhost_ports(world))


def taken_port(world):
    """a port that is taken on this host is left alone, with a word"""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        world.podman(NAME, "run", "-d", "--name", "web", "-p", f"{port}:80", "-p", f"{port}:80/udp",
                     "localhost/busybox", "httpd", "-f", "-p", "80", "-h", "/www")
        wait_for("the word", lambda: port in localhost_ports(world))
        found = localhost_ports(world)[port]
        check(not found["Forwarded"] and found["Reason"], found)
        log = open(world.machine("monitor.log"), encoding="utf-8").read()
        check(f"port {port}/tcp of the guest is not forwarded" in log, log)
    wait_for("the port, once it is free", lambda: b"hello" in (fetch(port) or b""))
    world.podman(NAME, "rm", "-f", "-t", "0", "web")


def api_socket(world):
    """podman's API at the socket on the host"""
    out = world.run("curl", "-sS", "-m", "60", "--retry", "5", "--retry-connrefused",
                    "--unix-socket", world.api_socket(), "http://d/_ping").stdout
    check(out == "OK", out)


def stop(world):
    """stop"""
    done = world.program("stop", NAME)
    check(done.stdout == f'Machine "{NAME}" stopped successfully\n', done.stdout)
    check(world.state() == "stopped", "not stopped")
    check(not world.processes(), "processes are left")
    log = open(world.machine("monitor.log"), encoding="utf-8").read()
    check("sending signal" not in log, "the guest had to be forced:\n" + log)


def dns_servers(world):
    return world.program("ssh", NAME, "resolvectl dns").stdout


def set_dns(world):
    """set --dns: the guest asks other servers after the next start"""
    check("192.0.2.53" not in dns_servers(world), "it has the server already")
    stop(world)
    world.program("set", "--dns", "192.0.2.53", "--dns", "192.0.2.54", NAME)


def start_again(world):
    """start again: nothing is set up twice, what was imported is there; the DNS servers are new"""
    new = certificate(world, "two")
    start(world)
    check("Warning: the playbook failed" in world.started.stderr, world.started.stderr)
    check(trusted(world, new) and not trusted(world, world.certificate), "certificates")
    for attempt in range(30):  # networkd gets its lease anew
        servers = dns_servers(world).split()
        if "192.0.2.53" in servers:
            break
        time.sleep(1)
    check("192.0.2.53" in servers, " ".join(servers))
    first = servers.index("192.0.2.53")
    check(servers[first + 1] == "192.0.2.54" and servers[first + 2:] == ["10.0.2.3"],
          "not before DHCP's: " + " ".join(servers))
    check("localhost/busybox" in world.podman(NAME, "images").stdout, "the image is gone")
    run_container(world, NAME)
    check(inside(world, f"cat {quote(BLANKS)}/guest").stdout == "from the guest\n", "no volume")
    inside(world, "cat /etc/containers/new.conf /etc/containers/guest.conf /does/not/exist/example")
    state = world.program("ssh", NAME, "sudo cat /var/lib/podman-machine-vmnet/state").stdout
    check(state.startswith("done"), state)


def remove(world):
    """rm of a running machine needs --force; nothing is left"""
    world.program("rm", NAME, code=125)
    world.program("rm", "--force", NAME)
    check(not os.path.exists(world.machine()), "the folder is left")
    check(not world.processes(), "processes are left")
    check(not world.connections().get("Connections"), str(world.connections()))
    check(os.path.getsize(os.path.join(world.home, ".ssh/known_hosts")) == 0
          if os.path.exists(os.path.join(world.home, ".ssh/known_hosts")) else True, "known_hosts")
    check(os.listdir(os.path.join(world.run_dir, "podman")) == [], "sockets are left")


def remove_stopped(world):
    """stop, rm; nothing is left"""
    stop(world)
    world.program("rm", NAME, stdin="y\n")
    check(not os.path.exists(world.machine()), "the folder is left")
    check(not world.connections().get("Connections"), str(world.connections()))


STEPS = {
    "fast": [init, start, ssh, playbook, native_ca, disk, version, volumes_work, configuration,
             import_image, run_rootless, run_rootful, container_volumes, published_port, pod_port,
             taken_port, api_socket, set_dns, start_again, remove],
    "stock": [init, start, ssh, version, default_volumes, import_image, run_rootless, run_rootful,
              remove_stopped],
}[FLAVOUR]
# Without these there is nothing to test further.
VITAL = (init, start, import_image, set_dns, start_again)


if __name__ == "__main__":
    sys.exit(harness.main(NAME, STEPS, VITAL, (IMAGE, CLIENT, BUSYBOX)))
