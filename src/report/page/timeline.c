/* Writes a timeline as sections of a page. */
#include "report/page/page.h"

#include <stdlib.h>

/* The texts that slices use, numbered in the order of their first use. */
typedef struct used_names {
    uint32_t *number_of; /* by interned text, plus 1; 0: not used */
    uint32_t *texts;
    size_t count;
} used_names;

typedef struct numbered {
    const pyro_timeline *timeline;
    const used_names *names;
} numbered;

static int64_t start_at(const void *data, size_t i)
{
    return ((const pyro_timeline *)data)->slices[i].start_ns;
}

static int64_t duration_at(const void *data, size_t i)
{
    return ((const pyro_timeline *)data)->slices[i].duration_ns;
}

/* 0: merged. */
static int64_t name_at(const void *data, size_t i)
{
    const numbered *numbered = data;
    uint32_t name = numbered->timeline->slices[i].name;

    return name == PYRO_NO_ID ? 0 : numbered->names->number_of[name];
}

/* 0: none. */
static int64_t layer_at(const void *data, size_t i)
{
    return (int64_t)(uint32_t)(((const pyro_timeline *)data)->slices[i].layer + 1);
}

static int64_t launch_at(const void *data, size_t i)
{
    return (int64_t)(uint32_t)(((const pyro_timeline *)data)->slices[i].launch + 1);
}

static int64_t forward_at(const void *data, size_t i)
{
    return (int64_t)(uint32_t)(((const pyro_timeline *)data)->slices[i].forward + 1);
}

static int64_t events_at(const void *data, size_t i)
{
    return ((const pyro_timeline *)data)->slices[i].events;
}

static int64_t category_at(const void *data, size_t i)
{
    return ((const pyro_timeline *)data)->slices[i].category;
}

static int64_t phase_at(const void *data, size_t i)
{
    return ((const pyro_timeline *)data)->slices[i].phase;
}

static bool collect_names(used_names *names, const pyro_timeline *timeline)
{
    size_t capacity = 0, known = 0;

    for (size_t i = 0; i < timeline->count; i++) {
        uint32_t name = timeline->slices[i].name;
        known = name != PYRO_NO_ID && name >= known ? (size_t)name + 1 : known;
    }
    names->number_of = calloc(known + 1, sizeof *names->number_of);
    if (!names->number_of)
        return false;
    for (size_t i = 0; i < timeline->count; i++) {
        uint32_t name = timeline->slices[i].name;

        if (name == PYRO_NO_ID || names->number_of[name] != 0)
            continue;
        if (!pyro_grow(&names->texts, &capacity, names->count + 1, sizeof *names->texts))
            return false;
        names->texts[names->count++] = name;
        names->number_of[name] = (uint32_t)names->count;
    }
    return true;
}

static void write_track(pyro_json_writer *json, const pyro_trace *trace, const pyro_track *track)
{
    pyro_json_begin_object(json);
    pyro_json_member_string(json, "name", pyro_trace_text(trace, track->name));
    pyro_json_member_boolean(json, "device", track->is_device);
    pyro_json_member_integer(json, "pid", (int64_t)(track->pid & INT64_MAX));
    pyro_json_member_integer(json, "tid", (int64_t)(track->tid & INT64_MAX));
    pyro_json_member_integer(json, "stream", track->is_device ? track->stream : -1);
    pyro_json_end_object(json);
}

static void write_rows(pyro_json_writer *json, const pyro_timeline *timeline)
{
    pyro_json_key(json, "rows");
    pyro_json_begin_array(json);
    for (size_t i = 0; i < timeline->row_count; i++) {
        const pyro_slice_row *row = &timeline->rows[i];

        pyro_json_begin_object(json);
        pyro_json_member_integer(json, "track", row->track);
        pyro_json_member_integer(json, "row", row->row);
        pyro_json_member_integer(json, "first", row->first);
        pyro_json_member_integer(json, "count", row->count);
        pyro_json_end_object(json);
    }
    pyro_json_end_array(json);
}

static void write_texts(pyro_json_writer *json, const used_names *names, const pyro_trace *trace,
                        const pyro_joins *joins)
{
    pyro_json_key(json, "names");
    pyro_json_begin_array(json);
    for (size_t i = 0; i < names->count; i++)
        pyro_json_string(json, pyro_trace_text(trace, names->texts[i]));
    pyro_json_end_array(json);
    pyro_json_key(json, "layers");
    pyro_json_begin_array(json);
    for (size_t i = 0; i < joins->layer_count; i++)
        pyro_json_string(json, joins->layers[i].path);
    pyro_json_end_array(json);
    pyro_json_key(json, "tracks");
    pyro_json_begin_array(json);
    for (size_t i = 0; i < trace->track_count; i++)
        write_track(json, trace, &trace->tracks[i]);
    pyro_json_end_array(json);
}

static void write_steps(pyro_json_writer *json, const pyro_timeline *timeline,
                        const pyro_joins *joins)
{
    pyro_json_key(json, "steps");
    pyro_json_begin_array(json);
    for (size_t i = 0; i < joins->step_count; i++) {
        const pyro_step *step = &joins->steps[i];

        pyro_json_begin_object(json);
        pyro_json_member_string(json, "name", step->name);
        pyro_json_member_integer(json, "number", step->number);
        pyro_json_member_integer(json, "start_ns", step->start_ns - timeline->start_ns);
        pyro_json_member_integer(json, "end_ns", step->end_ns - timeline->start_ns);
        pyro_json_end_object(json);
    }
    pyro_json_end_array(json);
}

static void add_head(pyro_page *page, const pyro_timeline *timeline, const used_names *names,
                     const pyro_trace *trace, const pyro_joins *joins)
{
    pyro_buf text = PYRO_BUF_INIT;
    pyro_json_writer json;

    pyro_json_writer_init(&json, &text, 0);
    pyro_json_begin_object(&json);
    pyro_json_member_integer(&json, "start_ns", timeline->start_ns);
    pyro_json_member_integer(&json, "span_ns", timeline->span_ns);
    pyro_json_member_integer(&json, "from_ns", timeline->from_ns);
    pyro_json_member_integer(&json, "to_ns", timeline->to_ns);
    pyro_json_member_integer(&json, "merged_events", timeline->merged_events);
    pyro_json_member_integer(&json, "merged_below_ns", timeline->merged_below_ns);
    write_texts(&json, names, trace, joins);
    write_steps(&json, timeline, joins);
    write_rows(&json, timeline);
    pyro_json_end_object(&json);
    pyro_page_add_text(page, "timeline", text.data, text.length);
    page->sections.failed = page->sections.failed || text.failed;
    pyro_buf_free(&text);
}

void pyro_page_add_timeline(pyro_page *page, const pyro_timeline *timeline, const pyro_trace *trace,
                            const pyro_joins *joins)
{
    used_names names = {NULL, NULL, 0};
    numbered numbered = {timeline, &names};
    size_t count = timeline->count;

    if (collect_names(&names, timeline)) {
        add_head(page, timeline, &names, trace, joins);
        pyro_page_add_column(page, "start", PYRO_CODE_DELTA, count, start_at, timeline);
        pyro_page_add_column(page, "duration", PYRO_CODE_VARINT, count, duration_at, timeline);
        pyro_page_add_column(page, "name", PYRO_CODE_VARINT, count, name_at, &numbered);
        pyro_page_add_column(page, "layer", PYRO_CODE_DELTA, count, layer_at, timeline);
        pyro_page_add_column(page, "launch", PYRO_CODE_DELTA, count, launch_at, timeline);
        pyro_page_add_column(page, "forward", PYRO_CODE_DELTA, count, forward_at, timeline);
        pyro_page_add_column(page, "events", PYRO_CODE_VARINT, count, events_at, timeline);
        pyro_page_add_column(page, "category", PYRO_CODE_BYTE, count, category_at, timeline);
        pyro_page_add_column(page, "phase", PYRO_CODE_BYTE, count, phase_at, timeline);
    } else {
        page->sections.failed = true;
    }
    free(names.number_of);
    free(names.texts);
}
