/* Follows every allocation to its free. Frees of blocks from before the trace are not blocks. */
#include "analyze/memory/blocks.h"

#include "analyze/memory/memory.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define NO_BLOCK (PYRO_MAP_NONE - 1)

typedef struct following {
    pyro_memory_blocks *out;
    const pyro_trace *trace;
    const pyro_joins *joins;
    size_t capacity;
    pyro_map by_device;
    uint32_t device_count;
    pyro_map live; /* by device and address, or size: index of the block, or NO_BLOCK */
} following;

/* Numbers devices as the analysis does: in the order in which their events come. */
static bool number_device(following *f, const pyro_memory_detail *detail, uint32_t *number)
{
    int16_t index = detail->device_type == 0 ? 0 : detail->device_index;
    uint64_t key = (uint64_t)(uint16_t)detail->device_type << 16 | (uint16_t)index;

    *number = pyro_map_get(&f->by_device, key);
    if (*number != PYRO_MAP_NONE)
        return true;
    *number = f->device_count++;
    return pyro_map_put(&f->by_device, key, *number);
}

static bool is_usable(const pyro_memory_detail *detail)
{
    return !detail->out_of_memory && detail->bytes != 0 &&
           detail->bytes <= PYRO_MEMORY_LARGEST_BYTES &&
           detail->bytes >= -PYRO_MEMORY_LARGEST_BYTES &&
           detail->total_allocated <= PYRO_MEMORY_LARGEST_BYTES;
}

static uint64_t key_of(const pyro_memory_detail *detail, uint32_t device)
{
    if (detail->address)
        return (uint64_t)detail->address ^ (uint64_t)device << 56;
    return (uint64_t)(detail->bytes < 0 ? -detail->bytes : detail->bytes) ^ (uint64_t)device << 56 ^
           1ull << 63;
}

static void name_owner(const following *f, pyro_memory_block *block, uint32_t event,
                       const pyro_memory_detail *detail)
{
    uint32_t op = f->joins->op[event], call = f->joins->call[event];

    block->layer = "";
    if (detail->is_held) {
        block->layer = detail->holder_layer != PYRO_NO_ID
                           ? pyro_trace_text(f->trace, detail->holder_layer)
                           : "";
        block->op = detail->holder_op;
        return;
    }
    if (call != PYRO_NO_LAYER)
        block->layer = f->joins->layers[f->joins->calls[call].layer].path;
    block->op = op != PYRO_NO_EVENT ? f->trace->name[op] : PYRO_NO_ID;
}

static bool add_block(following *f, uint32_t event, const pyro_memory_detail *detail,
                      uint32_t device)
{
    pyro_memory_blocks *out = f->out;
    uint64_t key = key_of(detail, device);
    uint32_t before = pyro_map_get(&f->live, key);
    bool has_before = before != PYRO_MAP_NONE && before != NO_BLOCK;

    /* An address that is given out again was freed, whether the trace holds that or not. */
    if (has_before && detail->address)
        out->blocks[before].end_ns = f->trace->start_ns[event];
    if (out->count >= NO_BLOCK ||
        !pyro_grow(&out->blocks, &f->capacity, out->count + 1, sizeof *out->blocks))
        return false;
    pyro_memory_block *block = &out->blocks[out->count];
    *block = (pyro_memory_block){.start_ns = f->trace->start_ns[event],
                                 .end_ns = INT64_MAX,
                                 .bytes = detail->bytes,
                                 .device = device,
                                 .below = has_before && !detail->address ? before : NO_BLOCK};
    name_owner(f, block, event, detail);
    return pyro_map_put(&f->live, key, (uint32_t)out->count++);
}

static bool end_block(following *f, uint32_t event, const pyro_memory_detail *detail,
                      uint32_t device)
{
    uint64_t key = key_of(detail, device);
    uint32_t index = pyro_map_get(&f->live, key);

    if (index == PYRO_MAP_NONE || index == NO_BLOCK)
        return true;
    f->out->blocks[index].end_ns = f->trace->start_ns[event];
    return pyro_map_put(&f->live, key, f->out->blocks[index].below);
}

static bool follow(following *f, uint32_t event)
{
    uint32_t index = f->trace->detail[event], device;
    const pyro_memory_detail *detail = index == PYRO_NO_ID ? NULL : &f->trace->memory[index];

    if (!detail || (!detail->out_of_memory && !is_usable(detail)))
        return true;
    if (!number_device(f, detail, &device))
        return false;
    if (detail->out_of_memory)
        return true;
    return detail->bytes > 0 ? add_block(f, event, detail, device)
                             : end_block(f, event, detail, device);
}

/* Keeps the largest blocks. */
static void limit_blocks(pyro_memory_blocks *out, size_t max_blocks)
{
    size_t larger[64] = {0}, sum = 0, kept = 0;
    int bit;

    if (out->count <= max_blocks)
        return;
    for (size_t i = 0; i < out->count; i++)
        larger[63 - __builtin_clzll((uint64_t)out->blocks[i].bytes | 1)]++;
    for (bit = 63; bit > 0 && sum + larger[bit] <= max_blocks; bit--)
        sum += larger[bit];
    out->least_bytes = (int64_t)1 << (bit < 62 ? bit + 1 : 62);
    for (size_t i = 0; i < out->count; i++) {
        if (out->blocks[i].bytes >= out->least_bytes)
            out->blocks[kept++] = out->blocks[i];
    }
    out->left_out = (int64_t)(out->count - kept);
    out->count = kept;
}

int pyro_memory_blocks_make(pyro_memory_blocks *out, const pyro_trace *trace,
                            const pyro_joins *joins, size_t max_blocks, pyro_error *error)
{
    following f = {.out = out, .trace = trace, .joins = joins};
    bool good = true;

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < trace->count && good; i++) {
        uint32_t event = joins->by_time[i];
        if (trace->category[event] == PYRO_EVENT_MEMORY)
            good = follow(&f, event);
    }
    limit_blocks(out, max_blocks);
    pyro_map_free(&f.by_device);
    pyro_map_free(&f.live);
    if (good)
        return PYRO_OK;
    pyro_memory_blocks_free(out);
    return pyro_fail_memory(error);
}

void pyro_memory_blocks_free(pyro_memory_blocks *blocks)
{
    free(blocks->blocks);
    memset(blocks, 0, sizeof *blocks);
}
