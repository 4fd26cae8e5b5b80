# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The vmnet framework as vmnet-helper sees it: an interface on the bridge of a network, here a tap
on one of the bridges of network.py. The world's description is the JSON file that PMV_VMNET_WORLD
names.
"""

import contextlib
import fcntl
import ipaddress
import json
import os
import struct
import subprocess
import uuid

TUNSETIFF, TUNSETOFFLOAD = 0x400454ca, 0x400454d0
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
LARGEST, LARGEST_TSO = 1514, 65550  # vmnet_max_packet_size; common.h


class Failure(Exception):
    """A vmnet_return_t, by name."""


def read_world():
    try:
        with open(os.environ["PMV_VMNET_WORLD"], encoding="utf-8") as file:
            return json.load(file)
    except (KeyError, OSError):
        raise Failure("VMNET_FAILURE") from None


def choose_network(world, options):
    """The network that macOS would make or join for these options."""
    networks = world["networks"]
    if options.network is not None:
        return networks.get("broker:" + options.network)
    if options.operation_mode == "bridged":
        return networks.get("bridged:" + options.shared_interface)
    if options.start_address is None:
        return networks.get(options.operation_mode)
    start = ipaddress.ip_address(options.start_address)
    for name, network in networks.items():
        if name.split("@")[0] == options.operation_mode and \
                start in ipaddress.ip_network(network["address"], strict=False):
            return network
    return None


class Interface:
    """Goes with this process. `fd` gives and takes frames, with a virtio_net_hdr before each if
    `header` is true."""

    def __init__(self, options):
        network = choose_network(read_world(), options)
        if network is None:
            raise Failure("VMNET_FAILURE")
        self.network, self.options = network, options
        self.header = options.enable_tso or options.enable_checksum_offload
        self.largest = LARGEST_TSO if options.enable_tso else LARGEST
        self.open()
        self.attach()

    def open(self):
        self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        flags = IFF_TAP | IFF_NO_PI | (IFF_VNET_HDR if self.header else 0)
        request = fcntl.ioctl(self.fd, TUNSETIFF, struct.pack("16sH22x", b"vmenet%d", flags))
        self.name = request[:16].split(b"\0", 1)[0].decode()
        if self.header:
            fcntl.ioctl(self.fd, TUNSETOFFLOAD, 0)  # to the guest: whole checksums, small frames

    def attach(self):
        run("ip", "link", "set", self.name, "master", self.network["bridge"])
        if self.options.enable_isolation:
            run("bridge", "link", "set", "dev", self.name, "isolated", "on")
        run("ip", "link", "set", self.name, "mtu", str(self.network["mtu"]), "up")

    def describe(self):
        """write_interface_info(): docs/integration.md has an example."""
        subnet = ipaddress.ip_interface(self.network["address"]).network
        wanted = self.options.interface_id
        identity = uuid.UUID(wanted) if wanted else uuid.uuid4()
        mac = uuid.uuid5(identity, "mac").bytes[:5]
        facts = {"vmnet_write_max_packets": 256, "vmnet_read_max_packets": 256,
                 "vmnet_mtu": self.network["mtu"],
                 "vmnet_interface_id": str(identity).upper(),
                 "vmnet_max_packet_size": self.largest,
                 "vmnet_mac_address": "0a:" + ":".join(f"{byte:02x}" for byte in mac)}
        if self.options.network is not None:
            facts |= {"net_ipv4_subnet": str(subnet.network_address),
                      "net_ipv4_mask": str(subnet.netmask)}
        elif self.options.operation_mode != "bridged":
            facts |= {"vmnet_start_address": str(subnet[1]), "vmnet_end_address": str(subnet[-2]),
                      "vmnet_subnet_mask": str(subnet.netmask)}
        return json.dumps(facts, separators=(",", ":"))

    def read(self):
        """A frame, or None if there is none now."""
        try:
            return os.read(self.fd, 65550 + 64)
        except BlockingIOError:
            return None

    def write(self, frame):
        # A tap that is down or full loses frames, as any wire does.
        with contextlib.suppress(BlockingIOError):
            os.write(self.fd, frame)


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"VMNET_FAILURE ({' '.join(argv)}: {done.stderr.strip()})")
