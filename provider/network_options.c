// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/network_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

static const char *const modes[] = {
    [NETWORK_SHARED] = "shared",
    [NETWORK_HOST] = "host",
    [NETWORK_BRIDGED] = "bridged",
    [NETWORK_BROKER] = "broker",
};
static const char *const offloads[] = {
    [OFFLOAD_AUTO] = "auto",
    [OFFLOAD_ON] = "on",
    [OFFLOAD_OFF] = "off",
};

// What an interface or a network can be called; nothing that an option parser could take for more.
static const char name_characters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
static const size_t longest_name = 63;

static bool takes_name(enum network_mode mode)
{
    return mode == NETWORK_BRIDGED || mode == NETWORK_BROKER;
}

static bool is_name(const char *text)
{
    size_t length = strspn(text, name_characters);
    return length > 0 && length <= longest_name && text[length] == '\0' && text[0] != '-';
}

static int find_word(const char *text, size_t length, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == length && strncmp(words[i], text, length) == 0)
            return (int)i;
    return -1;
}

int network_options_parse(struct network_options *options, const char *text, struct error *err)
{
    size_t length = strcspn(text, ":");
    const char *name = text[length] ? text + length + 1 : NULL;
    int mode = find_word(text, length, modes, ARRAY_SIZE(modes));
    if (mode < 0 || takes_name((enum network_mode)mode) != (name != NULL) ||
        (name && !is_name(name)))
        return error_set(err, EINVAL,
                         "invalid network \"%s\": there are shared, host, bridged:INTERFACE and "
                         "broker:NAME",
                         text);
    options->mode = (enum network_mode)mode;
    free(options->name);
    options->name = name ? xstrdup(name) : NULL;
    return 0;
}

int network_offload_parse(enum network_offload *offload, const char *text, struct error *err)
{
    int found = find_word(text, strlen(text), offloads, ARRAY_SIZE(offloads));
    if (found < 0)
        return error_set(err, EINVAL, "invalid offload \"%s\": there are auto, on and off", text);
    *offload = (enum network_offload)found;
    return 0;
}

const char *network_offload_text(enum network_offload offload)
{
    return offloads[offload];
}

int network_options_check(const struct network_options *options, struct error *err)
{
    if (options->isolated && options->mode == NETWORK_BRIDGED)
        return error_set(err, EINVAL, "a bridged machine cannot be isolated");
    return 0;
}

char *network_options_text(const struct network_options *options)
{
    return options->name ? xasprintf("%s:%s", modes[options->mode], options->name)
                         : xstrdup(modes[options->mode]);
}

bool network_options_share(const struct network_options *a, const struct network_options *b)
{
    cleanup_free char *first = network_options_text(a), *second = network_options_text(b);
    return strcmp(first, second) == 0;
}

json_t *network_options_to_json(const struct network_options *options)
{
    cleanup_free char *text = network_options_text(options);
    return json_pack("{s:s, s:b, s:s}", "mode", text, "isolated", options->isolated, "offload",
                     offloads[options->offload]);
}

int network_options_from_json(struct network_options *options, const json_t *root,
                              struct error *err)
{
    CLEANUP(network_options_release) struct network_options found = NETWORK_OPTIONS_INIT;
    cleanup_free char *mode = NULL, *offload = NULL;
    if (json_get_string(root, "mode", &mode, err) < 0 ||
        json_get_string(root, "offload", &offload, err) < 0 ||
        json_get_bool(root, "isolated", &found.isolated, err) < 0 ||
        (mode && network_options_parse(&found, mode, err) < 0) ||
        (offload && network_offload_parse(&found.offload, offload, err) < 0) ||
        network_options_check(&found, err) < 0) {
        err->code = EBADMSG;
        return -1;
    }
    network_options_release(options);
    *options = found;
    found = (struct network_options)NETWORK_OPTIONS_INIT;
    return 0;
}

void network_options_release(struct network_options *options)
{
    free(options->name);
    *options = (struct network_options)NETWORK_OPTIONS_INIT;
}
