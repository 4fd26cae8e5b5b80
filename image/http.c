// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/http.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const long connect_timeout_s = 30;
const long http_most_redirects = 10;

CURL *http_new(struct error *err)
{
    static bool initialised;
    if (!initialised && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        error_set(err, EIO, "cannot initialise libcurl");
        return NULL;
    }
    initialised = true;
    CURL *curl = curl_easy_init();
    if (!curl)
        error_set(err, ENOMEM, "cannot initialise libcurl");
    return curl;
}

void http_free(CURL **curl)
{
    curl_easy_cleanup(*curl);
}

void http_set_up(CURL *curl, const char *url, char *message)
{
    const char *authorities = getenv("CURL_CA_BUNDLE");
    if (!authorities || !*authorities)
        authorities = getenv("SSL_CERT_FILE");

    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, http_most_redirects);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "podman-machine-vmnet/" PROJECT_VERSION);
    if (authorities && *authorities)
        curl_easy_setopt(curl, CURLOPT_CAINFO, authorities);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, connect_timeout_s);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message);
}

long http_status(CURL *curl)
{
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

const char *http_status_text(long status)
{
    static const struct {
        long status;
        const char *text;
    } texts[] = {
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {407, "Proxy Authentication Required"},
        {408, "Request Timeout"},
        {410, "Gone"},
        {416, "Range Not Satisfiable"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        if (texts[i].status == status)
            return texts[i].text;
    }
    return "unexpected answer";
}

int http_status_code(long status)
{
    if (status == 404 || status == 410)
        return ENOENT;
    if (status == 401 || status == 403 || status == 407)
        return EACCES;
    return status == 408 || status == 504 ? ETIMEDOUT : EIO;
}

int http_curl_code(CURLcode result)
{
    switch (result) {
    case CURLE_COULDNT_CONNECT:
        return ECONNREFUSED;
    case CURLE_OPERATION_TIMEDOUT:
        return ETIMEDOUT;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
        return EINVAL;
    default:
        return EIO;
    }
}

struct text {
    struct strbuf *buf;
    size_t limit;
    bool too_long;
};

static size_t on_text(char *bytes, size_t size, size_t count, void *context)
{
    struct text *text = context;
    text->too_long = size * count > text->limit - text->buf->length;
    if (text->too_long)
        return 0;
    strbuf_add(text->buf, bytes, size * count);
    return size * count;
}

int http_get(struct strbuf *text, const char *url, size_t limit, struct error *err)
{
    static const long whole_s = 30;
    char message[CURL_ERROR_SIZE] = "";
    struct text into = {.buf = text, .limit = limit};
    CLEANUP(http_free) CURL *curl = http_new(err);
    if (!curl)
        return -1;
    http_set_up(curl, url, message);
    if (strncasecmp(url, "https:", 6) == 0)
        curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
    curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, whole_s);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_text);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &into);
    CURLcode code = curl_easy_perform(curl);
    if (into.too_long)
        return error_set(err, EFBIG, "reading '%s': it has more than %zu bytes", url, limit);
    if (code != CURLE_OK)
        return error_set(err, http_curl_code(code), "reading '%s': %s", url,
                         *message ? message : curl_easy_strerror(code));
    long status = http_status(curl);
    if (status != 200)
        return error_set(err, http_status_code(status), "reading '%s': %ld %s", url, status,
                         http_status_text(status));
    return 0;
}
