/* Tests of read/pt2/places.c: a thread finds the same places as the reader itself. */
#include "graph/model.h"
#include "read/pt2/pt2.h"

#include "base/containers/buf.h"
#include "fail_alloc.h"
#include "unit.h"
#include <pyrometer/pyrometer.h>

/* Enough stacks for several batches. */
enum { NODES = 12000 };

/* Stacks with and without keys, of repeated calls, and nodes without a stack. */
static void add_metadata(pyro_buf *json, int node)
{
    static const char root[] = "L__self__,,test.Net";
    int block = node / 6;
    switch (node % 6) {
    case 0:
    case 1:
        pyro_buf_addf(json, "\"nn_module_stack\":\"%s;L__self__b.%d,b.%d,test.Block\"", root, block,
                      block);
        break;
    case 2:
        pyro_buf_addf(json, "\"nn_module_stack\":\"%s;L__self__act@%d,act@%d,torch.nn.ReLU\"", root,
                      block, block);
        break;
    case 3:
        pyro_buf_addf(json, "\"nn_module_stack\":\",b.%d,test.Block;,b.%d.in,test.In\"", block / 2,
                      block / 2);
        break;
    case 4:
        pyro_buf_adds(json, "\"stack_trace\":\"\"");
        break;
    default:
        pyro_buf_adds(json, "\"nn_module_stack\":\"\"");
    }
}

/* A chain of ReLUs, and blanks up to a size. */
static pyro_buf make_program(size_t size)
{
    pyro_buf json = PYRO_BUF_INIT;
    pyro_buf_adds(&json, "{\"graph_module\":{\"graph\":{\"inputs\":[{\"as_tensor\":{\"name\":"
                         "\"v0\"}}],\"outputs\":[],\"nodes\":[");
    for (int node = 0; node < NODES; node++) {
        pyro_buf_addf(
            &json,
            "%s{\"target\":\"torch.ops.aten.relu.default\",\"inputs\":[{\"name\":\"self\","
            "\"arg\":{\"as_tensor\":{\"name\":\"v%d\"}}}],\"outputs\":[{\"as_tensor\":"
            "{\"name\":\"v%d\"}}],\"metadata\":{",
            node ? "," : "", node, node + 1);
        add_metadata(&json, node);
        pyro_buf_adds(&json, "}}");
    }
    pyro_buf_adds(&json, "],\"tensor_values\":{");
    for (int value = 0; value <= NODES; value++)
        pyro_buf_addf(&json, "%s\"v%d\":{\"dtype\":7,\"sizes\":[]}", value ? "," : "", value);
    pyro_buf_adds(&json, "}},\"signature\":{\"input_specs\":[]}},\"schema_version\":{\"major\":8,"
                         "\"minor\":1}}");
    if (json.length < size)
        pyro_buf_fill(&json, ' ', size - json.length);
    assert_false(json.failed);
    return json;
}

static const size_t large = (size_t)PYRO_PT2_LARGE_BYTES + 1;

static pyro_model *open_program(size_t size)
{
    pyro_buf json = make_program(size);
    pyro_model *model;
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_model_open_memory(&model, json.data, json.length, "test.json", &error) < 0)
        fail_msg("%s", error.message);
    pyro_buf_free(&json);
    return model;
}

static void test_a_thread_finds_the_same_places(void **state)
{
    (void)state;
    pyro_model *one = open_program(0), *other = open_program(large);
    assert_int_equal(one->graph->node_count, NODES);
    assert_true(one->module_count > NODES / 6);
    assert_int_equal(one->module_count, other->module_count);
    assert_int_equal(one->call_count, other->call_count);
    for (size_t n = 0; n < NODES; n++) {
        assert_int_equal(one->graph->nodes[n].module, other->graph->nodes[n].module);
        assert_int_equal(one->graph->nodes[n].call, other->graph->nodes[n].call);
    }
    for (size_t m = 0; m < one->module_count; m++) {
        assert_string_equal(one->modules[m].path, other->modules[m].path);
        assert_string_equal(one->modules[m].class_name, other->modules[m].class_name);
        assert_int_equal(one->modules[m].parent, other->modules[m].parent);
    }
    for (size_t c = 0; c < one->call_count; c++) {
        assert_int_equal(one->calls[c].module, other->calls[c].module);
        assert_int_equal(one->calls[c].parent, other->calls[c].parent);
    }
    pyro_model_close(one);
    pyro_model_close(other);
}

/* The thread ends whatever happens to the reader. */
static void test_damaged_programs(void **state)
{
    (void)state;
    pyro_buf json = make_program(large);
    pyro_model *model;
    pyro_error error;
    for (size_t at = 100; at < 2000000; at += at) {
        char kept = json.data[at];
        json.data[at] = '\1';
        pyro_error_clear(&error);
        assert_int_equal(
            pyro_model_open_memory(&model, json.data, json.length, "test.json", &error),
            PYRO_ERROR_FORMAT);
        json.data[at] = kept;
    }
    pyro_buf_free(&json);
}

static void test_without_memory(void **state)
{
    (void)state;
    pyro_buf json = make_program(large);
    bool failed = true;
    for (long n = 0; failed; n = n * 5 / 4 + 1) {
        pyro_model *model = NULL;
        pyro_error error;
        pyro_error_clear(&error);
        fail_alloc_after(n);
        int status = pyro_model_open_memory(&model, json.data, json.length, "test.json", &error);
        failed = status < 0;
        fail_alloc_after(-1);
        if (failed)
            assert_int_equal(status, PYRO_ERROR_MEMORY);
        else
            pyro_model_close(model);
    }
    pyro_buf_free(&json);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_thread_finds_the_same_places),
    cmocka_unit_test(test_damaged_programs),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
