#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""test_faults.py PROGRAM: full disks, kills at any moment, two at once, and servers that do it
wrong. Whatever happens: a message that helps, nothing half-made left over, and the next try works.
"""

import gzip
import hashlib
import http.server
import json
import os
import random
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
MIB = 1 << 20
KILLS = 50


def make_image(folder):
    """A qcow2 image of 16 MiB with 8 MiB of noise and text, without qemu-img: clusters of 64 KiB
    as they are."""
    cluster, clusters = 65536, 256
    disk = bytearray(cluster * clusters)
    source = random.Random(4)
    for i in range(0, clusters, 2):
        disk[i * cluster : (i + 1) * cluster] = source.randbytes(cluster)
    disk[510:512] = b"\x55\xaa"
    header = b"QFI\xfb" + (3).to_bytes(4, "big") + bytes(12) + (16).to_bytes(4, "big")
    header += len(disk).to_bytes(8, "big") + bytes(4) + (1).to_bytes(4, "big")
    header += cluster.to_bytes(8, "big") + bytes(48) + (4).to_bytes(4, "big")
    header += (104).to_bytes(4, "big")
    table, data, at = b"", b"", 3 * cluster
    for i in range(clusters):
        piece = bytes(disk[i * cluster : (i + 1) * cluster])
        table += ((1 << 63 | at) if any(piece) else 0).to_bytes(8, "big")
        if any(piece):
            data += piece
            at += cluster
    image = header.ljust(cluster, b"\0")
    image += (1 << 63 | 2 * cluster).to_bytes(8, "big").ljust(cluster, b"\0")
    image += table.ljust(cluster, b"\0") + data
    with open(os.path.join(folder, "image.qcow2"), "wb") as file:
        file.write(image)
    return image, bytes(disk)


class Handler(http.server.BaseHTTPRequestHandler):
    """What is wrong is said by the path."""

    image, rate, whole, requests, plain = b"", 0, 0, [], ""

    def do_GET(self):
        Handler.requests.append(self.path)
        way = getattr(self, "way_" + self.path.strip("/").split("?")[0].split("/")[-1], None)
        try:
            (way or self.way_missing)()
        except (BrokenPipeError, ConnectionResetError):
            pass

    def head(self, status, length, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def body(self, begin=0):
        for at in range(begin, len(self.image), 65536):
            self.wfile.write(self.image[at : at + 65536])
            if self.rate:
                time.sleep(65536 / self.rate)
        Handler.whole += 1

    def way_good(self):
        wanted = self.headers.get("Range")
        if wanted and self.headers.get("If-Range") == '"v1"':
            begin = int(wanted.split("=")[1].split("-")[0])
            total = len(self.image)
            self.head(
                206,
                total - begin,
                ETag='"v1"',
                Content_Range=f"bytes {begin}-{total - 1}/{total}",
            )
            return self.body(begin)
        self.head(200, len(self.image), ETag='"v1"')
        return self.body()

    def way_packed(self):
        self.head(200, len(Handler.packed))
        self.wfile.write(Handler.packed)

    def way_unsized(self):
        self.head(200, None)
        self.body()

    def way_empty(self):
        self.head(200, 0)

    def way_encoded(self):
        packed = gzip.compress(self.image, 1)
        self.head(200, len(packed), Content_Encoding="gzip")
        self.wfile.write(packed)

    def way_longer(self):
        self.head(200, len(self.image) + 100)
        self.body()

    def way_shorter(self):
        self.head(200, len(self.image) - 100)
        self.wfile.write(self.image[:-100])

    def way_reset(self):
        self.head(200, len(self.image), ETag='"v1"')
        self.wfile.write(self.image[: 3 * MIB])
        self.wfile.flush()
        linger = (1).to_bytes(4, sys.byteorder) + bytes(4)
        self.connection.setsockopt(1, 13, linger)  # SOL_SOCKET, SO_LINGER: a reset, not an end

    def way_page(self):
        page = b"<!DOCTYPE html><html>please log in</html>" * 4000
        self.head(200, len(page))
        self.wfile.write(page)

    def way_loop(self):
        self.head(302, 0, Location="/loop")

    def way_away(self):
        self.head(302, 0, Location="/good")

    def way_plain(self):
        self.head(302, 0, Location=f"{self.plain}/{self.path.split('?')[1]}")

    def way_releases(self):
        row = {"version": "44", "arch": os.uname().machine, "variant": "Cloud"}
        row |= {"link": f"{self.plain}/Fedora-Cloud-Base-Generic-44.qcow2"}
        row |= {"sha256": hashlib.sha256(self.image).hexdigest()}
        text = json.dumps([row]).encode()
        self.head(200, len(text))
        self.wfile.write(text)

    def way_file(self):
        self.head(302, 0, Location="file:///etc/passwd")

    def way_missing(self):
        self.head(404, 0)

    def way_forbidden(self):
        self.head(403, 0)

    def way_broken(self):
        self.head(500, 0)

    def log_message(self, *args):
        pass


class World:
    def __init__(self, folder):
        self.folder = folder
        self.image, self.disk = make_image(folder)
        self.digest = hashlib.sha256(self.image).hexdigest()
        Handler.image = self.image
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = Handler.plain = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.homes = 0

    def new_home(self):
        self.homes += 1
        home = os.path.join(self.folder, f"home{self.homes}")
        os.mkdir(home)
        return home

    def environment(self, home, **more):
        ours = ("CURL_CA_BUNDLE", "SSL_CERT_FILE")
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and name not in ours
        }
        return dict(clean, HOME=home, XDG_CACHE_HOME=os.path.join(home, "cache"), **more)

    def pull_words(self, way):
        return [PROGRAM, "image", "pull", "--quiet", "--image-sha256", self.digest]+[
            way if "://" in way else f"{self.url}/{way}"
        ]

    def pull(self, home, way, **more):
        return subprocess.run(
            self.pull_words(way),
            env=self.environment(home, **more),
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )

    def cached(self, home):
        return os.path.join(home, "cache", "podman-machine-vmnet", "images")

    def list(self, home):
        words = [PROGRAM, "image", "ls", "--format", "json"]
        done = subprocess.run(words, env=self.environment(home), capture_output=True, check=True)
        return json.loads(done.stdout)

    def assert_right(self, home):
        (image,) = self.list(home)
        assert image["Ready"] and image["Digest"] == self.digest, image
        with open(image["Path"], "rb") as file:
            assert file.read() == self.disk

    def assert_no_draft(self, home):
        folder = self.cached(home)
        names = os.listdir(folder) if os.path.isdir(folder) else []
        assert not [n for n in names if ".tmp-" in n], names


def servers_that_do_it_wrong(world):
    """way -> what the message must say; None: it works all the same."""
    answers = {
        "good": None,
        "away": None,
        "unsized": None,
        "empty": "the server's file is empty",
        "encoded": "gzip",
        "longer": "bytes remaining",
        "shorter": "wrong SHA-256",
        "page": "web page",
        "loop": "redirects",
        "file": "not supported",
        "missing": "404 Not Found",
        "forbidden": "403 Forbidden",
        "broken": "500 Internal Server Error",
        "reset": "eset",
    }
    for way, words in answers.items():
        home = world.new_home()
        done = world.pull(home, way)
        if words is None:
            assert done.returncode == 0, (way, done.stderr)
            world.assert_right(home)
            continue
        assert done.returncode == 125, (way, done.returncode, done.stderr)
        assert done.stderr.startswith("Error: downloading") and done.stderr.count("\n") == 1, (
            way,
            done.stderr,
        )
        assert words in done.stderr, (way, words, done.stderr)
        world.assert_no_draft(home)
        # The next try, at a server that does it right, works.
        done = world.pull(home, "good")
        assert done.returncode == 0, (way, done.stderr)
        world.assert_right(home)


def a_proxy_is_used(world):
    home = world.new_home()
    proxy = f"http://127.0.0.1:{world.server.server_port}"
    done = world.pull(home, "http://images.invalid/good", http_proxy=proxy)
    assert done.returncode == 0, done.stderr
    assert Handler.requests[-1] == "http://images.invalid/good", Handler.requests[-1]
    done = world.pull(world.new_home(), "http://images.invalid/good", http_proxy=proxy, no_proxy="*")
    assert done.returncode == 125 and "images.invalid" in done.stderr, done.stderr


class TlsServer:
    """The same answers over TLS, with a certificate that only its own file vouches for."""

    def __init__(self, folder):
        self.certificate, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        words += ["-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
        words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", self.certificate]
        subprocess.run(words, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # a client that hangs up is what is tested
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def tls_is_verified(world):
    with TlsServer(world.folder) as tls:
        trusted = {"SSL_CERT_FILE": tls.certificate}
        done = world.pull(world.new_home(), f"{tls.url}/good")
        assert done.returncode == 125 and "certificate" in done.stderr, done.stderr
        # $CURL_CA_BUNDLE is the stronger of the two.
        for more in (trusted, {"CURL_CA_BUNDLE": tls.certificate, "SSL_CERT_FILE": "/dev/null"}):
            home = world.new_home()
            done = world.pull(home, f"{tls.url}/good", **more)
            assert done.returncode == 0, done.stderr
            world.assert_right(home)

        # An image may come from a mirror that has no TLS, since its digest was given.
        home = world.new_home()
        done = world.pull(home, f"{tls.url}/plain?good", **trusted)
        assert done.returncode == 0, done.stderr
        world.assert_right(home)

        # A list of releases is what says the digest: never from there.
        for url, words in (
            (f"{tls.url}/releases", None),
            (f"{tls.url}/plain?releases", "not supported"),
        ):
            before = len(Handler.requests)
            done = subprocess.run(
                [PROGRAM, "image", "pull", "--quiet", "fedora-latest"],
                env=world.environment(
                    world.new_home(), PODMAN_MACHINE_VMNET_RELEASES=url, **trusted
                ),
                capture_output=True,
                text=True,
                check=False,
            )
            asked = Handler.requests[before:]
            assert done.returncode == 125, done.stderr  # the list names no file that is there
            if words:
                assert words in done.stderr and asked == ["/plain?releases"], (asked, done.stderr)
            else:
                assert "404" in done.stderr and len(asked) == 2, (asked, done.stderr)


def files_by_path_and_url(world):
    home = world.new_home()
    for word in ("image.qcow2", "./image.qcow2", f"file://{world.folder}/image.qcow2"):
        done = subprocess.run(
            [PROGRAM, "image", "pull", "--quiet", word],
            env=world.environment(home),
            cwd=world.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 and done.stdout.strip() == world.digest, done.stderr
    world.assert_right(home)
    words = [PROGRAM, "image", "rm", "--format", "json", world.digest[:12]]
    done = subprocess.run(words, env=world.environment(home), capture_output=True, check=True)
    assert json.loads(done.stdout)["Freed"] >= 8 * MIB, done.stdout
    assert world.list(home) == []


def two_at_once_share_one_download(world):
    home, before = world.new_home(), Handler.whole
    Handler.rate = 20 * MIB
    both = [
        subprocess.Popen(
            world.pull_words("good"),
            env=world.environment(home),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    assert [p.wait(60) for p in both] == [0, 0]
    assert Handler.whole == before + 1
    world.assert_right(home)
    Handler.rate = 0


def kills_at_any_moment(world):
    source, home = random.Random(), world.new_home()
    Handler.rate = 40 * MIB
    ready = 0
    for i in range(KILLS):
        child = subprocess.Popen(
            world.pull_words("good"),
            env=world.environment(home),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(source.uniform(0, 0.4))
        child.send_signal(signal.SIGKILL)
        child.wait()
        for image in world.list(home):
            if image["Ready"]:
                ready += 1
                world.assert_right(home)
        if ready and i % 2:
            shutil.rmtree(world.cached(home), ignore_errors=True)
    Handler.rate = 0
    done = world.pull(home, "good")
    assert done.returncode == 0, done.stderr
    world.assert_right(home)
    world.assert_no_draft(home)
    print(f"killed {KILLS} times, the image was whole after {ready} of them")


def full_disks(world):
    """From far too small to large enough: it works, or says how much is missing and cleans up."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        print("FULL DISKS ARE NOT TESTED: that needs root and unshare")
        return
    script = (
        'mount -t tmpfs -o size="$1" tmpfs "$2" || exit 99; shift 2; "$@"; status=$?; '
        'find "$HOME" -type f >"$OUT"; exit $status'
    )
    packed = os.path.join(world.folder, "packed.gz")
    with gzip.open(packed, "wb", 1) as file:
        file.write(world.image)
    works = 0
    for kind in ("good", "unsized", packed):
        for quarters in (1, 8, 20, 30, 33, 40, 50, 64, 65, 66, 70, 100, 160):
            home = world.new_home()
            names = os.path.join(world.folder, "names")
            words = world.pull_words(kind) if kind != packed else None
            words = words or [PROGRAM, "image", "pull", "--quiet", packed]
            done = subprocess.run(
                ["unshare", "-m", "sh", "-c", script, "sh", f"{quarters * 256}k", home] + words,
                env=world.environment(home, OUT=names),
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode == 99:
                print("FULL DISKS ARE NOT TESTED: tmpfs cannot be mounted here")
                return
            with open(names, encoding="utf-8") as file:
                left = file.read()
            assert ".tmp-" not in left, left
            if done.returncode == 0:
                works += 1
                assert ".raw" in left
                continue
            assert done.returncode == 125, (kind, quarters, done.returncode, done.stderr)
            assert "space" in done.stderr, (kind, quarters, done.stderr)
            assert " needed, " in done.stderr and " free" in done.stderr, done.stderr
            assert ".raw" not in left, left
    assert works >= 6, works


def no_room_for_what_is_made_of_it(world):
    """A packed image that would fit, but not what it is unpacked to: known at its beginning."""
    Handler.packed = gzip.compress(world.image, 1)
    home = world.new_home()
    script = 'mount -t tmpfs -o size="$1" tmpfs "$HOME" || exit 99; shift; "$@"; status=$?; ' \
        'find "$HOME" -name "*.part" -size +1024k; exit $status'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh",
         str(len(Handler.packed) * 3 // 2), PROGRAM, "image", "pull", "--quiet", "--image-sha256",
         hashlib.sha256(Handler.packed).hexdigest(), f"{world.url}/packed"],
        env=world.environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 99:
        print("A SMALL DISK IS NOT TESTED: tmpfs cannot be mounted here")
        return
    assert done.returncode == 125, done.stderr
    assert "not enough disk space for the download and the raw image" in done.stderr, done.stderr
    assert " needed, " in done.stderr and " free" in done.stderr, done.stderr
    assert done.stdout == "", done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder)
        for test in (
            servers_that_do_it_wrong,
            a_proxy_is_used,
            tls_is_verified,
            files_by_path_and_url,
            two_at_once_share_one_download,
            kills_at_any_moment,
            full_disks,
            no_room_for_what_is_made_of_it,
        ):
            began = time.monotonic()
            test(world)
            print(f"{test.__name__}: ok, {time.monotonic() - began:.1f} s", flush=True)
        world.server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
