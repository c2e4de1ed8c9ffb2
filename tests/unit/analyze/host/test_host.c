/* Host work for the device: launches, copies, synchronizations, data loading. */
#include "analyze_maker.h"
#include "unit.h"

static void test_launches(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_work(&maker, "kernel", "a", 0, 7, 1000, 500, 100, 50, "");
    maker_work(&maker, "kernel", "b", 0, 7, 1500, 20, 200, 60000, ""); /* slow call, short kernel */
    maker_work(&maker, "kernel", "c", 0, 7, 1600, 500, 300, 70, "");
    maker_work(&maker, "kernel", "d", 0, 7, 90000, 500, 70000, 80, ""); /* late */
    maker_kernel(&maker, "e", 95000, 5, -1);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    const pyro_launch_summary *launch = &analysis->launch;
    assert_int_equal(launch->launches, 4);
    assert_int_equal(launch->launch_total_ns, 50 + 60000 + 70 + 80);
    assert_int_equal(launch->launch_median_ns, 70);
    assert_int_equal(launch->slow_launches, 1);
    assert_int_equal(launch->short_kernels, 1);
    assert_int_equal(launch->short_kernel_total_ns, 20);
    assert_int_equal(launch->late_kernels, 1);
    assert_int_equal(launch->max_queue, 3);
    /* 1 for 100, 2 for 100, 3 for 700, 2 for 500, 1 for 100, then 1 for 20000 of 89900 */
    assert_float_equal(launch->mean_queue, 23500.0 / 89900, 1e-9);
    assert_int_equal(launch->delay_median_ns, 850);
    assert_int_equal(launch->delay_p95_ns, 90000 - 70080);
    maker_end(&maker);
}

/* One call that starts many kernels is one launch, and none of them counts as short. */
static void test_graph_launch(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_event(&maker, "cuda_runtime", "cudaGraphLaunch", 100, 1, 10, 90, "\"correlation\":77");
    for (int i = 0; i < 600; i++)
        maker_event(&maker, "kernel", "node", 0, 7, 200 + i * 10, 5,
                    "\"device\":0,\"stream\":7,\"correlation\":77,\"graph id\":3");
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->launch.launches, 1);
    assert_int_equal(analysis->launch.launch_total_ns, 90);
    assert_int_equal(analysis->launch.max_queue, 600);
    assert_int_equal(analysis->launch.short_kernels, 0);
    assert_int_equal(analysis->launch.late_kernels, 0);
    assert_int_equal(analysis->gap_total_ns[PYRO_GAP_KERNEL_WAIT], 599 * 5);
    maker_end(&maker);
}

static void test_copies(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_work(&maker, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 7, 100, 100, 10, 1,
               ",\"bytes\":1000");
    maker_work(&maker, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 7, 300, 300, 20, 1,
               ",\"bytes\":1000");
    maker_work(&maker, "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 7, 700, 10, 30, 1,
               ",\"bytes\":500");
    maker_work(&maker, "gpu_memcpy", "CopyDeviceToHost", 0, 7, 800, 9, 40, 1, "");
    maker_work(&maker, "gpu_memcpy", "Memcpy DtoD (Device -> Device)", 0, 7, 900, 8, 50, 1,
               ",\"bytes\":800");
    maker_work(&maker, "gpu_memcpy", "Memcpy M2D(HOST -> DEVICE)", 0, 7, 920, 7, 60, 1, "");
    maker_work(&maker, "gpu_memcpy", "strange copy", 0, 7, 930, 6, 70, 1, "");
    maker_work(&maker, "gpu_memset", "Memset (Device)", 0, 7, 940, 5, 80, 1, ",\"bytes\":50");
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    static const char *const kinds[] = {"HtoD pageable", "HtoD pinned",  "DtoH",  "DtoD",
                                        "MtoD",          "strange copy", "memset"};
    assert_int_equal(analysis->copy_count, 7);
    for (size_t i = 0; i < 7; i++)
        assert_string_equal(analysis->copies[i].kind, kinds[i]);
    assert_int_equal(analysis->copies[0].calls, 2);
    assert_int_equal(analysis->copies[0].bytes, 2000);
    assert_int_equal(analysis->copies[0].total_ns, 400);
    assert_float_equal(analysis->copies[0].gb_per_s, 5, 1e-9);
    assert_int_equal(analysis->copies[2].bytes, -1);
    assert_float_equal(analysis->copies[2].gb_per_s, -1, 0);
    pyro_analysis_options options = {.step = -1, .filter = "^HtoD"};
    assert_int_equal(maker_analyze(&maker, &options)->copy_count, 2);
    maker_end(&maker);
}

static void test_syncs(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_kernel(&maker, "a", 100, 1000, 10);
    maker_host(&maker, "python_function", "train.py(40): log", 1, 100, 2000);
    for (int i = 0; i < 3; i++) {
        maker_host(&maker, "cpu_op", "aten::item", 1, 200 + i * 200, 100);
        maker_host(&maker, "cpu_op", "aten::_local_scalar_dense", 1, 210 + i * 200, 80);
        maker_host(&maker, "cuda_runtime", "cudaStreamSynchronize", 1, 220 + i * 200, 50);
    }
    maker_host(&maker, "cuda_runtime", "cudaDeviceSynchronize", 1, 3000, 7);
    maker_host(&maker, "cuda_runtime", "cudaMemcpy", 1, 3100, 6);
    maker_host(&maker, "cuda_runtime", "hipMemcpyWithStream", 1, 3200, 5);
    maker_host(&maker, "cuda_runtime", "cudaMemcpyAsync", 1, 3300, 4);
    maker_host(&maker, "cuda_runtime", "cudaGraphAddMemcpyNode", 1, 3400, 4);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->sync_count, 4);
    assert_string_equal(analysis->syncs[0].call, "cudaStreamSynchronize");
    assert_string_equal(analysis->syncs[0].op, "aten::_local_scalar_dense");
    assert_string_equal(analysis->syncs[0].line, "train.py(40): log");
    assert_int_equal(analysis->syncs[0].calls, 3);
    assert_int_equal(analysis->syncs[0].total_ns, 150);
    assert_string_equal(analysis->syncs[1].call, "cudaDeviceSynchronize");
    assert_string_equal(analysis->syncs[1].line, "");
    assert_string_equal(analysis->syncs[2].call, "cudaMemcpy");
    assert_string_equal(analysis->syncs[3].call, "hipMemcpyWithStream");
    maker_end(&maker);
}

/* Without runtime calls in the trace, item() itself says that the host waits. */
static void test_items_where_no_calls_are(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_kernel(&maker, "a", 100, 1000, -1);
    maker_event(&maker, "cpu_op", "aten::item", 100, 1, 200, 100,
                "\"Call stack\":\"torch/_tensor.py(3): f;loop.py(8): main\"");
    maker_host(&maker, "cpu_op", "aten::_local_scalar_dense", 1, 210, 80);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->sync_count, 1);
    assert_string_equal(analysis->syncs[0].call, "aten::item");
    assert_string_equal(analysis->syncs[0].line, "loop.py(8): main");
    assert_int_equal(analysis->syncs[0].total_ns, 100);
    maker_end(&maker);
}

static void test_loading(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 1, 0, 1000);
    maker_step(&maker, 2, 1000, 1000);
    for (int i = 0; i < 2; i++) {
        int64_t start = i * 1000;
        maker_host(&maker, "python_function", "torch/utils/data/dataloader.py(700): __next__", 1,
                   start + 10, 200);
        maker_host(&maker, "user_annotation", "enumerate(DataLoader)#_Iter.__next__", 1, start + 20,
                   180);
        maker_kernel(&maker, "a", start + 100, 50, start + 5);
    }
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->data_loading.calls, 2);
    assert_int_equal(analysis->data_loading.total_ns, 400);
    assert_int_equal(analysis->data_loading.uncovered_ns, 300);
    assert_float_equal(analysis->data_loading.share_of_steps, 0.15, 1e-12);
    assert_int_equal(analysis->steps[0].data_loading_ns, 150);
    pyro_analysis_options options = {.step = 2};
    analysis = maker_analyze(&maker, &options);
    assert_int_equal(analysis->data_loading.calls, 1);
    assert_int_equal(analysis->data_loading.uncovered_ns, 150);
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_launches),
    cmocka_unit_test(test_graph_launch),
    cmocka_unit_test(test_copies),
    cmocka_unit_test(test_syncs),
    cmocka_unit_test(test_items_where_no_calls_are),
    cmocka_unit_test(test_loading),
};

UNIT_TESTS(tests, NULL, NULL)
