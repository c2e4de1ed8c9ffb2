/* Builds and frees programs, and summarises durations over passes. */
#include "dataflow/program.h"

#include "base/containers/buf.h"
#include "base/checked.h"
#include <pyrometer/trace.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pyro_program *pyro_program_new(void)
{
    pyro_program *program = calloc(1, sizeof *program);
    if (!program)
        return NULL;
    pyro_arena_init(&program->arena);
    pyro_intern_init(&program->strings, &program->arena);
    program->name = "";
    return program;
}

void pyro_program_free(pyro_program *program)
{
    if (!program)
        return;
    for (size_t i = 0; i < program->step_count; i++)
        free(program->steps[i].time.items);
    for (size_t i = 0; i < program->call_count; i++)
        free(program->calls[i].time.items);
    free(program->values);
    free(program->weights);
    free(program->steps);
    free(program->calls);
    free(program->uses);
    free(program->levels);
    free(program->shown);
    free(program->made);
    free(program->notes);
    pyro_intern_free(&program->strings);
    pyro_arena_free(&program->arena);
    free(program);
}

const char *pyro_program_name(const pyro_program *program)
{
    return program->name;
}

int64_t pyro_program_passes(const pyro_program *program)
{
    return program->passes;
}

const char *pyro_program_text(pyro_program *program, const char *text)
{
    uint32_t id = pyro_intern_add(&program->strings, text, strlen(text));
    return id == PYRO_INTERN_NONE ? NULL : pyro_intern_text(&program->strings, id);
}

uint32_t pyro_program_add_value(pyro_program *program, const pyro_flow_value *value)
{
    if (program->value_count >= PYRO_NONE ||
        !pyro_grow(&program->values, &program->value_capacity, program->value_count + 1,
                   sizeof *program->values))
        return PYRO_NONE;
    program->values[program->value_count] = *value;
    return (uint32_t)program->value_count++;
}

uint32_t pyro_program_add_weight(pyro_program *program, const pyro_flow_weight *weight)
{
    if (program->weight_count >= PYRO_NONE ||
        !pyro_grow(&program->weights, &program->weight_capacity, program->weight_count + 1,
                   sizeof *program->weights))
        return PYRO_NONE;
    program->weights[program->weight_count] = *weight;
    return (uint32_t)program->weight_count++;
}

uint32_t pyro_program_add_call(pyro_program *program, const pyro_flow_call *call)
{
    if (program->order >= PYRO_NONE || !pyro_grow(&program->calls, &program->call_capacity,
                                                  program->call_count + 1, sizeof *program->calls))
        return PYRO_NONE;
    program->calls[program->call_count] = *call;
    program->calls[program->call_count].order = program->order++;
    return (uint32_t)program->call_count++;
}

uint32_t pyro_program_add_step(pyro_program *program, const pyro_flow_step *step)
{
    if (program->order >= PYRO_NONE || !pyro_grow(&program->steps, &program->step_capacity,
                                                  program->step_count + 1, sizeof *program->steps))
        return PYRO_NONE;
    pyro_flow_step *added = &program->steps[program->step_count];
    *added = *step;
    added->order = program->order++;
    added->first_use = (uint32_t)program->use_count;
    added->first_made = (uint32_t)program->made_count;
    added->use_count = added->made_count = 0;
    return (uint32_t)program->step_count++;
}

bool pyro_program_add_level(pyro_program *program, const pyro_flow_level *level)
{
    if (program->level_count >= PYRO_NONE ||
        !pyro_grow(&program->levels, &program->level_capacity, program->level_count + 1,
                   sizeof *program->levels))
        return false;
    pyro_flow_level *added = &program->levels[program->level_count++];
    *added = *level;
    added->first_shown = (uint32_t)program->shown_count;
    added->shown_count = 0;
    return true;
}

bool pyro_program_add_shown(pyro_program *program, pyro_flow_use use)
{
    if (program->shown_count >= PYRO_NONE ||
        !pyro_grow(&program->shown, &program->shown_capacity, program->shown_count + 1,
                   sizeof *program->shown))
        return false;
    program->shown[program->shown_count++] = use;
    program->levels[program->level_count - 1].shown_count++;
    return true;
}

bool pyro_program_add_use(pyro_program *program, pyro_flow_use use)
{
    if (program->use_count >= PYRO_NONE ||
        !pyro_grow(&program->uses, &program->use_capacity, program->use_count + 1,
                   sizeof *program->uses))
        return false;
    program->uses[program->use_count++] = use;
    program->steps[program->step_count - 1].use_count++;
    return true;
}

bool pyro_program_add_made(pyro_program *program, uint32_t value)
{
    if (program->made_count >= PYRO_NONE ||
        !pyro_grow(&program->made, &program->made_capacity, program->made_count + 1,
                   sizeof *program->made))
        return false;
    program->made[program->made_count++] = value;
    program->steps[program->step_count - 1].made_count++;
    return true;
}

bool pyro_program_note(pyro_program *program, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *copy = pyro_program_text(program, text);
    if (!copy || !pyro_grow(&program->notes, &program->note_capacity, program->note_count + 1,
                            sizeof *program->notes))
        return false;
    program->notes[program->note_count++] = copy;
    return true;
}

bool pyro_program_shape(pyro_program *program, pyro_graph_tensor *tensor, const int64_t *dims,
                        size_t rank, int64_t element_bytes)
{
    int64_t *copy = pyro_arena_array(&program->arena, rank + 1, sizeof *copy);
    if (!copy)
        return false;
    tensor->dims = copy;
    tensor->rank = rank;
    tensor->bytes = element_bytes;
    for (size_t d = 0; d < rank; d++) {
        copy[d] = dims[d];
        if (tensor->bytes >= 0 &&
            (dims[d] < 0 || !pyro_mul_i64(tensor->bytes, dims[d], &tensor->bytes)))
            tensor->bytes = -1;
    }
    return true;
}

bool pyro_samples_add(pyro_samples *samples, int64_t duration_ns)
{
    if (!pyro_grow(&samples->items, &samples->capacity, samples->count + 1, sizeof *samples->items))
        return false;
    samples->items[samples->count++] = duration_ns;
    return true;
}

static int by_size(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* Interpolates linearly between two samples, as numpy does by default. */
static int64_t quantile(const pyro_samples *samples, int64_t percent)
{
    int64_t place = (int64_t)(samples->count - 1) * percent;
    int64_t below = samples->items[place / 100], rest = place % 100;
    if (!rest)
        return below;
    double step = (double)(samples->items[place / 100 + 1] - below);
    return below + (int64_t)(step * (double)rest / 100 + 0.5);
}

void pyro_samples_finish(pyro_samples *samples)
{
    samples->total_ns = samples->median_ns = samples->p95_ns = -1;
    if (!samples->count)
        return;
    qsort(samples->items, samples->count, sizeof *samples->items, by_size);
    samples->median_ns = quantile(samples, 50);
    if (samples->count >= PYRO_PASSES_FOR_P95)
        samples->p95_ns = quantile(samples, 95);
    samples->total_ns = 0;
    for (size_t i = 0; i < samples->count; i++)
        if (!pyro_add_i64(samples->total_ns, samples->items[i], &samples->total_ns))
            samples->total_ns = INT64_MAX;
}

static void finish(const pyro_program *program, pyro_samples *samples)
{
    pyro_samples_finish(samples);
    samples->device_ns = program->has_device_work && samples->count
                             ? samples->device_ns / (int64_t)samples->count
                             : -1;
}

void pyro_program_finish(pyro_program *program)
{
    for (size_t i = 0; i < program->step_count; i++)
        finish(program, &program->steps[i].time);
    for (size_t i = 0; i < program->call_count; i++)
        finish(program, &program->calls[i].time);
}
