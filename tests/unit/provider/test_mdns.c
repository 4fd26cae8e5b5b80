// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "provider/mdns.h"

// An answer as avahi sends it to a port of its own: the question repeated, then a record whose
// name is a pointer to the question's.
static const unsigned char answer[] = "\x12\x34\x84\x00\0\1\0\1\0\0\0\0"
                                      "\5my-vm\5local\0\0\1\0\1"
                                      "\xc0\x0c\0\1\x80\1\0\0\0\x78\0\4\xc0\xa8\x40\5";
static const size_t answer_length = sizeof(answer) - 1;

static void asks(void **state)
{
    (void)state;
    unsigned char question[MDNS_QUESTION_SIZE];
    static const unsigned char wanted[] = "\x12\x34\0\0\0\1\0\0\0\0\0\0"
                                          "\5my-vm\5local\0\0\1\x80\1";
    size_t length = mdns_question(question, 0x1234, "my-vm");
    assert_int_equal(length, sizeof(wanted) - 1);
    assert_memory_equal(question, wanted, length);
    char longest[65];
    memset(longest, 'a', 64);
    longest[64] = '\0';
    assert_int_equal(mdns_question(question, 1, longest), 0);
    longest[63] = '\0';
    assert_int_equal(mdns_question(question, 1, longest), MDNS_QUESTION_SIZE);
    assert_int_equal(mdns_question(question, 1, "a.b"), 0);
    assert_int_equal(mdns_question(question, 1, ""), 0);
}

static void reads_an_answer(void **state)
{
    (void)state;
    unsigned char address[4];
    assert_int_equal(mdns_answer(address, answer, answer_length, "MY-vm"), 0);
    assert_memory_equal(address, "\xc0\xa8\x40\5", 4);
    assert_int_equal(mdns_answer(address, answer, answer_length, "other"), -1);
}

static void other_records_are_passed_over(void **state)
{
    (void)state;
    unsigned char address[4];
    static const unsigned char message[] = "\0\0\x84\0\0\0\0\2\0\0\0\0"
                                           "\5my-vm\5local\0\0\x1c\0\1\0\0\0\x78\0\x10"
                                           "0123456789abcdef"
                                           "\5my-vm\xc0\x12\0\1\0\1\0\0\0\x78\0\4\12\0\0\1";
    assert_int_equal(mdns_answer(address, message, sizeof(message) - 1, "my-vm"), 0);
    assert_memory_equal(address, "\12\0\0\1", 4);
}

// Cut anywhere, and with every byte wrong in turn: never past the end, never for ever.
static void broken_messages(void **state)
{
    (void)state;
    unsigned char address[4];
    for (size_t length = 0; length < answer_length; length++) {
        unsigned char *cut = xmalloc(length + 1);
        memcpy(cut, answer, length);
        assert_int_equal(mdns_answer(address, cut, length, "my-vm"), -1);
        free(cut);
    }
    for (size_t i = 0; i < answer_length; i++) {
        unsigned char *wrong = xmalloc(answer_length);
        for (unsigned value = 0; value < 256; value++) {
            memcpy(wrong, answer, answer_length);
            wrong[i] = (unsigned char)value;
            mdns_answer(address, wrong, answer_length, "my-vm");
        }
        free(wrong);
    }
    // A pointer to itself.
    static const unsigned char loop[] =
        "\0\0\x84\0\0\0\0\1\0\0\0\0\xc0\x0c\0\1\0\1\0\0\0\0\0\4abcd";
    assert_int_equal(mdns_answer(address, loop, sizeof(loop) - 1, "my-vm"), -1);
}

static void finds(void **state)
{
    (void)state;
    struct error err;
    cleanup_close int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in own = {.sin_family = AF_INET};
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(own);
    assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &size), 0);
    cleanup_free char *there = xasprintf("127.0.0.1:%u", ntohs(own.sin_port));
    setenv("PODMAN_MACHINE_VMNET_MDNS", there, 1);

    pid_t responder = fork();
    if (responder == 0) {
        unsigned char question[512];
        struct sockaddr_in from;
        socklen_t length = sizeof(from);
        recvfrom(fd, question, sizeof(question), 0, (struct sockaddr *)&from, &length);
        sendto(fd, "noise", 5, 0, (struct sockaddr *)&from, length);
        sendto(fd, answer, answer_length, 0, (struct sockaddr *)&from, length);
        _exit(0);
    }
    cleanup_free char *address = NULL;
    assert_ok(mdns_find(&address, "my-vm", 5000, &err), err);
    assert_string_equal(address, "192.168.64.5");
    assert_int_equal(waitpid(responder, NULL, 0), responder);

    char *none = NULL;
    assert_fails(mdns_find(&none, "my-vm", 50, &err), err, ENOENT, "my-vm.local");
    assert_fails(mdns_find(&none, "a.b", 50, &err), err, ENOENT, "a.b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks),
        cmocka_unit_test(reads_an_answer),
        cmocka_unit_test(other_records_are_passed_over),
        cmocka_unit_test(broken_messages),
        cmocka_unit_test(finds),
    };
    return cmocka_run_group_tests_name("mdns", tests, temp_home_setup, temp_home_teardown);
}
