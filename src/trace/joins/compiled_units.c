/*
 * Collects what compiled code ran, range by range and in the order of the host, and attributes it. A
 * range is a call of a compiled graph; in traces that do not mark those, a call of a layer, or all that
 * a thread launched outside of layers.
 */
#include "trace/joins/compiled.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>

/* No host event: the thread itself is the range. */
#define OF_THREAD (UINT64_C(1) << 32)

typedef struct item {
    uint64_t range; /* event, or OF_THREAD and the track */
    uint32_t unit;  /* event */
    uint32_t work;  /* PYRO_NO_EVENT: the unit is host work */
    int64_t at_ns;
} item;

typedef struct items {
    item *items;
    size_t count, capacity;
} items;

/* Where an event lies. */
typedef struct place {
    uint64_t range;
    uint32_t unit;
    bool is_marked; /* the range is a call of compiled code */
    bool has_op;    /* an op lies between the event and the range */
} place;

static bool is_layer_call(const pyro_joins *joins, uint32_t event)
{
    uint32_t call = joins->call[event];
    return call != PYRO_NO_LAYER && joins->calls[call].event == event;
}

static place find_place(pyro_compiled *compiled, uint32_t event)
{
    const pyro_joins *joins = compiled->state->joins;
    const pyro_trace *trace = compiled->state->trace;
    place found = {.range = OF_THREAD | trace->track[event], .unit = event};
    uint32_t outermost = event;
    bool is_loose = true;
    for (uint32_t at = joins->parent[event]; at != PYRO_NO_EVENT; at = joins->parent[at]) {
        uint8_t kind = pyro_compiled_name_kind(compiled, at);
        if (kind == PYRO_COMPILED_GRAPH || kind == PYRO_COMPILED_REGION)
            return (place){at, outermost, true, outermost != event};
        if (trace->category[at] == PYRO_EVENT_OP)
            outermost = at;
        if (!is_loose)
            continue;
        if (is_layer_call(joins, at)) {
            found.range = at;
            is_loose = false;
        } else {
            found.unit = outermost;
        }
    }
    found.has_op = found.unit != event;
    return found;
}

static bool add_item(items *all, item new_item)
{
    if (!pyro_grow(&all->items, &all->capacity, all->count + 1, sizeof *all->items))
        return false;
    all->items[all->count++] = new_item;
    return true;
}

static bool is_graph_launch(pyro_compiled *compiled, uint32_t launch)
{
    return strstr(pyro_event_name(compiled->state->trace, launch), "GraphLaunch") != NULL;
}

/* Device work by the host event that launched it. Replays of CUDA graphs follow in graphs.c. */
static bool gather_work(pyro_compiled *compiled, items *all)
{
    const pyro_trace *trace = compiled->state->trace;
    const pyro_joins *joins = compiled->state->joins;
    for (uint32_t event = 0; event < trace->count; event++) {
        uint32_t launch = pyro_event_is_device_work(trace->category[event]) ? joins->launch[event]
                                                                            : PYRO_NO_EVENT;
        if (launch == PYRO_NO_EVENT || is_graph_launch(compiled, launch))
            continue;
        place at = find_place(compiled, launch);
        if (!add_item(all, (item){at.range, at.unit, event, trace->start_ns[at.unit]}))
            return false;
    }
    return true;
}

/* Without devices: the outermost ops in compiled code. */
static bool gather_ops(pyro_compiled *compiled, items *all)
{
    const pyro_trace *trace = compiled->state->trace;
    for (uint32_t event = 0; event < trace->count; event++) {
        if (trace->category[event] != PYRO_EVENT_OP ||
            pyro_compiled_name_kind(compiled, event) == PYRO_COMPILED_REGION ||
            pyro_compiled_name_kind(compiled, event) == PYRO_COMPILED_GRAPH)
            continue;
        place at = find_place(compiled, event);
        if (at.is_marked && !at.has_op &&
            !add_item(all, (item){at.range, event, PYRO_NO_EVENT, trace->start_ns[event]}))
            return false;
    }
    return true;
}

static int by_range(const void *left, const void *right)
{
    const item *a = left, *b = right;
    if (a->range != b->range)
        return a->range < b->range ? -1 : 1;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    return (a->work > b->work) - (a->work < b->work);
}

/* The key in "## Call CompiledFxGraph KEY ##" of an event or one around it. */
bool pyro_compiled_key(pyro_compiled *compiled, uint32_t event, uint32_t *key)
{
    const pyro_joins *joins = compiled->state->joins;
    *key = PYRO_NO_TEXT;
    for (; event != PYRO_NO_EVENT; event = joins->parent[event]) {
        if (pyro_compiled_name_kind(compiled, event) != PYRO_COMPILED_GRAPH)
            continue;
        const char *text = strstr(pyro_event_name(compiled->state->trace, event), "Graph ") + 6;
        size_t length = strcspn(text, " ");
        *key = pyro_intern_find(&compiled->provenance.texts, text, length);
        return strncmp(text, "None", length) != 0;
    }
    return false;
}

static void count_unknown(pyro_compiled *compiled, uint32_t event)
{
    pyro_compiled_attribution *result = &compiled->state->joins->compiled;
    result->kernels[PYRO_COMPILED_UNKNOWN]++;
    pyro_join_add_ns(&result->time_ns[PYRO_COMPILED_UNKNOWN],
                     compiled->state->trace->duration_ns[event]);
}

/* The op that launched the work is of the same layer, so that its FLOPs count there. */
static bool follow_work(pyro_compiled *compiled, const item *item)
{
    pyro_joins *joins = compiled->state->joins;
    if (compiled->state->trace->category[item->unit] != PYRO_EVENT_OP ||
        pyro_map_get(&compiled->is_done, item->work) == PYRO_MAP_NONE)
        return true;
    joins->call[item->unit] = joins->call[item->work];
    joins->phase[item->unit] = joins->phase[item->work];
    return pyro_map_put(&compiled->is_done, item->unit, 1);
}

static bool attribute(pyro_compiled *compiled, const item *item, const pyro_compiled_match *match,
                      bool is_marked)
{
    uint32_t event = item->work == PYRO_NO_EVENT ? item->unit : item->work;
    if (!match->count) {
        if (is_marked || pyro_compiled_name_kind(compiled, event) == PYRO_COMPILED_KERNEL)
            count_unknown(compiled, event);
        return true;
    }
    if (item->work == PYRO_NO_EVENT)
        return pyro_compiled_attribute_op(compiled, event, match);
    return pyro_compiled_attribute(compiled, event, match) && follow_work(compiled, item);
}

/* All items of one range. */
static bool attribute_range(pyro_compiled *compiled, const item *items, size_t count)
{
    uint8_t kind = items->range < OF_THREAD
                       ? pyro_compiled_name_kind(compiled, (uint32_t)items->range)
                       : PYRO_COMPILED_OTHER;
    bool is_marked = kind == PYRO_COMPILED_GRAPH || kind == PYRO_COMPILED_REGION;
    size_t units = 0;
    uint32_t key = PYRO_NO_TEXT;
    bool has_key = is_marked && pyro_compiled_key(compiled, (uint32_t)items->range, &key);
    for (size_t i = 0; i < count; i++)
        if ((i == 0 || items[i].unit != items[i - 1].unit) &&
            !pyro_compiled_add_unit(compiled, units++, items[i].unit, items[i].work))
            return false;
    pyro_compiled_match_units(&compiled->matcher, has_key, key, compiled->units, units,
                              compiled->matches);
    for (size_t i = 0, unit = 0; i < count; i++) {
        unit += i > 0 && items[i].unit != items[i - 1].unit;
        if (!attribute(compiled, &items[i], &compiled->matches[unit], is_marked))
            return false;
    }
    return true;
}

/* A recording knows nothing of the graphs behind these kernels. */
static void count_generated(pyro_compiled *compiled)
{
    const pyro_trace *trace = compiled->state->trace;
    for (uint32_t event = 0; pyro_trace_is_captured(trace) && event < trace->count; event++)
        if (trace->category[event] == PYRO_EVENT_KERNEL &&
            pyro_compiled_name_kind(compiled, event) == PYRO_COMPILED_KERNEL)
            count_unknown(compiled, event);
}

/* What happens inside an op that was attributed belongs to it. */
static bool spread_ops(pyro_compiled *compiled)
{
    const pyro_trace *trace = compiled->state->trace;
    pyro_joins *joins = compiled->state->joins;
    for (size_t i = 0; compiled->is_done.count && i < trace->count; i++) {
        uint32_t event = joins->by_time[i], parent = joins->parent[event];
        if (parent == PYRO_NO_EVENT || pyro_map_get(&compiled->is_done, parent) == PYRO_MAP_NONE ||
            pyro_map_get(&compiled->is_done, event) != PYRO_MAP_NONE)
            continue;
        joins->call[event] = joins->call[parent];
        joins->phase[event] = joins->phase[parent];
        if (!pyro_map_put(&compiled->is_done, event, 1))
            return false;
    }
    return true;
}

int pyro_compiled_gather(pyro_compiled *compiled)
{
    const pyro_trace *trace = compiled->state->trace;
    items all = {0};
    if (!compiled->provenance.graph_count) {
        count_generated(compiled);
        return PYRO_OK;
    }
    bool has_work = memchr(trace->category, PYRO_EVENT_KERNEL, trace->count) != NULL;
    bool ok = has_work ? gather_work(compiled, &all) : gather_ops(compiled, &all);
    if (ok && all.count)
        qsort(all.items, all.count, sizeof *all.items, by_range);
    for (size_t first = 0, end; ok && first < all.count; first = end) {
        for (end = first + 1; end < all.count && all.items[end].range == all.items[first].range;)
            end++;
        ok = attribute_range(compiled, all.items + first, end - first);
    }
    if (ok)
        ok = spread_ops(compiled);
    free(all.items);
    return ok ? PYRO_OK : pyro_fail_memory(compiled->state->error);
}

bool pyro_compiled_match_replay(pyro_compiled *compiled, uint32_t launch, const uint32_t *works,
                                size_t count, bool *is_found)
{
    uint32_t key;
    *is_found = false;
    if (!compiled->provenance.graph_count)
        return true;
    bool has_key = pyro_compiled_key(compiled, launch, &key);
    for (size_t i = 0; i < count; i++)
        if (!pyro_compiled_add_unit(compiled, i, works[i], works[i]))
            return false;
    size_t found = pyro_compiled_match_units(&compiled->matcher, has_key, key, compiled->units,
                                             count, compiled->matches);
    *is_found = count && found * 2 >= count;
    return true;
}
