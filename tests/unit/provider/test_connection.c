// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "provider/connection.h"

// What podman 6 itself writes for two machines' connections, but without IsMachine.
#define VM(host)                                                                    \
    "\"vm\":{\"URI\":\"ssh://core@" host ":2222/run/user/501/podman/podman.sock\"," \
    "\"Identity\":\"/keys/id\"}"
#define VM_ROOT(host)                                                           \
    "\"vm-root\":{\"URI\":\"ssh://root@" host ":2222/run/podman/podman.sock\"," \
    "\"Identity\":\"/keys/id\"}"
#define GOLDEN(name, host)                 \
    "{\"Connection\":{\"Default\":\"" name \
    "\",\"Connections\":{" VM(host) "," VM_ROOT(host) "}},\"Farm\":{}}\n"
#define LOCAL "127.0.0.1"

static const struct connection vm = {.machine = "vm",
                                     .host = LOCAL,
                                     .port = 2222,
                                     .user = "core",
                                     .uid = 501,
                                     .identity = "/keys/id"};

// Every test gets a file of this name that does not exist yet.
static char *fresh_file(void **state)
{
    static int count;
    cleanup_free char *name = xasprintf("connections.%d.json", ++count);
    return temp_path(state, name);
}

static void expect(const char *file, const char *wanted)
{
    cleanup_free char *text = get_text(file);
    assert_string_equal(text, wanted);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_return_code(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void writes_what_podman_writes(void **state)
{
    struct error err;
    cleanup_free char *folder = temp_path(state, "config/containers");
    cleanup_free char *file = xasprintf("%s/podman-connections.json", folder);
    assert_ok(connection_check_free(file, "vm", &err), err);
    assert_ok(connection_remove(file, "vm", NULL, &err), err);
    assert_false(file_exists(folder));

    assert_ok(connection_add(file, &vm, &err), err);
    expect(file, GOLDEN("vm", LOCAL));
    assert_int_equal(mode_of(file), 0644);
    assert_int_equal(mode_of(folder), 0700);

    struct connection moved = vm;
    moved.rootful = true; // not the first of all: the default stays
    moved.host = "fe80::1%en0";
    assert_ok(connection_add(file, &moved, &err), err);
    expect(file, GOLDEN("vm", "[fe80::1%25en0]"));
    assert_ok(connection_remove(file, "vm", NULL, &err), err);
    expect(file, "{\"Connection\":{},\"Farm\":{}}\n");

    moved.host = LOCAL;
    assert_ok(connection_add(file, &moved, &err), err);
    expect(file, GOLDEN("vm-root", LOCAL));
}

static void takes_names_once(void **state)
{
    struct error err;
    cleanup_free char *file = fresh_file(state);
    assert_ok(connection_add(file, &vm, &err), err);
    assert_fails(connection_check_free(file, "vm", &err), err, EEXIST,
                 "system connection \"vm\" already exists. consider a different machine name or "
                 "remove the connection with `podman system connection rm`");
    assert_ok(connection_check_free(file, "v", &err), err);
    put_text(file, "{\"Connection\":{\"Connections\":{\"a-root\":{\"URI\":\"ssh://a:1/\"}}}}");
    assert_fails(connection_check_free(file, "a", &err), err, EEXIST, "\"a-root\" already");
}

// An entry of the name with another key is somebody else's: neither replaced nor removed.
static void leaves_entries_of_others_alone(void **state)
{
    struct error err;
    cleanup_free char *file = temp_path(state, "others.json");
    static const char others[] = "{\"Connection\":{\"Default\":\"m\",\"Connections\":{\"m\":{"
                                 "\"URI\":\"ssh://me@there:22/x\",\"Identity\":\"/theirs\"}}}}\n";
    put_text(file, others);
    const struct connection connection = {.machine = "m",
                                          .host = "127.0.0.1",
                                          .port = 2222,
                                          .user = "core",
                                          .uid = 1000,
                                          .identity = "/ours"};
    assert_fails(connection_check_own(file, "m", "/ours", &err), err, EEXIST,
                 "cannot overwrite connection \"m\"");
    assert_fails(connection_add(file, &connection, &err), err, EEXIST,
                 "cannot overwrite connection \"m\"");
    assert_ok(connection_remove(file, "m", "/ours", &err), err);
    cleanup_free char *kept = get_text(file);
    assert_string_equal(kept, others);

    assert_ok(connection_remove(file, "m", "/theirs", &err), err);
    assert_ok(connection_check_own(file, "m", "/ours", &err), err);
    assert_ok(connection_add(file, &connection, &err), err);
    assert_ok(connection_check_own(file, "m", "/ours", &err), err);
    assert_ok(connection_add(file, &connection, &err), err);
}

static void keeps_what_it_does_not_know(void **state)
{
    struct error err;
    cleanup_free char *file = fresh_file(state);
    put_text(
        file,
        "{ \"Farm\": {\"Default\": \"f\", \"List\": {\"f\": [\"vm\", \"z\"]}, \"x\": null},\n"
        "  \"Later\": [1, 2.5, \"\\u00e9/\"],\n"
        "  \"Connection\": {\"New\": true, \"Connections\": {\n"
        "    \"z\": {\"IsMachine\": true, \"TLSCA\": \"/ca\", \"Why\": {}, \"URI\": \"tcp://z\"},\n"
        "    \"vm\": {\"IsMachine\": true, \"Note\": 1, \"URI\": \"old\", \"Identity\": "
        "\"/keys/id\"},\n"
        "    \"odd\": null}, \"Default\": \"z\"}}");
    assert_return_code(chmod(file, 0600), 0);
    assert_ok(connection_add(file, &vm, &err), err);
    expect(
        file,
        "{\"Connection\":{\"Default\":\"z\",\"Connections\":{\"odd\":null,"
        "\"vm\":{\"URI\":\"ssh://core@127.0.0.1:2222/run/user/501/podman/podman.sock\","
        "\"Identity\":\"/keys/id\",\"Note\":1}," VM_ROOT(
            LOCAL) ","
                   "\"z\":{\"URI\":\"tcp://z\",\"TLSCA\":\"/ca\",\"IsMachine\":true,\"Why\":{}}},"
                   "\"New\":true},\"Farm\":{\"Default\":\"f\",\"List\":{\"f\":[\"vm\",\"z\"]},"
                   "\"x\":null},\"Later\":[1,2.5,\"é/\"]}\n");
    assert_int_equal(mode_of(file), 0600);
    assert_ok(connection_remove(file, "vm", NULL, &err), err);
    expect(file, "{\"Connection\":{\"Default\":\"z\",\"Connections\":{\"odd\":null,"
                 "\"z\":{\"URI\":\"tcp://z\",\"TLSCA\":\"/ca\",\"IsMachine\":true,\"Why\":{}}},"
                 "\"New\":true},\"Farm\":{\"Default\":\"f\",\"List\":{\"f\":[\"vm\",\"z\"]},"
                 "\"x\":null},\"Later\":[1,2.5,\"é/\"]}\n");
}

// Nulls, and members that are missing, are what podman would have left out.
static void accepts_sparse_files(void **state)
{
    static const char *const sparse[] = {
        "{}",
        "{\"Connection\":null}",
        "{\"Connection\":{}}",
        "{\"Connection\":{\"Default\":null,\"Connections\":null},\"Farm\":null}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(sparse); i++) {
        struct error err;
        cleanup_free char *file = fresh_file(state);
        put_text(file, sparse[i]);
        assert_ok(connection_add(file, &vm, &err), err);
        expect(file, GOLDEN("vm", LOCAL));
    }
}

static void broken_files_are_left_alone(void **state)
{
    static const char *const broken[] = {
        "",
        "{",
        "[]",
        "{\"Connection\":[]}",
        "{\"Connection\":{\"Connections\":7}}",
        "{\"Connection\":{\"Default\":{}}}",
        "{\"Farm\":\"\"}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        struct error err;
        char *name = NULL, *uri = NULL;
        cleanup_free char *file = fresh_file(state);
        put_text(file, broken[i]);
        assert_fails(connection_add(file, &vm, &err), err, EBADMSG, file);
        assert_fails(connection_remove(file, "vm", NULL, &err), err, EBADMSG, file);
        assert_fails(connection_set_default(file, "vm", &err), err, EBADMSG, file);
        assert_fails(connection_check_free(file, "vm", &err), err, EBADMSG, file);
        assert_fails(connection_default(file, &name, &uri, &err), err, EBADMSG, file);
        assert_null(name);
        expect(file, broken[i]);
    }
}

static void default_rules(void **state)
{
    static const struct {
        const char *before, *names; // the default, and the others there are
        const char *after_remove;
    } cases[] = {
        {"vm", "vm vm-root", ""},
        {"vm-root", "vm vm-root b a c", "a"},
        {"vm", "vm vm-root b podman-machine-default a", "podman-machine-default"},
        {"vm", "vm vm-root podman-machine-default-root a", "a"},
        {"b", "vm vm-root b podman-machine-default a", "b"},
        {"elsewhere", "vm vm-root a", "elsewhere"},
        {"", "vm vm-root a", ""},
        {"vm", "vm a", "a"},     // its twin is missing
        {"vm-root", "a b", "a"}, // both are
        {"vm2", "vm vm2", "vm2"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err;
        cleanup_free char *file = fresh_file(state);
        CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
        strbuf_addf(&text, "{\"Connection\":{\"Default\":\"%s\",\"Connections\":{",
                    cases[i].before);
        cleanup_free char *names = xstrdup(cases[i].names);
        const char *comma = "";
        for (char *rest = names, *name; (name = strsep(&rest, " ")); comma = ",")
            strbuf_addf(&text, "%s\"%s\":{\"URI\":\"ssh://%s:22/s\"}", comma, name, name);
        strbuf_adds(&text, "}}}");
        put_text(file, text.text);
        assert_ok(connection_remove(file, "vm", NULL, &err), err);

        cleanup_json json_t *root = NULL;
        assert_ok(json_read_file(&root, file, &err), err);
        const json_t *chosen = json_object_get(json_object_get(root, "Connection"), "Default");
        const char *after = json_string_value(chosen);
        if (strcmp(after ? after : "", cases[i].after_remove) != 0)
            fail_msg("case %zu: '%s'", i, after);
    }
}

static void default_is_set_and_read(void **state)
{
    struct error err;
    cleanup_free char *file = fresh_file(state);
    char *none = (char *)"", *none_uri = (char *)"";
    assert_ok(connection_default(file, &none, &none_uri, &err), err);
    assert_null(none);
    assert_null(none_uri);
    assert_fails(connection_set_default(file, "vm", &err), err, ENOENT,
                 "connection \"vm\" not found");
    assert_false(file_exists(file));

    assert_ok(connection_add(file, &vm, &err), err);
    assert_ok(connection_set_default(file, "vm-root", &err), err);
    expect(file, GOLDEN("vm-root", LOCAL));
    cleanup_free char *name = NULL, *uri = NULL;
    assert_ok(connection_default(file, &name, &uri, &err), err);
    assert_string_equal(name, "vm-root");
    assert_string_equal(uri, "ssh://root@127.0.0.1:2222/run/podman/podman.sock");
    assert_fails(connection_set_default(file, "other", &err), err, ENOENT,
                 "connection \"other\" not found");
    expect(file, GOLDEN("vm-root", LOCAL));

    put_text(file, "{\"Connection\":{\"Default\":\"gone\"}}");
    assert_ok(connection_default(file, &none, &none_uri, &err), err);
    assert_null(none);
}

static void unchanged_files_are_not_written(void **state)
{
    struct error err;
    struct stat before, after;
    cleanup_free char *file = fresh_file(state);
    assert_ok(connection_add(file, &vm, &err), err);
    assert_return_code(stat(file, &before), 0);
    assert_ok(connection_add(file, &vm, &err), err);
    assert_ok(connection_set_default(file, "vm", &err), err);
    assert_ok(connection_remove(file, "other", NULL, &err), err);
    assert_return_code(stat(file, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
}

static void links_stay_links(void **state)
{
    struct error err;
    struct stat st;
    cleanup_free char *folder = temp_path(state, "dotfiles");
    cleanup_free char *file = xasprintf("%s/connections.json", folder);
    cleanup_free char *link = fresh_file(state);
    assert_return_code(mkdir(folder, 0755), 0);
    put_text(file, "{}");
    assert_return_code(symlink(file, link), 0);
    assert_ok(connection_add(link, &vm, &err), err);
    assert_return_code(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    expect(file, GOLDEN("vm", LOCAL));
}

static void folders_may_be_closed(void **state)
{
    struct error err;
    cleanup_free char *blocker = temp_path(state, "blocker");
    put_text(blocker, "");
    cleanup_free char *file = xasprintf("%s/connections.json", blocker);
    assert_int_equal(connection_add(file, &vm, &err), -1);
    assert_non_null(strstr(err.message, blocker));
    if (getuid() == 0)
        return; // whom no folder is closed to
    cleanup_free char *folder = temp_path(state, "closed");
    cleanup_free char *inside = xasprintf("%s/connections.json", folder);
    assert_return_code(mkdir(folder, 0500), 0);
    assert_fails(connection_add(inside, &vm, &err), err, EACCES, folder);
}

// podman's side of the agreement, spelled out: a record lock on FILE.lock, a new file in place.
static pid_t other_podman(const char *file, int ready)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    cleanup_free char *lock = xasprintf("%s.lock", file);
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd < 0 || fcntl(fd, F_SETLKW, &whole) < 0 || write(ready, "!", 1) != 1)
        _exit(1);
    usleep(300000);
    cleanup_free char *fresh = xasprintf("%s.fresh", file);
    static const char text[] = "{\"Connection\":{\"Default\":\"theirs\",\"Connections\":{"
                               "\"theirs\":{\"URI\":\"ssh://x:22/s\"}}},\"Farm\":{}}\n";
    int out = open(fresh, O_WRONLY | O_CREAT, 0644);
    if (write(out, text, sizeof(text) - 1) != sizeof(text) - 1 || rename(fresh, file) < 0)
        _exit(1);
    _exit(0);
}

static void waits_for_podman(void **state)
{
    struct error err;
    char byte;
    int ready[2], status = -1;
    cleanup_free char *file = fresh_file(state);
    assert_return_code(pipe(ready), 0);
    pid_t pid = other_podman(file, ready[1]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    assert_ok(connection_add(file, &vm, &err), err);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    expect(file,
           "{\"Connection\":{\"Default\":\"theirs\",\"Connections\":{"
           "\"theirs\":{\"URI\":\"ssh://x:22/s\"}," VM(LOCAL) "," VM_ROOT(LOCAL) "}},"
                                                                                 "\"Farm\":{}}\n");
}

static void many_at_once_lose_nothing(void **state)
{
    enum { WRITERS = 20 };
    struct error err;
    cleanup_free char *file = fresh_file(state);
    pid_t pids[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        pids[i] = fork();
        if (pids[i] != 0)
            continue;
        cleanup_free char *machine = xasprintf("vm%02d", i);
        struct connection mine = vm;
        mine.machine = machine;
        for (unsigned round = 0; round < 5; round++) {
            mine.port = 1000 + round;
            if (connection_add(file, &mine, &err) < 0)
                _exit(1);
        }
        _exit(i % 2 && connection_remove(file, machine, NULL, &err) < 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    cleanup_json json_t *root = NULL;
    assert_ok(json_read_file(&root, file, &err), err);
    const json_t *connections = json_object_get(json_object_get(root, "Connection"), "Connections");
    assert_int_equal(json_object_size(connections), WRITERS);
    for (int i = 0; i < WRITERS; i += 2) {
        cleanup_free char *name = xasprintf("vm%02d-root", i);
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(connections, name), "URI")),
            "ssh://root@127.0.0.1:1004/run/podman/podman.sock");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_what_podman_writes),
        cmocka_unit_test(takes_names_once),
        cmocka_unit_test(leaves_entries_of_others_alone),
        cmocka_unit_test(keeps_what_it_does_not_know),
        cmocka_unit_test(accepts_sparse_files),
        cmocka_unit_test(broken_files_are_left_alone),
        cmocka_unit_test(default_rules),
        cmocka_unit_test(default_is_set_and_read),
        cmocka_unit_test(unchanged_files_are_not_written),
        cmocka_unit_test(links_stay_links),
        cmocka_unit_test(folders_may_be_closed),
        cmocka_unit_test(waits_for_podman),
        cmocka_unit_test(many_at_once_lose_nothing),
    };
    return cmocka_run_group_tests_name("connection", tests, temp_home_setup, temp_home_teardown);
}
