/*
 * Counts what a program does from the records of its session. FLOPs and bytes are those of the
 * outermost ops that ops.def has a rule for, as in the analysis of a trace.
 */
#ifndef PYRO_METRICS_COUNTERS_H
#define PYRO_METRICS_COUNTERS_H

#include "base/containers/map.h"
#include "base/text/exposition.h"
#include "capture/live_blocks.h"
#include "capture/tail.h"
#include "graph/ops.h"
#include <pyrometer/error.h>
#include <pyrometer/gpu_counters.h>

/* Sums that outgrow 64 bits within hours on a fast device. */
__extension__ typedef unsigned __int128 pyro_large_count;

/* Work of ops on one kind of device, of one type of elements. */
typedef struct pyro_work_count {
    uint8_t device_type; /* c10's number */
    uint8_t dtype;       /* pyro_dtype */
    uint64_t ops;
    pyro_large_count flops, bytes;
} pyro_work_count;

typedef struct pyro_device_count {
    int16_t type, index; /* c10's numbers; index -1: the only one */
    uint64_t kernels, copies, sets, allocations, failed_allocations;
    pyro_large_count copied_bytes, allocated_bytes;
    uint64_t last_end_raw; /* of its work */
    double busy_seconds;
    int64_t total_allocated, total_reserved; /* as reported; -1: unknown */
    double samples[PYRO_GPU_VALUE_COUNT];    /* the newest; NaN: unknown */
} pyro_device_count;

/* What one call of an op costs, by its name and inputs. */
typedef struct pyro_call_price {
    int64_t flops, bytes; /* -1: unknown */
    uint8_t device_type, dtype;
} pyro_call_price;

/* The outermost op with work that was seen last on a thread. */
typedef struct pyro_open_op {
    uint32_t thread;
    uint64_t end_raw; /* 0: not known yet */
    pyro_record_place place;
} pyro_open_op;

typedef struct pyro_counters {
    pyro_work_count *work;
    size_t work_count, work_capacity;
    pyro_device_count *devices;
    size_t device_count, device_capacity;
    uint64_t unpriced_ops; /* outermost ops without a rule or without shapes */
    /* The rest is of one session. */
    pyro_map price_of; /* name and inputs -> prices */
    pyro_call_price *prices;
    size_t price_count, price_capacity;
    pyro_map thread_of; /* number -> threads */
    pyro_open_op *threads;
    size_t thread_count, thread_capacity;
    pyro_live_blocks blocks;
    pyro_op_index index;
    bool has_index;
    struct pyro_signature *signature;
} pyro_counters;

/* False if memory runs out. */
bool pyro_counters_init(pyro_counters *counters);
/* A session begins. */
void pyro_counters_begin(pyro_counters *counters);
void pyro_counters_add(pyro_counters *counters, const pyro_tail_batch *batch);
void pyro_counters_free(pyro_counters *counters);

/* prices.c: the price of an op's call, from a table by name and inputs. */
const pyro_call_price *pyro_counters_price(pyro_counters *counters, const pyro_tail_batch *batch,
                                           const pyro_record *record);
/* write.c */
void pyro_counters_write(pyro_buf *buf, pyro_exposition format, const pyro_counters *counters,
                         const pyro_step_counts *steps, const pyro_tail_losses *losses);

#endif
