# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""macOS's networks for virtual machines, in a network namespace of the test's own: a bridge for
each network that vmnet would make, and dnsmasq as bootpd, which gives addresses and keeps a file
like /var/db/dhcpd_leases.

    if __name__ == "__main__":
        network.enter()                  # runs this program again inside a new namespace
        ...
    with network.World(folder) as world:
        environment |= world.environment

Everything that is to reach the guests (the program, its monitor, the stand-ins) must run inside the
namespace; what a test starts after enter() does. `world.environment` leads vmnet-helper to the
bridges and the program to the leases. macOS' own numbers: the first network that vmnet makes in
shared mode is 192.168.64.0/24 on bridge100; 192.168.105.0/24 is what vmnet-helper 0.11 asks for;
in bridged mode the addresses come from a router, so bootpd's file says nothing of them.
"""

import contextlib
import ipaddress
import json
import os
import subprocess
import sys
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "PMV_IN_NAMESPACE"
MTU = 1500
NETWORKS = {  # what follows @ only tells two networks of a mode apart
    "shared": {"bridge": "bridge100", "address": "192.168.64.1/24"},
    "shared@0.11": {"bridge": "bridge105", "address": "192.168.105.1/24"},
    "host": {"bridge": "bridge101", "address": "192.168.128.1/24"},
    "bridged:en0": {"bridge": "bridge102", "address": "10.44.0.1/24", "leases": False},
    "broker:default": {"bridge": "bridge103", "address": "192.168.65.1/24"},
}
PROBE = "ip tuntap add probe mode tap && ip link add probes type bridge"


def unshare_words():
    words = ["unshare", "--net"]
    return words if os.geteuid() == 0 else [*words, "--user", "--map-root-user"]


def missing():
    """Why there can be no World here, or None."""
    for program in ("ip", "bridge", "dnsmasq", "unshare"):
        if subprocess.run(["sh", "-c", f"command -v {program}"], capture_output=True,
                          env=environment()).returncode != 0:
            return f"{program} is not installed"
    done = subprocess.run([*unshare_words(), "sh", "-c", PROBE], capture_output=True, text=True,
                          env=environment())
    if done.returncode != 0:
        return "no network namespace with a tap and a bridge here: " + done.stderr.strip()
    return None


def environment():
    """Debian keeps ip and dnsmasq in folders that a user's PATH may not have."""
    return os.environ | {"PATH": os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"}


def enter():
    """Comes back inside a network namespace of this process's own, with its loopback up."""
    if MARK not in os.environ:
        os.environ[MARK] = "yes"
        words = unshare_words()
        os.execvp(words[0], [*words, sys.executable, *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True, env=environment())


def bridge_mac(name):
    """The host's own address on the network of that name."""
    return f"36:00:64:00:00:{zlib.crc32(name.encode()) & 0xff:02x}"


class World:
    """Bridges and bootpd, until close(). `folder` is for its files, outside of any machine's.
    `networks` as NETWORKS: name to bridge and address, `leases`: whether bootpd serves it."""

    def __init__(self, folder, networks=None):
        self.folder = folder
        self.networks = {name: {"mtu": MTU, "leases": True, **facts}
                         for name, facts in (networks or NETWORKS).items()}
        self.leases = os.path.join(folder, "dhcpd_leases")
        self.description = os.path.join(folder, "world.json")
        self.bootpd = None

    @property
    def environment(self):
        return {"PMV_VMNET_WORLD": self.description, "PODMAN_MACHINE_VMNET_LEASES": self.leases}

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        with open(self.description, "w", encoding="utf-8") as file:
            json.dump({"networks": self.networks, "leases": self.leases}, file)
        try:
            self.make_bridges()
            self.start_bootpd()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def make_bridges(self):
        lines = []
        for name, facts in self.networks.items():
            bridge = facts["bridge"]
            # An address of its own: otherwise it takes a port's, and changes as ports go.
            lines += [f"link add {bridge} address {bridge_mac(name)} mtu {facts['mtu']} "
                      "type bridge stp_state 0 forward_delay 0 mcast_snooping 0",
                      f"addr add {facts['address']} dev {bridge}", f"link set {bridge} up"]
        self.ip(lines)

    @staticmethod
    def ip(lines, check=True):
        done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True,
                              capture_output=True, env=environment())
        if check and done.returncode != 0:
            raise RuntimeError(f"ip: {done.stderr}")

    def start_bootpd(self):
        self.log = os.path.join(self.folder, "bootpd.log")
        argv = ["dnsmasq", "--conf-file=/dev/null", "--keep-in-foreground", "--pid-file=",
                "--user=root", "--group=root", f"--log-facility={self.log}",
                "--no-resolv", "--no-hosts", "--bind-interfaces", "--except-interface=lo",
                "--dhcp-authoritative", "--no-ping", "--script-on-renewal",
                f"--dhcp-leasefile={self.folder}/dnsmasq.leases",
                f"--dhcp-script={HERE}/bootpd-leases"]
        for facts in self.networks.values():
            hosts = ipaddress.ip_interface(facts["address"]).network
            argv += [f"--interface={facts['bridge']}", f"--dhcp-range={hosts[2]},{hosts[-2]},24h"]
        self.bootpd = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, env=environment()
                                       | self.environment)
        self.wait_for_bootpd()

    def wait_for_bootpd(self):
        until = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError), open(self.log, encoding="utf-8") as file:
                if "started" in file.read():
                    return
            if self.bootpd.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"dnsmasq: {self.bootpd.stderr.read().decode()}")
            time.sleep(0.01)

    def stop_bootpd(self):
        """As a firewall that keeps it from hearing: no addresses from here on."""
        if self.bootpd:
            self.bootpd.kill()
            self.bootpd.wait()
            self.bootpd.stderr.close()
            self.bootpd = None

    def close(self):
        self.stop_bootpd()
        self.ip([f"link del {facts['bridge']}" for facts in self.networks.values()], check=False)

    def read_leases(self):
        """The file's entries, each a dict of its lines."""
        with contextlib.suppress(OSError), open(self.leases, encoding="utf-8") as file:
            blocks = file.read().split("}")[:-1]
            return [dict(line.strip().split("=", 1) for line in block.splitlines() if "=" in line)
                    for block in blocks]
        return []
