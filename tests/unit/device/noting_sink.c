#include "noting_sink.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

noted_work_and_calls noted = {.recorder = {.generation = 1}};

uint64_t noting_sink_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec + noted.ahead_ns;
}

static double ns_per_unit(void)
{
    return 1;
}

static pyro_call_kind call_begins(const pyro_device_call *call, uint32_t correlation,
                                  uint64_t begun)
{
    (void)correlation;
    if (noted.call_count < NOTED_MOST) {
        noted.call_times[noted.call_count] = begun;
        noted.calls[noted.call_count] = *call;
    }
    noted.call_count++;
    return (pyro_call_kind){.head = noted.recorder.is_resting ? 0 : call->number,
                            .session = noted.recorder.generation,
                            .writer = &noted.writer};
}

static void call_ends(const pyro_device_call *call, uint32_t correlation, pyro_call_outcome outcome)
{
    (void)call;
    (void)correlation;
    noted.end_count++;
    noted.failed_count += outcome.failed;
    noted.captured_count += outcome.is_captured;
}

static void node_added(uint64_t node, uint64_t original)
{
    if (noted.node_count < sizeof noted.nodes / sizeof *noted.nodes) {
        noted.nodes[noted.node_count] = node;
        noted.originals[noted.node_count] = original;
    }
    noted.node_count++;
}

static void nothing(void)
{
}

static void add_work(const pyro_device_work *work)
{
    if (noted.work_count < sizeof noted.names / sizeof *noted.names)
        snprintf(noted.names[noted.work_count], sizeof noted.names[0], "%s", work->name);
    if (noted.work_count < NOTED_MOST)
        noted.works[noted.work_count] = *work;
    noted.last_work = *work;
    noted.work_count++;
}

const pyro_device_sink noting_sink = {.now = noting_sink_now,
                                      .ns_per_unit = ns_per_unit,
                                      .recorder = &noted.recorder,
                                      .call_begins = call_begins,
                                      .call_ends = call_ends,
                                      .node_added = node_added,
                                      .work_begins = nothing,
                                      .work = add_work,
                                      .work_ends = nothing};

void noting_sink_take_launches(bool takes)
{
    noted.recorder.is_resting = !takes;
}

size_t noting_sink_written(void)
{
    return (size_t)(noted.written.next - noted.records);
}

int noting_sink_begin(void **state)
{
    (void)state;
    noted.work_count = noted.call_count = noted.end_count = noted.node_count = 0;
    noted.failed_count = noted.captured_count = 0;
    memset(noted.records, 0, sizeof noted.records);
    noted.written.next = noted.records;
    noted.written.end = noted.records + NOTED_RECORDS;
    noted.written.busy = 0;
    noted.writer = &noted.written;
    noting_sink_take_launches(false);
    unsetenv("PYRO_STUB_CUPTI");
    return 0;
}

int noting_sink_end(void **state)
{
    (void)state;
    pyro_collector_stop();
    unsetenv("PYRO_STUB_CUPTI");
    return 0;
}

void noting_sink_start(void)
{
    assert_int_equal(pyro_collector_start(&noting_sink, PYRO_COLLECT_ALL), PYRO_COLLECTOR_ON);
}
