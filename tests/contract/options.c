// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/contract/options.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

// The words of one line of the file.
static void split_line(struct strvec *words, const char *line)
{
    CLEANUP(strvec_release) struct strvec raw = STRVEC_INIT;
    strvec_split(&raw, line, ' ');
    for (size_t i = 0; i < raw.count; i++)
        if (*raw.items[i])
            strvec_push(words, raw.items[i]);
}

static bool value_fits(const char *value, const char *form, size_t length)
{
    if (length == 4 && strncmp(form, "TEXT", 4) == 0)
        return *value;
    if (length == 6 && strncmp(form, "NUMBER", 6) == 0)
        return *value && strspn(value, "0123456789") == strlen(value);
    while (length > 0) {
        size_t word = strcspn(form, "|!");
        if (word > length)
            word = length;
        if (strlen(value) == word && strncmp(value, form, word) == 0)
            return true;
        size_t step = word < length ? word + 1 : word;
        form += step;
        length -= step;
    }
    return false;
}

// Whether `item`, "key=value" or "bare", is what the file's `form` says: "key=VALUE!" or "bare!".
static bool item_fits(const char *item, const char *form)
{
    size_t length = strlen(form);
    if (length > 0 && form[length - 1] == '!')
        length--;
    const char *equals = memchr(form, '=', length);
    size_t key = equals ? (size_t)(equals - form) : length;
    if (strncmp(item, form, key) != 0)
        return false;
    if (!equals)
        return item[key] == '\0';
    return item[key] == '=' && value_fits(item + key + 1, equals + 1, length - key - 1);
}

// `form` holds the line's words, the option's name first.
static bool list_fits(const struct strvec *form, const char *value)
{
    CLEANUP(strvec_release) struct strvec items = STRVEC_INIT;
    strvec_split(&items, value, ',');
    bool bare_list = strcmp(form->items[1], "-") == 0;
    if (!bare_list && strcmp(items.items[0], form->items[1]) != 0)
        return false;
    size_t fitted = bare_list ? 0 : 1;
    for (size_t f = 2; f < form->count; f++) {
        const char *word = form->items[f];
        size_t hits = 0;
        for (size_t i = bare_list ? 0 : 1; i < items.count; i++)
            hits += item_fits(items.items[i], word);
        bool needed = word[strlen(word) - 1] == '!';
        if (hits > 1 || (needed && hits == 0))
            return false;
        fitted += hits;
    }
    return fitted == items.count;
}

static bool takes_value(const struct strvec *form)
{
    return form->count > 1;
}

static bool line_fits(const struct strvec *form, const char *value)
{
    if (form->count == 2 && value_fits(value, form->items[1], strlen(form->items[1])))
        return true;
    return list_fits(form, value);
}

int options_check(const char *file, const struct strvec *argv, size_t from, size_t to,
                  struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    CLEANUP(strvec_release) struct strvec lines = STRVEC_INIT;
    if (file_read(&text, file, 1 << 20, err) < 0)
        return -1;
    strvec_split(&lines, text.text, '\n');

    for (size_t at = from; at < to; at++) {
        bool known = false, fits = false, valued = false;
        const char *value = at + 1 < to ? argv->items[at + 1] : "";
        for (size_t i = 1; i < lines.count && !fits; i++) {
            CLEANUP(strvec_release) struct strvec form = STRVEC_INIT;
            split_line(&form, lines.items[i]);
            if (form.count == 0 || strcmp(form.items[0], argv->items[at]) != 0)
                continue;
            known = true;
            valued = takes_value(&form);
            fits = !valued || line_fits(&form, value);
        }
        if (!known)
            return error_set(err, EINVAL, "%s has no option '%s'", lines.items[0], argv->items[at]);
        if (!fits)
            return error_set(err, EINVAL, "%s does not take '%s %s'", lines.items[0],
                             argv->items[at], value);
        at += valued;
    }
    return 0;
}
