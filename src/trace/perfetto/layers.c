/*
 * Writes a tree of tracks, one per layer inside that of its parent: the calls on the host, and on
 * devices the time from the first to the last kernel of each call, forward and backward.
 */
#include "trace/perfetto/perfetto.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* A slice of a layer's track. */
typedef struct layer_span {
    int64_t start_ns, end_ns;
    int64_t kernels, busy_ns; /* on devices */
    uint32_t layer;
    uint8_t phase;
} layer_span;

typedef struct layer_spans {
    layer_span *items;
    size_t count;
    pyro_perfetto_kind kind; /* of the tracks */
    uint8_t *has_track; /* by layer: it or a layer in it has spans */
} layer_spans;

static int by_layer_and_time(const void *left, const void *right)
{
    const layer_span *a = left, *b = right;

    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

/* "0.conv1" of "layer1.0.conv1" in "layer1". */
static const char *short_name(const pyro_joins *joins, uint32_t layer)
{
    const pyro_layer *one = &joins->layers[layer];
    const char *parent = one->parent != PYRO_NO_LAYER ? joins->layers[one->parent].path : "";
    size_t length = strlen(parent);

    if (one->path[0] == '\0')
        return one->class_name && one->class_name[0] ? one->class_name : "model";
    if (length > 0 && strncmp(one->path, parent, length) == 0 && one->path[length] == '.')
        return one->path + length + 1;
    return one->path;
}

static int describe_layer(pyro_perfetto *perfetto, const pyro_lanes *lanes, uint64_t uuid)
{
    const layer_spans *spans = lanes->subject;
    uint32_t layer = (uint32_t)(uuid >> 8);
    uint32_t parent = perfetto->joins->layers[layer].parent;
    uint64_t root = pyro_perfetto_uuid(PYRO_PERFETTO_LAYERS,
                                       spans->kind == PYRO_PERFETTO_DEVICE_LAYER, 0);
    pyro_perfetto_track track = {
        .uuid = uuid,
        .parent = parent != PYRO_NO_LAYER ? pyro_perfetto_uuid(spans->kind, parent, 0) : root,
        .name = short_name(perfetto->joins, layer),
        .child_order = ORDER_BY_TIME,
    };

    return pyro_perfetto_describe(perfetto, &track);
}

static int write_span(pyro_perfetto *perfetto, const layer_span *span, uint64_t uuid,
                      bool on_device)
{
    pyro_buf *buf = &perfetto->buf;
    size_t packet = pyro_perfetto_begin_packet(perfetto, span->start_ns);
    size_t body = pyro_message_begin(buf, PACKET_TRACK_EVENT);

    pyro_message_number(buf, EVENT_TYPE, TYPE_BEGIN);
    pyro_message_number(buf, EVENT_TRACK, uuid);
    pyro_message_text(buf, EVENT_CATEGORY, "layer");
    pyro_message_text(buf, EVENT_NAME, pyro_phase_name((pyro_phase)span->phase));
    size_t entry = pyro_message_begin(buf, EVENT_ANNOTATIONS);
    pyro_message_text(buf, ANNOTATION_NAME, "layer");
    pyro_message_number(buf, ANNOTATION_TEXT_ID, pyro_perfetto_layer(perfetto, span->layer));
    pyro_message_end(buf, entry);
    if (on_device) {
        pyro_perfetto_argument(perfetto, "kernels", span->kernels);
        pyro_perfetto_argument(perfetto, "device time ns", span->busy_ns);
    }
    pyro_message_end(buf, body);
    return pyro_perfetto_end_packet(perfetto, packet);
}

/* The spans of one layer, which are in order of time. */
static int write_layer(pyro_perfetto *perfetto, const layer_spans *spans, uint32_t layer,
                       const layer_span *first, size_t count)
{
    pyro_lanes lanes = {.uuid = pyro_perfetto_uuid(spans->kind, layer, 0),
                        .nests = spans->kind == PYRO_PERFETTO_HOST_LAYER,
                        .describe = describe_layer,
                        .subject = spans};
    int status = PYRO_OK;

    if (count == 0) /* a layer that only contains others */
        status = describe_layer(perfetto, &lanes, lanes.uuid);
    for (size_t i = 0; status == PYRO_OK && i < count; i++) {
        int64_t end_ns = first[i].end_ns;
        uint64_t uuid;

        status = pyro_lanes_place(perfetto, &lanes, first[i].start_ns, &end_ns, &uuid);
        if (status == PYRO_OK)
            status = write_span(perfetto, &first[i], uuid,
                                spans->kind == PYRO_PERFETTO_DEVICE_LAYER);
    }
    if (status == PYRO_OK)
        status = pyro_lanes_finish(perfetto, &lanes);
    pyro_lanes_free(&lanes);
    return status;
}

static int write_spans(pyro_perfetto *perfetto, layer_spans *spans, const char *title)
{
    const pyro_joins *joins = perfetto->joins;
    pyro_perfetto_track root = {
        .uuid = pyro_perfetto_uuid(PYRO_PERFETTO_LAYERS, spans->kind == PYRO_PERFETTO_DEVICE_LAYER,
                                   0),
        .name = title,
        .child_order = ORDER_BY_TIME,
    };
    size_t at = 0;

    if (spans->count == 0)
        return PYRO_OK;
    qsort(spans->items, spans->count, sizeof *spans->items, by_layer_and_time);
    for (size_t i = 0; i < spans->count; i++)
        for (uint32_t layer = spans->items[i].layer;
             layer != PYRO_NO_LAYER && !spans->has_track[layer];
             layer = joins->layers[layer].parent)
            spans->has_track[layer] = 1;
    int status = pyro_perfetto_describe(perfetto, &root);
    /* Parents come before their children in the list of layers. */
    for (uint32_t layer = 0; status == PYRO_OK && layer < joins->layer_count; layer++) {
        size_t end = at;

        while (end < spans->count && spans->items[end].layer == layer)
            end++;
        if (spans->has_track[layer])
            status = write_layer(perfetto, spans, layer, spans->items + at, end - at);
        at = end;
    }
    return status;
}

static void collect_calls(const pyro_perfetto *perfetto, layer_spans *spans)
{
    const pyro_trace *trace = perfetto->trace;
    const pyro_joins *joins = perfetto->joins;

    for (size_t i = 0; i < joins->call_count; i++) {
        uint32_t event = joins->calls[i].event;

        if (event == PYRO_NO_EVENT || event >= trace->count || !perfetto->selection->keep[event] ||
            !pyro_event_is_host(trace->category[event]))
            continue;
        spans->items[spans->count++] = (layer_span){
            .start_ns = trace->start_ns[event],
            .end_ns = pyro_event_end_ns(trace, event),
            .layer = joins->calls[i].layer,
            .phase = PYRO_PHASE_FORWARD,
        };
    }
}

/* Extends the spans of a call and of the calls around it; entry 2 * call + is_backward. */
static void extend(const pyro_perfetto *perfetto, layer_span *of_call, uint32_t event)
{
    const pyro_trace *trace = perfetto->trace;
    const pyro_joins *joins = perfetto->joins;
    bool is_backward = joins->phase[event] == PYRO_PHASE_BACKWARD;
    int64_t start_ns = trace->start_ns[event], end_ns = pyro_event_end_ns(trace, event);

    for (uint32_t call = joins->call[event]; call != PYRO_NO_LAYER;
         call = joins->calls[call].parent) {
        layer_span *span = &of_call[2 * (size_t)call + is_backward];

        if (span->kernels == 0)
            *span = (layer_span){.start_ns = start_ns,
                                 .end_ns = end_ns,
                                 .layer = joins->calls[call].layer,
                                 .phase = is_backward ? PYRO_PHASE_BACKWARD : PYRO_PHASE_FORWARD};
        span->start_ns = start_ns < span->start_ns ? start_ns : span->start_ns;
        span->end_ns = end_ns > span->end_ns ? end_ns : span->end_ns;
        span->busy_ns += end_ns - start_ns;
        span->kernels++;
    }
}

static void collect_work(const pyro_perfetto *perfetto, layer_spans *spans)
{
    const pyro_trace *trace = perfetto->trace;
    size_t slots = 2 * perfetto->joins->call_count;

    for (uint32_t event = 0; event < trace->count; event++)
        if (perfetto->selection->keep[event] && pyro_event_is_device_work(trace->category[event]))
            extend(perfetto, spans->items, event);
    for (size_t i = 0; i < slots; i++)
        if (spans->items[i].kernels > 0)
            spans->items[spans->count++] = spans->items[i];
}

int pyro_perfetto_layers(pyro_perfetto *perfetto)
{
    const pyro_joins *joins = perfetto->joins;
    layer_spans spans = {.items = calloc(2 * joins->call_count + 1, sizeof *spans.items),
                         .has_track = calloc(joins->layer_count + 1, 1)};
    int status = PYRO_OK;

    if (!spans.items || !spans.has_track) {
        status = pyro_fail_memory(perfetto->error);
        goto done;
    }
    spans.kind = PYRO_PERFETTO_HOST_LAYER;
    collect_calls(perfetto, &spans);
    status = write_spans(perfetto, &spans, "layers (host)");
    if (status != PYRO_OK)
        goto done;
    memset(spans.items, 0, 2 * joins->call_count * sizeof *spans.items);
    memset(spans.has_track, 0, joins->layer_count);
    spans.count = 0;
    spans.kind = PYRO_PERFETTO_DEVICE_LAYER;
    collect_work(perfetto, &spans);
    status = write_spans(perfetto, &spans, "layers (device)");
done:
    free(spans.items);
    free(spans.has_track);
    return status;
}
