/*
 * Joins backward ops to the forward ops that made their nodes. A forward op carries the number that
 * the next node of its thread will get, so of several ops with one number the last to start made
 * the node. A backward op names the thread by an id of the profiler, which is learned from the
 * numbers.
 */
#include "trace/joins/internal.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <stdlib.h>

/* More than real traces have; further threads stay unknown, which avoids quadratic time. */
#define MOST_CANDIDATES 32
#define MOST_THREADS 256
/* A matching name counts more than a number, which several threads may use. */
#define VOTES_OF_A_NAME 16

static uint64_t key_of_sequence(uint16_t track, int64_t sequence)
{
    return (uint64_t)track << 48 ^ (uint64_t)sequence;
}

static uint64_t key_of_time(uint16_t track, int64_t time_ns)
{
    return (uint64_t)track * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)time_ns;
}

static bool is_backward_op(pyro_join_state *state, uint32_t op, const pyro_op_detail *detail)
{
    if (detail->forward_thread)
        return true;
    pyro_name_class name_class = pyro_join_name_class(state, op);
    return name_class == PYRO_NAME_EVALUATE || name_class == PYRO_NAME_BACKWARD;
}

/* The thread that a backward op names; NULL when memory is out or there are too many threads. */
static pyro_forward_thread *thread_of(pyro_join_state *state, uint32_t op,
                                      const pyro_op_detail *detail, bool add)
{
    pyro_backward *backward = &state->backward;
    uint64_t pid = state->trace->tracks[state->trace->track[op]].pid;
    for (size_t i = 0; i < backward->thread_count; i++) {
        size_t at = (backward->last_thread + i) % backward->thread_count;
        pyro_forward_thread *thread = &backward->threads[at];
        if (thread->pid == pid && thread->id == detail->forward_thread) {
            backward->last_thread = at;
            return thread;
        }
    }
    if (!add || backward->thread_count >= MOST_THREADS ||
        !pyro_grow(&backward->threads, &backward->thread_capacity, backward->thread_count + 1,
                   sizeof *backward->threads))
        return NULL;
    backward->threads[backward->thread_count] = (pyro_forward_thread){
        .pid = pid, .id = detail->forward_thread, .track = PYRO_NO_TRACK};
    return &backward->threads[backward->thread_count++];
}

/* Tracks with numbered forward ops, grouped by process. */
typedef struct candidates {
    uint16_t tracks[MOST_CANDIDATES];
    size_t count;
    int64_t *votes; /* by thread, then by candidate */
} candidates;

static int find_candidates(pyro_join_state *state, candidates *all)
{
    const pyro_trace *trace = state->trace;
    bool *has_forward = calloc(trace->track_count + 1, sizeof *has_forward);
    if (!has_forward)
        return pyro_fail_memory(state->error);
    for (size_t i = pyro_trace_next_op(trace, 0); i < trace->count;
         i = pyro_trace_next_op(trace, i + 1)) {
        uint32_t op = (uint32_t)i;
        const pyro_op_detail *detail = pyro_join_op_detail(trace, op);
        if (!detail || detail->sequence == PYRO_NO_SEQUENCE)
            continue;
        if (is_backward_op(state, op, detail))
            thread_of(state, op, detail, true);
        else
            has_forward[trace->track[op]] = true;
    }
    for (size_t i = 0; i < trace->track_count && all->count < MOST_CANDIDATES; i++)
        if (has_forward[i])
            all->tracks[all->count++] = (uint16_t)i;
    free(has_forward);
    return PYRO_OK;
}

/* Our own recordings contain torch's number of each thread. */
static bool is_known(pyro_join_state *state, pyro_forward_thread *thread)
{
    for (size_t i = 0; i < state->trace->track_count && thread->id; i++) {
        const pyro_track *track = &state->trace->tracks[i];
        if (track->torch_thread != thread->id || track->pid != thread->pid)
            continue;
        thread->track = (uint16_t)i;
        thread->is_known = true;
        return true;
    }
    return false;
}

/* Without a choice between tracks of the process, no vote is needed. */
static bool needs_votes(pyro_join_state *state, const candidates *all)
{
    bool needed = false;
    for (size_t i = 0; i < state->backward.thread_count; i++) {
        pyro_forward_thread *thread = &state->backward.threads[i];
        size_t found = 0;
        if (is_known(state, thread))
            continue;
        for (size_t j = 0; j < all->count; j++) {
            if (state->trace->tracks[all->tracks[j]].pid != thread->pid)
                continue;
            thread->track = all->tracks[j];
            found++;
        }
        needed |= found > 1;
    }
    return needed;
}

static void vote(pyro_join_state *state, candidates *all, uint32_t op, const pyro_op_detail *detail)
{
    const pyro_trace *trace = state->trace;
    pyro_forward_thread *thread = thread_of(state, op, detail, false);
    if (!thread)
        return;
    int64_t *votes = all->votes + (thread - state->backward.threads) * (ptrdiff_t)all->count;
    for (size_t i = 0; i < all->count; i++) {
        uint32_t forward = pyro_map_get(&state->backward.forward_of,
                                        key_of_sequence(all->tracks[i], detail->sequence));
        if (forward == PYRO_MAP_NONE || trace->tracks[all->tracks[i]].pid != thread->pid)
            continue;
        bool fits = pyro_names_are_forward_and_backward(pyro_event_name(trace, forward),
                                                        pyro_event_name(trace, op));
        votes[i] += fits ? VOTES_OF_A_NAME : 1;
    }
}

static void count_votes(pyro_join_state *state, const candidates *all)
{
    for (size_t i = 0; i < state->backward.thread_count; i++) {
        int64_t best = 0;
        if (state->backward.threads[i].is_known)
            continue;
        for (size_t j = 0; j < all->count; j++) {
            int64_t votes = all->votes[i * all->count + j];
            if (votes > best)
                state->backward.threads[i].track = all->tracks[j];
            best = votes > best ? votes : best;
        }
    }
}

int pyro_backward_learn(pyro_join_state *state)
{
    const pyro_trace *trace = state->trace;
    candidates all = {.count = 0};
    int status = find_candidates(state, &all);
    if (status || !needs_votes(state, &all))
        return status;
    all.votes = calloc(state->backward.thread_count * all.count, sizeof *all.votes);
    if (!all.votes)
        return pyro_fail_memory(state->error);
    for (size_t i = 0; i < trace->count && !status; i++) {
        uint32_t event = state->joins->by_time[i];
        const pyro_op_detail *detail = pyro_join_op_detail(trace, event);
        if (!detail || detail->sequence == PYRO_NO_SEQUENCE)
            continue;
        if (is_backward_op(state, event, detail))
            vote(state, &all, event, detail);
        else
            status = pyro_backward_add(state, event);
    }
    count_votes(state, &all);
    free(all.votes);
    pyro_map_free(&state->backward.forward_of);
    state->backward.forward_of = (pyro_map)PYRO_MAP_INIT;
    return status;
}

int pyro_backward_add(pyro_join_state *state, uint32_t op)
{
    const pyro_op_detail *detail = pyro_join_op_detail(state->trace, op);
    if (!detail || detail->sequence == PYRO_NO_SEQUENCE || detail->forward_thread)
        return PYRO_OK;
    uint64_t key = key_of_sequence(state->trace->track[op], detail->sequence);
    return pyro_map_put(&state->backward.forward_of, key, op) ? PYRO_OK
                                                              : pyro_fail_memory(state->error);
}

static int index_flows(pyro_join_state *state)
{
    const pyro_trace *trace = state->trace;
    pyro_backward *backward = &state->backward;
    backward->flows_ready = true;
    for (uint32_t i = 0; i < trace->flow_count; i++) {
        const pyro_flow *flow = &trace->flows[i];
        bool ok = flow->is_end ? pyro_map_put(&backward->flow_end,
                                              key_of_time(flow->track, flow->time_ns), i)
                               : pyro_map_put(&backward->flow_start, flow->id, i);
        if (!ok)
            return pyro_fail_memory(state->error);
    }
    return PYRO_OK;
}

/* The first event that starts at a time or later, as an index into by_time. */
static size_t first_at(const pyro_join_state *state, int64_t time_ns)
{
    size_t low = 0, high = state->trace->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (state->trace->start_ns[state->joins->by_time[middle]] < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The forward op at the other end of the arrow that ends at this op. */
static int find_by_flow(pyro_join_state *state, uint32_t op, uint32_t *forward)
{
    const pyro_trace *trace = state->trace;
    int status = state->backward.flows_ready ? PYRO_OK : index_flows(state);
    if (status)
        return status;
    uint64_t key = key_of_time(trace->track[op], trace->start_ns[op]);
    uint32_t end = pyro_map_get(&state->backward.flow_end, key);
    if (end == PYRO_MAP_NONE || trace->flows[end].track != trace->track[op] ||
        trace->flows[end].time_ns != trace->start_ns[op])
        return PYRO_OK;
    uint32_t start = pyro_map_get(&state->backward.flow_start, trace->flows[end].id);
    if (start == PYRO_MAP_NONE)
        return PYRO_OK;
    const pyro_flow *flow = &trace->flows[start];
    size_t at = first_at(state, flow->time_ns), last = at + 64; /* ties are few in real files */
    for (; at < trace->count && at < last; at++) {
        uint32_t event = state->joins->by_time[at];
        if (trace->start_ns[event] != flow->time_ns)
            break;
        if (trace->track[event] == flow->track && trace->category[event] == PYRO_EVENT_OP &&
            event != op && trace->start_ns[event] <= trace->start_ns[op])
            *forward = event;
    }
    return PYRO_OK;
}

int pyro_backward_find(pyro_join_state *state, uint32_t op, uint32_t *forward)
{
    const pyro_op_detail *detail = pyro_join_op_detail(state->trace, op);
    *forward = PYRO_NO_EVENT;
    if (detail && detail->sequence != PYRO_NO_SEQUENCE) {
        const pyro_forward_thread *thread = thread_of(state, op, detail, false);
        uint32_t found = PYRO_MAP_NONE;
        if (thread && thread->track != PYRO_NO_TRACK)
            found = pyro_map_get(&state->backward.forward_of,
                                 key_of_sequence(thread->track, detail->sequence));
        if (found != PYRO_MAP_NONE)
            *forward = found;
    }
    if (*forward == PYRO_NO_EVENT && state->trace->flow_count)
        return find_by_flow(state, op, forward);
    return PYRO_OK;
}

void pyro_backward_free(pyro_backward *backward)
{
    pyro_map_free(&backward->forward_of);
    pyro_map_free(&backward->flow_start);
    pyro_map_free(&backward->flow_end);
    free(backward->threads);
}
