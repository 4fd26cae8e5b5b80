# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""Runs what a Spec asks for in QEMU, as a part of the stand-in's own process: it ends when the
stand-in does, however that ends, as a VM does with the hypervisor that it is in. What is sent to
the stand-in's process group is for the stand-in alone: QEMU would end at a SIGTERM.

    PMV_QEMU         qemu-system-x86_64 to use, 8.1 or newer
    PMV_VSOCK=off    no vsock device, as with a guest that has no driver for it
    PMV_VIRTIOFSD    virtiofsd, if it is not where Debian has it

Frames on the card's descriptor are bare Ethernet, without a virtio-net header, also with
offloading (libkrun 1.18.0, src/devices/src/virtio/net/unixgram.rs). What offloading adds is frames
beyond the MTU and unfinished checksums. QEMU offers neither on a datagram socket, so this end
sends none; nor may the other end send them.
"""

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading

from profile import setting
from vsock import Vsock

FIRMWARE = ("/usr/share/ovmf/OVMF.fd", "/usr/share/edk2/x64/OVMF.4m.fd",
            "/usr/share/qemu/edk2-x86_64-code.fd")
VIRTIOFSD = ("/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd")
EFI_STORE_SIZE = 128 << 10
PR_SET_PDEATHSIG = 1


def check_mac(text):
    if not re.fullmatch(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}", text):
        raise ValueError(f"unable to parse address '{text}'")


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def escape(path):
    return path.replace(",", ",,")


def first_there(candidates, what):
    for path in candidates:
        if path and os.path.exists(path):
            return path
    sys.exit(f"the stand-in needs {what}")


class Machine:
    def __init__(self, spec, style):
        self.spec, self.style = spec, style
        self.process = None
        self.inherited = []  # descriptors for QEMU
        self.argv = []
        self.children = []
        self.gone = threading.Event()

    def start(self):
        spec = self.spec
        self.argv = [setting("PMV_QEMU") or shutil.which("qemu-system-x86_64")
                     or sys.exit("the stand-in needs qemu-system-x86_64")]
        self.add_board()
        for number, disk in enumerate(spec.disks):
            self.add_disk(number, disk)
        if spec.card:
            self.add_card(*spec.card)
        self.add_console()
        for number, (folder, tag) in enumerate(spec.shares):
            self.add_share(number, folder, tag)
        vsock = self.add_vsock()
        control = self.add_channel("qmp", "-mon", "chardev=qmp,mode=control")
        self.start_process()
        self.qmp = Qmp(control)
        if vsock:
            threading.Thread(target=vsock.serve, daemon=True).start()
        if spec.pidfile:
            with open(spec.pidfile, "w", encoding="utf-8") as file:
                file.write(str(os.getpid()))

    def add(self, *words):
        self.argv += words

    def add_board(self):
        spec = self.spec
        self.add("-nodefaults", "-no-user-config", "-display", "none",
                 "-machine", "q35,smm=off,vmport=off,hpet=off,usb=off,sata=off,smbus=off,"
                 "memory-backend=memory",
                 "-cpu", "max,-la57,-svm", "-accel", "tcg,thread=multi,tb-size=1024",
                 "-smp", str(spec.cpus), "-m", f"{spec.memory_mib}M",
                 # Shared with the processes that serve vsock and the shared folders.
                 "-object", f"memory-backend-memfd,id=memory,size={spec.memory_mib}M,share=on",
                 "-bios", first_there(FIRMWARE, "UEFI firmware: apt install ovmf"))
        if not spec.reboots:
            self.add("-no-reboot")
        if spec.efi_store:
            with open(spec.efi_store, "wb") as file:
                file.truncate(EFI_STORE_SIZE)

    def add_disk(self, number, disk):
        self.add("-drive", f"if=none,id=disk{number},format={'qcow2' if disk.qcow2 else 'raw'},"
                 f"cache=writeback,discard=unmap,readonly={'on' if disk.read_only else 'off'},"
                 f"file={escape(disk.path)}")
        if disk.bus == "usb":
            if "usb" not in str(self.argv[-3:]):
                self.add("-device", "qemu-xhci")
            device = "usb-storage,removable=on"
        else:
            device = "nvme,serial=1" if disk.bus == "nvme" else "virtio-blk-pci"
        self.add("-device", f"{device},drive=disk{number}"
                 + (",bootindex=0" if number == 0 else ""))

    def add_card(self, fd, mac):
        self.inherited.append(fd)
        self.add("-netdev", f"dgram,id=net,local.type=fd,local.str={fd}",
                 "-device", f"virtio-net-pci,netdev=net,mac={mac},romfile=")

    def add_console(self):
        if self.spec.serial_log:
            # The firmware's console and the guest's, whichever it chose, in one file.
            self.add("-chardev", f"file,id=console,mux=on,path={escape(self.spec.serial_log)}",
                     "-serial", "chardev:console", "-device", "virtio-serial-pci",
                     "-device", "virtconsole,chardev=console")
        if self.spec.rng:
            self.add("-device", "virtio-rng-pci")

    def add_channel(self, name, *words):
        """A socket pair; QEMU gets one end as the chardev `name`, the caller the other."""
        ours, its = socket.socketpair()
        self.inherited.append(its.detach())
        self.add("-chardev", f"socket,id={name},fd={self.inherited[-1]}", *words)
        return ours

    def add_vsock(self):
        spec = self.spec
        if setting("PMV_VSOCK") == "off" or not (spec.vsock_listen or spec.vsock_connect):
            return None
        channel = self.add_channel("vsock", "-device", "vhost-user-vsock-pci,chardev=vsock")
        return Vsock(channel, self.style, spec.vsock_listen, spec.vsock_connect,
                     lambda text: print(text, file=sys.stderr, flush=True))

    def add_share(self, number, folder, tag):
        program = first_there((setting("PMV_VIRTIOFSD"), shutil.which("virtiofsd"), *VIRTIOFSD),
                              "virtiofsd: apt install virtiofsd, or qemu-system-common before 8.0")
        # It takes a socket that listens, and only by number. This one's name goes with it.
        name = f"pmv-share-{os.getpid()}-{number}"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind("\0" + name)
        listener.listen(1)
        self.add("-chardev", f"socket,id=share{number},path={name},abstract=on",
                 "-device", f"vhost-user-fs-pci,chardev=share{number},tag={escape(tag)}")
        # In C, of QEMU before 8.0, or in Rust: they say the folder differently.
        helps = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
        words = ["--shared-dir", folder] if "--shared-dir" in helps.stdout + helps.stderr \
            else ["-o", f"source={folder}"]
        self.children.append(subprocess.Popen(
            [program, f"--fd={listener.fileno()}", *words], pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL, preexec_fn=die_with_parent, start_new_session=True))
        listener.close()

    def start_process(self):
        # With everything that this process was given: what says that the VM is there must say so
        # until QEMU has gone, too.
        for name in os.listdir("/proc/self/fd"):
            fd = int(name)
            with contextlib.suppress(OSError):
                if fd > 2 and os.get_inheritable(fd):
                    self.inherited.append(fd)
        self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL,
                                        pass_fds=set(self.inherited), preexec_fn=die_with_parent,
                                        start_new_session=True)
        for fd in set(self.inherited):
            if not os.get_inheritable(fd):
                os.close(fd)

    def press_power_button(self):
        self.qmp.command("system_powerdown")

    def cut_power(self):
        self.process.kill()

    def wait(self):
        """0 when the guest has powered off, as both tools have it; 1 where QEMU could not run."""
        status = self.process.wait()
        self.gone.set()
        return 1 if status == 1 else 0


class Qmp:
    def __init__(self, channel):
        self.file = channel.makefile("rw", encoding="utf-8")
        self.lock = threading.Lock()
        self.greeted = False

    def command(self, name):
        with self.lock, contextlib.suppress(OSError, ValueError):
            if not self.greeted:
                self.file.readline()
                self.ask("qmp_capabilities")
                self.greeted = True
            self.ask(name)

    def ask(self, name):
        self.file.write(json.dumps({"execute": name}) + "\n")
        self.file.flush()
        for line in self.file:
            if "return" in (answer := json.loads(line)) or "error" in answer:
                return
