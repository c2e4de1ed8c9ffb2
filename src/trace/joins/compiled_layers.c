/*
 * Gives single pieces of compiled work to layers. A kernel that is fused over several modules is shared
 * out by the bytes that their nodes write, else evenly.
 */
#include "trace/joins/compiled.h"

#include "base/containers/buf.h"
#include "trace/joins/graphs.h"
#include <string.h>

#define LONGEST_SHARED_NS (INT64_C(1) << 52) /* doubles count to there */

uint8_t pyro_compiled_kind_of(const char *name)
{
    static const struct {
        const char *prefix;
        uint8_t kind;
    } prefixes[] = {
        {"## Call CompiledFxGraph ", PYRO_COMPILED_GRAPH},
        {"Call CompiledFxGraph ", PYRO_COMPILED_GRAPH},
        {"Torch-Compiled Region", PYRO_COMPILED_REGION},
        {"CompiledFunction", PYRO_COMPILED_REGION},
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)) == 0)
            return prefixes[i].kind;
    return pyro_is_generated_kernel(name) ? PYRO_COMPILED_KERNEL : PYRO_COMPILED_OTHER;
}

uint8_t pyro_compiled_name_kind(pyro_compiled *compiled, uint32_t event)
{
    const pyro_trace *trace = compiled->state->trace;
    uint32_t name = trace->name[event];
    if (name >= trace->names.count)
        return PYRO_COMPILED_OTHER;
    if (compiled->name_kinds[name] == PYRO_COMPILED_UNSEEN)
        compiled->name_kinds[name] = pyro_compiled_kind_of(pyro_intern_text(&trace->names, name));
    return compiled->name_kinds[name];
}

/* Work that completes the result of another kernel, or prepares it. */
static bool is_helper(const char *name)
{
    return strstr(name, "splitKreduce") || strstr(name, "splitK_reduce") ||
           strstr(name, "reduceSplitK") || strncmp(name, "Memset", 6) == 0;
}

bool pyro_compiled_add_unit(pyro_compiled *compiled, size_t index, uint32_t event, uint32_t work)
{
    const pyro_trace *trace = compiled->state->trace;
    if (!pyro_grow(&compiled->units, &compiled->unit_capacity, index + 1,
                   sizeof *compiled->units) ||
        !pyro_grow(&compiled->matches, &compiled->match_capacity, index + 1,
                   sizeof *compiled->matches))
        return false;
    bool has_op = trace->category[event] == PYRO_EVENT_OP;
    const char *name = pyro_event_name(trace, has_op || work == PYRO_NO_EVENT ? event : work);
    compiled->units[index] = (pyro_compiled_unit){
        .event = event,
        .name = pyro_compiled_name(&compiled->matcher, name),
        .is_generated = pyro_is_generated_kernel(name),
        .has_op = has_op,
        .is_helper = !has_op && is_helper(name),
    };
    return true;
}

/* The layer of a path below another layer. */
static uint32_t layer_below(pyro_compiled *compiled, uint32_t base,
                            const pyro_compiled_owner *owner)
{
    const char *path = pyro_provenance_text(&compiled->provenance, owner->path);
    uint64_t key = (uint64_t)base << 32 | owner->path;
    uint32_t layer = pyro_map_get(&compiled->layer_of_path, key);
    if (layer != PYRO_MAP_NONE)
        return layer;
    layer = pyro_layers_below(compiled->state, base, path,
                              pyro_provenance_text(&compiled->provenance, owner->class_name));
    if (layer == PYRO_NO_LAYER || !pyro_map_put(&compiled->layer_of_path, key, layer))
        return PYRO_NO_LAYER;
    return layer;
}

/* A call that stands for the layer's work in compiled code; it has no time of its own. */
static uint32_t call_of(pyro_compiled *compiled, uint32_t layer, uint32_t event)
{
    pyro_joins *joins = compiled->state->joins;
    uint32_t call = pyro_map_get(&compiled->call_of_layer, layer);
    if (call != PYRO_MAP_NONE)
        return call;
    call = (uint32_t)joins->call_count;
    if (!pyro_grow(&joins->calls, &joins->call_capacity, joins->call_count + 1,
                   sizeof *joins->calls) ||
        !pyro_map_put(&compiled->call_of_layer, layer, call))
        return PYRO_NO_LAYER;
    joins->calls[joins->call_count++] = (pyro_layer_call){layer, event, PYRO_NO_LAYER};
    return call;
}

/* The owners of all calls of a match. */
static size_t collect_owners(const pyro_compiled *compiled, const pyro_compiled_match *match,
                             pyro_compiled_owner *owners)
{
    const pyro_provenance *all = &compiled->provenance;
    size_t count = 0;
    for (size_t c = match->first_call; c < match->first_call + match->count; c++) {
        const pyro_compiled_call *call = &all->calls[c];
        for (size_t i = 0; i < call->owner_count; i++) {
            const pyro_compiled_owner *owner = &all->owners[call->first_owner + i];
            size_t at = 0;
            while (at < count && owners[at].path != owner->path)
                at++;
            if (at < count)
                owners[at].bytes = owners[at].bytes < 0 || owner->bytes < 0 ||
                                           owner->bytes > INT64_MAX - owners[at].bytes
                                       ? -1
                                       : owners[at].bytes + owner->bytes;
            else if (count < PYRO_MOST_OWNERS)
                owners[count++] = *owner;
        }
    }
    return count;
}

/* The weights of owners: their bytes, or all 1. */
static double weigh(pyro_compiled_owner *owners, size_t count)
{
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        if (owners[i].bytes < 0) {
            for (size_t k = 0; k < count; k++)
                owners[k].bytes = 1;
            return (double)count;
        }
        total += (double)owners[i].bytes;
    }
    for (size_t i = 0; i < count && total <= 0; i++)
        owners[i].bytes = 1;
    return total > 0 ? total : (double)count;
}

/* Adds the parts of a kernel's time, which add up exactly; returns the call with the largest. */
static uint32_t share_out(pyro_compiled *compiled, uint32_t work, uint32_t base,
                          pyro_compiled_owner *owners, size_t count)
{
    pyro_joins *joins = compiled->state->joins;
    int64_t duration = compiled->state->trace->duration_ns[work], rest = duration;
    double total = weigh(owners, count), sum = 0;
    size_t first = joins->share_count, largest = first;
    if (!pyro_grow(&joins->shares, &joins->share_capacity, first + count, sizeof *joins->shares))
        return PYRO_NO_LAYER;
    for (size_t i = 0; i < count; i++) {
        uint32_t layer = layer_below(compiled, base, &owners[i]);
        uint32_t call = layer == PYRO_NO_LAYER ? PYRO_NO_LAYER : call_of(compiled, layer, work);
        sum += (double)owners[i].bytes;
        /* Rounding cumulative sums keeps every part non-negative and the total exact. */
        int64_t until = i + 1 == count ? duration : (int64_t)((double)duration * (sum / total));
        int64_t part = until - (duration - rest);
        part = part < 0 ? 0 : part > rest ? rest : part;
        rest -= part;
        if (call == PYRO_NO_LAYER)
            return PYRO_NO_LAYER;
        joins->shares[joins->share_count++] = (pyro_share){call, part, i + 1 == count};
        if (part > joins->shares[largest].ns)
            largest = joins->share_count - 1;
    }
    if (!pyro_map_put(&joins->share_of, work, (uint32_t)first))
        return PYRO_NO_LAYER;
    pyro_join_add_ns(&joins->compiled.shared_ns, duration);
    joins->compiled.shared_kernels++;
    return joins->shares[largest].call;
}

static uint8_t phase_of(const pyro_compiled *compiled, uint32_t event,
                        const pyro_compiled_match *match)
{
    const pyro_provenance *all = &compiled->provenance;
    uint8_t phase = compiled->state->joins->phase[event];
    if (phase == PYRO_PHASE_BACKWARD || phase == PYRO_PHASE_FORWARD)
        return phase;
    for (size_t i = 0; i < all->graph_count; i++)
        if (match->first_call - all->graphs[i].first_call < all->graphs[i].call_count)
            return all->graphs[i].is_backward ? PYRO_PHASE_BACKWARD : PYRO_PHASE_FORWARD;
    return PYRO_PHASE_FORWARD;
}

/* The layer around compiled code, whose modules its graphs are about. */
static uint32_t base_of(const pyro_compiled *compiled, uint32_t event)
{
    const pyro_joins *joins = compiled->state->joins;
    uint32_t call = joins->call[event];
    if (call == PYRO_NO_LAYER || compiled->state->compiled_rows)
        return PYRO_NO_LAYER;
    return joins->calls[call].layer;
}

bool pyro_compiled_give(pyro_compiled *compiled, uint32_t work, pyro_compiled_owner *owners,
                        size_t count, uint8_t phase, pyro_compiled_source source)
{
    pyro_joins *joins = compiled->state->joins;
    int64_t duration = compiled->state->trace->duration_ns[work];
    uint32_t base = base_of(compiled, work), call = PYRO_NO_LAYER;
    if (!count)
        return true;
    if (count == 1 || duration <= 0 || duration > LONGEST_SHARED_NS) {
        uint32_t layer = layer_below(compiled, base, &owners[0]);
        call = layer == PYRO_NO_LAYER ? PYRO_NO_LAYER : call_of(compiled, layer, work);
    } else {
        call = share_out(compiled, work, base, owners, count);
    }
    if (call == PYRO_NO_LAYER)
        return false;
    pyro_graph_attribute(joins, work, call, phase);
    if (!pyro_map_put(&compiled->is_done, work, 1))
        return false;
    joins->compiled.kernels[source]++;
    pyro_join_add_ns(&joins->compiled.time_ns[source], duration);
    return true;
}

bool pyro_compiled_note_source(pyro_compiled *compiled, uint32_t work, const char *source)
{
    pyro_joins *joins = compiled->state->joins;
    uint32_t id = source[0] ? pyro_intern_add(&joins->source_lines, source, strlen(source)) : 0;
    return !source[0] || (id != PYRO_INTERN_NONE && pyro_map_put(&joins->source_of, work, id));
}

bool pyro_compiled_attribute(pyro_compiled *compiled, uint32_t work,
                             const pyro_compiled_match *match)
{
    const pyro_provenance *all = &compiled->provenance;
    pyro_compiled_owner owners[PYRO_MOST_OWNERS];
    size_t count = collect_owners(compiled, match, owners);
    if (match->count == 1 &&
        !pyro_compiled_note_source(compiled, work,
                                   pyro_provenance_text(all, all->calls[match->first_call].source)))
        return false;
    return pyro_compiled_give(compiled, work, owners, count, phase_of(compiled, work, match),
                              PYRO_COMPILED_BY_PROVENANCE);
}

/* On the host an op is a call of its layer, so that its time moves from the layer around it. An op of
 * several modules belongs to the one that wrote most. */
bool pyro_compiled_attribute_op(pyro_compiled *compiled, uint32_t op,
                                const pyro_compiled_match *match)
{
    pyro_joins *joins = compiled->state->joins;
    pyro_compiled_owner owners[PYRO_MOST_OWNERS];
    size_t count = collect_owners(compiled, match, owners), most = 0;
    uint32_t base = base_of(compiled, op);
    for (size_t i = 1; i < count; i++)
        most = owners[i].bytes > owners[most].bytes ? i : most;
    if (!count)
        return true;
    uint32_t layer = layer_below(compiled, base, &owners[most]);
    if (layer == PYRO_NO_LAYER)
        return false;
    uint8_t phase = phase_of(compiled, op, match);
    uint32_t call = phase == PYRO_PHASE_BACKWARD ? call_of(compiled, layer, joins->parent[op])
                                                 : (uint32_t)joins->call_count;
    if (phase != PYRO_PHASE_BACKWARD) {
        if (!pyro_grow(&joins->calls, &joins->call_capacity, joins->call_count + 1,
                       sizeof *joins->calls))
            return false;
        joins->calls[joins->call_count++] = (pyro_layer_call){layer, op, joins->call[op]};
    }
    if (call == PYRO_NO_LAYER)
        return false;
    joins->call[op] = call;
    joins->phase[op] = phase;
    if (!pyro_map_put(&compiled->is_done, op, 1))
        return false;
    joins->compiled.kernels[PYRO_COMPILED_BY_PROVENANCE]++;
    pyro_join_add_ns(&joins->compiled.time_ns[PYRO_COMPILED_BY_PROVENANCE],
                     compiled->state->trace->duration_ns[op]);
    return true;
}

const pyro_share *pyro_joins_shares(const pyro_joins *joins, uint32_t event, size_t *count)
{
    uint32_t first = joins->share_of.count ? pyro_map_get(&joins->share_of, event) : PYRO_MAP_NONE;
    *count = 0;
    if (first == PYRO_MAP_NONE)
        return NULL;
    while (!joins->shares[first + (*count)++].is_last) {
    }
    return &joins->shares[first];
}

const char *pyro_joins_source(const pyro_joins *joins, uint32_t event)
{
    uint32_t id = joins->source_of.count ? pyro_map_get(&joins->source_of, event) : PYRO_MAP_NONE;
    return id == PYRO_MAP_NONE ? "" : pyro_intern_text(&joins->source_lines, id);
}
