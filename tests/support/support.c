// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

int temp_home_setup(void **state)
{
    const char *parent = getenv("TMPDIR");
    char *path = xasprintf("%s/pmv-test.XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(path))
        return -1;
    static const char *const unset[] = {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME",
                                        "PODMAN_CONNECTIONS_CONF", "CONTAINERS_MACHINE_PROVIDER"};
    for (size_t i = 0; i < ARRAY_SIZE(unset); i++)
        unsetenv(unset[i]);
    cleanup_free char *run = xasprintf("%s/run", path);
    if (mkdir(run, 0700) < 0)
        return -1;
    setenv("HOME", path, 1);
    setenv("XDG_RUNTIME_DIR", run, 1);
    *state = path;
    return 0;
}

int temp_home_teardown(void **state)
{
    struct error err;
    int result = file_remove_tree(*state, &err);
    free(*state);
    return result;
}

char *temp_path(void **state, const char *name)
{
    return xasprintf("%s/%s", (const char *)*state, name);
}

void put_file(const char *path, const void *bytes, size_t length)
{
    cleanup_file FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, length, file) != length || fflush(file) != 0)
        fail_msg("cannot write %s", path);
}

void put_text(const char *path, const char *text)
{
    put_file(path, text, strlen(text));
}

char *get_text(const char *path)
{
    struct error err;
    struct strbuf text = STRBUF_INIT;
    assert_ok(file_read(&text, path, 64 << 20, &err), err);
    return strbuf_steal(&text);
}
