#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""The macOS rows with nothing made up but macOS: our program as it is, strict stand-ins for
vmnet-run, krunkit, vfkit and launchd (tests/support/macos), real guests in QEMU on a real bridge
with a DHCP server, in a network namespace of this test's own. Machine a is vmnet-krunkit in a plain
process, b is vmnet-vfkit as launchd's job. Eight boots; each step is one test, and after a failed
step those that need it are not tried.
"""

import contextlib
import glob
import json
import os
import plistlib
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
MACOS = os.path.join(HERE, "../support/macos")
sys.path[:0] = [HERE, MACOS]
import harness  # noqa: E402
import launchd  # noqa: E402
import network  # noqa: E402
from harness import BUSYBOX, CLIENT, Failed, check  # noqa: E402

IMAGE = harness.image("fast")
NOWHERE = "/nonexistent/dhcpd_leases"
START_S = 600
EMULATION_FAULT = "Kernel panic - not syncing: IO-APIC + timer doesn't work!"


class World(harness.World):
    def __init__(self):
        super().__init__("a")
        self.network = network.World(os.path.join(self.top, "world"))
        self.network.__enter__()
        for name in ("vmnet-run", "vmnet-helper", "krunkit", "vfkit", "launchctl"):
            os.symlink(os.path.join(MACOS, name), os.path.join(self.bin, name))
        self.env |= self.network.environment | {
            "PODMAN_MACHINE_VMNET_MACOS": "26.2",
            "PMV_VFKIT_PATIENCE": "9",
            "PMV_QEMU": harness.find_program("qemu"),
            "PMV_VIRTIOFSD": harness.find_program("virtiofsd")}
        self.new_launchd("first")

    def new_launchd(self, name):
        """One that knows no job, with somebody logged in at the screen."""
        self.launchd = launchd.Launchd(os.path.join(self.top, "launchd", name)).__enter__()
        self.env |= self.launchd.environment

    def clean_up(self):
        self.launchd.close()
        super().clean_up()
        self.network.close()
        for path in glob.glob("/tmp/krunkit_timesync_*.sock"):  # krunkit leaves them
            if not os.path.exists(f"/proc/{path.split('_')[2].removesuffix('.sock')}"):
                os.unlink(path)

    def with_env(self, **more):
        """This world with other variables, for one call."""
        other = object.__new__(World)
        other.__dict__.update(self.__dict__)
        other.env = self.env | more
        return other

    def program(self, *argv, **more):
        """What is of b is launchd's."""
        kind = "launchd" if "b" in argv else "process"
        return super().program(*argv, env={"PODMAN_MACHINE_VMNET_SUPERVISOR": kind}, **more)

    def file(self, name, file):
        return os.path.join(self.home, ".local/share/podman-machine-vmnet/machines", name, file)

    def text(self, name, file):
        with open(self.file(name, file), encoding="utf-8", errors="replace") as opened:
            return opened.read()

    def print_logs(self):
        for name in ("a", "b"):
            for file in ("monitor.log", "vm.log", "status.json", "last-exit.json", "serial.log"):
                try:
                    text = self.text(name, file)[-4000:]
                except OSError:
                    continue
                print(f"# {name}/{file}\n" + "\n".join("#   " + s for s in text.splitlines()))

    def inspect(self, name="a"):
        return json.loads(self.program("inspect", name).stdout)[0]

    def ssh(self, name, command, **more):
        return self.program("ssh", "--username", "root", name, command, **more).stdout.strip()

    def address(self, name):
        return self.inspect(name)["Vmnet"]["Address"]

    def socket(self, name, what):
        return os.path.join(self.run_dir, "podman", f"{name}-{what}.sock")

    def log_since_start(self, name):
        return self.text(name, "monitor.log").rpartition('msg="starting"')[2]

    def find(self, name, program):
        """The process of that program that runs for the machine."""
        mac = json.loads(self.text(name, "machine.json"))["mac"]
        words = {pid: command_line(pid) for pid in self.processes()}
        runner = [pid for pid in words if b"vmnet-run\0" in words[pid] and
                  mac.encode() in words[pid]]
        found = [pid for pid in words if f"/{program}\0--fd".encode() in words[pid] and
                 os.getpgid(pid) in runner]
        check(len(found) == 1, f"{program} of {name}: {found} of {words}")
        return found[0]

    def hypervisor(self, name):
        """The processes of the machine's hypervisor: the stand-in, and QEMU that it runs."""
        disk = f"/machines/{name}/disk.raw".encode()
        words = {pid: command_line(pid) for pid in self.processes()}
        return [pid for pid in words if disk in words[pid] and b"vmnet-run" not in words[pid]]

    def wait_for(self, what, condition, seconds=60):
        until = time.monotonic() + seconds
        while not (value := condition()):
            check(time.monotonic() < until, f"not within {seconds} s: {what}")
            time.sleep(0.2)
        return value


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def start(world, name, **env):
    # Nothing of ours gets through launchd to the stand-ins but what it was told.
    told = {word: value for word, value in (world.env | env).items() if word.startswith("PMV_")}
    if name == "b":
        world.launchd.setenv(**told)
    for attempt in range(3):
        done = world.with_env(**env).program("start", "--timeout", str(START_S), name, code=None,
                                             timeout=START_S + 60)
        # Emulated on a busy host, Linux may find that its timer stands still while it looks at it.
        if done.returncode == 0 or EMULATION_FAULT not in world.text(name, "serial.log"):
            break
        print(f"# the guest's kernel did not find its timer, attempt {attempt + 1}", flush=True)
    check(f'Machine "{name}" started successfully\n' in done.stdout, done.stdout + done.stderr)
    check(world.inspect(name)["State"] == "running", "not running")


@contextlib.contextmanager
def starting(world, name, **env):
    """In the background, while something else is done."""
    failures = []

    def run():
        try:
            start(world, name, **env)
        except Failed as failed:
            failures.append(failed)
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    check(not failures, str(failures))


def stop(world, name):
    """Ends what start() began, and says how it ended."""
    done = world.program("stop", name)
    check(done.stdout == f'Machine "{name}" stopped successfully\n', done.stdout)
    check(world.inspect(name)["State"] == "stopped", "not stopped")
    last = json.loads(world.text(name, "last-exit.json"))
    check(last["expected"], str(last))
    return last["wait_status"], world.log_since_start(name)


def was_clean(world, name):
    """Whether the file system of the last run was unmounted: the kernel says when it is not."""
    return "recover" not in world.ssh(name, "dmesg | grep -i 'ext4.*recover' || true")


def create(world, name, provider, memory):
    done = world.program("init", "--provider", provider, "--image", IMAGE, "--disk-size", "6",
                         "--cpus", "2", "--memory", memory,
                         "--volume", f"{world.shared}:/mnt/both ways",
                         "--volume", f"{world.read_only}:/mnt/read:ro", name)
    check("Machine init complete\n" in done.stdout, done.stdout)


def check_volumes(world, name):
    check(world.ssh(name, "cat '/mnt/both ways/example' /mnt/read/example") ==
          "from the host\nfrom the host", "not seen in the guest")
    world.ssh(name, f"echo from the guest >'/mnt/both ways/guest-{name}'")
    check(world.read(os.path.join(world.shared, f"guest-{name}")) == "from the guest\n",
          "not here")
    world.program("ssh", "--username", "root", name, "touch /mnt/read/x", code=1)
    check(os.listdir(world.read_only) == ["example"], "the read-only folder was changed")


def check_api_socket(world, name):
    path = world.socket(name, "api")
    world.wait_for("the socket", lambda: os.path.exists(path))
    check(os.stat(path).st_mode & 0o777 == 0o600, "not ours alone")
    client = (CLIENT, "--url", f"unix://{path}")
    world.run(*client, "import", BUSYBOX, "localhost/again")
    saved = os.path.join(world.top, f"saved-{name}.tar")
    world.run(*client, "save", "-o", saved, "localhost/again")
    check(os.path.getsize(saved) > os.path.getsize(BUSYBOX) // 2, "too little")
    out = world.run(*client, "run", "--rm", "-i", "localhost/again", "sh", "-c",
                    "cat; echo over", stdin="some input\n", timeout=120).stdout
    check(out == "some input\nover\n", repr(out))


def cut_off(world, name, *kept):
    """No way to the guest is left, neither the network nor any socket but those kept."""
    os.kill(world.find(name, "vmnet-helper"), signal.SIGKILL)
    for path in glob.glob(world.socket(name, "*")):
        if path not in [world.socket(name, what) for what in kept]:
            os.unlink(path)


def launchd_job(world, name):
    """What `launchctl print` says of the machine's job, or None."""
    target = f"gui/{os.getuid()}/io.github.podman-machine-vmnet.{name}"
    done = world.run("launchctl", "print", target, code=None)
    return done.stdout if done.returncode == 0 else None


# --- the steps, in order ------------------------------------------------------------------------

def init(world):
    """vmnet-krunkit: init"""
    world.share()
    create(world, "a", "vmnet-krunkit", "1536")


def krunkit_crashes(world):
    """krunkit dies of SIGSEGV at boot: start says so at once"""
    begun = time.monotonic()
    done = world.with_env(PMV_KRUNKIT_FAULT="segv").program("start", "a", code=125)
    check("the VM ended while starting: exit status 139, as after signal 11 (Segmentation fault)"
          in done.stderr, done.stderr)
    check(time.monotonic() - begun < 20, "not at once")
    check(world.inspect("a")["State"] == "stopped", "not stopped")


def first_boot(world):
    """first boot; the address by the guest's own report, with no leases"""
    start(world, "a", PODMAN_MACHINE_VMNET_LEASES=NOWHERE)
    address = world.address("a")
    check(address in world.ssh("a", "hostname -I").split(), address)
    check(f"the guest reports: done, at {address}" in world.log_since_start("a"), "no report")
    argv = world.text("a", "vm.argv")
    check("--enable-tso" in argv and "offloading=on" in argv, argv)


def dhcp(world):
    """the address is of DHCP, in bootpd's file as bootpd writes it"""
    mac = json.loads(world.text("a", "machine.json"))["mac"]
    stripped = ":".join(f"{int(byte, 16):x}" for byte in mac.split(":"))
    leases = [lease for lease in world.network.read_leases()
              if lease["hw_address"] == f"1,{stripped}"]
    check([lease["ip_address"] for lease in leases] == [world.address("a")], str(leases))


def new_address(world):
    """an address that the guest gets later is reported: long after boot, only the kernel tells"""
    card = "$(ip -4 route show default | awk '{ print $5; exit }')"
    world.ssh("a", f"ip -6 address add fd00:5::9/64 dev {card}")
    world.wait_for("its report", lambda: "fd00:5::9" in world.text("a", "report.json"))
    world.ssh("a", f"ip -6 address del fd00:5::9/64 dev {card}")
    world.wait_for("its report", lambda: "fd00:5::9" not in world.text("a", "report.json"))


def ssh(world):
    """ssh: command, exit status, both users"""
    check(world.program("ssh", "--username", "core", "a", "id -un").stdout == "core\n", "not core")
    world.program("ssh", "a", "exit 7", code=7)
    check(world.ssh("a", "hostname") == "a", "another name")


def volumes(world):
    """folders of the host over virtio-fs, of a path that krunkit's parser would cut"""
    check_volumes(world, "a")


def podman(world):
    """podman over our connection; a published port at the machine's own address"""
    check("Server:" in world.podman("a-root", "version").stdout, "no server")
    world.podman("a-root", "import", BUSYBOX, "localhost/busybox")
    world.podman("a-root", "run", "-d", "--name", "web", "-p", "8080:80", "localhost/busybox",
                 "httpd", "-f", "-p", "80", "-h", "/www")
    url = f"http://{world.address('a')}:8080/"

    def fetch():
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return b"hello" in answer.read()
        except OSError:
            return False
    world.wait_for(f"an answer at {url}", fetch)
    world.podman("a-root", "rm", "-f", "-t", "0", "web")


def api_socket(world):
    """podman's API at the unix socket: much in both directions, and input that ends"""
    check_api_socket(world, "a")


def helper_killed(world):
    """vmnet-helper dies: reported; ssh goes on over vsock; stop by vsock"""
    os.kill(world.find("a", "vmnet-helper"), signal.SIGKILL)
    detail = world.wait_for("the report", lambda: world.inspect("a")["Vmnet"]["Detail"])
    check("vmnet-helper has ended" in detail, detail)
    check(world.ssh("a", "echo here") == "here", "no ssh")
    status, log = stop(world, "a")
    check(status == 0 and "asked the guest to power off" in log, f"{status}\n{log}")
    check("power button" not in log and "sending signal" not in log, log)


def has_address(world, name):
    """inspect knows the guest's own, whichever way has told it."""
    own = world.ssh(name, "hostname -I").split()[0]
    world.wait_for("its address", lambda: world.address(name) == own)


def by_lease(world):
    """set; an older krunkit; the address by its lease, with no vsock; stop by the power button"""
    world.program("set", "--memory", "1280", "a")
    start(world, "a", PMV_KRUNKIT_VERSION="1.2.1", PMV_VSOCK="off")
    memory = int(world.ssh("a", "awk '/MemTotal/ {print $2}' /proc/meminfo"))
    check(memory < 1280 << 10, f"{memory} KiB of memory")
    check(was_clean(world, "a"), "the first stop was not clean")
    check(not os.path.exists(world.file("a", "report.json")), "there was a report")
    has_address(world, "a")
    os.kill(world.find("a", "vmnet-helper"), signal.SIGKILL)
    status, log = stop(world, "a")
    check(status == 0 and "pressed the VM's power button" in log, f"{status}\n{log}")
    check("sending signal" not in log, log)


def by_mdns(world):
    """krunkit 1.0; the address by mDNS, with neither vsock nor leases; SIGTERM cuts the power"""
    start(world, "a", PMV_KRUNKIT_VERSION="1.0.0", PMV_VSOCK="off",
          PODMAN_MACHINE_VMNET_LEASES=NOWHERE)
    check(was_clean(world, "a"), "the power button was not clean")
    has_address(world, "a")
    world.ssh("a", "touch /root/unsaved")
    os.kill(world.find("a", "vmnet-helper"), signal.SIGKILL)
    os.unlink(world.socket("a", "control"))
    status, log = stop(world, "a")
    check("sending signal 15" in log and "sending signal 9" not in log, log)
    check(status != 0, "it says that the guest has powered off")


def two_machines(world):
    """older tools; a second machine, vmnet-vfkit, on the same bridge: each reaches the other"""
    with starting(world, "a", PMV_KRUNKIT_VERSION="1.1.1"):
        create(world, "b", "vmnet-vfkit", "1280")
        start(world, "b", PMV_VFKIT_VERSION="0.6.1")
    for name in ("a", "b"):
        has_address(world, name)
    a, b = world.address("a"), world.address("b")
    check(a != b, a)
    world.ssh("a", f"ping -c 1 -W 5 {b}")
    world.ssh("b", f"ping -c 1 -W 5 {a}")
    check("Server:" in world.podman("b-root", "version").stdout, "no server")
    argv = world.text("b", "vm.argv")
    check("--enable-tso" not in argv, argv)


def recovers(world):
    """what SIGTERM to krunkit did to the file system was recovered"""
    check(not was_clean(world, "a"), "SIGTERM did not cut the power: nothing to recover")


def vfkit_launchd(world):
    """vmnet-vfkit: the machine is launchd's job"""
    with open(world.file("b", "launchd.plist"), "rb") as file:
        plist = plistlib.load(file)
    job, status = launchd_job(world, "b"), json.loads(world.text("b", "status.json"))
    check(job and "\tstate = running\n" in job, job)
    check(f"\tpid = {status['monitor_pid']}\n" in job, job)
    words = [os.fsencode(word) for word in plist["ProgramArguments"]]
    check(command_line(status["monitor_pid"]).split(b"\0")[:-1] == words, str(words))
    with open(f"/proc/{status['monitor_pid']}/stat", encoding="utf-8") as file:
        parent = int(file.read().rpartition(")")[2].split()[1])
    check(parent == world.launchd.process.pid, f"the child of {command_line(parent)}")
    check(launchd_job(world, "a") is None, "a has a job, too")


def vfkit_volumes(world):
    """vmnet-vfkit: folders of the host over virtio-fs"""
    check_volumes(world, "b")


def vfkit_api_socket(world):
    """vmnet-vfkit: podman's API at the unix socket"""
    check_api_socket(world, "b")


def vfkit_button(world):
    """vmnet-vfkit: stop by the power button, told through launchd"""
    cut_off(world, "b", "control")
    status, log = stop(world, "b")
    check(status == 0 and "pressed the VM's power button" in log, f"{status}\n{log}")
    check("asked the guest" not in log and "sending signal" not in log, log)
    kills = world.launchd.calls("kill")
    check(len(kills) == 1 and kills[0][1] == "SIGTERM", str(kills))
    job = launchd_job(world, "b")
    check(not job or "\tstate = not running\n" in job, job)


def host_reboot(world):
    """the host is reset: all processes gone, runtime folder empty; then both start, isolated"""
    world.launchd.close()
    for pid in world.processes():
        os.kill(pid, signal.SIGKILL)
    world.wait_for("the end of all", lambda: not world.processes())
    subprocess.run(["rm", "-rf", world.run_dir], check=True)
    os.mkdir(world.run_dir, 0o700)
    world.new_launchd("second")
    for name in ("a", "b"):
        check(world.inspect(name)["State"] == "stopped", f"{name} is not stopped")
        world.program("set", "--isolated", name)
    with starting(world, "a"):
        start(world, "b")
    check(was_clean(world, "b"), "the power button was not clean")


def isolated(world):
    """isolated machines reach the host and not each other"""
    a, b = world.address("a"), world.address("b")
    world.ssh("a", "ping -c 1 -W 5 192.168.64.1")
    check("0 received" in world.ssh("a", f"ping -c 2 -W 2 {b}; true"), "a reaches b")
    check("0 received" in world.ssh("b", f"ping -c 2 -W 2 {a}; true"), "b reaches a")
    for address in (a, b):
        socket.create_connection((address, 22), timeout=10).close()


def vfkit_sigterm(world):
    """vmnet-vfkit: stop by SIGTERM, at which vfkit presses the button itself; the next boot"""
    cut_off(world, "b")
    status, log = stop(world, "b")
    check("cannot press the VM's power button" in log and "sending signal 15" in log, log)
    check("sending signal 9" not in log, log)
    check(os.waitstatus_to_exitcode(status) == 128 + signal.SIGTERM, str(status))
    cut = "the guest did not stop within" in world.text("b", "vm.log")
    start(world, "b")
    # Emulated on a busy host it may not be quick enough for the time that our ladder gives vfkit.
    check(cut or was_clean(world, "b"), "vfkit did not press the button")
    print(f"# {'cut' if cut else 'clean'} after SIGTERM")


def logout(world):
    """logout: launchd ends the session's jobs; the guest of b shuts down cleanly, by vsock"""
    world.launchd.logout()
    check(world.inspect("b")["State"] == "stopped", "not stopped")
    last, log = json.loads(world.text("b", "last-exit.json")), world.log_since_start("b")
    check(last["expected"] and last["wait_status"] == 0, str(last))
    check("asked the guest to power off" in log and "power button" not in log, log)
    check("sending signal" not in log, "forced")


def remove(world):
    """rm: a frozen hypervisor is killed; nothing is left"""
    frozen = world.hypervisor("a")
    check(len(frozen) == 2, str([command_line(pid) for pid in frozen]))
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    with open(world.file("a", "monitor.log"), encoding="utf-8") as log:
        for name in ("a", "b"):
            world.program("rm", "--force", name)
            check(not os.path.exists(world.file(name, "")), "the folder is left")
        text = log.read()
    check("sending signal 15" in text and "sending signal 9" in text, text)
    world.wait_for("the end of all processes", lambda: not world.processes())
    check(not world.connections().get("Connections"), str(world.connections()))
    left = os.listdir(os.path.join(world.run_dir, "podman"))
    check(left == [], f"left in the runtime folder: {left}")


STEPS = [init, krunkit_crashes, first_boot, dhcp, new_address, ssh, volumes, podman, api_socket,
         helper_killed, by_lease, by_mdns, two_machines, recovers, vfkit_launchd, vfkit_volumes,
         vfkit_api_socket, vfkit_button, host_reboot, isolated, vfkit_sigterm, logout, remove]
VITAL = (init, first_boot, two_machines, host_reboot)


def main():
    reason = harness.missing((IMAGE, CLIENT, BUSYBOX)) or network.missing()
    if reason:
        return harness.skip(reason)
    network.enter()
    world = World()
    wanted = os.environ.get("PMV_STEPS", "").split()
    steps = [step for step in STEPS if not wanted or step.__name__ in wanted]
    return harness.run_and_clean_up(world, steps, VITAL)


if __name__ == "__main__":
    sys.exit(main())
