// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/platform.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "base/strvec.h"
#include "provider/paths.h"

int tool_find(char **path, const char *const *names, const char *install, struct error *err)
{
    for (const char *const *name = names; *name; name++) {
        char *found = process_find(*name, platform_program_dirs);
        if (found) {
            *path = found;
            return 0;
        }
    }
    CLEANUP(strbuf_release) struct strbuf places = STRBUF_INIT;
    for (const char *const *dir = platform_program_dirs; *dir; dir++)
        strbuf_addf(&places, "%s, ", *dir);
    const char *search = getenv("PATH");
    return error_set(err, ENOENT, "cannot find '%s' in %sor $PATH (%s): %s", names[0], places.text,
                     search ? search : "", install);
}

// FNV-1a: tells the folders of one user's machines apart. A collision would only cost a link.
static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return hash;
}

// A folder in which nobody else can put or change a link.
static int make_private(const char *path, struct error *err)
{
    if (file_make_dirs(path, 0700, err) < 0)
        return -1;
    struct stat st;
    if (lstat(path, &st) < 0)
        return error_errno(err, "cannot look at '%s'", path);
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return error_set(err, EPERM, "folder '%s' is not ours alone", path);
    return 0;
}

static int make_link(const char *link, const char *folder, struct error *err)
{
    char target[PATH_MAX];
    ssize_t length = readlink(link, target, sizeof(target) - 1);
    if (length >= 0) {
        target[length] = '\0';
        if (strcmp(target, folder) == 0)
            return 0;
    }
    // Beside it and renamed over it, so that the link is never absent or half made.
    cleanup_unlink char *fresh = xasprintf("%s.%ld", link, (long)getpid());
    unlink(fresh);
    if (symlink(folder, fresh) < 0 || rename(fresh, link) < 0)
        return error_errno(err, "cannot make link '%s'", link);
    return 0;
}

// Where links may be, the best place first.
static void list_link_places(struct strvec *places)
{
    cleanup_free char *runtime = paths_runtime();
    strvec_pushf(places, "%s/links", runtime);
    strvec_pushf(places, "/tmp/podman-machine-vmnet-%lu", (unsigned long)geteuid());
}

int tool_folder(char **spoken, const char *folder, const char *machine, const char *unspeakable,
                struct error *err)
{
    if (!strpbrk(folder, unspeakable)) {
        *spoken = xstrdup(folder);
        return 0;
    }
    CLEANUP(strvec_release) struct strvec places = STRVEC_INIT;
    list_link_places(&places);
    struct error why;
    if (paths_make_runtime(err) < 0)
        return -1;
    error_set(&why, EINVAL, "no folder for a link is free of such a character");
    for (size_t i = 0; i < places.count; i++) {
        if (strpbrk(places.items[i], unspeakable) || make_private(places.items[i], &why) < 0)
            continue;
        cleanup_free char *link =
            xasprintf("%s/%s-%016" PRIx64, places.items[i], machine, hash_text(folder));
        if (make_link(link, folder, &why) < 0)
            continue;
        *spoken = steal_string(&link);
        return 0;
    }
    return error_set(err, EINVAL,
                     "path '%s' has one of the characters %s, which the hypervisor cannot be "
                     "told, and a link to it cannot be made: %s",
                     folder, unspeakable, why.message);
}

// "MACHINE-" and the hash; a machine's name may itself have a '-'.
static bool is_link_of(const char *name, const char *machine)
{
    size_t length = strlen(machine);
    return strncmp(name, machine, length) == 0 && name[length] == '-' &&
           strlen(name) == length + 1 + 16 && strspn(name + length + 1, "0123456789abcdef") == 16;
}

void tool_forget_folders(const char *machine)
{
    CLEANUP(strvec_release) struct strvec places = STRVEC_INIT;
    list_link_places(&places);
    for (size_t i = 0; i < places.count; i++) {
        cleanup_dir DIR *dir = opendir(places.items[i]);
        const struct dirent *entry;
        while (dir && (entry = readdir(dir))) {
            if (is_link_of(entry->d_name, machine))
                unlinkat(dirfd(dir), entry->d_name, 0);
        }
        rmdir(places.items[i]); // if no other machine's are in it
    }
}
