/* Writes counter curves as Chrome events. */
#include "trace/chrome/put.h"

#include "trace/export/curves.h"

/* The category of counters that follow from the events: a reader of the file derives them again. */
#define DERIVED "pyrometer"

static int write_value(void *user, const char *name, const char *key, uint16_t track,
                       int64_t time_ns, int64_t value)
{
    pyro_chrome *chrome = user;

    pyro_chrome_begin_event(chrome, "C", name);
    pyro_json_member_string(&chrome->json, "cat", DERIVED);
    pyro_chrome_place(chrome, &chrome->trace->tracks[track]);
    pyro_chrome_time(chrome, "ts", time_ns);
    pyro_json_key(&chrome->json, "args");
    pyro_json_begin_object(&chrome->json);
    pyro_json_member_integer(&chrome->json, key, value);
    pyro_json_end_object(&chrome->json);
    pyro_json_end_object(&chrome->json);
    return pyro_chrome_flush(chrome, false);
}

static int write_memory(void *user, uint32_t event)
{
    pyro_chrome *chrome = user;
    const pyro_trace *trace = chrome->trace;
    const pyro_memory_detail *memory = &trace->memory[trace->detail[event]];
    const pyro_track *track = &trace->tracks[trace->track[event]];

    pyro_json_raw(&chrome->json, ""); /* the comma */
    PUT(chrome, "{\"ph\":\"C\",\"cat\":\"" DERIVED "\",\"name\":\"memory of ");
    if (memory->device_type == 0) {
        PUT(chrome, "the host");
    } else {
        PUT(chrome, "device ");
        pyro_chrome_put_integer(chrome, memory->device_index);
    }
    PUT(chrome, "\",\"pid\":");
    pyro_chrome_put_integer(chrome, pyro_chrome_id(track->pid));
    PUT(chrome, ",\"tid\":");
    pyro_chrome_put_integer(chrome, pyro_chrome_id(track->tid));
    PUT(chrome, ",\"ts\":");
    pyro_chrome_put_time(chrome, trace->start_ns[event]);
    PUT(chrome, ",\"args\":{\"allocated bytes\":");
    pyro_chrome_put_integer(chrome, memory->total_allocated);
    if (memory->total_reserved >= 0) {
        PUT(chrome, ",\"reserved bytes\":");
        pyro_chrome_put_integer(chrome, memory->total_reserved);
    }
    PUT(chrome, "}}");
    return pyro_chrome_flush(chrome, false);
}

/* A counter of the file itself. */
static int write_sample(void *user, const pyro_counter_sample *sample)
{
    pyro_chrome *chrome = user;
    const pyro_trace *trace = chrome->trace;

    pyro_chrome_begin_event(chrome, "C", pyro_trace_text(trace, sample->name));
    pyro_chrome_place(chrome, &trace->tracks[sample->track]);
    pyro_chrome_time(chrome, "ts", sample->time_ns);
    pyro_json_key(&chrome->json, "args");
    pyro_json_begin_object(&chrome->json);
    pyro_json_member_number(&chrome->json, pyro_trace_text(trace, sample->series), sample->value);
    pyro_json_end_object(&chrome->json);
    pyro_json_end_object(&chrome->json);
    return pyro_chrome_flush(chrome, false);
}

int pyro_chrome_counters(pyro_chrome *chrome)
{
    static const pyro_curve_visitor visitor = {write_value, write_memory, write_sample};

    return pyro_curves_visit(chrome->trace, chrome->joins, chrome->selection, &visitor, chrome,
                             chrome->error);
}
