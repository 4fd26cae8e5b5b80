# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""What a command line of krunkit or vfkit asks for, in words that belong to neither."""

import dataclasses


@dataclasses.dataclass
class Disk:
    path: str
    read_only: bool = False
    qcow2: bool = False
    bus: str = "virtio"  # or "usb", "nvme"


@dataclasses.dataclass
class Spec:
    cpus: int = 1
    memory_mib: int = 512
    efi_store: str = ""         # to be made anew; "": the tool keeps none
    disks: list = dataclasses.field(default_factory=list)
    card: tuple = ()            # (descriptor, mac)
    serial_log: str = ""
    rng: bool = False
    shares: list = dataclasses.field(default_factory=list)   # (folder, tag)
    vsock_listen: dict = dataclasses.field(default_factory=dict)   # port: path
    vsock_connect: dict = dataclasses.field(default_factory=dict)
    rest: tuple = ("none", "")  # ("unix", path)
    pidfile: str = ""
    reboots: bool = False       # a guest that reboots goes on running
