/*
 * Matches what compiled code ran with the calls of the graphs that were compiled. Generated kernels
 * have names of their own and are anchors; between two anchors the kernels of libraries follow in the
 * order of the wrapper.
 */
#include "trace/joins/compiled.h"

#include "base/containers/buf.h"
#include <stdlib.h>
#include <string.h>

/* How far ahead an anchor is looked for. */
#define FAR_AHEAD 256
#define MOST_CANDIDATES 64
#define MOST_STARTS 64

/* "extern_kernels.addmm", "torch.ops.aten.addmm.default" and "aten::addmm" are all "addmm". */
static const char *plain_name(const char *name, size_t *length)
{
    const char *colons = strstr(name, "::"), *dot;
    if (strncmp(name, "graph_", 6) == 0 && pyro_is_generated_kernel(name)) {
        name += 6 + strspn(name + 6, "0123456789");
        name += *name == '_';
    } else if (strncmp(name, "extern_kernels.", 15) == 0) {
        name += 15;
    } else if (strncmp(name, "torch.ops.", 10) == 0) {
        dot = strchr(name + 10, '.');
        name = dot ? dot + 1 : name + 10;
    } else if (strncmp(name, "aten.", 5) == 0) {
        name += 5;
    } else if (colons && !strpbrk(name, "<( ")) {
        name = colons + 2;
    }
    *length = pyro_is_generated_kernel(name) ? strlen(name) : strcspn(name, ".");
    return name;
}

static bool add_user(pyro_compiled_matcher *matcher, uint32_t name, uint32_t graph)
{
    uint32_t last = pyro_map_get(&matcher->first_user, name);
    if (last != PYRO_MAP_NONE && matcher->users[last].graph == graph)
        return true;
    if (!pyro_grow(&matcher->users, &matcher->user_capacity, matcher->user_count + 1,
                   sizeof *matcher->users))
        return false;
    matcher->users[matcher->user_count] = (struct pyro_graph_user){graph, last};
    return pyro_map_put(&matcher->first_user, name, (uint32_t)matcher->user_count++);
}

static bool index_graph(pyro_compiled_matcher *matcher, uint32_t index)
{
    pyro_provenance *all = matcher->provenance;
    const pyro_compiled_graph *graph = &all->graphs[index];
    if (graph->key != PYRO_NO_TEXT && !pyro_map_put(&matcher->graph_of_key, graph->key, index))
        return false;
    for (size_t i = graph->first_call; i < graph->first_call + graph->call_count; i++) {
        size_t length;
        const char *name = plain_name(pyro_provenance_text(all, all->calls[i].name), &length);
        matcher->is_generated[i] = pyro_is_generated_kernel(name);
        matcher->plain_names[i] = pyro_intern_add(&all->texts, name, length);
        if (matcher->plain_names[i] == PYRO_INTERN_NONE ||
            (matcher->is_generated[i] && !add_user(matcher, matcher->plain_names[i], index)))
            return false;
    }
    return true;
}

bool pyro_compiled_matcher_init(pyro_compiled_matcher *matcher, pyro_provenance *provenance)
{
    *matcher = (pyro_compiled_matcher){.provenance = provenance};
    matcher->plain_names = calloc(provenance->call_count + 1, sizeof *matcher->plain_names);
    matcher->is_generated = calloc(provenance->call_count + 1, sizeof *matcher->is_generated);
    bool ok = matcher->plain_names && matcher->is_generated;
    for (size_t i = 0; ok && i < provenance->graph_count; i++)
        ok = index_graph(matcher, (uint32_t)i);
    return ok;
}

void pyro_compiled_matcher_free(pyro_compiled_matcher *matcher)
{
    free(matcher->plain_names);
    free(matcher->is_generated);
    free(matcher->users);
    pyro_map_free(&matcher->graph_of_key);
    pyro_map_free(&matcher->first_user);
    *matcher = (pyro_compiled_matcher){0};
}

uint32_t pyro_compiled_name(const pyro_compiled_matcher *matcher, const char *name)
{
    size_t length;
    const char *plain = plain_name(name, &length);
    return pyro_intern_find(&matcher->provenance->texts, plain, length);
}

/* One alignment of units with a graph. */
typedef struct alignment {
    const pyro_compiled_matcher *matcher;
    const pyro_compiled_unit *units;
    size_t unit_count;
    pyro_compiled_match *matches; /* NULL: only counts */
    size_t end;      /* units that were passed */
    size_t anchors;  /* generated kernels that were found */
    size_t skipped;  /* and those between them that the graph does not have there */
    bool is_bounded;   /* all units belong to the graph */
    bool needs_no_key; /* a graph with a key is not that of the units */
} alignment;

static bool is_anchor(const alignment *a, size_t unit)
{
    return a->units[unit].is_generated && a->units[unit].name != PYRO_NO_TEXT;
}

static void set(alignment *a, size_t unit, size_t call, size_t count)
{
    a->matches[unit] = (pyro_compiled_match){call, count};
}

/* By the names of ops, in order. Returns the number of units that were found. */
static size_t match_by_op(alignment *a, size_t call, size_t call_end, size_t unit, size_t unit_end)
{
    size_t found = 0;
    for (; unit < unit_end; unit++) {
        if (!a->units[unit].has_op || a->units[unit].name == PYRO_NO_TEXT)
            continue;
        for (size_t i = call; i < call_end; i++) {
            if (a->matcher->plain_names[i] != a->units[unit].name)
                continue;
            set(a, unit, i, 1);
            call = i + 1;
            found++;
            break;
        }
    }
    return found;
}

/* One unit per call, except helpers: memsets precede their kernel, reductions follow it. */
static void match_in_order(alignment *a, size_t call, size_t unit, size_t unit_end)
{
    size_t next = call;
    for (size_t i = unit; i < unit_end; i++) {
        if (a->units[i].is_helper && i + 1 == unit_end && next > call)
            set(a, i, next - 1, 1);
        else if (a->units[i].is_helper)
            set(a, i, next > call ? next - 1 : next, 1);
        else
            set(a, i, next++, 1);
    }
}

/* The calls of libraries between two anchors, and the units between them. */
static void match_between(alignment *a, size_t call, size_t call_end, size_t unit, size_t unit_end)
{
    size_t calls = 0, mains = 0, only = call;
    if (!a->matches || unit >= unit_end)
        return;
    for (size_t i = call_end; i-- > call;)
        if (!a->matcher->is_generated[i]) {
            calls++;
            only = i;
        }
    if (!calls || match_by_op(a, call, call_end, unit, unit_end))
        return;
    for (size_t i = unit; i < unit_end; i++)
        mains += !a->units[i].is_helper;
    bool is_dense = calls == call_end - call;
    /* Ops with other names are of other code, unless there is one for each call. */
    if (a->units[unit].has_op && mains != calls)
        return;
    if (is_dense && mains == calls)
        match_in_order(a, call, unit, unit_end);
    else
        for (size_t i = unit; i < unit_end; i++)
            set(a, i, calls == 1 ? only : call, calls == 1 ? 1 : call_end - call);
}

/* Units before the first anchor or behind the last one may belong to other code. */
static size_t limit(const alignment *a, size_t call, size_t call_end, size_t units)
{
    size_t calls = 0;
    for (size_t i = call; i < call_end; i++)
        calls += !a->matcher->is_generated[i];
    return a->is_bounded || units < calls ? units : calls;
}

/* The next unit of this name. Launches of the kernel before it are free: Inductor times the
 * configurations of a kernel when it first runs. */
static size_t find_anchor(const alignment *a, uint32_t name, size_t from)
{
    uint32_t before = from && is_anchor(a, from - 1) ? a->units[from - 1].name : PYRO_NO_TEXT;
    size_t passed = 0;
    for (size_t i = from; i < a->unit_count && passed < FAR_AHEAD; i++) {
        if (!is_anchor(a, i))
            continue;
        if (a->units[i].name == name)
            return i;
        passed += a->units[i].name != before;
    }
    return SIZE_MAX;
}

/* Repeated launches of a kernel are of the same call. */
static void match_repeats(const alignment *a)
{
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < a->unit_count; i++) {
        if (!is_anchor(a, i))
            continue;
        if (a->matches[i].count)
            last = i;
        else if (last != SIZE_MAX && a->units[i].name == a->units[last].name)
            a->matches[i] = a->matches[last];
    }
}

/* Aligns with the calls of a graph from `start` on. */
static void align(alignment *a, uint32_t graph_index, size_t start)
{
    const pyro_compiled_graph *graph = &a->matcher->provenance->graphs[graph_index];
    size_t pending = start, last = graph->first_call + graph->call_count, unit = 0;
    a->anchors = a->skipped = 0;
    for (size_t call = pending; call < last; call++) {
        size_t at = a->matcher->is_generated[call]
                        ? find_anchor(a, a->matcher->plain_names[call], unit)
                        : SIZE_MAX;
        if (at == SIZE_MAX)
            continue;
        for (size_t i = unit; a->anchors && i < at; i++)
            a->skipped += is_anchor(a, i) && a->units[i].name != a->units[unit - 1].name;
        size_t before = a->anchors ? at - unit : limit(a, pending, call, at - unit);
        match_between(a, pending, call, at - before, at);
        if (a->matches)
            set(a, at, call, 1);
        a->anchors++;
        unit = at + 1;
        pending = call + 1;
    }
    size_t tail = unit;
    while (tail < a->unit_count && (a->is_bounded || !is_anchor(a, tail)))
        tail++;
    tail = unit + limit(a, pending, last, tail - unit);
    match_between(a, pending, last, unit, tail);
    a->end = a->is_bounded ? a->unit_count : tail;
}

static size_t count_generated(const alignment *a, uint32_t graph_index)
{
    const pyro_compiled_graph *graph = &a->matcher->provenance->graphs[graph_index];
    size_t count = 0;
    for (size_t i = 0; i < graph->call_count; i++)
        count += a->matcher->is_generated[graph->first_call + i];
    return count;
}

/* How well units fit a graph: anchors that only one side has speak against it. */
static size_t fit_of(const alignment *a)
{
    return a->anchors > a->skipped ? a->anchors - a->skipped : 0;
}

static size_t first_anchor(const alignment *a)
{
    size_t first = 0;
    while (first < a->unit_count && !is_anchor(a, first))
        first++;
    return first;
}

/* The first call of a library before a generated one. */
static size_t before_anchor(const alignment *a, const pyro_compiled_graph *graph, size_t call)
{
    while (call > graph->first_call && !a->matcher->is_generated[call - 1])
        call--;
    return call;
}

/*
 * Where in a graph the units begin: a graph may run in parts, each a CUDA graph. The first place with
 * most anchors behind it, and most calls of libraries for the units before the first anchor; without
 * anchors the begin. Counts the anchors from there.
 */
static size_t find_start(alignment *a, uint32_t graph_index)
{
    const pyro_compiled_graph *graph = &a->matcher->provenance->graphs[graph_index];
    size_t first = first_anchor(a), best = graph->first_call, most = 0, most_before = 0, tried = 0;
    pyro_compiled_match *matches = a->matches;
    a->matches = NULL;
    for (size_t i = graph->first_call; i < graph->first_call + graph->call_count; i++) {
        if (first == a->unit_count || tried == MOST_STARTS)
            break;
        if (a->matcher->plain_names[i] != a->units[first].name)
            continue;
        size_t start = before_anchor(a, graph, i);
        size_t before = i - start < first ? i - start : first;
        align(a, graph_index, start);
        if (fit_of(a) > most || (fit_of(a) == most && before > most_before)) {
            most = fit_of(a);
            most_before = before;
            best = start;
        }
        tried++;
    }
    align(a, graph_index, best);
    a->matches = matches;
    return best;
}

/* The graph with most anchors in the units, and where they begin in it; PYRO_MAP_NONE if none has half
 * of its kernels there. */
static uint32_t choose_graph(alignment *a, size_t *start)
{
    uint32_t best = PYRO_MAP_NONE;
    size_t most = 0, tried = 0, first = first_anchor(a);
    if (first == a->unit_count)
        return best;
    uint32_t user = pyro_map_get(&a->matcher->first_user, a->units[first].name);
    for (; user != PYRO_MAP_NONE && tried < MOST_CANDIDATES; tried++) {
        uint32_t graph = a->matcher->users[user].graph;
        bool may_be = !a->needs_no_key || a->matcher->provenance->graphs[graph].key == PYRO_NO_TEXT;
        size_t at = may_be ? find_start(a, graph) : 0;
        if (may_be && fit_of(a) > most && a->anchors * 2 >= count_generated(a, graph)) {
            most = fit_of(a);
            best = graph;
            *start = at;
        }
        user = a->matcher->users[user].next;
    }
    return best;
}

/* The anchor that no graph explains, and what precedes it, is left out. */
static size_t skip_anchor(const alignment *a)
{
    return first_anchor(a) + 1;
}

size_t pyro_compiled_match_units(const pyro_compiled_matcher *matcher, bool has_key, uint32_t key,
                                 const pyro_compiled_unit *units, size_t count,
                                 pyro_compiled_match *matches)
{
    uint32_t graph = key == PYRO_NO_TEXT ? PYRO_MAP_NONE
                                         : pyro_map_get(&matcher->graph_of_key, key);
    size_t found = 0;
    memset(matches, 0, count * sizeof *matches);
    if (graph != PYRO_MAP_NONE) {
        alignment a = {.matcher = matcher,
                       .units = units,
                       .unit_count = count,
                       .matches = matches,
                       .is_bounded = true};
        align(&a, graph, find_start(&a, graph));
        match_repeats(&a);
    }
    for (size_t at = 0; graph == PYRO_MAP_NONE && at < count;) {
        alignment a = {.matcher = matcher,
                       .units = units + at,
                       .unit_count = count - at,
                       .matches = matches + at,
                       .needs_no_key = has_key};
        size_t start = 0;
        uint32_t chosen = choose_graph(&a, &start);
        if (chosen != PYRO_MAP_NONE)
            align(&a, chosen, start);
        at += chosen != PYRO_MAP_NONE && a.end ? a.end : skip_anchor(&a);
    }
    for (size_t i = 0; i < count; i++)
        found += matches[i].count > 0;
    return found;
}
