// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cmd/command.h"

struct values {
    struct option_uint cpus, memory;
    struct option_bool now, update;
    const char *image;
    struct strvec volumes;
};

static const struct option_spec specs[] = {
    {"volume", 'v', OPTION_STRINGS, offsetof(struct values, volumes), NULL, "Volumes", NULL},
    {"cpus", 0, OPTION_UINT, offsetof(struct values, cpus), NULL, "Number of CPUs", NULL},
    {"memory", 'm', OPTION_UINT, offsetof(struct values, memory), "MiB", "Memory", NULL},
    {"now", 'n', OPTION_BOOL, offsetof(struct values, now), NULL, "Start now", NULL},
    {"update-connection", 'u', OPTION_BOOL, offsetof(struct values, update), NULL, "Make default",
     NULL},
    {"image", 0, OPTION_STRING, offsetof(struct values, image), NULL, "Image", NULL},
    {"image-path", 0, OPTION_STRING, offsetof(struct values, image), NULL, "Image",
     "use --image instead"},
    {"reexec", 0, OPTION_BOOL, offsetof(struct values, now), NULL, NULL, NULL},
    {0},
};

static const struct command verb = {
    .name = "init",
    .operands = "[options] [NAME]",
    .summary = "Initialize a virtual machine",
    .examples = "init\ninit --now box",
    .most = 1,
    .options = specs,
};

// Splits `line` at blanks, so that a row of a table is one string.
static int parse(const struct command *command, const char *line, struct values *values,
                 struct strvec *words, struct strvec *operands, struct error *err)
{
    strvec_push(words, command->name);
    if (*line)
        strvec_split(words, line, ' ');
    return options_parse(command, (int)words->count, words->items, values, operands, err);
}

static void every_error_text(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
        bool see;
    } rows[] = {
        {"--bogus", "unknown flag: --bogus", true},
        {"--bogus=1", "unknown flag: --bogus", true},
        {"--cpu 1", "unknown flag: --cpu", true}, // no abbreviations
        {"-Z", "unknown shorthand flag: 'Z' in -Z", true},
        {"-nZu", "unknown shorthand flag: 'Z' in -Zu", true},
        {"-n=", "unknown shorthand flag: '=' in -=", true},
        {"--cpus", "flag needs an argument: --cpus", true},
        {"-m", "flag needs an argument: 'm' in -m", true},
        {"-nm", "flag needs an argument: 'm' in -m", true},
        {"---x", "bad flag syntax: ---x", true},
        {"--=x", "bad flag syntax: --=x", true},
        {"--cpus abc",
         "invalid argument \"abc\" for \"--cpus\" flag: strconv.ParseUint: parsing \"abc\": "
         "invalid syntax",
         true},
        {"--cpus -1",
         "invalid argument \"-1\" for \"--cpus\" flag: strconv.ParseUint: parsing \"-1\": "
         "invalid syntax",
         true},
        {"--cpus=",
         "invalid argument \"\" for \"--cpus\" flag: strconv.ParseUint: parsing \"\": "
         "invalid syntax",
         true},
        {"-m 99999999999999999999",
         "invalid argument \"99999999999999999999\" for \"-m, --memory\" flag: "
         "strconv.ParseUint: parsing \"99999999999999999999\": value out of range",
         true},
        {"--update-connection=maybe",
         "invalid argument \"maybe\" for \"-u, --update-connection\" flag: strconv.ParseBool: "
         "parsing \"maybe\": invalid syntax",
         true},
        {"a b", "accepts at most 1 arg(s), received 2", false},
        {"--now false box", "accepts at most 1 arg(s), received 2", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strvec_release) struct strvec words = STRVEC_INIT, operands = STRVEC_INIT;
        struct values values = {0};
        struct error err;
        cleanup_free char *wanted = xasprintf(
            "%s%s", rows[i].message, rows[i].see ? "\nSee 'podman-machine-vmnet init --help'" : "");
        assert_int_equal(parse(&verb, rows[i].line, &values, &words, &operands, &err), -1);
        assert_int_equal(err.code, EINVAL);
        assert_string_equal(err.message, wanted);
        strvec_release(&values.volumes);
    }
}

static void operand_counts(void **state)
{
    (void)state;
    static const struct {
        unsigned least, most;
        const char *line, *message;
    } rows[] = {
        {0, 0, "x", "`podman-machine-vmnet init` takes no arguments"},
        {2, 2, "x", "accepts 2 arg(s), received 1"},
        {1, 2, "", "accepts between 1 and 2 arg(s), received 0"},
        {1, COMMAND_ANY, "", "requires at least 1 arg(s), only received 0"},
        {0, 2, "x y z", "accepts at most 2 arg(s), received 3"},
        {0, COMMAND_ANY, "x y z", NULL},
        {2, 2, "x y", NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strvec_release) struct strvec words = STRVEC_INIT, operands = STRVEC_INIT;
        struct command counted = verb;
        struct values values = {0};
        struct error err;
        counted.least = rows[i].least;
        counted.most = rows[i].most;
        int result = parse(&counted, rows[i].line, &values, &words, &operands, &err);
        assert_int_equal(result, rows[i].message ? -1 : 0);
        if (rows[i].message)
            assert_string_equal(err.message, rows[i].message);
    }
}

static void grammar(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint64_t cpus, memory;
        bool now, update;
        const char *image, *operand;
    } rows[] = {
        {"", 4, 2048, false, false, NULL, NULL},
        {"--cpus 2 box", 2, 2048, false, false, NULL, "box"},
        {"box --cpus=0x10 --now", 16, 2048, true, false, NULL, "box"},
        {"-m4096", 4, 4096, false, false, NULL, NULL},
        {"-m=4096", 4, 4096, false, false, NULL, NULL},
        {"-m 4096", 4, 4096, false, false, NULL, NULL},
        {"-num 1_000", 4, 1000, true, true, NULL, NULL},
        {"-n=false -u=T", 4, 2048, false, true, NULL, NULL},
        {"--now --now=false", 4, 2048, false, false, NULL, NULL},
        {"--now false", 4, 2048, true, false, NULL, "false"},
        {"--cpus 1 --cpus 3", 3, 2048, false, false, NULL, NULL},
        {"--image= x", 4, 2048, false, false, "", "x"},
        {"--image --now", 4, 2048, false, false, "--now", NULL},
        {"--image a=b=c", 4, 2048, false, false, "a=b=c", NULL},
        {"-- --now", 4, 2048, false, false, NULL, "--now"},
        {"-", 4, 2048, false, false, NULL, "-"},
        {"--log-level debug --storage-opt x=y box", 4, 2048, false, false, NULL, "box"},
        {"--reexec", 4, 2048, true, false, NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strvec_release) struct strvec words = STRVEC_INIT, operands = STRVEC_INIT;
        struct values values = {.cpus.value = 4, .memory.value = 2048};
        struct error err;
        if (parse(&verb, rows[i].line, &values, &words, &operands, &err) < 0)
            fail_msg("'%s': %s", rows[i].line, err.message);
        assert_int_equal(values.cpus.value, rows[i].cpus);
        assert_int_equal(values.memory.value, rows[i].memory);
        assert_int_equal(values.now.value, rows[i].now);
        assert_int_equal(values.update.value, rows[i].update);
        if (rows[i].image)
            assert_string_equal(values.image, rows[i].image);
        else
            assert_null(values.image);
        assert_int_equal(operands.count, rows[i].operand ? 1 : 0);
        if (rows[i].operand)
            assert_string_equal(operands.items[0], rows[i].operand);
    }
}

static void tells_given_from_default(void **state)
{
    (void)state;
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT, operands = STRVEC_INIT;
    struct values values = {.cpus.value = 4};
    struct error err;
    assert_ok(parse(&verb, "--now=false --cpus 4", &values, &words, &operands, &err), err);
    assert_true(values.now.given && values.cpus.given);
    assert_false(values.update.given || values.memory.given);
}

static void first_of_a_list_replaces_the_default(void **state)
{
    (void)state;
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT, operands = STRVEC_INIT;
    struct values values = {0};
    struct error err;
    strvec_push(&values.volumes, "/Users:/Users");
    assert_ok(parse(&verb, "-v /a:/b,c --volume=/d", &values, &words, &operands, &err), err);
    assert_int_equal(values.volumes.count, 2);
    assert_string_equal(values.volumes.items[0], "/a:/b,c"); // commas are not split
    assert_string_equal(values.volumes.items[1], "/d");
    strvec_release(&values.volumes);
}

static void options_stop_at_the_first_operand(void **state)
{
    (void)state;
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT, operands = STRVEC_INIT;
    struct command ssh = verb;
    struct values values = {0};
    struct error err;
    ssh.stop_at_operand = true;
    ssh.most = COMMAND_ANY;
    assert_ok(parse(&ssh, "--now box ls -la --help", &values, &words, &operands, &err), err);
    assert_true(values.now.value);
    assert_int_equal(operands.count, 4);
    assert_string_equal(operands.items[3], "--help");
}

static void wrong_log_level_is_not_an_ordinary_error(void **state)
{
    (void)state;
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT, operands = STRVEC_INIT;
    struct values values = {0};
    struct error err;
    assert_fails(parse(&verb, "--log-level loud", &values, &words, &operands, &err), err,
                 COMMAND_PLAIN,
                 "Log Level \"loud\" is not supported, choose from: trace, debug, info, warn, "
                 "warning, error, fatal, panic");
}

// What `call` writes to descriptor `fd`. The caller frees.
static char *captured(void **state, FILE *stream, int fd, const char *line, struct values *values,
                      struct error *err)
{
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT, operands = STRVEC_INIT;
    cleanup_free char *path = temp_path(state, "captured");
    fflush(stream);
    cleanup_close int kept = dup(fd);
    cleanup_close int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(file, fd);
    parse(&verb, line, values, &words, &operands, err);
    fflush(stream);
    dup2(kept, fd);
    return get_text(path);
}

static void help_is_podmans_layout(void **state)
{
    struct values values = {.cpus.value = 4, .now.value = true};
    struct error err;
    strvec_push(&values.volumes, "/Users:/Users");
    strvec_push(&values.volumes, "/private:/private");
    cleanup_free char *text = captured(state, stdout, STDOUT_FILENO, "x y -h", &values, &err);
    assert_int_equal(err.code, COMMAND_DONE);
    assert_string_equal(
        text, "Initialize a virtual machine\n"
              "\n"
              "Description:\n"
              "  Initialize a virtual machine\n"
              "\n"
              "Usage:\n"
              "  podman-machine-vmnet init [options] [NAME]\n"
              "\n"
              "Examples:\n"
              "  podman-machine-vmnet init\n"
              "  podman-machine-vmnet init --now box\n"
              "\n"
              "Options:\n"
              "      --cpus uint            Number of CPUs (default 4)\n"
              "      --image string         Image\n"
              "  -m, --memory MiB           Memory\n"
              "  -n, --now                  Start now (default true)\n"
              "  -u, --update-connection    Make default\n"
              "  -v, --volume stringArray   Volumes (default [/Users:/Users,/private:/private])\n");
    strvec_release(&values.volumes);
}

static void deprecated_options_say_so(void **state)
{
    struct values values = {0};
    struct error err = {0};
    cleanup_free char *text =
        captured(state, stderr, STDERR_FILENO, "--image-path x", &values, &err);
    assert_string_equal(text, "Flag --image-path has been deprecated, use --image instead\n");
    assert_non_null(values.image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_text),
        cmocka_unit_test(operand_counts),
        cmocka_unit_test(grammar),
        cmocka_unit_test(tells_given_from_default),
        cmocka_unit_test(first_of_a_list_replaces_the_default),
        cmocka_unit_test(options_stop_at_the_first_operand),
        cmocka_unit_test(wrong_log_level_is_not_an_ordinary_error),
        cmocka_unit_test(help_is_podmans_layout),
        cmocka_unit_test(deprecated_options_say_so),
    };
    return cmocka_run_group_tests_name("options", tests, temp_home_setup, temp_home_teardown);
}
