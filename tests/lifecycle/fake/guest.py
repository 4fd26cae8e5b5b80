# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""guest.py FACTS

The first process of a guest that is made of this host: it runs as "root" of new user, mount and
process namespaces, lays its own /run, /var/lib and /usr/local/sbin over the host's, and gives
every connection a real sshd. sshd runs in one more user namespace, as a plain user that has both
the names root and core, since an unprivileged sshd can serve its own user only.

Standard input is the power: its end is a cut, a byte the power button.
"""

import base64
import gzip
import http.server
import json
import os
import re
import shlex
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time

FACTS = json.loads(sys.argv[1])
SEED, BEHAVIOUR = FACTS["seed"], FACTS["behaviour"]
AGENT = "/usr/local/sbin/podman-machine-vmnet-agent"
STATE = "/var/lib/podman-machine-vmnet/state"
UID = "1000"  # what sshd and everybody who logs in think that they are

SSHD_CONFIG = """
HostKey /run/guest/host_key
AuthorizedKeysFile /run/guest/keys/%u
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PidFile none
LogLevel VERBOSE
AllowStreamLocalForwarding yes
Subsystem sftp internal-sftp
SetEnv PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""

PROVISION = """#!/bin/sh
{note} provision "$*"
if [ "$1" = selinux ]; then
  [ {repair} = no ] || chmod 666 {sockets}
fi
exit {status}
"""

NMCLI = """#!/bin/sh
{note} nmcli "$*"
[ "$5" != device ] || echo 'cloud-init eth0'
"""

SYSTEMCTL = """#!/bin/sh
{note} systemctl "$*"
case "$*" in
  "-q is-active NetworkManager.service") [ {network} = NetworkManager ]; exit ;;
  "-q is-active systemd-networkd.service") [ {network} = networkd ]; exit ;;
  *poweroff*) [ {poweroff} = ignored ] || kill -TERM 1 ;;
  "is-failed podman-machine-vmnet-volumes.service")
    echo {volumes_unit}; [ {volumes_unit} = failed ] || exit 1 ;;
  "is-active podman-machine-vmnet-provision.service")
    case $(head -n 1 {state} 2>&1) in
      done*) echo active ;;
      failed*) echo failed; exit 3 ;;
      *) echo activating; exit 3 ;;
    esac ;;
esac
exit 0
"""

# Containers are what the test says: see containers() of harness.py. The events of root's go to the
# journal, the user's do not.
PODMAN = """#!/bin/sh
side=root
[ -z "$XDG_RUNTIME_DIR" ] || side=user
case $1 in
  ps) cat {folder}/podman-$side.json 2>/dev/null || echo "[]" ;;
  info) [ $side = user ] || echo journald ;;
  events) exec tail -n 0 -F {folder}/podman-user.events 2>/dev/null ;;
  *) exit 125 ;;
esac
"""

JOURNALCTL = """#!/bin/sh
exec tail -n 0 -F {folder}/podman-root.events 2>/dev/null
"""

DMESG = """#!/bin/sh
echo {text}
"""

RUNUSER = """#!/bin/sh
[ "$1" = -u ] && [ "$3" = -- ] || exit 1
shift 3
exec "$@"
"""


def mount(*argv):
    subprocess.run(["mount", *argv], check=True)


def put(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def event(kind, **facts):
    with open(FACTS["events"], "a", encoding="utf-8") as file:
        file.write(json.dumps({"event": kind, "at": time.time(), **facts}) + "\n")


class Seed:
    """What cloud-init would take from user-data."""

    def __init__(self, data):
        self.host_key = data["ssh_keys"]["ed25519_private"]
        self.keys = {"root": list(data.get("ssh_authorized_keys", []))}
        self.uid = 1000
        self.agent = None
        for user in data.get("users", []):
            if not isinstance(user, dict):
                continue
            name = user["name"]
            keys = user.get("ssh_authorized_keys", user.get("ssh-authorized-keys", []))
            self.keys.setdefault(name, []).extend([keys] if isinstance(keys, str) else keys)
            if name != "root":
                self.uid = int(user.get("uid", 1000))
        for file in data.get("write_files", []):
            match = re.fullmatch(r"/root/\.ssh/authorized_keys", file["path"])
            if match:
                self.keys["root"] += file["content"].splitlines()
            if file["path"] == AGENT:
                self.agent = gzip.decompress(base64.b64decode(file["content"]))
        for name, keys in self.keys.items():
            if not keys:
                event("no key", user=name)


def write_state(text):
    put(STATE + ".new", text)
    os.rename(STATE + ".new", STATE)
    event("state", text=text)


def provision():
    """Plays the state file: [seconds, text] after [seconds, text]; `done` outlives a reboot."""
    try:
        with open(STATE, encoding="utf-8") as file:
            if file.read().startswith("done"):
                return
    except OSError:
        pass
    if "notice" in BEHAVIOUR:
        put(os.path.join(os.path.dirname(STATE), "notice"), BEHAVIOUR["notice"])
    for seconds, text in BEHAVIOUR.get("states", [[0.1, "running packages\n"], [0.2, "done\n"]]):
        time.sleep(seconds)
        write_state(text)


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        ping = self.path.endswith("/_ping")
        event("api", path=self.path, ping=ping)
        body = b"OK" if ping else b'{"cause":"stand-in","message":"not here","response":404}'
        self.send_response(200 if ping else 404)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Libpod-Api-Version", "5.4.2")
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET

    def do_POST(self):
        """Gives back all that comes, as an attached `cat` does."""
        self.close_connection = True
        while chunk := self.rfile.read1(65536):
            self.wfile.write(chunk)

    def address_string(self):
        return "local"

    def log_message(self, *_):
        pass


class ApiServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that read as much as it wanted


def serve_api(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    server = ApiServer(path, Api)
    # As a missing SELinux rule does: sshd's own connect is refused.
    os.chmod(path, 0o000 if BEHAVIOUR.get("streamlocal") else 0o666)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def start_agent(text):
    """The real one, with unix sockets for vsock ports."""
    with open(AGENT, "wb") as file:
        file.write(text)
    subprocess.Popen([sys.executable, "-I", AGENT],
                     env={**os.environ, "PATH": "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
                          "PODMAN_MACHINE_VMNET_AGENT_FOLDER": FACTS["vsock"]})


def serve_ssh():
    server = socket.socket(socket.AF_UNIX)
    server.bind(FACTS["socket"])
    server.listen(64)
    while True:
        peer = server.accept()[0]
        event("ssh")
        subprocess.Popen(
            ["unshare", "--user", "--map-user=" + UID, "--map-group=" + UID,
             "/usr/sbin/sshd", "-i", "-e", "-f", "/run/guest/sshd_config"],
            stdin=peer, stdout=peer, stderr=sys.stderr)
        peer.close()


def power_off(why):
    event("guest off", why=why)
    os._exit(0)


booted = threading.Event()


def boot(sockets, agent):
    time.sleep(BEHAVIOUR.get("boot", 0.2))
    if BEHAVIOUR.get("volumes unit") != "failed":
        put("/run/podman-machine-vmnet/volumes", "done\n" + BEHAVIOUR.get("volumes", ""))
    for path in sockets:
        serve_api(path)
    if FACTS.get("vsock") and agent and BEHAVIOUR.get("agent") != "none":
        start_agent(agent)
    booted.set()
    threading.Thread(target=provision, daemon=True).start()
    serve_ssh()


def main():
    signal.signal(signal.SIGTERM, lambda *_: power_off("systemctl"))
    events = FACTS["events"]
    seed = Seed(SEED)
    mount("-t", "tmpfs", "-o", "mode=755", "run", "/run")
    mount("-t", "tmpfs", "-o", "mode=755", "lib", "/var/lib")
    mount("-t", "tmpfs", "-o", "mode=755", "sbin", "/usr/local/sbin")
    mount("-t", "tmpfs", "-o", "mode=755", "share", "/usr/local/share")
    os.makedirs(os.path.dirname(STATE))
    mount("--bind", FACTS["disk"], os.path.dirname(STATE))
    for folder in BEHAVIOUR.get("hides", []):  # it sees the host's, shared or not
        mount("-t", "tmpfs", "-o", "mode=755", "hidden", folder)

    put("/run/guest/host_key", seed.host_key, 0o600)
    put("/run/guest/sshd_config", SSHD_CONFIG)
    passwd = shadow = ""
    for name, keys in seed.keys.items():
        home = f"/run/home/{name}"
        os.makedirs(home)
        put(f"/run/guest/keys/{name}", "\n".join(keys) + "\n")
        passwd += f"{name}:x:{UID}:{UID}:{name}:{home}:/bin/sh\n"
        shadow += f"{name}:*:19000:0:99999:7:::\n"
    put("/run/guest/passwd", passwd + "nobody:x:65534:65534:nobody:/:/bin/false\n")
    put("/run/guest/shadow", shadow, 0o600)
    for name in ("passwd", "shadow"):
        mount("--bind", f"/run/guest/{name}", f"/etc/{name}")

    sockets = ["/run/podman/podman.sock", f"/run/user/{seed.uid}/podman/podman.sock"]
    note = "/usr/local/sbin/note"
    put(note, "#!/bin/sh\nprintf '{\"event\":\"%s\",\"words\":\"%s\"}\\n' \"$1\" \"$2\" >> "
        + shlex.quote(events) + "\n", 0o755)
    put("/usr/local/sbin/podman-machine-vmnet-provision", PROVISION.format(
        note=note, sockets=" ".join(sockets),
        repair="no" if BEHAVIOUR.get("streamlocal") == "refused" else "yes",
        status=BEHAVIOUR.get("provision status", 0)), 0o755)
    put("/usr/local/sbin/systemctl", SYSTEMCTL.format(
        note=note, state=STATE, poweroff=BEHAVIOUR.get("poweroff", "ok"),
        volumes_unit=BEHAVIOUR.get("volumes unit", "activating"),
        network=BEHAVIOUR.get("network", "NetworkManager")), 0o755)
    put("/usr/local/sbin/nmcli", NMCLI.format(note=note), 0o755)
    # Its only network card, as far as it can see.
    mount("-t", "tmpfs", "-o", "mode=755", "net", "/sys/class/net")
    put("/sys/class/net/eth0/address", FACTS["mac"] + "\n")
    for name, text in (("podman", PODMAN), ("journalctl", JOURNALCTL)):
        put(f"/usr/local/sbin/{name}", text.format(
            folder=shlex.quote(os.path.dirname(events))), 0o755)
    put("/usr/local/sbin/runuser", RUNUSER, 0o755)
    put("/usr/local/sbin/dmesg", DMESG.format(
        text=shlex.quote(BEHAVIOUR.get("dmesg", "[    0.000000] Linux version 6.12.0"))), 0o755)
    # Debian's way of trusting certificates, and never this host's own.
    put("/usr/local/sbin/update-ca-certificates",
        f"#!/bin/sh\n{note} update-ca-certificates \"$*\"\n"
        f"exit {BEHAVIOUR.get('trust status', 0)}\n", 0o755)
    put("/run/guest/not-a-program", "")
    other = shutil.which("update-ca-trust")
    if other:
        mount("--bind", "/run/guest/not-a-program", os.path.realpath(other))
    put("/usr/local/sbin/sudo", "#!/bin/sh\nexec \"$@\"\n", 0o755)

    threading.Thread(target=boot, args=(sockets, seed.agent), daemon=True).start()
    while True:
        byte = os.read(0, 1)
        if byte == b"p" and booted.is_set():  # firmware does not care for the button
            power_off("power button")
        if not byte:
            event("power cut")
            os._exit(0)


if __name__ == "__main__":
    main()
