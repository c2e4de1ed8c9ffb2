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

#define RECORDS ((PYRO_RECORDING_CHUNK_BYTES - sizeof(pyro_chunk_header)) / sizeof(pyro_record))

/* When the last record of a chunk that is being filled began. */
static uint64_t last_in_chunk(const pyro_session *session, size_t index)
{
    const pyro_chunk_header *chunk = (const pyro_chunk_header *)pyro_chunk_address(session, index);
    const pyro_record *records = (const pyro_record *)(chunk + 1);
    uint32_t tag = (uint32_t)session->slots[index].sequence;
    size_t count = 0;
    while (count < RECORDS && __atomic_load_n(&records[count].tag, __ATOMIC_ACQUIRE) == tag)
        count++;
    return count ? records[count - 1].start_raw : 0;
}

uint64_t pyro_flight_last_raw(const pyro_session *session)
{
    uint64_t last = 0;
    for (size_t i = 0; i < session->slot_count; i++) {
        const pyro_chunk_slot *slot = &session->slots[i];
        if (slot->kind != PYRO_CHUNK_RECORDS || slot->sequence == 0 || slot->held)
            continue;
        uint64_t of_chunk = slot->closed_raw ? slot->closed_raw : last_in_chunk(session, i);
        last = of_chunk > last ? of_chunk : last;
    }
    return last;
}

void pyro_flight_drop_chunk(pyro_session *session, const pyro_chunk_header *chunk)
{
    pyro_live_blocks_add(&session->flight.blocks, chunk, (const pyro_record *)(chunk + 1), RECORDS,
                         UINT64_MAX);
}
