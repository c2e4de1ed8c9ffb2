/* Acts as an observer in tests of the recorder: spans, allocations, a small model's calls. */
#ifndef PYRO_TEST_RECORD_H
#define PYRO_TEST_RECORD_H

#include <pyrometer/capture.h>
#include <string.h>

#define TENSOR(dtype, rank) \
    ((uint64_t)PYRO_VALUE_TENSOR | (uint64_t)(dtype) << 8 | (uint64_t)(rank) << 32)
#define FLOAT32 6

/* ThreadSanitizer cannot follow a program that forks while it has threads; qemu aborts where the
 * child starts a thread (its assertion in qemu_plugin_vcpu_init_hook). */
#if defined(__SANITIZE_THREAD__) || defined(UNIT_EMULATED)
#define SKIP_IF_FORKS_ARE_NOT_FOLLOWED() skip()
#else
#define SKIP_IF_FORKS_ARE_NOT_FOLLOWED()
#endif

/* Teardown: a test that failed would leave its session to the next. */
static inline int stop_session(void **state)
{
    (void)state;
    pyro_recorder_stop(NULL);
    return 0;
}

/* No two spans begin within one tick of the clock, which takes 62 ns under qemu: the reader could not
 * tell whether the second is inside the first. Real spans are longer. */
static inline void wait_for_tick(const pyro_recorder_api *api)
{
    uint64_t before = pyro_raw_time(api);
    while (pyro_raw_time(api) == before)
        ;
}

static inline void begin_span(pyro_record record, const char *name, const uint64_t *inputs,
                              size_t words, const void *key)
{
    pyro_recorder_api *api = pyro_recorder_entrance();
    pyro_recorder_thread *thread = pyro_recorder_enter(api);
    if (!thread)
        return;
    pyro_record *room = pyro_record_room(api, thread);
    if (room) {
        /* The tag must not be visible before the record is complete. */
        memcpy(room, &record, offsetof(pyro_record, tag));
        if (name)
            room->name = api->name(thread, name);
        room->inputs = words ? api->signature(thread, inputs, words) : 0;
        wait_for_tick(api);
        room->start_raw = pyro_raw_time(api);
    }
    pyro_span_open(thread, room, key);
    if (room)
        pyro_record_commit(thread, room);
    pyro_recorder_leave(thread);
}

static inline void end_span(const void *key, const uint64_t *outputs, size_t words)
{
    pyro_recorder_api *api = pyro_recorder_entrance();
    pyro_recorder_thread *thread = pyro_recorder_enter(api);
    if (!thread)
        return;
    pyro_record *record = pyro_span_close(thread, key);
    if (record) {
        record->outputs = words ? api->signature(thread, outputs, words) : 0;
        record->end_raw = pyro_raw_time(api);
    }
    pyro_recorder_leave(thread);
}

static inline void record_memory(uint64_t address, int64_t bytes)
{
    pyro_recorder_api *api = pyro_recorder_entrance();
    pyro_recorder_thread *thread = pyro_recorder_enter(api);
    if (!thread)
        return;
    pyro_record *room = pyro_record_room(api, thread);
    if (room) {
        pyro_memory_record memory = {.start_raw = pyro_raw_time(api),
                                     .address = address,
                                     .bytes = bytes,
                                     .total_allocated = -1,
                                     .total_reserved = -1,
                                     .device_index = -1,
                                     .kind = PYRO_RECORD_ALLOCATION};
        memcpy(room, &memory, offsetof(pyro_memory_record, tag));
        pyro_record_commit(thread, room);
    }
    pyro_recorder_leave(thread);
}

static inline void record_op(const char *name, int64_t sequence)
{
    int key = 0;
    pyro_record op = {.kind = PYRO_RECORD_OP, .sequence = sequence, .torch_thread = 1};
    begin_span(op, name, NULL, 0, &key);
    end_span(&key, NULL, 0);
}

/* A layer that runs one matrix product. */
static inline void record_layer(uint32_t module, int64_t rows, int64_t sequence)
{
    const uint64_t inputs[] = {
        TENSOR(FLOAT32, 2), (uint64_t)rows, 100, TENSOR(FLOAT32, 2), 50, 100};
    const uint64_t outputs[] = {TENSOR(FLOAT32, 2), (uint64_t)rows, 50};
    int layer = 0, op = 0;
    begin_span((pyro_record){.kind = PYRO_RECORD_LAYER, .sequence = -1, .name = module}, NULL, NULL,
               0, &layer);
    begin_span((pyro_record){.kind = PYRO_RECORD_OP, .sequence = sequence, .torch_thread = 1},
               "aten::linear", inputs, 6, &op);
    record_memory(0x1000 + (uint64_t)rows, rows * 200);
    end_span(&op, outputs, 3);
    end_span(&layer, NULL, 0);
}

#endif
