/* Finds the blocks of a model: the modules that repeat beside each other. */
#include "graph/train/blocks.h"

#include "base/containers/map.h"
#include "base/error.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Containers are no blocks: what they contain is. */
static bool is_container(const char *class_name)
{
    static const char *const containers[] = {"Sequential", "ModuleList", "ModuleDict"};
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
        if (!strcmp(class_name, containers[i]))
            return true;
    return false;
}

/* "layers.3", "encoder_layer_0" */
static bool is_numbered(const char *path)
{
    size_t length = strlen(path);
    return length > 0 && isdigit((unsigned char)path[length - 1]);
}

/* Marks modules with children that have a sibling of the same class. */
static bool find_repeated(const pyro_model *model, bool numbered, bool *repeated)
{
    pyro_map first_of = {0}; /* parent and class -> module */
    bool *has_child = calloc(model->module_count + 1, sizeof *has_child), found = false;
    bool good = has_child != NULL;
    for (size_t m = 1; good && m < model->module_count; m++)
        has_child[model->modules[m].parent] = true;
    for (uint32_t m = 1; good && m < model->module_count; m++) {
        const pyro_module *module = &model->modules[m];
        repeated[m] = false;
        if (!has_child[m] || is_container(module->class_name) ||
            (numbered && !is_numbered(module->path)))
            continue;
        uint64_t key = 14695981039346656037u;
        for (const char *c = module->class_name; *c; c++)
            key = (key ^ (unsigned char)*c) * 1099511628211u;
        key = (key & 0xffffffff00000000u) | module->parent;
        uint32_t first = pyro_map_get(&first_of, key);
        if (first == PYRO_MAP_NONE)
            good = pyro_map_put(&first_of, key, m);
        else
            repeated[m] = repeated[first] = found = true;
    }
    pyro_map_free(&first_of);
    free(has_child);
    return good && found;
}

/* By module: the outermost repeated one that contains it, or 0. */
static void find_blocks(const pyro_model *model, const bool *repeated, uint32_t *block_of)
{
    for (uint32_t m = 1; m < model->module_count; m++) {
        uint32_t outermost = 0;
        for (uint32_t above = m; above; above = model->modules[above].parent)
            if (repeated[above])
                outermost = above;
        block_of[m] = outermost;
    }
}

int pyro_find_blocks(const pyro_model *model, uint32_t *block_of, bool *found, pyro_error *error)
{
    bool *repeated = calloc(model->module_count + 1, sizeof *repeated);
    if (!repeated)
        return pyro_fail_memory(error);
    *found = find_repeated(model, true, repeated) || find_repeated(model, false, repeated);
    memset(block_of, 0, model->module_count * sizeof *block_of);
    if (*found)
        find_blocks(model, repeated, block_of);
    free(repeated);
    return PYRO_OK;
}
