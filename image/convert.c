// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// A stretch of the disk is one job: a whole L2 table would be 512 MiB at the usual cluster size,
// too much to share evenly what is in a 5 GiB disk. Workers take the next job from a counter,
// each with a reader of its own (its table, its inflater, its buffers), and write where the
// clusters belong; they share nothing else. The caller's thread only waits, shows the progress
// and asks whether to stop.
//
// While the file is still growing, a worker waits until its job's table and then its last byte
// are there. The order of the file is thereby checked and not trusted: of an image that is in
// another order the first job waits to the end, and nothing is lost but the overlap.

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
// Clusters that follow each other are written together, up to so many bytes: few enough to be
// still in the cache of the core that unpacked them.
static const size_t batch_size = 256 << 10;
static const uint64_t job_size = 16 << 20;
static const size_t most_memory = 32 << 20; // of all workers
static const long look_up_ns = 100 * 1000 * 1000;

const uint64_t converter_head = 4 << 20;

struct converter {
    struct qcow2 *image;
    uint64_t file_size;
    int to;
    uint64_t job_clusters, jobs;         // a job lies in one table
    atomic_uint_fast64_t next_job, done; // `done` in bytes of stored clusters
    atomic_bool stop;

    pthread_mutex_t mutex; // guards what follows
    pthread_cond_t ended, more;
    uint64_t have; // bytes of the file that are there
    unsigned running;
    struct error *failure; // NULL until a worker failed; the first one writes it
    struct error error;

    pthread_t workers[MOST_WORKERS];
    unsigned started; // and not joined yet
};

static void fail(struct converter *converter, const struct error *why)
{
    pthread_mutex_lock(&converter->mutex);
    if (!converter->failure) {
        converter->error = *why;
        converter->failure = &converter->error;
    }
    atomic_store(&converter->stop, true);
    pthread_cond_broadcast(&converter->more);
    pthread_mutex_unlock(&converter->mutex);
}

void converter_arrived(struct converter *converter, uint64_t have)
{
    pthread_mutex_lock(&converter->mutex);
    converter->have = have;
    pthread_cond_broadcast(&converter->more);
    pthread_mutex_unlock(&converter->mutex);
}

bool converter_failed(struct converter *converter)
{
    pthread_mutex_lock(&converter->mutex);
    bool failed = converter->failure != NULL;
    pthread_mutex_unlock(&converter->mutex);
    return failed;
}

// Until the first `bytes` of the file are there, or all stop.
static void wait_for_bytes(struct converter *converter, uint64_t bytes)
{
    pthread_mutex_lock(&converter->mutex);
    while (converter->have < bytes && !atomic_load(&converter->stop))
        pthread_cond_wait(&converter->more, &converter->mutex);
    pthread_mutex_unlock(&converter->mutex);
}

// Clusters that were read and are not written yet; they follow each other.
struct batch {
    unsigned char *bytes;
    size_t length, capacity;
    uint64_t offset;
};

static int flush(struct converter *converter, struct batch *batch, struct error *err)
{
    uint64_t end = qcow2_virtual_size(converter->image);
    size_t length = batch->length;
    if (length > end - batch->offset) // the last cluster may lie over the disk's end
        length = (size_t)(end - batch->offset);
    if (sparse_write(converter->to, batch->bytes, length, batch->offset) < 0)
        return error_errno(err, "cannot write the raw image");
    atomic_fetch_add(&converter->done, batch->length);
    batch->offset += batch->length;
    batch->length = 0;
    return 0;
}

static uint64_t cluster_count(const struct qcow2 *image)
{
    return (qcow2_virtual_size(image) - 1) / qcow2_cluster_size(image) + 1;
}

static int convert_clusters(struct converter *converter, struct qcow2_reader *reader,
                            uint64_t first, uint64_t end, struct batch *batch, struct error *err)
{
    size_t size = qcow2_cluster_size(converter->image);
    batch->length = 0;
    batch->offset = first * size;
    for (uint64_t cluster = first; cluster < end && !atomic_load(&converter->stop); cluster++) {
        bool zero;
        if (batch->length + size > batch->capacity && flush(converter, batch, err) < 0)
            return -1;
        if (qcow2_read(reader, cluster, batch->bytes + batch->length, &zero, err) < 0)
            return -1;
        if (!zero) {
            batch->length += size;
            continue;
        }
        if (batch->length > 0 && flush(converter, batch, err) < 0)
            return -1;
        batch->offset = (cluster + 1) * size;
    }
    return batch->length > 0 ? flush(converter, batch, err) : 0;
}

static int do_job(struct converter *converter, struct qcow2_reader *reader, uint64_t first,
                  struct batch *batch, struct error *err)
{
    const struct qcow2 *image = converter->image;
    uint64_t table = first / qcow2_table_clusters(image), reach;
    uint64_t total = cluster_count(image), end = first + converter->job_clusters;
    if (end > total)
        end = total;
    wait_for_bytes(converter, qcow2_table_end(image, table));
    if (atomic_load(&converter->stop))
        return 0;
    if (qcow2_reader_begin(reader, first, end, &reach, err) < 0)
        return -1;
    if (reach == 0)
        return 0;
    wait_for_bytes(converter, reach);
    return convert_clusters(converter, reader, first, end, batch, err);
}

static void free_reader(struct qcow2_reader **reader)
{
    qcow2_reader_free(*reader);
}

static size_t batch_capacity(const struct qcow2 *image)
{
    size_t size = qcow2_cluster_size(image);
    return size > batch_size ? size : batch_size;
}

static void do_jobs(struct converter *converter)
{
    const struct qcow2 *image = converter->image;
    CLEANUP(free_reader) struct qcow2_reader *reader = qcow2_reader_new(image);
    cleanup_free unsigned char *bytes = xmalloc(batch_capacity(image));
    struct batch batch = {.bytes = bytes, .capacity = batch_capacity(image)};
    while (!atomic_load(&converter->stop)) {
        uint64_t job = atomic_fetch_add(&converter->next_job, 1);
        uint64_t first = job * converter->job_clusters;
        struct error err;
        if (job >= converter->jobs)
            break;
        if (!qcow2_table_is_absent(image, first / qcow2_table_clusters(image)) &&
            do_job(converter, reader, first, &batch, &err) < 0)
            fail(converter, &err);
    }
}

static void *work(void *context)
{
    struct converter *converter = context;
    do_jobs(converter);
    pthread_mutex_lock(&converter->mutex);
    converter->running--;
    pthread_cond_signal(&converter->ended);
    pthread_mutex_unlock(&converter->mutex);
    return NULL;
}

// Large clusters want large buffers: rather fewer workers then than more memory.
static unsigned worker_count(const struct converter *converter)
{
    size_t each = qcow2_reader_memory(converter->image) + batch_capacity(converter->image);
    uint64_t count = platform_cpu_count();
    if (count > most_memory / each)
        count = most_memory / each;
    if (count > converter->jobs)
        count = converter->jobs;
    return count > MOST_WORKERS ? MOST_WORKERS : (unsigned)count;
}

static int start_workers(struct converter *converter, struct error *err)
{
    unsigned wanted = worker_count(converter), started = 0;
    pthread_mutex_lock(&converter->mutex);
    while (started < wanted &&
           pthread_create(&converter->workers[started], NULL, work, converter) == 0)
        started++;
    converter->running = converter->started = started;
    pthread_mutex_unlock(&converter->mutex);
    if (started == 0)
        return error_set(err, EAGAIN, "cannot start a thread to convert the image");
    return 0;
}

static void join_workers(struct converter *converter)
{
    for (; converter->started > 0; converter->started--)
        pthread_join(converter->workers[converter->started - 1], NULL);
}

// Until all workers have ended: they do so when the work is done, or soon after `stop`.
static void wait_for_workers(struct converter *converter, struct watch *watch, uint64_t total)
{
    pthread_mutex_lock(&converter->mutex);
    while (converter->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += look_up_ns;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&converter->ended, &converter->mutex, &until);
        pthread_mutex_unlock(&converter->mutex);
        struct error why;
        if (watch_step(watch, atomic_load(&converter->done), total, &why) < 0)
            fail(converter, &why);
        pthread_mutex_lock(&converter->mutex);
    }
    pthread_mutex_unlock(&converter->mutex);
}

static void free_image(struct qcow2 **image)
{
    qcow2_free(*image);
}

// Takes the image.
static struct converter *converter_new(struct qcow2 *image, uint64_t have, uint64_t size, int to)
{
    struct converter *converter = xcalloc(1, sizeof(*converter));
    converter->image = image;
    converter->file_size = size;
    converter->have = have;
    converter->to = to;
    // All of these are powers of two.
    converter->job_clusters = qcow2_table_clusters(image);
    while (converter->job_clusters > 1 &&
           converter->job_clusters * qcow2_cluster_size(image) > job_size)
        converter->job_clusters /= 2;
    converter->jobs = (cluster_count(image) - 1) / converter->job_clusters + 1;
    pthread_mutex_init(&converter->mutex, NULL);
    pthread_cond_init(&converter->ended, NULL);
    pthread_cond_init(&converter->more, NULL);
    return converter;
}

void converter_free(struct converter *converter)
{
    if (!converter)
        return;
    pthread_mutex_lock(&converter->mutex);
    atomic_store(&converter->stop, true);
    pthread_cond_broadcast(&converter->more);
    pthread_mutex_unlock(&converter->mutex);
    join_workers(converter);
    pthread_cond_destroy(&converter->more);
    pthread_cond_destroy(&converter->ended);
    pthread_mutex_destroy(&converter->mutex);
    qcow2_free(converter->image);
    free(converter);
}

static void free_converter(struct converter **converter)
{
    converter_free(*converter);
}

static int start(struct converter **converter, struct qcow2 **image, uint64_t have, uint64_t size,
                 const char *name, int to, struct error *err)
{
    if (ftruncate(to, (off_t)qcow2_virtual_size(*image)) < 0)
        return error_errno(err, "cannot make a raw image as large as '%s' says", name);
    CLEANUP(free_converter) struct converter *made = converter_new(*image, have, size, to);
    *image = NULL;
    if (start_workers(made, err) < 0)
        return -1;
    *converter = made;
    made = NULL;
    return 0;
}

static int finish(struct converter *converter, uint64_t data, struct watch *watch,
                  uint64_t *virtual_size, struct error *err)
{
    wait_for_workers(converter, watch, data);
    join_workers(converter);
    if (converter->failure) {
        *err = *converter->failure;
        return sparse_note_space(converter->to, data, err);
    }
    *virtual_size = qcow2_virtual_size(converter->image);
    return 0;
}

int converter_begin(struct converter **converter, int from, uint64_t have, uint64_t size,
                    const char *name, int to, struct error *err)
{
    CLEANUP(free_image) struct qcow2 *image = NULL;
    if (qcow2_open(&image, from, have, size, name, err) < 0)
        return -1;
    return start(converter, &image, have, size, name, to, err);
}

int converter_finish(struct converter *converter, struct watch *watch, uint64_t *virtual_size,
                     struct error *err)
{
    uint64_t data;
    converter_arrived(converter, converter->file_size);
    if (qcow2_check(converter->image, &data, err) < 0)
        return -1;
    return finish(converter, data, watch, virtual_size, err);
}

int convert_qcow2(int from, uint64_t size, const char *name, int to, struct watch *watch,
                  uint64_t *virtual_size, struct error *err)
{
    CLEANUP(free_image) struct qcow2 *image = NULL;
    CLEANUP(free_converter) struct converter *converter = NULL;
    uint64_t data;
    if (qcow2_open(&image, from, size, size, name, err) < 0 || qcow2_check(image, &data, err) < 0 ||
        sparse_require_space(to, data, "the raw image", err) < 0 ||
        start(&converter, &image, size, size, name, to, err) < 0)
        return -1;
    return finish(converter, data, watch, virtual_size, err);
}
