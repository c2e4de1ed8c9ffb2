/* Holds compiled graphs, their calls and the modules behind them. */
#include "trace/provenance/provenance.h"

#include "base/containers/buf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pyro_provenance_init(pyro_provenance *all)
{
    *all = (pyro_provenance){.rank = -1};
    pyro_arena_init(&all->arena);
    pyro_intern_init(&all->texts, &all->arena);
}

void pyro_provenance_free(pyro_provenance *all)
{
    free(all->owners);
    free(all->calls);
    free(all->graphs);
    pyro_intern_free(&all->texts);
    pyro_arena_free(&all->arena);
    *all = (pyro_provenance){0};
}

bool pyro_provenance_add_graph(pyro_provenance *all, const char *key, bool is_backward)
{
    uint32_t id = key && key[0] ? pyro_intern_add(&all->texts, key, strlen(key)) : PYRO_NO_TEXT;
    if (all->graph_count >= PYRO_MOST_COMPILED_GRAPHS ||
        (key && key[0] && id == PYRO_INTERN_NONE) ||
        !pyro_grow(&all->graphs, &all->graph_capacity, all->graph_count + 1, sizeof *all->graphs))
        return false;
    all->graphs[all->graph_count++] = (pyro_compiled_graph){
        .key = id, .is_backward = is_backward, .first_call = all->call_count};
    return true;
}

bool pyro_provenance_add_call(pyro_provenance *all, const char *name, size_t length)
{
    uint32_t id = pyro_intern_add(&all->texts, name, length);
    if (id == PYRO_INTERN_NONE || !all->graph_count ||
        all->call_count >= PYRO_MOST_COMPILED_CALLS ||
        !pyro_grow(&all->calls, &all->call_capacity, all->call_count + 1, sizeof *all->calls))
        return false;
    all->calls[all->call_count++] = (pyro_compiled_call){
        .name = id, .source = PYRO_NO_TEXT, .first_owner = all->owner_count};
    all->graphs[all->graph_count - 1].call_count++;
    return true;
}

bool pyro_provenance_add_owner(pyro_provenance *all, const char *path, size_t length,
                               const char *class_name, int64_t bytes)
{
    uint32_t id = pyro_intern_add(&all->texts, path, length);
    uint32_t class_id = class_name && class_name[0]
                            ? pyro_intern_add(&all->texts, class_name, strlen(class_name))
                            : PYRO_NO_TEXT;
    if (id == PYRO_INTERN_NONE || !all->call_count)
        return false;
    pyro_compiled_call *call = &all->calls[all->call_count - 1];
    for (size_t i = call->first_owner; i < all->owner_count; i++) {
        pyro_compiled_owner *owner = &all->owners[i];
        if (owner->path != id)
            continue;
        bool is_known = owner->bytes >= 0 && bytes >= 0 && bytes < INT64_MAX - owner->bytes;
        owner->bytes = is_known ? owner->bytes + bytes : -1;
        return true;
    }
    if (!pyro_grow(&all->owners, &all->owner_capacity, all->owner_count + 1, sizeof *all->owners))
        return false;
    all->owners[all->owner_count++] = (pyro_compiled_owner){id, class_id, bytes < 0 ? -1 : bytes};
    call->owner_count++;
    return true;
}

bool pyro_provenance_set_source(pyro_provenance *all, const char *source, size_t length)
{
    uint32_t id = pyro_intern_add(&all->texts, source, length);
    if (id == PYRO_INTERN_NONE || !all->call_count)
        return false;
    all->calls[all->call_count - 1].source = id;
    return true;
}

bool pyro_is_generated_kernel(const char *name)
{
    /* "graph_0_cpp_fused_add_0" is the op of a C++ kernel with profiling on. */
    if (strncmp(name, "graph_", 6) == 0) {
        name += 6 + strspn(name + 6, "0123456789");
        name += *name == '_';
    }
    return strncmp(name, "triton_", 7) == 0 || strncmp(name, "cpp_fused", 9) == 0 ||
           strncmp(name, "cpp_", 4) == 0 || strncmp(name, "pallas_", 7) == 0 ||
           strncmp(name, "mps_fused", 9) == 0 || strncmp(name, "cutlass_fused_", 14) == 0;
}

bool pyro_innermost_frame(const char *stack, char *out, size_t size)
{
    const char *file = NULL, *end = NULL;
    for (const char *at = stack; (at = strstr(at, "File \"")); at++) {
        const char *quote = strchr(at + 6, '"');
        if (!quote || strncmp(quote, "\", line ", 8) != 0)
            continue;
        file = at + 6;
        end = quote;
    }
    if (!file || (size_t)(end - file) + 24 > size)
        return false;
    snprintf(out, size, "%.*s:%ld", (int)(end - file), file, strtol(end + 8, NULL, 10));
    return true;
}
