/* Writes the counters of a trace as a section of a page: per series at most a few thousand points. */
#include "report/page/page.h"

#include <math.h>
#include <stdlib.h>

/* Series beyond these are left out: a timeline cannot show more. */
#define MOST_SERIES 64
#define MOST_BUCKETS 1500

static int by_series_and_time(const void *a, const void *b)
{
    const pyro_counter_sample *left = a, *right = b;

    if (left->track != right->track)
        return left->track < right->track ? -1 : 1;
    if (left->name != right->name)
        return left->name < right->name ? -1 : 1;
    if (left->series != right->series)
        return left->series < right->series ? -1 : 1;
    return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

static bool same_series(const pyro_counter_sample *a, const pyro_counter_sample *b)
{
    return a->track == b->track && a->name == b->name && a->series == b->series;
}

/* Numbers in the order of time: of each bucket the lowest and the highest. */
static void write_points(pyro_json_writer *json, const pyro_counter_sample *samples, size_t count,
                         int64_t start_ns, bool times)
{
    size_t per_bucket = count <= 2 * MOST_BUCKETS ? 1 : count / MOST_BUCKETS + 1;

    for (size_t i = 0; i < count; i += per_bucket) {
        size_t end = i + per_bucket < count ? i + per_bucket : count, low = i, high = i;

        for (size_t k = i; k < end; k++) {
            low = samples[k].value < samples[low].value ? k : low;
            high = samples[k].value > samples[high].value ? k : high;
        }
        size_t ends[2] = {low < high ? low : high, low < high ? high : low};
        for (int k = ends[0] == ends[1]; k < 2; k++) {
            if (times)
                pyro_json_integer(json, samples[ends[k]].time_ns - start_ns);
            else
                pyro_json_number(json, samples[ends[k]].value);
        }
    }
}

static void write_series(pyro_json_writer *json, const pyro_counter_sample *samples, size_t count,
                         const pyro_trace *trace, int64_t start_ns)
{
    pyro_json_begin_object(json);
    pyro_json_member_string(json, "name", pyro_trace_text(trace, samples->name));
    pyro_json_member_string(json, "series", pyro_trace_text(trace, samples->series));
    pyro_json_member_integer(json, "track", samples->track);
    pyro_json_key(json, "times");
    pyro_json_begin_array(json);
    write_points(json, samples, count, start_ns, true);
    pyro_json_end_array(json);
    pyro_json_key(json, "values");
    pyro_json_begin_array(json);
    write_points(json, samples, count, start_ns, false);
    pyro_json_end_array(json);
    pyro_json_end_object(json);
}

/* Copies the finite samples and sorts them. NULL: none, or memory is out. */
static pyro_counter_sample *sorted_samples(const pyro_trace *trace, size_t *count)
{
    pyro_counter_sample *samples = trace->counter_count > 0
                                       ? malloc(trace->counter_count * sizeof *samples)
                                       : NULL;

    *count = 0;
    for (size_t i = 0; samples && i < trace->counter_count; i++) {
        if (isfinite(trace->counters[i].value))
            samples[(*count)++] = trace->counters[i];
    }
    if (samples)
        qsort(samples, *count, sizeof *samples, by_series_and_time);
    return samples;
}

void pyro_page_add_counters(pyro_page *page, const pyro_timeline *timeline, const pyro_trace *trace)
{
    size_t count = 0, written = 0;
    pyro_counter_sample *samples = sorted_samples(trace, &count);
    pyro_buf text = PYRO_BUF_INIT;
    pyro_json_writer json;

    pyro_json_writer_init(&json, &text, 0);
    pyro_json_begin_array(&json);
    for (size_t first = 0, end; first < count && written < MOST_SERIES; first = end, written++) {
        for (end = first + 1; end < count && same_series(&samples[first], &samples[end]);)
            end++;
        write_series(&json, samples + first, end - first, trace, timeline->start_ns);
    }
    pyro_json_end_array(&json);
    if (written > 0)
        pyro_page_add_text(page, "counters", text.data, text.length);
    page->sections.failed = page->sections.failed || text.failed;
    pyro_buf_free(&text);
    free(samples);
}
