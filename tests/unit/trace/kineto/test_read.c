/* Tests of the Kineto reader: every dialect and defect, in small files named after them. */
#include "trace/kineto/window.h"

#include "base/error.h"
#include "fail_alloc.h"
#include "read_kineto.h"

static void test_kineto(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "events 25 base 1700000000000000000 rank 3 of 8 nccl shapes 1 stacks 1 memory 1\n",
        "device 0 NVIDIA H200 150000000000 bytes 132 SMs 2048 threads 9.0\n",
        "flow 1 s 1011000 track 0\nflow 1 f 1130000 track 3\n",
        "track 64/64 thread 100 (python) device -1 stream -1\n",
        "track 0/7 stream 7  device 0 stream 7\n",
        "annotation ProfilerStep#7 1000000+500250 c0 x1 track 0\n",
        "python nn.Module: Linear_0 1010001+100000 c0 x0 track 0\n",
        "op aten::linear 1011000+90125 c0 x2 track 0 sequence 41 thread 0 dims [[8, 64], [32, 64], "
        "[32]] types [\"float\", \"float\", \"float\"] concrete [\"\", \"\", \"\"] stack -\n",
        "runtime cudaLaunchKernel 1020500+5500 c77 x2 track 0\n",
        "kernel void gemm<float, (int)4>(float*) 1030000+12345 c77 x2 track 1 grid 132,2,1 block "
        "256,1,1 registers 128 shared 49152 sm 1.5 12 19 graph 5.6\n",
        "memcpy Memcpy HtoD (Pageable -> Device) 1050000+1000 c78 x3 track 1 bytes 4096\n",
        "memset Memset (Device) 1052000+1001 c79 x0 track 1 bytes 512\n",
        "sync Stream Synchronize 1060000+2000 c80 x0 track 1 kind Stream Synchronize stream 7\n",
        "device ProfilerStep#7 1030000+25000 c0 x1 track 1\n",
        "overhead Activity Buffer Request 1001000+3000",
        "memory [memory] 1012000+0 c0 x0 track 0 at 140279780737024 bytes 1024 of 1024 2097152 on "
        "1:0\n",
        "memory [OutOfMemory] 1013000+0 c0 x0 track 0 at 0 bytes 99999999999 of 1024 2097152 on "
        "1:0 failed\n",
        "collective allreduce Float 0 default_pg in 2048 out 2049 size 8 rank 3\n",
        "sm -1 -1 -1 graph 0.0 collective allreduce Float - - in 2048 out 2048 size 8 rank -1\n",
        "AddmmBackward0 1130000+40000 c0 x5 track 3 sequence 41 thread 1 dims - types - concrete - "
        "stack -\n",
        "other PyTorch Profiler (0) 999000+600000 c0 x0"};
    char *text = read_name("good-1-kineto.json");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect(text, lines[i]);
    expect_not(text, "warning");
    free(text);
}

/* The same events and metadata in other notations. */
static void test_layouts(void **state)
{
    (void)state;
    static const char *const names[] = {"good-2-metadata-last.json", "good-3-indented.json",
                                        "good-4-one-line-sorted.json", "good-6-bom-crlf.json"};
    char *expected = read_name("good-1-kineto.json");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text = read_name(names[i]);
        assert_string_equal(text, expected);
        free(text);
    }
    char *bare = read_name("good-5-bare-array.json");
    expect(bare, "events 25 base 0 rank -1 of -1 - shapes 1 stacks 1 memory 1\nflow 1 s");
    assert_string_equal(strstr(bare, "flow 1 s"), strstr(expected, "flow 1 s"));
    free(bare);
    free(expected);
}

static void test_dialects(void **state)
{
    (void)state;
    char *text = read_name("good-7-schema-2021.json");
    expect(text, "track 648a/648a thread 25738 (python) device -1 stream -1\n");
    expect(text, "op aten::empty 1623142623460111000+25000 c0 x2 track 0 sequence 9 thread 1 dims "
                 "[[2, 3], []] types [\"float\", \"\"] concrete - stack train.py(12): "
                 "main;model.py(7): forward\n");
    expect(text, "kernel volta_sgemm 1623142623460120000+605000 c5 x2");
    expect(text, "sm 0.0125 -1 0 graph 0.0\n");
    expect(text, "device 0 stream 7\n");
    expect(text, "bytes 64\n");
    expect(text, "memory [memory] 1623142623460121000+0 c0 x0 track 0 at 0 bytes -4 of -1 -1 on "
                 "0:-1\n");
    free(text);
    text = read_name("good-8-legacy-exporter.json");
    expect(text, "events 5 ");
    expect(text, "op aten::mm 10500+4250");
    expect(text, "kernel sgemm 12000+2125");
    free(text);
    text = read_name("good-12-rocm-mtia-xpu.json");
    expect(text, "kernel Cijk 4000+3679 c3 x0");
    expect(text, "device 2 stream 0\n");
    expect(text, "memcpy CopyDeviceToHost 9000+1000 c4 x0 track 1 bytes -1\n");
    expect(text, "runtime runFunction 10000+1000 c5");
    expect(text, "kernel fc 11000+1000 c5");
    expect(text, "sync event_wait 11100+800");
    expect(text, "memcpy dma_request 11900+50 c0 x0 track 2 bytes 2014208\n");
    expect(text, "driver ze 12100+100 c6");
    expect(text, "other other 13000+1000");
    free(text);
}

/* Traces of torch 2.12 and later, and of ROCm of 2026. */
static void test_dialect_2026(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "host node17\n",
        "track 0/f4247 stream 7 (sync) device 0 stream 7\n",
        "graph 3.12884901890 priority -1 channel 12.1 occupancy {\"activeBlocksPerMultiprocessor\": 4",
        "sm 1.5 12 50 graph", /* 4 blocks of 256 of 2048 threads */
        "in 1024 out 1024 size 2 rank 0 number 41 id 17446744073709551615\n",
        "size 2 rank -1 number 41 id 17446744073709551615\n",
        "kind Stream Wait Event stream 7 after 60\n",
        " queue 9\n",
        "counter SM active % value 1030000 10.5 track",
        "counter SM active % value 1040000 97.25 track",
        "counter environment clock (MHz) 1041000 1980 track",
        "counter environment power (W) 1041000 699.5 track"};
    char *text = read_name("good-13-dialect-2026.json");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect(text, lines[i]);
    expect_not(text, "note");
    expect_not(text, "warning");
    free(text);
}

static void test_defects(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        const char *parts[8];
    } cases[] = {
        {"bad-1-truncated.json",
         {"warning file truncated at byte 1896: 83.3% read", "events 6 ",
          "runtime cudaLaunchKernel 1020500"}},
        {"bad-2-unescaped-quotes.json",
         {"events 6 ", "rank 3 of 8 nccl", "warning 5 events with unescaped quotes",
          "kernel he said \"hi\" twice 1000+2000 c12 x5", "kernel x\", \"y 1000+2000 c12 x5",
          "kernel list 1000+2000", "kernel last \"one 1000+2000 c12 x5"}},
        {"bad-3-raw-newlines.json",
         {"rank 3", "warning 2 events with unescaped control characters",
          "kernel one\ntwo 1000+2000", "kernel tab\there 1000+2000", "kernel plain 1000+2000"}},
        {"bad-4-backslashes.json",
         {"rank 3", "with invalid backslash escapes", "kernel C:\\Users\\x 1000+2000",
          "kernel C:\\ 1000+2000", "kernel plain 1000+2000"}},
        {"bad-5-not-utf8.json",
         {"warning 1 event with a text that is not UTF-8", "kernel a\xef\xbf\xbd\xef\xbf\xbd"
                                                           "b 1000+2000"}},
        {"bad-6-not-json.json",
         {"warning 1 event without a usable time", "warning 3 events with values that are not JSON",
          "kernel a 1000+2000", "kernel b 1000+0"}},
        {"bad-7-huge-integers.json",
         {"warning 1 event without a usable time", "warning 2 events with numbers too large",
          "kernel b 1000+2000 c12 x5"}},
        {"bad-8-negative-durations.json",
         {"warning 2 events with negative duration", "kernel a 1000+0", "kernel b 1000+0",
          "kernel c 1000+2000"}},
        {"bad-9-far-times.json",
         {"warning 2 events dated far from all others", "kernel zero 1700000000000000000+2000",
          "kernel future 1700000000000020500+2000"}},
        {"bad-10-missing.json",
         {"events 6 ", "warning 1 complete event without a duration",
          "warning 1 event without a usable time", "warning 5 entries of the event list",
          "warning 1 begin or end event", "other no duration 3000+0", "other second 2000+9000"}},
        {"bad-11-garbage-between.json", {"events 2 ", "kernel a 1000", "kernel b 1000", "rank 3"}},
        {"bad-12-garbage-behind.json", {"data after the end at byte 323 was ignored", "kernel a"}},
        {"bad-13-metadata-quotes.json", {"damaged metadata value", "kernel a 1000", "rank 3"}},
        {"bad-14-empty.json", {"the file is empty"}},
        {"bad-15-binary.json", {"not a trace: neither a JSON object nor a list"}},
        {"bad-16-other-json.json", {"it has no traceEvents (it has cells, metadata, nbformat)"}},
        {"bad-17-numbers.json", {"the entries of its list are not events"}},
        {"bad-18-no-events.json", {"the trace contains no events"}},
        {"bad-19-text.json", {"not a trace: neither a JSON object nor a list"}},
        {"bad-20-first-event-cut.json", {"the file ends before its first event"}},
        {"bad-21-endless.json",
         {"warning 1 event dated far from all others", "kernel endless 1700000000000000000+10000",
          "kernel usual 1700000000000010000+2000"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = read_name(cases[i].file);
        for (size_t part = 0; part < 8 && cases[i].parts[part]; part++)
            expect(text, cases[i].parts[part]);
        free(text);
    }
}

static const char *const all_files[] = {
    "good-1-kineto.json",          "good-3-indented.json",       "good-4-one-line-sorted.json",
    "good-5-bare-array.json",      "good-7-schema-2021.json",    "good-8-legacy-exporter.json",
    "good-11-escapes.json",        "bad-1-truncated.json",       "bad-2-unescaped-quotes.json",
    "bad-4-backslashes.json",      "bad-10-missing.json",        "bad-11-garbage-between.json",
    "bad-13-metadata-quotes.json", "bad-20-first-event-cut.json"};

/* Windows of every size, pieces of every size, and pieces of the file by several threads. */
static void test_sizes(void **state)
{
    (void)state;
    static const size_t windows[] = {64, 65, 127, 300, 1000, 5000};
    static const int64_t chunks[] = {1, 37, 200, 1000, 3000};
    for (size_t file = 0; file < sizeof all_files / sizeof *all_files; file++) {
        char path[512];
        size_t size = 0;
        char *bytes = read_whole(test_path(path, all_files[file]), &size);
        char *expected = read_usual(bytes, size);
        for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
            pyro_kineto_sizes sizes = {windows[i], 1 << 20, 1 << 20};
            for (size_t piece = 1; piece < 100; piece += 41) {
                char *text = read_sized(bytes, size, 1, false, piece, sizes);
                assert_string_equal(text, expected);
                free(text);
            }
        }
        for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
            pyro_kineto_sizes sizes = {64 + 100 * i, chunks[i], 0};
            char *text = read_sized(bytes, size, 3, true, SIZE_MAX, sizes);
            assert_string_equal(text, expected);
            free(text);
        }
        free(expected);
        free(bytes);
    }
}

/* Many chunks of waits and counters: a worker's memory of one chunk is reused for a later one. */
static void test_reused_chunks(void **state)
{
    (void)state;
    pyro_buf file = PYRO_BUF_INIT;
    pyro_buf_addf(&file, "{\"traceEvents\": [\n");
    for (int i = 0; i < 4000; i++)
        pyro_buf_addf(
            &file,
            "{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"Stream Synchronize\", "
            "\"pid\": 0, \"tid\": 7, \"ts\": %d, \"dur\": 2, \"args\": "
            "{\"cuda_sync_kind\": \"Stream Synchronize\", \"stream\": 7, \"correlation\": %d}},\n"
            "{\"ph\": \"C\", \"name\": \"power\", \"pid\": 0, \"tid\": 0, \"ts\": %d, "
            "\"args\": {\"W\": %d}}%s\n",
            10 * i, i + 1, 10 * i, i, i < 3999 ? "," : "");
    pyro_buf_addf(&file, "]}\n");
    size_t size = 0;
    char *bytes = pyro_buf_detach(&file, &size);
    char *expected = read_usual(bytes, size);
    expect(expected, "syncs 4000\n");
    pyro_kineto_sizes sizes = {1000, 2000, 0};
    char *text = read_sized(bytes, size, 3, true, SIZE_MAX, sizes);
    assert_string_equal(text, expected);
    free(text);
    free(expected);
    free(bytes);
}

/* A truncated file: complete events before the cut are read, and nothing beyond the end. */
static void test_truncated(void **state)
{
    (void)state;
    char path[512];
    size_t size = 0;
    char *bytes = read_whole(test_path(path, "good-1-kineto.json"), &size);
    long long last = 0;
    for (size_t cut = 0; cut < size - 2; cut++) {
        char *exact = malloc(cut ? cut : 1);
        memcpy(exact, bytes, cut);
        char *text = read_usual(exact, cut);
        long long events = 0;
        if (sscanf(text, "events %lld", &events) == 1)
            expect(text, "warning file truncated at byte");
        assert_in_range(events - last, 0, 1);
        last = events;
        free(text);
        free(exact);
    }
    assert_int_equal(last, 25);
    free(bytes);
}

/* Damage of any kind must never crash or hang, nor read more events than there are commas. */
static void test_flipped_bits(void **state)
{
    (void)state;
    char path[512];
    size_t size = 0;
    char *bytes = read_whole(test_path(path, "good-7-schema-2021.json"), &size);
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (char)(1 << bit);
            char *text = read_usual(bytes, size);
            long long events = 0;
            if (sscanf(text, "events %lld", &events) == 1)
                assert_in_range(events, 1, 9);
            free(text);
            bytes[i] ^= (char)(1 << bit);
        }
    free(bytes);
}

static void test_memory_failures(void **state)
{
    (void)state;
    char path[512];
    size_t size = 0;
    char *bytes = read_whole(test_path(path, "good-1-kineto.json"), &size);
    pyro_kineto_sizes sizes = {300, 1000, 0};
    for (int threads = 1; threads <= 2; threads++) {
        long n = 0, failures;
        do {
            piece_source source = seekable_pieces_of(bytes, size, size, SIZE_MAX);
            pyro_trace_options options = {.threads = threads};
            pyro_trace *trace = pyro_trace_new("test");
            pyro_error error;
            pyro_error_clear(&error);
            fail_alloc_after(n++);
            int status = pyro_kineto_read_sized(trace, &source.head, &options, sizes, &error);
            failures = fail_alloc_failures();
            fail_alloc_after(-1);
            if (failures)
                assert_int_equal(status, PYRO_ERROR_MEMORY);
            else
                assert_int_equal(status, PYRO_OK);
            pyro_trace_close(trace);
        } while (failures);
        assert_true(n > 10);
    }
    free(bytes);
}

/* A source that fails in the middle: earlier events are kept, and the reason is reported. */
static void test_failing_source(void **state)
{
    (void)state;
    char path[512];
    size_t size = 0;
    char *bytes = read_whole(test_path(path, "good-1-kineto.json"), &size);
    piece_source source = pieces_of(bytes, size / 2, 100);
    source.failure = PYRO_ERROR_IO;
    pyro_trace *trace = pyro_trace_new("test");
    pyro_error error;
    pyro_error_clear(&error);
    pyro_kineto_sizes sizes = {256, 1000, 0};
    assert_int_equal(pyro_kineto_read_sized(trace, &source.head, NULL, sizes, &error), PYRO_OK);
    char *text = trace_text(trace);
    expect(text, "warning the source failed: everything before byte ");
    expect(text, "kernel void gemm");
    free(text);
    pyro_trace_close(trace);
    source = pieces_of(bytes, 10, 100);
    source.failure = PYRO_ERROR_IO;
    trace = pyro_trace_new("test");
    pyro_error_clear(&error);
    assert_int_equal(pyro_kineto_read_sized(trace, &source.head, NULL, sizes, &error),
                     PYRO_ERROR_IO);
    assert_string_equal(error.message, "the source failed");
    pyro_trace_close(trace);
    free(bytes);
}

/* Many levels, many threads, a long text: bounded, and without recursion. */
static void test_extremes(void **state)
{
    (void)state;
    size_t levels = 1000000, size = 2 * levels + 200;
    char *bytes = malloc(size);
    int length = sprintf(bytes, "{\"x\": ");
    memset(bytes + length, '[', levels);
    memset(bytes + length + levels, ']', levels);
    length += (int)(2 * levels);
    length += sprintf(bytes + length,
                      ", \"traceEvents\": [{\"ph\": \"X\", \"ts\": 1, \"dur\": 2}]}");
    char *text = read_usual(bytes, (size_t)length);
    expect(text, "other - 1000+2000");
    expect_not(text, "warning");
    free(text);
    memset(bytes, '[', size);
    text = read_usual(bytes, size);
    expect(text, "the file ends before its first event");
    free(text);
    free(bytes);
    pyro_buf many = PYRO_BUF_INIT;
    pyro_buf_adds(&many, "[");
    for (int i = 0; i < 66000; i++)
        pyro_buf_addf(&many, "{\"ph\":\"X\",\"pid\":%d,\"tid\":\"t\",\"ts\":1,\"dur\":1},", i);
    pyro_buf_adds(&many, "{\"ph\":\"X\",\"name\":\"");
    pyro_buf_fill(&many, 'x', 3 << 20);
    pyro_buf_adds(&many, "\",\"ts\":5,\"dur\":1}]");
    text = read_usual(many.data, many.length);
    expect(text, "events 66001 ");
    expect(text, "warning 466 events beyond 65535 threads and streams (put into one track)");
    expect(text, "warning 1 event with a text over 1 MiB (cut)");
    free(text);
    pyro_buf_free(&many);
}

/* Keys and types of values may change from one event to the next. */
static void test_changing_events(void **state)
{
    (void)state;
    static const char bytes[] =
        "[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a\", \"ts\": 1, \"dur\": 2, \"args\": null},\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"b\", \"ts\": 3, \"dur\": 2, \"args\": "
        "{\"correlation\": 5}},\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": 7, \"ts\": 3, \"dur\": 2, \"args\": "
        "{\"correlation\": null, \"External id\": 4}},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"c\",\"ts\":4,\"dur\":2},"
        "{\"ph\": \"X\",\"cat\":\"kernel\",\"name\":\"d\",\"ts\":  5,\"dur\": 2},"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"b\", \"ts\": 3, \"dur\": 2, \"args\": "
        "{\"Input Dims\": null, \"External id\": 6, \"Input type\": []}}]";
    char *text = read_usual(bytes, sizeof bytes - 1);
    expect(text, "kernel a 1000+2000 c0 x0");
    expect(text, "kernel c 4000+2000 c0 x0");
    expect(text, "kernel d 5000+2000 c0 x0");
    expect(text, "kernel b 3000+2000 c5 x0");
    expect(text, "kernel 7 3000+2000 c0 x4");
    expect(text, "op b 3000+2000 c0 x6 track 0 sequence -1 thread 0 dims - types [] concrete -");
    free(text);
}

/* What is between events may change too, and decimals have any number of digits. */
static void test_changing_gaps(void **state)
{
    (void)state;
    static const char begin[] = "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"";
    static const char end[] = "\", \"ts\": 1, \"dur\": 2}";
    static const char *const gaps[] = {",\n  ", ",\n  ",     ",\n   ",       ",\n  ",
                                       ",",     ", ",        ",\n  ",        ",\n\n ",
                                       ",\t",   ",        ", ",         \n", ",\n  "};
    enum { GAPS = sizeof gaps / sizeof *gaps };
    pyro_buf bytes = PYRO_BUF_INIT;
    pyro_buf_addc(&bytes, '[');
    for (int i = 0; i <= GAPS; i++)
        pyro_buf_addf(&bytes, "%s%sk%02d%s", i ? gaps[i - 1] : "", begin, i, end);
    pyro_buf_addc(&bytes, ']');
    char *text = read_usual(bytes.data, bytes.length);
    for (int i = 0; i <= GAPS; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "kernel k%02d 1000+2000", i);
        expect(text, wanted);
    }
    expect_not(text, "warning");
    free(text);
    pyro_buf_free(&bytes);
}

/* The message says what the file contains instead of events. */
static void test_trace_events_that_are_no_list(void **state)
{
    static const struct {
        const char *value, *said;
    } cases[] = {{"null", "null"},
                 {"{}", "an object"},
                 {"\"x\"", "a text"},
                 {"-1.5", "a number"},
                 {"true", "a boolean"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char bytes[100], message[100];
        int size = snprintf(bytes, sizeof bytes, "{\"schemaVersion\":1,\"traceEvents\":%s}",
                            cases[i].value);
        snprintf(message, sizeof message, "its traceEvents is %s, where a list of events",
                 cases[i].said);
        char *text = read_usual(bytes, (size_t)size);
        expect(text, message);
        expect_not(text, "has no traceEvents");
        free(text);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_kineto),
    cmocka_unit_test(test_layouts),
    cmocka_unit_test(test_dialects),
    cmocka_unit_test(test_dialect_2026),
    cmocka_unit_test(test_defects),
    cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_reused_chunks),
    cmocka_unit_test(test_truncated),
    cmocka_unit_test(test_flipped_bits),
    cmocka_unit_test(test_memory_failures),
    cmocka_unit_test(test_failing_source),
    cmocka_unit_test(test_extremes),
    cmocka_unit_test(test_changing_events),
    cmocka_unit_test(test_changing_gaps),
    cmocka_unit_test(test_trace_events_that_are_no_list),
};

UNIT_TESTS(tests, NULL, NULL)
