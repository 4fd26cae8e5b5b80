// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/platform.h"
#include "base/process.h"

int ssh_key_public(char **line, const char *path, struct error *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return error_errno(err, "cannot use key '%s'", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, EINVAL, "key '%s' is not a file", path);
    if (st.st_mode & 077)
        return error_set(err, EACCES,
                         "key '%s' can be read by others, so ssh will not use it: take their "
                         "rights away (chmod 600)",
                         path);

    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    const char *const words[] = {"ssh-keygen", "-y", "-P", "", "-f", path, NULL};
    strvec_pushv(&argv, words);
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    if (process_run(&argv, &out, err) < 0) {
        if (err->code == ECHILD && strstr(err->message, "passphrase"))
            return error_set(err, EACCES,
                             "key '%s' is encrypted, but is used when nobody is there to type: "
                             "give one without a passphrase",
                             path);
        return -1;
    }
    strbuf_truncate(&out, strcspn(out.text, "\r\n"));
    if (out.length == 0)
        return error_set(err, EINVAL, "'%s' holds no key that ssh-keygen knows", path);
    *line = strbuf_steal(&out);
    return 0;
}

static int write_public(const char *path, const char *public_path, struct error *err)
{
    cleanup_free char *line = NULL;
    if (ssh_key_public(&line, path, err) < 0)
        return -1;
    cleanup_free char *text = xasprintf("%s\n", line);
    return file_write_atomic(public_path, text, strlen(text), 0644, err);
}

static int put_in_place(const char *from, const char *to, mode_t mode, struct error *err)
{
    cleanup_close int fd = open(from, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fchmod(fd, mode) < 0 || platform_sync(fd) < 0 || rename(from, to) < 0)
        return error_errno(err, "cannot write key '%s'", to);
    return 0;
}

int ssh_key_create(const char *path, const char *comment, struct error *err)
{
    cleanup_free char *public_path = xasprintf("%s.pub", path);
    if (file_exists(path))
        return file_exists(public_path) ? 0 : write_public(path, public_path, err);

    // The private key appears last and whole: if it is there, so was all the rest.
    cleanup_unlink char *fresh = xasprintf("%s.new", path);
    cleanup_unlink char *fresh_public = xasprintf("%s.new.pub", path);
    if ((unlink(fresh) < 0 && errno != ENOENT) || (unlink(fresh_public) < 0 && errno != ENOENT))
        return error_errno(err, "cannot remove '%s'", fresh);
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    const char *const words[] = {"ssh-keygen", "-q",    "-t", "ed25519", "-N", "",
                                 "-C",         comment, "-f", fresh,     NULL};
    strvec_pushv(&argv, words);
    if (process_run(&argv, NULL, err) < 0)
        return error_prefix(err, "cannot make key '%s'", path);
    if (put_in_place(fresh_public, public_path, 0644, err) < 0 ||
        put_in_place(fresh, path, 0600, err) < 0)
        return -1;
    return file_sync_parent(path, err);
}
