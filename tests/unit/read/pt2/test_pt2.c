/* Tests of the .pt2 reader on unusual, damaged and hostile programs, byte by byte. */
#include "graph/model.h"

#include "fail_alloc.h"
#include "program.h"
#include "unit.h"
#include <pyrometer/pyrometer.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int open_bytes(pyro_model **model, const void *bytes, size_t size, pyro_error *error)
{
    pyro_error_clear(error);
    int status = pyro_model_open_memory(model, bytes, size, "test.pt2", error);
    if (status < 0 && (error->code != status || !error->message[0] ||
                       (!error->where[0] && status != PYRO_ERROR_MEMORY)))
        fail_msg("status %d, code %d, where '%s', message '%s'", status, (int)error->code,
                 error->where, error->message);
    return status;
}

static pyro_model *open_json(const char *json)
{
    pyro_model *model;
    pyro_error error;
    if (open_bytes(&model, json, strlen(json), &error) < 0)
        fail_msg("%s", error.message);
    return model;
}

static pyro_model *open_program(program *p)
{
    pyro_model *model = open_json(program_json(p));
    program_free(p);
    return model;
}

static void expect_refused(const char *json, pyro_status code, const char *words)
{
    pyro_model *model;
    pyro_error error;
    assert_int_equal(open_bytes(&model, json, strlen(json), &error), code);
    if (!strstr(error.message, words))
        fail_msg("'%s' is not in: %s", words, error.message);
}

/* Prices a model; -1 when that fails, with a reason. */
static int64_t total_macs(pyro_model *model)
{
    pyro_cost *cost;
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_cost_compute(&cost, model, NULL, &error) < 0) {
        assert_true(error.message[0]);
        return -1;
    }
    int64_t macs = pyro_cost_total(cost)->work.macs;
    pyro_cost_free(cost);
    return macs;
}

/* x(2x8) through two linear layers. */
static void two_layers(program *p)
{
    program_input(p, "x", "2 8");
    program_parameter(p, "w1", "first.weight", "16 8");
    program_parameter(p, "w2", "second.weight", "4 16");
    program_tensor(p, "h", "2 16");
    program_tensor(p, "y", "2 4");
    program_node(p, "aten.linear.default", "first", "input=%x weight=%w1", "%h");
    program_node(p, "aten.linear.default", "second", "input=%h weight=%w2", "%y");
}

static void test_a_program(void **unused)
{
    (void)unused;
    program p = {0};
    two_layers(&p);
    pyro_model *model = open_program(&p);
    assert_string_equal(pyro_model_name(model), "test");
    assert_string_equal(pyro_model_source(model), "pt2 8.14, torch 2.13.0");
    assert_int_equal(pyro_model_file_bytes(model), -1);
    assert_int_equal(model->graph->node_count, 2);
    assert_string_equal(model->graph->nodes[0].target, "aten.linear.default");
    assert_string_equal(model->graph->nodes[0].name, "h");
    assert_string_equal(model->modules[model->graph->nodes[1].module].path, "second");
    assert_int_equal(model->parameter_count, 2);
    assert_int_equal(total_macs(model), 2 * 8 * 16 + 2 * 16 * 4);
    pyro_model_close(model);
}

/* Keys may have any order; unknown keys are skipped; names may be escaped. */
static void test_other_spellings(void **unused)
{
    (void)unused;
    pyro_model *model = open_json(
        " {\"unknown\":[{\"deep\":[1,2,{}]}],\"torch_version\":\"9\\u002e9\",\"graph_module\":{"
        "\"signature\":{\"unknown\":1,\"input_specs\":[{\"user_input\":{\"arg\":{\"as_tensor\":{"
        "\"name\":\"\\u0078\"}}}},{\"token\":{\"arg\":{\"name\":\"t\"}}},{\"user_input\":{\"arg\":"
        "{\"as_int\":3}}}],\"output_specs\":[]},\"graph\":{\"tensor_values\":{\"x\":{\"sizes\":[{"
        "\"as_int\":4,\"unknown\":null}],\"strides\":[{\"as_int\":1}],\"dtype\":7,\"device\":{"
        "\"type\":\"cpu\",\"index\":null},\"layout\":7},\"y\":{\"dtype\":7,\"sizes\":[{\"as_int\":"
        "4}]}},\"nodes\":[{\"metadata\":null,\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}],"
        "\"inputs\":[{\"kind\":1,\"arg\":{\"as_tensor\":{\"name\":\"x\"}},\"name\":\"self\"}],"
        "\"target\":\"torch.ops.aten.relu.default\",\"is_hop_single_tensor_return\":null}],"
        "\"inputs\":[{\"as_tensor\":{\"name\":\"x\"}},{\"as_int\":3}]}}}\n ");
    assert_string_equal(pyro_model_source(model), "pt2 -1.0, torch 9.9");
    assert_int_equal(pyro_model_input_count(model), 1);
    assert_int_equal(total_macs(model), 0);
    pyro_model_close(model);
}

#define GRAPH(text) "{\"graph_module\":{\"graph\":" text "}}"
#define VALUES(text) GRAPH("{\"tensor_values\":{" text "}}")
#define NODE(text) GRAPH("{\"nodes\":[" text "]}")
#define RELU(text) NODE("{\"target\":\"aten.relu\"," text "}")

static void test_wrong_structure(void **unused)
{
    (void)unused;
    static const struct {
        const char *json, *words;
    } rows[] = {
        {"{}", "contains no exported program"},
        {"{} {}", "expected the end of the document"},
        {"{\"graph_module\":3}", "expected a graph module"},
        {"{\"graph_module\":{}}", "contains no exported program"},
        {GRAPH("[]"), "expected a graph"},
        {GRAPH("{},\"graph\":{}"), "a second graph"},
        {GRAPH("{\"nodes\":{}}"), "expected the nodes of a graph"},
        {NODE("3"), "expected a node"},
        {NODE("{}"), "a node without a target"},
        {NODE("{\"target\":3}"), "expected the target of a node"},
        {NODE("{\"target\":\"a\\u0000b\"}"), "the target of a node contains a NUL character"},
        {GRAPH("{\"tensor_values\":{\"a\\u0000b\":{}}}"), "a key contains a NUL character"},
        {RELU("\"inputs\":3"), "expected the arguments of a node"},
        {RELU("\"inputs\":[3]"), "expected a named argument"},
        {RELU("\"inputs\":[{\"arg\":3}]"), "expected an argument"},
        {RELU("\"inputs\":[{\"name\":3}]"), "expected the name of an argument"},
        {RELU("\"inputs\":[{\"arg\":{\"as_tensor\":3}}]"), "expected the name of a value"},
        {RELU("\"inputs\":[{\"arg\":{\"as_tensor\":{}}}]"), "a value without a name"},
        {RELU("\"inputs\":[{\"arg\":{\"as_tensor\":{\"name\":1}}}]"),
         "expected the name of a value"},
        {RELU("\"inputs\":[{\"arg\":{\"as_tensors\":3}}]"), "expected a list of tensors"},
        {RELU("\"inputs\":[{\"arg\":{\"as_tensors\":[3]}}]"), "expected the name of a value"},
        {RELU("\"inputs\":[{\"arg\":{\"as_ints\":3}}]"), "expected a list of integers"},
        {RELU("\"inputs\":[{\"arg\":{\"as_sym_ints\":[3]}}]"), "expected a symbolic number"},
        {RELU("\"inputs\":[{\"arg\":{\"as_graph\":3}}]"), "expected a subgraph"},
        {RELU("\"inputs\":[{\"arg\":{\"as_graph\":{}}}]"), "argument without a graph"},
        {RELU("\"inputs\":[{\"arg\":{\"as_string\":3}}]"), "expected a text"},
        {RELU("\"inputs\":[{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}]"), "before it is made"},
        {RELU("\"inputs\":[{\"arg\":{\"as_sym_int\":{\"as_name\":\"s\"}}}]"), "before it is made"},
        {RELU("\"outputs\":3"), "expected a list of values"},
        {RELU("\"outputs\":[3]"), "expected an argument"},
        {RELU("\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}]"), "'y' has no shape in the file"},
        {RELU("\"metadata\":3"), "expected the metadata of a node"},
        {RELU("\"metadata\":{\"nn_module_stack\":3}"), "expected a module stack"},
        {VALUES("\"x\":3"), "expected the description of a tensor"},
        {VALUES("\"x\":{}"), "tensor 'x' without sizes or element type"},
        {VALUES("\"x\":{\"dtype\":7}"), "tensor 'x' without sizes or element type"},
        {VALUES("\"x\":{\"sizes\":[]}"), "tensor 'x' without sizes or element type"},
        {VALUES("\"x\":{\"dtype\":99}"), "unknown element type 99"},
        {VALUES("\"x\":{\"dtype\":\"f\"}"), "expected the element type"},
        {VALUES("\"x\":{\"dtype\":1.5}"), "is not a 64-bit integer"},
        {VALUES("\"x\":{\"sizes\":3}"), "expected the sizes of a tensor"},
        {VALUES("\"x\":{\"sizes\":[3]}"), "expected a size"},
        {VALUES("\"x\":{\"sizes\":[{}]}"), "neither a number nor an expression"},
        {VALUES("\"x\":{\"sizes\":[{\"as_int\":-1}]}"), "expected a size of 0 or more"},
        {VALUES("\"x\":{\"sizes\":[{\"as_int\":9223372036854775808}]}"), "is not a 64-bit integer"},
        {VALUES("\"x\":{\"sizes\":[{\"as_bool\":[]}]}"), "expected true or false"},
        {VALUES("\"x\":{\"sizes\":[{\"as_expr\":3}]}"), "expected an expression"},
        {VALUES("\"x\":{\"sizes\":[{\"as_expr\":{}}]}"), "an expression without a text"},
        {VALUES("\"x\":{\"sizes\":[{\"as_expr\":{\"expr_str\":3}}]}"), "the text of an expression"},
        {VALUES("\"x\":{\"sizes\":[{\"as_expr\":{\"hint\":3}}]}"), "the hint of an expression"},
        {VALUES("\"x\":{\"sizes\":[{\"as_expr\":{\"hint\":{\"as_int\":\"3\"}}}]}"),
         "not an integer"},
        {VALUES("\"x\":{\"device\":3}"), "expected a device"},
        {VALUES("\"x\":{\"dtype\":7,\"sizes\":[]},\"x\":{}"), "'x' is described twice"},
        {GRAPH("{},\"signature\":3"), "expected a signature"},
        {GRAPH("{},\"signature\":{\"input_specs\":3}"), "expected the inputs of the signature"},
        {GRAPH("{},\"signature\":{\"input_specs\":[3]}"), "expected an input of the signature"},
        {GRAPH("{},\"signature\":{\"input_specs\":[{\"buffer\":3}]}"), "description of an input"},
        {GRAPH("{},\"signature\":{\"input_specs\":[{\"buffer\":{\"arg\":{\"name\":\"b\"}}}]}"),
         "a weight without a path"},
        {GRAPH("{},\"signature\":{\"input_specs\":[{\"user_input\":{\"arg\":{\"name\":\"b\"}}}]}"),
         "input 'b' has no shape in the file"},
        {GRAPH("{},\"signature\":{\"input_specs\":[{\"parameter\":{\"arg\":{\"name\":\"b\"},"
               "\"parameter_name\":\"b\"}}]}"),
         "weight 'b' has no shape in the file"},
        {GRAPH("{},\"signature\":{\"input_specs\":[{\"parameter\":{\"arg\":{\"name\":\"b\"},"
               "\"parameter_name\":\"b\"}},{\"parameter\":{\"arg\":{\"name\":\"c\"},"
               "\"parameter_name\":\"b\"}}]}"),
         "weight 'b' is listed twice"},
        {"{\"range_constraints\":3}", "expected range constraints"},
        {"{\"range_constraints\":{\"s0\":3}}", "expected a range"},
        {"{\"schema_version\":3}", "expected a schema version"},
        {"{\"schema_version\":{\"major\":\"8\"}}", "expected the schema's version"},
        {"{\"graph_module\":{\"graph\":{}", "unexpected end of input"},
        {"{\"graph_module\"", "unexpected end of input"},
        {"{nonsense}", "expected a key"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_refused(rows[i].json, PYRO_ERROR_FORMAT, rows[i].words);
    expect_refused("{\"schema_version\":{\"major\":99},\"graph_module\":{\"graph\":{}}}",
                   PYRO_ERROR_UNSUPPORTED, "schema version 99.0 is newer");
}

/* Of two kinds in one argument the last counts; nothing of the first remains. */
static void test_argument_of_two_kinds(void **unused)
{
    (void)unused;
    static const char *const arguments[] = {
        "{\"as_tensor\":{\"name\":\"x\"},\"as_none\":true}",
        "{\"as_tensor\":{\"name\":\"x\"},\"as_float\":1.5}",
        "{\"as_tensors\":[{\"name\":\"x\"},{\"name\":\"x\"}],\"as_string\":\"t\"}",
        "{\"as_ints\":[1,2,3],\"as_tensor\":{\"name\":\"x\"}}",
        "{\"as_tensor\":{\"name\":\"x\"},\"as_int\":7}",
        "{\"as_graph\":{\"graph\":{}},\"as_ints\":[1,2,3]}",
        "{\"as_ints\":[1,2,3],\"as_graph\":{\"graph\":{}}}",
        "{\"as_float\":{\"as_tensor\":{\"name\":\"x\"}}}",
        "{\"as_float\":[1,2]}",
        "{\"as_optional_tensors\":[{\"as_tensor\":{\"name\":\"x\"}},{\"as_none\":true}],\"as_int\":1}",
        "{\"as_int\":{\"a\":[1]},\"as_float\":\"Infinity\"}",
        "{}",
    };
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        program p = {0};
        pyro_buf args = PYRO_BUF_INIT;
        program_input(&p, "x", "2 8");
        program_tensor(&p, "y", "2 8");
        pyro_buf_addf(&args, "self=%%x a=%s", arguments[i]);
        program_node(&p, "aten.relu.default", "", args.data, "%y");
        pyro_buf_reset(&args);
        pyro_buf_addf(&args, "=%s", arguments[i]);
        program_node(&p, "aten.relu.default", "", args.data, "");
        pyro_model *model = open_program(&p);
        assert_int_equal(total_macs(model), 0);
        pyro_model_close(model);
        pyro_buf_free(&args);
    }
}

/* Numbers that the host computes may be negative; sizes may not. */
static void test_symbolic_numbers(void **unused)
{
    (void)unused;
    program p = {0};
    program_input(&p, "x", "s0@3 8");
    program_number(&p, "minus", "-2");
    program_number(&p, "twice", "2*s0@6");
    program_tensor(&p, "y", "2*s0@6 8");
    program_node(&p, "_operator.mul", "", "=2", "@twice");
    program_node(&p, "_operator.neg", "", "=2", "@minus");
    program_node(&p, "aten.view.default", "",
                 "self=%x size={\"as_sym_ints\":[{\"as_name\":\"twice\"},"
                 "{\"as_int\":8},{\"as_name\":\"minus\"}]}",
                 "%y");
    pyro_model *model = open_program(&p);
    int64_t value;
    const pyro_arg_integer *size = model->graph->nodes[2].args[1].items.integers;
    assert_true(pyro_size_value(model, model->graph->values[size[0].value].sizes[0], &value));
    assert_int_equal(value, 6);
    assert_int_equal(size[1].literal, 8);
    assert_true(pyro_size_value(model, model->graph->values[size[2].value].sizes[0], &value));
    assert_int_equal(value, -2);
    assert_int_equal(total_macs(model), 0);
    pyro_model_close(model);
}

/* A program truncated at any byte is rejected, and never read past its end. */
static void test_truncation(void **unused)
{
    (void)unused;
    program p = {0};
    two_layers(&p);
    const char *json = program_json(&p);
    size_t size = strlen(json);
    for (size_t cut = 0; cut < size; cut++) {
        pyro_model *model;
        pyro_error error;
        char *copy = malloc(cut + 1); /* one byte for malloc(0); sanitizers watch the rest */
        memcpy(copy, json, cut);
        assert_true(open_bytes(&model, copy, cut, &error) < 0);
        free(copy);
    }
    program_free(&p);
}

/* A program with any bit flipped is read and priced, or rejected by either. */
static void test_flipped_bits(void **unused)
{
    (void)unused;
    program p = {0};
    two_layers(&p);
    program_node(&p, "aten.max_pool1d.default", "pool", "self=%y kernel_size=[2]", "");
    program_node(&p, "aten.einsum.default", "", "equation='ij,jk->ik' tensors=[%x,%w1]", "");
    size_t size = strlen(program_json(&p));
    char *copy = malloc(size);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        pyro_model *model;
        pyro_error error;
        memcpy(copy, p.json.data, size);
        copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
        if (open_bytes(&model, copy, size, &error) < 0)
            continue;
        assert_true(total_macs(model) >= -1);
        pyro_model_close(model);
    }
    free(copy);
    program_free(&p);
}

static void test_without_memory(void **unused)
{
    (void)unused;
    program p = {0};
    two_layers(&p);
    program_number(&p, "n", "2*s0@4");
    program_node(&p, "_operator.mul", "", "=3 =[1,2]", "@n");
    program_node(&p, "aten.cat.default", "last.of.all", "tensors=[%x,%h] dim=@n", "");
    program_json(&p);
    bool whole = false;
    for (long n = 0; !whole; n++) {
        pyro_model *model = NULL;
        pyro_cost *cost = NULL;
        pyro_error error;
        fail_alloc_after(n);
        int status = open_bytes(&model, p.json.data, p.json.length, &error);
        if (status == PYRO_OK)
            status = pyro_cost_compute(&cost, model, NULL, &error);
        whole = fail_alloc_failures() == 0;
        fail_alloc_after(-1);
        if (status != PYRO_ERROR_MEMORY && status != PYRO_OK)
            fail_msg("allocation %ld: status %d: %s", n, status, error.message);
        assert_true(!whole || status == PYRO_OK);
        if (status == PYRO_OK)
            pyro_cost_free(cost);
        pyro_model_close(model);
    }
    program_free(&p);
}

/* Opens and prices a program; more than a few seconds means more than linear time. */
static void expect_quick(program *p, const char *what)
{
    pyro_error error;
    pyro_model *model;
    clock_t begin = clock();
    const char *json = program_json(p);
    int status = open_bytes(&model, json, p->json.length, &error);
    if (status == PYRO_OK) {
        total_macs(model);
        pyro_model_close(model);
    }
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    if (seconds > 10)
        fail_msg("%s (%zu bytes): %.1f s", what, p->json.length, seconds);
    program_free(p);
}

static void repeat(pyro_buf *buf, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pyro_buf_addf(buf, "%s%s", i ? "," : "", text);
}

/* A careless reader takes quadratic time on each of these. */
static void test_hostile_programs(void **unused)
{
    (void)unused;
    pyro_buf text = PYRO_BUF_INIT;
    program p = {0};
    program_input(&p, "x", "2 8");
    pyro_buf_adds(&p.nodes, "{\"target\":\"aten.cat\",\"inputs\":[");
    repeat(&p.nodes, "{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}", 100000);
    pyro_buf_adds(&p.nodes, "],\"outputs\":[]}");
    expect_quick(&p, "a hundred thousand arguments");

    p = (program){0};
    program_input(&p, "x", "2 8");
    pyro_buf_adds(&p.nodes, "{\"target\":\"higher_order.f\",\"inputs\":[");
    repeat(&p.nodes, "{\"arg\":{\"as_graph\":{\"graph\":{}}}}", 30000);
    pyro_buf_adds(&p.nodes, ",{\"arg\":{\"as_tensors\":[");
    repeat(&p.nodes, "{\"name\":\"x\"}", 100000);
    pyro_buf_adds(&p.nodes, "]}}],\"outputs\":[]}");
    expect_quick(&p, "many subgraphs and operands");

    p = (program){0};
    program_parameter(&p, "used", "other.weight", "2 8");
    for (int i = 0; i < 20000; i++) {
        char name[32];
        snprintf(name, sizeof name, "p%d", i);
        program_parameter(&p, name, name, "4 4");
        program_node(&p, "aten.relu.default", "", "self=%used", "");
    }
    expect_quick(&p, "unused parameters beside nodes of their layer");

    pyro_buf_fill(&text, 'n', 1 << 20);
    p = (program){0};
    program_input(&p, text.data, "2 8");
    pyro_buf_addf(&p.nodes,
                  "{\"target\":\"%s.%s\",\"inputs\":[{\"name\":\"%s\",\"arg\":{\"as_tensor\":"
                  "{\"name\":\"%s\"}}}],\"outputs\":[],\"metadata\":{\"nn_module_stack\":"
                  "\"L__self__,%s,%s\"}}",
                  text.data, text.data, text.data, text.data, text.data, text.data);
    expect_quick(&p, "names of a megabyte");

    p = (program){0};
    program_input(&p, "x", "2 8");
    pyro_buf_reset(&text);
    repeat(&text, "a.b", 200000);
    program_node(&p, "aten.relu.default", text.data, "self=%x", "");
    expect_quick(&p, "a layer of many dots");
    pyro_buf_free(&text);
}

static void test_many_nodes(void **unused)
{
    (void)unused;
    program p = {0};
    char before[32] = "x", after[32], args[64], output[48];
    program_input(&p, "x", "2 8");
    for (int i = 0; i < 50000; i++) {
        snprintf(after, sizeof after, "v%d", i);
        snprintf(args, sizeof args, "self=%%%s", before);
        snprintf(output, sizeof output, "%%%s", after);
        program_tensor(&p, after, "2 8");
        program_node(&p, "aten.relu.default", "act", args, output);
        memcpy(before, after, sizeof before);
    }
    expect_quick(&p, "50,000 nodes");
}

/* Subgraphs inside subgraphs: the reader and the walk both nest. */
static void test_nested_subgraphs(void **unused)
{
    (void)unused;
    for (int depth = 1; depth <= 60; depth += 1) {
        pyro_buf json = PYRO_BUF_INIT;
        pyro_model *model;
        pyro_error error;
        pyro_buf_adds(&json, "{\"graph_module\":{\"graph\":");
        for (int i = 0; i < depth; i++)
            pyro_buf_adds(&json,
                          "{\"nodes\":[{\"target\":\"torch.ops.higher_order.cond\",\"inputs\":["
                          "{\"arg\":{\"as_graph\":{\"graph\":{}}}},"
                          "{\"arg\":{\"as_graph\":{\"graph\":");
        pyro_buf_adds(&json, "{}");
        for (int i = 0; i < depth; i++)
            pyro_buf_adds(&json, "}}}]}]}");
        pyro_buf_adds(&json, "}}");
        if (open_bytes(&model, json.data, json.length, &error) == PYRO_OK) {
            assert_int_equal(total_macs(model), 0);
            pyro_model_close(model);
        } else {
            assert_true(depth > 20);
            assert_int_equal(error.code, PYRO_ERROR_LIMIT);
        }
        pyro_buf_free(&json);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_program),        cmocka_unit_test(test_other_spellings),
    cmocka_unit_test(test_wrong_structure),  cmocka_unit_test(test_argument_of_two_kinds),
    cmocka_unit_test(test_symbolic_numbers), cmocka_unit_test(test_truncation),
    cmocka_unit_test(test_flipped_bits),     cmocka_unit_test(test_without_memory),
    cmocka_unit_test(test_hostile_programs), cmocka_unit_test(test_many_nodes),
    cmocka_unit_test(test_nested_subgraphs),
};

UNIT_TESTS(tests, NULL, NULL)
