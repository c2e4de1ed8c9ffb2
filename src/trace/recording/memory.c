/* Joins memory events of a recording in order of time: sizes of frees, and bytes in use. */
#include "trace/recording/recording.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <stdlib.h>

typedef struct memory_change {
    int64_t time_ns;
    uint32_t row, detail;
} memory_change;

/* A device whose totals were not reported. */
typedef struct held {
    int16_t type, index;
    int64_t bytes;
} held;

typedef struct ledger {
    pyro_trace *trace;
    pyro_map live; /* address -> index of the allocation in trace->memory; of freed ones NOT_LIVE */
    held *devices;
    size_t device_count, device_capacity;
    int64_t unknown; /* frees of memory from before the recording */
} ledger;

#define NOT_LIVE (PYRO_MAP_NONE - 1)

static int by_time(const void *left, const void *right)
{
    const memory_change *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static uint64_t key_of(const pyro_memory_detail *memory)
{
    return (uint64_t)memory->address ^ (uint64_t)(uint16_t)memory->device_type << 56 ^
           (uint64_t)(uint16_t)memory->device_index << 48;
}

static held *device_of(ledger *ledger, const pyro_memory_detail *memory)
{
    for (size_t i = 0; i < ledger->device_count; i++)
        if (ledger->devices[i].type == memory->device_type &&
            ledger->devices[i].index == memory->device_index)
            return &ledger->devices[i];
    if (!pyro_grow(&ledger->devices, &ledger->device_capacity, ledger->device_count + 1,
                   sizeof *ledger->devices))
        return NULL;
    ledger->devices[ledger->device_count] = (held){memory->device_type, memory->device_index, 0};
    return &ledger->devices[ledger->device_count++];
}

/* Gives a free the size of its allocation; false when memory is out. */
static bool settle(ledger *ledger, uint32_t detail)
{
    pyro_memory_detail *memory = &ledger->trace->memory[detail];
    held *device = device_of(ledger, memory);
    if (!device)
        return false;
    if (memory->out_of_memory)
        return true;
    if (memory->bytes >= 0) {
        if (!pyro_map_put(&ledger->live, key_of(memory), detail))
            return false;
        if (__builtin_add_overflow(device->bytes, memory->bytes, &device->bytes))
            device->bytes = INT64_MAX;
    } else {
        uint32_t begun = pyro_map_get(&ledger->live, key_of(memory));
        bool known = begun < NOT_LIVE;
        if (known) {
            memory->bytes = -ledger->trace->memory[begun].bytes;
            device->bytes += memory->bytes;
            if (!pyro_map_put(&ledger->live, key_of(memory), NOT_LIVE))
                return false;
        } else if (memory->bytes == INT64_MIN) {
            memory->bytes = 0;
            ledger->unknown++;
        }
    }
    if (memory->total_allocated < 0)
        memory->total_allocated = device->bytes;
    return true;
}

/* Drops frees of unknown size whose allocation was not recorded. */
static void drop_empty(pyro_trace *trace)
{
    size_t kept = 0;
    for (size_t row = 0; row < trace->count; row++) {
        uint32_t detail = trace->detail[row];
        if (trace->category[row] == PYRO_EVENT_MEMORY && detail != PYRO_NO_ID &&
            trace->memory[detail].bytes == 0 && !trace->memory[detail].out_of_memory)
            continue;
        trace->start_ns[kept] = trace->start_ns[row];
        trace->duration_ns[kept] = trace->duration_ns[row];
        trace->name[kept] = trace->name[row];
        trace->correlation[kept] = trace->correlation[row];
        trace->external_id[kept] = trace->external_id[row];
        trace->detail[kept] = trace->detail[row];
        trace->track[kept] = trace->track[row];
        trace->category[kept++] = trace->category[row];
    }
    trace->count = kept;
}

int pyro_recording_join_memory(pyro_recording *recording)
{
    pyro_trace *trace = recording->trace;
    ledger ledger = {.trace = trace, .live = PYRO_MAP_INIT};
    size_t count = 0;
    if (trace->memory_count == 0)
        return PYRO_OK;
    memory_change *changes = malloc(trace->memory_count * sizeof *changes);
    bool ok = changes != NULL;
    for (size_t row = 0; ok && row < trace->count; row++)
        if (trace->category[row] == PYRO_EVENT_MEMORY)
            changes[count++] = (memory_change){trace->start_ns[row], (uint32_t)row,
                                               trace->detail[row]};
    if (ok)
        qsort(changes, count, sizeof *changes, by_time);
    for (size_t i = 0; ok && i < count; i++)
        ok = settle(&ledger, changes[i].detail);
    if (ok && ledger.unknown)
        drop_empty(trace);
    free(changes);
    free(ledger.devices);
    pyro_map_free(&ledger.live);
    return ok ? PYRO_OK : pyro_fail_memory(recording->error);
}
