/* How much of the past the flight recorder keeps, and what it remembers of the rest. */
#include "capture/session.h"

static uint64_t oldest_step(const pyro_session *session)
{
    const pyro_flight_steps *steps = &session->flight.steps;
    uint64_t kept = (uint64_t)session->options.flight.keep_steps;
    return steps->count >= kept ? steps->begins[steps->count % kept] : 0;
}

uint64_t pyro_flight_keeps_from(const pyro_session *session, uint64_t now)
{
    const pyro_flight_options *options = &session->options.flight;
    if (session->flight.steps.begins)
        return oldest_step(session);
    if (!options->keep_ns)
        return 0;
    uint64_t kept = (uint64_t)((double)options->keep_ns * session->header->raw_per_ns);
    return now > kept ? now - kept : 0;
}

void pyro_flight_drop_chunk(pyro_session *session, const pyro_chunk_header *chunk)
{
    pyro_live_blocks_add(&session->flight.blocks, chunk, (const pyro_record *)(chunk + 1),
                         (PYRO_RECORDING_CHUNK_BYTES - sizeof *chunk) / sizeof(pyro_record),
                         UINT64_MAX);
}
