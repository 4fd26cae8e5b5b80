// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef TESTS_DOWNLOAD_FIXTURE_H
#define TESTS_DOWNLOAD_FIXTURE_H

#include "image/digest.h"
#include "image/download.h"
#include "tests/support/http_server.h"

// One server, one file of noise and one place to put it, fresh for each test.
enum { DOWNLOAD_LENGTH = 3000000, DOWNLOAD_PART = 1000000 };

struct download_fixture {
    char *home, *body, *path, *part, *record, *url;
    char sha256[DIGEST_HEX];
    struct http_server server;
    struct watch watch;
};

int download_set_up(void **state);
int download_tear_down(void **state);

// As a download in the product, but giving up a server that stands still after a second.
int download_try(struct download_fixture *f, struct error *err);

// One attempt that ends after DOWNLOAD_PART bytes.
void download_leave_part(struct download_fixture *f);

void download_assert_whole(const struct download_fixture *f);
uint64_t download_part_size(const struct download_fixture *f); // `path` must not be there
void digest_of(const void *bytes, size_t length, char hex[DIGEST_HEX]);

#define DOWNLOAD_TEST(name) \
    cmocka_unit_test_setup_teardown(name, download_set_up, download_tear_down)

#endif
