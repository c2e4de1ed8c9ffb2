/*
 * Programs of hand-written recordings: views, writes, weights, inputs, several passes, functions,
 * and invalid records.
 */
#include "flow_maker.h"
#include "unit.h"
#include <pyrometer/recording.h>
#include <stdio.h>

#define CHUNK 8192
#define HEAD sizeof(pyro_recording_header)

typedef struct made {
    _Alignas(64) unsigned char bytes[HEAD + 2 * CHUNK];
    size_t data_used, records;
    uint32_t ids[PYRO_DATA_WEIGHT + 1];
    uint64_t clock;
    uint64_t words[64];
    size_t word_count;
} made;

static made file;

static uint32_t add_data(uint32_t type, const void *bytes, size_t size)
{
    pyro_data_entry entry = {(uint32_t)size, ++file.ids[type], type, 1};
    unsigned char *at = file.bytes + HEAD + file.data_used;
    assert_true(file.data_used + sizeof entry + size <= CHUNK);
    memcpy(at, &entry, sizeof entry);
    memcpy(at + sizeof entry, bytes, size);
    file.data_used += sizeof entry + ((size + 15) & ~(size_t)15);
    return entry.id;
}

static uint32_t add_module(uint32_t root, const char *path, const char *class_name)
{
    char entry[128];
    pyro_module_data data = {root, file.ids[PYRO_DATA_MODULE] + 1, 0, 0};
    size_t used = sizeof data;
    memcpy(entry, &data, sizeof data);
    used += (size_t)snprintf(entry + used, sizeof entry - used, "%s", path) + 1;
    used += (size_t)snprintf(entry + used, sizeof entry - used, "%s", class_name) + 1;
    return add_data(PYRO_DATA_MODULE, entry, used);
}

static void add_weight(const char *name, uint32_t kind, uint64_t tensor, uint64_t bytes)
{
    char entry[128];
    pyro_weight_data data = {
        .tensor = tensor, .storage = tensor + 1000, .values = bytes / 4, .bytes = bytes};
    data.kind = kind;
    memcpy(entry, &data, sizeof data);
    size_t used = sizeof data +
                  (size_t)snprintf(entry + sizeof data, sizeof entry - sizeof data, "%s", name) + 1;
    add_data(PYRO_DATA_WEIGHT, entry, used);
}

static void begin(void)
{
    memset(&file, 0, sizeof file);
    pyro_recording_header header = {.magic = PYRO_RECORDING_MAGIC,
                                    .version = PYRO_RECORDING_VERSION,
                                    .header_bytes = HEAD,
                                    .chunk_bytes = CHUNK,
                                    .record_bytes = sizeof(pyro_record),
                                    .raw_per_ns = 1,
                                    .first = {1000, 0},
                                    .chunk_count = 2};
    memcpy(file.bytes, &header, sizeof header);
    for (uint32_t i = 0; i < 2; i++) {
        pyro_chunk_header chunk = {.sequence = i + 1,
                                   .kind = i == 0 ? PYRO_CHUNK_DATA : PYRO_CHUNK_RECORDS,
                                   .thread = i,
                                   .system_thread = 100 + i};
        memcpy(file.bytes + HEAD + i * CHUNK, &chunk, sizeof chunk);
    }
    file.data_used = sizeof(pyro_chunk_header);
    file.clock = 2000;
}

static size_t add_record(pyro_record record)
{
    record.start_raw = file.clock += 10;
    record.sequence = -1;
    record.tag = 2;
    memcpy(file.bytes + HEAD + CHUNK + sizeof(pyro_chunk_header) + file.records * sizeof record,
           &record, sizeof record);
    return file.records++;
}

static pyro_record *record_at(size_t index)
{
    return (pyro_record *)(void *)(file.bytes + HEAD + CHUNK + sizeof(pyro_chunk_header)) + index;
}

static size_t open_layer(uint32_t module)
{
    return add_record((pyro_record){.name = module, .kind = PYRO_RECORD_LAYER});
}

static void close_span(size_t index)
{
    record_at(index)->end_raw = file.clock += 10;
}

/* A tensor of 16 floats: all of its storage, or the bytes [begin, end) of it. */
static void see(uint64_t tensor, uint64_t storage, uint64_t version, uint64_t begin_byte,
                uint64_t end_byte)
{
    const uint64_t words[] = {tensor,
                              storage,
                              version,
                              begin_byte,
                              end_byte,
                              6 | 1 << 8 | UINT64_C(1) << 32,
                              (end_byte - begin_byte) / 4};
    memcpy(file.words + file.word_count, words, sizeof words);
    file.word_count += sizeof words / sizeof *words;
}

static void see_whole(uint64_t tensor, uint64_t version)
{
    see(tensor, tensor + 1000, version, 0, 64);
}

static uint32_t seen(void)
{
    uint32_t id = add_data(PYRO_DATA_STORAGES, file.words, file.word_count * sizeof *file.words);
    file.word_count = 0;
    return id;
}

static void op(const char *name, uint32_t inputs, uint32_t outputs)
{
    close_span(add_record((pyro_record){.name = add_data(PYRO_DATA_NAME, name, strlen(name)),
                                        .kind = PYRO_RECORD_OP,
                                        .input_storages = inputs,
                                        .output_storages = outputs}));
}

/* An operator from one tensor to a new one. */
static void plain_op(const char *name, uint64_t from, uint64_t to)
{
    see_whole(from, 0);
    uint32_t inputs = seen();
    see_whole(to, 0);
    op(name, inputs, seen());
}

static int open_program(pyro_program **program, pyro_error *error)
{
    pyro_trace *trace = NULL;
    pyro_error_clear(error);
    int status = pyro_trace_open_memory(&trace, file.bytes, sizeof file.bytes, "made.pyro", NULL,
                                        error);
    if (status == PYRO_OK)
        status = pyro_program_of_trace(program, trace, error);
    pyro_trace_close(trace);
    return status;
}

static pyro_program *read_program(void)
{
    pyro_program *program = NULL;
    pyro_error error;
    if (open_program(&program, &error) < 0)
        fail_msg("%s", error.message);
    return program;
}

static void expect(pyro_granularity granularity, const char *nodes, const char *edges)
{
    pyro_program *program = read_program();
    pyro_dataflow *graph = make_graph(program, granularity);
    expect_graph(graph, nodes, edges);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_a_model(void **state)
{
    (void)state;
    begin();
    uint32_t model = add_module(0, "", "Net"), fc = add_module(1, "fc", "Linear");
    add_weight("fc.weight", PYRO_WEIGHT_IS_PARAMETER, 5, 256);
    add_weight("x", PYRO_WEIGHT_IS_INPUT, 1, 64);
    plain_op("aten::randn", 7, 1); /* outside of the model */
    size_t root = open_layer(model), layer = open_layer(fc);
    see_whole(1, 0);
    see_whole(5, 0);
    uint32_t inputs = seen();
    see_whole(2, 0);
    op("aten::linear", inputs, seen());
    close_span(layer);
    plain_op("aten::relu", 2, 3);
    close_span(root);
    plain_op("aten::neg", 3, 4);
    expect(PYRO_GRANULARITY_LAYER, "x fc relu", "x>fc fc>relu");
    expect(PYRO_GRANULARITY_OP, "x fc/linear relu", "x>fc/linear fc/linear>relu");
    pyro_program *program = read_program();
    pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    assert_string_equal(pyro_program_name(program), "Net");
    assert_int_equal(pyro_program_passes(program), 1);
    assert_int_equal(graph->nodes[1].parameters, 64);
    assert_int_equal(graph->nodes[1].parameter_bytes, 256);
    assert_int_equal(graph->nodes[1].median_ns, 30);
    assert_string_equal(graph->tensors[0].dtype, "float32");
    assert_int_equal(graph->tensors[0].dims[0], 16);
    assert_int_equal(graph->edges[0].bytes, 64);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_views_and_writes(void **state)
{
    (void)state;
    begin();
    size_t root = open_layer(add_module(0, "", "Net"));
    plain_op("aten::mul", 1, 2);
    see_whole(2, 0);
    uint32_t inputs = seen();
    see(3, 1002, 0, 0, 32); /* the first half */
    op("aten::narrow", inputs, seen());
    see(3, 1002, 0, 0, 32);
    inputs = seen();
    see(3, 1002, 1, 0, 32);
    op("aten::relu_", inputs, seen());
    plain_op("aten::exp", 2, 9);
    see(4, 1002, 1, 32, 64); /* no recorded op made this view of the half without writes */
    inputs = seen();
    see_whole(8, 0);
    op("aten::sin", inputs, seen());
    close_span(root);
    expect(PYRO_GRANULARITY_OP, "input mul narrow relu_ exp sin",
           "input>mul mul>narrow narrow>relu_ mul>exp relu_>exp mul>sin");
}

static void test_outputs_in_one_memory(void **state)
{
    (void)state;
    begin();
    size_t root = open_layer(add_module(0, "", "Net"));
    see_whole(1, 0);
    uint32_t inputs = seen();
    see(2, 1002, 0, 0, 32);
    see(3, 1002, 0, 32, 64);
    op("mylib::two", inputs, seen());
    see(2, 1002, 0, 0, 32);
    inputs = seen();
    see_whole(4, 0);
    op("aten::exp", inputs, seen());
    see(3, 1002, 0, 32, 64);
    inputs = seen();
    see_whole(5, 0);
    op("aten::sin", inputs, seen());
    close_span(root);
    expect(PYRO_GRANULARITY_OP, "input two exp sin", "input>two two>exp two>sin");
}

static void test_passes(void **state)
{
    (void)state;
    begin();
    uint32_t model = add_module(0, "", "Net"), act = add_module(1, "act", "ReLU");
    for (uint64_t pass = 0; pass < 3; pass++) {
        size_t root = open_layer(model);
        for (uint64_t turn = 0; turn < 2 + (pass == 2); turn++) {
            size_t layer = open_layer(act);
            file.clock += pass * 100;
            plain_op("aten::relu", 10 * pass + turn + 1, 10 * pass + turn + 2);
            close_span(layer);
        }
        close_span(root);
    }
    pyro_program *program = read_program();
    pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    expect_graph(graph, "input act act@1", "input>act act>act@1");
    assert_int_equal(graph->nodes[2].passes, 3);
    assert_int_equal(graph->nodes[2].median_ns, 130);
    assert_int_equal(graph->totals.passes, 3);
    size_t notes;
    assert_non_null(strstr(pyro_dataflow_notes(graph, &notes)[0], "2 calls of later passes"));
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_functions_and_what_gives_nothing(void **state)
{
    (void)state;
    begin();
    size_t root = open_layer(add_module(0, "", "Net"));
    const char *name = "function:torch.nn.functional.both";
    size_t mark = add_record((pyro_record){.name = add_data(PYRO_DATA_NAME, name, strlen(name)),
                                           .kind = PYRO_RECORD_MARK});
    plain_op("aten::exp", 1, 2);
    plain_op("aten::sin", 2, 3);
    close_span(mark);
    see_whole(3, 0);
    op("aten::item", seen(), 0);
    /* An op without recorded outputs is opened: it may be a function of autograd. */
    size_t outer = add_record(
        (pyro_record){.name = add_data(PYRO_DATA_NAME, "Mine", 4), .kind = PYRO_RECORD_OP});
    plain_op("aten::cos", 3, 4);
    close_span(outer);
    close_span(root);
    expect(PYRO_GRANULARITY_OP, "input both cos", "input>both both>cos");
}

static void expect_error(const char *words)
{
    pyro_program *program = NULL;
    pyro_error error;
    assert_int_equal(open_program(&program, &error), PYRO_ERROR_UNSUPPORTED);
    if (!strstr(error.message, words))
        fail_msg("'%s' is not in: %s", words, error.message);
}

static void test_what_is_not_there(void **state)
{
    (void)state;
    begin();
    close_span(open_layer(add_module(0, "", "Net")));
    expect_error("storages=True");
    begin();
    plain_op("aten::exp", 1, 2);
    expect_error("no call of a model");
}

static void test_words_that_lie(void **state)
{
    (void)state;
    const uint64_t heads[] = {UINT64_MAX, UINT64_C(65) << 32, UINT64_C(3) << 32, 200};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        begin();
        size_t root = open_layer(add_module(0, "", "Net"));
        plain_op("aten::exp", 1, 2);
        const uint64_t words[] = {2, 1002, 0, 64, 3, heads[i], UINT64_MAX};
        uint32_t lies = add_data(PYRO_DATA_STORAGES, words, sizeof words);
        see_whole(3, 0);
        op("aten::sin", lies, seen());
        op("aten::cos", 77, 1);
        close_span(root);
        pyro_program *program = read_program();
        pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_OP);
        pyro_cuts cuts;
        assert_true(graph->node_count >= 2);
        assert_int_equal(pyro_cuts_find(&cuts, graph, 1, 0, NULL), PYRO_OK);
        pyro_cuts_free(&cuts);
        pyro_dataflow_free(graph);
        pyro_program_free(program);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_model),
    cmocka_unit_test(test_views_and_writes),
    cmocka_unit_test(test_outputs_in_one_memory),
    cmocka_unit_test(test_passes),
    cmocka_unit_test(test_functions_and_what_gives_nothing),
    cmocka_unit_test(test_what_is_not_there),
    cmocka_unit_test(test_words_that_lie),
};

UNIT_TESTS(tests, NULL, NULL)
