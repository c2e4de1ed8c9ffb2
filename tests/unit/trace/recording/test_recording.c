/*
 * Tests of the reader of recordings on small hand-written files: the meaning of records, files
 * truncated or damaged anywhere, invalid ids and counts.
 */
#include "trace/trace.h"
#include "unit.h"

#include <pyrometer/recording.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 1024
#define HEAD sizeof(pyro_recording_header)
#define SIZE (HEAD + 3 * CHUNK)
#define TENSOR(dtype, rank) \
    ((uint64_t)PYRO_VALUE_TENSOR | (uint64_t)(dtype) << 8 | (uint64_t)(rank) << 32)
#define LIST(count) ((uint64_t)PYRO_VALUE_LIST | (uint64_t)(count) << 32)

/* Header, a chunk of data, two of records. */
typedef struct made {
    _Alignas(64) unsigned char bytes[SIZE];
    size_t data_used, record_count[2];
} made;

static unsigned char *chunk_of(made *file, size_t index)
{
    return file->bytes + HEAD + index * CHUNK;
}

static void add_data(made *file, uint32_t type, uint32_t id, const void *bytes, size_t size)
{
    pyro_data_entry entry = {(uint32_t)size, id, type, 1};
    unsigned char *at = chunk_of(file, 0) + file->data_used;
    assert_true(file->data_used + sizeof entry + size <= CHUNK);
    memcpy(at, &entry, sizeof entry);
    memcpy(at + sizeof entry, bytes, size);
    file->data_used += sizeof entry + ((size + 15) & ~(size_t)15);
}

static void add_record(made *file, size_t chunk, pyro_record record)
{
    record.tag = (uint32_t)chunk + 1;
    memcpy(chunk_of(file, chunk) + sizeof(pyro_chunk_header) +
               file->record_count[chunk - 1]++ * sizeof record,
           &record, sizeof record);
}

static void add_module(made *file, uint32_t id, uint32_t root, const char *texts, size_t size)
{
    unsigned char entry[128];
    pyro_module_data data = {root, id, 0, 0};
    memcpy(entry, &data, sizeof data);
    memcpy(entry + sizeof data, texts, size);
    add_data(file, PYRO_DATA_MODULE, id, entry, sizeof data + size);
}

static void begin(made *file)
{
    memset(file, 0, sizeof *file);
    pyro_recording_header header = {.magic = PYRO_RECORDING_MAGIC,
                                    .version = PYRO_RECORDING_VERSION,
                                    .header_bytes = HEAD,
                                    .chunk_bytes = CHUNK,
                                    .record_bytes = sizeof(pyro_record),
                                    .process = 77,
                                    .start_realtime_ns = 1700000000000000000,
                                    .raw_per_ns = 1,
                                    .first = {1000, 0},
                                    .chunk_count = 3};
    memcpy(file->bytes, &header, sizeof header);
    for (uint32_t i = 0; i < 3; i++) {
        pyro_chunk_header chunk = {.sequence = i + 1,
                                   .kind = i == 0 ? PYRO_CHUNK_DATA : PYRO_CHUNK_RECORDS,
                                   .thread = i,
                                   .system_thread = 100 + i};
        memcpy(chunk_of(file, i), &chunk, sizeof chunk);
    }
    file->data_used = sizeof(pyro_chunk_header);
}

/* A model with a layer, an op in it, its backward on another thread, memory, a span left open. */
static void make_typical(made *file)
{
    const uint64_t inputs[] = {TENSOR(6, 2),
                               32,
                               100,
                               LIST(2),
                               TENSOR(15, 1),
                               7,
                               TENSOR(15, 0),
                               PYRO_VALUE_INTEGER,
                               3,
                               PYRO_VALUE_REAL,
                               0x3fe0000000000000,
                               LIST(2),
                               PYRO_VALUE_BOOLEAN,
                               1,
                               PYRO_VALUE_BOOLEAN,
                               0,
                               PYRO_VALUE_NONE};
    const uint64_t outputs[] = {TENSOR(6, 2), 32, 50};
    const uint32_t inner[] = {1, 2}, outer[] = {0, 1};
    begin(file);
    add_data(file, PYRO_DATA_NAME, 1, "aten::mm", 8);
    add_data(file, PYRO_DATA_NAME, 2, "autograd::engine::evaluate_function: MmBackward0", 48);
    add_data(file, PYRO_DATA_SIGNATURE, 1, inputs, sizeof inputs);
    add_data(file, PYRO_DATA_SIGNATURE, 2, outputs, sizeof outputs);
    add_data(file, PYRO_DATA_FRAME, 1, "run.py(3): main", 15);
    add_data(file, PYRO_DATA_FRAME, 2, "model.py(9): forward", 20);
    add_data(file, PYRO_DATA_STACK, 1, outer, sizeof outer);
    add_data(file, PYRO_DATA_STACK, 2, inner, sizeof inner);
    add_module(file, 1, 1, "\0MLP", 5);
    add_module(file, 2, 1, "fc\0Linear", 10);
    add_data(file, PYRO_DATA_PROPERTY, 1,
             "rank\0"
             "3",
             7);
    add_data(file, PYRO_DATA_THREAD, 1, "main", 4);
    add_record(file, 1, (pyro_record){2000, 9000, -1, 1, .kind = PYRO_RECORD_LAYER});
    add_record(file, 1, (pyro_record){3000, 8000, -1, 2, .kind = PYRO_RECORD_LAYER});
    add_record(file, 1, (pyro_record){4000, 5000, 5, 1, 1, 2, 2, 0, 1, .kind = PYRO_RECORD_OP});
    pyro_memory_record memory = {.start_raw = 4500,
                                 .address = 64,
                                 .bytes = 6400,
                                 .total_allocated = -1,
                                 .total_reserved = -1,
                                 .device_index = -1,
                                 .kind = PYRO_RECORD_ALLOCATION};
    pyro_record record;
    memcpy(&record, &memory, sizeof record);
    add_record(file, 1, record);
    add_record(file, 1, (pyro_record){6000, 0, -1, 1, .kind = PYRO_RECORD_OP});
    memory = (pyro_memory_record){.start_raw = 20500,
                                  .address = 64,
                                  .bytes = INT64_MIN,
                                  .total_allocated = -1,
                                  .total_reserved = -1,
                                  .device_index = -1,
                                  .kind = PYRO_RECORD_ALLOCATION};
    add_record(
        file, 2,
        (pyro_record){20000, 21000, 5, 2, 0, 0, 0, 1, 2, .kind = PYRO_RECORD_OP, .scope = 1});
    memcpy(&record, &memory, sizeof record);
    add_record(file, 2, record);
}

static int open_made(pyro_trace **trace, const made *file, size_t size, pyro_error *error)
{
    pyro_error_clear(error);
    return pyro_trace_open_memory(trace, file->bytes, size, "made", NULL, error);
}

static pyro_trace *open_whole(const made *file)
{
    pyro_trace *trace;
    pyro_error error;
    if (open_made(&trace, file, SIZE, &error) != PYRO_OK)
        fail_msg("%s", error.message);
    return trace;
}

/* A worker that the end of the recording finds at work was at work until then; of a program that was
 * killed, nothing is known after the thread's last record. */
static void test_open_spans_of_a_closed_recording(void **state)
{
    (void)state;
    made file;
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        begin(&file);
        add_data(&file, PYRO_DATA_NAME, 1, "gloo:all_reduce", 15);
        add_record(&file, 2, (pyro_record){5000, 0, -1, 1, .kind = PYRO_RECORD_OP});
        pyro_recording_header *header = (pyro_recording_header *)file.bytes;
        header->state = is_closed ? PYRO_RECORDING_CLOSED : PYRO_RECORDING_RUNNING;
        header->last = (pyro_recording_clock){9000, 8000};
        pyro_trace *trace = open_whole(&file);
        assert_int_equal(trace->duration_ns[0], is_closed ? 9000 - 5000 : 0);
        pyro_trace_close(trace);
    }
}

static void test_rows(void **state)
{
    (void)state;
    static made file;
    size_t warnings;
    make_typical(&file);
    pyro_trace *trace = open_whole(&file);
    assert_int_equal(trace->count, 7);
    assert_int_equal(trace->rank, 3);
    assert_int_equal(trace->start_ns[0], 1000);
    assert_int_equal(trace->duration_ns[0], 7000);
    assert_string_equal(pyro_event_name(trace, 1), "nn.Module: Linear_2");
    assert_string_equal(
        pyro_trace_text(trace, pyro_trace_op_extra(trace, &trace->ops[trace->detail[1]]).path),
        "fc");
    const pyro_op_detail *op = &trace->ops[trace->detail[2]];
    assert_string_equal(pyro_trace_text(trace, op->dims), "[[32, 100], [[7], []], [], [], [], []]");
    assert_string_equal(
        pyro_trace_text(trace, op->types),
        "[\"float\", \"TensorList\", \"Scalar\", \"Scalar\", \"ScalarList\", \"\"]");
    assert_string_equal(pyro_trace_text(trace, op->concrete),
                        "[\"\", \"\", \"3\", \"0.5\", \"[True, False]\", \"\"]");
    assert_string_equal(pyro_trace_text(trace, pyro_trace_op_extra(trace, op).outputs),
                        "[[32, 50]]");
    assert_string_equal(pyro_trace_text(trace, op->stack), "model.py(9): forward;run.py(3): main");
    assert_int_equal(op->sequence, 5);
    /* The open span ends with the layer around it. */
    assert_int_equal(trace->duration_ns[4], 8000 - 6000);
    const char *const *said = pyro_trace_warnings(trace, &warnings);
    assert_non_null(strstr(said[0], "the recording has no end"));
    assert_string_equal(said[1], "1 event had not ended");
    assert_int_equal(trace->memory[1].bytes, -6400);
    assert_int_equal(trace->memory[0].total_allocated, 6400);
    assert_int_equal(trace->memory[1].total_allocated, 0);
    assert_int_equal(trace->tracks[0].tid, 101);
    assert_string_equal(pyro_trace_text(trace, trace->tracks[0].name), "main");
    pyro_trace_close(trace);
}

static void test_backward_joins_its_layer(void **state)
{
    (void)state;
    static made file;
    pyro_analysis *analysis;
    make_typical(&file);
    pyro_trace *trace = open_whole(&file);
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, NULL), PYRO_OK);
    assert_int_equal(analysis->layer_count, 2);
    assert_string_equal(analysis->layers[1].path, "fc");
    assert_int_equal(analysis->layers[1].backward_host_ns, 1000);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

/* Two models in one recording: their layers are distinguished. */
static void test_several_roots(void **state)
{
    (void)state;
    static made file;
    static const char *const expected[] = {"GAN", "GAN.fc", "GAN#2", "GAN#2.fc"};
    begin(&file);
    add_module(&file, 1, 1, "\0GAN", 5);
    add_module(&file, 2, 1, "fc\0Linear", 10);
    add_module(&file, 3, 3, "\0GAN", 5);
    add_module(&file, 4, 3, "fc\0Linear", 10);
    for (uint32_t i = 0; i < 4; i++)
        add_record(
            &file, 1,
            (pyro_record){2000 + i * 100, 2050 + i * 100, -1, i + 1, .kind = PYRO_RECORD_LAYER});
    pyro_trace *trace = open_whole(&file);
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(
            pyro_trace_text(trace, pyro_trace_op_extra(trace, &trace->ops[trace->detail[i]]).path),
            expected[i]);
    pyro_trace_close(trace);
}

/* Opens and analyzes; any result is allowed, but no crash and no endless loop. */
static void try_to_read(const made *file, size_t size)
{
    pyro_trace *trace;
    pyro_analysis *analysis;
    pyro_error error;
    if (open_made(&trace, file, size, &error) != PYRO_OK)
        return;
    if (pyro_trace_analyze(&analysis, trace, NULL, &error) == PYRO_OK)
        pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    static made file;
    make_typical(&file);
    for (size_t size = 0; size < SIZE; size++)
        try_to_read(&file, size);
    pyro_trace *trace;
    pyro_error error;
    assert_int_equal(open_made(&trace, &file, HEAD + CHUNK + 300, &error), PYRO_OK);
    assert_int_equal(trace->count, 3);
    pyro_trace_close(trace);
}

static void test_damaged_anywhere(void **state)
{
    (void)state;
    static made file, damaged;
    static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    make_typical(&file);
    for (size_t at = 0; at < SIZE; at++) {
        if (file.bytes[at] == 0 && at > HEAD && at % 8)
            continue; /* most of the file is empty */
        for (size_t i = 0; i < sizeof values; i++) {
            damaged = file;
            damaged.bytes[at] = values[i];
            try_to_read(&damaged, SIZE);
        }
    }
}

static void expect_refusal(size_t offset, uint32_t value, int status)
{
    static made file;
    pyro_trace *trace;
    pyro_error error;
    make_typical(&file);
    memcpy(file.bytes + offset, &value, sizeof value);
    assert_int_equal(open_made(&trace, &file, SIZE, &error), status);
}

static void test_refusals(void **state)
{
    (void)state;
    expect_refusal(offsetof(pyro_recording_header, version), 2, PYRO_ERROR_UNSUPPORTED);
    expect_refusal(offsetof(pyro_recording_header, chunk_bytes), 65, PYRO_ERROR_FORMAT);
    expect_refusal(offsetof(pyro_recording_header, chunk_bytes), 0, PYRO_ERROR_FORMAT);
    expect_refusal(offsetof(pyro_recording_header, header_bytes), 8, PYRO_ERROR_FORMAT);
    expect_refusal(offsetof(pyro_recording_header, record_bytes), 32, PYRO_ERROR_FORMAT);
    expect_refusal(offsetof(pyro_recording_header, raw_per_ns) + 4, 0x7ff80000, PYRO_ERROR_FORMAT);
}

/* PYRO_RECORDING_SEED=FILE keeps a typical recording, as a seed for the fuzzer. */
static int write_seed(void **state)
{
    static made file;
    const char *path = getenv("PYRO_RECORDING_SEED");
    (void)state;
    if (!path)
        return 0;
    FILE *out = fopen(path, "wb");
    make_typical(&file);
    return !out || fwrite(file.bytes, SIZE, 1, out) != 1 || fclose(out) != 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows),
    cmocka_unit_test(test_open_spans_of_a_closed_recording),
    cmocka_unit_test(test_backward_joins_its_layer),
    cmocka_unit_test(test_several_roots),
    cmocka_unit_test(test_cut_anywhere),
    cmocka_unit_test(test_damaged_anywhere),
    cmocka_unit_test(test_refusals),
};

UNIT_TESTS(tests, write_seed, NULL)
