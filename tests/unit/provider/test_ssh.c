// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "provider/ssh.h"
#include "tests/support/sshd.h"

static struct sshd server; // one for all tests
static bool have_server;

static int setup(void **state)
{
    if (temp_home_setup(state) < 0)
        return -1;
    cleanup_free char *folder = temp_path(state, "sshd");
    have_server = sshd_start(&server, folder, "");
    return 0;
}

static int teardown(void **state)
{
    sshd_stop(&server);
    return temp_home_teardown(state);
}

static void need_server(void)
{
    if (!have_server)
        skip();
}

static struct ssh_target target_of(const struct sshd *sshd)
{
    return (struct ssh_target){.host = "127.0.0.1",
                               .port = sshd->port,
                               .user = sshd->user,
                               .identity = sshd->identity,
                               .host_key = sshd->host_key,
                               .timeout_ms = 30000};
}

static void session_cleanup(struct ssh_session **session)
{
    ssh_free(*session);
}
#define session_auto CLEANUP(session_cleanup)

// A child that serves connections on a listening socket: reads what has come if it should,
// says `words` and closes, or says them and stays silent. kill_peer() ends it.
enum peer_manner { PEER_SPEAKS_FIRST, PEER_LISTENS_FIRST, PEER_STAYS };

static pid_t serve(int listener, const char *words, enum peer_manner manner)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        char request[4096];
        if (fd < 0 || (manner == PEER_LISTENS_FIRST && read(fd, request, sizeof(request)) < 0))
            _exit(1);
        if (file_write_all(fd, words, strlen(words)) < 0)
            _exit(1);
        if (manner != PEER_STAYS)
            close(fd);
    }
}

static pid_t tcp_peer(unsigned *port, const char *words, enum peer_manner manner)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_return_code(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_return_code(listen(fd, 8), 0);
    assert_return_code(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return serve(fd, words, manner);
}

static pid_t unix_peer(const char *path, const char *words, enum peer_manner manner)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_true(strlen(path) < sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_return_code(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_return_code(listen(fd, 8), 0);
    return serve(fd, words, manner);
}

static void kill_peer(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void commands_give_output_and_status(void **state)
{
    (void)state;
    need_server();
    struct error err;
    struct ssh_target target = target_of(&server);
    session_auto struct ssh_session *session = NULL;
    assert_ok(ssh_open(&session, &target, &err), err);

    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    strbuf_adds(&out, "old");
    int status = -1;
    assert_ok(ssh_run(session, "echo out; echo err >&2", &out, &status, &err), err);
    assert_string_equal(out.text, "out\n");
    assert_int_equal(status, 0);

    assert_ok(ssh_run(session, "exit 3", NULL, &status, &err), err);
    assert_int_equal(status, 3);
    assert_ok(ssh_run(session, "kill -TERM $$", NULL, &status, &err), err);
    assert_int_equal(status, 128 + 15);
    assert_ok(ssh_run(session, "kill -KILL $$", NULL, &status, &err), err);
    assert_int_equal(status, 128 + 9);
    // More than the connection takes at once, with something that shells would not leave alone.
    CLEANUP(strbuf_release) struct strbuf input = STRBUF_INIT;
    for (int i = 0; i < 300000; i++)
        strbuf_addf(&input, "%d\n'", i);
    strbuf_addc(&input, '\0');
    assert_true(input.length > 2 << 20);
    assert_ok(ssh_feed(session, "wc -c; exit 5", input.text, input.length, &out, &status, &err),
              err);
    assert_int_equal(strtoul(out.text, NULL, 10), input.length);
    assert_int_equal(status, 5);

    assert_ok(ssh_run(session, "cat; exit 4", &out, &status, &err), err);
    assert_string_equal(out.text, "");
    assert_int_equal(status, 4);
    assert_ok(ssh_run(session, "no-such-program-at-all", NULL, &status, &err), err);
    assert_int_equal(status, 127);
}

static void much_output_has_a_limit(void **state)
{
    (void)state;
    need_server();
    struct error err;
    struct ssh_target target = target_of(&server);
    session_auto struct ssh_session *session = NULL;
    assert_ok(ssh_open(&session, &target, &err), err);

    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    int status = -1;
    assert_ok(ssh_run(session, "head -c 1048576 /dev/zero; head -c 3000000 /dev/zero >&2", &out,
                      &status, &err),
              err);
    assert_int_equal(out.length, 1048576);
    assert_int_equal(status, 0);
    assert_fails(ssh_run(session, "head -c 1048577 /dev/zero", &out, &status, &err), err, EFBIG,
                 "1048576 bytes");
}

static void commands_have_a_deadline(void **state)
{
    (void)state;
    need_server();
    struct error err;
    struct ssh_target target = target_of(&server);
    session_auto struct ssh_session *session = NULL;
    assert_ok(ssh_open(&session, &target, &err), err);
    ssh_set_timeout(session, 300);
    int status = -1;
    int64_t before = clock_monotonic_ms();
    assert_fails(ssh_run(session, "exec sleep 20", NULL, &status, &err), err, ETIMEDOUT, "0.3 s");
    assert_in_range(clock_monotonic_ms() - before, 300, 5000);
}

static void guest_that_dies_is_a_reset(void **state)
{
    (void)state;
    need_server();
    struct error err;
    struct ssh_target target = target_of(&server);
    session_auto struct ssh_session *session = NULL;
    assert_ok(ssh_open(&session, &target, &err), err);
    int status = -1;
    assert_fails(ssh_run(session, "kill -KILL $PPID; sleep 5", NULL, &status, &err), err,
                 ECONNRESET, "cannot run a command on '127.0.0.1'");
}

static void other_hosts_are_refused(void **state)
{
    need_server();
    struct error err;
    cleanup_free char *path = temp_path(state, "other_host");
    assert_ok(ssh_key_create(path, "other", &err), err);
    cleanup_free char *other = NULL;
    assert_ok(ssh_key_public(&other, path, &err), err);

    struct ssh_target target = target_of(&server);
    struct ssh_session *session = NULL;
    target.host_key = other;
    assert_fails(ssh_open(&session, &target, &err), err, EPERM, "another host key");
    // Types that the server has no key of, and that nobody knows.
    target.host_key = "ecdsa-sha2-nistp521 AAAA";
    assert_fails(ssh_open(&session, &target, &err), err, EPERM, "'ecdsa-sha2-nistp521'");
    target.host_key = "ssh-wooden AAAA";
    assert_fails(ssh_open(&session, &target, &err), err, EINVAL, "'ssh-wooden'");
    target.host_key = "ssh-ed25519";
    assert_fails(ssh_open(&session, &target, &err), err, EINVAL, "not a public host key");
    assert_null(session);
}

static void other_keys_are_refused(void **state)
{
    need_server();
    struct error err;
    struct ssh_target target = target_of(&server);
    struct ssh_session *session = NULL;
    cleanup_free char *path = temp_path(state, "other_user");
    assert_ok(ssh_key_create(path, "other", &err), err);
    target.identity = path;
    assert_fails(ssh_open(&session, &target, &err), err, EACCES, path);
    target = target_of(&server);
    target.user = "nobody-of-that-name";
    assert_fails(ssh_open(&session, &target, &err), err, EACCES, "'nobody-of-that-name'");

    target = target_of(&server);
    target.identity = "/nonexistent/key";
    assert_fails(ssh_open(&session, &target, &err), err, ENOENT, "'/nonexistent/key'");
    cleanup_free char *rubbish = temp_path(state, "rubbish");
    put_text(rubbish, "not a key\n");
    target.identity = rubbish;
    assert_fails(ssh_open(&session, &target, &err), err, EINVAL, rubbish);
}

static void sockets_are_pinged(void **state)
{
    need_server();
    struct error err;
    struct ssh_target target = target_of(&server);
    session_auto struct ssh_session *session = NULL;
    assert_ok(ssh_open(&session, &target, &err), err);

    static const struct {
        const char *name, *answer;
        enum peer_manner manner;
        int code;
    } cases[] = {
        {"good", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK", PEER_LISTENS_FIRST, 0},
        {"old", "HTTP/1.0 200 OK\r\n\r\n", PEER_LISTENS_FIRST, 0},
        {"wordless", "HTTP/1.1 200\r\n\r\n", PEER_LISTENS_FIRST, 0},
        {"error", "HTTP/1.1 500 Internal Server Error\r\n\r\n", PEER_LISTENS_FIRST, EBADMSG},
        {"mute", "", PEER_LISTENS_FIRST, EBADMSG},
        {"other", "220 smtp 200\r\n", PEER_LISTENS_FIRST, EBADMSG},
        {"partial", "HTTP/1.1 2", PEER_LISTENS_FIRST, EBADMSG},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup_free char *path = temp_path(state, cases[i].name);
        pid_t peer = unix_peer(path, cases[i].answer, cases[i].manner);
        err = (struct error){0};
        int result = ssh_ping_socket(session, path, &err);
        kill_peer(peer);
        if (result != (cases[i].code ? -1 : 0) || err.code != cases[i].code)
            fail_msg("%s: %d, %s", cases[i].name, err.code, err.message);
    }

    // The session is good for more after a refusal.
    assert_fails(ssh_ping_socket(session, "/nonexistent/podman.sock", &err), err, EACCES,
                 "cannot reach '/nonexistent/podman.sock' in the guest");
    int status = -1;
    assert_ok(ssh_run(session, "exit 5", NULL, &status, &err), err);
    assert_int_equal(status, 5);

    cleanup_free char *silent = temp_path(state, "silent");
    pid_t peer = unix_peer(silent, "", PEER_STAYS);
    ssh_set_timeout(session, 200);
    int result = ssh_ping_socket(session, silent, &err);
    kill_peer(peer);
    assert_fails(result, err, ETIMEDOUT, "no answer within 0.2 s");
}

static void forbidden_forwarding_is_told(void **state)
{
    need_server();
    struct error err;
    struct sshd strict;
    cleanup_free char *folder = temp_path(state, "strict");
    if (!sshd_start(&strict, folder, "AllowStreamLocalForwarding no"))
        skip();
    struct ssh_target target = target_of(&strict);
    session_auto struct ssh_session *session = NULL;
    int opened = ssh_open(&session, &target, &err);
    cleanup_free char *path = temp_path(state, "unreached");
    pid_t peer = unix_peer(path, "HTTP/1.1 200 OK\r\n\r\n", PEER_LISTENS_FIRST);
    int pinged = opened == 0 ? ssh_ping_socket(session, path, &err) : 0;
    kill_peer(peer);
    sshd_stop(&strict);
    assert_ok(opened, err);
    assert_fails(pinged, err, EACCES, "Channel open failure");
}

static void strange_peers_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        enum peer_manner manner;
        int code;
        const char *message;
    } cases[] = {
        {"", PEER_STAYS, ETIMEDOUT, "no answer within 0.3 s"},
        {"", PEER_SPEAKS_FIRST, ECONNRESET, "it closed the connection"},
        {"220 smtp\001\r\n", PEER_STAYS, EPROTO, "no SSH server, it says '220 smtp?'"},
        {"Not allowed at this time\r\n", PEER_SPEAKS_FIRST, ECONNRESET, "Not allowed"},
        {"Exceeded MaxStartups\r\n", PEER_SPEAKS_FIRST, ECONNRESET, "Exceeded"},
        {"SSH-2.0-guest\r\n", PEER_STAYS, ETIMEDOUT, "no answer"},
        {"SSH-2.0-guest\r\n", PEER_SPEAKS_FIRST, ECONNRESET, "begin ssh with"},
        {"SS", PEER_STAYS, ETIMEDOUT, "no answer"},
        {"SSH-2.0-guest\r\n", PEER_LISTENS_FIRST, ETIMEDOUT, "no answer"},
        {"SSH-2.0-guest\r\n\001\002\003\004rubbish rubbish rubbish", PEER_STAYS, EPROTO, "begin"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = {0};
        struct ssh_target target = {.host = "127.0.0.1",
                                    .user = "core",
                                    .identity = "/dev/null",
                                    .host_key = "ssh-ed25519 AAAA",
                                    .timeout_ms = cases[i].code == ETIMEDOUT ? 300 : 20000};
        pid_t peer = tcp_peer(&target.port, cases[i].words, cases[i].manner);
        struct ssh_session *session = NULL;
        int result = ssh_open(&session, &target, &err);
        kill_peer(peer);
        if (result != -1 || err.code != cases[i].code || !strstr(err.message, cases[i].message))
            fail_msg("case %zu: %d, %s", i, err.code, err.message);
    }

    struct error err;
    struct ssh_target nobody = {
        .host = "127.0.0.1", .port = free_port(), .host_key = "ssh-ed25519 A", .timeout_ms = 300};
    struct ssh_session *session = NULL;
    assert_fails(ssh_open(&session, &nobody, &err), err, ECONNREFUSED, "cannot connect to '127.0");
}

static void on_alarm(int number)
{
    (void)number;
}

static void signals_interrupt(void **state)
{
    (void)state;
    struct error err;
    struct ssh_target target = {.host = "127.0.0.1", .host_key = "ssh-ed25519 A"};
    target.timeout_ms = 20000;
    pid_t peer = tcp_peer(&target.port, "", PEER_STAYS);
    struct sigaction action = {.sa_handler = on_alarm}, old;
    sigaction(SIGALRM, &action, &old);
    struct itimerval soon = {.it_value.tv_usec = 100000}, never = {0};
    setitimer(ITIMER_REAL, &soon, NULL);
    struct ssh_session *session = NULL;
    int result = ssh_open(&session, &target, &err);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old, NULL);
    kill_peer(peer);
    assert_fails(result, err, EINTR, "begin ssh with");
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_return_code(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void key_pairs_are_made_once(void **state)
{
    struct error err;
    cleanup_free char *path = temp_path(state, "key pair");
    cleanup_free char *public_path = xasprintf("%s.pub", path);
    cleanup_free char *rubble = xasprintf("%s.new", path);
    put_text(rubble, "of a run that was killed");
    mode_t mask = umask(077);
    assert_ok(ssh_key_create(path, "vm one", &err), err);
    umask(mask);
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(mode_of(public_path), 0644);
    assert_false(file_exists(rubble));

    cleanup_free char *private_text = get_text(path);
    cleanup_free char *public_text = get_text(public_path);
    assert_ptr_equal(strstr(public_text, "ssh-ed25519 "), public_text);
    assert_non_null(strstr(public_text, " vm one\n"));
    assert_ok(ssh_key_create(path, "other", &err), err);
    assert_return_code(unlink(public_path), 0);
    assert_ok(ssh_key_create(path, "other", &err), err);
    cleanup_free char *private_again = get_text(path);
    cleanup_free char *public_again = get_text(public_path);
    assert_string_equal(private_again, private_text);
    assert_string_equal(public_again, public_text);

    cleanup_free char *line = NULL;
    put_text(public_path, "stale\n");
    assert_ok(ssh_key_public(&line, path, &err), err);
    assert_memory_equal(line, public_text, strlen(line));
    assert_int_equal(strlen(line) + 1, strlen(public_text));
    assert_int_equal(ssh_key_create("/nonexistent/key", "c", &err), -1);
    assert_non_null(strstr(err.message, "cannot make key '/nonexistent/key'"));
}

static void unusable_keys_are_explained(void **state)
{
    struct error err;
    char *line = NULL;
    assert_fails(ssh_key_public(&line, "/nonexistent", &err), err, ENOENT, "'/nonexistent'");
    assert_fails(ssh_key_public(&line, "/", &err), err, EINVAL, "not a file");

    cleanup_free char *path = temp_path(state, "shared key");
    assert_ok(ssh_key_create(path, "c", &err), err);
    assert_return_code(chmod(path, 0640), 0);
    assert_fails(ssh_key_public(&line, path, &err), err, EACCES, "chmod 600");

    cleanup_free char *locked = temp_path(state, "locked");
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    const char *const words[] = {"ssh-keygen", "-q", "-t",   "ed25519", "-N",
                                 "secret",     "-f", locked, NULL};
    strvec_pushv(&argv, words);
    assert_ok(process_run(&argv, NULL, &err), err);
    assert_fails(ssh_key_public(&line, locked, &err), err, EACCES, "encrypted");
    cleanup_free char *rubbish = temp_path(state, "no key");
    put_text(rubbish, "hello\n");
    assert_return_code(chmod(rubbish, 0600), 0);
    assert_int_equal(ssh_key_public(&line, rubbish, &err), -1);
    assert_null(line);
}

static void client_words(void **state)
{
    (void)state;
    struct ssh_target target = {
        .host = "192.168.64.5", .port = 22, .user = "root", .identity = "/vm/50% \"a\\b\""};
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    ssh_client_argv(&argv, &target, "/vm/known hosts");
    static const char *const wanted[] = {
        "ssh",
        "-F",
        "/dev/null",
        "-o",
        "IdentitiesOnly=yes",
        "-o",
        "IdentityAgent=none",
        "-o",
        "PreferredAuthentications=publickey",
        "-o",
        "StrictHostKeyChecking=yes",
        "-o",
        "GlobalKnownHostsFile=/dev/null",
        "-o",
        "CheckHostIP=no",
        "-o",
        "LogLevel=ERROR",
        "-o",
        "SetEnv=LC_ALL=",
        "-o",
        "UserKnownHostsFile=\"/vm/known hosts\"",
        "-o",
        "HostKeyAlias=podman-machine-vmnet",
        "-o",
        "IdentityFile=\"/vm/50%% \\\"a\\\\b\\\"\"",
        "-p",
        "22",
        "root@192.168.64.5",
    };
    assert_int_equal(argv.count, ARRAY_SIZE(wanted));
    for (size_t i = 0; i < argv.count; i++)
        assert_string_equal(argv.items[i], wanted[i]);
}

// The ssh program itself, with files in a folder whose name has all that it would trip over.
static void client_words_work(void **state)
{
    need_server();
    struct error err;
    cleanup_free char *folder = temp_path(state, "a 'b' \"c\" #d %h\\e\\ f=g ~ $h");
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    cleanup_free char *identity = xasprintf("%s/id", folder);
    cleanup_free char *known_hosts = xasprintf("%s/known_hosts", folder);
    cleanup_free char *key = get_text(server.identity);
    put_text(identity, key);
    assert_return_code(chmod(identity, 0600), 0);
    assert_ok(ssh_write_known_hosts(known_hosts, server.host_key, &err), err);
    assert_int_equal(mode_of(known_hosts), 0600);
    assert_ok(ssh_write_known_hosts(known_hosts, server.host_key, &err), err);

    struct ssh_target target = target_of(&server);
    target.identity = identity;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    ssh_client_argv(&argv, &target, known_hosts);
    strvec_push(&argv, "echo hello; exit 0");
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    assert_ok(process_run(&argv, &out, &err), err);
    assert_string_equal(out.text, "hello\n");

    // Another host key in the file: nobody is asked, it fails.
    cleanup_free char *other = temp_path(state, "impostor");
    assert_ok(ssh_key_create(other, "c", &err), err);
    cleanup_free char *other_line = NULL;
    assert_ok(ssh_key_public(&other_line, other, &err), err);
    assert_ok(ssh_write_known_hosts(known_hosts, other_line, &err), err);
    assert_fails(process_run(&argv, &out, &err), err, ECHILD, "Host key verification failed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_give_output_and_status),
        cmocka_unit_test(much_output_has_a_limit),
        cmocka_unit_test(commands_have_a_deadline),
        cmocka_unit_test(guest_that_dies_is_a_reset),
        cmocka_unit_test(other_hosts_are_refused),
        cmocka_unit_test(other_keys_are_refused),
        cmocka_unit_test(sockets_are_pinged),
        cmocka_unit_test(forbidden_forwarding_is_told),
        cmocka_unit_test(strange_peers_are_told_apart),
        cmocka_unit_test(signals_interrupt),
        cmocka_unit_test(key_pairs_are_made_once),
        cmocka_unit_test(unusable_keys_are_explained),
        cmocka_unit_test(client_words),
        cmocka_unit_test(client_words_work),
    };
    return cmocka_run_group_tests_name("ssh", tests, setup, teardown);
}
