/*
 * Steps: when they end, how long they usually take, and which of them is slow. A step is compared
 * with the median of the latest of its kind; the first ones are a warm-up and do not count.
 */
#include "capture/session.h"

#include "base/text/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many steps of other optimizers, and the first one is no longer in use. */
#define MOST_OTHER_OPTIMIZERS 64
#define MOST_LESSER_MARKS 1000

/* A step that has just ended. */
typedef struct ended_step {
    pyro_flight_mark mark;
    uint64_t begin_raw, end_raw;
    uint64_t number;
    uint32_t module;          /* of a forward */
    uint64_t exceeded_median; /* 0: the step is not slow */
} ended_step;

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static uint64_t median_of(const pyro_step_track *track)
{
    uint64_t sorted[PYRO_STEP_SAMPLES];
    memcpy(sorted, track->samples, track->sample_count * sizeof *sorted);
    qsort(sorted, track->sample_count, sizeof *sorted, by_size);
    return sorted[track->sample_count / 2];
}

/* The steps with a key; a new key takes the place of the one that was used least. */
static pyro_step_track *track_of(pyro_flight_steps *steps, uint64_t key)
{
    pyro_step_track *least = &steps->tracks[0];
    for (size_t i = 0; i < PYRO_STEP_TRACKS; i++) {
        if (steps->tracks[i].key == key)
            return &steps->tracks[i];
        if (steps->tracks[i].steps < least->steps)
            least = &steps->tracks[i];
    }
    *least = (pyro_step_track){.key = key};
    return least;
}

static int64_t to_ns(const pyro_session *session, uint64_t raw)
{
    return (int64_t)((double)raw / session->header->raw_per_ns);
}

static uint64_t to_raw(const pyro_session *session, int64_t ns)
{
    return (uint64_t)((double)ns * session->header->raw_per_ns);
}

/* "step 12", or "call 12 of Net". */
static void name_step(const pyro_session *session, const ended_step *step, char *text, size_t size)
{
    const pyro_intern *modules = &session->data[PYRO_DATA_MODULE];
    const char *name = NULL;
    if (step->module && step->module <= modules->count) {
        const char *path = modules->entries[step->module - 1].text + sizeof(pyro_module_data);
        name = path[0] ? path : path + 1; /* a root has an empty path; its class follows */
    }
    if (name)
        snprintf(text, size, "call %llu of %.100s", (unsigned long long)step->number, name);
    else
        snprintf(text, size, "step %llu", (unsigned long long)step->number);
}

/* A step that loses so many times as much as the last reported one is worth a file of its own. */
#define MUCH_WORSE 2

/* How long usual slow steps are not reported after one, so that files do not overlap. */
static uint64_t kept_raw(const pyro_session *session, uint64_t now)
{
    uint64_t from = pyro_flight_keeps_from(session, now);
    for (size_t i = 0; !session->options.flight.keep_ns && i < session->slot_count; i++) {
        const pyro_chunk_slot *slot = &session->slots[i];
        if (slot->kind == PYRO_CHUNK_RECORDS && slot->sequence && (!from || slot->first_raw < from))
            from = slot->first_raw;
    }
    return from && from < now ? now - from : to_raw(session, 1000000000);
}

/* With `lock`, and when the step's record is written: its file is copied at once. */
static void report_if_slow(pyro_session *session, const ended_step *step)
{
    char name[160], time[PYRO_UNIT_TEXT], usual[PYRO_UNIT_TEXT];
    pyro_flight_job job = {.trigger = "slow-step",
                           .fired_raw = step->end_raw,
                           .begin_raw = step->begin_raw,
                           .end_raw = step->end_raw};
    pyro_flight_steps *steps = &session->flight.steps;
    uint64_t duration = step->end_raw - step->begin_raw, median = step->exceeded_median;
    uint64_t lost = duration > median ? duration - median : 0;
    bool is_quiet = step->end_raw < steps->quiet_until_raw;
    if (!median || (is_quiet && lost / MUCH_WORSE < steps->lost_raw))
        return;
    name_step(session, step, name, sizeof name);
    snprintf(job.text, sizeof job.text, "%s took %s, %.1f times the median of %s", name,
             pyro_format_duration(time, to_ns(session, duration)),
             (double)duration / (double)median,
             pyro_format_duration(usual, to_ns(session, median)));
    if (!pyro_flight_add(session, &job))
        return;
    steps->quiet_until_raw = step->end_raw + kept_raw(session, step->end_raw);
    steps->lost_raw = lost;
}

static void compare(pyro_session *session, pyro_step_track *track, ended_step *step)
{
    const pyro_flight_options *options = &session->options.flight;
    uint64_t duration = step->end_raw - step->begin_raw;
    if (session->is_followed)
        pyro_tail_count_step(session, step->mark, to_ns(session, duration));
    if (track->sample_count >= PYRO_STEP_WARMUP) {
        uint64_t median = median_of(track);
        if ((options->slow_factor > 0 &&
             (double)duration > options->slow_factor * (double)median) ||
            (options->slow_ns && to_ns(session, duration) > options->slow_ns))
            step->exceeded_median = median ? median : 1;
    }
    track->samples[track->next_sample] = duration;
    track->next_sample = (track->next_sample + 1) % PYRO_STEP_SAMPLES;
    if (track->sample_count < PYRO_STEP_SAMPLES)
        track->sample_count++;
}

/* Whether a mark counts: none better is in use. The better one may have ended with its loop. */
static bool outranks(pyro_flight_steps *steps, pyro_flight_mark mark)
{
    if (mark < steps->mark && ++steps->lesser_marks < MOST_LESSER_MARKS)
        return false;
    steps->lesser_marks = 0;
    if (mark != steps->mark) {
        memset(steps->tracks, 0, sizeof steps->tracks);
        steps->mark = mark;
    }
    return true;
}

/* One optimizer counts the steps: a program with several steps each of them once. */
static bool is_counting(pyro_flight_steps *steps, uint64_t key)
{
    if (!steps->optimizer || steps->other_optimizers >= MOST_OTHER_OPTIMIZERS)
        steps->optimizer = key;
    steps->other_optimizers = steps->optimizer == key ? 0 : steps->other_optimizers + 1;
    return steps->optimizer == key;
}

/* With `lock`: false if the call ends no step. */
static bool end_step(pyro_session *session, pyro_flight_mark mark, uint64_t key, ended_step *out)
{
    pyro_flight_steps *steps = &session->flight.steps;
    uint64_t now = pyro_raw_time(&pyro_the_recorder_api);
    if (!outranks(steps, mark) || (mark == PYRO_MARK_OPTIMIZER && !is_counting(steps, key)))
        return false;
    pyro_step_track *track = track_of(steps, key | 1);
    uint64_t begin = track->last_raw;
    track->last_raw = now;
    if (!begin)
        return false;
    *out = (ended_step){.mark = mark, .begin_raw = begin, .end_raw = now, .number = ++track->steps};
    if (steps->begins)
        steps->begins[steps->count % (uint64_t)session->options.flight.keep_steps] = begin;
    steps->count++;
    compare(session, track, out);
    return true;
}

/* A complete record: a span would have to end inside the optimizer's own. */
static void write_step(pyro_recorder_thread *thread, const ended_step *step)
{
    pyro_record *record = pyro_record_room(&pyro_the_recorder_api, thread);
    if (!record)
        return;
    record->start_raw = step->begin_raw;
    record->end_raw = step->end_raw;
    record->sequence = (int64_t)step->number;
    pyro_record_is(record, PYRO_RECORD_STEP, (uint32_t)step->mark);
    pyro_record_commit(thread, record);
}

void pyro_flight_step(pyro_flight_mark mark, uint64_t key)
{
    pyro_session *session = &pyro_the_session;
    pyro_recorder_api *api = &pyro_the_recorder_api;
    pyro_recorder_thread *thread = api->wants_steps ? pyro_recorder_enter(api) : NULL;
    ended_step step;
    if (!thread)
        return;
    pthread_mutex_lock(&session->lock);
    bool has_ended = (session->flight.is_on || session->is_followed) &&
                     end_step(session, mark, key, &step);
    pthread_mutex_unlock(&session->lock);
    if (has_ended) {
        write_step(thread, &step);
        pthread_mutex_lock(&session->lock);
        report_if_slow(session, &step);
        pthread_mutex_unlock(&session->lock);
    }
    pyro_recorder_leave(thread);
}

/* Calls with about as many input values are alike: a prompt is not compared with one token. */
static uint64_t key_of_call(uint32_t module, uint64_t inputs)
{
    uint64_t size = 0;
    for (; inputs > 1; inputs >>= 1)
        size++;
    return (uint64_t)module << 8 | size << 1 | 1;
}

void pyro_flight_forward(uint32_t module, uint64_t inputs, uint64_t begin_raw, uint64_t end_raw)
{
    pyro_session *session = &pyro_the_session;
    pyro_recorder_api *api = &pyro_the_recorder_api;
    pyro_recorder_thread *thread = api->wants_steps && end_raw > begin_raw
                                       ? pyro_recorder_enter(api)
                                       : NULL;
    if (!thread)
        return;
    pthread_mutex_lock(&session->lock);
    pyro_flight_steps *steps = &session->flight.steps;
    if ((session->flight.is_on || session->is_followed) && outranks(steps, PYRO_MARK_FORWARD)) {
        pyro_step_track *track = track_of(steps, key_of_call(module, inputs));
        ended_step step = {.mark = PYRO_MARK_FORWARD,
                           .begin_raw = begin_raw,
                           .end_raw = end_raw,
                           .number = ++track->steps,
                           .module = module};
        if (steps->begins)
            steps->begins[steps->count % (uint64_t)session->options.flight.keep_steps] = begin_raw;
        steps->count++;
        compare(session, track, &step);
        report_if_slow(session, &step);
    }
    pthread_mutex_unlock(&session->lock);
    pyro_recorder_leave(thread);
}
