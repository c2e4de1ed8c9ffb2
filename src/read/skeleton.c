/* Makes the archive that the registry stores: the stripped program and the model's facts. */
#include "base/error.h"
#include "base/json/write.h"
#include "base/source/source.h"
#include "base/zip/write.h"
#include "graph/dims.h"
#include "graph/model.h"
#include "read/catalog.h"
#include "read/pt2/pt2.h"
#include "read/pt2/strip.h"
#include <pyrometer/cost.h>
#include <string.h>

static void write_ties(pyro_json_writer *writer, const pyro_model *model)
{
    pyro_json_key(writer, "ties");
    pyro_json_begin_object(writer);
    for (size_t i = 0; i < model->parameter_count; i++) {
        uint32_t target = model->parameters[i].tied_to;
        if (target != PYRO_NO_VALUE)
            pyro_json_member_string(writer, model->parameters[i].path,
                                    model->parameters[target].path);
    }
    pyro_json_end_object(writer);
}

/* Writes the current sizes; skips inputs with a size that depends on data. */
static void write_shapes(pyro_json_writer *writer, const pyro_model *model)
{
    pyro_json_key(writer, "default_shapes");
    pyro_json_begin_object(writer);
    for (size_t i = 0; i < model->input_count; i++) {
        const pyro_value *value = &model->graph->values[model->inputs[i]];
        int64_t dims[PYRO_MAX_RANK];
        bool known = true;
        for (size_t axis = 0; axis < value->rank; axis++)
            known = known && pyro_size_value(model, value->sizes[axis], &dims[axis]);
        if (!known)
            continue;
        pyro_json_key(writer, value->name);
        pyro_json_begin_array(writer);
        for (size_t axis = 0; axis < value->rank; axis++)
            pyro_json_integer(writer, dims[axis]);
        pyro_json_end_array(writer);
    }
    pyro_json_end_object(writer);
}

/* Guesses the kind of a dim that the file does not name. */
static const char *kind_of_axis(const pyro_value *value, size_t axis)
{
    if (axis == 0)
        return "batch";
    if (value->rank == 2 && !pyro_dtype_is_floating(value->dtype))
        return "sequence";
    if (value->rank == 4 && axis >= 2)
        return axis == 2 ? "height" : "width";
    return "size";
}

static void write_dim(pyro_json_writer *writer, pyro_model *model, const pyro_value *value,
                      size_t axis)
{
    const pyro_dim *dim = pyro_model_dim(model, value, axis);
    pyro_symbol *symbol = pyro_expr_as_symbol(&model->exprs, (size_t)~value->sizes[axis]);
    int64_t min = dim ? dim->min : symbol && symbol->min > 2 ? symbol->min : 1;
    int64_t max = dim ? dim->max : symbol ? symbol->max : INT64_MAX;
    pyro_json_begin_object(writer);
    pyro_json_member_string(writer, "input", value->name);
    pyro_json_member_integer(writer, "axis", (int64_t)axis);
    pyro_json_member_string(writer, "what", dim ? dim->what : kind_of_axis(value, axis));
    pyro_json_member_integer(writer, "min", min);
    if (max != INT64_MAX)
        pyro_json_member_integer(writer, "max", max);
    if (dim && dim->multiple > 1)
        pyro_json_member_integer(writer, "multiple", dim->multiple);
    pyro_json_end_object(writer);
}

static void write_dims(pyro_json_writer *writer, pyro_model *model)
{
    pyro_json_key(writer, "dims");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < model->input_count; i++) {
        const pyro_value *value = &model->graph->values[model->inputs[i]];
        for (size_t axis = 0; axis < value->rank; axis++)
            if (value->sizes[axis] < 0)
                write_dim(writer, model, value, axis);
    }
    pyro_json_end_array(writer);
}

static int write_extra(pyro_buf *out, pyro_model *model, const char *name,
                       const pyro_registry_options *options, pyro_error *error)
{
    const pyro_facts *facts = &model->facts;
    pyro_json_writer writer;
    pyro_cost *cost;
    int status = pyro_cost_compute(&cost, model, NULL, error);
    if (status < 0)
        return status;
    pyro_json_writer_init(&writer, out, 0);
    pyro_json_begin_object(&writer);
    pyro_json_member_string(&writer, "name", name);
    pyro_json_member_string(&writer, "display_name", name);
    pyro_json_member_string(&writer, "family", *facts->family ? facts->family : "own");
    pyro_json_member_string(&writer, "task", facts->task);
    pyro_json_member_integer(&writer, "params", pyro_cost_total(cost)->work.params);
    write_ties(&writer, model);
    /* Before the shapes, so that the reader knows their valid sizes. */
    write_dims(&writer, model);
    write_shapes(&writer, model);
    pyro_json_key(&writer, "source");
    pyro_json_begin_object(&writer);
    pyro_json_member_string(&writer, "package", "");
    pyro_json_member_string(&writer, "builder", options->builder ? options->builder : "");
    pyro_json_end_object(&writer);
    pyro_json_end_object(&writer);
    pyro_cost_free(cost);
    return out->failed ? pyro_fail_memory(error) : PYRO_OK;
}

static int write_archive(pyro_buf *out, pyro_buf *program, pyro_buf *extra, const char *name,
                         pyro_error *error)
{
    pyro_zip_writer writer;
    pyro_buf member = PYRO_BUF_INIT;
    pyro_buf_addf(&member, "models/%s.json", name);
    pyro_zip_write_begin(&writer, out);
    pyro_zip_write_member(&writer, "archive_format", "pt2", 3);
    pyro_zip_write_member(&writer, "extra/pyrometer.json", extra->data, extra->length);
    pyro_zip_write_member(&writer, member.failed ? "" : member.data, program->data,
                          program->length);
    bool good = pyro_zip_write_end(&writer) && !member.failed;
    pyro_buf_free(&member);
    return good ? PYRO_OK : pyro_fail_memory(error);
}

int pyro_skeleton_write(pyro_buf *out, pyro_model *model, const pyro_registry_model *given,
                        const char *name, const pyro_registry_options *options, pyro_error *error)
{
    pyro_buf program = PYRO_BUF_INIT, extra = PYRO_BUF_INIT;
    int status = pyro_model_program(&program, given, error);
    if (status == PYRO_OK)
        status = write_extra(&extra, model, name, options, error);
    if (status == PYRO_OK)
        status = write_archive(out, &program, &extra, name, error);
    pyro_buf_free(&program);
    pyro_buf_free(&extra);
    return status;
}
