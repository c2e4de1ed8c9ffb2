/* Creates and frees a trace's columns. Holds its notes and accessors. */
#include "trace/trace.h"

#include "base/containers/buf.h"
#include <stdlib.h>
#include <string.h>

pyro_trace *pyro_trace_new(const char *file)
{
    pyro_trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return NULL;
    pyro_arena_init(&trace->arena);
    pyro_intern_init(&trace->names, &trace->arena);
    trace->rank = trace->world_size = -1;
    trace->backend = trace->host = PYRO_NO_ID;
    trace->file = pyro_arena_text(&trace->arena, file, strlen(file));
    if (!trace->file) {
        pyro_trace_close(trace);
        return NULL;
    }
    return trace;
}

void pyro_trace_free_rows(pyro_trace *trace)
{
    free(trace->start_ns);
    free(trace->duration_ns);
    free(trace->name);
    free(trace->correlation);
    free(trace->external_id);
    free(trace->detail);
    free(trace->track);
    free(trace->category);
    free(trace->ops);
    free(trace->op_extras);
    free(trace->kernels);
    free(trace->transfer_bytes);
    free(trace->syncs);
    free(trace->counters);
    free(trace->memory);
    free(trace->collectives);
    free(trace->flows);
    free(trace->tracks);
    pyro_map_free(&trace->origins);
}

bool pyro_trace_property(pyro_trace *trace, const char *key, const char *value)
{
    uint32_t key_id = pyro_intern_add(&trace->names, key, strlen(key));
    uint32_t value_id = pyro_intern_add(&trace->names, value, strlen(value));
    if (key_id == PYRO_INTERN_NONE || value_id == PYRO_INTERN_NONE)
        return false;
    for (size_t i = 0; i < trace->note_count; i++) {
        if (trace->notes[i].key == key_id) {
            trace->notes[i].value = value_id;
            return true;
        }
    }
    if (!pyro_grow(&trace->notes, &trace->note_capacity, trace->note_count + 1,
                   sizeof *trace->notes))
        return false;
    trace->notes[trace->note_count++] = (pyro_trace_note){key_id, value_id};
    return true;
}

const char *pyro_trace_note_text(const pyro_trace *trace, const char *key)
{
    for (size_t i = 0; i < trace->note_count; i++)
        if (strcmp(pyro_trace_text(trace, trace->notes[i].key), key) == 0)
            return pyro_trace_text(trace, trace->notes[i].value);
    return "";
}

bool pyro_trace_lacks_ops(const pyro_trace *trace)
{
    return strcmp(pyro_trace_note_text(trace, PYRO_NOTE_OPS), PYRO_NOTE_MISSING) == 0;
}

void pyro_trace_close(pyro_trace *trace)
{
    if (!trace)
        return;
    pyro_trace_free_rows(trace);
    free(trace->devices);
    free(trace->notes);
    free(trace->warnings);
    pyro_intern_free(&trace->names);
    pyro_arena_free(&trace->arena);
    free(trace);
}

const char *pyro_trace_file(const pyro_trace *trace)
{
    return trace->file;
}

bool pyro_trace_has_paths(const pyro_trace *trace)
{
    return trace->has_paths;
}

int64_t pyro_trace_event_count(const pyro_trace *trace)
{
    return trace->file_events;
}

const char *const *pyro_trace_warnings(const pyro_trace *trace, size_t *count)
{
    *count = trace->warning_count;
    return trace->warnings;
}
