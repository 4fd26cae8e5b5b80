// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "provider/machine.h"
#include "provider/report.h"

static int parse(struct report *report, const char *text, struct error *err)
{
    return report_parse(report, text, strlen(text), err);
}

static void parses(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(report_release) struct report report = REPORT_INIT;
    assert_ok(parse(&report,
                    "{\"version\":1,\"state\":\"running packages\",\"detail\":\"\",\"new\":[],"
                    "\"addresses\":[\"192.168.64.5\",\"not one\",7,\"fd00::1\",\"1.2.3.4 -o x\"]}",
                    &err),
              err);
    assert_string_equal(report.state, "running packages");
    assert_int_equal(report.addresses.count, 2);
    assert_string_equal(report.addresses.items[0], "192.168.64.5");
    assert_string_equal(report.addresses.items[1], "fd00::1");
}

static void refuses(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "poweroff",
        "[]",
        "{}",
        "{\"state\":\"done\"}",
        "{\"addresses\":[]}",
        "{\"state\":1,\"addresses\":[]}",
        "{\"state\":\"done\",\"addresses\":{}}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        struct error err;
        CLEANUP(report_release) struct report report = REPORT_INIT;
        assert_fails(parse(&report, lines[i], &err), err, EBADMSG, "not a report");
        assert_null(report.state);
    }
}

static void is_kept_for_others(void **state)
{
    (void)state;
    struct error err;
    cleanup_free char *folder = machine_folder("vm");
    CLEANUP(report_release) struct report report = REPORT_INIT, again = REPORT_INIT;
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    assert_fails(report_read(&again, "vm", &err), err, ENOENT, "report.json");
    assert_ok(parse(&report, "{\"state\":\"done\",\"addresses\":[\"10.0.0.1\"]}", &err), err);
    assert_ok(report_write("vm", &report, &err), err);
    assert_ok(report_read(&again, "vm", &err), err);
    assert_string_equal(again.state, "done");
    assert_string_equal(again.addresses.items[0], "10.0.0.1");
}

static int call(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void collect(void *context, const struct report *report)
{
    struct strbuf *heard = context;
    strbuf_addf(heard, "%s;", report->state);
}

static void turn(struct report_listener *listener, struct strbuf *heard)
{
    for (int i = 0; i < 3; i++) {
        struct pollfd fds[1 + REPORT_CALLERS];
        report_listener_watch(listener, fds);
        poll(fds, ARRAY_SIZE(fds), 50);
        report_listener_read(listener, fds, collect, heard);
    }
}

static void listens(void **state)
{
    struct error err;
    cleanup_free char *path = temp_path(state, "report.sock");
    CLEANUP(report_listener_release) struct report_listener listener;
    CLEANUP(strbuf_release) struct strbuf heard = STRBUF_INIT;
    struct stat st;
    report_listener_init(&listener);
    put_text(path, "left by an earlier one");
    assert_ok(report_listener_open(&listener, path, &err), err);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);

    int first = call(path);
    say(first, "{\"state\":\"a\",\"addre");
    turn(&listener, &heard);
    assert_string_equal(heard.text, "");
    char greeting[16] = "";
    assert_int_equal(read(first, greeting, sizeof(greeting) - 1), 6);
    assert_string_equal(greeting, "hello\n");
    say(first, "sses\":[]}\nnoise\n{\"state\":\"b\",\"addresses\":[]}\n{");
    turn(&listener, &heard);
    assert_string_equal(heard.text, "a;b;");

    // Callers that say nothing do not keep a new one out.
    int silent[REPORT_CALLERS + 1];
    for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
        silent[i] = call(path);
        turn(&listener, &heard);
    }
    int last = call(path);
    say(last, "{\"state\":\"c\",\"addresses\":[]}\n");
    turn(&listener, &heard);
    assert_string_equal(heard.text, "a;b;c;");
    close(first);
    close(last);
    for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
        close(silent[i]);
    turn(&listener, &heard);
    for (int i = 0; i < REPORT_CALLERS; i++)
        assert_int_equal(listener.callers[i].fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),
        cmocka_unit_test(refuses),
        cmocka_unit_test(is_kept_for_others),
        cmocka_unit_test(listens),
    };
    return cmocka_run_group_tests_name("report", tests, temp_home_setup, temp_home_teardown);
}
