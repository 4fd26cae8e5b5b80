// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_HTTP_H
#define IMAGE_HTTP_H

#include <curl/curl.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"

// What every request of ours has in common. TLS is always verified, by the system's authorities
// or those in $CURL_CA_BUNDLE or $SSL_CERT_FILE; proxies are taken from the environment.

CURL *http_new(struct error *err); // NULL on an error; the caller cleans up
void http_free(CURL **curl);

// Resets the handle. `message` (CURL_ERROR_SIZE bytes) must live as long as the request.
void http_set_up(CURL *curl, const char *url, char *message);
extern const long http_most_redirects;

long http_status(CURL *curl);
const char *http_status_text(long status);
int http_status_code(long status);   // as an errno value
int http_curl_code(CURLcode result); // as an errno value

// Gets a small text, into an empty buffer. From https it never goes to http. EFBIG when it has
// more than `limit` bytes.
int http_get(struct strbuf *text, const char *url, size_t limit, struct error *err);

#endif
