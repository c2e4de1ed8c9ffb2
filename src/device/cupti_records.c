/* Layouts of CUPTI's records, and what their codes mean. */
#include "device/cupti_records.h"

#include "device/cupti.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PREFIX __attribute__((packed, aligned(8)))

/* Of CUDA 11.6; all later ones begin with it. */
typedef struct PREFIX kernel_prefix {
    uint32_t kind;
    uint8_t cache, shared_configuration;
    uint16_t registers;
    int32_t cache_requested, cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared_bytes, dynamic_shared_bytes;
    uint32_t local_bytes_per_thread, local_bytes;
    uint32_t correlation;
    int64_t grid_id;
    uint64_t name, reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit;
    uint32_t graph;
} kernel_prefix;

/* Of CUDA 11.1. */
typedef struct PREFIX memcpy_prefix {
    uint32_t kind;
    uint8_t copy, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t correlation, runtime_correlation, padding;
    uint64_t reserved;
    uint64_t graph_node;
    uint32_t graph;
} memcpy_prefix;

typedef struct PREFIX peer_memcpy_prefix {
    uint32_t kind;
    uint8_t copy, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context, target_device, target_context;
    uint32_t correlation;
    uint64_t reserved;
    uint64_t graph_node;
    uint32_t graph;
} peer_memcpy_prefix;

typedef struct PREFIX memset_prefix {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint16_t flags, memory;
    uint32_t padding;
    uint64_t reserved;
    uint64_t graph_node;
    uint32_t graph;
} memset_prefix;

typedef struct PREFIX synchronization_prefix {
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
} synchronization_prefix;

typedef struct PREFIX overhead_prefix {
    uint32_t kind, overhead, object;
    uint32_t object_id[3];
    uint64_t start, end;
} overhead_prefix;

_Static_assert(offsetof(kernel_prefix, start) == 16 && offsetof(kernel_prefix, grid) == 52 &&
                   offsetof(kernel_prefix, correlation) == 92 &&
                   offsetof(kernel_prefix, name) == 104 &&
                   offsetof(kernel_prefix, graph_node) == 144 &&
                   offsetof(kernel_prefix, graph) == 156,
               "CUpti_ActivityKernel7");
_Static_assert(offsetof(memcpy_prefix, correlation) == 44 &&
                   offsetof(memcpy_prefix, graph_node) == 64 &&
                   offsetof(peer_memcpy_prefix, correlation) == 60 &&
                   offsetof(peer_memcpy_prefix, graph_node) == 72 &&
                   offsetof(memset_prefix, memory) == 50 &&
                   offsetof(memset_prefix, graph_node) == 64,
               "CUpti_ActivityMemcpy4, CUpti_ActivityMemcpyPtoP3, CUpti_ActivityMemset3");
_Static_assert(offsetof(synchronization_prefix, correlation) == 24 &&
                   offsetof(overhead_prefix, start) == 24,
               "CUpti_ActivitySynchronization, CUpti_ActivityOverhead");

/* Limits of any device; a record beyond them has another layout than expected. */
#define MOST_DEVICES 1024
#define MOST_THREADS_PER_BLOCK 1024
#define MOST_SHARED_BYTES (1 << 24)

static bool is_block(const int32_t *block)
{
    if (block[0] < 1 || block[1] < 1 || block[2] < 1 || block[0] > MOST_THREADS_PER_BLOCK ||
        block[1] > MOST_THREADS_PER_BLOCK || block[2] > MOST_THREADS_PER_BLOCK)
        return false;
    return (int64_t)block[0] * block[1] * block[2] <= MOST_THREADS_PER_BLOCK;
}

static bool read_kernel(const void *bytes, pyro_device_work *work)
{
    kernel_prefix record;
    memcpy(&record, bytes, sizeof record);
    *work = (pyro_device_work){.kind = PYRO_WORK_KERNEL,
                               .start = record.start,
                               .end = record.end,
                               .device = record.device,
                               .stream = record.stream,
                               .correlation = record.correlation,
                               .name = (const char *)(uintptr_t)record.name,
                               .registers = record.registers,
                               .static_shared_bytes = (uint32_t)record.static_shared_bytes,
                               .dynamic_shared_bytes = (uint32_t)record.dynamic_shared_bytes,
                               .graph = record.graph,
                               .graph_node = record.graph_node};
    for (int i = 0; i < 3; i++) {
        work->grid[i] = (uint32_t)record.grid[i];
        work->block[i] = (uint32_t)record.block[i];
    }
    return record.grid[0] > 0 && record.grid[1] > 0 && record.grid[2] > 0 &&
           is_block(record.block) && record.static_shared_bytes >= 0 &&
           record.static_shared_bytes < MOST_SHARED_BYTES && record.dynamic_shared_bytes >= 0 &&
           record.dynamic_shared_bytes < MOST_SHARED_BYTES;
}

static bool read_memcpy(const void *bytes, pyro_device_work *work)
{
    memcpy_prefix record;
    memcpy(&record, bytes, sizeof record);
    *work = (pyro_device_work){.kind = PYRO_WORK_COPY,
                               .start = record.start,
                               .end = record.end,
                               .device = record.device,
                               .stream = record.stream,
                               .correlation = record.correlation,
                               .bytes = record.bytes,
                               .graph = record.graph,
                               .graph_node = record.graph_node,
                               .copy = record.copy,
                               .from = record.from,
                               .to = record.to};
    return record.bytes <= INT64_MAX;
}

static bool read_peer_memcpy(const void *bytes, pyro_device_work *work)
{
    peer_memcpy_prefix record;
    memcpy(&record, bytes, sizeof record);
    *work = (pyro_device_work){.kind = PYRO_WORK_COPY,
                               .start = record.start,
                               .end = record.end,
                               .device = record.device,
                               .stream = record.stream,
                               .correlation = record.correlation,
                               .bytes = record.bytes,
                               .graph = record.graph,
                               .graph_node = record.graph_node,
                               .copy = record.copy,
                               .from = record.from,
                               .to = record.to};
    return record.bytes <= INT64_MAX;
}

static bool read_memset(const void *bytes, pyro_device_work *work)
{
    memset_prefix record;
    memcpy(&record, bytes, sizeof record);
    *work = (pyro_device_work){.kind = PYRO_WORK_SET,
                               .start = record.start,
                               .end = record.end,
                               .device = record.device,
                               .stream = record.stream,
                               .correlation = record.correlation,
                               .bytes = record.bytes,
                               .graph = record.graph,
                               .graph_node = record.graph_node,
                               .to = (uint8_t)record.memory};
    return record.bytes <= INT64_MAX;
}

static bool read_synchronization(const void *bytes, pyro_device_work *work)
{
    synchronization_prefix record;
    memcpy(&record, bytes, sizeof record);
    *work = (pyro_device_work){.kind = PYRO_WORK_SYNC,
                               .start = record.start,
                               .end = record.end,
                               .stream = record.stream,
                               .correlation = record.correlation,
                               .detail = record.type};
    return true;
}

static bool read_overhead(const void *bytes, pyro_device_work *work)
{
    overhead_prefix record;
    memcpy(&record, bytes, sizeof record);
    *work = (pyro_device_work){.kind = PYRO_WORK_OVERHEAD,
                               .start = record.start,
                               .end = record.end,
                               .stream = PYRO_ALL_STREAMS,
                               .detail = record.overhead};
    return true;
}

typedef struct record_reader {
    uint32_t kind;
    size_t size;
    bool (*read)(const void *bytes, pyro_device_work *work);
} record_reader;

static const record_reader readers[] = {
    {PYRO_CUPTI_CONCURRENT_KERNEL, sizeof(kernel_prefix), read_kernel},
    {PYRO_CUPTI_KERNEL, sizeof(kernel_prefix), read_kernel},
    {PYRO_CUPTI_MEMCPY, sizeof(memcpy_prefix), read_memcpy},
    {PYRO_CUPTI_PEER_MEMCPY, sizeof(peer_memcpy_prefix), read_peer_memcpy},
    {PYRO_CUPTI_MEMSET, sizeof(memset_prefix), read_memset},
    {PYRO_CUPTI_SYNCHRONIZATION, sizeof(synchronization_prefix), read_synchronization},
    {PYRO_CUPTI_OVERHEAD, sizeof(overhead_prefix), read_overhead},
};

pyro_record_reading pyro_cupti_read_record(const void *bytes, size_t room, pyro_device_work *work)
{
    uint32_t kind;
    if (room < sizeof kind)
        return PYRO_READING_BAD;
    memcpy(&kind, bytes, sizeof kind);
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (readers[i].kind != kind)
            continue;
        if (room < readers[i].size || !readers[i].read(bytes, work))
            return PYRO_READING_BAD;
        return work->end >= work->start && work->device < MOST_DEVICES ? PYRO_READING_WORK
                                                                       : PYRO_READING_BAD;
    }
    return PYRO_READING_IGNORED;
}

#define TEXT_OF(table, code) \
    ((code) < sizeof(table) / sizeof *(table) && (table)[code] ? (table)[code] : "Unknown")

static const char *memory_text(unsigned code)
{
    static const char *const memories[] = {"Unknown",       "Pageable",      "Pinned",
                                           "Device",        "Array",         "Managed",
                                           "Device Static", "Managed Static"};
    return TEXT_OF(memories, code);
}

static const char *overhead_text(uint32_t code)
{
    static const char *const overheads[] = {NULL,
                                            "Buffer Flush",
                                            "Instrumentation",
                                            "Resource",
                                            "Runtime Triggered Module Loading",
                                            "Lazy Function Loading",
                                            "Command Buffer Full",
                                            "Activity Buffer Request",
                                            "UVM Activity Initialization"};
    if (code == 1)
        return "Driver Compiler";
    return (code & 0xffff) == 0 ? TEXT_OF(overheads, code >> 16) : "Unknown";
}

void pyro_cupti_name_work(const pyro_device_work *work, char *text, size_t size)
{
    static const char *const copies[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                         "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
    static const char *const syncs[] = {"Unknown", "Event Sync", "Stream Wait Event", "Stream Sync",
                                        "Context Sync"};
    if (work->kind == PYRO_WORK_COPY)
        snprintf(text, size, "Memcpy %s (%s -> %s)", TEXT_OF(copies, work->copy),
                 memory_text(work->from), memory_text(work->to));
    else if (work->kind == PYRO_WORK_SET)
        snprintf(text, size, "Memset (%s)", memory_text(work->to));
    else if (work->kind == PYRO_WORK_SYNC)
        snprintf(text, size, "%s", TEXT_OF(syncs, work->detail));
    else if (work->kind == PYRO_WORK_OVERHEAD)
        snprintf(text, size, "%s", overhead_text(work->detail));
    else
        snprintf(text, size, "(unnamed kernel)");
}
