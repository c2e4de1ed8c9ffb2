/* Finds the values of a recorded operator's tensors, and whether it made, viewed or wrote them. */
#include "dataflow/record_step.h"

#include "base/containers/buf.h"
#include "base/containers/map.h"
#include "dataflow/views.h"
#include "graph/dtype.h"
#include <pyrometer/recording.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pyro_recorded_data *storages(const pyro_trace *trace, uint32_t id)
{
    static const pyro_recorded_data none;
    return id < trace->storage_count ? &trace->storages[id] : &none;
}

static const pyro_recorded_data *inputs_of(const pyro_step_recorder *r,
                                           const pyro_op_detail *detail)
{
    return storages(r->trace, pyro_trace_op_extra(r->trace, detail).input_storages);
}

static const pyro_recorded_data *outputs_of(const pyro_step_recorder *r,
                                            const pyro_op_detail *detail)
{
    return storages(r->trace, pyro_trace_op_extra(r->trace, detail).output_storages);
}

/* Reads one entry of the weights; NULL if it is damaged. */
static const char *read_weight(const pyro_trace *trace, size_t id, pyro_weight_data *out)
{
    const pyro_recorded_data *data = &trace->weights[id];
    if (!data->bytes || data->length < sizeof *out + 1 || data->bytes[data->length - 1])
        return NULL;
    memcpy(out, data->bytes, sizeof *out);
    return data->bytes + sizeof *out;
}

static int64_t as_amount(uint64_t amount)
{
    return amount <= INT64_MAX ? (int64_t)amount : -1;
}

/* Two names for the same bytes are one weight. */
static uint64_t place_key(const pyro_weight_data *data)
{
    return (data->storage * UINT64_C(0x9e3779b97f4a7c15)) ^ data->begin ^ data->bytes << 32;
}

static bool add_weight(pyro_step_recorder *r, const pyro_weight_data *data, const char *name)
{
    pyro_flow_weight weight = {
        .name = pyro_program_text(r->program, name),
        .role = data->kind == PYRO_WEIGHT_IS_PARAMETER ? PYRO_WEIGHT_PARAMETER : PYRO_WEIGHT_OTHER,
        .values = as_amount(data->values),
        .bytes = as_amount(data->bytes)};
    uint32_t number = pyro_map_get(&r->weight_of_place, place_key(data));
    if (number == PYRO_MAP_NONE) {
        number = weight.name ? pyro_program_add_weight(r->program, &weight) : PYRO_NONE;
        if (number == PYRO_NONE || !pyro_map_put(&r->weight_of_place, place_key(data), number))
            return false;
    }
    return pyro_map_put(&r->weight_of_tensor, data->tensor, number) &&
           (pyro_map_get(&r->weight_of_storage, data->storage) != PYRO_MAP_NONE ||
            pyro_map_put(&r->weight_of_storage, data->storage, number));
}

bool pyro_step_recorder_init(pyro_step_recorder *r, pyro_program *program, const pyro_trace *trace)
{
    *r = (pyro_step_recorder){.program = program, .trace = trace, .tracker = PYRO_TRACKER_INIT};
    for (size_t id = 1; id < trace->weight_count; id++) {
        pyro_weight_data data;
        const char *name = read_weight(trace, id, &data);
        if (!name || data.kind == PYRO_WEIGHT_IS_LEAVING)
            continue;
        if (data.kind == PYRO_WEIGHT_IS_INPUT
                ? !pyro_map_put(&r->input_of_tensor, data.tensor, (uint32_t)id)
                : !add_weight(r, &data, name))
            return false;
    }
    return true;
}

void pyro_step_recorder_free(pyro_step_recorder *r)
{
    pyro_tracker_free(&r->tracker);
    pyro_map_free(&r->weight_of_tensor);
    pyro_map_free(&r->weight_of_storage);
    pyro_map_free(&r->weight_of_place);
    pyro_map_free(&r->input_of_tensor);
    pyro_map_free(&r->made_elsewhere);
    free(r->inputs);
    free(r->how);
}

bool pyro_step_recorder_makes(const pyro_step_recorder *r, const pyro_op_detail *detail)
{
    pyro_storage_record seen;
    size_t at = 0;
    return pyro_storage_records_next(outputs_of(r, detail), &at, &seen);
}

static bool describe(pyro_step_recorder *r, const pyro_storage_record *seen,
                     pyro_graph_tensor *tensor)
{
    int64_t dims[64];
    pyro_dtype dtype = pyro_dtype_from_scalar_type(seen->scalar_type);
    for (size_t d = 0; d < seen->rank; d++)
        dims[d] = as_amount(seen->sizes[d]);
    tensor->dtype = pyro_dtype_name(dtype);
    return pyro_program_shape(r->program, tensor, dims, seen->rank,
                              dtype == PYRO_DTYPE_UNKNOWN ? -1 : pyro_dtype_bytes(dtype));
}

/* A step's name in notes: "aten::linear in fc1". */
static void name_step(const pyro_step_recorder *r, uint32_t step, char *text, size_t size)
{
    const pyro_flow_step *known = &r->program->steps[step];
    const char *path = r->program->calls[known->call].path;
    snprintf(text, size, "%.60s in %.80s", known->op, path[0] ? path : "the model");
}

/* Notes the origin, if known, of a tensor that no step made and that is no weight or input. */
static void note_unknown_tensor(pyro_step_recorder *r, const pyro_storage_record *seen)
{
    uint32_t step = (uint32_t)r->program->step_count - 1;
    bool is_elsewhere = pyro_map_get(&r->made_elsewhere, seen->where.storage) != PYRO_MAP_NONE;
    if (is_elsewhere && !r->from_elsewhere++)
        name_step(r, step, r->first_from, sizeof r->first_from);
    if (!is_elsewhere && seen->is_foreign && !r->foreign++)
        name_step(r, step, r->first_foreign, sizeof r->first_foreign);
}

/* Adds a tensor that no step made: a weight, an input of the model, or one that was kept. */
static uint32_t add_outside(pyro_step_recorder *r, const pyro_storage_record *seen)
{
    pyro_flow_value value = {.name = "",
                             .maker = PYRO_NONE,
                             .weight = pyro_map_get(&r->weight_of_tensor, seen->where.tensor)};
    uint32_t input = pyro_map_get(&r->input_of_tensor, seen->where.tensor);
    pyro_weight_data data;
    if (value.weight == PYRO_MAP_NONE) /* x.data of a parameter */
        value.weight = pyro_map_get(&r->weight_of_storage, seen->where.storage);
    if (input != PYRO_MAP_NONE)
        value.name = pyro_program_text(r->program, read_weight(r->trace, input, &data));
    if (value.weight != PYRO_MAP_NONE)
        value.name = r->program->weights[value.weight].name;
    else if (input == PYRO_MAP_NONE)
        note_unknown_tensor(r, seen);
    uint32_t number = (uint32_t)r->program->value_count;
    if (!value.name || !describe(r, seen, &value.tensor) ||
        !pyro_tracker_make(&r->tracker, &seen->where, PYRO_MAKES_FRESH, number))
        return PYRO_NONE;
    value.memory = pyro_tracker_memory(&r->tracker, seen->where.storage);
    return pyro_program_add_value(r->program, &value);
}

static bool remember(pyro_step_recorder *r, const pyro_storage_record *seen)
{
    if (!pyro_grow(&r->inputs, &r->input_capacity, r->seen_count + 1, sizeof *r->inputs))
        return false;
    r->inputs[r->seen_count++] = *seen;
    return true;
}

/* Operators that make tensors from numbers, such as `torch.tensor(3)` and `x[0] = 3`: no input. */
static bool comes_to_life(const char *op)
{
    return !strcmp(op, "aten::lift_fresh");
}

/* Reads both lists of the operator; adds inputs that no step made as values from outside. */
static bool remember_all(pyro_step_recorder *r, const char *op, const pyro_op_detail *detail)
{
    pyro_storage_record seen;
    r->seen_count = 0;
    for (size_t at = 0; pyro_storage_records_next(inputs_of(r, detail), &at, &seen);) {
        bool is_known = pyro_tracker_knows(&r->tracker, &seen.where);
        if (!is_known && comes_to_life(op)) {
            note_unknown_tensor(r, &seen);
            continue;
        }
        if (!remember(r, &seen) || (!is_known && add_outside(r, &seen) == PYRO_NONE))
            return false;
    }
    r->input_count = r->seen_count;
    for (size_t at = 0; pyro_storage_records_next(outputs_of(r, detail), &at, &seen);)
        if (!remember(r, &seen))
            return false;
    return true;
}

/* "aten::add_" and "aten::__iadd__" write; "aten::add" and "aten::__and__" do not. */
static bool is_in_place(const char *op)
{
    const char *colons = strstr(op, "::"), *name = colons ? colons + 2 : op;
    size_t length = strlen(name);
    if (length > 4 && !strncmp(name, "__i", 3) && !strcmp(name + length - 2, "__"))
        return true;
    return length > 1 && name[length - 1] == '_' && name[length - 2] != '_';
}

/*
 * Whether an input was written, by its version, or else by the schema or the names: an operator
 * that returns a later argument has written its result there (`out=`).
 */
static bool is_written(const pyro_step_recorder *r, size_t input, const pyro_storage_record *output,
                       const char *op)
{
    const pyro_storage_record *seen = &r->inputs[input];
    if (seen->version != UINT64_MAX && output->version != UINT64_MAX)
        return output->version != seen->version;
    bool is_first = r->inputs[0].where.tensor == output->where.tensor;
    return seen->where.tensor == output->where.tensor &&
           (seen->is_written || is_in_place(op) || !is_first);
}

typedef enum made_how { MADE_FRESH, MADE_VIEW, MADE_WRITE, MADE_PASSED } made_how;

static made_how how_made(const pyro_step_recorder *r, size_t output, const char *op)
{
    const pyro_storage_record *seen = &r->inputs[output];
    made_how how = MADE_FRESH;
    /* Further outputs in the same new memory are views of it, as if it were an input. */
    for (size_t i = 0; i < output; i++) {
        const pyro_storage_record *input = &r->inputs[i];
        if (input->where.storage != seen->where.storage)
            continue;
        if (i < r->input_count && is_written(r, i, seen, op))
            return MADE_WRITE;
        if (input->where.tensor == seen->where.tensor)
            how = MADE_PASSED;
        else if (how == MADE_FRESH)
            how = MADE_VIEW;
    }
    return how;
}

static bool judge_outputs(pyro_step_recorder *r, const char *op)
{
    size_t count = r->seen_count - r->input_count;
    if (!pyro_grow(&r->how, &r->how_capacity, count + 1, sizeof *r->how))
        return false;
    r->only_views = true;
    for (size_t o = 0; o < count; o++) {
        r->how[o] = (unsigned char)how_made(r, r->input_count + o, op);
        r->only_views &= r->how[o] == MADE_VIEW || r->how[o] == MADE_PASSED;
    }
    return true;
}

static bool is_viewed(const pyro_step_recorder *r, const pyro_storage_record *input)
{
    for (size_t o = r->input_count; o < r->seen_count; o++)
        if (r->how[o - r->input_count] == MADE_VIEW &&
            r->inputs[o].where.storage == input->where.storage)
            return true;
    return false;
}

/* An operator that only makes views uses only the bytes that they show. */
static bool use_inputs(pyro_step_recorder *r)
{
    for (size_t i = 0; i < r->input_count; i++)
        if (!(r->only_views && is_viewed(r, &r->inputs[i])) &&
            !pyro_views_read(r->program, &r->tracker, &r->inputs[i].where))
            return false;
    return true;
}

/* Adds what a view shows of the input with the same memory, which the step uses. */
static bool show(pyro_step_recorder *r, const pyro_storage_record *view, pyro_flow_value *value)
{
    size_t base = 0;
    while (base < r->input_count && r->inputs[base].where.storage != view->where.storage)
        base++;
    if (!r->only_views || base == r->input_count)
        return true;
    return pyro_views_show(r->program, &r->tracker, &r->inputs[base].where, &view->where.bytes,
                           value);
}

static bool add_output(pyro_step_recorder *r, uint32_t step, size_t output)
{
    static const pyro_making making[] = {PYRO_MAKES_FRESH, PYRO_MAKES_VIEW, PYRO_MAKES_WRITE};
    const pyro_storage_record *seen = &r->inputs[output];
    pyro_flow_value value = {.name = "", .maker = step, .weight = PYRO_NONE};
    made_how how = r->how[output - r->input_count];
    if (how == MADE_PASSED)
        return true; /* it stays the value of its maker */
    uint32_t number = (uint32_t)r->program->value_count;
    if (!describe(r, seen, &value.tensor) || (how == MADE_VIEW && !show(r, seen, &value)) ||
        !pyro_tracker_make(&r->tracker, &seen->where, making[how], number))
        return false;
    value.memory = pyro_tracker_memory(&r->tracker, seen->where.storage);
    return pyro_program_add_value(r->program, &value) != PYRO_NONE &&
           pyro_program_add_made(r->program, number);
}

bool pyro_step_recorder_add(pyro_step_recorder *r, uint32_t step, const char *op,
                            const pyro_op_detail *detail)
{
    if (!remember_all(r, op, detail) || !judge_outputs(r, op) || !use_inputs(r))
        return false;
    for (size_t o = r->input_count; o < r->seen_count; o++)
        if (!add_output(r, step, o))
            return false;
    return true;
}

/* The step that made a tensor's contents, through views; PYRO_NONE: none of this pass. */
static uint32_t producer(const pyro_step_recorder *r, const pyro_tensor_use *tensor)
{
    pyro_held_value held;
    if (!pyro_tracker_held(&r->tracker, tensor, &held))
        return PYRO_NONE;
    const pyro_flow_value *value = &r->program->values[held.value];
    for (; value->level_count; value = &r->program->values[held.value])
        held.value = r->program->levels[value->first_level + value->level_count - 1].value;
    return value->maker;
}

bool pyro_step_recorder_elsewhere(pyro_step_recorder *r, const char *op,
                                  const pyro_op_detail *detail)
{
    pyro_storage_record seen;
    uint32_t taken_from = PYRO_NONE;
    for (size_t at = 0; pyro_storage_records_next(inputs_of(r, detail), &at, &seen);)
        if (taken_from == PYRO_NONE)
            taken_from = producer(r, &seen.where);
    if (taken_from != PYRO_NONE && !r->to_elsewhere++) {
        char made[160];
        name_step(r, taken_from, made, sizeof made);
        snprintf(r->first_to, sizeof r->first_to, "%.50s, of the result of %.150s", op, made);
    }
    for (size_t at = 0; pyro_storage_records_next(outputs_of(r, detail), &at, &seen);)
        if (!pyro_tracker_knows(&r->tracker, &seen.where) &&
            !pyro_map_put(&r->made_elsewhere, seen.where.storage, 1))
            return false;
    return true;
}

/* Notes tensors that were passed to numpy or the like, as reported by Python. */
static bool note_leaving(const pyro_step_recorder *r)
{
    char first[160] = "";
    const char *how = "";
    int64_t count = 0;
    for (size_t id = 1; id < r->trace->weight_count; id++) {
        pyro_weight_data data;
        const char *name = read_weight(r->trace, id, &data);
        if (!name || data.kind != PYRO_WEIGHT_IS_LEAVING)
            continue;
        pyro_tensor_use tensor = {.tensor = data.tensor, .storage = data.storage};
        uint32_t step = producer(r, &tensor);
        if (step == PYRO_NONE)
            continue;
        if (!count++) {
            name_step(r, step, first, sizeof first);
            how = name;
        }
    }
    return !count || pyro_program_note(r->program,
                                       "data leave torch by %.40s (%" PRId64 " times, first the "
                                       "result of %s): what is computed from them there has no "
                                       "edge",
                                       how, count, first);
}

bool pyro_step_recorder_note(pyro_step_recorder *r)
{
    bool good = note_leaving(r);
    if (good && r->foreign)
        good = pyro_program_note(r->program,
                                 "%" PRId64 " tensors come from numpy or another library (first "
                                 "into %s): what they were computed from has no edge",
                                 r->foreign, r->first_foreign);
    if (good && r->to_elsewhere)
        good = pyro_program_note(r->program,
                                 "%" PRId64 " operators ran on other threads with tensors of this "
                                 "pass (first %s): they are not in the graph",
                                 r->to_elsewhere, r->first_to);
    if (good && r->from_elsewhere)
        good = pyro_program_note(r->program,
                                 "%" PRId64 " tensors were made on other threads (first taken by "
                                 "%s): their edges begin at an input",
                                 r->from_elsewhere, r->first_from);
    return good;
}
