/* Turns recorded counters of devices into samples of the trace. */
#include "trace/recording/recording.h"

#include "base/containers/buf.h"
#include "trace/kineto/scanner.h"

#include <math.h>
#include <string.h>

#define MOST_DEVICES 1024

/* The next line of a name, interned; PYRO_INTERN_NONE when memory is out. */
static uint32_t take_line(pyro_trace *trace, const char **at, const char *end)
{
    size_t length = (size_t)(end - *at);
    const char *newline = length ? memchr(*at, '\n', length) : NULL;
    if (newline)
        length = (size_t)(newline - *at);
    uint32_t line = pyro_intern_add(&trace->names, *at, length);
    *at += length + (newline != NULL);
    return line;
}

static bool add_sample(pyro_trace *trace, const pyro_counter_sample *sample)
{
    if (!pyro_grow(&trace->counters, &trace->counter_capacity, trace->counter_count + 1,
                   sizeof *trace->counters))
        return false;
    trace->counters[trace->counter_count++] = *sample;
    return true;
}

bool pyro_recording_counter(pyro_recording *recording, const pyro_record *record)
{
    pyro_trace *trace = recording->trace;
    pyro_counter_record of_counter;
    memcpy(&of_counter, record, sizeof of_counter);
    const pyro_recorded_data *name = pyro_recorded_get(recording->tables, PYRO_DATA_NAME,
                                                       of_counter.name);
    if (!name->bytes || of_counter.device >= MOST_DEVICES)
        return true;
    uint32_t track = pyro_trace_track(trace, &recording->tracks, of_counter.device, 0);
    const char *at = name->bytes, *end = at + strnlen(at, name->length);
    uint32_t counter = take_line(trace, &at, end);
    if (track == PYRO_NO_ID || track >= trace->track_count || counter == PYRO_INTERN_NONE)
        return false;
    for (int i = 0; i < of_counter.count && i < PYRO_COUNTER_VALUES && at < end; i++) {
        uint32_t series = take_line(trace, &at, end);
        pyro_counter_sample sample = {
            .name = counter,
            .series = series,
            .track = (uint16_t)track,
            .time_ns = pyro_recording_time_ns(recording, of_counter.start_raw),
            .value = of_counter.values[i]};
        if (series == PYRO_INTERN_NONE)
            return false;
        if (isfinite(sample.value) && !add_sample(trace, &sample))
            return false;
    }
    return true;
}
