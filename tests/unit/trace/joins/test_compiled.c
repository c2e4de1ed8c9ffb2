/* Tests of trace/joins/compiled.c and compiled_layers.c: layers of compiled code, their names and
 * shares, with and without a model. */
#include "trace/joins/joins.h"

#include "base/containers/buf.h"
#include "graph/model.h"
#include "unit.h"
#include <pyrometer/trace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two calls of generated kernels around a product; "drop" exists only in training. */
#define NOTE \
    "{\\\"graph\\\":\\\"k\\\",\\\"calls\\\":[" \
    "{\\\"name\\\":\\\"triton_a\\\",\\\"layers\\\":[[\\\"blocks.0.norm\\\",3,\\\"LayerNorm\\\"]]}," \
    "{\\\"name\\\":\\\"extern_kernels.mm\\\",\\\"source\\\":\\\"/x/m.py:7\\\",\\\"layers\\\":" \
    "[[\\\"blocks.0.fc\\\",1]]}," \
    "{\\\"name\\\":\\\"triton_b\\\",\\\"layers\\\":[[\\\"blocks.0.drop\\\",1],[\\\"blocks.0\\\",2]]}]}"

static const char frames[] =
    "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: OptimizedModule_0\",\"pid\":1,"
    "\"tid\":1,\"ts\":0,\"dur\":100},\n"
    "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: Net_0\",\"pid\":1,\"tid\":1,"
    "\"ts\":1,\"dur\":98},\n";

static const char work[] =
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"## Call CompiledFxGraph k ##\",\"pid\":1,"
    "\"tid\":1,\"ts\":5,\"dur\":90},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"cuLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":10,"
    "\"dur\":2,\"args\":{\"correlation\":1}},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":9},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
    "\"ts\":22,\"dur\":2,\"args\":{\"correlation\":2}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"cuLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":40,"
    "\"dur\":2,\"args\":{\"correlation\":3}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"triton_a\",\"pid\":0,\"tid\":7,\"ts\":50,\"dur\":4,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"sgemm\",\"pid\":0,\"tid\":7,\"ts\":60,\"dur\":5,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":2}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"triton_b\",\"pid\":0,\"tid\":7,\"ts\":70,"
    "\"dur\":0.1,\"args\":{\"device\":0,\"stream\":7,\"correlation\":3}}\n";

/* "path=ns " of all shares and kernels in order; the caller frees it. */
static char *layers_of(bool with_frames, pyro_model *model)
{
    pyro_buf text = PYRO_BUF_INIT, found = PYRO_BUF_INIT;
    pyro_trace *trace = NULL;
    pyro_joins joins;
    pyro_error error;
    pyro_analysis_options options = {.step = -1, .model = model};
    pyro_error_clear(&error);
    pyro_buf_addf(&text,
                  "{\"pyrometer\":{\"compiled_graph.0.0\":\"%s\"},\"traceEvents\":[\n%s%s]}\n",
                  NOTE, with_frames ? frames : "", work);
    assert_int_equal(pyro_trace_open_memory(&trace, text.data, text.length, "x", NULL, &error),
                     PYRO_OK);
    assert_int_equal(pyro_joins_make(&joins, trace, &options, &error), PYRO_OK);
    for (uint32_t event = 0; event < trace->count; event++) {
        size_t count;
        const pyro_share *shares = pyro_joins_shares(&joins, event, &count);
        if (trace->category[event] != PYRO_EVENT_KERNEL)
            continue;
        assert_int_equal(joins.bucket[event], PYRO_BUCKET_LAYER);
        for (size_t i = 0; i < count; i++)
            pyro_buf_addf(&found, "%s=%lld ", joins.layers[joins.calls[shares[i].call].layer].path,
                          (long long)shares[i].ns);
        if (!count)
            pyro_buf_addf(&found, "%s ", joins.layers[joins.calls[joins.call[event]].layer].path);
        if (!strcmp(pyro_event_name(trace, event), "sgemm"))
            assert_string_equal(pyro_joins_source(&joins, event), "/x/m.py:7");
    }
    pyro_joins_free(&joins);
    pyro_trace_close(trace);
    pyro_buf_free(&text);
    return pyro_buf_detach(&found, NULL);
}

static void expect(bool with_frames, pyro_model *model, const char *layers)
{
    char *found = layers_of(with_frames, model);
    assert_string_equal(found, layers);
    free(found);
}

/* 100 ns are shared out by bytes, 1 to 2, without loss. */
static void without_frames_paths_are_whole(void **state)
{
    (void)state;
    expect(false, NULL, "blocks.0.norm blocks.0.fc blocks.0.drop=33 blocks.0=67 ");
}

static void modules_are_below_the_layer_that_called(void **state)
{
    (void)state;
    expect(true, NULL,
           "OptimizedModule_0.Net_0.blocks.0.norm OptimizedModule_0.Net_0.blocks.0.fc "
           "OptimizedModule_0.Net_0.blocks.0.drop=33 OptimizedModule_0.Net_0.blocks.0=67 ");
}

/* The model names what it has; a module of training only is named below its parent. The model's own
 * class may have another name than in the trace. */
static void a_model_names_compiled_layers(void **state)
{
    (void)state;
    static const char *const roots[] = {"Net", "OtherNet"};
    for (size_t r = 0; r < 2; r++) {
        static const char *const paths[] = {"", "blocks.0", "blocks.0.norm", "blocks.0.fc"};
        pyro_model *model = pyro_model_new();
        assert_non_null(model);
        for (size_t i = 0; i < 4; i++) {
            uint32_t module = pyro_model_module(model, paths[i], strlen(paths[i]));
            model->modules[module].class_name = i == 0 ? roots[r] : i == 1 ? "Block" : "Linear";
        }
        expect(true, model, "blocks.0.norm blocks.0.fc blocks.0.drop=33 blocks.0=67 ");
        pyro_model_close(model);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(without_frames_paths_are_whole),
    cmocka_unit_test(modules_are_below_the_layer_that_called),
    cmocka_unit_test(a_model_names_compiled_layers),
};

UNIT_TESTS(tests, NULL, NULL)
