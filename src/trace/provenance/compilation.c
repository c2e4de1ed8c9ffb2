/* Decides which modules the calls of a compiled graph belong to. */
#include "trace/provenance/compilation.h"

#include <stdlib.h>
#include <string.h>

void pyro_node_table_init(pyro_node_table *table)
{
    *table = (pyro_node_table){0};
    pyro_arena_init(&table->arena);
    pyro_intern_init(&table->names, &table->arena);
}

void pyro_node_table_free(pyro_node_table *table)
{
    free(table->facts);
    pyro_intern_free(&table->names);
    pyro_arena_free(&table->arena);
    *table = (pyro_node_table){0};
}

struct pyro_node_facts *pyro_node_add(pyro_node_table *table, const char *name, size_t length)
{
    size_t known = table->names.count;
    uint32_t id = pyro_intern_add(&table->names, name, length);
    if (id == PYRO_INTERN_NONE ||
        !pyro_grow(&table->facts, &table->capacity, id + (size_t)1, sizeof *table->facts))
        return NULL;
    if (id >= known)
        table->facts[id] = (struct pyro_node_facts){PYRO_NO_TEXT, -1, false};
    return &table->facts[id];
}

const struct pyro_node_facts *pyro_node_find(const pyro_node_table *table, const char *name,
                                             size_t length)
{
    uint32_t id = pyro_intern_find(&table->names, name, length);
    return id == PYRO_INTERN_NONE ? NULL : &table->facts[id];
}

bool pyro_compilation_init(pyro_compilation *compilation, pyro_provenance *all)
{
    *compilation = (pyro_compilation){.all = all};
    pyro_arena_init(&compilation->arena);
    pyro_intern_init(&compilation->paths, &compilation->arena);
    pyro_node_table_init(&compilation->captured);
    pyro_node_table_init(&compilation->compiled);
    return true;
}

void pyro_compilation_free(pyro_compilation *compilation)
{
    pyro_node_table_free(&compilation->captured);
    pyro_node_table_free(&compilation->compiled);
    pyro_intern_free(&compilation->paths);
    pyro_arena_free(&compilation->arena);
    pyro_buf_free(&compilation->key);
    free(compilation->calls);
    *compilation = (pyro_compilation){0};
}

void pyro_compilation_restart(pyro_compilation *compilation)
{
    pyro_compilation_flush(compilation);
    pyro_node_table_free(&compilation->captured);
    pyro_node_table_free(&compilation->compiled);
    pyro_node_table_init(&compilation->captured);
    pyro_node_table_init(&compilation->compiled);
}

/* Nodes that only change how memory is read; they are in a kernel because of what reads them. */
static bool is_view(const char *name, size_t length)
{
    static const char *const views[] = {
        "view",      "_unsafe_view", "reshape", "permute",
        "transpose", "expand",       "squeeze", "unsqueeze",
        "select",    "slice",        "getitem", "as_strided",
        "alias",     "detach",       "t",       "inductor_lookup_seed_default"};
    while (length && name[length - 1] >= '0' && name[length - 1] <= '9')
        length--;
    if (length && name[length - 1] == '_')
        length--;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (strlen(views[i]) == length && strncmp(views[i], name, length) == 0)
            return true;
    return false;
}

typedef struct owners {
    pyro_compilation *compilation;
    size_t count;
} owners;

static void add_owner(owners *owners, uint32_t path, int64_t bytes)
{
    const char *text = pyro_intern_text(&owners->compilation->paths, path);
    owners->compilation->failed |= !pyro_provenance_add_owner(owners->compilation->all, text,
                                                              strlen(text), NULL, bytes);
    owners->count++;
}

/* Which words of a list count. */
typedef enum rule {
    ALL,
    LAST_ONLY,       /* the others are inputs of it */
    PARAMETERS_ONLY, /* names of other graphs may be equal by chance */
    INPUTS_ONLY      /* parameters themselves: saved results may be of the layer before */
} rule;

/* Adds the modules of nodes; `with_views` if there is nothing else. */
static void add_nodes(owners *owners, const pyro_node_table *table, const char *words, rule rule,
                      bool with_views)
{
    const struct pyro_node_facts *last = NULL;
    for (const char *word = words; word && *word && !owners->compilation->failed;) {
        size_t length = strcspn(word, " ");
        const struct pyro_node_facts *facts = pyro_node_find(table, word, length);
        bool counts = facts && facts->path != PYRO_NO_TEXT &&
                      (with_views || !is_view(word, length)) &&
                      (rule != PARAMETERS_ONLY || facts->has_parameter) &&
                      (rule != INPUTS_ONLY || strncmp(word, "primals_", 8) == 0);
        if (counts && rule == LAST_ONLY)
            last = facts;
        else if (counts)
            add_owner(owners, facts->path, facts->bytes);
        word += length + strspn(word + length, " ");
    }
    if (last)
        add_owner(owners, last->path, last->bytes);
}

/* The best of what is known of a call; see the head of captured_graph.c for the modules of nodes. */
static void add_owners(pyro_compilation *compilation, const pyro_wrapper_call *call)
{
    owners owners = {.compilation = compilation};
    bool is_extern = !pyro_is_generated_kernel(call->name);
    for (int with_views = 0; with_views < 2 && !owners.count; with_views++)
        if (!compilation->is_backward)
            add_nodes(&owners, &compilation->compiled, call->post_nodes, ALL, with_views);
    rule rule = is_extern ? LAST_ONLY : compilation->is_backward ? PARAMETERS_ONLY : ALL;
    if (!owners.count && !(is_extern && compilation->is_backward))
        add_nodes(&owners, &compilation->captured, call->source_nodes, rule, true);
    if (!owners.count && compilation->is_backward)
        add_nodes(&owners, &compilation->captured, call->source_nodes, PARAMETERS_ONLY, true);
    if (!owners.count && compilation->is_backward)
        add_nodes(&owners, &compilation->compiled, call->arguments, INPUTS_ONLY, true);
    if (!owners.count)
        add_nodes(&owners, &compilation->compiled, call->arguments, ALL, true);
}

/* Length that two paths have in common, in whole parts. */
static size_t common_length(const char *left, const char *right)
{
    size_t whole = 0;
    for (size_t i = 0;; i++) {
        bool ends = (!left[i] || left[i] == '.') && (!right[i] || right[i] == '.');
        whole = ends ? i : whole;
        if (left[i] != right[i] || !left[i])
            return whole;
    }
}

/* What all owners of a call have in common; NULL: none. */
static const char *common_path(pyro_provenance *all, const pyro_compiled_call *call,
                               const char *so_far, size_t *length)
{
    for (size_t i = 0; i < call->owner_count; i++) {
        const char *path = pyro_provenance_text(all, all->owners[call->first_owner + i].path);
        size_t same = so_far ? common_length(so_far, path) : strlen(path);
        *length = so_far && *length < same ? *length : same;
        so_far = so_far ? so_far : path;
    }
    return so_far;
}

/* Calls without modules belong to what those before and behind them have in common. Their owners are
 * appended, so that they need not be moved. */
static bool fill_gaps(pyro_provenance *all, const pyro_compiled_graph *graph)
{
    const pyro_compiled_call *before = NULL, *after;
    for (size_t i = 0; i < graph->call_count; i++) {
        pyro_compiled_call *call = &all->calls[graph->first_call + i];
        if (call->owner_count) {
            before = call;
            continue;
        }
        size_t next = i + 1, length = 0;
        while (next < graph->call_count && !all->calls[graph->first_call + next].owner_count)
            next++;
        after = next < graph->call_count ? &all->calls[graph->first_call + next] : NULL;
        const char *path = before ? common_path(all, before, NULL, &length) : NULL;
        path = after ? common_path(all, after, path, &length) : path;
        uint32_t id = path ? pyro_intern_add(&all->texts, path, length) : PYRO_NO_TEXT;
        if (!path)
            return true;
        for (; i < next; i++) {
            call = &all->calls[graph->first_call + i];
            if (id == PYRO_INTERN_NONE || !pyro_grow(&all->owners, &all->owner_capacity,
                                                     all->owner_count + 1, sizeof *all->owners))
                return false;
            call->first_owner = all->owner_count;
            call->owner_count = 1;
            all->owners[all->owner_count++] = (pyro_compiled_owner){id, PYRO_NO_TEXT, -1};
        }
        i--;
        before = after ? after : before;
    }
    return true;
}

/* Without any module the source lines are the rows: "@model.py:23". */
static bool use_lines(pyro_compilation *compilation)
{
    pyro_provenance *all = compilation->all;
    pyro_compiled_graph *graph = &all->graphs[all->graph_count - 1];
    for (size_t i = 0; i < graph->call_count; i++)
        if (all->calls[graph->first_call + i].owner_count)
            return true;
    graph->first_call = all->call_count;
    graph->call_count = 0;
    for (size_t i = 0; i < compilation->call_count; i++) {
        const pyro_wrapper_call *call = &compilation->calls[i];
        const char *slash = call->source ? strrchr(call->source, '/') : NULL;
        const char *line = slash ? slash + 1 : call->source;
        char *path = line ? pyro_arena_format(&compilation->arena, "@%s", line) : NULL;
        if ((line && !path) || !pyro_provenance_add_call(all, call->name, strlen(call->name)) ||
            (line && !pyro_provenance_add_owner(all, path, strlen(path), NULL, -1)) ||
            (line && !pyro_provenance_set_source(all, call->source, strlen(call->source))))
            return false;
    }
    return true;
}

void pyro_compilation_flush(pyro_compilation *compilation)
{
    pyro_provenance *all = compilation->all;
    const char *key = compilation->key.length ? compilation->key.data : NULL;
    if (compilation->call_count && !compilation->failed) {
        bool ok = pyro_provenance_add_graph(all, key, compilation->is_backward);
        for (size_t i = 0; ok && !compilation->failed && i < compilation->call_count; i++) {
            const pyro_wrapper_call *call = &compilation->calls[i];
            ok = pyro_provenance_add_call(all, call->name, strlen(call->name));
            if (ok)
                add_owners(compilation, call);
            if (ok && call->source)
                ok = pyro_provenance_set_source(all, call->source, strlen(call->source));
        }
        ok = ok && fill_gaps(all, &all->graphs[all->graph_count - 1]) && use_lines(compilation);
        compilation->failed |= !ok;
    }
    compilation->call_count = 0;
    compilation->is_backward = compilation->has_code = false;
    pyro_buf_reset(&compilation->key);
}
