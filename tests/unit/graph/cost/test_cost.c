/* Tests of pricing a model: roll-ups, conventions, element types, bounds, overflow of totals. */
#include <pyrometer/cost.h>

#include "fail_alloc.h"
#include "priced.h"
#include "unit.h"
#include <math.h>
#include <stdio.h>

static const pyro_cost_row *find_row(const pyro_cost_row *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    fail_msg("no row is called %s", name);
    return NULL;
}

static void add_work(pyro_work *sum, const pyro_work *work)
{
    sum->macs += work->macs;
    sum->flops += work->flops;
    sum->activation_read_bytes += work->activation_read_bytes;
    sum->weight_read_bytes += work->weight_read_bytes;
    sum->written_bytes += work->written_bytes;
    sum->params += work->params;
}

/* Rows sum to the total; `but_params` if they do not own parameters. */
static void expect_sum(const pyro_cost *cost, const pyro_cost_row *rows, size_t count,
                       bool but_params)
{
    const pyro_cost_row *total = pyro_cost_total(cost);
    pyro_work sum = {0};
    int64_t operators = 0;
    for (size_t i = 0; i < count; i++) {
        add_work(&sum, &rows[i].work);
        operators += rows[i].operators;
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(rows[i].name, rows[j].name);
    }
    if (but_params)
        sum.params = total->work.params;
    assert_memory_equal(&sum, &total->work, sizeof sum);
    assert_int_equal(operators, total->operators);
}

/* A module is the sum of its own nodes and its children; the first row is the whole model. */
static void expect_tree(const pyro_cost *cost)
{
    size_t count, node_count;
    const pyro_cost_row *rows = pyro_cost_modules(cost, &count);
    const pyro_cost_node *nodes = pyro_cost_nodes(cost, &node_count);
    assert_memory_equal(&rows[0].work, &pyro_cost_total(cost)->work, sizeof rows[0].work);
    for (size_t i = 0; i < count; i++) {
        pyro_work below = {0};
        size_t length = strlen(rows[i].name);
        for (size_t n = 0; n < node_count; n++)
            if (i == 0 || (!strncmp(nodes[n].layer, rows[i].name, length) &&
                           (nodes[n].layer[length] == '.' || !nodes[n].layer[length])))
                add_work(&below, &nodes[n].work);
        below.params = rows[i].work.params;
        assert_memory_equal(&below, &rows[i].work, sizeof below);
        assert_true(i == 0 || rows[i].depth > 0);
        for (size_t j = i + 1; j < count; j++) /* parents come first */
            assert_false(!strncmp(rows[i].name, rows[j].name, strlen(rows[j].name)) &&
                         rows[i].name[strlen(rows[j].name)] == '.');
    }
}

static const char *const good_files[] = {
    "good-1-flat-layout.pt2",
    "good-2-infix-expressions.pt2",
    "good-3-short-expressions.pt2",
    "good-4-two-models.pt2:encoder",
    "good-4-two-models.pt2:decoder",
    "good-5-root-folder.pt2",
    "good-6-tied-on-meta.pt2",
    "good-7-tied-by-note.pt2",
    "good-8-cond.pt2",
    "good-9-wrong-extension.onnx",
    "good-10-static.pt2",
    "resnet18",
};

static pyro_model *open_good(size_t index)
{
    char path[4096];
    const char *folder = getenv("PYRO_TEST_FILES");
    bool is_file = strncmp(good_files[index], "good-", 5) == 0;
    snprintf(path, sizeof path, "%s%s%s", is_file ? (folder ? folder : "tests/files") : "",
             is_file ? "/" : "", good_files[index]);
    pyro_model *model;
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_model_open(&model, path, &error) < 0)
        fail_msg("%s", error.message);
    return model;
}

/* The tree is made on request: a request without memory fails, and later ones succeed. */
static void test_tree_without_memory(void **unused)
{
    (void)unused;
    pyro_model *model = open_good(sizeof good_files / sizeof *good_files - 1);
    pyro_cost *cost = price(model, (pyro_cost_options){.depth = -1});
    size_t count, again;
    const pyro_cost_row *rows = NULL;
    int failures = 0;
    for (; !rows; failures++) {
        fail_alloc_after(failures);
        rows = pyro_cost_modules(cost, &count);
        assert_true(rows || count == 0);
    }
    fail_alloc_after(-1);
    assert_true(failures > 5 && count > 20);
    assert_ptr_equal(pyro_cost_modules(cost, &again), rows);
    assert_int_equal(count, again);
    expect_tree(cost);
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static void test_rows_sum_to_the_total(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof good_files / sizeof *good_files; i++) {
        pyro_model *model = open_good(i);
        size_t before = SIZE_MAX, count;
        for (int depth = -1; depth <= 5; depth++) {
            pyro_cost *cost = price(model, (pyro_cost_options){.depth = depth});
            const pyro_cost_row *layers = pyro_cost_layers(cost, &count);
            expect_sum(cost, layers, count, false);
            if (depth == 0)
                assert_int_equal(count, 1);
            else if (depth > 0)
                assert_true(count >= before);
            before = count;
            for (size_t l = 0; depth >= 0 && l < count; l++)
                assert_true(layers[l].depth <= (size_t)depth);
            const pyro_cost_row *operators = pyro_cost_operators(cost, &count);
            expect_sum(cost, operators, count, true);
            for (size_t o = 1; o < count; o++)
                assert_true(operators[o - 1].work.flops >= operators[o].work.flops);
            expect_tree(cost);
            pyro_cost_free(cost);
        }
        pyro_model_close(model);
    }
}

static void test_conventions(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof good_files / sizeof *good_files; i++) {
        pyro_model *model = open_good(i);
        int64_t flops[PYRO_CONVENTION_COUNT], macs = -1, memory = -1;
        for (int c = 0; c < PYRO_CONVENTION_COUNT; c++) {
            pyro_cost *cost = price(model, (pyro_cost_options){.convention = (pyro_convention)c});
            const pyro_cost_row *total = pyro_cost_total(cost);
            assert_true(macs < 0 || macs == total->work.macs);
            assert_true(memory < 0 || memory == total->memory_bytes);
            macs = total->work.macs;
            memory = total->memory_bytes;
            flops[c] = total->work.flops;
            assert_int_equal(pyro_cost_convention(cost), c);
            pyro_cost_free(cost);
        }
        assert_true(flops[PYRO_CONVENTION_FULL] >= 2 * macs);
        assert_int_equal(flops[PYRO_CONVENTION_TORCH], 2 * flops[PYRO_CONVENTION_TORCHVISION]);
        assert_int_equal(flops[PYRO_CONVENTION_TORCHVISION], macs);
        pyro_model_close(model);
    }
}

/* The counts of torch, fvcore and torchvision for resnet18. */
static void test_published_numbers(void **unused)
{
    (void)unused;
    static const int64_t flops[] = {[PYRO_CONVENTION_TORCH] = 3628146688,
                                    [PYRO_CONVENTION_FVCORE] = 1819065856,
                                    [PYRO_CONVENTION_TORCHVISION] = 1814073344};
    pyro_model *model = open_good(sizeof good_files / sizeof *good_files - 1);
    for (int c = PYRO_CONVENTION_TORCH; c < PYRO_CONVENTION_COUNT; c++) {
        pyro_cost *cost = price(model, (pyro_cost_options){.convention = (pyro_convention)c});
        assert_int_equal(pyro_cost_total(cost)->work.macs, 1814073344);
        assert_int_equal(pyro_cost_total(cost)->work.flops, flops[c]);
        assert_int_equal(pyro_cost_total(cost)->work.params, 11689512);
        assert_int_equal(pyro_cost_param_bytes(cost), 4 * 11689512);
        assert_int_equal(pyro_cost_buffer_values(cost), 9620);
        assert_true(pyro_cost_coverage(cost) == 1);
        pyro_cost_free(cost);
    }
    pyro_model_close(model);
}

static void test_convention_names(void **unused)
{
    (void)unused;
    pyro_convention convention;
    pyro_error error;
    pyro_error_clear(&error);
    for (int c = 0; c < PYRO_CONVENTION_COUNT; c++) {
        const char *name = pyro_convention_name((pyro_convention)c);
        assert_int_equal(pyro_convention_parse(&convention, name, &error), PYRO_OK);
        assert_int_equal(convention, c);
        assert_true(strlen(pyro_convention_summary((pyro_convention)c)) > 10);
    }
    assert_int_equal(pyro_convention_parse(&convention, "flops", &error), PYRO_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "choose full, torch, fvcore or torchvision"));
}

/* Two linear layers of float32, whose ids are int64. */
static void embedding_and_linear(program *p)
{
    program_placeholder(p, "ids");
    pyro_buf_adds(&p->specs, "{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"ids\"}}}}");
    program_typed(p, "ids", 5, "2 6");
    program_parameter(p, "table", "embedding.weight", "100 8");
    program_parameter(p, "w", "head.weight", "4 8");
    program_weight(p, "buffer", "scale", "head.scale", "4");
    program_tensor(p, "rows", "2 6 8");
    program_tensor(p, "h", "2 6 4");
    program_tensor(p, "y", "2 6 4");
    program_node(p, "aten.embedding.default", "embedding", "weight=%table indices=%ids", "%rows");
    program_node(p, "aten.linear.default", "head", "input=%rows weight=%w", "%h");
    program_node(p, "aten.mul.Tensor", "head", "self=%h other=%scale", "%y");
}

static void test_bytes_and_element_types(void **unused)
{
    (void)unused;
    program p = {0};
    embedding_and_linear(&p);
    pyro_model *model = open_program(&p);
    pyro_cost *cost = price_full(model);
    const pyro_work *work = &find_node(cost, "rows")->work;
    assert_int_equal(work->activation_read_bytes, 12 * 8); /* the ids */
    assert_int_equal(work->weight_read_bytes, 12 * 8 * 4); /* twelve rows, not a hundred */
    assert_int_equal(work->written_bytes, 12 * 8 * 4);
    work = &find_node(cost, "y")->work;
    assert_int_equal(work->weight_read_bytes, 16); /* a buffer is a weight */
    assert_string_equal(pyro_cost_dtype(cost), "float32");
    assert_int_equal(pyro_cost_total(cost)->work.params, 800 + 32);
    assert_int_equal(pyro_cost_buffer_values(cost), 4);
    pyro_work whole = pyro_cost_total(cost)->work;

    pyro_cost *half = price(model, (pyro_cost_options){.depth = -1, .dtype = "fp16"});
    const pyro_work *total = &pyro_cost_total(half)->work;
    assert_string_equal(pyro_cost_dtype(half), "float16");
    assert_int_equal(total->macs, whole.macs);
    assert_int_equal(total->flops, whole.flops);
    assert_int_equal(total->weight_read_bytes * 2, whole.weight_read_bytes);
    assert_int_equal(total->written_bytes * 2, whole.written_bytes);
    assert_int_equal((total->activation_read_bytes - 96) * 2, whole.activation_read_bytes - 96);
    assert_int_equal(pyro_cost_param_bytes(half), 2 * 832);
    pyro_cost_free(half);
    pyro_cost_free(cost);
    expect_failure(model, (pyro_cost_options){.dtype = "float17"}, PYRO_ERROR_ARGUMENT,
                   "unknown element type 'float17'; try float32");
    expect_failure(model, (pyro_cost_options){.ridge = -1}, PYRO_ERROR_ARGUMENT, "ridge");
    expect_failure(model, (pyro_cost_options){.ridge = NAN}, PYRO_ERROR_ARGUMENT, "ridge");
    expect_failure(model, (pyro_cost_options){.convention = (pyro_convention)9},
                   PYRO_ERROR_ARGUMENT, "convention");
    pyro_model_close(model);
}

static void test_bounds_and_bands(void **unused)
{
    (void)unused;
    program p = {0};
    program_input(&p, "x", "1000 1000");
    program_parameter(&p, "w", "big.weight", "1000 1000");
    program_tensor(&p, "y", "1000 1000");
    program_tensor(&p, "z", "1000 1000");
    program_tensor(&p, "v", "1000000");
    program_node(&p, "aten.linear.default", "big", "input=%x weight=%w", "%y");
    program_node(&p, "aten.relu.default", "act", "self=%y", "%z");
    program_node(&p, "aten.view.default", "look", "self=%z", "%v");
    pyro_model *model = open_program(&p);
    size_t count;
    for (int ridge = 100; ridge <= 200; ridge += 100) {
        pyro_cost *cost = price(model, (pyro_cost_options){.depth = -1, .ridge = ridge});
        const pyro_cost_row *rows = pyro_cost_layers(cost, &count);
        const pyro_cost_row *big = find_row(rows, count, "big");
        assert_float_equal(big->arithmetic_intensity, 2e9 / 12e6, 1e-9); /* 166.7 */
        assert_int_equal(big->bound, ridge == 100 ? PYRO_BOUND_COMPUTE : PYRO_BOUND_MEMORY);
        assert_int_equal(find_row(rows, count, "act")->bound, PYRO_BOUND_MEMORY);
        assert_int_equal(find_row(rows, count, "look")->bound, PYRO_BOUND_NONE);
        assert_true(pyro_cost_ridge(cost) == ridge);
        pyro_cost_free(cost);
    }
    pyro_model_close(model);
    assert_string_equal(pyro_band_name(9.99), "memory-bound");
    assert_string_equal(pyro_band_name(10), "balanced");
    assert_string_equal(pyro_band_name(50), "compute-bound");
    assert_string_equal(pyro_band_name(100), "compute-bound");
    assert_string_equal(pyro_band_name(100.1), "strongly compute-bound");
    assert_string_equal(pyro_bound_name(PYRO_BOUND_NONE), "none");
}

/* Each number fits, their sum does not. */
static void test_overflow_of_totals(void **unused)
{
    (void)unused;
    program p = {0};
    program_input(&p, "x", "1000000000 500000000");
    program_tensor(&p, "y", "1000000000 500000000");
    for (int i = 0; i < 4; i++)
        program_node(&p, "aten.clone.default", "copies", "self=%x", i ? "" : "%y");
    pyro_model *model = open_program(&p);
    expect_failure(model, (pyro_cost_options){.depth = -1}, PYRO_ERROR_LIMIT,
                   "the totals of the model do not fit in 64 bits");
    pyro_model_close(model);

    program weights = {0};
    program_parameter(&weights, "a", "a.weight", "4000000000 2000000000");
    program_parameter(&weights, "b", "b.weight", "4000000000 2000000000");
    model = open_program(&weights);
    expect_failure(model, (pyro_cost_options){.depth = -1}, PYRO_ERROR_LIMIT,
                   "the totals of the model do not fit in 64 bits");
    pyro_model_close(model);
}

static void test_advice(void **unused)
{
    (void)unused;
    size_t count;
    pyro_model *model = open_good(sizeof good_files / sizeof *good_files - 1);
    pyro_cost *cost = price_full(model);
    const char *const *advice = pyro_cost_advice(cost, &count);
    assert_true(count >= 1);
    assert_non_null(strstr(advice[0], "convolution-heavy"));
    assert_non_null(strchr(advice[0], '%'));
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static void test_an_empty_model(void **unused)
{
    (void)unused;
    size_t count;
    program p = {0};
    pyro_model *model = open_program(&p);
    pyro_cost *cost = price_full(model);
    const pyro_cost_row *total = pyro_cost_total(cost);
    assert_int_equal(total->work.flops, 0);
    assert_int_equal(total->memory_bytes, 0);
    assert_true(total->arithmetic_intensity == 0);
    assert_int_equal(total->bound, PYRO_BOUND_NONE);
    assert_true(pyro_cost_coverage(cost) == 1);
    pyro_cost_layers(cost, &count);
    assert_int_equal(count, 0);
    pyro_cost_operators(cost, &count);
    assert_int_equal(count, 0);
    pyro_cost_free(cost);
    pyro_cost_free(NULL);
    pyro_model_close(model);
}

static void test_without_memory(void **unused)
{
    (void)unused;
    pyro_model *models[] = {open_good(4), open_good(8), open_good(6)};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        bool whole = false;
        for (long n = 0; !whole; n++) {
            pyro_cost *cost = NULL;
            pyro_error error;
            pyro_error_clear(&error);
            fail_alloc_after(n);
            int status = pyro_cost_compute(&cost, models[i], NULL, &error);
            whole = fail_alloc_failures() == 0;
            fail_alloc_after(-1);
            if (status != PYRO_ERROR_MEMORY && !(whole && status == PYRO_OK))
                fail_msg("allocation %ld: status %d: %s", n, status, error.message);
            if (status == PYRO_OK)
                pyro_cost_free(cost);
        }
        pyro_model_close(models[i]);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows_sum_to_the_total),
    cmocka_unit_test(test_tree_without_memory),
    cmocka_unit_test(test_conventions),
    cmocka_unit_test(test_published_numbers),
    cmocka_unit_test(test_convention_names),
    cmocka_unit_test(test_bytes_and_element_types),
    cmocka_unit_test(test_bounds_and_bands),
    cmocka_unit_test(test_overflow_of_totals),
    cmocka_unit_test(test_advice),
    cmocka_unit_test(test_an_empty_model),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
