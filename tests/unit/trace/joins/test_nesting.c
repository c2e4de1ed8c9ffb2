/* Tests of trace/joins/nesting.c: nesting, partial overlaps, phases and the owner of each call. */
#include "trace/joins/internal.h"

#include "trace_builder.h"
#include "unit.h"
#include <stddef.h>

static pyro_joins join(pyro_trace *trace)
{
    pyro_joins joins;
    assert_int_equal(pyro_joins_make(&joins, trace, NULL, NULL), PYRO_OK);
    return joins;
}

static void partial_overlaps_go_to_the_innermost(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 0);
    uint32_t a = build_slice(trace, PYRO_EVENT_OP, 0, "a", 0, 10);
    uint32_t b = build_slice(trace, PYRO_EVENT_OP, 0, "b", 5, 10);
    uint32_t c = build_slice(trace, PYRO_EVENT_OP, 0, "c", 12, 2);
    uint32_t d = build_slice(trace, PYRO_EVENT_OP, 0, "d", 15, 1);
    pyro_joins joins = join(trace);
    assert_int_equal(joins.parent[b], a);
    assert_int_equal(joins.parent[c], b);
    assert_int_equal(joins.parent[d], PYRO_NO_EVENT);
    assert_int_equal(joins.partial_overlaps, 1);
    pyro_joins_free(&joins);
    built_free(trace);
}

static void times_without_sense_are_bounded(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 0);
    build_slice(trace, PYRO_EVENT_OP, 0, "forever", 0, INT64_MAX);
    uint32_t late = build_slice(trace, PYRO_EVENT_OP, 0, "late", INT64_MAX, INT64_MAX);
    uint32_t back = build_slice(trace, PYRO_EVENT_OP, 0, "backwards", 5, -100);
    uint32_t zero = build_slice(trace, PYRO_EVENT_OP, 0, "zero", 5, 0);
    build_slice(trace, PYRO_EVENT_OP, 0, "early", INT64_MIN, INT64_MIN);
    pyro_joins joins = join(trace);
    assert_int_equal(joins.parent[back], 0);
    assert_int_equal(joins.parent[zero], 0);
    assert_int_equal(joins.parent[late], PYRO_NO_EVENT);
    pyro_joins_free(&joins);
    built_free(trace);
}

static void a_million_levels_are_linear(void **state)
{
    (void)state;
    enum { LEVELS = 1000000 };
    pyro_trace *trace = build_trace(1, 1);
    for (int i = 0; i < LEVELS; i++)
        build_slice(trace, i % 3 ? PYRO_EVENT_OP : PYRO_EVENT_PYTHON, 0,
                    i % 3 ? "aten::x" : "nn.Module: Block_0", i, 4 * LEVELS - 2 * i);
    uint32_t kernel = build_kernel(trace, 0, 1, "gemm", LEVELS, LEVELS + 5, 10);
    pyro_joins joins = join(trace);
    assert_int_equal(joins.parent[LEVELS - 1], LEVELS - 2);
    assert_int_equal(joins.layer_count, 1);
    assert_int_equal(joins.call_count, LEVELS / 3 + 1);
    assert_int_equal(joins.call[kernel], joins.call_count - 1);
    pyro_joins_free(&joins);
    built_free(trace);
}

/* An annotation that began in a layer and outlives it does not assign later events to the layer. */
static void ranges_do_not_carry_calls_along(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 1);
    build_slice(trace, PYRO_EVENT_PYTHON, 0, "nn.Module: Net_0", 0, 100);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "epoch", 50, 1000);
    uint32_t op = build_slice(trace, PYRO_EVENT_OP, 0, "aten::mul", 95, 20);
    uint32_t own = build_kernel(trace, 0, 1, "mul", 110, 120, 5);
    uint32_t after = build_kernel(trace, 0, 1, "add", 200, 210, 5);
    pyro_joins joins = join(trace);
    assert_int_equal(joins.call[op], 0);
    assert_int_equal(joins.bucket[own], PYRO_BUCKET_LAYER);
    assert_int_equal(joins.bucket[after], PYRO_BUCKET_OUTSIDE_LAYER);
    assert_int_equal(joins.phase[after], PYRO_PHASE_OTHER);
    pyro_joins_free(&joins);
    built_free(trace);
}

/* A training step: layer, loss, backward on its own thread, optimizer. */
static void phases_of_a_step(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(2, 1);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "ProfilerStep#3", 0, 1000);
    build_slice(trace, PYRO_EVENT_PYTHON, 0, "nn.Module: Linear_0", 10, 50);
    uint32_t linear = build_op(trace, 0, "aten::addmm", 20, 20, 1, 0);
    uint32_t forward = build_kernel(trace, 0, 2, "gemm", 25, 30, 7);
    uint32_t loss = build_op(trace, 0, "aten::mse_loss", 100, 20, 2, 0);
    uint32_t loss_kernel = build_kernel(trace, 0, 2, "mse", 105, 110, 7);
    build_op(trace, 1, "autograd::engine::evaluate_function: MseLossBackward0", 200, 20, 2, 1);
    uint32_t loss_backward = build_kernel(trace, 1, 2, "mse_backward", 205, 210, 7);
    build_op(trace, 1, "autograd::engine::evaluate_function: AddmmBackward0", 230, 20, 1, 1);
    uint32_t nested = build_op(trace, 1, "aten::mm", 232, 10, 0, 0);
    uint32_t backward = build_kernel(trace, 1, 2, "gemm_backward", 235, 240, 7);
    uint32_t accumulate = build_op(
        trace, 1, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 260, 9, 0,
        0);
    uint32_t finish = build_op(trace, 1, "aten::as_strided", 280, 5, 0, 0);
    uint32_t clip = build_op(trace, 0, "aten::_foreach_norm", 290, 5, 0, 0);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "Optimizer.step#SGD.step", 300, 50);
    build_op(trace, 0, "aten::add_", 310, 20, 0, 0);
    uint32_t update = build_kernel(trace, 0, 2, "axpy", 315, 320, 7);
    pyro_joins joins = join(trace);
    assert_int_equal(joins.phase[forward], PYRO_PHASE_FORWARD);
    assert_int_equal(joins.bucket[forward], PYRO_BUCKET_LAYER);
    assert_int_equal(joins.op[forward], linear);
    assert_int_equal(joins.phase[loss], PYRO_PHASE_FORWARD);
    assert_int_equal(joins.phase[loss_kernel], PYRO_PHASE_FORWARD);
    assert_int_equal(joins.bucket[loss_kernel], PYRO_BUCKET_OUTSIDE_LAYER);
    assert_int_equal(joins.phase[loss_backward], PYRO_PHASE_BACKWARD);
    assert_int_equal(joins.bucket[loss_backward], PYRO_BUCKET_OUTSIDE_LAYER);
    assert_int_equal(joins.call[nested], joins.call[linear]);
    assert_int_equal(joins.call[backward], joins.call[linear]);
    assert_int_equal(joins.phase[backward], PYRO_PHASE_BACKWARD);
    assert_int_equal(joins.call[accumulate], joins.call[linear]);
    assert_int_equal(joins.phase[finish], PYRO_PHASE_BACKWARD);
    assert_int_equal(joins.call[finish], PYRO_NO_LAYER);
    assert_int_equal(joins.phase[clip], PYRO_PHASE_OPTIMIZER);
    assert_int_equal(joins.bucket[update], PYRO_BUCKET_OPTIMIZER);
    assert_int_equal(joins.step_count, 1);
    assert_int_equal(joins.steps[0].number, 3);
    pyro_joins_free(&joins);
    built_free(trace);
}

/* The innermost range decides: a layer recomputed in the backward is forward. */
static void recomputed_layers_are_forward(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(2, 1);
    build_slice(trace, PYRO_EVENT_PYTHON, 0, "nn.Module: Net_0", 0, 100);
    build_slice(trace, PYRO_EVENT_PYTHON, 0, "nn.Module: Linear_0", 10, 50);
    build_op(trace, 0, "aten::addmm", 20, 20, 1, 0);
    build_op(trace, 1, "autograd::engine::evaluate_function: AddmmBackward0", 200, 100, 1, 1);
    uint32_t before = build_kernel(trace, 1, 2, "x", 205, 206, 1);
    build_slice(trace, PYRO_EVENT_PYTHON, 1, "nn.Module: Linear_0", 210, 50);
    build_op(trace, 1, "aten::addmm", 220, 20, 1, 0);
    uint32_t again = build_kernel(trace, 1, 2, "gemm", 225, 230, 7);
    uint32_t after = build_kernel(trace, 1, 2, "gemm", 270, 275, 7);
    pyro_joins joins = join(trace);
    assert_int_equal(joins.call_count, 3);
    assert_int_equal(joins.layer_count, 2);
    assert_int_equal(joins.calls[2].layer, 1);
    assert_int_equal(joins.calls[2].parent, PYRO_NO_LAYER);
    assert_int_equal(joins.phase[before], PYRO_PHASE_BACKWARD);
    assert_int_equal(joins.phase[again], PYRO_PHASE_FORWARD);
    assert_int_equal(joins.call[again], 2);
    assert_int_equal(joins.phase[after], PYRO_PHASE_BACKWARD);
    assert_int_equal(joins.call[after], 1);
    pyro_joins_free(&joins);
    built_free(trace);
}

/* DDP copies gradients back when all are ready; this work belongs to the wrapper. */
static void reducer_work_is_the_wrappers(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(2, 1);
    build_slice(trace, PYRO_EVENT_PYTHON, 0, "nn.Module: DistributedDataParallel_0", 0, 100);
    build_slice(trace, PYRO_EVENT_PYTHON, 0, "nn.Module: Linear_0", 10, 50);
    build_op(trace, 0, "aten::addmm", 20, 20, 1, 0);
    build_op(trace, 1, "autograd::engine::evaluate_function: AddmmBackward0", 200, 10, 1, 1);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 1, "nccl:all_reduce", 215, 5);
    build_op(trace, 1, "torch.distributed.ddp.reducer::copy_bucket_to_grad", 220, 10, 0, 0);
    uint32_t copy = build_kernel(trace, 1, 2, "copy", 222, 230, 7);
    uint32_t reduce = build_kernel(trace, 1, 2, "ncclDevKernel_AllReduce", 225, 240, 7);
    pyro_joins joins = join(trace);
    assert_string_equal(joins.layers[joins.calls[joins.call[copy]].layer].class_name,
                        "DistributedDataParallel");
    assert_int_equal(joins.phase[copy], PYRO_PHASE_BACKWARD);
    assert_int_equal(joins.bucket[reduce], PYRO_BUCKET_COLLECTIVE);
    pyro_joins_free(&joins);
    built_free(trace);
}

/* torch.compile traces the backward inside its own op; what the thread does later is none. */
static void traced_backward_marks_no_thread(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 0);
    build_op(trace, 0, "dynamo", 0, 100, 0, 0);
    uint32_t traced = build_op(trace, 0, "autograd::engine::evaluate_function: AddmmBackward0", 10,
                               20, 1, 1);
    build_op(trace, 0, "AddmmBackward0", 12, 10, 1, 1);
    build_op(trace, 0, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 40,
             10, 0, 0);
    uint32_t region = build_op(trace, 0, "Torch-Compiled Region: 0/0", 200, 50, 0, 0);
    pyro_joins joins = join(trace);
    assert_int_equal(joins.phase[traced], PYRO_PHASE_BACKWARD);
    assert_int_equal(joins.phase[region], PYRO_PHASE_FORWARD); /* a row of its own */
    pyro_joins_free(&joins);
    built_free(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(partial_overlaps_go_to_the_innermost),
    cmocka_unit_test(times_without_sense_are_bounded),
    cmocka_unit_test(a_million_levels_are_linear),
    cmocka_unit_test(ranges_do_not_carry_calls_along),
    cmocka_unit_test(phases_of_a_step),
    cmocka_unit_test(recomputed_layers_are_forward),
    cmocka_unit_test(reducer_work_is_the_wrappers),
    cmocka_unit_test(traced_backward_marks_no_thread),
};

UNIT_TESTS(tests, NULL, NULL)
