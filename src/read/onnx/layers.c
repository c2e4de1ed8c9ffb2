/*
 * Finds the layer of a node: the exporter's scopes, else the node's name ("/layer1/conv1/Conv"),
 * else the path of its weight, else the layer of the node that makes its input.
 */
#include "read/onnx/onnx.h"

#include <string.h>

enum { MAX_PATH = 1024 };

/* The next text of a Python list of strings, from *at on; NULL at its end. */
static const char *next_text(const char **at, size_t *length)
{
    const char *quote = *at + strcspn(*at, "'\"");
    if (!*quote)
        return NULL;
    const char *end = strchr(quote + 1, *quote);
    if (!end)
        return NULL;
    *length = (size_t)(end - quote - 1);
    *at = end + 1;
    return quote + 1;
}

static void set_class(pyro_model *model, uint32_t module, const char *class_path, size_t length)
{
    for (size_t i = length; i-- > 0;)
        if (class_path[i] == '.') {
            class_path += i + 1;
            length -= i + 1;
            break;
        }
    uint32_t id = pyro_intern_add(&model->strings, class_path, length);
    if (id != PYRO_INTERN_NONE && !model->modules[module].class_name[0])
        model->modules[module].class_name = pyro_intern_text(&model->strings, id);
}

/* Scopes are the paths of all enclosing modules and, last, the operator: ['', 'fc', 'linear']. */
static uint32_t module_of_scopes(pyro_model *model, const char *scopes, const char *classes)
{
    uint32_t module = 0;
    size_t length, next_length, class_length;
    const char *path = next_text(&scopes, &length), *next;
    for (; path; path = next, length = next_length) {
        next = next_text(&scopes, &next_length);
        const char *class_path = classes ? next_text(&classes, &class_length) : NULL;
        if (!next) /* the operator itself */
            break;
        while (length > 1 && path[length - 2] == '@') /* a second call of the module */
            length -= 2;
        module = pyro_model_module(model, path, length < MAX_PATH ? length : MAX_PATH);
        if (module == PYRO_NO_VALUE)
            return module;
        model->modules[module].is_called = true;
        if (class_path)
            set_class(model, module, class_path, class_length);
    }
    return module;
}

/*
 * "/layer1/layer1.0/conv1/Conv" is in layer1.0.conv1: a part that begins with its parent's name and
 * a dot replaces it. Returns the length of the path.
 */
static size_t path_of_name(const char *name, char path[MAX_PATH])
{
    size_t length = 0, last = 0; /* start of the last part */
    const char *part = name + (*name == '/');
    for (const char *slash; (slash = strchr(part, '/')); part = slash + 1) {
        size_t size = (size_t)(slash - part), parent = length - last;
        bool repeats = length && size > parent && part[parent] == '.' &&
                       !memcmp(part, path + last, parent);
        if (!size || length + size + 2 > MAX_PATH)
            continue;
        if (repeats) {
            length = last;
        } else if (length) {
            path[length++] = '.';
            last = length;
        }
        memcpy(path + length, part, size);
        length += size;
    }
    return length;
}

/* "layer1.0.conv1.weight" belongs to layer1.0.conv1; names that the exporter made have no path. */
static uint32_t module_of_weight(onnx_reader *reader, const onnx_scope *scope, uint32_t value)
{
    const onnx_value *beside = onnx_value_of(scope->graph, value);
    const char *name = scope->graph->graph->values[value].name;
    const char *dot = strrchr(name, '.');
    if (!beside->is_stored || beside->is_generated || !dot || dot == name || strchr(name, ':') ||
        strchr(name, '/'))
        return PYRO_NO_VALUE;
    return pyro_model_module(reader->model, name, (size_t)(dot - name));
}

static uint32_t module_of_inputs(onnx_reader *reader, const onnx_scope *scope,
                                 const onnx_node *node)
{
    for (size_t i = 0; i < node->input_count; i++) {
        uint32_t value = reader->ids[node->first_input + i];
        uint32_t module = value == PYRO_NO_VALUE ? PYRO_NO_VALUE
                                                 : module_of_weight(reader, scope, value);
        if (module != PYRO_NO_VALUE)
            return module;
    }
    for (size_t i = 0; i < node->input_count; i++) {
        uint32_t value = reader->ids[node->first_input + i];
        uint32_t maker = value == PYRO_NO_VALUE ? PYRO_NO_VALUE : scope->graph->values[value].maker;
        if (maker != PYRO_NO_VALUE)
            return scope->graph->graph->nodes[maker].module;
    }
    return 0;
}

uint32_t onnx_layer(onnx_reader *reader, const onnx_scope *scope, const onnx_node *node)
{
    char path[MAX_PATH];
    if (node->scopes)
        return module_of_scopes(reader->model, node->scopes, node->classes);
    if (scope->expansion && scope->expansion->module)
        return scope->expansion->module;
    if (strchr(node->name, '/')) {
        uint32_t module = pyro_model_module(reader->model, path, path_of_name(node->name, path));
        if (module != PYRO_NO_VALUE)
            reader->model->modules[module].is_called = true;
        return module;
    }
    return module_of_inputs(reader, scope, node);
}
