// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/download.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "image/digest.h"
#include "image/http.h"
#include "image/part.h"
#include "image/sparse.h"

const uint64_t download_check_bytes = 64 << 10;
static const unsigned default_stall_s = 30, default_attempts = 5;
static const int64_t first_pause_ms = 200;

struct transfer {
    const struct download *download;
    struct watch *watch;
    CURL *curl;
    char *shown; // the URL without a password
    struct part part;

    // One attempt.
    bool resuming, begun, failed;
    struct error why; // of a callback that failed
    bool checked;     // the first bytes of the part
};

static void transfer_release(struct transfer *transfer)
{
    curl_easy_cleanup(transfer->curl);
    part_release(&transfer->part);
    free(transfer->shown);
}

// Without "user:password@".
static char *shown_url(const char *url)
{
    const char *host = strstr(url, "://");
    if (!host)
        return xstrdup(url);
    host += 3;
    const char *at = host + strcspn(host, "/?#");
    while (at > host && *at != '@')
        at--;
    if (*at != '@')
        return xstrdup(url);
    return xasprintf("%.*s%s", (int)(host - url), url, at + 1);
}

static int start_anew(struct transfer *transfer, struct error *err)
{
    transfer->checked = false;
    if (transfer->download->restarted)
        transfer->download->restarted(transfer->download->context);
    return part_reset(&transfer->part, err);
}

static const char *header(const struct transfer *transfer, const char *name)
{
    struct curl_header *found;
    return curl_easy_header(transfer->curl, name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK
               ? found->value
               : NULL;
}

// "bytes 100-199/200"
static bool continues_at(const struct transfer *transfer, uint64_t offset, uint64_t *total)
{
    const char *range = header(transfer, "Content-Range");
    uint64_t first, last;
    *total = 0;
    return range &&
           sscanf(range, "bytes %" SCNu64 "-%" SCNu64 "/%" SCNu64, &first, &last, total) >= 2 &&
           first == offset;
}

// The first byte of a file has come: what is it part of, and is that the file we want?
static int begin_body(struct transfer *transfer, struct error *err)
{
    const struct download *download = transfer->download;
    struct part *part = &transfer->part;
    curl_off_t length = -1;
    curl_easy_getinfo(transfer->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    bool continues = http_status(transfer->curl) == 206;
    uint64_t total = 0;
    if (continues) {
        if (!transfer->resuming || !continues_at(transfer, part->have, &total) ||
            (part->total && total && total != part->total))
            return error_set(err, ERANGE, "the server continues somewhere else");
        if (total == 0 && length >= 0)
            total = part->have + (uint64_t)length;
    } else if (length >= 0) {
        total = (uint64_t)length;
    }
    // Before the part is touched: a captive portal must not cost what is there already.
    if (total && download->size && total != download->size)
        return error_set(err, EBADMSG,
                         "the server's file has %" PRIu64 " bytes, but the image has %" PRIu64,
                         total, download->size);
    if (!continues && start_anew(transfer, err) < 0)
        return -1;
    part->total = total;
    if (total > part->have &&
        sparse_require_space(part->fd, total - part->have, "the download", err) < 0)
        return -1;
    char *location = NULL;
    curl_easy_getinfo(transfer->curl, CURLINFO_EFFECTIVE_URL, &location);
    part_set_origin(part, location, header(transfer, "ETag"), header(transfer, "Last-Modified"));
    return part_write_record(part, download->url, err);
}

static int take_body(struct transfer *transfer, const char *bytes, size_t length, struct error *err)
{
    if (!transfer->begun && begin_body(transfer, err) < 0)
        return -1;
    transfer->begun = true;
    if (transfer->part.total && length > transfer->part.total - transfer->part.have)
        return error_set(err, EBADMSG, "the server sends more than the %" PRIu64 " bytes it said",
                         transfer->part.total);
    if (part_add(&transfer->part, bytes, length, err) < 0)
        return sparse_note_space(transfer->part.fd, transfer->part.total - transfer->part.have,
                                 err);
    if (!transfer->checked && transfer->part.total && transfer->download->check &&
        transfer->part.have >= download_check_bytes) {
        transfer->checked = true;
        if (transfer->download->check(transfer->part.fd, transfer->part.have, transfer->part.total,
                                      transfer->download->label, err) < 0)
            return -1;
    }
    if (transfer->download->arrived)
        transfer->download->arrived(transfer->download->context, transfer->part.fd,
                                    transfer->part.have, transfer->part.total);
    return 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    long status = http_status(transfer->curl);
    if (status != 200 && status != 206)
        return size * count; // an error page
    if (take_body(transfer, bytes, size * count, &transfer->why) == 0)
        return size * count;
    transfer->failed = true;
    return 0;
}

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct transfer *transfer = context;
    (void)a, (void)b, (void)c, (void)d;
    uint64_t total = transfer->part.total ? transfer->part.total : transfer->download->size;
    int result = transfer->begun
                     ? watch_step(transfer->watch, transfer->part.have, total, &transfer->why)
                     : watch_check(transfer->watch, &transfer->why);
    if (result < 0)
        transfer->failed = true;
    return result < 0;
}

static void set_up(struct transfer *transfer, const char *url, char *message)
{
    CURL *curl = transfer->curl;
    unsigned stall_s = transfer->download->stall_s;

    http_set_up(curl, url, message);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)(stall_s ? stall_s : default_stall_s));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
}

static void free_list(struct curl_slist **list)
{
    curl_slist_free_all(*list);
}

// One request. ERANGE: what the server sent does not go on where the part ends.
static int attempt(struct transfer *transfer, const char *url, struct error *err)
{
    char message[CURL_ERROR_SIZE] = "";
    set_up(transfer, url, message);
    CLEANUP(free_list) struct curl_slist *headers = NULL;
    if (transfer->resuming) {
        // CURLOPT_RESUME_FROM would call a full answer an error; this takes either.
        cleanup_free char *range = xasprintf("%" PRIu64 "-", transfer->part.have);
        cleanup_free char *if_range = xasprintf("If-Range: %s", part_validator(&transfer->part));
        curl_easy_setopt(transfer->curl, CURLOPT_RANGE, range);
        headers = curl_slist_append(NULL, if_range);
        curl_easy_setopt(transfer->curl, CURLOPT_HTTPHEADER, headers);
    }
    transfer->begun = transfer->failed = false;
    CURLcode code = curl_easy_perform(transfer->curl);
    if (transfer->failed) {
        *err = transfer->why;
        return err->code == EINTR ? -1 : error_prefix(err, "downloading '%s'", transfer->shown);
    }
    if (code != CURLE_OK)
        return error_set(err, http_curl_code(code), "downloading '%s': %s", transfer->shown,
                         *message ? message : curl_easy_strerror(code));
    long status = http_status(transfer->curl);
    if (status == 416 && transfer->resuming)
        return error_set(err, ERANGE, "downloading '%s': 416 Range Not Satisfiable",
                         transfer->shown);
    if (status != 200 && status != 206)
        return error_set(err, http_status_code(status), "downloading '%s': %ld %s", transfer->shown,
                         status, http_status_text(status));
    if (!transfer->begun && begin_body(transfer, err) < 0) // an empty file
        return error_prefix(err, "downloading '%s'", transfer->shown);
    return 0;
}

// Worth another try: it got on, the server is only busy, or a redirector may choose better.
static bool is_transient(const struct transfer *transfer, const struct error *err, uint64_t before)
{
    long status = http_status(transfer->curl), redirects = 0;
    curl_easy_getinfo(transfer->curl, CURLINFO_REDIRECT_COUNT, &redirects);
    if (err->code == EINTR || err->code == EBADMSG || err->code == ENOSPC || transfer->failed)
        return false;
    return transfer->part.have > before || status == 429 || status >= 500 ||
           (redirects > 0 && redirects < http_most_redirects);
}

static int pause_before(unsigned attempts, const struct transfer *transfer, struct error *err)
{
    int64_t until = clock_monotonic_ms() + (first_pause_ms << attempts);
    while (clock_monotonic_ms() < until) {
        if (watch_check(transfer->watch, err) < 0)
            return -1;
        clock_sleep_ms(50);
    }
    return 0;
}

// Goes on until all of it is there, or an attempt fails that brought nothing new.
static int fetch_rest(struct transfer *transfer, struct error *err)
{
    const struct download *download = transfer->download;
    unsigned attempts = download->attempts ? download->attempts : default_attempts;
    // A redirector sends each request to another mirror, which may name the same file
    // otherwise: go on where the part came from, and elsewhere only if that does not work.
    bool same_server = true;
    for (unsigned failures = 0;
         !transfer->part.total || transfer->part.have < transfer->part.total;) {
        if (!part_validator(&transfer->part) && transfer->part.have &&
            start_anew(transfer, err) < 0)
            return -1;
        transfer->resuming = transfer->part.have > 0;
        bool direct = transfer->resuming && transfer->part.location && same_server;
        uint64_t before = transfer->part.have;
        cleanup_free char *url = xstrdup(direct ? transfer->part.location : download->url);
        if (attempt(transfer, url, err) == 0) {
            if (transfer->part.total == 0)
                transfer->part.total = download->size ? download->size : transfer->part.have;
            if (transfer->part.have == transfer->part.total)
                return 0;
            error_set(err, EIO, "downloading '%s': the connection ended early", transfer->shown);
        }
        if (err->code == ERANGE) {
            same_server = false;
            if (!transfer->resuming)
                return -1;
            if (start_anew(transfer, err) < 0)
                return -1;
            continue;
        }
        if (direct && transfer->part.have == before && !transfer->failed) {
            log_info("%s: trying another server", err->message);
            same_server = false;
            continue;
        }
        if (!is_transient(transfer, err, before) || ++failures >= attempts)
            return -1;
        log_info("%s: trying again", err->message);
        struct error interrupted;
        if (pause_before(failures - 1, transfer, &interrupted) < 0) {
            *err = interrupted;
            return -1;
        }
    }
    return 0;
}

static int verify(struct transfer *transfer, struct error *err)
{
    char actual[DIGEST_HEX];
    digest_end(&transfer->part.digest, actual);
    if (strcmp(actual, transfer->download->sha256) == 0)
        return 0;
    if (transfer->part.have == 0)
        return error_set(err, EBADMSG, "downloading '%s': the server's file is empty",
                         transfer->shown);
    error_set(err, EBADMSG, "downloading '%s': wrong SHA-256: expected %s, got %s", transfer->shown,
              transfer->download->sha256, actual);
    const char *encoding = header(transfer, "Content-Encoding");
    if (encoding)
        error_append(err, " (the server sent it encoded: %.40s)", encoding);
    return -1;
}

static int fetch(struct transfer *transfer, struct error *err)
{
    const struct download *download = transfer->download;
    struct part *part = &transfer->part;
    watch_begin(transfer->watch, "Checking", download->label);
    if (part_open(part, download->path, download->url, transfer->watch, err) < 0)
        return -1;
    watch_end(transfer->watch, part->have);
    bool continued = part->have > 0;
    watch_begin(transfer->watch, "Downloading", download->label);
    if (fetch_rest(transfer, err) < 0)
        return -1;
    if (verify(transfer, err) < 0) {
        if (!continued)
            return -1;
        // The server said it is the same file, yet it is not, or the part was spoilt on disk.
        log_warn("%s: downloading all of it again", err->message);
        if (start_anew(transfer, err) < 0 || fetch_rest(transfer, err) < 0 ||
            verify(transfer, err) < 0)
            return -1;
    }
    transfer->begun = true;
    if (!transfer->checked && download->check &&
        download->check(part->fd, part->have, part->have, download->label, err) < 0)
        return -1;
    return part_finish(part, download->path, err);
}

int download_fetch(const struct download *download, struct watch *watch, struct error *err)
{
    CLEANUP(transfer_release)
    struct transfer transfer = {
        .download = download,
        .watch = watch,
        .curl = http_new(err),
        .shown = shown_url(download->url),
        .part = PART_INIT,
    };
    if (!transfer.curl)
        return -1;
    if (fetch(&transfer, err) < 0) {
        watch_abandon(watch);
        if (err->code == EBADMSG && transfer.begun)
            part_remove(&transfer.part);
        return -1;
    }
    watch_end(watch, transfer.part.have);
    return 0;
}
