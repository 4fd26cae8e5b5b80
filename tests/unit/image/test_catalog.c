// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <string.h>

#include "image/catalog.h"

static void rows_are_pinned_and_point_at_their_architecture(void **state)
{
    (void)state;
    static const struct {
        const char *name, *arch, *digest_begins;
    } rows[] = {
        {"fedora-44", "aarch64", "55c60a3b"},
        {"fedora-44", "x86_64", "28680fe5"},
        {"fedora-43", "aarch64", "66031aea"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error err;
        const struct catalog_entry *entry;
        assert_ok(catalog_find(&entry, rows[i].name, rows[i].arch, &err), err);
        assert_int_equal(strlen(entry->sha256), 64);
        assert_int_equal(strspn(entry->sha256, "0123456789abcdef"), 64);
        assert_memory_equal(entry->sha256, rows[i].digest_begins, 8);
        assert_non_null(strstr(entry->url, rows[i].arch));
        assert_memory_equal(entry->url, "https://", 8);
    }
}

static void the_default_exists_for_both_architectures(void **state)
{
    (void)state;
    struct error err;
    const struct catalog_entry *entry;
    assert_ok(catalog_find(&entry, catalog_default, "aarch64", &err), err);
    assert_string_equal(entry->url,
                        "https://download.fedoraproject.org/pub/fedora/linux/releases/44/Cloud/"
                        "aarch64/images/Fedora-Cloud-Base-Generic-44-1.7.aarch64.qcow2");
    assert_int_equal(entry->size, 528154624);
    assert_ok(catalog_find(&entry, catalog_default, "x86_64", &err), err);
}

static void unknown_names_are_answered_with_the_known_ones(void **state)
{
    (void)state;
    struct error err;
    const struct catalog_entry *entry = NULL;
    assert_fails(catalog_find(&entry, "fedora-4", "aarch64", &err), err, ENOENT,
                 "fedora-44, fedora-43");
    assert_fails(catalog_find(&entry, "fedora-44", "riscv64", &err), err, ENOENT, "riscv64");
    assert_null(entry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_pinned_and_point_at_their_architecture),
        cmocka_unit_test(the_default_exists_for_both_architectures),
        cmocka_unit_test(unknown_names_are_answered_with_the_known_ones),
    };
    return cmocka_run_group_tests_name("catalog", tests, NULL, NULL);
}
