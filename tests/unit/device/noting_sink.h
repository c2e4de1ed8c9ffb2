/* A sink of the collector that keeps what it gets, and a recorder in which launches are written. */
#ifndef PYRO_TESTS_NOTING_SINK_H
#define PYRO_TESTS_NOTING_SINK_H

#include "device/collector.h"

#include <pyrometer/capture.h>

#define NOTED_MOST 40000
#define NOTED_RECORDS 64

/* Counts go on where an array is full. */
typedef struct noted_work_and_calls {
    pyro_device_work works[NOTED_MOST], last_work;
    char names[64][80];
    pyro_device_call calls[NOTED_MOST];
    uint64_t call_times[NOTED_MOST];
    uint64_t nodes[64], originals[64];
    size_t work_count, call_count, end_count, node_count, failed_count, captured_count;
    uint64_t ahead_ns; /* what tests add to the sink's clock */
    pyro_recorder_api recorder;
    pyro_record records[NOTED_RECORDS];
    pyro_recorder_thread written; /* of the launches that are written as a whole, into `records` */
    pyro_recorder_thread *writer;
} noted_work_and_calls;

extern noted_work_and_calls noted;
extern const pyro_device_sink noting_sink;

/* Of each test: forgets everything, launches are not written; and stops the collector at the end. */
int noting_sink_begin(void **state);
int noting_sink_end(void **state);
/* Starts the collector with this sink and all records. */
void noting_sink_start(void);
/* From now on launches of a known kind are written, or are not. */
void noting_sink_take_launches(bool takes);
size_t noting_sink_written(void);
/* The sink's clock. */
uint64_t noting_sink_now(void);

#endif
