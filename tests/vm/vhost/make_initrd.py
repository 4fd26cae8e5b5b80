#!/usr/bin/python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""make_initrd.py FOLDER: in a Debian guest, FOLDER/vmlinuz and FOLDER/initrd of a guest below it
that runs guest_init.py: this guest's own kernel, modules, Python and sshd."""

import glob
import os
import shutil
import subprocess
import sys
import sysconfig

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ["/bin/sh", "/bin/bash", "/bin/cat", "/bin/echo", "/bin/head", "/bin/id", "/usr/bin/head", "/usr/bin/cat",
            "/usr/bin/python3", "/usr/sbin/sshd"] + glob.glob("/usr/lib/openssh/sshd-*")
MODULES = ["isofs", "virtio_blk", "virtio_net", "vmw_vsock_virtio_transport"]
# By guest_init.py and by our agent.
IMPORTED = ("base64, ctypes, fcntl, glob, gzip, hmac, json, os, select, signal, socket, struct, "
            "subprocess, sys, threading, time, traceback")


def copy(root, path):
    target = root + path
    if not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(os.path.realpath(path), target)


def copy_program(root, path):
    copy(root, path)
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    for word in listed.split():
        if word.startswith("/"):
            copy(root, word)


def copy_modules(root):
    listed = subprocess.run(["modprobe", "--show-depends", "-a", *MODULES], capture_output=True,
                            text=True, check=True).stdout
    paths = [line.split()[1] for line in listed.splitlines() if line.startswith("insmod")]
    with open(root + "/modules", "w", encoding="utf-8") as file:
        for path in dict.fromkeys(paths):
            copy(root, path)
            file.write(path + "\n")


def copy_python(root):
    """What is imported, and no more: all that is in the initrd is unpacked at 10 MB a minute."""
    listed = subprocess.run(
        [sys.executable, "-c", f"import {IMPORTED}, sys\n"
         "for module in list(sys.modules.values()):\n"
         "    print(getattr(module, '__file__', None) or '')"],
        capture_output=True, text=True, check=True).stdout.split()
    library = sysconfig.get_path("stdlib")
    for path in listed + glob.glob(library + "/encodings/*.py"):
        if path.endswith(".so"):
            copy_program(root, path)
        else:
            copy(root, path)
    os.makedirs(root + library + "/lib-dynload", exist_ok=True)
    # Compiled now, for minutes less down there.
    subprocess.run([sys.executable, "-c", f"import {IMPORTED}"], check=True,
                   env={"PYTHONHOME": root + "/usr"})


def main():
    out = sys.argv[1]
    root = os.path.join(out, "root")
    for folder in ("proc", "sys", "dev", "seed", "run", "tmp", "root", "etc"):
        os.makedirs(os.path.join(root, folder))
    for path in PROGRAMS:
        if os.path.exists(path):
            copy_program(root, path)
    for path in glob.glob("/lib/x86_64-linux-gnu/libnss_files*"):
        copy(root, path)
    copy_modules(root)
    copy_python(root)
    shutil.copy(os.path.join(HERE, "guest_init.py"), root + "/init")
    os.chmod(root + "/init", 0o755)
    with open(os.path.join(out, "initrd"), "wb") as file:
        names = subprocess.run(["find", "."], cwd=root, capture_output=True, check=True).stdout
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names, stdout=file,
                       check=True)
    shutil.rmtree(root)
    os.makedirs(out + "/esp")
    subprocess.run(["mount", "-o", "ro", "/dev/vda1", out + "/esp"], check=True)
    shutil.copy(out + "/esp/vmlinuz", out + "/vmlinuz")
    subprocess.run(["umount", out + "/esp"], check=True)


main()
