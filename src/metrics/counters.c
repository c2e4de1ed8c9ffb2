/* Adds records to the counters. */
#include "metrics/counters.h"

#include "analyze/signature.h"
#include "base/containers/buf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define USER_SCOPE 7 /* at::RecordScope */
#define MOST_DEVICES 256
#define MOST_THREADS 65536
#define CUDA 1

static const struct {
    const char *counter, *series;
} gpu_values[] = {
#define VALUE(id, counter, series) {counter, series},
    PYRO_GPU_VALUES(VALUE)
#undef VALUE
};

bool pyro_counters_init(pyro_counters *counters)
{
    *counters = (pyro_counters){.signature = malloc(sizeof *counters->signature)};
    counters->has_index = pyro_op_index_init(&counters->index);
    return counters->has_index && counters->signature;
}

void pyro_counters_begin(pyro_counters *counters)
{
    pyro_map_free(&counters->price_of);
    pyro_map_free(&counters->thread_of);
    counters->price_of = counters->thread_of = (pyro_map)PYRO_MAP_INIT;
    counters->price_count = counters->thread_count = 0;
    pyro_live_blocks_free(&counters->blocks);
    /* Another session's clock may be another one. */
    for (size_t i = 0; i < counters->device_count; i++)
        counters->devices[i].last_end_raw = 0;
}

void pyro_counters_free(pyro_counters *counters)
{
    pyro_counters_begin(counters);
    free(counters->prices);
    free(counters->threads);
    free(counters->work);
    free(counters->devices);
    free(counters->signature);
    if (counters->has_index)
        pyro_op_index_free(&counters->index);
    *counters = (pyro_counters){0};
}

static pyro_open_op *thread_of(pyro_counters *counters, uint32_t number)
{
    uint32_t at = pyro_map_get(&counters->thread_of, number);
    if (at != PYRO_MAP_NONE)
        return &counters->threads[at];
    if (counters->thread_count >= MOST_THREADS ||
        !pyro_grow(&counters->threads, &counters->thread_capacity, counters->thread_count + 1,
                   sizeof *counters->threads) ||
        !pyro_map_put(&counters->thread_of, number, (uint32_t)counters->thread_count))
        return NULL;
    counters->threads[counters->thread_count] = (pyro_open_op){.thread = number};
    return &counters->threads[counters->thread_count++];
}

static pyro_device_count *device_of(pyro_counters *counters, int16_t type, int16_t index)
{
    for (size_t i = 0; i < counters->device_count; i++)
        if (counters->devices[i].type == type && counters->devices[i].index == index)
            return &counters->devices[i];
    if (counters->device_count >= MOST_DEVICES ||
        !pyro_grow(&counters->devices, &counters->device_capacity, counters->device_count + 1,
                   sizeof *counters->devices))
        return NULL;
    pyro_device_count *device = &counters->devices[counters->device_count++];
    *device = (pyro_device_count){
        .type = type, .index = index, .total_allocated = -1, .total_reserved = -1};
    for (size_t i = 0; i < PYRO_GPU_VALUE_COUNT; i++)
        device->samples[i] = NAN;
    return device;
}

static pyro_work_count *work_of(pyro_counters *counters, const pyro_call_price *price)
{
    for (size_t i = 0; i < counters->work_count; i++)
        if (counters->work[i].device_type == price->device_type &&
            counters->work[i].dtype == price->dtype)
            return &counters->work[i];
    if (!pyro_grow(&counters->work, &counters->work_capacity, counters->work_count + 1,
                   sizeof *counters->work))
        return NULL;
    pyro_work_count *work = &counters->work[counters->work_count++];
    *work = (pyro_work_count){.device_type = price->device_type, .dtype = price->dtype};
    return work;
}

/* Whether an op that starts now is part of the last one with work on its thread. */
static bool is_inside(pyro_open_op *thread, uint64_t start_raw)
{
    if (!thread->place.sequence)
        return false;
    if (!thread->end_raw)
        thread->end_raw = pyro_tail_end_raw(&thread->place);
    return !thread->end_raw || start_raw < thread->end_raw;
}

static void add_op(pyro_counters *counters, const pyro_tail_batch *batch, size_t at,
                   pyro_open_op *thread)
{
    const pyro_record *record = &batch->records[at];
    if (record->scope == USER_SCOPE || is_inside(thread, record->start_raw))
        return;
    const pyro_call_price *price = pyro_counters_price(counters, batch, record);
    pyro_work_count *work = NULL;
    if (price && (price->flops > 0 || price->bytes > 0))
        work = work_of(counters, price);
    if (!work) {
        counters->unpriced_ops += !price || price->flops < 0;
        return;
    }
    work->ops++;
    work->flops += price->flops > 0 ? (uint64_t)price->flops : 0;
    work->bytes += price->bytes > 0 ? (uint64_t)price->bytes : 0;
    pyro_record_place place = batch->first;
    place.record += at;
    thread->place = place;
    thread->end_raw = record->end_raw;
}

static void add_work_of_device(pyro_counters *counters, const pyro_tail_batch *batch,
                               const pyro_record *record)
{
    pyro_device_record work;
    memcpy(&work, record, sizeof work);
    pyro_device_count *device = work.work <= PYRO_DEVICE_SET
                                    ? device_of(counters, CUDA, (int16_t)work.device)
                                    : NULL;
    if (!device)
        return;
    device->kernels += work.work == PYRO_DEVICE_KERNEL;
    device->copies += work.work == PYRO_DEVICE_COPY;
    device->sets += work.work == PYRO_DEVICE_SET;
    if (work.work == PYRO_DEVICE_COPY && work.bytes > 0)
        device->copied_bytes += (uint64_t)work.bytes;
    /* Streams overlap: only what reaches beyond the work so far is new. */
    uint64_t from = work.start_raw > device->last_end_raw ? work.start_raw : device->last_end_raw;
    if (work.end_raw > from) {
        device->busy_seconds += (double)(work.end_raw - from) / batch->raw_per_ns / 1e9;
        device->last_end_raw = work.end_raw;
    }
}

static void add_memory(pyro_counters *counters, const pyro_record *record)
{
    pyro_memory_record memory;
    memcpy(&memory, record, sizeof memory);
    pyro_device_count *device = device_of(counters, memory.device_type, memory.device_index);
    if (!device)
        return;
    device->failed_allocations += memory.out_of_memory != 0;
    if (!memory.out_of_memory && memory.bytes > 0) {
        device->allocations++;
        device->allocated_bytes += (uint64_t)memory.bytes;
    }
    if (memory.total_allocated >= 0)
        device->total_allocated = memory.total_allocated;
    if (memory.total_reserved >= 0)
        device->total_reserved = memory.total_reserved;
}

/* A sample's name is its counter, then a line per value. */
static void add_sample(pyro_counters *counters, const pyro_tail_batch *batch,
                       const pyro_record *record)
{
    pyro_counter_record sample;
    memcpy(&sample, record, sizeof sample);
    const pyro_recorded_data *name = pyro_recorded_get(batch->tables, PYRO_DATA_NAME, sample.name);
    pyro_device_count *device = device_of(counters, CUDA, (int16_t)sample.device);
    if (!name->bytes || !device || sample.count > PYRO_COUNTER_VALUES)
        return;
    for (size_t first = 0; first < PYRO_GPU_VALUE_COUNT; first++) {
        size_t length = strlen(gpu_values[first].counter);
        if (name->length <= length || memcmp(name->bytes, gpu_values[first].counter, length) != 0 ||
            name->bytes[length] != '\n')
            continue;
        for (size_t i = 0; i < sample.count && first + i < PYRO_GPU_VALUE_COUNT; i++)
            device->samples[first + i] = sample.values[i];
        return;
    }
}

void pyro_counters_add(pyro_counters *counters, const pyro_tail_batch *batch)
{
    pyro_open_op *thread = thread_of(counters, batch->chunk->thread);
    for (size_t i = 0; i < batch->count && thread; i++) {
        const pyro_record *record = &batch->records[i];
        switch (record->kind) {
        case PYRO_RECORD_THREAD:
            thread = thread_of(counters, record->name);
            break;
        case PYRO_RECORD_OP:
            add_op(counters, batch, i, thread);
            break;
        case PYRO_RECORD_ALLOCATION:
            add_memory(counters, record);
            break;
        case PYRO_RECORD_DEVICE:
            add_work_of_device(counters, batch, record);
            break;
        case PYRO_RECORD_COUNTER:
            add_sample(counters, batch, record);
            break;
        default:
            break;
        }
    }
    pyro_live_blocks_add(&counters->blocks, batch->chunk, batch->records, batch->count, UINT64_MAX);
}
