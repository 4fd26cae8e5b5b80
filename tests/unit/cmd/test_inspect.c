// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/cmd/program.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/lock.h"
#include "provider/status.h"

static const int64_t created_ns = 1793678706002920583; // 2026-11-03T04:05:06.002920583Z

static void json_of_a_stopped_machine(void **state)
{
    put_machine("box", "qemu", created_ns, 40001);
    const char *home = *state;
    cleanup_free char *wanted =
        xasprintf("[\n"
                  "     {\n"
                  "          \"ConfigDir\": {\n"
                  "               \"Path\": \"%s/.local/share/podman-machine-vmnet/machines/box\"\n"
                  "          },\n"
                  "          \"ConnectionInfo\": {\n"
                  "               \"PodmanSocket\": {\n"
                  "                    \"Path\": \"%s/run/podman/box-api.sock\"\n"
                  "               },\n"
                  "               \"PodmanPipe\": null\n"
                  "          },\n"
                  "          \"Created\": \"2026-11-03T04:05:06.002920583Z\",\n"
                  "          \"LastUp\": \"0001-01-01T00:00:00Z\",\n"
                  "          \"Name\": \"box\",\n"
                  "          \"Resources\": {\n"
                  "               \"CPUs\": 4,\n"
                  "               \"DiskSize\": 100,\n"
                  "               \"Memory\": 2048,\n"
                  "               \"USBs\": []\n"
                  "          },\n"
                  "          \"SSHConfig\": {\n"
                  "               \"IdentityPath\": \"/keys/<machine>\",\n"
                  "               \"Port\": 40001,\n"
                  "               \"RemoteUsername\": \"core\"\n"
                  "          },\n"
                  "          \"State\": \"stopped\",\n"
                  "          \"UserModeNetworking\": true,\n"
                  "          \"Rootful\": true,\n"
                  "          \"Rosetta\": false,\n"
                  "          \"Vmnet\": {\n"
                  "               \"Provider\": \"qemu\",\n"
                  "               \"Phase\": \"\",\n"
                  "               \"Detail\": \"\",\n"
                  "               \"Supervised\": false,\n"
                  "               \"Address\": \"\",\n"
                  "               \"LastExit\": null,\n"
                  "               \"Network\": \"\",\n"
                  "               \"Isolated\": false,\n"
                  "               \"Offload\": \"\",\n"
                  "               \"DNS\": [],\n"
                  "               \"RestartPolicy\": \"no\",\n"
                  "               \"Autostart\": false,\n"
                  "               \"Mounts\": [],\n"
                  "               \"LocalhostPorts\": false,\n"
                  "               \"Ports\": []\n"
                  "          }\n"
                  "     }\n"
                  "]\n",
                  home, home);
    program_gives(state, "inspect box", 0, wanted, "");
    program_gives(state, "inspect --format json box", 0, wanted, "");
}

static void a_running_machine(void **state)
{
    struct error err;
    struct lock lock;
    put_machine("podman-machine-default", "vmnet-krunkit", created_ns, 0);
    cleanup_free char *path = machine_path("podman-machine-default", MACHINE_MONITOR_LOCK);
    struct status status = {.phase = PHASE_READY,
                            .changed_ns = created_ns,
                            .monitor_pid = getpid(),
                            .host = (char[]){"192.168.105.7"},
                            .port = 22};
    struct last_exit last = {
        .at_ns = created_ns, .wait_status = 3 << 8, .log = (char[]){"no memory"}};
    assert_ok(lock_take(&lock, path, 0, &err), err);
    assert_ok(lock_write_pid(&lock, getpid(), &err), err);
    assert_ok(status_write("podman-machine-default", &status, &err), err);
    cleanup_free char *ports = machine_path("podman-machine-default", MACHINE_PORTS);
    put_text(ports, "{\"ports\":[{\"Port\":8080,\"Protocol\":\"tcp\",\"Address\":\"127.0.0.1\","
                    "\"Forwarded\":true,\"Reason\":\"\"}]}");
    assert_ok(last_exit_write("podman-machine-default", &last, &err), err);

    program_gives(state, "inspect --format '{{.State}} {{.UserModeNetworking}}'", 0,
                  "running false\n", "");
    program_gives(
        state, "inspect --format {{.Vmnet}}", 0,
        "{vmnet-krunkit ready  true 192.168.105.7 &{2026-11-03 04:05:06.002920583 +0000 "
        "UTC exit status 3 false no memory} shared false auto [] no false [] false [{8080 tcp "
        "127.0.0.1 true }]}\n",
        "");
    program_gives(state, "inspect --format '{{json .Vmnet.LastExit}}'", 0,
                  "{\"At\":\"2026-11-03T04:05:06.002920583Z\",\"Status\":\"exit status 3\","
                  "\"Expected\":false,\"Log\":\"no memory\"}\n",
                  "");
    program_gives(state, "inspect --format '{{.LastUp.Format \"2006-01-02T15:04:05Z07:00\"}}'", 0,
                  "2026-11-03T04:05:06Z\n", "");
    program_gives(state, "inspect --format '{{range .Vmnet.Ports}}{{.Port}}{{end}}'", 0, "8080\n",
                  "");
    lock_release(&lock);
    program_gives(state, "inspect --format {{.Vmnet.Ports}}", 0, "[]\n", "");
}

static void templates(void **state)
{
    put_machine("a", "qemu", created_ns, 40001);
    put_machine("b", "qemu", created_ns, 40002);
    const char *home = *state;
    cleanup_free char *socket = xasprintf("%s/run/podman/a-api.sock\n", home);
    program_gives(state, "inspect --format {{.ConnectionInfo.PodmanSocket.Path}} a", 0, socket, "");
    program_gives(state, "inspect a b --format {{.Name}}\\t{{.SSHConfig.Port}}", 0,
                  "a\t40001\nb\t40002\n", "");
    program_gives(state, "inspect --format '{{\"\\n\"}}' a", 0, "\n", "");
    program_gives(state, "inspect --format {{.Abcde}} a", 125, "",
                  "Error: template: inspect:1:13: executing \"inspect\" at <.Abcde>: can't "
                  "evaluate field Abcde in type machine.InspectInfo\n");
    program_gives(state, "inspect --format {{.Name a", 125, "",
                  "Error: template: inspect:1: bad character U+007B '{'\n");
}

static void unknown_names(void **state)
{
    put_machine("a", "qemu", created_ns, 40001);
    program_gives(state, "inspect", 125, "[]\n",
                  "Error: podman-machine-default: VM does not exist\n");
    program_gives(state, "inspect ''", 125, "[]\n", "Error: : VM does not exist\n");
    program_gives(state, "inspect x ../a y", 125, "[]\n",
                  "Error: x: VM does not exist\nError: ../a: VM does not exist\n"
                  "Error: y: VM does not exist\n");
    program_gives(state, "inspect x a --format {{.Name}}", 125, "a\n",
                  "Error: x: VM does not exist\n");
    program_gives(
        state, "inspect x a --format {{.Nope}}", 125, "",
        "Error: x: VM does not exist\nError: template: inspect:1:13: executing "
        "\"inspect\" at <.Nope>: can't evaluate field Nope in type machine.InspectInfo\n");
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, temp_home_setup, temp_home_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(json_of_a_stopped_machine),
        FRESH(a_running_machine),
        FRESH(templates),
        FRESH(unknown_names),
    };
    return cmocka_run_group_tests_name("inspect", tests, NULL, NULL);
}
