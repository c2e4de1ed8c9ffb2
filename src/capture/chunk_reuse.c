/*
 * Reuses chunks: the oldest that no pass needs and that holds no span which a live thread may still
 * end. A thread may have popped a span off its stack and be about to write its end, so the
 * allocator empties a chunk only after it has seen every thread outside of writing.
 */
#include "capture/session.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Threads continue meanwhile, but they add spans only to open chunks, and this asks only about
 * closed ones. So an outdated result is at worst too careful.
 */
static bool has_open_span(const pyro_session *session, uint64_t sequence)
{
    const pyro_thread_slot *slot = __atomic_load_n(&session->threads, __ATOMIC_ACQUIRE);
    /* Even if the session is about to end, the spans of its last moment count. */
    uint32_t generation =
        (__atomic_load_n(&pyro_the_recorder_api.generation, __ATOMIC_SEQ_CST) - 1) | 1;
    for (; slot; slot = slot->next) {
        if (!__atomic_load_n(&slot->is_used, __ATOMIC_ACQUIRE) ||
            __atomic_load_n(&slot->open.generation, __ATOMIC_ACQUIRE) != generation)
            continue;
        uint32_t depth = __atomic_load_n(&slot->open.depth, __ATOMIC_ACQUIRE);
        for (uint32_t i = 0; i < depth && i < PYRO_MOST_OPEN_SPANS; i++)
            if (__atomic_load_n(&slot->open.open[i].chunk, __ATOMIC_RELAXED) == sequence)
                return true;
    }
    return false;
}

static size_t find_oldest(const pyro_session *session, uint64_t closed_before, bool keeps_unread)
{
    size_t oldest = PYRO_NO_CHUNK;
    uint64_t needed_from = pyro_passes_need_from(session);
    if (closed_before < needed_from)
        needed_from = closed_before;
    for (size_t i = 0; i < session->slot_count; i++) {
        const pyro_chunk_slot *slot = &session->slots[i];
        if (slot->kind != PYRO_CHUNK_RECORDS || slot->held || slot->is_wanted ||
            slot->closed_raw == 0 || slot->closed_raw >= needed_from ||
            (keeps_unread && !slot->is_read))
            continue;
        if ((oldest == PYRO_NO_CHUNK || slot->sequence < session->slots[oldest].sequence) &&
            !has_open_span(session, slot->sequence))
            oldest = i;
    }
    return oldest;
}

size_t pyro_chunk_reuse(pyro_session *session, uint64_t closed_before, bool keeps_unread)
{
    size_t index = find_oldest(session, closed_before, keeps_unread);
    if (index == PYRO_NO_CHUNK)
        return index;
    char *chunk = pyro_chunk_address(session, index);
    pyro_chunk_header *header = (pyro_chunk_header *)chunk;
    if (session->slots[index].closed_raw > session->header->dropped_until_raw)
        session->header->dropped_until_raw = session->slots[index].closed_raw;
    session->slots[index] = (pyro_chunk_slot){.held = true};
    session->header->dropped_chunks++;
    bool notes_blocks = session->flight.is_on &&
                        session->options.flags & (PYRO_RECORD_MEMORY | PYRO_RECORD_DEVICES);
    session->flight.is_dropping = notes_blocks;
    pthread_mutex_unlock(&session->lock);
    pyro_threads_quiesce(session, true);
    if (notes_blocks)
        pyro_flight_drop_chunk(session, header);
    /* Readers of the file check the sequence again after they have read a chunk. */
    __atomic_store_n(&header->sequence, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&header->kind, PYRO_CHUNK_FREE, __ATOMIC_SEQ_CST);
    memset(chunk + sizeof *header, 0, PYRO_RECORDING_CHUNK_BYTES - sizeof *header);
    pthread_mutex_lock(&session->lock);
    if (notes_blocks) {
        session->flight.is_dropping = false;
        pthread_cond_broadcast(&session->flight.done);
    }
    return index;
}
