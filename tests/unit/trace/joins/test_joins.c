/* Tests of trace/joins/joins.c: buckets that add up, and failing allocations. */
#include "trace/joins/internal.h"

#include "fail_alloc.h"
#include "graph/model.h"
#include "trace_builder.h"
#include "unit.h"
#include <stddef.h>

/* A step with all kinds of events that the joins handle. */
static pyro_trace *make_step(void)
{
    pyro_trace *trace = build_trace(3, 1);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "ProfilerStep#1", 0, 1000);
    build_slice(trace, PYRO_EVENT_PYTHON, 0, "nn.Module: Net_0", 10, 190);
    build_slice(trace, PYRO_EVENT_PYTHON, 0, "nn.Module: Linear_0", 20, 50);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "fwd|fc", 25, 40);
    build_op(trace, 0, "aten::addmm", 30, 20, 1, 0);
    build_kernel(trace, 0, 3, "gemm", 35, 40, 7);
    build_kernel(trace, 0, 3, "ncclDevKernel_AllGather", 45, 50, 11);
    build_op(trace, 2, "aten::relu", 30, 20, 1, 0);
    build_op(trace, 1, "autograd::engine::evaluate_function: AddmmBackward0", 300, 50, 1, 1);
    build_kernel(trace, 1, 3, "gemm", 310, 320, 13);
    build_op(trace, 1, "autograd::engine::evaluate_function: MulBackward0", 400, 50, 0, 0);
    build_flow(trace, 1, 0, 30, false);
    build_flow(trace, 1, 1, 400, true);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "Optimizer.step#SGD.step", 500, 50);
    build_kernel(trace, 0, 3, "axpy", 510, 520, 17);
    build_kernel(trace, 0, 3, "copy", 700, 710, 19);
    build_event(trace, (built_event){PYRO_EVENT_MEMCPY, 3, "Memcpy", 800, 23, 9999, 0, 0});
    build_slice(trace, PYRO_EVENT_MEMORY, 0, "[memory]", 36, 0);
    build_slice(trace, PYRO_EVENT_DEVICE_ANNOTATION, 3, "ProfilerStep#1", 0, 900);
    return trace;
}

static void buckets_add_up(void **state)
{
    (void)state;
    pyro_trace *trace = make_step();
    pyro_joins joins;
    int64_t sums[5] = {0};
    assert_int_equal(pyro_joins_make(&joins, trace, NULL, NULL), PYRO_OK);
    for (uint32_t i = 0; i < trace->count; i++) {
        if (pyro_event_is_device_work(trace->category[i]))
            sums[joins.bucket[i]] += trace->duration_ns[i];
        if (joins.call[i] != PYRO_NO_LAYER)
            assert_true(joins.phase[i] == PYRO_PHASE_FORWARD ||
                        joins.phase[i] == PYRO_PHASE_BACKWARD);
        if (trace->category[i] == PYRO_EVENT_MEMORY) {
            assert_string_equal(pyro_event_name(trace, joins.op[i]), "aten::addmm");
            assert_int_equal(joins.calls[joins.call[i]].layer, 1);
        }
    }
    assert_int_equal(sums[PYRO_BUCKET_LAYER], 7 + 13);
    assert_int_equal(sums[PYRO_BUCKET_COLLECTIVE], 11);
    assert_int_equal(sums[PYRO_BUCKET_OPTIMIZER], 17);
    assert_int_equal(sums[PYRO_BUCKET_OUTSIDE_LAYER], 19);
    assert_int_equal(sums[PYRO_BUCKET_NO_LAUNCH], 23);
    assert_int_equal(joins.step_count, 1);
    pyro_joins_free(&joins);
    built_free(trace);
}

static pyro_model *make_model(void)
{
    pyro_model *model = pyro_model_new();
    uint32_t module = pyro_model_module(model, "fc", 2);
    model->modules[0].class_name = "Net";
    model->modules[module].class_name = "Linear";
    return model;
}

static void memory_runs_out(void **state)
{
    (void)state;
    pyro_trace *trace = make_step();
    pyro_analysis_options variants[] = {
        {.step = -1},
        {.step = -1, .model = make_model()},
        {.step = -1, .layers_from = "^fwd.(.*)"},
    };
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        int status = PYRO_ERROR_MEMORY;
        for (long allowed = 0; status != PYRO_OK; allowed++) {
            pyro_joins joins;
            pyro_error error;
            pyro_error_clear(&error);
            fail_alloc_after(allowed);
            status = pyro_joins_make(&joins, trace, &variants[i], &error);
            fail_alloc_after(-1);
            if (status == PYRO_OK)
                pyro_joins_free(&joins);
            else
                assert_int_equal(status, PYRO_ERROR_MEMORY);
        }
    }
    pyro_model_close(variants[1].model);
    built_free(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(buckets_add_up),
    cmocka_unit_test(memory_runs_out),
};

UNIT_TESTS(tests, NULL, NULL)
