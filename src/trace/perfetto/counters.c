/* Writes counter curves, each on a track of its own. */
#include "trace/perfetto/perfetto.h"

#include "base/error.h"
#include "trace/export/curves.h"

#include <math.h>
#include <stdio.h>

/* The track of a curve, which is described when it is first used. */
static int find_track(pyro_perfetto *perfetto, uint64_t key, const char *name, const char *unit,
                      uint64_t *uuid)
{
    uint32_t number = pyro_map_get(&perfetto->counters, key);

    if (number == PYRO_MAP_NONE) {
        number = (uint32_t)perfetto->counters.count;
        if (!pyro_map_put(&perfetto->counters, key, number))
            return pyro_fail_memory(perfetto->error);
        *uuid = pyro_perfetto_uuid(PYRO_PERFETTO_COUNTER, number, 0);
        return pyro_perfetto_describe(
            perfetto, &(pyro_perfetto_track){.uuid = *uuid, .name = name, .unit = unit});
    }
    *uuid = pyro_perfetto_uuid(PYRO_PERFETTO_COUNTER, number, 0);
    return PYRO_OK;
}

static uint64_t key_of(const char *name, uint64_t seed)
{
    uint64_t key = seed ^ UINT64_C(0xcbf29ce484222325);

    for (; *name; name++)
        key = (key ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return key;
}

static int write_number(pyro_perfetto *perfetto, uint64_t uuid, int64_t time_ns, bool is_real,
                        double real, int64_t integer)
{
    pyro_buf *buf = &perfetto->buf;
    size_t packet = pyro_perfetto_begin_packet(perfetto, time_ns);
    size_t body = pyro_message_begin(buf, PACKET_TRACK_EVENT);

    pyro_message_number(buf, EVENT_TYPE, TYPE_COUNTER);
    pyro_message_number(buf, EVENT_TRACK, uuid);
    if (is_real)
        pyro_message_real(buf, EVENT_COUNTER_REAL, real);
    else
        pyro_message_number(buf, EVENT_COUNTER_VALUE, (uint64_t)integer);
    pyro_message_end(buf, body);
    return pyro_perfetto_end_packet(perfetto, packet);
}

static int write_integer(pyro_perfetto *perfetto, const char *name, const char *unit,
                         int64_t time_ns, int64_t value)
{
    uint64_t uuid = 0;
    int status = find_track(perfetto, key_of(name, 0), name, unit, &uuid);

    return status == PYRO_OK ? write_number(perfetto, uuid, time_ns, false, 0, value) : status;
}

static int write_value(void *user, const char *name, const char *unit, uint16_t track,
                       int64_t time_ns, int64_t value)
{
    (void)track;
    return write_integer(user, name, unit, time_ns, value);
}

static int write_memory(void *user, uint32_t event)
{
    pyro_perfetto *perfetto = user;
    const pyro_trace *trace = perfetto->trace;
    const pyro_memory_detail *memory = &trace->memory[trace->detail[event]];
    char place[32] = "the host", name[80];

    if (memory->device_type != 0)
        snprintf(place, sizeof place, "device %d", memory->device_index);
    snprintf(name, sizeof name, "memory of %s: allocated", place);
    int status = write_integer(perfetto, name, "bytes", trace->start_ns[event],
                               memory->total_allocated);
    if (status != PYRO_OK || memory->total_reserved < 0)
        return status;
    snprintf(name, sizeof name, "memory of %s: reserved", place);
    return write_integer(perfetto, name, "bytes", trace->start_ns[event], memory->total_reserved);
}

static int write_sample(void *user, const pyro_counter_sample *sample)
{
    pyro_perfetto *perfetto = user;
    const char *name = pyro_trace_text(perfetto->trace, sample->name);
    uint64_t uuid = 0;

    if (!isfinite(sample->value))
        return PYRO_OK;
    int status = find_track(perfetto,
                            key_of(name, (uint64_t)sample->series << 20 | (sample->track + 1u)),
                            name, pyro_trace_text(perfetto->trace, sample->series), &uuid);
    return status == PYRO_OK ? write_number(perfetto, uuid, sample->time_ns, true, sample->value, 0)
                             : status;
}

int pyro_perfetto_counters(pyro_perfetto *perfetto)
{
    static const pyro_curve_visitor visitor = {write_value, write_memory, write_sample};

    return pyro_curves_visit(perfetto->trace, perfetto->joins, perfetto->selection, &visitor,
                             perfetto, perfetto->error);
}
