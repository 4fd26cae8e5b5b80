#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The image engine against its peers and against the least that the work can cost.

Makes a qcow2 image of the size class of a Fedora cloud image from files of this host (5 GiB, of
which 1600 MiB are data, about 580 MB compressed), once with zlib and once with zstd, and keeps
them. Then it converts each in turn by `podman-machine-vmnet image convert`, by qemu-img as it
comes and by qemu-img with its best flags, and prints the medians. Ratios inside one run are what
counts: all of it slows down together when the host is busy.
"""

import argparse
import http.server
import json
import os
import pty
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

MIB = 1 << 20
BLOCK = 4096


def host_files(folder):
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            file = os.path.join(path, name)
            if os.path.isfile(file) and not os.path.islink(file):
                yield file


def make_raw(path, virtual, data, folder):
    """Files one after the other at block boundaries, in stretches of 48 MiB with holes between
    them, so that the data is spread over the whole disk."""
    stretch = 48 * MIB
    step = max(stretch, virtual // (data // stretch + 1) // MIB * MIB)
    left, begin, at = data, 0, 0
    with open(path, "wb") as out:
        out.write(b"\0" * 510 + b"\x55\xaa")  # a boot record
        out.seek(BLOCK)
        at = BLOCK
        for file in host_files(folder):
            try:
                with open(file, "rb") as source:
                    content = source.read(64 * MIB)
            except OSError:
                continue
            if left <= 0:
                break
            content = content[:left]
            for piece in range(0, len(content), MIB):
                bytes_ = content[piece : piece + MIB]
                if at - begin + len(bytes_) > stretch and begin + step + stretch < virtual:
                    begin += step
                    at = begin
                out.seek(at)
                out.write(bytes_)
                at += (len(bytes_) + BLOCK - 1) // BLOCK * BLOCK
            left -= len(content)
        out.truncate(virtual)
    if left > 0:
        sys.exit(f"{folder} has only {(data - left) // MIB} MiB of files: use --data or --files")


def make_images(args):
    folder = os.path.join(args.folder, f"pmv-bench-{args.virtual}-{args.data}")
    os.makedirs(folder, exist_ok=True)
    raw = os.path.join(folder, "disk.raw")
    if not os.path.exists(raw):
        print(f"making {raw}", file=sys.stderr)
        make_raw(raw + ".tmp", args.virtual * MIB, args.data * MIB, args.files)
        os.rename(raw + ".tmp", raw)
    for method in ("zlib", "zstd"):
        image = os.path.join(folder, method + ".qcow2")
        if os.path.exists(image):
            continue
        print(f"making {image}", file=sys.stderr)
        option = f"compression_type={method}"
        subprocess.run(
            ["qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-c", "-W", "-m", "8"]
            + ["-o", option, raw, image + ".tmp"],
            check=True,
        )
        os.rename(image + ".tmp", image)
    return folder


def make_huge(folder, mib):
    """The same data at the front of a 2 TiB disk and of a 5 GiB one."""
    paths = []
    for name, size in (("small", "5G"), ("huge", "2T")):
        image = os.path.join(folder, name + ".qcow2")
        paths.append(image)
        if os.path.exists(image):
            continue
        raw = os.path.join(folder, "head.raw")
        with open(os.path.join(folder, "disk.raw"), "rb") as source, open(raw, "wb") as out:
            for _ in range(mib):
                piece = source.read(MIB)
                if piece.count(0) == len(piece):
                    out.seek(len(piece), os.SEEK_CUR)
                else:
                    out.write(piece)
            out.truncate(mib * MIB)
        with open(raw, "r+b") as out:
            out.truncate({"5G": 5 << 30, "2T": 2 << 40}[size])
        subprocess.run(
            ["qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-c", "-W", "-m", "8"]
            + ["-o", "cluster_size=64k", raw, image + ".tmp"],
            check=True,
        )
        os.rename(image + ".tmp", image)
        os.unlink(raw)
    return paths


class Run:
    """One run of a program that writes `target`, measured by run.c."""

    def __init__(self, args, argv, target, stderr=subprocess.PIPE):
        if os.path.exists(target):
            os.unlink(target)
        answer = subprocess.run(
            [args.run] + argv, stdout=subprocess.PIPE, stderr=stderr, check=False
        )
        if answer.returncode != 0:
            sys.exit(f"failed: {' '.join(argv)}: {(answer.stderr or b'').decode()}")
        took = json.loads(answer.stdout)
        self.wall, self.cpu = took["wall"], took["cpu"]
        self.rss = took["maxrss"] * (1 if sys.platform == "darwin" else 1024)
        self.blocks = os.stat(target).st_blocks * 512


def floor_cpu(args, image, target):
    answer = subprocess.run([args.floor, image, target], check=True, capture_output=True)
    os.unlink(target)
    times = json.loads(answer.stdout)
    return times["unpack"] + times["write"]


def median(values):
    return statistics.median(values)


def compare(args, image, target):
    """All contestants in turn, `runs` times. Returns name -> [Run], and the floor's seconds."""
    contestants = {
        "ours": [args.program, "image", "convert", "--quiet", image, target],
        "qemu-img": ["qemu-img", "convert", "-O", "raw", image, target],
        "qemu-img -W -m 16": ["qemu-img", "convert", "-O", "raw", "-W", "-m", "16", image, target],
    }
    runs = {name: [] for name in contestants}
    floors = []
    for _ in range(args.runs):
        for name, argv in contestants.items():
            runs[name].append(Run(args, argv, target))
        os.unlink(target)
        if args.floor:
            floors.append(floor_cpu(args, image, target))
    return runs, floors


def print_comparison(title, runs, floors):
    ours = runs["ours"]
    wall, cpu = median(r.wall for r in ours), median(r.cpu for r in ours)
    print(f"{title:24} {'wall s':>7} {'CPU s':>7} {'RSS MiB':>8} {'blocks MiB':>11}", end="")
    print(f" {'wall ratio':>11} {'CPU ratio':>10}")
    for name, list_ in runs.items():
        its_wall, its_cpu = median(r.wall for r in list_), median(r.cpu for r in list_)
        rss, blocks = max(r.rss for r in list_), list_[0].blocks
        print(f"  {name:22} {its_wall:7.2f} {its_cpu:7.2f} {rss / MIB:8.1f}", end="")
        print(f" {blocks / MIB:11.1f} {its_wall / wall:11.2f} {its_cpu / cpu:10.2f}")
    if floors:
        least = median(floors)
        print(f"  {'floor (CPU)':22} {'':7} {least:7.2f} {'':8} {'':11} {'':11} {least / cpu:10.2f}")
        print(f"  ours / floor: {cpu / least:.2f}", end="; ")
    more = ours[0].blocks / runs["qemu-img"][0].blocks - 1
    print(f"  allocated against qemu-img: {more * 100:+.2f}%")


def same_content(a, b):
    return subprocess.run(["cmp", "-s", a, b], check=False).returncode == 0


def bench_convert(args, folder, output, methods, where):
    target = os.path.join(output, f"pmv-bench-out-{os.getpid()}.raw")
    try:
        for method in methods:
            image = os.path.join(folder, method + ".qcow2")
            Run(args, [args.program, "image", "convert", "--quiet", image, target], target)
            if not same_content(target, os.path.join(folder, "disk.raw")):
                sys.exit(f"{method}: the content differs")
            size = os.stat(image).st_size / 1e6
            runs, floors = compare(args, image, target)
            print_comparison(f"{method} ({size:.0f} MB), {where}", runs, floors)
    finally:
        if os.path.exists(target):
            os.unlink(target)


def bench_huge(args, folder, output):
    target = os.path.join(output, f"pmv-bench-out-{os.getpid()}.raw")
    images = make_huge(folder, 1024)
    runs = ([], [])
    for _ in range(args.runs):
        for i, image in enumerate(images):
            argv = [args.program, "image", "convert", "--quiet", image, target]
            runs[i].append(Run(args, argv, target))
    os.unlink(target)
    small, huge = (median(r.wall for r in list_) for list_ in runs)
    small_cpu, huge_cpu = (median(r.cpu for r in list_) for list_ in runs)
    print(f"same data in 2 TiB and in 5 GiB: wall {huge:.2f} / {small:.2f} s = {huge / small:.2f}", end="")
    print(f", CPU {huge_cpu:.2f} / {small_cpu:.2f} s = {huge_cpu / small_cpu:.2f}")


def drain(terminal):
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:  # how a terminal says that its other side is closed
        pass


def bench_bar(args, folder, output):
    """What the progress bar costs on a terminal, against --quiet."""
    target = os.path.join(output, f"pmv-bench-out-{os.getpid()}.raw")
    argv = [args.program, "image", "convert", os.path.join(folder, "zlib.qcow2"), target]
    ours, theirs = pty.openpty()
    threading.Thread(target=drain, args=(ours,), daemon=True).start()
    shown, quiet = [], []
    for _ in range(args.runs):
        quiet.append(Run(args, argv + ["--quiet"], target).cpu)
        shown.append(Run(args, argv, target, stderr=theirs).cpu)
    os.unlink(target)
    os.close(theirs)
    with_, without = median(shown), median(quiet)
    print(f"progress bar: CPU {with_:.2f} / {without:.2f} s = {(with_ / without - 1) * 100:+.1f}%")


class Throttled(http.server.BaseHTTPRequestHandler):
    """One file at a steady rate."""

    path_, rate, done = "", 0, 0.0

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(os.path.getsize(self.path_)))
        self.end_headers()
        began, sent = time.monotonic(), 0
        with open(self.path_, "rb") as file:
            while piece := file.read(256 << 10):
                self.wfile.write(piece)
                sent += len(piece)
                ahead = sent / self.rate - (time.monotonic() - began)
                if ahead > 0:
                    time.sleep(ahead)
        Throttled.done = time.monotonic()

    def log_message(self, *args):
        pass


def bench_overlap(args, folder, output):
    """A download at 40 MB/s: how long after its last byte is the raw image ready?"""
    Throttled.path_ = os.path.join(folder, "zlib.qcow2")
    Throttled.rate = 40e6
    digest = subprocess.run(["sha256sum", Throttled.path_], check=True, capture_output=True)
    server = http.server.HTTPServer(("127.0.0.1", 0), Throttled)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    after, alone = [], []
    with tempfile.TemporaryDirectory(dir=output) as home:
        target = os.path.join(home, "alone.raw")
        argv = [args.program, "image", "pull", "--quiet", "--image-sha256"]
        argv += [digest.stdout.split()[0].decode(), f"http://127.0.0.1:{server.server_port}/i"]
        for _ in range(min(args.runs, 3)):
            environment = dict(os.environ, XDG_CACHE_HOME=home)
            subprocess.run(argv, check=True, env=environment, stdout=subprocess.DEVNULL)
            after.append(time.monotonic() - Throttled.done)
            shutil.rmtree(os.path.join(home, "podman-machine-vmnet"))
            convert = [args.program, "image", "convert", "--quiet", Throttled.path_, target]
            alone.append(Run(args, convert, target).wall)
            os.unlink(target)
    server.shutdown()
    late, whole = median(after), median(alone)
    print(f"download at 40 MB/s: ready {late:.2f} s after the last byte", end="")
    print(f", {late / whole * 100:.0f}% of the {whole:.2f} s of converting alone")


def bench_lay_down(args, folder):
    """From the cached image to a 100 GiB disk, on the file systems given by --lay-down."""
    for place in args.lay_down:
        with tempfile.TemporaryDirectory(dir=place) as home:
            raw, disk = os.path.join(home, "image.raw"), os.path.join(home, "disk")
            shutil.copyfile(os.path.join(folder, "small.qcow2"), os.path.join(home, "small"))
            Run(args, [args.program, "image", "convert", "--quiet", os.path.join(home, "small"), raw], raw)
            times, clone = [], None
            for _ in range(args.runs):
                if os.path.exists(disk):
                    os.unlink(disk)
                answer = subprocess.run([args.lay, raw, disk], check=True, capture_output=True)
                clone = json.loads(answer.stdout)
                times.append(clone["ms"])
            how = "clone" if clone["cloned"] else "copy of the data extents"
            print(f"100 GiB disk from the cache on {place}: {median(times):.1f} ms ({how})")


def main():
    default_folder = "/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="podman-machine-vmnet")
    parser.add_argument("--run", required=True, help="the program of run.c")
    parser.add_argument("--floor", help="the program of floor.c")
    parser.add_argument("--lay", help="the program of lay.c")
    parser.add_argument("--folder", default=default_folder, help="where the images are kept")
    parser.add_argument("--output", help="where the results go; the same folder")
    parser.add_argument("--disk", help="a folder on a disk: once more there")
    parser.add_argument("--files", default="/usr", help="whose files make the image")
    parser.add_argument("--virtual", type=int, default=5120, metavar="MiB")
    parser.add_argument("--data", type=int, default=1600, metavar="MiB")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--method", choices=("zlib", "zstd"), action="append")
    parser.add_argument("--no-huge", action="store_true")
    parser.add_argument("--no-overlap", action="store_true")
    parser.add_argument("--no-convert", action="store_true")
    parser.add_argument("--lay-down", action="append", default=[], metavar="FOLDER")
    args = parser.parse_args()
    if not shutil.which("qemu-img"):
        print("no qemu-img: nothing to compare with")
        return 77
    folder = make_images(args)
    output = args.output or args.folder
    methods = args.method or ["zlib", "zstd"]
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, median of {args.runs}")
    if not args.no_convert:
        bench_convert(args, folder, output, methods, "tmpfs" if output == "/dev/shm" else output)
        bench_bar(args, folder, output)
    if args.disk:
        bench_convert(args, folder, args.disk, methods, "disk")
    if not args.no_huge:
        bench_huge(args, folder, output)
    if not args.no_overlap:
        bench_overlap(args, folder, output)
    if args.lay:
        make_huge(folder, 1024)
        bench_lay_down(args, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
