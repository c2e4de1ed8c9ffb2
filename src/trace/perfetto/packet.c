/* Writes packets: their sequence, the texts that they define, descriptions of tracks. */
#include "trace/perfetto/perfetto.h"

#include "base/error.h"

#define SEQUENCE 1
#define FLUSH_BYTES (256 * 1024)

size_t pyro_perfetto_begin_packet(pyro_perfetto *perfetto, int64_t time_ns)
{
    size_t begun = pyro_message_begin(&perfetto->buf, TRACE_PACKET);
    int64_t shifted_ns = time_ns == PYRO_PERFETTO_NO_TIME ? -1 : time_ns + perfetto->shift_ns;

    if (time_ns != PYRO_PERFETTO_NO_TIME)
        pyro_message_number(&perfetto->buf, PACKET_TIMESTAMP,
                            shifted_ns > 0 ? (uint64_t)shifted_ns : 0);
    pyro_message_number(&perfetto->buf, PACKET_SEQUENCE, SEQUENCE);
    pyro_message_number(&perfetto->buf, PACKET_FLAGS,
                        perfetto->has_begun ? FLAGS_NEEDED : FLAGS_CLEARED);
    perfetto->has_begun = true;
    return begun;
}

int pyro_perfetto_end_packet(pyro_perfetto *perfetto, size_t begun)
{
    if (perfetto->interned.length > 0)
        pyro_message_bytes(&perfetto->buf, PACKET_INTERNED, perfetto->interned.data,
                           perfetto->interned.length);
    perfetto->buf.failed |= perfetto->interned.failed;
    pyro_buf_reset(&perfetto->interned);
    pyro_message_end(&perfetto->buf, begun);
    return perfetto->buf.length < FLUSH_BYTES && !perfetto->buf.failed
               ? PYRO_OK
               : pyro_perfetto_flush(perfetto);
}

int pyro_perfetto_flush(pyro_perfetto *perfetto)
{
    int status = PYRO_OK;

    if (perfetto->buf.failed)
        return pyro_fail_memory(perfetto->error);
    if (perfetto->buf.length > 0)
        status = perfetto->write(perfetto->user, perfetto->buf.data, perfetto->buf.length,
                                 perfetto->error);
    pyro_buf_reset(&perfetto->buf);
    return status;
}

int pyro_perfetto_describe(pyro_perfetto *perfetto, const pyro_perfetto_track *track)
{
    pyro_buf *buf = &perfetto->buf;
    size_t packet = pyro_perfetto_begin_packet(perfetto, PYRO_PERFETTO_NO_TIME);
    size_t body = pyro_message_begin(buf, PACKET_TRACK);

    pyro_message_number(buf, TRACK_UUID, track->uuid);
    if (track->parent)
        pyro_message_number(buf, TRACK_PARENT, track->parent);
    pyro_message_text(buf, TRACK_NAME, track->name);
    if (track->child_order)
        pyro_message_number(buf, TRACK_CHILD_ORDER, (uint64_t)track->child_order);
    if (track->rank)
        pyro_message_number(buf, TRACK_RANK, (uint64_t)track->rank);
    if (track->unit) {
        size_t counter = pyro_message_begin(buf, TRACK_COUNTER);
        pyro_message_text(buf, COUNTER_UNIT_NAME, track->unit);
        pyro_message_end(buf, counter);
    }
    pyro_message_end(buf, body);
    return pyro_perfetto_end_packet(perfetto, packet);
}

int pyro_perfetto_begin_slice(pyro_perfetto *perfetto, uint64_t uuid, int64_t time_ns,
                              const char *name)
{
    pyro_buf *buf = &perfetto->buf;
    size_t packet = pyro_perfetto_begin_packet(perfetto, time_ns);
    size_t body = pyro_message_begin(buf, PACKET_TRACK_EVENT);

    pyro_message_number(buf, EVENT_TYPE, TYPE_BEGIN);
    pyro_message_number(buf, EVENT_TRACK, uuid);
    pyro_message_text(buf, EVENT_NAME, name);
    pyro_message_end(buf, body);
    return pyro_perfetto_end_packet(perfetto, packet);
}

int pyro_perfetto_end_slice(pyro_perfetto *perfetto, uint64_t uuid, int64_t time_ns)
{
    pyro_buf *buf = &perfetto->buf;
    size_t packet = pyro_perfetto_begin_packet(perfetto, time_ns);
    size_t body = pyro_message_begin(buf, PACKET_TRACK_EVENT);

    pyro_message_number(buf, EVENT_TYPE, TYPE_END);
    pyro_message_number(buf, EVENT_TRACK, uuid);
    pyro_message_end(buf, body);
    return pyro_perfetto_end_packet(perfetto, packet);
}

static void define(pyro_perfetto *perfetto, uint32_t table, uint64_t id, const char *text)
{
    size_t entry = pyro_message_begin(&perfetto->interned, table);

    pyro_message_number(&perfetto->interned, INTERNED_ID, id);
    pyro_message_text(&perfetto->interned, INTERNED_TEXT, text);
    pyro_message_end(&perfetto->interned, entry);
}

uint64_t pyro_perfetto_name(pyro_perfetto *perfetto, uint32_t text)
{
    uint64_t id = (uint64_t)text + 1;

    if (!perfetto->has_name[text])
        define(perfetto, INTERNED_EVENT_NAMES, id, pyro_trace_text(perfetto->trace, text));
    perfetto->has_name[text] = 1;
    return id;
}

uint64_t pyro_perfetto_value(pyro_perfetto *perfetto, uint32_t text)
{
    uint64_t id = (uint64_t)text + 1;

    if (!perfetto->has_value[text])
        define(perfetto, INTERNED_TEXT_VALUES, id, pyro_trace_text(perfetto->trace, text));
    perfetto->has_value[text] = 1;
    return id;
}

/* Paths of layers are numbered after all texts of the trace. */
uint64_t pyro_perfetto_layer(pyro_perfetto *perfetto, uint32_t layer)
{
    uint64_t id = (uint64_t)perfetto->trace->names.count + 1 + layer;

    if (!perfetto->has_layer[layer])
        define(perfetto, INTERNED_TEXT_VALUES, id, perfetto->joins->layers[layer].path);
    perfetto->has_layer[layer] = 1;
    return id;
}
