/* Detects many small collectives, whose time is latency and not bandwidth. */
#include "analyze/findings/findings.h"

#include <inttypes.h>

/* Below this size a collective's time hardly depends on its size. */
enum { SMALL_BYTES = 256 << 10 };

DETECTOR(small_collectives)
{
    const pyro_analysis *result = finder->result;
    const pyro_collective_row *most = NULL;
    int64_t calls = 0, total_ns = 0, exposed_ns = 0;
    for (size_t i = 0; i < result->collective_count; i++) {
        const pyro_collective_row *row = &result->collectives[i];
        if (row->message_bytes < 0 || row->message_bytes >= SMALL_BYTES)
            continue;
        calls += row->calls;
        total_ns += row->total_ns;
        exposed_ns += row->exposed_ns;
        most = !most || row->calls > most->calls ? row : most;
    }
    if (!most || total_ns < finder->span_ns / 100)
        return false;
    bool has_steps = finder->context->windows_are_steps;
    evidence->value = (double)calls / (double)(has_steps ? finder->steps : 1);
    int64_t exposed_of_steps_ns = pyro_finder_causes_ns(finder, 1u << PYRO_CAUSE_COMMUNICATION |
                                                                    1u << PYRO_CAUSE_PEER_WAIT);
    evidence->gain_ns = exposed_ns < exposed_of_steps_ns ? exposed_ns : exposed_of_steps_ns;
    evidence->gain_basis = "time of small collectives that nothing covers";
    evidence->place = most->kind;
    pyro_evidence_say(
        evidence,
        "%.1f collectives of less than %d KiB %s take %.3f ms, of which %.3f ms do not "
        "overlap with compute; most are %s of %" PRId64 " bytes",
        evidence->value, SMALL_BYTES >> 10, has_steps ? "per step" : "in the whole trace",
        (double)total_ns / 1e6, (double)exposed_ns / 1e6, most->kind, most->message_bytes);
    return true;
}
