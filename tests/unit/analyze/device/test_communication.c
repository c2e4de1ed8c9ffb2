/* Collectives: grouping, bandwidth, and exposed time. */
#include "analyze_maker.h"
#include "unit.h"

#define ALLREDUCE "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
#define SENDRECV "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"
#define DETAIL \
    ",\"Collective name\":\"allreduce\",\"In msg nelems\":4000,\"Out msg nelems\":4000," \
    "\"Group size\":4,\"dtype\":\"BFloat16\",\"Process Group Name\":\"0\""

static void test_rows(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_kernel(&maker, "gemm", 100, 300, 10);                               /* [100,400) */
    maker_work(&maker, "kernel", ALLREDUCE, 0, 20, 300, 300, 20, 5, DETAIL);  /* [300,600) */
    maker_work(&maker, "kernel", ALLREDUCE, 0, 21, 350, 100, 30, 5, DETAIL);  /* [350,450) */
    maker_kernel(&maker, "gemm", 500, 50, 40);                                /* [500,550) */
    maker_work(&maker, "kernel", SENDRECV, 0, 20, 700, 50, 50, 5, "");
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->collective_count, 2);
    const pyro_collective_row *row = &analysis->collectives[0];
    assert_string_equal(row->kind, "allreduce");
    assert_string_equal(row->group, "0");
    assert_string_equal(row->dtype, "bfloat16");
    assert_int_equal(row->group_size, 4);
    assert_int_equal(row->calls, 2);
    assert_int_equal(row->message_bytes, 8000);
    assert_int_equal(row->bytes, 16000);
    assert_int_equal(row->total_ns, 400);
    assert_int_equal(row->exposed_ns, (300 - 100 - 50) + (100 - 50));
    assert_float_equal(row->bus_gb_per_s, 16000 * 1.5 / 400, 1e-9);
    row = &analysis->collectives[1];
    assert_string_equal(row->kind, "sendrecv");
    assert_string_equal(row->dtype, "int8");
    assert_int_equal(row->group_size, -1);
    assert_int_equal(row->bytes, -1);
    assert_float_equal(row->bus_gb_per_s, -1, 0);
    assert_int_equal(row->exposed_ns, 50);
    maker_end(&maker);
}

/* The kernel's name does not say what it is; the op around its launch does. */
static void test_detail_of_the_op(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_event(&maker, "cpu_op", "record_param_comms", 100, 1, 10, 100,
                "\"External id\":9,\"Collective name\":\"_reduce_scatter_base\",\"In msg nelems\":"
                "1000,\"Out msg nelems\":250,\"Group size\":4,\"dtype\":\"Float\","
                "\"Process Group Name\":\"3\"");
    maker_work(&maker, "kernel", "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", 0, 20,
               300, 100, 20, 5, "");
    maker_host(&maker, "user_annotation", "nccl:all_to_all", 1, 500, 100);
    maker_work(&maker, "kernel", SENDRECV, 0, 20, 700, 50, 510, 5, "");
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->collective_count, 2);
    assert_string_equal(analysis->collectives[0].kind, "reduce_scatter");
    assert_string_equal(analysis->collectives[0].group, "3");
    assert_int_equal(analysis->collectives[0].bytes, 4000);
    assert_float_equal(analysis->collectives[0].bus_gb_per_s, 40 * 0.75, 1e-9);
    assert_string_equal(analysis->collectives[1].kind, "alltoall");
    maker_end(&maker);
}

/* Exposed time against a count of every unit of time, with many concurrent collectives. */
static void test_random_exposure(void **state)
{
    (void)state;
    unsigned seed = 3;
    for (int round = 0; round < 30; round++) {
        maker maker;
        bool compute[2000] = {false};
        int64_t starts[200], ends[200], exposed = 0, seen = 0;
        int count = 0;
        maker_begin(&maker);
        for (int64_t start = 0; start < 1500;) {
            seed = seed * 1103515245u + 12345u;
            int64_t duration = (seed >> 16) % 90;
            if (seed >> 30 & 1) {
                maker_work(&maker, "kernel", ALLREDUCE, 0, 20, start, duration, -1, 0, "");
                starts[count] = start;
                ends[count++] = start + duration;
            } else {
                maker_work(&maker, "kernel", "gemm", 0, 7, start, duration, -1, 0, "");
                for (int64_t t = start; t < start + duration; t++)
                    compute[t] = true;
            }
            start += 10 + (seed >> 20) % 30;
        }
        for (int i = 0; i < count; i++) {
            for (int64_t t = starts[i]; t < ends[i]; t++)
                exposed += !compute[t];
        }
        const pyro_analysis *analysis = maker_analyze(&maker, NULL);
        for (size_t i = 0; i < analysis->collective_count; i++)
            seen += analysis->collectives[i].exposed_ns;
        assert_int_equal(seen, exposed);
        maker_end(&maker);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows),
    cmocka_unit_test(test_detail_of_the_op),
    cmocka_unit_test(test_random_exposure),
};

UNIT_TESTS(tests, NULL, NULL)
