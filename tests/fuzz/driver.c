// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// driver FILE|FOLDER...: gives each file to the fuzz target once, as a plain test.

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static int replay(const char *path)
{
    struct error err;
    CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT;
    if (file_read(&bytes, path, 64 << 20, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    LLVMFuzzerTestOneInput((const uint8_t *)bytes.text, bytes.length);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    for (int i = 1; i < argc; i++) {
        cleanup_dir DIR *dir = opendir(argv[i]);
        for (struct dirent *file; dir && (file = readdir(dir));) {
            cleanup_free char *path = xasprintf("%s/%s", argv[i], file->d_name);
            if (file->d_name[0] == '.')
                continue;
            if (replay(path) < 0)
                return 1;
            count++;
        }
        if (!dir && replay(argv[i]) < 0)
            return 1;
        count += dir ? 0 : 1;
    }
    printf("%u inputs\n", count);
    return count ? 0 : 1;
}
