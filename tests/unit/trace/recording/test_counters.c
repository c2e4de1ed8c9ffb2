/* Tests of trace/recording/counters.c: samples of counters, and records that lie. */
#include "trace/trace.h"
#include "unit.h"

#include <math.h>
#include <pyrometer/recording.h>
#include <pyrometer/trace.h>
#include <stdint.h>
#include <string.h>

#define CHUNK 1024
#define HEAD sizeof(pyro_recording_header)

/* Header, a chunk of data, one of records. */
static _Alignas(64) unsigned char bytes[HEAD + 2 * CHUNK];
static size_t data_used, record_count;

static void add_name(uint32_t id, const char *text)
{
    pyro_data_entry entry = {(uint32_t)strlen(text), id, PYRO_DATA_NAME, 1};
    memcpy(bytes + HEAD + data_used, &entry, sizeof entry);
    memcpy(bytes + HEAD + data_used + sizeof entry, text, entry.bytes);
    data_used += sizeof entry + ((entry.bytes + 15) & ~(size_t)15);
}

static void add_record(const void *record)
{
    unsigned char *at = bytes + HEAD + CHUNK + sizeof(pyro_chunk_header) +
                        record_count++ * sizeof(pyro_record);
    memcpy(at, record, sizeof(pyro_record));
    ((pyro_record *)(void *)at)->tag = 2;
}

static void begin(void)
{
    pyro_recording_header header = {.magic = PYRO_RECORDING_MAGIC,
                                    .version = PYRO_RECORDING_VERSION,
                                    .header_bytes = HEAD,
                                    .chunk_bytes = CHUNK,
                                    .record_bytes = sizeof(pyro_record),
                                    .process = 77,
                                    .raw_per_ns = 1,
                                    .first = {1000, 0},
                                    .chunk_count = 2};
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &header, sizeof header);
    for (uint32_t i = 0; i < 2; i++) {
        pyro_chunk_header chunk = {.sequence = i + 1,
                                   .kind = i == 0 ? PYRO_CHUNK_DATA : PYRO_CHUNK_RECORDS,
                                   .thread = i,
                                   .system_thread = 100 + i};
        memcpy(bytes + HEAD + i * CHUNK, &chunk, sizeof chunk);
    }
    data_used = sizeof(pyro_chunk_header);
    record_count = 0;
    add_name(1, "aten::mm");
    add_record(&(pyro_record){
        .start_raw = 1000, .end_raw = 3000, .sequence = -1, .name = 1, .kind = PYRO_RECORD_OP});
}

static pyro_trace *open_file(void)
{
    pyro_trace *trace;
    pyro_error error = {0};
    if (pyro_trace_open_memory(&trace, (const char *)bytes, sizeof bytes, "made", NULL, &error) !=
        PYRO_OK)
        fail_msg("%s", error.message);
    return trace;
}

static pyro_counter_record counter(uint64_t raw, uint32_t name, uint16_t device, uint8_t count)
{
    return (pyro_counter_record){.start_raw = raw,
                                 .values = {1.5, 2.5, NAN, 4.5, 5.5},
                                 .name = name,
                                 .device = device,
                                 .count = count,
                                 .kind = PYRO_RECORD_COUNTER};
}

static void test_samples(void **state)
{
    (void)state;
    begin();
    add_name(2, "GPU clock\nSM MHz\nmemory MHz\nnothing");
    pyro_counter_record record = counter(1500, 2, 3, 3);
    add_record(&record);
    pyro_trace *trace = open_file();
    assert_int_equal(trace->counter_count, 2); /* the third value is unknown */
    const pyro_counter_sample *sample = &trace->counters[1];
    assert_string_equal(pyro_trace_text(trace, sample->name), "GPU clock");
    assert_string_equal(pyro_trace_text(trace, sample->series), "memory MHz");
    assert_true(sample->value == 2.5 && sample->time_ns == 500);
    assert_int_equal(trace->tracks[sample->track].pid, 3);
    assert_int_equal(trace->count, 1); /* counters are no events of a track */
    pyro_trace_close(trace);
}

static void test_damaged_records(void **state)
{
    (void)state;
    begin();
    add_name(2, "lonely"); /* no series */
    add_name(3, "a\nb");
    add_name(4, "\n\n\n");
    pyro_counter_record records[] = {
        counter(1500, 2, 0, 5),    counter(1500, 3, 0, 255),       counter(1500, 99, 0, 1),
        counter(1500, 3, 5000, 1), counter(UINT64_MAX, 4, 0, 200), counter(0, 0, 0, 1),
    };
    records[1].values[0] = INFINITY;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        add_record(&records[i]);
    pyro_trace *trace = open_file();
    for (size_t i = 0; i < trace->counter_count; i++)
        assert_true(isfinite(trace->counters[i].value));
    pyro_analysis *analysis;
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, NULL), PYRO_OK);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_samples),
    cmocka_unit_test(test_damaged_records),
};

UNIT_TESTS(tests, NULL, NULL)
