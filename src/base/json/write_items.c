/*
 * Writes the items of a long array on several threads. Threads format pieces of the array into
 * buffers of their own, and any of them appends the next finished piece.
 */
#include "base/json/write.h"

#include "base/parallel.h"
#include <stdlib.h>

/* Below this a thread costs more than it saves; a piece of rows fits into the processor's cache. */
enum { ITEMS_PER_PIECE = 2048, FEWEST_PIECES = 8, PIECES_PER_WORKER = 4 };

typedef enum piece_state { PIECE_EMPTY, PIECE_FORMATTED, PIECE_READY, PIECE_APPENDED } piece_state;

typedef struct piece {
    pyro_buf buf;
    size_t index; /* of the piece in the array */
    piece_state state;
} piece;

typedef struct items_job {
    pyro_json_writer *writer;
    pyro_json_item_fn *write;
    const void *user;
    size_t count, piece_count;
    piece *ring;
    size_t ring_size;
    size_t next_formatted, next_appended;
    bool is_appending;
    pyro_json_writer start; /* of every piece: behind an item */
} items_job;

static void *take_piece(void *data, unsigned worker)
{
    items_job *job = data;
    (void)worker;
    piece *next = &job->ring[job->next_appended % job->ring_size];
    if (!job->is_appending && next->state == PIECE_READY) {
        job->is_appending = true;
        next->state = PIECE_APPENDED;
        return next;
    }
    if (job->next_formatted == job->piece_count ||
        job->next_formatted - job->next_appended == job->ring_size)
        return NULL;
    piece *free_one = &job->ring[job->next_formatted % job->ring_size];
    free_one->index = job->next_formatted++;
    free_one->state = PIECE_FORMATTED;
    return free_one;
}

static void format_piece(const items_job *job, piece *piece)
{
    pyro_json_writer writer = job->start;
    size_t begin = piece->index * ITEMS_PER_PIECE, end = begin + ITEMS_PER_PIECE;
    writer.buf = &piece->buf;
    writer.first = piece->index == 0 && job->start.first;
    for (size_t i = begin; i < end && i < job->count; i++)
        job->write(&writer, job->user, i);
}

static void append_piece(const items_job *job, piece *piece)
{
    pyro_buf *out = job->writer->buf;
    out->failed |= piece->buf.failed;
    pyro_buf_add(out, piece->buf.data, piece->buf.length);
    pyro_buf_reset(&piece->buf);
}

static void run_piece(void *data, void *task, unsigned worker)
{
    items_job *job = data;
    piece *piece = task;
    (void)worker;
    if (piece->state == PIECE_FORMATTED)
        format_piece(job, piece);
    else
        append_piece(job, piece);
}

static bool finish_piece(void *data, void *task, unsigned worker)
{
    items_job *job = data;
    piece *piece = task;
    (void)worker;
    if (piece->state == PIECE_FORMATTED) {
        piece->state = PIECE_READY;
    } else {
        piece->state = PIECE_EMPTY;
        job->next_appended++;
        job->is_appending = false;
    }
    return true;
}

static bool are_items_written(const void *data, unsigned worker)
{
    const items_job *job = data;
    (void)worker;
    return job->next_appended == job->piece_count;
}

/* Returns false if memory for the ring is missing. */
static bool write_on_threads(items_job *job, unsigned workers)
{
    static const pyro_job calls = {take_piece, run_piece, finish_piece, are_items_written};
    job->ring_size = (size_t)workers * PIECES_PER_WORKER;
    job->ring = calloc(job->ring_size, sizeof *job->ring);
    if (!job->ring)
        return false;
    pyro_pool_run(&calls, job, workers);
    for (size_t i = 0; i < job->ring_size; i++)
        pyro_buf_free(&job->ring[i].buf);
    free(job->ring);
    return true;
}

void pyro_json_items(pyro_json_writer *writer, size_t count, pyro_json_item_fn *write,
                     const void *user)
{
    items_job job = {.writer = writer,
                     .write = write,
                     .user = user,
                     .count = count,
                     .piece_count = (count + ITEMS_PER_PIECE - 1) / ITEMS_PER_PIECE,
                     .start = *writer};
    unsigned workers = pyro_count_parts(0, job.piece_count, FEWEST_PIECES);
    if (workers > 1 && write_on_threads(&job, workers)) {
        writer->first = false;
        return;
    }
    for (size_t i = 0; i < count; i++)
        write(writer, user, i);
}
