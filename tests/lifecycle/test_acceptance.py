#!/usr/bin/env python3
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""contrib/macos/acceptance.sh, with stand-ins: what it can try here passes, and what is broken
fails."""

import http.server
import os
import re
import socket
import sys
import threading

sys.dont_write_bytecode = True
import harness  # noqa: E402
import mac  # noqa: E402

SCRIPT = os.path.join(harness.HERE, "../../contrib/macos/acceptance.sh")
PARTS = [SCRIPT] + [SCRIPT.replace(".sh", f"-{part}.sh") for part in ("network", "session")]

# podman's client: `run -p PORT:80` publishes that port in the stand-in guest, which serves nothing.
PODMAN = """#!/bin/sh
cd {folder} || exit
publish() {{ echo "$1" >podman-root.new && mv podman-root.new podman-root.json &&
  echo start >>podman-root.events; }}
shift 2
case $1 in
  run)
    [ "$2 $3 $4 $5" = "-d --name pmv-port -p" ] || exit 125
    publish '[{{"Id": "0", "Ports": [{{"host_ip": "127.0.0.2", "host_port": '"${{6%:80}}"',
      "protocol": "tcp", "container_port": 80, "range": 1}}]}}]' ;;
  rm) {rm} publish '[]' ;;
esac
"""

# Remote Login as the same user, with a session's environment or more.
SSH = """#!/bin/sh
for word; do
  [ "$word" != localhost ] || {{ for command; do :; done; exec env {more} sh -c "$command"; }}
done
exec /usr/bin/ssh "$@"
"""


class Acceptance:
    def accept(self, *argv, provider="qemu", code=0, image=None):
        done = self.run_program("--program", harness.BINARY, "--provider", provider, "--image",
                                image or self.image(), "--timeout", "60", *argv, program=SCRIPT,
                                timeout=240)
        self.assertEqual(done.code, code, str(done))
        lines = re.findall(r"^(pass|FAIL|n/a|hand) +(\w+): ", done.out, re.M)
        self.results = {item: word for word, item in lines}
        return done

    def assert_results(self, done, word, items):
        for item in items.split():
            self.assertEqual(self.results.get(item), word, f"{item}\n{done}")

    def only(self, items):
        return [word for item in items.split() for word in ("--only", item)]

    def put_program(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def assert_no_folder_left(self):
        self.assertEqual([name for name in os.listdir(self.home) if "pmv-accept" in name], [])


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"served\n")

    def log_message(self, *_):
        pass


class OnLinux(Acceptance, harness.MachineTest):
    def test_qemu(self):
        """From init to rm, and nothing is left."""
        # The stand-in for podman's API knows no more than a ping.
        self.env["PATH"] = self.without("podman", "docker")
        done = self.accept()
        self.assert_results(done, "pass", "tools doctor init start ssh share comma api clock monitor "
                            "logout stop again rm")
        self.assert_results(done, "n/a", "address reach podman container port localhost throughput "
                            "offload docker host bridged neighbours isolation launchd helper "
                            "overssh autostart vfkit sleep session")
        self.assertIn(" 0 failed, ", done.out)
        self.assert_nothing_left("pmv-accept", "pmv-accept-a")
        self.assert_no_folder_left()

    def without(self, *names):
        """A PATH on which these programs are not."""
        folder = os.path.join(self.top, "path")
        os.mkdir(folder)
        for source in self.env["PATH"].split(":"):
            for name in os.listdir(source) if os.path.isdir(source) else []:
                link = os.path.join(folder, name)
                if name not in names and not os.path.lexists(link):
                    os.symlink(os.path.join(source, name), link)
        return f"{self.bin}:{folder}"

    def test_a_machine_that_does_not_start(self):
        self.behave(die={"after": 0.1, "status": 3, "log": ["could not map the moon"]})
        done = self.accept("--only", "init", "--only", "start", "--only", "ssh", code=1)
        self.assert_results(done, "pass", "init")
        self.assert_results(done, "FAIL", "start")
        self.assert_results(done, "n/a", "ssh")
        self.assertIn("could not map the moon", done.out)
        self.assert_nothing_left("pmv-accept")

    def test_what_is_broken_fails(self):
        self.behave(poweroff="ignored")  # the power button has to do it
        done = self.accept("--only", "stop", "--keep", code=1)
        self.assertEqual(self.results, {}, "--keep leaves it running")
        self.ok("init", "--provider", "qemu", "--image", self.image(), "--disk-size", "1", "--now",
                "pmv-accept")
        os.chmod(self.inspect("pmv-accept")["ConnectionInfo"]["PodmanSocket"]["Path"], 0o644)
        done = self.accept("--only", "init", "--only", "api", code=1)
        self.assert_results(done, "FAIL", "init api")
        self.assertIn("its mode is 644", done.out)
        # A machine that was there before stays.
        self.assertEqual(self.state("pmv-accept"), "running")

    def test_folders_that_the_guest_does_not_see(self):
        self.behave(hides=[self.home])
        done = self.accept(*self.only("share comma"), code=1)
        self.assert_results(done, "FAIL", "share comma")
        self.assertEqual(done.out.count("the guest does not see '"), 2, str(done))
        self.assert_nothing_left("pmv-accept", "pmv-accept-a")
        self.assert_no_folder_left()

    def test_a_file_system_that_was_not_unmounted(self):
        self.behave(dmesg="[    1.234567] EXT4-fs (vda1): recovery complete")
        done = self.accept("--only", "logout", code=1)
        self.assert_results(done, "FAIL", "logout")
        self.assertIn("EXT4-fs (vda1): recovery complete", done.out)

    def test_a_logout_that_the_guest_does_not_hear(self):
        self.behave(poweroff="ignored", power_button="ignored")
        done = self.accept("--only", "logout", code=1)
        self.assert_results(done, "FAIL", "logout")
        self.assertIn("it took a signal", done.out)

    def serve(self):
        """What the container would, at the address of the guest."""
        http.server.ThreadingHTTPServer.allow_reuse_address = True
        server = http.server.ThreadingHTTPServer(("127.0.0.2", 18081), Page)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def test_localhost(self):
        self.serve()
        self.put_program("podman", PODMAN.format(folder=self.bin, rm=""))
        self.ok("init", "--provider", "qemu", "--image", self.image(), "--disk-size", "1",
                "--localhost-ports=false", "pmv-accept")
        done = self.accept("--only", "localhost")
        self.assert_results(done, "pass", "localhost")
        self.assertFalse(self.inspect("pmv-accept")["Vmnet"]["LocalhostPorts"])
        self.assertEqual(self.state("pmv-accept"), "stopped")

    def test_localhost_without_a_server(self):
        self.put_program("podman", PODMAN.format(folder=self.bin, rm=""))
        done = self.accept("--only", "localhost", code=1)
        self.assert_results(done, "FAIL", "localhost")
        self.assertIn("no answer at http://127.0.0.1:18081/", done.out)
        self.assert_nothing_left("pmv-accept")

    def test_keep(self):
        self.accept("--only", "start", "--keep")
        self.assertEqual(self.state("pmv-accept"), "running")
        self.accept("--only", "clock", "--only", "rm")
        self.assert_nothing_left("pmv-accept")

    def test_options(self):
        for argv in (["--only", "moon"], ["--moon"], ["--image"], ["--bridge"], ["--program", "/moon"]):
            done = self.run_program(*argv, program=SCRIPT)
            self.assertEqual((done.code, done.out), (2, ""), str(done))
        items = self.run_program("--list", program=SCRIPT).out.split()
        self.assertEqual(len(items), len(set(items)))
        for item in items:
            self.assertIn(f"\nitem_{item}() {{\n", "".join(map(self.text, PARTS)))


class OnMac(Acceptance, mac.MacTest):
    def test_vmnet(self):
        only = ("tools init start address ssh share comma api offload launchd monitor helper logout "
                "stop again autostart rm")
        done = self.accept(*self.only(only), provider="vmnet-krunkit")
        self.assert_results(done, "pass", only)
        self.assertIn("192.168.", done.out)
        self.assert_nothing_left("pmv-accept", "pmv-accept-a")
        self.assert_no_folder_left()

    def outside(self, times):
        """The stand-in guest has this network: the way out is shut after so many connections."""
        server = socket.create_server(("127.0.0.1", 0))
        port = server.getsockname()[1]
        self.addCleanup(server.close)

        def take():
            for _ in range(times):
                server.accept()[0].close()
            server.close()
        threading.Thread(target=take, daemon=True).start()
        return f"127.0.0.1:{port}"

    def test_networks(self):
        self.create(name="pmv-accept")
        done = self.accept(*self.only("host bridged"), "--outside", self.outside(1), "--bridge", "en0",
                           provider="vmnet-krunkit")
        self.assert_results(done, "pass", "host bridged")
        self.assertRegex(done.out, r"\n +192\.168\.128\.\d+\n(.*\n)* +10\.44\.0\.\d+\n")
        self.assertEqual(self.inspect("pmv-accept")["Vmnet"]["Network"], "shared")

    def test_a_host_network_with_a_way_out(self):
        self.create(name="pmv-accept")
        done = self.accept(*self.only("host"), "--outside", self.outside(2), code=1,
                           provider="vmnet-krunkit")
        self.assert_results(done, "FAIL", "host")
        self.assertIn(" is 'open')", done.out)
        self.assertEqual(self.inspect("pmv-accept")["Vmnet"]["Network"], "shared")

    def test_networks_that_cannot_be_tried(self):
        done = self.accept(*self.only("start host bridged overssh"), "--outside", self.outside(0),
                           provider="vmnet-krunkit")
        self.assert_results(done, "n/a", "host bridged overssh")
        self.assertIn("not asked for (see --bridge)", done.out)
        self.assertIn("no ssh to localhost without a question", done.out)


class WithoutScreen(Acceptance, mac.MacTest):
    gui = False

    def test_over_ssh(self):
        self.put_program("ssh", SSH.format(more=""))
        done = self.accept("--only", "overssh", provider="vmnet-krunkit")
        self.assert_results(done, "pass", "overssh")
        self.assertIn(f"kept in user/{os.getuid()}\n", done.out)
        self.assert_nothing_left("pmv-accept")

    def test_a_monitor_that_launchd_does_not_keep(self):
        self.put_program("ssh", SSH.format(more="PODMAN_MACHINE_VMNET_SUPERVISOR=process"))
        done = self.accept("--only", "overssh", provider="vmnet-krunkit", code=1)
        self.assert_results(done, "FAIL", "overssh")
        self.assertIn("launchd does not keep the monitor", done.out)


if __name__ == "__main__":
    mac.main()
