// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef TESTS_HTTP_SERVER_H
#define TESTS_HTTP_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

// A web server on a loopback port with one file at /file, in a thread of the test, and with the
// faults of real ones. /redirect answers with a redirect to /file, /loop to itself, the rest is
// 404. What follows `port` may be changed while no request runs.
struct http_server {
    unsigned port;

    const char *body;
    size_t length;
    const char *etag, *last_modified; // NULL: not said
    int status;                       // 0: 200 or 206
    bool ignore_range;                // answers 200 with all of it
    bool wrong_range;                 // answers 206 with another part
    bool no_length;                   // ends by closing
    size_t announced;                 // this Content-Length instead of the right one; 0: right
    unsigned cuts;                    // so many answers are cut...
    size_t cut_after;                 // ...after so many bytes of the body
    unsigned stalls;                  // so many answers stand still...
    size_t stall_after;               // ...after so many bytes, until the client goes

    // What was asked.
    unsigned requests, file_requests, sent_all;
    char range[64], if_range[128]; // of the last request of /file; "" when not sent

    int listener;
    atomic_bool stopping;
    pthread_t thread;
};

void http_server_start(struct http_server *server, const void *body, size_t length);
void http_server_stop(struct http_server *server);
char *http_server_url(const struct http_server *server, const char *path); // the caller frees

#endif
