/* Tests of analyze/findings/model*.c: every rule of model.def triggers at its threshold, and not
 * just below it. */
#include "fail_alloc.h"
#include "unit.h"

#include <pyrometer/recommend.h>
#include <stdlib.h>
#include <string.h>

static const int64_t gib = INT64_C(1) << 30;

static const struct {
    const char *id, *covers;
    int rank;
} rows[] = {
#define RECOMMENDATION(id, detector, rank, threshold, subject, advice, covers) {id, covers, rank},
#include "analyze/findings/model/model.def"
#undef RECOMMENDATION
};

static const char *const finding_ids[] = {
#define FINDING(id, detector, unit, warning, severe, title, advice) id,
#include "analyze/findings/findings.def"
#undef FINDING
};

enum {
    ROW_COUNT = sizeof rows / sizeof *rows,
    FINDING_COUNT = sizeof finding_ids / sizeof *finding_ids
};

/* The operators of a case: one that is its subject, and the rest of the time. */
static pyro_op_share ops[2];

static void set_ops(pyro_model_evidence *e, const char *name, double share)
{
    ops[0] = (pyro_op_share){name, share, 10};
    ops[1] = (pyro_op_share){"aten::slice", 1 - share, 10};
    e->ops = ops;
    e->op_count = 2;
}

static pyro_batch_time batches[2];

static void set_batches(pyro_model_evidence *e, int64_t size, double ms, double double_ms)
{
    batches[0] = (pyro_batch_time){size, ms};
    batches[1] = (pyro_batch_time){2 * size, double_ms};
    e->batch_size = size;
    e->batches = batches;
    e->batch_count = 2;
}

static const char *const convolutional[] = {"Conv2d", "BatchNorm2d"};

static void set_convolutional(pyro_model_evidence *e)
{
    e->layer_classes = convolutional;
    e->layer_class_count = 2;
}

/* A case of a rule: what triggers it, and the change that makes it a near miss. */
#define CASE(name, hit, miss) \
    static void name##_hit(pyro_model_evidence *e) \
        hit static void name##_miss(pyro_model_evidence *e) \
    { \
        name##_hit(e); \
        miss \
    }

/* clang-format off */
CASE(batch_size, { set_batches(e, 1, 10, 18); }, { set_batches(e, 1, 10, 18.3); })
CASE(dynamic_batching, { set_batches(e, 4, 10, 12); }, { set_batches(e, 5, 10, 12); })
CASE(gpu_use, { e->on_gpu = true; e->gpu_percent = 69; }, { e->gpu_percent = 71; })
CASE(precision, { e->half_type = "bf16"; e->half_type_reason = "a reason";
                  set_ops(e, "aten::addmm", 0.31); }, { set_ops(e, "aten::addmm", 0.29); })
CASE(quantisation, { set_ops(e, "aten::addmm", 0.51); e->weight_bytes = gib; },
     { set_ops(e, "aten::addmm", 0.49); })
CASE(weight_memory, { e->weight_bytes = 6 * gib; e->device_bytes = 10 * gib; },
     { e->weight_bytes = 4 * gib; })
CASE(pruning, { e->zero_share = 0.51; }, { e->zero_share = 0.49; })
CASE(fusion, { set_ops(e, "aten::gelu", 0.11); }, { set_ops(e, "aten::gelu", 0.09); })
CASE(dispatch, { e->outside_share = 0.31; }, { e->outside_share = 0.29; })
CASE(waiting, { e->waiting_share = 0.31; }, { e->waiting_share = 0.29; })
CASE(folding, { set_convolutional(e); set_ops(e, "aten::native_batch_norm", 0.04); },
     { set_ops(e, "aten::native_batch_norm", 0.02); })
CASE(layout, { set_convolutional(e); set_ops(e, "aten::mkldnn_convolution", 0.9); },
     { e->channels_last = true; })
CASE(attention, { e->attention = "eager"; set_ops(e, "aten::bmm", 0.12); },
     { set_ops(e, "aten::addmm", 0.12); })
CASE(low_intensity, { e->flops = 9000; e->moved_bytes = 1000; }, { e->flops = 11000; })
CASE(high_intensity, { e->flops = 51000; e->moved_bytes = 1000; e->call_ms = 1;
                       set_ops(e, "aten::addmm", 0.9); }, { e->flops = 49000; })
CASE(cache_off, { e->uses_cache = 0; e->first_token_ms = 10; e->token_ms = 2; },
     { e->uses_cache = 1; })
CASE(cache_size, { e->cache_bytes = gib; e->weight_bytes = gib; }, { e->cache_bytes = gib - 1; })
CASE(more_threads, { e->usable_cpus = 2; }, { e->threads = 2; })
CASE(fewer_threads, { e->threads = 3; e->usable_cpus = 2; }, { e->threads = 2; })
CASE(idle_threads, { e->threads = e->usable_cpus = 4; e->cpu_percent = 190; },
     { e->cpu_percent = 210; })
CASE(preprocessing, { e->end_to_end_ms = 100; e->preprocess_ms = 5.1; },
     { e->preprocess_ms = 4.9; })
CASE(postprocessing, { e->end_to_end_ms = 100; e->postprocess_ms = 5.1; },
     { e->postprocess_ms = 4.9; })
CASE(disk_reads, { e->disk_read_bytes = 7000000; e->timed_calls = 100; },
     { e->disk_read_bytes = 6000000; })
CASE(checkpointing, { e->activation_bytes = gib; e->weight_bytes = gib; },
     { e->activation_bytes = gib - 1; })
CASE(sharding, { e->weight_bytes = 8 * gib; e->activation_bytes = 2 * gib;
                 e->device_bytes = 11 * gib; }, { e->activation_bytes = gib; })
CASE(pooling, { e->activation_bytes = 100; e->allocated_bytes = 1001; e->allocations = 100; },
     { e->allocations = 99; })
CASE(unused_memory, { e->fragmentation = 0.21; e->peak_bytes = gib; },
     { e->fragmentation = 0.19; })
/* clang-format on */

static const struct {
    const char *id;
    void (*hit)(pyro_model_evidence *), (*miss)(pyro_model_evidence *);
} cases[] = {
    {"batch-size", batch_size_hit, batch_size_miss},
    {"dynamic-batching", dynamic_batching_hit, dynamic_batching_miss},
    {"gpu-use", gpu_use_hit, gpu_use_miss},
    {"precision", precision_hit, precision_miss},
    {"quantisation", quantisation_hit, quantisation_miss},
    {"weights-in-memory", weight_memory_hit, weight_memory_miss},
    {"pruning", pruning_hit, pruning_miss},
    {"operator-fusion", fusion_hit, fusion_miss},
    {"dispatch", dispatch_hit, dispatch_miss},
    {"waiting", waiting_hit, waiting_miss},
    {"norm-folding", folding_hit, folding_miss},
    {"memory-layout", layout_hit, layout_miss},
    {"attention", attention_hit, attention_miss},
    {"low-intensity", low_intensity_hit, low_intensity_miss},
    {"high-intensity", high_intensity_hit, high_intensity_miss},
    {"cache-off", cache_off_hit, cache_off_miss},
    {"cache-size", cache_size_hit, cache_size_miss},
    {"more-threads", more_threads_hit, more_threads_miss},
    {"fewer-threads", fewer_threads_hit, fewer_threads_miss},
    {"idle-threads", idle_threads_hit, idle_threads_miss},
    {"preprocessing", preprocessing_hit, preprocessing_miss},
    {"postprocessing", postprocessing_hit, postprocessing_miss},
    {"disk-reads", disk_reads_hit, disk_reads_miss},
    {"gradient-checkpointing", checkpointing_hit, checkpointing_miss},
    {"model-sharding", sharding_hit, sharding_miss},
    {"memory-pooling", pooling_hit, pooling_miss},
    {"unused-memory", unused_memory_hit, unused_memory_miss},
};

enum { CASE_COUNT = sizeof cases / sizeof *cases };

static pyro_recommendations *ask(const pyro_model_evidence *evidence)
{
    pyro_recommendations *made = NULL;
    pyro_error error = {0};
    assert_int_equal(pyro_recommend(&made, evidence, &error), PYRO_OK);
    return made;
}

static const pyro_recommendation *find(const pyro_recommendations *made, const char *id)
{
    for (size_t i = 0; i < made->count; i++)
        if (!strcmp(made->rows[i].id, id))
            return &made->rows[i];
    return NULL;
}

static void test_every_rule_has_a_case(void **state)
{
    (void)state;
    pyro_recommendation_rule rule;
    assert_int_equal(ROW_COUNT, CASE_COUNT);
    assert_false(pyro_recommendation_rule_at(&rule, ROW_COUNT));
    for (size_t i = 0; i < ROW_COUNT; i++) {
        size_t at = 0;
        assert_true(pyro_recommendation_rule_at(&rule, i));
        assert_string_equal(rule.id, rows[i].id);
        assert_true(rule.subject[0] && rule.threshold > 0);
        while (at < CASE_COUNT && strcmp(cases[at].id, rows[i].id) != 0)
            at++;
        if (at == CASE_COUNT)
            fail_msg("%s: no case", rows[i].id);
    }
}

static void test_hits_and_near_misses(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        pyro_model_evidence evidence;
        pyro_model_evidence_init(&evidence);
        cases[i].hit(&evidence);
        pyro_recommendations *made = ask(&evidence);
        const pyro_recommendation *row = find(made, cases[i].id);
        if (!row)
            fail_msg("%s: not recommended", cases[i].id);
        assert_true(row->subject[0] && row->advice[0] && row->evidence[0]);
        assert_true(strstr(row->gain, "(estimate)") || strstr(row->gain, "(measured)") ||
                    !strcmp(row->gain, "not estimated"));
        pyro_recommendations_free(made);
        pyro_model_evidence_init(&evidence);
        cases[i].miss(&evidence);
        made = ask(&evidence);
        if (find(made, cases[i].id))
            fail_msg("%s: the near miss is recommended", cases[i].id);
        pyro_recommendations_free(made);
    }
}

static void test_nothing_known_is_nothing_to_say(void **state)
{
    (void)state;
    pyro_model_evidence evidence;
    pyro_model_evidence_init(&evidence);
    pyro_recommendations *made = ask(&evidence);
    assert_int_equal(made->count, 0);
    pyro_recommendations_free(made);
    pyro_recommendations_free(NULL);
}

/* Ids are unique, also among recommendations that repeat findings. */
static void test_rows_are_distinct(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(rows[i].id, rows[j].id);
            assert_int_not_equal(rows[i].rank, rows[j].rank);
        }
        for (size_t j = 0; j < FINDING_COUNT; j++)
            assert_string_not_equal(rows[i].id, finding_ids[j]);
    }
}

static void test_covered_findings_exist(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        char list[256], *rest = NULL;
        assert_true(strlen(rows[i].covers) < sizeof list);
        strcpy(list, rows[i].covers);
        for (char *id = strtok_r(list, " ", &rest); id; id = strtok_r(NULL, " ", &rest)) {
            size_t at = 0;
            while (at < FINDING_COUNT && strcmp(finding_ids[at], id) != 0)
                at++;
            if (at == FINDING_COUNT)
                fail_msg("%s covers '%s', which is no finding", rows[i].id, id);
        }
    }
}

/* Rules by rank, whatever the order of rows; then the findings that no rule covers. */
static void test_order_and_findings(void **state)
{
    (void)state;
    static const pyro_finding findings[] = {
        {.id = "fusible-chains", .title = "Chains", .evidence = "e", .advice = "a", .gain_ns = 1},
        {.id = "bias-before-norm", .title = "Bias", .evidence = "e", .advice = "a", .gain_ns = -1},
        {.id = "device-idle", .title = "Idle", .evidence = "e", .advice = "a", .gain_ns = 2500000}};
    static const char *const expected[] = {"operator-fusion", "dispatch", "waiting",
                                           "bias-before-norm", "device-idle"};
    pyro_model_evidence evidence;
    pyro_model_evidence_init(&evidence);
    set_ops(&evidence, "aten::gelu", 0.5);
    evidence.waiting_share = 0.5;
    evidence.outside_share = 0.95;
    evidence.findings = findings;
    evidence.finding_count = 3;
    pyro_recommendations *made = ask(&evidence);
    assert_int_equal(made->count, 5);
    for (size_t i = 0; i < made->count; i++)
        assert_string_equal(made->rows[i].id, expected[i]);
    assert_string_equal(made->rows[3].gain, "not estimated");
    assert_string_equal(made->rows[4].gain, "2.5 ms (estimate)");
    assert_string_equal(made->rows[4].subject, "Idle");
    pyro_recommendations_free(made);
}

static void test_texts(void **state)
{
    (void)state;
    static const pyro_batch_time times[] = {{64, 20}, {8, 10}, {32, 39}, {16, 19.8}, {128, 39}};
    pyro_model_evidence evidence;
    pyro_model_evidence_init(&evidence);
    evidence.batch_size = 8;
    evidence.batches = times;
    evidence.batch_count = 5;
    pyro_recommendations *made = ask(&evidence);
    const pyro_recommendation *row = find(made, "batch-size");
    assert_non_null(row);
    assert_string_equal(row->variant, "batch=64");
    assert_string_equal(row->gain, "300% throughput (measured)");
    assert_string_equal(row->advice,
                        "increase the batch size from 8 to 64; benchmark() finds the knee");
    assert_string_equal(row->evidence, "batch 8: 10 ms, batch 16: 19.8 ms, batch 32: 39 ms, "
                                       "batch 64: 20 ms, batch 128: 39 ms");
    assert_null(find(made, "dynamic-batching"));
    pyro_recommendations_free(made);
    set_batches(&evidence, 1, 10, 12);
    made = ask(&evidence);
    assert_string_equal(find(made, "dynamic-batching")->evidence,
                        "batch 1: 10 ms, batch 2: 12 ms; larger ones were not measured");
    pyro_recommendations_free(made);
}

/* Operators that only call others count by their time, not by their calls. */
static void test_calls_of_operators(void **state)
{
    (void)state;
    static const pyro_op_share several[] = {{"aten::addmm", 0.5, 6},
                                            {"aten::linear", 0.0015, 6},
                                            {"aten::upsample_bilinear2d", 0.3, 7},
                                            {"mine::linear", 0.1, 8},
                                            {"no operator", 0.1, 9}};
    pyro_model_evidence evidence;
    pyro_model_evidence_init(&evidence);
    evidence.half_type = "bf16";
    evidence.half_type_reason = "why";
    evidence.ops = several;
    evidence.op_count = 5;
    pyro_recommendations *made = ask(&evidence);
    assert_string_equal(find(made, "precision")->evidence,
                        "50% of the operators' time is in 6 products and convolutions; why");
    pyro_recommendations_free(made);
}

static void test_a_model_that_waits_has_no_idle_threads(void **state)
{
    (void)state;
    pyro_model_evidence evidence;
    pyro_model_evidence_init(&evidence);
    evidence.outside_share = 0.95;
    evidence.cpu_percent = 6;
    evidence.threads = evidence.usable_cpus = 4;
    pyro_recommendations *made = ask(&evidence);
    assert_int_equal(made->count, 1);
    assert_string_equal(made->rows[0].id, "waiting");
    pyro_recommendations_free(made);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    pyro_model_evidence evidence;
    pyro_recommendations *made = NULL;
    pyro_model_evidence_init(&evidence);
    set_batches(&evidence, 1, 10, 12);
    int status = PYRO_ERROR_MEMORY;
    for (long n = 0; status != PYRO_OK && n < 1000; n++) {
        pyro_error error = {0};
        fail_alloc_after(n);
        status = pyro_recommend(&made, &evidence, &error);
        fail_alloc_after(-1);
        if (status != PYRO_OK) {
            assert_int_equal(status, PYRO_ERROR_MEMORY);
            assert_null(made);
        }
    }
    assert_int_equal(status, PYRO_OK);
    pyro_recommendations_free(made);
}

static void test_knee(void **state)
{
    (void)state;
    pyro_batch_rate points[] = {{1, 100}, {2, 200}, {4, 400}, {16, 440}, {8, 420}};
    pyro_knee knee;
    assert_true(pyro_find_knee(&knee, points, 5));
    assert_true(knee.reached && knee.batch_size == 4);
    assert_string_equal(knee.text, "doubling this batch gains less than 10%");
    assert_int_equal(points[4].batch_size, 16);
    assert_true(pyro_find_knee(&knee, points, 3));
    assert_true(!knee.reached && knee.batch_size == 4);
    assert_string_equal(knee.text, "not reached: the largest measured batch still gains");
    assert_false(pyro_find_knee(&knee, points, 1));
    pyro_batch_rate quadrupled[] = {{1, 100}, {4, 120}};
    assert_true(pyro_find_knee(&knee, quadrupled, 2));
    assert_true(knee.reached && knee.batch_size == 1); /* 9.5% per doubling */
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_rule_has_a_case),
    cmocka_unit_test(test_hits_and_near_misses),
    cmocka_unit_test(test_nothing_known_is_nothing_to_say),
    cmocka_unit_test(test_rows_are_distinct),
    cmocka_unit_test(test_covered_findings_exist),
    cmocka_unit_test(test_order_and_findings),
    cmocka_unit_test(test_texts),
    cmocka_unit_test(test_calls_of_operators),
    cmocka_unit_test(test_a_model_that_waits_has_no_idle_threads),
    cmocka_unit_test(test_memory_runs_out),
    cmocka_unit_test(test_knee),
};

UNIT_TESTS(tests, NULL, NULL)
