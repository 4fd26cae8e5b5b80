// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cmd/command.h"
#include "cmd/config.h"

static char *put_config(void **state, const char *name, const char *text)
{
    struct error err;
    cleanup_free char *path = temp_path(state, name);
    cleanup_free char *folder = xstrdup(path);
    *strrchr(folder, '/') = '\0';
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    put_text(path, text);
    return steal_string(&path);
}

static void forget(const char *variable)
{
    unsetenv(variable);
}

static void no_file(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(config_release) struct config config = CONFIG_INIT;
    setenv("CONTAINERS_CONF", "/dev/null/nowhere", 1);
    assert_fails(config_load(&config, &err), err, COMMAND_PLAIN,
                 "Failed to obtain podman configuration: ");
    forget("CONTAINERS_CONF");
}

static void all_keys(void **state)
{
    struct error err;
    CLEANUP(config_release) struct config config = CONFIG_INIT;
    cleanup_free char *path =
        put_config(state, "one.conf",
                   "[machine]\n"
                   "cpus = 3\nmemory = 4_096\ndisk_size = 20\n"
                   "image = 'fedora-44'\nuser = \"todd\"\n"
                   "provider = 'vmnet-krunkit'\nimport_native_ca = true\nvolumes = [\"/a:/b\"]\n"
                   "[containers]\ntz = \"UTC\"\n"
                   "[engine]\nenv = [\"PMV_NEW=a=b\", \"PMV_OLD=x\", \"PMV\"]\n");
    setenv("CONTAINERS_CONF", path, 1);
    setenv("PMV_OLD", "kept", 1);
    assert_ok(config_load(&config, &err), err);
    assert_int_equal(config.cpus, 3);
    assert_int_equal(config.memory_mib, 4096);
    assert_int_equal(config.disk_gib, 20);
    assert_string_equal(config.image, "fedora-44");
    assert_string_equal(config.user, "todd");
    assert_string_equal(config.provider, "vmnet-krunkit");
    assert_string_equal(config.timezone, "UTC");
    assert_true(config.import_native_ca);
    assert_true(config.volumes_given);
    assert_int_equal(config.volumes.count, 1);
    assert_string_equal(getenv("PMV_NEW"), "a=b");
    assert_string_equal(getenv("PMV_OLD"), "kept");
    forget("CONTAINERS_CONF");
}

static void drop_ins(void **state)
{
    struct error err;
    CLEANUP(config_release) struct config config = CONFIG_INIT;
    free(put_config(state, ".config/containers/containers.conf",
                    "[machine]\ncpus = 1\nmemory = 1000\nvolumes = [\"/a\", \"/b\"]\n"));
    free(
        put_config(state, ".config/containers/containers.conf.d/20.conf", "[machine]\ncpus = 3\n"));
    free(put_config(state, ".config/containers/containers.conf.d/10.conf",
                    "[machine]\ncpus = 2\ndisk_size = 7\nvolumes = [\"/c\", {append=true}]\n"));
    free(put_config(state, ".config/containers/containers.conf.d/30.txt", "broken"));
    cleanup_free char *last = put_config(state, "last.conf", "[machine]\nmemory = 5000\n");
    setenv("CONTAINERS_CONF_OVERRIDE", last, 1);
    assert_ok(config_load(&config, &err), err);
    assert_int_equal(config.cpus, 3);
    assert_int_equal(config.disk_gib, 7);
    assert_int_equal(config.memory_mib, 5000);
    assert_int_equal(config.volumes.count, 3);
    assert_string_equal(config.volumes.items[2], "/c");
    forget("CONTAINERS_CONF_OVERRIDE");
}

static void faults(void **state)
{
    struct error err;
    static const char *const texts[] = {"[machine]\ncpus = \"2\"\n", "[machine]\nvolumes = 1\n",
                                        "[engine]\nenv = [1]\n", "[machine"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        CLEANUP(config_release) struct config config = CONFIG_INIT;
        cleanup_free char *path = put_config(state, "bad.conf", texts[i]);
        setenv("CONTAINERS_CONF", path, 1);
        assert_fails(config_load(&config, &err), err, COMMAND_PLAIN,
                     "Failed to obtain podman configuration: ");
    }
    forget("CONTAINERS_CONF");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_file), cmocka_unit_test(all_keys),
                                       cmocka_unit_test(drop_ins), cmocka_unit_test(faults)};
    return cmocka_run_group_tests_name("config", tests, temp_home_setup, temp_home_teardown);
}
