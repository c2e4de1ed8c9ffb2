/* Reads the member that Pyrometer adds to an archive: ties, default shapes and model facts. */
#include "read/pt2/pt2.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 4096, MAX_DIMS = 65536, MAX_VARIANT_BYTES = 400 };

/* Reads a text; anything else leaves `out` unchanged. */
static bool optional_text(pt2_reader *reader, const char **out)
{
    pyro_json_kind kind = pyro_json_next(reader->json);
    if (kind == PYRO_JSON_STRING) {
        size_t length;
        const char *text = pyro_json_text(reader->json, &length);
        const char *kept = text ? pyro_arena_text(&reader->model->arena, text, length) : NULL;
        if (!kept)
            return pt2_out_of_memory(reader);
        *out = kept;
        return true;
    }
    if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY)
        return pt2_skip(reader);
    return kind != PYRO_JSON_ERROR;
}

/* Reads a count of 0 or more; anything else leaves `out` unchanged. */
static bool optional_count(pt2_reader *reader, int64_t *out)
{
    pyro_json_kind kind = pyro_json_next(reader->json);
    int64_t value;
    if (kind == PYRO_JSON_NUMBER && pyro_json_int(reader->json, &value) && value >= 0)
        *out = value;
    if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY)
        return pt2_skip(reader);
    return kind != PYRO_JSON_ERROR;
}

/* {alias: path, ...} of our extra file. */
static bool read_ties(pt2_reader *reader)
{
    pyro_model *model = reader->model;
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "tied weights"))
        return false;
    while (pt2_next_key(reader)) {
        size_t length;
        const char *text = pyro_json_text(reader->json, &length), *target;
        if (!text)
            return pt2_out_of_memory(reader);
        uint32_t alias = pt2_find_parameter(model, text, length);
        if (!pt2_text(reader, &target, "a tied weight"))
            return false;
        uint32_t parameter = pt2_find_parameter(model, target, strlen(target));
        while (parameter != PYRO_NO_VALUE && model->parameters[parameter].tied_to != PYRO_NO_VALUE)
            parameter = model->parameters[parameter].tied_to;
        if (alias != PYRO_NO_VALUE && parameter != PYRO_NO_VALUE && alias != parameter)
            model->parameters[alias].tied_to = parameter;
    }
    return !pt2_failed(reader);
}

/* Adds a shape to the facts, and makes it the current sizes if there is a graph. */
static bool keep_shape(pt2_reader *reader, const char *input, const int64_t *dims, size_t rank)
{
    pyro_model *model = reader->model;
    pyro_facts *facts = &model->facts;
    size_t count = facts->shape_count;
    pyro_default_shape *shapes = (pyro_default_shape *)(uintptr_t)facts->shapes;
    /* Doubles the capacity: the arena cannot free the old array. */
    if ((count & (count - 1)) == 0) {
        shapes = pyro_arena_array(&model->arena, count ? 2 * count : 1, sizeof *shapes);
        if (shapes && count)
            memcpy(shapes, facts->shapes, count * sizeof *shapes);
    }
    int64_t *kept = pyro_arena_array(&model->arena, rank + 1, sizeof *kept);
    char *name = pyro_arena_text(&model->arena, input, strlen(input));
    if (!shapes || !kept || !name)
        return pt2_out_of_memory(reader);
    memcpy(kept, dims, rank * sizeof *kept);
    shapes[facts->shape_count++] = (pyro_default_shape){name, rank, kept};
    facts->shapes = shapes;
    return !model->graph ||
           pyro_model_default_shape(model, input, dims, rank, reader->error) == PYRO_OK;
}

/* {input: [sizes], ...} of our extra file. */
static bool read_default_shapes(pt2_reader *reader)
{
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "default shapes"))
        return false;
    while (pt2_next_key(reader)) {
        int64_t dims[PYRO_MAX_RANK];
        size_t length, rank = 0;
        if (reader->model->facts.shape_count == MAX_INPUTS) {
            pyro_json_fail(reader->json, "more than %d default shapes", MAX_INPUTS);
            return false;
        }
        char input[256];
        snprintf(input, sizeof input, "%s", pyro_json_text(reader->json, &length));
        if (!pt2_expect(reader, PYRO_JSON_ARRAY, "a shape"))
            return false;
        while (pt2_next_item(reader)) {
            if (rank == PYRO_MAX_RANK || pyro_json_current(reader->json) != PYRO_JSON_NUMBER ||
                !pyro_json_int(reader->json, &dims[rank++])) {
                pyro_json_fail(reader->json, "expected the sizes of a shape");
                return false;
            }
        }
        if (pt2_failed(reader) || !keep_shape(reader, input, dims, rank))
            return false;
    }
    return !pt2_failed(reader);
}

/* {"input": "x", "axis": 2, "what": "height", "min": 32, "multiple": 32} */
static bool read_dim(pt2_reader *reader, pyro_dim *dim)
{
    int64_t axis = -1;
    *dim = (pyro_dim){.name = "", .what = "", .input = "", .min = 1, .max = INT64_MAX};
    while (pt2_next_key(reader)) {
        bool good;
        if (PYRO_JSON_IS(reader->json, "name"))
            good = optional_text(reader, &dim->name);
        else if (PYRO_JSON_IS(reader->json, "what"))
            good = optional_text(reader, &dim->what);
        else if (PYRO_JSON_IS(reader->json, "input"))
            good = optional_text(reader, &dim->input);
        else if (PYRO_JSON_IS(reader->json, "axis"))
            good = optional_count(reader, &axis);
        else if (PYRO_JSON_IS(reader->json, "min"))
            good = optional_count(reader, &dim->min);
        else if (PYRO_JSON_IS(reader->json, "max"))
            good = optional_count(reader, &dim->max);
        else if (PYRO_JSON_IS(reader->json, "multiple"))
            good = optional_count(reader, &dim->multiple);
        else
            good = pt2_skip(reader);
        if (!good)
            return false;
    }
    if (pt2_failed(reader))
        return false;
    if (axis < 0 || axis >= PYRO_MAX_RANK || !*dim->input || !*dim->what) {
        pyro_json_fail(reader->json, "a size that may change has no input, axis or kind");
        return false;
    }
    dim->axis = (size_t)axis;
    if (dim->multiple < 1)
        dim->multiple = 1;
    return true;
}

static bool read_dims(pt2_reader *reader)
{
    pyro_model *model = reader->model;
    pyro_dim *dims = NULL;
    size_t count = 0, capacity = 0;
    bool good = pt2_expect(reader, PYRO_JSON_ARRAY, "sizes that may change");
    while (good && pt2_next_item(reader)) {
        good = pyro_json_current(reader->json) == PYRO_JSON_OBJECT && count < MAX_DIMS;
        if (!good)
            pyro_json_fail(reader->json, "expected at most %d sizes that may change", MAX_DIMS);
        else if (!pyro_grow(&dims, &capacity, count + 1, sizeof *dims))
            good = pt2_out_of_memory(reader);
        else
            good = read_dim(reader, &dims[count++]);
    }
    pyro_dim *kept = NULL;
    if (good && !pt2_failed(reader)) {
        kept = pyro_arena_array(&model->arena, count + 1, sizeof *kept);
        if (!kept)
            pt2_out_of_memory(reader);
        else if (count)
            memcpy(kept, dims, count * sizeof *kept);
        model->facts.dims = kept;
        model->facts.dim_count = kept ? count : 0;
    }
    free(dims);
    return kept != NULL;
}

/* {"package": ..., "version": ..., "builder": ...} */
static bool read_source(pt2_reader *reader)
{
    pyro_facts *facts = &reader->model->facts;
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "the source of the model"))
        return false;
    while (pt2_next_key(reader)) {
        bool good;
        if (PYRO_JSON_IS(reader->json, "package"))
            good = optional_text(reader, &facts->package);
        else if (PYRO_JSON_IS(reader->json, "version"))
            good = optional_text(reader, &facts->version);
        else if (PYRO_JSON_IS(reader->json, "builder"))
            good = optional_text(reader, &facts->builder);
        else
            good = pt2_skip(reader);
        if (!good)
            return false;
    }
    return !pt2_failed(reader);
}

/* Appends {"size": 384, "model": "vit_b_16_384"} to a text, unless it is the model itself. */
static bool read_variant(pt2_reader *reader, pyro_buf *text)
{
    const char *name = "";
    int64_t size = -1;
    while (pt2_next_key(reader)) {
        bool good;
        if (PYRO_JSON_IS(reader->json, "model"))
            good = optional_text(reader, &name);
        else if (PYRO_JSON_IS(reader->json, "size"))
            good = optional_count(reader, &size);
        else
            good = pt2_skip(reader);
        if (!good)
            return false;
    }
    if (*name && strcmp(name, reader->model->name) && text->length < MAX_VARIANT_BYTES)
        pyro_buf_addf(text, "%s%.100s (%" PRId64 ")", text->length ? ", " : "", name, size);
    return !pt2_failed(reader);
}

static bool read_variants(pt2_reader *reader)
{
    pyro_buf text = PYRO_BUF_INIT;
    bool good = pt2_expect(reader, PYRO_JSON_ARRAY, "models for other sizes");
    while (good && pt2_next_item(reader)) {
        good = pyro_json_current(reader->json) == PYRO_JSON_OBJECT;
        if (!good)
            pyro_json_fail(reader->json, "expected a model for another size");
        good = good && read_variant(reader, &text);
    }
    good = good && !pt2_failed(reader);
    if (good && text.length) {
        const char *kept = pyro_arena_text(&reader->model->arena, text.data, text.length);
        good = (kept && !text.failed) || pt2_out_of_memory(reader);
        reader->model->facts.variants = good ? kept : "";
    }
    pyro_buf_free(&text);
    return good;
}

/* Reads one of the plain facts; *known is false for other keys. */
static bool read_fact(pt2_reader *reader, bool *known)
{
    pyro_facts *facts = &reader->model->facts;
    const struct {
        const char *key;
        const char **text;
        int64_t *count;
    } fields[] = {
        {"family", &facts->family, NULL},
        {"task", &facts->task, NULL},
        {"params_source", &facts->params_source, NULL},
        {"params", NULL, &facts->params},
        {"published_params", NULL, &facts->published_params},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        *known = pyro_json_is(reader->json, fields[i].key, strlen(fields[i].key));
        if (*known)
            return fields[i].text ? optional_text(reader, fields[i].text)
                                  : optional_count(reader, fields[i].count);
    }
    return true;
}

static bool read_extra_value(pt2_reader *reader, bool *has_ties)
{
    pyro_model *model = reader->model;
    bool known, good = read_fact(reader, &known);
    if (!good || known)
        return good;
    if (PYRO_JSON_IS(reader->json, "name"))
        return pt2_text(reader, &model->name, "a name");
    if (PYRO_JSON_IS(reader->json, "display_name"))
        return pt2_text(reader, &model->display_name, "a name");
    if (PYRO_JSON_IS(reader->json, "ties") && model->graph)
        return *has_ties = read_ties(reader);
    if (PYRO_JSON_IS(reader->json, "default_shapes"))
        return read_default_shapes(reader);
    if (PYRO_JSON_IS(reader->json, "dims"))
        return read_dims(reader);
    if (PYRO_JSON_IS(reader->json, "variants"))
        return read_variants(reader);
    if (PYRO_JSON_IS(reader->json, "source"))
        return read_source(reader);
    return pt2_skip(reader);
}

bool pt2_extra(pt2_reader *reader, bool *has_ties)
{
    pyro_model *model = reader->model;
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "an object"))
        return false;
    while (pt2_next_key(reader))
        if (!read_extra_value(reader, has_ties))
            return false;
    model->facts.name = model->name;
    model->facts.display_name = model->display_name;
    return !pt2_failed(reader);
}
