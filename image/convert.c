// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// A stretch of the disk is one job: a whole L2 table would be 512 MiB at the usual cluster size,
// too much to share evenly what is in a 5 GiB disk. Workers take the next job from a counter,
// each with a reader of its own (its table, its inflater, its buffers), and write where the
// clusters belong; they share nothing else. The caller's thread only waits, shows the progress
// and asks whether to stop.

#include "image/convert.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/platform.h"
#include "image/qcow2.h"
#include "image/sparse.h"

enum { MOST_WORKERS = 8 };
// Clusters that follow each other are written together, up to so many bytes.
static const size_t batch_size = 1 << 20;
static const uint64_t job_size = 16 << 20;
static const long look_up_ns = 100 * 1000 * 1000;

struct conversion {
    const struct qcow2 *image;
    int to;
    uint64_t job_clusters, jobs;         // a job lies in one table
    atomic_uint_fast64_t next_job, done; // `done` in bytes of stored clusters
    atomic_bool stop;

    pthread_mutex_t mutex; // guards what follows
    pthread_cond_t ended;
    unsigned running;
    struct error *failure; // NULL until a worker failed; the first one writes it
    struct error error;
};

static void fail(struct conversion *conversion, const struct error *why)
{
    pthread_mutex_lock(&conversion->mutex);
    if (!conversion->failure) {
        conversion->error = *why;
        conversion->failure = &conversion->error;
    }
    pthread_mutex_unlock(&conversion->mutex);
    atomic_store(&conversion->stop, true);
}

// Clusters that were read and are not written yet; they follow each other.
struct batch {
    unsigned char *bytes;
    size_t length, capacity;
    uint64_t offset;
};

static int flush(struct conversion *conversion, struct batch *batch, struct error *err)
{
    uint64_t end = qcow2_virtual_size(conversion->image);
    size_t length = batch->length;
    if (length > end - batch->offset) // the last cluster may lie over the disk's end
        length = (size_t)(end - batch->offset);
    if (sparse_write(conversion->to, batch->bytes, length, batch->offset) < 0)
        return error_errno(err, "cannot write the raw image");
    atomic_fetch_add(&conversion->done, batch->length);
    batch->offset += batch->length;
    batch->length = 0;
    return 0;
}

static uint64_t cluster_count(const struct qcow2 *image)
{
    return (qcow2_virtual_size(image) - 1) / qcow2_cluster_size(image) + 1;
}

static int convert_clusters(struct conversion *conversion, struct qcow2_reader *reader,
                            uint64_t first, struct batch *batch, struct error *err)
{
    size_t size = qcow2_cluster_size(conversion->image);
    uint64_t total = cluster_count(conversion->image), end = first + conversion->job_clusters;
    if (end > total)
        end = total;
    batch->length = 0;
    batch->offset = first * size;
    for (uint64_t cluster = first; cluster < end && !atomic_load(&conversion->stop); cluster++) {
        bool zero;
        if (batch->length + size > batch->capacity && flush(conversion, batch, err) < 0)
            return -1;
        if (qcow2_read(reader, cluster, batch->bytes + batch->length, &zero, err) < 0)
            return -1;
        if (!zero) {
            batch->length += size;
            continue;
        }
        if (batch->length > 0 && flush(conversion, batch, err) < 0)
            return -1;
        batch->offset = (cluster + 1) * size;
    }
    return batch->length > 0 ? flush(conversion, batch, err) : 0;
}

static void free_reader(struct qcow2_reader **reader)
{
    qcow2_reader_free(*reader);
}

static void do_jobs(struct conversion *conversion)
{
    const struct qcow2 *image = conversion->image;
    CLEANUP(free_reader) struct qcow2_reader *reader = qcow2_reader_new(image);
    size_t size = qcow2_cluster_size(image);
    size_t capacity = size > batch_size ? size : batch_size;
    cleanup_free unsigned char *bytes = xmalloc(capacity);
    struct batch batch = {.bytes = bytes, .capacity = capacity};
    while (!atomic_load(&conversion->stop)) {
        uint64_t job = atomic_fetch_add(&conversion->next_job, 1);
        uint64_t first = job * conversion->job_clusters;
        struct error err;
        if (job >= conversion->jobs)
            break;
        if (!qcow2_table_is_absent(image, first / qcow2_table_clusters(image)) &&
            convert_clusters(conversion, reader, first, &batch, &err) < 0)
            fail(conversion, &err);
    }
}

static void *work(void *context)
{
    struct conversion *conversion = context;
    do_jobs(conversion);
    pthread_mutex_lock(&conversion->mutex);
    conversion->running--;
    pthread_cond_signal(&conversion->ended);
    pthread_mutex_unlock(&conversion->mutex);
    return NULL;
}

static unsigned start_workers(struct conversion *conversion, pthread_t *workers)
{
    unsigned wanted = platform_cpu_count(), started = 0;
    if (wanted > MOST_WORKERS)
        wanted = MOST_WORKERS;
    if (wanted > conversion->jobs)
        wanted = (unsigned)conversion->jobs;
    pthread_mutex_lock(&conversion->mutex);
    while (started < wanted && pthread_create(&workers[started], NULL, work, conversion) == 0)
        started++;
    conversion->running = started;
    pthread_mutex_unlock(&conversion->mutex);
    return started;
}

// Until all workers have ended: they do so when the work is done, or soon after `stop`.
static void wait_for_workers(struct conversion *conversion, struct watch *watch, uint64_t total)
{
    pthread_mutex_lock(&conversion->mutex);
    while (conversion->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += look_up_ns;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&conversion->ended, &conversion->mutex, &until);
        pthread_mutex_unlock(&conversion->mutex);
        struct error why;
        if (watch_step(watch, atomic_load(&conversion->done), total, &why) < 0)
            fail(conversion, &why);
        pthread_mutex_lock(&conversion->mutex);
    }
    pthread_mutex_unlock(&conversion->mutex);
}

static int run(struct conversion *conversion, struct watch *watch, uint64_t total,
               struct error *err)
{
    pthread_t workers[MOST_WORKERS];
    unsigned started = start_workers(conversion, workers);
    if (started == 0)
        return error_set(err, EAGAIN, "cannot start a thread to convert the image");
    wait_for_workers(conversion, watch, total);
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
    if (conversion->failure) {
        *err = *conversion->failure;
        return -1;
    }
    return 0;
}

static void free_image(struct qcow2 **image)
{
    qcow2_free(*image);
}

int convert_qcow2(int from, uint64_t size, const char *name, int to, struct watch *watch,
                  uint64_t *virtual_size, struct error *err)
{
    CLEANUP(free_image) struct qcow2 *image = NULL;
    uint64_t data;
    if (qcow2_open(&image, from, size, name, err) < 0 || qcow2_check(image, &data, err) < 0 ||
        sparse_require_space(to, data, "the raw image", err) < 0)
        return -1;
    if (ftruncate(to, (off_t)qcow2_virtual_size(image)) < 0)
        return error_errno(err, "cannot make a raw image as large as '%s' says", name);

    // All of these are powers of two.
    uint64_t job_clusters = qcow2_table_clusters(image);
    while (job_clusters > 1 && job_clusters * qcow2_cluster_size(image) > job_size)
        job_clusters /= 2;
    struct conversion conversion = {
        .image = image,
        .to = to,
        .job_clusters = job_clusters,
        .jobs = (cluster_count(image) - 1) / job_clusters + 1,
        .mutex = PTHREAD_MUTEX_INITIALIZER,
        .ended = PTHREAD_COND_INITIALIZER,
    };
    int result = run(&conversion, watch, data, err);
    pthread_cond_destroy(&conversion.ended);
    pthread_mutex_destroy(&conversion.mutex);
    if (result < 0)
        return -1;
    *virtual_size = qcow2_virtual_size(image);
    return 0;
}
