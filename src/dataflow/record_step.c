/* Tensors of a recorded operator: which values they are, and whether it made, viewed or wrote them. */
#include "dataflow/record_step.h"

#include "base/buf.h"
#include "base/map.h"
#include "graph/dtype.h"
#include <pyrometer/recording.h>
#include <stdlib.h>
#include <string.h>

static const pyro_recorded_data *storages(const pyro_trace *trace, uint32_t id)
{
    static const pyro_recorded_data none;
    return id < trace->storage_count ? &trace->storages[id] : &none;
}

/* One entry of the weights; NULL where it is damaged. */
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
        if (!name)
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
    free(r->inputs);
}

bool pyro_step_recorder_makes(const pyro_step_recorder *r, const pyro_op_detail *detail)
{
    pyro_seen_tensor seen;
    size_t at = 0;
    return pyro_sightings_next(storages(r->trace, detail->output_storages), &at, &seen);
}

static bool describe(pyro_step_recorder *r, const pyro_seen_tensor *seen, pyro_graph_tensor *tensor)
{
    int64_t dims[64];
    pyro_dtype dtype = pyro_dtype_from_scalar_type(seen->scalar_type);
    for (size_t d = 0; d < seen->rank; d++)
        dims[d] = as_amount(seen->sizes[d]);
    tensor->dtype = pyro_dtype_name(dtype);
    return pyro_program_shape(r->program, tensor, dims, seen->rank,
                              dtype == PYRO_DTYPE_UNKNOWN ? -1 : pyro_dtype_bytes(dtype));
}

/* A tensor that nobody made: a weight, what the model was called with, or what was kept. */
static uint32_t add_outside(pyro_step_recorder *r, const pyro_seen_tensor *seen)
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
    uint32_t number = (uint32_t)r->program->value_count;
    if (!value.name || !describe(r, seen, &value.tensor) ||
        !pyro_tracker_make(&r->tracker, &seen->where, PYRO_MAKES_FRESH, number))
        return PYRO_NONE;
    value.memory = pyro_tracker_memory(&r->tracker, seen->where.storage);
    return pyro_program_add_value(r->program, &value);
}

static bool remember(pyro_step_recorder *r, const pyro_seen_tensor *seen)
{
    if (!pyro_grow(&r->inputs, &r->input_capacity, r->input_count + 1, sizeof *r->inputs))
        return false;
    r->inputs[r->input_count++] = *seen;
    return true;
}

/* What `torch.tensor(3)` and `x[0] = 3` make of numbers comes to life there: it is no input. */
static bool comes_to_life(const char *op)
{
    return !strcmp(op, "aten::lift_fresh");
}

static bool add_input(pyro_step_recorder *r, const pyro_seen_tensor *seen, const char *op)
{
    bool is_known = pyro_tracker_knows(&r->tracker, &seen->where);
    if (!is_known && comes_to_life(op))
        return true;
    if (!remember(r, seen))
        return false;
    if (!is_known) {
        uint32_t value = add_outside(r, seen);
        return value != PYRO_NONE && pyro_program_add_use(r->program, value);
    }
    if (!pyro_tracker_read(&r->tracker, &seen->where))
        return false;
    for (size_t i = 0; i < r->tracker.found_count; i++)
        if (!pyro_program_add_use(r->program, r->tracker.found[i]))
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

static pyro_making how_made(const pyro_step_recorder *r, const pyro_seen_tensor *seen,
                            const char *op)
{
    pyro_making how = PYRO_MAKES_FRESH;
    for (size_t i = 0; i < r->input_count; i++) {
        const pyro_seen_tensor *input = &r->inputs[i];
        if (input->where.storage != seen->where.storage)
            continue;
        bool versions_known = input->version != UINT64_MAX && seen->version != UINT64_MAX;
        if (versions_known ? seen->version != input->version
                           : input->where.tensor == seen->where.tensor && is_in_place(op))
            return PYRO_MAKES_WRITE;
        how = PYRO_MAKES_VIEW;
    }
    return how;
}

static bool add_output(pyro_step_recorder *r, uint32_t step, const char *op,
                       const pyro_seen_tensor *seen)
{
    pyro_flow_value value = {.name = "", .maker = step, .weight = PYRO_NONE};
    pyro_making how = how_made(r, seen, op);
    uint32_t number = (uint32_t)r->program->value_count;
    if (!describe(r, seen, &value.tensor) ||
        !pyro_tracker_make(&r->tracker, &seen->where, how, number))
        return false;
    value.memory = pyro_tracker_memory(&r->tracker, seen->where.storage);
    /* Further outputs in the same new memory are views of it, as if it had been given. */
    return remember(r, seen) && pyro_program_add_value(r->program, &value) != PYRO_NONE &&
           pyro_program_add_made(r->program, number);
}

bool pyro_step_recorder_add(pyro_step_recorder *r, uint32_t step, const char *op,
                            const pyro_op_detail *detail)
{
    pyro_seen_tensor seen;
    r->input_count = 0;
    for (size_t at = 0;
         pyro_sightings_next(storages(r->trace, detail->input_storages), &at, &seen);)
        if (!add_input(r, &seen, op))
            return false;
    for (size_t at = 0;
         pyro_sightings_next(storages(r->trace, detail->output_storages), &at, &seen);)
        if (!add_output(r, step, op, &seen))
            return false;
    return true;
}
