/* The largest batch, sequence and concurrency that fit: measured at other sizes, not extrapolated. */
#include "base/error.h"
#include "fit/fit.h"
#include <stdlib.h>

#define MOST (INT64_C(1) << 24)

typedef enum verdict { FITS, TOO_LARGE, NOT_ALLOWED } verdict;

typedef struct search {
    fit_run *run;
    const pyro_fit_answer *answer;
    const char *kind; /* "sequence"; NULL: the batch; "": concurrency */
    int64_t memory_bytes;
    const pyro_symbol *sizes; /* of the answer */
    int status; /* an error that ends the search */
    pyro_error *error;
} search;

static int set_size(const search *s, int64_t size, pyro_error *error)
{
    pyro_model *model = s->run->model;
    pyro_model_restore_sizes(model, s->sizes, true);
    return s->kind ? pyro_model_set_kind(model, s->kind, size, error)
                   : pyro_model_set_batch(model, size, error);
}

/* True if the file leaves the size open: another one is allowed. */
static bool is_open(const search *s, int64_t now)
{
    pyro_error ignored;
    pyro_error_clear(&ignored);
    return now > 0 && (set_size(s, now + 1, &ignored) == PYRO_OK ||
                       (now > 1 && set_size(s, now - 1, &ignored) == PYRO_OK));
}

/* Bytes of the fullest GPU if the size is `size`. */
static verdict probe(search *s, int64_t size, int64_t *bytes)
{
    fit_run *run = s->run;
    fit_load load = {0};
    const fit_load *at = &run->load;
    fit_setting setting = fit_setting_of(run, s->answer);
    pyro_error ignored;
    pyro_fit_rank rank;
    int status = PYRO_OK;
    pyro_error_clear(&ignored);
    if (s->kind && !*s->kind) {
        setting.concurrent = size;
    } else {
        status = set_size(s, size, &ignored);
        if (status == PYRO_OK)
            status = fit_load_read(&load, run->model, run->options->cost, run->options->train,
                                   &ignored);
        at = &load;
        if (status == PYRO_OK && !run->options->concurrent)
            setting.concurrent = load.batch > 0 ? load.batch : 1;
    }
    if (status == PYRO_OK)
        status = fit_rank(&rank, at, &s->answer->layout, &setting, &ignored);
    *bytes = status == PYRO_OK ? rank.total_bytes : 0;
    if (at == &load)
        fit_load_free(&load);
    if (status == PYRO_ERROR_MEMORY) {
        s->status = pyro_fail_memory(s->error);
        return NOT_ALLOWED;
    }
    if (status == PYRO_ERROR_LIMIT)
        return TOO_LARGE;
    return status < 0 ? NOT_ALLOWED : *bytes <= s->memory_bytes ? FITS : TOO_LARGE;
}

/* Where a line through two sizes meets the memory; memory grows about linearly with most sizes. */
static int64_t meet(const search *s, int64_t low, int64_t low_bytes, int64_t high,
                    int64_t high_bytes)
{
    double slope = (double)(high_bytes - low_bytes) / (double)(high - low);
    double size = slope > 0 ? (double)low + (double)(s->memory_bytes - low_bytes) / slope
                            : 2.0 * (double)high;
    return size<1 ? 1 : size>(double) MOST ? MOST : (int64_t)size;
}

static int64_t clamp(int64_t size, int64_t least, int64_t most)
{
    return size < least ? least : size > most ? most : size;
}

/* The largest size that fits; 0: not even 1; -1: it cannot be changed. */
static int64_t find_largest(search *s, int64_t now, bool *limited)
{
    int64_t low = 0, low_bytes = 0, high = MOST + 1, high_bytes = 0, bytes;
    bool rejected = false; /* `high` is not allowed, whatever its bytes */
    int64_t next = now;
    for (int turn = 0; low + 1 < high && s->status == PYRO_OK; turn++) {
        verdict found = probe(s, next, &bytes);
        int64_t before = low, before_bytes = low_bytes;
        if (found == FITS) {
            low = next;
            low_bytes = bytes;
        } else {
            high = next;
            high_bytes = bytes;
            rejected = found == NOT_ALLOWED;
        }
        if (turn == 0 && found == NOT_ALLOWED)
            return -1;
        bool open = high == MOST + 1, measured = !open && !rejected && high_bytes > 0;
        if (open && before > 0)
            next = meet(s, before, before_bytes, low, low_bytes) + 1;
        else if (open)
            next = 2 * low;
        else if (measured && low > 0 && turn % 4 != 3)
            next = meet(s, low, low_bytes, high, high_bytes) + (found == FITS);
        else
            next = low + (high - low) / 2;
        next = clamp(next, low + 1, high - 1);
        if (open && low >= MOST)
            break;
    }
    *limited = rejected || low >= MOST;
    return low;
}

int fit_find_largest(fit_run *run, pyro_fit_answer *answer, pyro_error *error)
{
    const fit_load *load = &run->load;
    pyro_symbol *sizes = pyro_model_save_sizes(run->model);
    search s = {.run = run,
                .answer = answer,
                .memory_bytes = answer->memory_bytes,
                .sizes = sizes,
                .error = error};
    bool limited;
    answer->largest_batch = answer->largest_sequence = answer->largest_concurrent = -1;
    if (!sizes)
        return pyro_fail_memory(error);
    if (is_open(&s, load->batch))
        answer->largest_batch = find_largest(&s, load->batch, &answer->batch_is_limited);
    s.kind = "sequence";
    if (s.status == PYRO_OK && is_open(&s, load->sequence))
        answer->largest_sequence = find_largest(&s, load->sequence, &answer->sequence_is_limited);
    s.kind = "";
    if (s.status == PYRO_OK && load->generates && !load->train)
        answer->largest_concurrent = find_largest(&s, run->fit->concurrent, &limited);
    pyro_model_restore_sizes(run->model, sizes, false);
    free(sizes);
    return s.status;
}
