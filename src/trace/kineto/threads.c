/*
 * Reads events with several threads. Workers read chunks of the file ahead, each from the first
 * place that looks like an event. Worker 0, the calling thread, joins the chunks in order, and
 * reads some in turn, which need no joining. A chunk counts only if the reading before it ended
 * exactly where it began; otherwise that part is read again in order.
 */
#include "trace/kineto/window.h"

#include "base/error.h"
#include "base/parallel.h"
#include <stdlib.h>

/* Chunks per worker that may be read before they are joined; bounds the memory. */
#define CHUNKS_AHEAD 3
/* Bytes read behind a chunk to complete its last event. */
#define BYTES_BEHIND 4096

/* How a chunk is handled. */
typedef enum chunk_action {
    CHUNK_READ_AHEAD,
    CHUNK_JOIN,        /* worker 0's */
    CHUNK_READ_IN_TURN /* worker 0's */
} chunk_action;

/* What a worker keeps from chunk to chunk, and its current task. */
typedef struct worker {
    struct chunk_job *job;
    pyro_kineto_reader reader;
    pyro_arena arena;
    pyro_intern names; /* its own, so that no thread waits for another */
    bool own_names;    /* false for the calling thread, which uses the trace's */
    bool opened;
    int64_t next; /* chunk that it may read next, or a later one */
    int64_t index; /* of the current chunk */
    chunk_action action;
    /* The joining thread's view of the names, filled as pieces are joined. */
    pyro_intern_entry *texts;
    uint32_t *numbers;
    size_t text_count, text_capacity, number_capacity;
} worker;

/* The result of one chunk. */
typedef struct chunk {
    worker *worker;
    int64_t from, to; /* of the events read; from is -1 if no event begins in the chunk */
    bool ended, lost, no_memory;
    int status;
    int64_t cut_at;
    pyro_error source_error;
    pyro_trace *batch;
    pyro_kineto_defects defects;
    pyro_wide_id *wide_ids;
    pyro_thread_name *thread_names;
    size_t wide_count, thread_name_count;
    pyro_intern_entry *new_texts; /* that the worker first met in this chunk */
    size_t new_text_count;
} chunk;

typedef struct chunk_job {
    pyro_kineto_reader *reader; /* of the calling thread */
    const pyro_trace_options *options; /* with the progress callback */
    int64_t begin, size;        /* of the part of the file with events, as far as known */
    int64_t chunk_count;
    worker *workers;
    int worker_count;
    int64_t at; /* worker 0 only: end of what was joined */
    /* Shared under the pool's lock. */
    int64_t joined; /* chunks that are part of the trace */
    int64_t left;   /* chunks that no worker has begun */
    bool stop;
    bool *taken, *done; /* rings, like the chunks */
    /* A taken chunk belongs to its worker until it is done. */
    chunk *chunks;
    int64_t ring;
} chunk_job;

static int64_t chunk_begin(const chunk_job *job, int64_t index)
{
    int64_t begin = job->begin + index * job->reader->sizes.chunk;
    return begin < job->size ? begin : job->size;
}

/* Gives the scanner an empty trace for its rows. */
static bool begin_batch(worker *worker, chunk *chunk)
{
    pyro_kineto_scanner *scanner = worker->reader.scanner;
    if (!chunk->batch)
        chunk->batch = calloc(1, sizeof *chunk->batch);
    if (!chunk->batch)
        return false;
    scanner->out = worker->reader.trace = chunk->batch;
    scanner->last_track = PYRO_NO_ID;
    pyro_map_free(&scanner->tracks);
    return true;
}

/* Moves what was read to the chunk, and leaves the scanner empty. */
static bool end_batch(worker *worker, chunk *chunk, size_t name_count)
{
    pyro_kineto_reader *reader = &worker->reader;
    pyro_kineto_scanner *scanner = reader->scanner;
    chunk->defects = scanner->defects;
    scanner->defects = (pyro_kineto_defects){{0}};
    chunk->wide_ids = scanner->wide_ids;
    chunk->wide_count = scanner->wide_count;
    chunk->thread_names = scanner->thread_names;
    chunk->thread_name_count = scanner->thread_name_count;
    scanner->wide_ids = NULL;
    scanner->thread_names = NULL;
    scanner->wide_count = scanner->wide_capacity = 0;
    scanner->thread_name_count = scanner->thread_name_capacity = 0;
    chunk->ended = reader->events_ended;
    chunk->lost = reader->lost;
    chunk->cut_at = reader->cut_at;
    chunk->status = reader->window.status;
    chunk->source_error = reader->source_error;
    if (!worker->own_names || worker->names.count == name_count)
        return true;
    chunk->new_text_count = worker->names.count - name_count;
    chunk->new_texts = malloc(chunk->new_text_count * sizeof *chunk->new_texts);
    if (chunk->new_texts)
        memcpy(chunk->new_texts, worker->names.entries + name_count,
               chunk->new_text_count * sizeof *chunk->new_texts);
    return chunk->new_texts != NULL;
}

static void read_chunk(worker *worker, chunk *chunk, int64_t index)
{
    const chunk_job *job = worker->job;
    pyro_kineto_reader *reader = &worker->reader;
    int64_t begin = chunk_begin(job, index), end = chunk_begin(job, index + 1);
    size_t name_count = worker->names.count;
    bool found = true;
    *chunk = (struct chunk){.worker = worker, .from = -1, .cut_at = -1, .batch = chunk->batch};
    reader->events_ended = reader->lost = false;
    reader->cut_at = -1;
    if (!begin_batch(worker, chunk)) {
        chunk->no_memory = true;
        return;
    }
    pyro_kineto_seek(reader, begin);
    reader->window.pause = end + BYTES_BEHIND;
    if (index > 0)
        found = pyro_kineto_find_next_event(reader, end);
    if (found) {
        chunk->from = pyro_kineto_offset(reader);
        pyro_kineto_read_events(reader, index + 1 < job->chunk_count ? end : INT64_MAX);
        chunk->to = pyro_kineto_offset(reader);
    }
    chunk->no_memory = !end_batch(worker, chunk, name_count) || reader->scanner->no_memory;
}

/* Frees what a chunk holds; its batch is emptied but kept, so that its memory is reused. */
static void empty_chunk(chunk *chunk)
{
    pyro_trace *batch = chunk->batch;
    free(chunk->wide_ids);
    free(chunk->thread_names);
    free(chunk->new_texts);
    *chunk = (struct chunk){.batch = batch};
    if (!batch)
        return;
    batch->count = batch->op_count = batch->kernel_count = batch->transfer_count = 0;
    batch->memory_count = batch->collective_count = batch->flow_count = batch->track_count = 0;
    batch->sync_count = batch->counter_count = batch->op_extra_count = 0;
    batch->file_events = 0;
    batch->has_shapes = batch->has_stacks = batch->has_memory = batch->has_frame_lists = false;
}

static void free_chunk(chunk *chunk)
{
    empty_chunk(chunk);
    if (chunk->batch)
        pyro_trace_free_rows(chunk->batch);
    free(chunk->batch);
}

/*
 * Chunks that are left to the calling thread, unless it is late, because what it reads in turn
 * needs no joining. The second is one of them, so that the other workers' chunks are done when they
 * are needed.
 */
static bool is_reserved(const chunk_job *job, int64_t index)
{
    return (index % job->worker_count == 0 || index == 1) && index - job->joined < job->ring / 2;
}

/*
 * A chunk that a worker may read ahead now, or -1. A worker follows the order of the file, because
 * its new texts are published in that order.
 */
static int64_t choose_chunk(const chunk_job *job, const worker *worker)
{
    int64_t end = job->joined + job->ring;
    int64_t first = job->joined > worker->next ? job->joined : worker->next;
    for (int64_t i = first; !job->stop && i < end && i < job->chunk_count; i++)
        if (!job->taken[i % job->ring] && !is_reserved(job, i))
            return i;
    return -1;
}

static void take_chunk(chunk_job *job, int64_t index)
{
    job->taken[index % job->ring] = true;
    job->left--;
}

static bool open_worker(chunk_job *job, worker *worker, bool own_names)
{
    pyro_kineto_reader *main = job->reader, *reader = &worker->reader;
    worker->job = job;
    worker->own_names = own_names;
    pyro_arena_init(&worker->arena);
    pyro_intern_init(&worker->names, &worker->arena);
    worker->opened = true;
    if (pyro_kineto_reader_open(reader, NULL, own_names ? &worker->names : &main->trace->names,
                                main->source, NULL, main->sizes, NULL) != PYRO_OK)
        return false;
    memcpy(reader->first_key, main->first_key, sizeof reader->first_key);
    reader->first_key_known = true;
    reader->scanner->fraction_is_ns = main->scanner->fraction_is_ns;
    return true;
}

static void close_worker(worker *worker)
{
    if (!worker->opened)
        return;
    pyro_kineto_reader_free(&worker->reader);
    pyro_intern_free(&worker->names);
    pyro_arena_free(&worker->arena);
    free(worker->texts);
    free(worker->numbers);
}

/* Publishes the texts that a worker met in a chunk to the joining thread. */
static bool take_texts(const chunk *chunk)
{
    worker *worker = chunk->worker;
    size_t count = worker->text_count + chunk->new_text_count;
    if (!pyro_grow(&worker->texts, &worker->text_capacity, count, sizeof *worker->texts) ||
        !pyro_grow(&worker->numbers, &worker->number_capacity, count, sizeof *worker->numbers))
        return false;
    for (size_t i = 0; i < chunk->new_text_count; i++) {
        worker->texts[worker->text_count] = chunk->new_texts[i];
        worker->numbers[worker->text_count++] = PYRO_NO_ID;
    }
    return true;
}

/* Gives ids and names that wait for the end the trace's indices. */
static bool take_notes(pyro_kineto_scanner *scanner, const chunk *chunk, pyro_text_map map)
{
    pyro_trace *trace = scanner->out;
    size_t first_event = trace->count - chunk->batch->count;
    size_t first_flow = trace->flow_count - chunk->batch->flow_count;
    if (!pyro_grow(&scanner->wide_ids, &scanner->wide_capacity,
                   scanner->wide_count + chunk->wide_count, sizeof *scanner->wide_ids) ||
        !pyro_grow(&scanner->thread_names, &scanner->thread_name_capacity,
                   scanner->thread_name_count + chunk->thread_name_count,
                   sizeof *scanner->thread_names))
        return false;
    for (size_t i = 0; i < chunk->wide_count; i++) {
        pyro_wide_id wide = chunk->wide_ids[i];
        wide.index += (uint32_t)(wide.kind == PYRO_WIDE_FLOW ? first_flow : first_event);
        scanner->wide_ids[scanner->wide_count++] = wide;
    }
    for (size_t i = 0; i < chunk->thread_name_count; i++) {
        pyro_thread_name named = chunk->thread_names[i];
        if (map.numbers) {
            const pyro_intern_entry *entry = &map.texts[named.name];
            named.name = pyro_intern_add(&trace->names, entry->text, entry->length);
        }
        scanner->thread_names[scanner->thread_name_count++] = named;
    }
    return true;
}

static void accept_chunk(pyro_kineto_reader *reader, const chunk *chunk)
{
    pyro_kineto_scanner *scanner = reader->scanner;
    worker *worker = chunk->worker;
    pyro_text_map map = {NULL, NULL};
    if (worker->own_names)
        map = (pyro_text_map){worker->texts, worker->numbers};
    if (!pyro_kineto_append(scanner, chunk->batch, map) || !take_notes(scanner, chunk, map))
        scanner->no_memory = true;
    pyro_kineto_defects_add(&scanner->defects, &chunk->defects);
    reader->events_ended = chunk->ended;
    reader->lost = chunk->lost;
    /* An earlier list of events may have been cut too. */
    if (chunk->cut_at >= 0)
        reader->cut_at = chunk->cut_at;
    if (chunk->status != PYRO_OK && reader->window.status == PYRO_OK) {
        reader->window.status = chunk->status;
        reader->source_error = chunk->source_error;
    }
}

static bool is_over(const pyro_kineto_reader *reader)
{
    return reader->events_ended || reader->lost || reader->scanner->no_memory ||
           reader->window.status != PYRO_OK;
}

/* Joins a chunk to what was read up to `at`; returns where reading is then. */
static int64_t join_chunk(chunk_job *job, const chunk *chunk, int64_t index, int64_t at)
{
    pyro_kineto_reader *reader = job->reader;
    bool last = index + 1 == job->chunk_count;
    int64_t end = last ? INT64_MAX : chunk_begin(job, index + 1);
    if (chunk->no_memory || !take_texts(chunk))
        reader->scanner->no_memory = true;
    if (chunk->from != at && at < end && !is_over(reader)) {
        pyro_kineto_seek(reader, at);
        pyro_kineto_read_events(reader, chunk->from > at ? chunk->from : end);
        at = pyro_kineto_offset(reader);
        if (chunk->from != at && at < end && !is_over(reader)) {
            pyro_kineto_read_events(reader, end);
            at = pyro_kineto_offset(reader);
        }
    }
    if (chunk->from == at && !is_over(reader)) {
        accept_chunk(reader, chunk);
        at = chunk->to;
    }
    return at;
}

/* Reads a chunk directly into the trace. */
static int64_t read_in_turn(chunk_job *job, int64_t index, int64_t at)
{
    pyro_kineto_reader *reader = job->reader;
    int64_t end = index + 1 == job->chunk_count ? INT64_MAX : chunk_begin(job, index + 1);
    if (at >= end)
        return at;
    if (pyro_kineto_offset(reader) != at)
        pyro_kineto_seek(reader, at);
    reader->window.pause = chunk_begin(job, index + 1) + BYTES_BEHIND;
    pyro_kineto_read_events(reader, end);
    return pyro_kineto_offset(reader);
}

/* Takes the next chunk in order, if worker 0 can join it or may read it itself. */
static bool choose_in_turn(chunk_job *job, worker *worker)
{
    int64_t slot = job->joined % job->ring;
    worker->index = job->joined;
    if (!job->taken[slot]) {
        take_chunk(job, job->joined);
        worker->action = CHUNK_READ_IN_TURN;
        return true;
    }
    worker->action = CHUNK_JOIN;
    return job->done[slot];
}

/* Worker 0 reads ahead too while another worker reads the next chunk. */
static void *take_task(void *data, unsigned number)
{
    chunk_job *job = data;
    worker *worker = &job->workers[number];
    if (number == 0 && choose_in_turn(job, worker))
        return worker;
    int64_t index = choose_chunk(job, worker);
    if (index < 0)
        return NULL;
    take_chunk(job, index);
    worker->next = index + 1;
    worker->index = index;
    worker->action = CHUNK_READ_AHEAD;
    return worker;
}

static void run_task(void *data, void *task, unsigned number)
{
    chunk_job *job = data;
    const pyro_trace_options *options = job->options;
    worker *worker = task;
    chunk *chunk = &job->chunks[worker->index % job->ring];
    (void)number;
    if (worker->action == CHUNK_READ_AHEAD) {
        read_chunk(worker, chunk, worker->index);
        return;
    }
    if (worker->action == CHUNK_JOIN) {
        job->at = join_chunk(job, chunk, worker->index, job->at);
        empty_chunk(chunk);
    } else {
        job->at = read_in_turn(job, worker->index, job->at);
    }
    if (options && options->progress)
        options->progress(options->progress_user, job->at, job->size);
}

static bool finish_task(void *data, void *task, unsigned number)
{
    chunk_job *job = data;
    const worker *worker = task;
    int64_t slot = worker->index % job->ring;
    (void)number;
    if (worker->action == CHUNK_READ_AHEAD) {
        job->done[slot] = true;
        return true;
    }
    job->taken[slot] = job->done[slot] = false;
    job->joined++;
    job->stop = job->joined == job->chunk_count || is_over(job->reader);
    return true;
}

static bool is_job_over(const void *data, unsigned number)
{
    const chunk_job *job = data;
    return job->stop || (number > 0 && job->left == 0);
}

/* Opens what the workers need. */
static bool open_job(chunk_job *job, int threads)
{
    job->ring = (int64_t)threads * CHUNKS_AHEAD;
    job->chunks = calloc((size_t)job->ring, sizeof *job->chunks);
    job->taken = calloc((size_t)job->ring, sizeof *job->taken);
    job->done = calloc((size_t)job->ring, sizeof *job->done);
    job->workers = calloc((size_t)threads, sizeof *job->workers);
    if (!job->chunks || !job->taken || !job->done || !job->workers)
        return false;
    for (job->worker_count = 0; job->worker_count < threads; job->worker_count++) {
        worker *worker = &job->workers[job->worker_count];
        if (!open_worker(job, worker, job->worker_count > 0)) {
            job->worker_count++;
            return false;
        }
    }
    return true;
}

static void close_job(chunk_job *job)
{
    for (int i = 0; i < job->worker_count; i++)
        close_worker(&job->workers[i]);
    for (int64_t i = 0; job->chunks && i < job->ring; i++)
        free_chunk(&job->chunks[i]);
    free(job->chunks);
    free(job->taken);
    free(job->done);
    free(job->workers);
}

void pyro_kineto_read_chunks(pyro_kineto_reader *reader)
{
    static const pyro_job functions = {take_task, run_task, finish_task, is_job_over};
    /* Chunks are recognised by the first event's first key. */
    if (!pyro_kineto_next_byte(reader) || *reader->window.at != '{') {
        pyro_kineto_read_events(reader, INT64_MAX);
        return;
    }
    pyro_kineto_learn_first_key(reader);
    int64_t at = pyro_kineto_offset(reader);
    chunk_job job = {.reader = reader, .begin = at, .at = at, .size = reader->source->size};
    /* Progress is reported per chunk: the window's end would be ahead of it. */
    job.options = reader->options;
    reader->options = NULL;
    job.chunk_count = (job.size - at + reader->sizes.chunk - 1) / reader->sizes.chunk;
    job.left = job.chunk_count;
    job.stop = job.chunk_count == 0 || is_over(reader);
    if (open_job(&job, reader->threads))
        pyro_pool_run(&functions, &job, (unsigned)reader->threads);
    else
        reader->scanner->no_memory = true;
    close_job(&job);
    reader->options = job.options;
    pyro_kineto_seek(reader, job.at);
}
