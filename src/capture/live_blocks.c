/* Follows spans, allocations and nodes of graphs in a recording, record by record. */
#include "capture/live_blocks.h"

#include "base/containers/buf.h"

#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 4096
#define SMALL_LIST 4096
#define MOST_NODES ((size_t)1 << 20)

static uint64_t key_of(const pyro_memory_record *memory)
{
    return memory->address ^ (uint64_t)(uint16_t)memory->device_type << 56 ^
           (uint64_t)(uint16_t)memory->device_index << 48;
}

/* NULL if memory is out. The oldest threads have most likely ended. */
static pyro_live_thread *thread_of(pyro_live_blocks *blocks, uint32_t number)
{
    for (size_t i = blocks->thread_count; i-- > 0;)
        if (blocks->threads[i].number == number)
            return &blocks->threads[i];
    if (blocks->thread_count >= MOST_THREADS)
        blocks->thread_count = 0;
    if (!pyro_grow(&blocks->threads, &blocks->thread_capacity, blocks->thread_count + 1,
                   sizeof *blocks->threads)) {
        blocks->failed = true;
        return NULL;
    }
    pyro_live_thread *thread = &blocks->threads[blocks->thread_count++];
    thread->number = number;
    thread->depth = 0;
    return thread;
}

/* Drops the spans that ended before a time, with all inside them. */
static void end_spans(pyro_live_thread *thread, uint64_t raw)
{
    for (uint32_t i = 0; i < thread->depth; i++) {
        if (thread->spans[i].end_raw <= raw) {
            thread->depth = i;
            return;
        }
    }
}

static void add_span(pyro_live_thread *thread, const pyro_record *record)
{
    end_spans(thread, record->start_raw);
    if (thread->depth < PYRO_LIVE_DEPTH)
        thread->spans[thread->depth++] = (pyro_live_span){
            .end_raw = record->end_raw ? record->end_raw : UINT64_MAX,
            .name = record->name,
            .is_layer = record->kind == PYRO_RECORD_LAYER};
}

/* The innermost layer and op. */
static void find_owner(const pyro_live_thread *thread, uint32_t *module, uint32_t *op)
{
    for (uint32_t i = thread->depth; i-- > 0;) {
        const pyro_live_span *span = &thread->spans[i];
        if (span->is_layer) {
            *module = span->name;
            return;
        }
        if (!*op)
            *op = span->name;
    }
}

static void add_node(pyro_live_blocks *blocks, pyro_live_thread *thread, const pyro_record *record)
{
    pyro_graph_node_record recorded;
    memcpy(&recorded, record, sizeof recorded);
    pyro_live_node node = {.node = recorded.node, .original = recorded.original};
    end_spans(thread, recorded.start_raw);
    if (!node.original)
        find_owner(thread, &node.module, &node.op);
    uint32_t index = pyro_map_get(&blocks->by_node, node.node);
    if (index == PYRO_MAP_NONE) {
        index = (uint32_t)blocks->node_count;
        if (blocks->node_count >= MOST_NODES ||
            !pyro_grow(&blocks->nodes, &blocks->node_capacity, blocks->node_count + 1,
                       sizeof *blocks->nodes) ||
            !pyro_map_put(&blocks->by_node, node.node, index)) {
            blocks->failed = true;
            return;
        }
        blocks->node_count++;
    }
    blocks->nodes[index] = node;
}

static void add_memory(pyro_live_blocks *blocks, pyro_live_thread *thread,
                       const pyro_record *record)
{
    pyro_memory_record memory;
    memcpy(&memory, record, sizeof memory);
    if (memory.out_of_memory || memory.bytes == 0)
        return;
    pyro_live_block block = {.address = memory.address,
                             .raw = memory.start_raw,
                             .bytes = memory.bytes > 0 ? memory.bytes : 0,
                             .device_type = memory.device_type,
                             .device_index = memory.device_index};
    end_spans(thread, memory.start_raw);
    if (block.bytes)
        find_owner(thread, &block.module, &block.op);
    uint64_t key = key_of(&memory);
    uint32_t index = pyro_map_get(&blocks->by_address, key);
    if (index == PYRO_MAP_NONE) {
        index = (uint32_t)blocks->count;
        if (!pyro_grow(&blocks->items, &blocks->capacity, blocks->count + 1,
                       sizeof *blocks->items) ||
            !pyro_map_put(&blocks->by_address, key, index)) {
            blocks->failed = true;
            return;
        }
        blocks->items[blocks->count++] = (pyro_live_block){0};
    }
    /* Another thread's chunk may hold what happened earlier. */
    if (blocks->items[index].raw > block.raw)
        return;
    blocks->live += (block.bytes != 0) - (size_t)(blocks->items[index].bytes != 0);
    blocks->items[index] = block;
}

/* Forgets freed blocks once they are many, except those that an earlier record may still change. */
static void tidy(pyro_live_blocks *blocks, uint64_t before_raw)
{
    if (blocks->count < SMALL_LIST || blocks->count < 2 * blocks->live)
        return;
    pyro_map fresh = PYRO_MAP_INIT;
    size_t kept = 0;
    for (size_t i = 0; i < blocks->count; i++) {
        pyro_live_block *block = &blocks->items[i];
        if (!block->bytes && block->raw < before_raw)
            continue;
        pyro_memory_record memory = {.address = block->address,
                                     .device_type = block->device_type,
                                     .device_index = block->device_index};
        blocks->failed |= !pyro_map_put(&fresh, key_of(&memory), (uint32_t)kept);
        blocks->items[kept++] = *block;
    }
    blocks->count = kept;
    pyro_map_free(&blocks->by_address);
    blocks->by_address = fresh;
}

void pyro_live_blocks_add(pyro_live_blocks *blocks, const pyro_chunk_header *chunk,
                          const pyro_record *records, size_t count, uint64_t before_raw)
{
    pyro_live_thread *thread = thread_of(blocks, chunk->thread);
    for (size_t i = 0; i < count && thread; i++) {
        const pyro_record *record = &records[i];
        if (__atomic_load_n(&record->tag, __ATOMIC_ACQUIRE) != (uint32_t)chunk->sequence ||
            record->start_raw >= before_raw)
            break;
        switch (record->kind) {
        case PYRO_RECORD_THREAD:
            thread = thread_of(blocks, record->name);
            break;
        case PYRO_RECORD_OP:
        case PYRO_RECORD_LAYER:
            add_span(thread, record);
            break;
        case PYRO_RECORD_ALLOCATION:
            add_memory(blocks, thread, record);
            break;
        case PYRO_RECORD_GRAPH_NODE:
            add_node(blocks, thread, record);
            break;
        default:
            break;
        }
    }
    tidy(blocks, chunk->first_raw);
}

static void copy_nodes(pyro_live_blocks *to, const pyro_live_blocks *from)
{
    for (size_t i = 0; i < from->node_count && !to->failed; i++) {
        to->failed = !pyro_map_put(&to->by_node, from->nodes[i].node, (uint32_t)i);
        to->nodes[to->node_count++] = from->nodes[i];
    }
}

void pyro_live_blocks_copy(pyro_live_blocks *to, const pyro_live_blocks *from)
{
    *to = (pyro_live_blocks){.live = from->live, .failed = from->failed};
    if (!pyro_grow(&to->items, &to->capacity, from->count + 1, sizeof *to->items) ||
        !pyro_grow(&to->nodes, &to->node_capacity, from->node_count + 1, sizeof *to->nodes) ||
        !pyro_grow(&to->threads, &to->thread_capacity, from->thread_count + 1,
                   sizeof *to->threads)) {
        to->failed = true;
        return;
    }
    copy_nodes(to, from);
    for (size_t i = 0; i < from->count; i++) {
        const pyro_live_block *block = &from->items[i];
        pyro_memory_record memory = {.address = block->address,
                                     .device_type = block->device_type,
                                     .device_index = block->device_index};
        if (!pyro_map_put(&to->by_address, key_of(&memory), (uint32_t)to->count)) {
            to->failed = true;
            break;
        }
        to->items[to->count++] = *block;
    }
    if (from->thread_count)
        memcpy(to->threads, from->threads, from->thread_count * sizeof *to->threads);
    to->thread_count = from->thread_count;
}

void pyro_live_blocks_free(pyro_live_blocks *blocks)
{
    pyro_map_free(&blocks->by_address);
    pyro_map_free(&blocks->by_node);
    free(blocks->items);
    free(blocks->nodes);
    free(blocks->threads);
    *blocks = (pyro_live_blocks){0};
}
