/* Puts blocks in order, and measures what crosses between them and what is live while they run. */
#include "dataflow/blocks.h"

#include "base/checked.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>

/* The sum, or INT64_MAX on overflow. */
static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return pyro_add_i64(a, b, &sum) ? sum : INT64_MAX;
}

static int64_t known(int64_t amount)
{
    return amount < 0 ? 0 : amount;
}

/* Steps between blocks belong to the block before them, or to the first. */
static bool place_steps(pyro_blocks *b)
{
    const pyro_dataflow *graph = b->graph;
    const pyro_program *program = graph->program;
    uint32_t *block_of_node = malloc((graph->node_count + 1) * sizeof *block_of_node);
    if (!block_of_node)
        return false;
    for (size_t n = graph->input_count; n < graph->node_count; n++) {
        block_of_node[n] = (uint32_t)b->count;
        b->node[b->count++] = (uint32_t)n;
    }
    uint32_t last = 0;
    for (size_t s = 0; s < program->step_count; s++) {
        uint32_t node = graph->node_of_step[s];
        /* Threads may begin blocks before others have ended: the block number never decreases. */
        if (node != PYRO_NONE && block_of_node[node] > last)
            last = block_of_node[node];
        b->block_of_step[s] = last;
    }
    size_t s = 0;
    for (size_t i = 0; i <= b->count; i++) {
        while (i < b->count && s < program->step_count && b->block_of_step[s] < i)
            s++;
        b->first_step[i] = i == b->count ? program->step_count : s;
    }
    free(block_of_node);
    return true;
}

static void add_amounts(pyro_blocks *b)
{
    const pyro_dataflow *graph = b->graph;
    const pyro_program *program = graph->program;
    int64_t *amount = b->amount_before + 1;
    for (size_t i = 0; i < b->count; i++)
        b->timed |= graph->nodes[b->node[i]].median_ns >= 0;
    for (size_t i = 0; b->timed && i < b->count; i++)
        amount[i] = known(graph->nodes[b->node[i]].median_ns);
    for (size_t s = 0; b->count && s < program->step_count; s++) {
        int64_t *sum = &amount[b->block_of_step[s]];
        if (!b->timed)
            *sum = plus(*sum, known(program->steps[s].flops));
        else if (graph->node_of_step[s] == PYRO_NONE)
            *sum = plus(*sum, known(program->steps[s].time.median_ns));
    }
    for (size_t i = 1; i <= b->count; i++)
        b->amount_before[i] = plus(b->amount_before[i], b->amount_before[i - 1]);
}

static void learn_memories(pyro_blocks *b)
{
    const pyro_program *program = b->graph->program;
    for (size_t i = 0; i < b->memory_count; i++)
        b->memories[i].born = PYRO_NONE;
    for (size_t v = 0; v < program->value_count; v++) {
        const pyro_flow_value *value = &program->values[v];
        pyro_memory_use *memory = &b->memories[value->memory];
        if (value->weight != PYRO_NONE)
            continue;
        if (value->tensor.bytes > memory->bytes)
            memory->bytes = value->tensor.bytes;
        if (value->maker != PYRO_NONE && (memory->born == PYRO_NONE || value->maker < memory->born))
            memory->born = value->maker;
        if (value->maker != PYRO_NONE && value->maker > memory->last_use)
            memory->last_use = value->maker;
    }
    /* Memory from outside that is written to still comes from outside. */
    for (size_t v = 0; v < program->value_count; v++)
        if (program->values[v].maker == PYRO_NONE)
            b->memories[program->values[v].memory].born = PYRO_NONE;
    for (uint32_t s = 0; s < program->step_count; s++)
        for (uint32_t u = 0; u < program->steps[s].use_count; u++) {
            uint32_t value = program->uses[program->steps[s].first_use + u].value;
            b->memories[program->values[value].memory].last_use = s;
        }
}

/* A value begins or stops crossing cuts. */
typedef struct crossing_change {
    uint32_t memory, block;
    int64_t bytes;
} crossing_change;

static int by_memory(const void *left, const void *right)
{
    const crossing_change *a = left, *b = right;
    if (a->memory != b->memory)
        return a->memory < b->memory ? -1 : 1;
    return a->block < b->block ? -1 : a->block > b->block;
}

/* Values that share memory count with their part of it, together at most its size. */
static void add_crossing(pyro_blocks *b, const crossing_change *changes, size_t count)
{
    int64_t sum = 0, counted = 0;
    for (size_t i = 0; i < count; i++) {
        const crossing_change *at = &changes[i];
        if (i && at->memory != changes[i - 1].memory)
            sum = counted = 0;
        sum = plus(sum, at->bytes);
        int64_t most = b->memories[at->memory].bytes, now = sum < most ? sum : most;
        b->cut_bytes[at->block] = plus(b->cut_bytes[at->block], now - counted);
        counted = now;
    }
    for (size_t i = 1; i < b->count; i++) {
        b->cut_bytes[i] = plus(b->cut_bytes[i], b->cut_bytes[i - 1]);
        b->cut_tensors[i] += b->cut_tensors[i - 1];
    }
}

static bool find_crossing(pyro_blocks *b)
{
    const pyro_program *program = b->graph->program;
    uint32_t *last_block = calloc(program->value_count + 1, sizeof *last_block);
    crossing_change *changes = calloc(2 * program->value_count + 1, sizeof *changes);
    size_t count = 0;
    for (size_t s = 0; last_block && s < program->step_count; s++)
        for (uint32_t u = 0; u < program->steps[s].use_count; u++)
            last_block[program->uses[program->steps[s].first_use + u].value] = b->block_of_step[s];
    for (size_t v = 0; last_block && changes && v < program->value_count; v++) {
        const pyro_flow_value *value = &program->values[v];
        if (value->maker == PYRO_NONE || last_block[v] <= b->block_of_step[value->maker])
            continue;
        uint32_t first = b->block_of_step[value->maker];
        int64_t bytes = known(value->tensor.bytes);
        changes[count++] = (crossing_change){value->memory, first, bytes};
        changes[count++] = (crossing_change){value->memory, last_block[v], -bytes};
        b->cut_tensors[first]++;
        b->cut_tensors[last_block[v]]--;
    }
    bool good = last_block && changes;
    if (good) {
        qsort(changes, count, sizeof *changes, by_memory);
        add_crossing(b, changes, count);
    }
    free(last_block);
    free(changes);
    return good;
}

int pyro_blocks_find(pyro_blocks *b, const pyro_dataflow *graph, pyro_error *error)
{
    const pyro_program *program = graph->program;
    size_t most = graph->node_count + 1;
    memset(b, 0, sizeof *b);
    b->graph = graph;
    for (size_t v = 0; v < program->value_count; v++)
        if (program->values[v].memory >= b->memory_count)
            b->memory_count = program->values[v].memory + 1u;
    b->node = calloc(most, sizeof *b->node);
    b->first_step = calloc(most + 1, sizeof *b->first_step);
    b->block_of_step = calloc(program->step_count + 1, sizeof *b->block_of_step);
    b->amount_before = calloc(most + 1, sizeof *b->amount_before);
    b->cut_bytes = calloc(most, sizeof *b->cut_bytes);
    b->cut_tensors = calloc(most, sizeof *b->cut_tensors);
    b->memories = calloc(b->memory_count + 1, sizeof *b->memories);
    b->weight_part = calloc(program->weight_count + 1, sizeof *b->weight_part);
    if (!b->node || !b->first_step || !b->block_of_step || !b->amount_before || !b->cut_bytes ||
        !b->cut_tensors || !b->memories || !b->weight_part || !place_steps(b))
        return pyro_fail_memory(error);
    if (!b->count)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "the graph has no blocks, so it cannot be cut");
    add_amounts(b);
    learn_memories(b);
    return find_crossing(b) ? PYRO_OK : pyro_fail_memory(error);
}

void pyro_blocks_free(pyro_blocks *b)
{
    free(b->node);
    free(b->first_step);
    free(b->block_of_step);
    free(b->amount_before);
    free(b->cut_bytes);
    free(b->cut_tensors);
    free(b->memories);
    free(b->weight_part);
    memset(b, 0, sizeof *b);
}

static void add_weight(pyro_blocks *b, uint32_t weight, pyro_part *part)
{
    const pyro_flow_weight *known_weight = &b->graph->program->weights[weight];
    if (b->weight_part[weight] == b->part)
        return;
    b->weight_part[weight] = b->part;
    part->memory_bytes = plus(part->memory_bytes, known(known_weight->bytes));
    if (known_weight->role != PYRO_WEIGHT_PARAMETER)
        return;
    part->parameters = plus(part->parameters, known(known_weight->values));
    part->parameter_bytes = plus(part->parameter_bytes, known(known_weight->bytes));
}

/* Notes what the part uses, and returns the bytes that are live when it begins. */
static int64_t receive(pyro_blocks *b, uint32_t begin, uint32_t end, pyro_part *part)
{
    const pyro_program *program = b->graph->program;
    int64_t received = 0;
    for (uint32_t s = begin; s < end; s++) {
        const pyro_flow_step *step = &program->steps[s];
        for (uint32_t u = 0; u < step->use_count; u++) {
            const pyro_flow_value *value =
                &program->values[program->uses[step->first_use + u].value];
            if (value->weight != PYRO_NONE) {
                add_weight(b, value->weight, part);
                continue;
            }
            pyro_memory_use *memory = &b->memories[value->memory];
            if (memory->part != b->part) {
                memory->part = b->part;
                memory->is_here = memory->born == PYRO_NONE || memory->born < begin;
                received = plus(received, memory->is_here ? memory->bytes : 0);
                if (memory->is_here && memory->born != PYRO_NONE)
                    part->received_bytes = plus(part->received_bytes, memory->bytes);
            }
            memory->last_in_part = s;
        }
    }
    return received;
}

/* Memory is live from its first value on; what later parts use stays live to the end. */
static int64_t most_alive(pyro_blocks *b, uint32_t begin, uint32_t end, int64_t alive)
{
    const pyro_program *program = b->graph->program;
    int64_t most = alive;
    for (uint32_t s = begin; s < end; s++) {
        const pyro_flow_step *step = &program->steps[s];
        for (uint32_t m = 0; m < step->made_count; m++) {
            pyro_memory_use *memory =
                &b->memories[program->values[program->made[step->first_made + m]].memory];
            if (memory->part != b->part) {
                memory->part = b->part;
                memory->is_here = false;
                memory->last_in_part = s;
            }
            if (!memory->is_here && memory->born == s) {
                memory->is_here = true;
                alive = plus(alive, memory->bytes);
            }
            if (memory->last_in_part < s)
                memory->last_in_part = s;
        }
        most = alive > most ? alive : most;
        for (uint32_t i = 0; i < step->use_count + step->made_count; i++) {
            uint32_t value = i < step->use_count
                                 ? program->uses[step->first_use + i].value
                                 : program->made[step->first_made + i - step->use_count];
            pyro_memory_use *memory = &b->memories[program->values[value].memory];
            bool came_from_before = memory->born == PYRO_NONE || memory->born < begin;
            if (program->values[value].weight == PYRO_NONE && memory->is_here &&
                memory->last_in_part == s && (memory->last_use < end || came_from_before)) {
                memory->is_here = false;
                alive -= memory->bytes;
            }
        }
    }
    return most;
}

void pyro_blocks_measure(pyro_blocks *b, size_t first, size_t last, pyro_part *part)
{
    uint32_t begin = (uint32_t)b->first_step[first], end = (uint32_t)b->first_step[last + 1];
    *part = (pyro_part){.first = b->node[first], .last = b->node[last]};
    part->amount = b->amount_before[last + 1] - b->amount_before[first];
    b->part++;
    int64_t alive = receive(b, begin, end, part);
    part->memory_bytes = plus(part->memory_bytes, most_alive(b, begin, end, alive));
}
