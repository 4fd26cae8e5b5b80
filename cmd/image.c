// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// image: the cache of disk images by itself, so that it can be filled before machines are made,
// and the converter for whoever has another use for it. Each word after `image` is a verb of its
// own, with a row as the others have.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/platform.h"
#include "cmd/command.h"
#include "cmd/format.h"
#include "cmd/interrupt.h"
#include "cmd/output.h"
#include "cmd/table.h"
#include "cmd/units.h"
#include "image/image.h"
#include "provider/paths.h"

static const int64_t second_ns = 1000000000;

struct values {
    const char *format, *sha256;
    struct option_bool quiet, all;
};

// Only JSON: there are no templates here.
static int check_format(const struct values *values, bool *json, struct error *err)
{
    *json = values->format && format_is_json(values->format);
    if (values->format && !*json)
        return error_set(err, EINVAL, "unsupported --format \"%s\": only json is known",
                         values->format);
    return 0;
}

static void print_json(const json_t *value)
{
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    output_json(&out, value, 4, false);
    strbuf_addc(&out, '\n');
    output_write(&out);
}

// --- ls -----------------------------------------------------------------------------------------

static json_t *image_form(const struct image_cached *image)
{
    cleanup_free char *created = clock_format_rfc3339(image->created * second_ns);
    return json_pack("{s:s, s:s?, s:b, s:I, s:I, s:s?, s:s}", "Digest", image->digest, "Source",
                     image->source, "Ready", image->ready, "Size", (json_int_t)image->size,
                     "Allocated", (json_int_t)image->allocated, "Path", image->path, "Created",
                     created);
}

static void print_table(const struct image_list *list)
{
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    strbuf_adds(&text, "DIGEST\tDISK\tON DISK\tCREATED\tSOURCE\n");
    for (size_t i = 0; i < list->count; i++) {
        const struct image_cached *image = &list->items[i];
        cleanup_free char *size = units_size(image->size), *used = units_size(image->allocated);
        cleanup_free char *age = units_duration(clock_wall_ns() - image->created * second_ns);
        strbuf_addf(&text, "%.12s\t%s\t%s\t%s%s\t%s\n", image->digest, image->ready ? size : "-",
                    used, image->ready ? age : "unfinished", image->ready ? " ago" : "",
                    image->source ? image->source : "-");
    }
    cleanup_free char *aligned = table_align(text.text);
    strbuf_adds(&out, aligned);
    output_write(&out);
}

static int run_list(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    CLEANUP(image_list_release) struct image_list list = {NULL, 0};
    cleanup_free char *cache = paths_image_cache();
    cleanup_json json_t *rows = json_array();
    bool json;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0 ||
        check_format(&values, &json, err) < 0 || image_list(&list, cache, err) < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        json_array_append_new(rows, image_form(&list.items[i]));
        if (values.quiet.value)
            puts(list.items[i].digest);
    }
    if (json)
        print_json(rows);
    else if (!values.quiet.value)
        print_table(&list);
    return 0;
}

// --- pull ---------------------------------------------------------------------------------------

static int run_pull(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    CLEANUP(image_ref_release) struct image_ref ref = {0};
    cleanup_free char *cache = paths_image_cache();
    cleanup_free char *raw = NULL, *digest = NULL;
    uint64_t size;
    bool json;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0 ||
        check_format(&values, &json, err) < 0)
        return -1;
    // What asks the server for the newest image may be ended by Ctrl-C as it is.
    if (image_resolve(&ref, operands.count ? operands.items[0] : NULL, values.sha256,
                      platform_arch(), err) < 0)
        return -1;
    interrupt_watch();
    const struct image_options options = {
        .cache = cache, .quiet = values.quiet.value, .interrupted = interrupted};
    if (image_fetch(&ref, &options, &raw, &digest, &size, err) < 0)
        return -1;
    if (!json) {
        puts(digest);
        return 0;
    }
    cleanup_json json_t *image = json_pack("{s:s, s:s*, s:I, s:s}", "Digest", digest, "Source",
                                           ref.source, "Size", (json_int_t)size, "Path", raw);
    print_json(image);
    return 0;
}

// --- rm and prune -------------------------------------------------------------------------------

// By digest, the beginning of one, or what it was made from: a name, a URL or a file.
static int find_image(const struct image_list *list, const char *word,
                      const struct image_cached **found, struct error *err)
{
    CLEANUP(image_ref_release) struct image_ref ref = {0};
    struct error ignored;
    bool resolved = image_resolve(&ref, word, NULL, platform_arch(), &ignored) == 0;
    *found = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const struct image_cached *image = &list->items[i];
        bool same = strlen(word) >= 4 && strncmp(image->digest, word, strlen(word)) == 0;
        same = same || (image->source && (strcmp(image->source, word) == 0 ||
                                          (resolved && strcmp(image->source, ref.source) == 0)));
        if (same && *found)
            return error_set(err, EINVAL, "more than one image is '%s': give the digest", word);
        if (same)
            *found = image;
    }
    if (!*found)
        return error_set(err, ENOENT, "no image '%s' in the cache", word);
    return 0;
}

static void print_freed(uint64_t freed, bool json)
{
    cleanup_free char *size = units_size(freed);
    if (!json) {
        printf("Freed %s\n", size);
        return;
    }
    cleanup_json json_t *answer = json_pack("{s:I}", "Freed", (json_int_t)freed);
    print_json(answer);
}

static int run_rm(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    CLEANUP(image_list_release) struct image_list list = {NULL, 0};
    cleanup_free char *cache = paths_image_cache();
    uint64_t freed = 0;
    bool json;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0 ||
        check_format(&values, &json, err) < 0 || image_list(&list, cache, err) < 0)
        return -1;
    for (size_t i = 0; i < operands.count; i++) {
        const struct image_cached *image;
        if (find_image(&list, operands.items[i], &image, err) < 0 ||
            image_remove(cache, image->digest, &freed, err) < 0)
            return -1;
    }
    print_freed(freed, json);
    return 0;
}

static int run_prune(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    cleanup_free char *cache = paths_image_cache();
    uint64_t freed = 0;
    bool json;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0 ||
        check_format(&values, &json, err) < 0 ||
        image_prune(cache, values.all.value, &freed, err) < 0)
        return -1;
    print_freed(freed, json);
    return 0;
}

// --- convert ------------------------------------------------------------------------------------

static int run_convert(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    uint64_t size;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;
    interrupt_watch();
    const struct image_options options = {.quiet = values.quiet.value, .interrupted = interrupted};
    return image_convert(operands.items[0], operands.items[1], &options, &size, err);
}

// --- the rows -----------------------------------------------------------------------------------

#define FORMAT_ROW                                                                          \
    {                                                                                       \
        .name = "format", .kind = OPTION_STRING, .offset = offsetof(struct values, format), \
        .help = "Output as \"json\""                                                        \
    }

static const struct option_spec list_options[] = {
    FORMAT_ROW,
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, quiet),
     .help = "Show only digests"},
    {.name = NULL},
};

static const struct option_spec pull_options[] = {
    FORMAT_ROW,
    {.name = "image-sha256",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, sha256),
     .value = "hex",
     .help = "SHA-256 that the image file must have; required for a URL"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, quiet),
     .help = "Show no progress"},
    {.name = NULL},
};

static const struct option_spec rm_options[] = {FORMAT_ROW, {.name = NULL}};

static const struct option_spec prune_options[] = {
    {.name = "all",
     .letter = 'a',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, all),
     .help = "Remove the finished images too"},
    FORMAT_ROW,
    {.name = NULL},
};

static const struct option_spec convert_options[] = {
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, quiet),
     .help = "Show no progress"},
    {.name = NULL},
};

static const struct command verbs[] = {
    {
        .name = "image list",
        .operands = "[options]",
        .summary = "List the images in the cache",
        .details = "Lists the disk images in the cache, and downloads that were not finished.",
        .examples = "image ls\nimage ls --format json",
        .options = list_options,
        .run = run_list,
    },
    {
        .name = "image pull",
        .operands = "[options] [IMAGE]",
        .summary = "Fetch an image into the cache",
        .details = "Downloads, verifies and converts an image as `init` does, and prints its "
                   "digest. An image that is there already is not fetched again. IMAGE is a known "
                   "name (fedora-44, fedora-latest), a URL or a file.",
        .examples = "image pull\nimage pull fedora-latest --format json",
        .most = 1,
        .options = pull_options,
        .run = run_pull,
    },
    {
        .name = "image rm",
        .operands = "[options] IMAGE [IMAGE...]",
        .summary = "Remove images from the cache",
        .details = "Removes images from the cache. Machines do not need them: each has a disk of "
                   "its own. IMAGE is a digest or the beginning of one, a name, a URL or a file.",
        .examples = "image rm fedora-44\nimage rm 55c60a3b80d3",
        .least = 1,
        .most = COMMAND_ANY,
        .options = rm_options,
        .run = run_rm,
    },
    {
        .name = "image prune",
        .operands = "[options]",
        .summary = "Remove what was not finished from the cache",
        .details = "Removes downloads and conversions that were not finished, and with --all the "
                   "finished images too. What another process works on is left alone.",
        .examples = "image prune\nimage prune --all",
        .options = prune_options,
        .run = run_prune,
    },
    {
        .name = "image convert",
        .operands = "[options] SOURCE TARGET",
        .summary = "Convert an image file to a sparse raw disk",
        .details = "Converts a qcow2 image (version 2 or 3, zlib or zstd), or a raw or qcow2 image "
                   "packed with xz, zstd or gzip, to a sparse raw file. The cache is not used.",
        .examples = "image convert disk.qcow2 disk.raw",
        .least = 2,
        .most = 2,
        .options = convert_options,
        .run = run_convert,
    },
};

static const char *verb_name(const struct command *verb)
{
    return verb->name + strlen("image ");
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT;
    if (options_parse(self, argc, argv, NULL, &words, err) < 0)
        return -1;
    const char *word = words.count ? words.items[0] : "";
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        if (strcmp(verb_name(&verbs[i]), strcmp(word, "ls") == 0 ? "list" : word) == 0)
            return verbs[i].run(&verbs[i], (int)words.count, words.items, err);
    }
    if (*word)
        error_set(err, EINVAL, "unrecognized command `%s image %s`: there are", command_program,
                  word);
    else
        error_set(err, EINVAL, "missing command '%s image COMMAND': there are", command_program);
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        error_append(err, "%s %s", i ? "," : "", verb_name(&verbs[i]));
    return error_append(err, "\nSee '%s image --help'", command_program);
}

static const struct option_spec options[] = {{.name = NULL}};

const struct command command_image = {
    .name = "image",
    .operands = "COMMAND [options]",
    .summary = "Manage the cache of disk images",
    .details = "Manages the cache of disk images that `init` takes machines' disks from.\n\n"
               "  list (ls)  the images in the cache\n"
               "  pull       fetch an image into the cache, so that a later `init` is quick\n"
               "  rm         remove images\n"
               "  prune      remove what was not finished; with --all everything\n"
               "  convert    convert an image file to a sparse raw disk\n\n"
               "  Each has a --help of its own.\n\n"
               "  The cache is ${XDG_CACHE_HOME:-~/.cache}/podman-machine-vmnet/images. Downloads "
               "honour the proxy\n  variables (https_proxy, no_proxy, ...), CURL_CA_BUNDLE and "
               "SSL_CERT_FILE. `fedora-latest` is looked\n  up in Fedora's releases.json; "
               "PODMAN_MACHINE_VMNET_RELEASES names another place for it (a URL).",
    .examples = "image pull fedora-latest\nimage ls --format json\nimage rm fedora-44",
    .most = COMMAND_ANY,
    .stop_at_operand = true,
    .options = options,
    .run = run,
};
