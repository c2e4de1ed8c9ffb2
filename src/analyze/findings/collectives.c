/*
 * Detects many small collectives, whose time is latency and not bandwidth: those of kernels, and those
 * that the host runs itself (gloo, MPI).
 */
#include "analyze/findings/findings.h"

#include <inttypes.h>
#include <string.h>

/* Below this size a collective's time hardly depends on its size. */
enum { SMALL_BYTES = 256 << 10 };

typedef struct collective_sums {
    int64_t calls, total_ns, lost_ns; /* of small ones; lost: that nothing covers */
    int64_t all_ns;                   /* of those of any size */
    const char *kind;                 /* of most, and its size */
    int64_t bytes;
    const char *place;
} collective_sums;

static void sum_kernels(const pyro_analysis *result, collective_sums *sums)
{
    const pyro_collective_row *most = NULL;
    for (size_t i = 0; i < result->collective_count; i++) {
        const pyro_collective_row *row = &result->collectives[i];
        if (row->message_bytes < 0 || row->message_bytes >= SMALL_BYTES)
            continue;
        sums->calls += row->calls;
        sums->total_ns += row->total_ns;
        sums->lost_ns += row->exposed_ns;
        most = !most || row->calls > most->calls ? row : most;
    }
    if (!most)
        return;
    sums->kind = sums->place = most->kind;
    sums->bytes = most->message_bytes;
}

/* A range in which a backend of the host communicates: "gloo:all_reduce". */
static bool is_host_collective(const char *name)
{
    static const char *const backends[] = {"gloo:", "mpi:", "ucc:"};
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (!strncmp(name, backends[i], strlen(backends[i])))
            return true;
    return false;
}

/* Whether any event can be one. */
static bool has_host_collectives(const pyro_trace *trace)
{
    for (uint32_t name = 0; name < trace->names.count; name++)
        if (is_host_collective(pyro_trace_text(trace, name)))
            return true;
    return false;
}

/* Bytes of the message of an op, at most what is small; -1 unknown. */
static int64_t message_bytes(const pyro_finder *finder, uint32_t op)
{
    if (op == PYRO_NO_EVENT)
        return -1;
    int64_t elements = pyro_largest_elements(pyro_finder_dims(finder, op), SMALL_BYTES);
    pyro_dtype dtype = pyro_finder_dtype(finder, op);
    int64_t size = dtype == PYRO_DTYPE_UNKNOWN ? 4 : pyro_dtype_bytes(dtype);
    return elements < 0 ? -1 : elements * size;
}

/* The host's time that cannot be used because of communication. */
static int64_t lost_on_host(const pyro_finder *finder)
{
    int64_t lost_ns = 0;
    for (size_t i = 0; i < finder->result->cause_place_count; i++) {
        const pyro_cause_place *place = &finder->result->cause_places[i];
        if (pyro_is_communication(place->op) &&
            (PYRO_LATE_CAUSES >> place->cause & 1 || place->cause == PYRO_CAUSE_COMMUNICATION))
            lost_ns += pyro_place_lost_ns(place);
    }
    return lost_ns;
}

/* The op of torch.distributed comes first; a thread of the backend does the work. */
static void sum_host(pyro_finder *finder, collective_sums *sums)
{
    const pyro_trace *trace = finder->context->trace;
    uint32_t op = PYRO_NO_EVENT, first = PYRO_NO_EVENT;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = finder->context->joins->by_time[i];
        if ((trace->category[event] != PYRO_EVENT_ANNOTATION &&
             trace->category[event] != PYRO_EVENT_OP) ||
            !(pyro_context_traits(finder->context, event) & PYRO_TRAIT_COMMUNICATION))
            continue;
        if (trace->category[event] == PYRO_EVENT_OP &&
            !strncmp(pyro_event_name(trace, event), "c10d::", 6))
            op = event;
        if (!is_host_collective(pyro_event_name(trace, event)) || !pyro_finder_wants(finder, event))
            continue;
        int64_t bytes = message_bytes(finder, event);
        bytes = bytes < 0 ? message_bytes(finder, op) : bytes;
        sums->all_ns += trace->duration_ns[event];
        if (bytes < 0 || bytes >= SMALL_BYTES)
            continue;
        first = first == PYRO_NO_EVENT ? op : first;
        sums->calls++;
        sums->total_ns += trace->duration_ns[event];
        sums->bytes = bytes > sums->bytes ? bytes : sums->bytes;
        sums->kind = pyro_event_name(trace, event);
    }
    if (sums->all_ns > 0)
        sums->lost_ns = (int64_t)((double)lost_on_host(finder) * (double)sums->total_ns /
                                  (double)sums->all_ns);
    sums->lost_ns = sums->lost_ns < sums->total_ns ? sums->lost_ns : sums->total_ns;
    sums->place = pyro_finder_place(finder, first);
}

DETECTOR(small_collectives)
{
    collective_sums sums = {.kind = "", .place = ""};
    bool has_kernels = finder->result->collective_count > 0;
    if (has_kernels)
        sum_kernels(finder->result, &sums);
    else if (has_host_collectives(finder->context->trace))
        sum_host(finder, &sums);
    if (!sums.calls || sums.total_ns < finder->span_ns / 100)
        return false;
    bool has_steps = finder->context->windows_are_steps;
    evidence->value = (double)sums.calls / (double)(has_steps ? finder->steps : 1);
    /* Collectives of kernels can last beyond the steps. */
    int64_t exposed_of_steps_ns = pyro_finder_causes_ns(finder, 1u << PYRO_CAUSE_COMMUNICATION |
                                                                    1u << PYRO_CAUSE_PEER_WAIT);
    evidence->gain_ns = has_kernels && exposed_of_steps_ns < sums.lost_ns ? exposed_of_steps_ns
                                                                          : sums.lost_ns;
    evidence->gain_basis = has_kernels ? "time of small collectives that nothing covers"
                                       : "time in which the host waited for small collectives";
    evidence->place = sums.place;
    pyro_evidence_say(
        evidence,
        "%.1f collectives of less than %d KiB %s take %s in total, of which %s %s; "
        "%s %s of %" PRId64 " bytes",
        evidence->value, SMALL_BYTES >> 10, has_steps ? "per step" : "in the whole trace",
        pyro_evidence_time(evidence, sums.total_ns), pyro_evidence_time(evidence, sums.lost_ns),
        has_kernels ? "do not overlap with compute" : "keep the host waiting",
        has_kernels ? "most are" : "the largest is", sums.kind, sums.bytes);
    return true;
}
