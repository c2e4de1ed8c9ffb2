/*
 * Finds layers and their calls. A layer is an instance of a module ("Conv2d_3" in the names of its
 * frames), or a path from annotations (--layers-from, or labels.c). Paths are a model's own if a matching one is
 * supplied, else the chain of instances: "ResNet_0.Sequential_1.Conv2d_3".
 */
#include "trace/joins/internal.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/model.h"
#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer paths stop growing with depth: a million levels must not take quadratic memory. */
#define LONGEST_PREFIX 512
#define MOST_ANCESTORS 64
/* No path is longer, and regular expressions are slow on long texts. */
#define LONGEST_ANNOTATION 4096

/* The layer with a name; a new one is added at the end. PYRO_NO_LAYER when memory is out. */
static uint32_t layer_of_text(pyro_join_state *state, const char *text, size_t length,
                              uint32_t parent)
{
    pyro_joins *joins = state->joins;
    uint32_t layer = pyro_intern_add(&state->layer_names, text, length);
    if (layer == PYRO_INTERN_NONE || layer < joins->layer_count)
        return layer;
    if (!pyro_grow(&joins->layers, &joins->layer_capacity, layer + 1u, sizeof *joins->layers))
        return PYRO_NO_LAYER;
    joins->layers[layer] = (pyro_layer){
        .path = pyro_intern_text(&state->layer_names, layer),
        .class_name = "",
        .parent = parent,
        .depth = parent == PYRO_NO_LAYER ? 0 : joins->layers[parent].depth + 1,
    };
    joins->layer_count = layer + 1u;
    return layer;
}

/* The layer of a dotted path; adds the layers of its prefixes as parents. */
static uint32_t layer_of_path(pyro_join_state *state, const char *path, size_t length)
{
    uint32_t layer = PYRO_NO_LAYER;
    size_t ancestors = length <= LONGEST_PREFIX ? MOST_ANCESTORS : 0;
    for (size_t end = 1; end < length && ancestors; end++) {
        if (path[end] != '.')
            continue;
        layer = layer_of_text(state, path, end, layer);
        ancestors--;
        if (layer == PYRO_NO_LAYER)
            return layer;
    }
    return layer_of_text(state, path, length, layer);
}

uint32_t pyro_layers_of_path(pyro_join_state *state, const char *path, size_t length)
{
    char plain[LONGEST_ANNOTATION];
    size_t known = state->joins->layer_count;
    length = length < sizeof plain ? length : sizeof plain;
    uint32_t layer = layer_of_path(state, plain, pyro_unwrap_path(plain, path, length));
    for (size_t i = known; i < state->joins->layer_count; i++)
        state->joins->layers[i].has_path = true;
    return layer;
}

/* The path of a layer below another one, without wrappers; below one without a path a name that no
 * other layer can have. */
static bool make_name(pyro_buf *name, const pyro_joins *joins, uint32_t base, const char *part,
                      size_t length)
{
    const pyro_layer *above = &joins->layers[base];
    char plain[LONGEST_ANNOTATION];
    size_t above_length = strlen(above->path);
    if (!above->has_path)
        pyro_buf_addf(name, "\1%u.", base);
    else if (above_length < sizeof plain)
        pyro_buf_add(name, plain, pyro_unwrap_path(plain, above->path, above_length));
    if (above->has_path && name->length)
        pyro_buf_addc(name, '.');
    pyro_buf_add(name, part, length);
    return !name->failed;
}

/* One level down: an existing layer of that path, or a new one. */
static uint32_t layer_of_part(pyro_join_state *state, uint32_t base, const char *part,
                              size_t length)
{
    pyro_joins *joins = state->joins;
    size_t known = joins->layer_count;
    pyro_buf name = PYRO_BUF_INIT;
    uint32_t layer = PYRO_NO_LAYER;
    if (make_name(&name, joins, base, part, length))
        layer = layer_of_text(state, name.data, name.length, base);
    if (layer != PYRO_NO_LAYER && layer >= known) {
        joins->layers[layer].has_path = joins->layers[base].has_path;
        joins->layers[layer].is_inlined = true;
        if (!joins->layers[base].has_path)
            joins->layers[layer].path += name.length - length;
    }
    pyro_buf_free(&name);
    return layer;
}

uint32_t pyro_layers_below(pyro_join_state *state, uint32_t base, const char *path,
                           const char *class_name)
{
    pyro_joins *joins = state->joins;
    size_t length = strlen(path), levels = 0, known = joins->layer_count;
    uint32_t layer = base;
    if (path[0] == '@') { /* a source line is no path */
        layer = base == PYRO_NO_LAYER ? layer_of_text(state, path + 1, length - 1, base)
                                      : layer_of_part(state, base, path + 1, length - 1);
        if (layer != PYRO_NO_LAYER && layer >= known && base == PYRO_NO_LAYER)
            joins->layers[layer].has_path = true;
    } else if (base == PYRO_NO_LAYER) {
        layer = pyro_layers_of_path(state, length ? path : "(compiled)", length ? length : 10);
    } else {
        for (const char *part = path;
             *part && layer != PYRO_NO_LAYER && levels++ < MOST_ANCESTORS;) {
            size_t size = strcspn(part, ".");
            layer = layer_of_part(state, layer, part, size ? size : 1);
            part += size + (part[size] == '.');
        }
    }
    if (layer == PYRO_NO_LAYER || layer == base || joins->layers[layer].class_name[0] ||
        !class_name[0])
        return layer;
    joins->layers[layer].class_name = pyro_arena_text(&joins->arena, class_name,
                                                      strlen(class_name));
    return joins->layers[layer].class_name ? layer : PYRO_NO_LAYER;
}

/* Notes that an annotation's name is a call of the layer with this path. */
static int name_layer(pyro_join_state *state, uint32_t name, const char *path, size_t length)
{
    uint32_t layer = pyro_layers_of_path(state, path, length);
    if (layer == PYRO_NO_LAYER || !pyro_map_put(&state->layer_of_name, name, layer))
        return pyro_fail_memory(state->error);
    return PYRO_OK;
}

/* The layer named by the expression's first group, or by the whole match. */
static int match_name(pyro_join_state *state, const regex_t *expression, uint32_t name)
{
    const char *text = pyro_intern_text(&state->trace->names, name);
    regmatch_t groups[2];
    int code = strlen(text) > LONGEST_ANNOTATION ? REG_NOMATCH
                                                 : regexec(expression, text, 2, groups, 0);
    if (code == REG_NOMATCH)
        return PYRO_OK;
    if (code)
        return pyro_fail_memory(state->error);
    const regmatch_t *group = &groups[groups[1].rm_so >= 0 ? 1 : 0];
    return name_layer(state, name, text + group->rm_so, (size_t)(group->rm_eo - group->rm_so));
}

/* The layer named by a label (labels.c). */
static int match_label(pyro_join_state *state, uint32_t name, bool *has_index)
{
    const char *text = pyro_intern_text(&state->trace->names, name);
    bool is_indexed;
    const char *path = strlen(text) > LONGEST_ANNOTATION ? NULL
                                                         : pyro_path_of_label(text, &is_indexed);
    if (!path)
        return PYRO_OK;
    *has_index |= is_indexed;
    return name_layer(state, name, path, strlen(path));
}

/* Matches each name of a category once; labels without an expression. */
static int match_names(pyro_join_state *state, const regex_t *expression, uint8_t category,
                       bool *has_index)
{
    const pyro_trace *trace = state->trace;
    bool *seen = calloc(trace->names.count + 1, sizeof *seen);
    int status = seen ? PYRO_OK : pyro_fail_memory(state->error);
    for (size_t i = pyro_trace_next(trace, 0, category); i < trace->count && !status;
         i = pyro_trace_next(trace, i + 1, category)) {
        uint32_t name = trace->name[i];
        if (name >= trace->names.count || seen[name])
            continue;
        seen[name] = true;
        status = expression ? match_name(state, expression, name)
                            : match_label(state, name, has_index);
    }
    free(seen);
    return status;
}

static bool has_category(const pyro_trace *trace, uint8_t category)
{
    return memchr(trace->category, category, trace->count) != NULL;
}

static bool has_module_frames(pyro_join_state *state)
{
    const pyro_trace *trace = state->trace;
    for (uint32_t i = 0; i < trace->count; i++)
        if (trace->category[i] == PYRO_EVENT_PYTHON &&
            pyro_join_name_class(state, i) == PYRO_NAME_LAYER_FRAME)
            return true;
    return false;
}

/* Labels count where no frames name the layers, and one of them has an index as layers have. */
static int find_labels(pyro_join_state *state)
{
    bool has_index = false;
    int status = match_names(state, NULL, PYRO_EVENT_ANNOTATION, &has_index);
    if (status || !state->layer_of_name.count)
        return status;
    if (has_index && !has_module_frames(state)) {
        state->layer_category = PYRO_EVENT_ANNOTATION;
        return PYRO_OK;
    }
    pyro_map_free(&state->layer_of_name);
    pyro_intern_free(&state->layer_names);
    pyro_intern_init(&state->layer_names, &state->joins->arena);
    state->layer_of_name = (pyro_map)PYRO_MAP_INIT;
    state->joins->layer_count = 0;
    return PYRO_OK;
}

/* "CompiledFxGraph fal4xpiah2v6" of "## Call CompiledFxGraph fal4xpiah2v6blbf... ##": the start of
 * the key is enough to tell graphs apart. */
static int name_graph(pyro_join_state *state, uint32_t name, uint8_t category)
{
    enum { SHORT_KEY = 12 };
    char path[64];
    const char *text = pyro_intern_text(&state->trace->names, name);
    const char *key = strstr(text, "CompiledFxGraph ");
    if (category == PYRO_EVENT_OP) {
        const char *region = strncmp(text, "Torch-Compiled Region", 21) == 0 ||
                                     strcmp(text, "CompiledFunctionBackward") == 0
                                 ? text
                                 : NULL;
        return region ? name_layer(state, name, region, strlen(region)) : PYRO_OK;
    }
    if (!key || (text != key && strncmp(text, "## Call ", 8) != 0))
        return PYRO_OK;
    size_t length = strcspn(key + 16, " ");
    int size = snprintf(path, sizeof path, "CompiledFxGraph %.*s",
                        (int)(length < SHORT_KEY ? length : SHORT_KEY), key + 16);
    return name_layer(state, name, path, (size_t)size);
}

/* Without any other layers the compiled graphs are the rows. */
static int find_compiled_graphs(pyro_join_state *state)
{
    static const uint8_t categories[] = {PYRO_EVENT_ANNOTATION, PYRO_EVENT_OP};
    const pyro_trace *trace = state->trace;
    bool *seen = calloc(trace->names.count + 1, sizeof *seen);
    int status = seen ? PYRO_OK : pyro_fail_memory(state->error);
    for (size_t c = 0; c < 2 && !status && !state->layer_of_name.count; c++)
        for (size_t i = 0; i < trace->count && !status; i++) {
            uint32_t name = trace->name[i];
            if (trace->category[i] != categories[c] || name >= trace->names.count || seen[name])
                continue;
            seen[name] = true;
            status = name_graph(state, name, categories[c]);
            if (!status && state->layer_of_name.count)
                state->layer_category = categories[c];
        }
    free(seen);
    state->compiled_rows = state->layer_of_name.count > 0;
    return status;
}

/* Whether a name of compiled code occurs at all: most traces have none. */
static bool has_compiled_names(const pyro_trace *trace)
{
    for (uint32_t i = 0; i < trace->names.count; i++) {
        const char *text = pyro_intern_text(&trace->names, i);
        if ((text[0] == '#' && strstr(text, "CompiledFxGraph ")) ||
            strncmp(text, "Torch-Compiled Region", 21) == 0)
            return true;
    }
    return false;
}

static int find_labels_or_graphs(pyro_join_state *state)
{
    int status = has_category(state->trace, PYRO_EVENT_ANNOTATION) ? find_labels(state) : PYRO_OK;
    if (status || state->layer_of_name.count || !has_compiled_names(state->trace) ||
        has_module_frames(state))
        return status;
    return find_compiled_graphs(state);
}

int pyro_layers_begin(pyro_join_state *state)
{
    const char *text = state->options ? state->options->layers_from : NULL;
    state->layer_category = PYRO_EVENT_PYTHON;
    if (!state->trace->count)
        return PYRO_OK;
    if (!text)
        return find_labels_or_graphs(state);
    regex_t expression;
    int code = regcomp(&expression, text, REG_EXTENDED);
    if (code == REG_ESPACE)
        return pyro_fail_memory(state->error);
    if (code) {
        char reason[128];
        regerror(code, &expression, reason, sizeof reason);
        return pyro_fail(state->error, PYRO_ERROR_ARGUMENT, "invalid layers_from '%.200s': %s",
                         text, reason);
    }
    /* In the oldest traces annotations are ops. */
    uint8_t category = has_category(state->trace, PYRO_EVENT_ANNOTATION) ? PYRO_EVENT_ANNOTATION
                                                                         : PYRO_EVENT_OP;
    int status = match_names(state, &expression, category, NULL);
    regfree(&expression);
    if (state->layer_of_name.count)
        state->layer_category = category;
    return status;
}

/* Length of the class name in "Conv2d_3". */
static size_t class_length(const char *instance)
{
    size_t length = strlen(instance), end = length;
    while (end && isdigit((unsigned char)instance[end - 1]))
        end--;
    return end > 1 && end < length && instance[end - 1] == '_' ? end - 1 : length;
}

/* The dotted path of a call in our own recordings, or PYRO_NO_ID. */
static uint32_t path_of_call(const pyro_trace *trace, uint32_t event)
{
    uint32_t detail = trace->detail[event];
    return detail < trace->op_count ? pyro_trace_op_extra(trace, &trace->ops[detail]).path
                                    : PYRO_NO_ID;
}

/* The layer of an nn.Module frame, first seen below the layer `parent`. */
static uint32_t layer_of_frame(pyro_join_state *state, uint32_t event, uint32_t parent)
{
    const pyro_trace *trace = state->trace;
    uint32_t name = trace->name[event], path = path_of_call(trace, event);
    uint64_t key = path == PYRO_NO_ID ? name : UINT64_C(1) << 32 | path;
    uint32_t layer = pyro_map_get(&state->layer_of_name, key);
    if (layer != PYRO_MAP_NONE)
        return layer;
    const char *instance = pyro_intern_text(&trace->names, name) + strlen("nn.Module: ");
    const char *text = path == PYRO_NO_ID ? instance : pyro_intern_text(&trace->names, path);
    size_t known = state->joins->layer_count;
    layer = layer_of_text(state, text, strlen(text), parent);
    if (layer == PYRO_NO_LAYER || !pyro_map_put(&state->layer_of_name, key, layer))
        return PYRO_NO_LAYER;
    if (layer == known) {
        state->joins->layers[layer].has_path = path != PYRO_NO_ID;
        const char *class_name = pyro_arena_text(&state->joins->arena, instance,
                                                 class_length(instance));
        if (!class_name)
            return PYRO_NO_LAYER;
        state->joins->layers[layer].class_name = class_name;
    }
    return layer;
}

int pyro_layers_call(pyro_join_state *state, uint32_t event, pyro_name_class name_class,
                     uint32_t parent_call, uint32_t *call)
{
    pyro_joins *joins = state->joins;
    uint32_t name = state->trace->name[event], layer;
    *call = PYRO_NO_LAYER;
    if (state->trace->category[event] != state->layer_category)
        return PYRO_OK;
    if (state->layer_category == PYRO_EVENT_PYTHON) {
        if (name_class != PYRO_NAME_LAYER_FRAME)
            return PYRO_OK;
        layer = layer_of_frame(state, event,
                               parent_call == PYRO_NO_LAYER ? PYRO_NO_LAYER
                                                            : joins->calls[parent_call].layer);
        if (layer == PYRO_NO_LAYER)
            return pyro_fail_memory(state->error);
    } else {
        layer = pyro_map_get(&state->layer_of_name, name);
        if (layer == PYRO_MAP_NONE)
            return PYRO_OK;
    }
    if (!pyro_grow(&joins->calls, &joins->call_capacity, joins->call_count + 1,
                   sizeof *joins->calls))
        return pyro_fail_memory(state->error);
    *call = (uint32_t)joins->call_count++;
    joins->calls[*call] = (pyro_layer_call){layer, event, parent_call};
    if (!strcmp(joins->layers[layer].class_name, "DistributedDataParallel"))
        state->last_ddp_call = *call;
    return PYRO_OK;
}

/* A path that no other layer has: the requested one, or the same with a number. */
static const char *unique_path(pyro_joins *joins, pyro_intern *taken, const char *wish)
{
    for (size_t number = 2; wish; number++) {
        size_t known = taken->count;
        uint32_t id = pyro_intern_add(taken, wish, strlen(wish));
        if (id == PYRO_INTERN_NONE)
            return NULL;
        if (id == known)
            return pyro_intern_text(taken, id);
        wish = pyro_arena_format(&joins->arena, "%s#%zu", wish, number);
    }
    return NULL;
}

/* "parent.Conv2d_3"; `prefix` is the layer whose path it begins with. */
static const char *derived_path(pyro_joins *joins, const pyro_layer *layer, uint32_t prefix)
{
    if (prefix == PYRO_NO_LAYER || !joins->layers[prefix].path[0])
        return layer->path;
    return pyro_arena_format(&joins->arena, "%s.%s", joins->layers[prefix].path, layer->path);
}

/* The module of a layer inside compiled code: that of its path below its parent's module. */
static bool match_inlined(const pyro_joins *joins, const pyro_model *model, uint32_t *modules)
{
    pyro_buf path = PYRO_BUF_INIT;
    for (size_t i = 0; i < joins->layer_count && !path.failed; i++) {
        const pyro_layer *layer = &joins->layers[i];
        if (!layer->is_inlined || layer->has_path || layer->parent >= i)
            continue;
        bool is_root = modules[layer->parent] == PYRO_NO_LAYER &&
                       !joins->layers[layer->parent].is_inlined; /* the model under another name */
        uint32_t above = modules[layer->parent];
        const char *prefix = above == PYRO_NO_LAYER ? "" : model->modules[above].path;
        if (above == PYRO_NO_LAYER && !is_root)
            continue;
        pyro_buf_reset(&path);
        pyro_buf_addf(&path, "%s%s%s", prefix, prefix[0] ? "." : "", layer->path);
        uint32_t module = path.failed
                              ? PYRO_INTERN_NONE
                              : pyro_intern_find(&model->module_paths, path.data, path.length);
        modules[i] = module < model->module_count ? module : PYRO_NO_LAYER;
    }
    bool ok = !path.failed;
    pyro_buf_free(&path);
    return ok;
}

/* Registers known paths before any other path is assigned. */
static bool take_known_paths(const pyro_joins *joins, pyro_intern *taken, const pyro_model *model,
                             const uint32_t *modules)
{
    for (size_t i = 0; i < joins->layer_count; i++) {
        if (modules[i] == PYRO_NO_LAYER && !joins->layers[i].has_path)
            continue;
        const char *path = joins->layers[i].has_path ? joins->layers[i].path
                                                     : model->modules[modules[i]].path;
        if (pyro_intern_add(taken, path, strlen(path)) == PYRO_INTERN_NONE)
            return false;
    }
    return true;
}

/*
 * Names parents first, because their children's paths begin with theirs. prefixes[i] is the layer
 * whose path begins the paths below layer i: itself, or the nearest ancestor with a short path.
 */
static int name_instances(pyro_join_state *state, const pyro_model *model, const uint32_t *modules,
                          uint32_t *prefixes)
{
    pyro_joins *joins = state->joins;
    pyro_intern taken;
    pyro_intern_init(&taken, &joins->arena);
    bool ok = take_known_paths(joins, &taken, model, modules);
    for (uint32_t i = 0; i < joins->layer_count && ok; i++) {
        pyro_layer *layer = &joins->layers[i];
        uint32_t prefix = layer->parent == PYRO_NO_LAYER ? PYRO_NO_LAYER : prefixes[layer->parent];
        if (layer->has_path) {
            prefixes[i] = strlen(layer->path) <= LONGEST_PREFIX ? i : prefix;
            continue;
        }
        if (modules[i] != PYRO_NO_LAYER) {
            const char *path = model->modules[modules[i]].path;
            layer->path = pyro_arena_text(&joins->arena, path, strlen(path));
            joins->layers_named_by_model++;
        } else {
            layer->path = unique_path(joins, &taken, derived_path(joins, layer, prefix));
        }
        ok = layer->path != NULL;
        prefixes[i] = ok && strlen(layer->path) <= LONGEST_PREFIX ? i : prefix;
    }
    pyro_intern_free(&taken);
    return ok ? PYRO_OK : pyro_fail_memory(state->error);
}

/* Annotated paths are complete; a model adds the classes. */
static int class_annotated_layers(pyro_join_state *state, const pyro_model *model)
{
    pyro_joins *joins = state->joins;
    for (size_t i = 0; i < joins->layer_count; i++) {
        pyro_layer *layer = &joins->layers[i];
        uint32_t module = model ? pyro_intern_find(&model->module_paths, layer->path,
                                                   strlen(layer->path))
                                : PYRO_INTERN_NONE;
        if (module == PYRO_INTERN_NONE || module >= model->module_count)
            continue;
        const char *class_name = model->modules[module].class_name;
        layer->class_name = pyro_arena_text(&joins->arena, class_name, strlen(class_name));
        if (!layer->class_name)
            return pyro_fail_memory(state->error);
        joins->layers_named_by_model++;
    }
    return PYRO_OK;
}

int pyro_layers_finish(pyro_join_state *state)
{
    pyro_joins *joins = state->joins;
    const pyro_model *model = state->options ? state->options->model : NULL;
    joins->has_layers = joins->call_count > 0;
    joins->layers_from_annotations = state->layer_category != PYRO_EVENT_PYTHON;
    joins->compiled.are_rows = state->compiled_rows;
    if (joins->layers_from_annotations)
        return class_annotated_layers(state, model);
    if (!joins->layer_count)
        return PYRO_OK;
    uint32_t *modules = malloc(joins->layer_count * 2 * sizeof *modules);
    if (!modules)
        return pyro_fail_memory(state->error);
    memset(modules, 0xff, joins->layer_count * sizeof *modules);
    int status = model ? pyro_layers_match_model(joins, model, modules, state->error) : PYRO_OK;
    if (!status && model && !match_inlined(joins, model, modules))
        status = pyro_fail_memory(state->error);
    if (!status)
        status = name_instances(state, model, modules, modules + joins->layer_count);
    free(modules);
    return status;
}
