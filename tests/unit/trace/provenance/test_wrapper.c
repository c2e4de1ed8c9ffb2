/* Tests of trace/provenance/wrapper.c, mappings.c and compilation.c: calls and their modules. */
#include "trace/provenance/compilation.h"

#include "unit.h"

#include <string.h>

static const char captured[] =
    "    def forward(self, L_self_modules_a_parameters_weight_: \"f32[4]\", "
    "L_self_modules_b_parameters_weight_: \"f32[4]\"):\n"
    "        # File: /m.py:3 in forward, code: a\n"
    "        linear: \"f32[2]\" = torch._C._nn.linear(x, l_self_modules_a_parameters_weight_)\n"
    "        # File: /m.py:4 in forward, code: b\n"
    "        linear_1: \"f32[2]\" = torch._C._nn.linear(y, l_self_modules_b_parameters_weight_)\n";

static const char code[] =
    "# AOT ID: ['0_forward']\n"
    "triton_poi_fused_0 = async_compile.triton('triton_poi_fused_0', '''\n"
    "    extern_kernels.mm(inside)\n"
    "''', device_str='cuda')\n"
    "def call(args):\n"
    "    buf0 = empty_strided_cuda((4, ), (1, ), torch.float32)\n"
    "    # Topologically Sorted Source Nodes: [linear], Original ATen: [aten.mm]\n"
    "    extern_kernels.mm(primals_1, buf0, out=buf1)\n"
    "    # Topologically Sorted Source Nodes: [linear, linear_1], Original ATen: [aten.add]\n"
    "    # [Provenance debug handles] triton_poi_fused_0:2\n"
    "    stream0 = get_raw_stream(0)\n"
    "    triton_poi_fused_0.run(buf1, primals_2, 4, stream=stream0)\n"
    "    buf3 = torch.ops.aten.topk.default(primals_2)\n"
    "    return (buf3, )\n"
    "def benchmark_compiled_module():\n"
    "    extern_kernels.mm(outside)\n";

typedef struct fixture {
    pyro_provenance all;
    pyro_compilation c;
} fixture;

static void begin(fixture *f)
{
    pyro_provenance_init(&f->all);
    pyro_compilation_init(&f->c, &f->all);
    pyro_read_captured_graph(&f->c, captured, sizeof captured - 1);
}

static void end(fixture *f)
{
    assert_false(f->c.failed);
    pyro_compilation_free(&f->c);
    pyro_provenance_free(&f->all);
}

static const char *owner(const fixture *f, size_t call, size_t index)
{
    const pyro_compiled_call *one = &f->all.calls[f->all.graphs[0].first_call + call];
    return index < one->owner_count
               ? pyro_provenance_text(&f->all, f->all.owners[one->first_owner + index].path)
               : "-";
}

static void calls_of_code(void **state)
{
    (void)state;
    fixture f;
    begin(&f);
    pyro_read_wrapper(&f.c, code, sizeof code - 1);
    assert_int_equal(f.c.call_count, 3);
    assert_string_equal(f.c.calls[0].name, "extern_kernels.mm");
    assert_string_equal(f.c.calls[1].name, "triton_poi_fused_0");
    assert_int_equal(f.c.calls[1].handle, 2);
    assert_string_equal(f.c.calls[2].name, "torch.ops.aten.topk.default");
    pyro_compilation_flush(&f.c);
    assert_int_equal(f.all.graph_count, 1);
    assert_string_equal(owner(&f, 0, 0), "a");
    assert_string_equal(owner(&f, 0, 1), "-");
    assert_string_equal(owner(&f, 1, 0), "a");
    assert_string_equal(owner(&f, 1, 1), "b");
    /* Without nodes its argument, a parameter, tells. */
    assert_string_equal(owner(&f, 2, 0), "b");
    end(&f);
}

static void maps_are_better_than_comments(void **state)
{
    (void)state;
    static const char maps[] =
        "{\"postToPre\": {\"add\": [\"linear_1\"], \"view_1\": [\"linear\"]}, "
        "\"cppCodeToPost\": {\"triton_poi_fused_0:2\": [\"view_1\", \"add\"], \"no:9\": [1, {}]}, "
        "\"version\": 2.0}";
    static const char stacks[] =
        "{\"triton_poi_fused_0:2\": [\"  File \\\"/m.py\\\", line 3, in f\\n  File \\\"/m.py\\\", "
        "line 4, in g\\n\"]}";
    fixture f;
    begin(&f);
    pyro_read_wrapper(&f.c, code, sizeof code - 1);
    assert_true(pyro_read_mappings(&f.c, maps, sizeof maps - 1));
    assert_true(pyro_read_mappings(&f.c, stacks, sizeof stacks - 1));
    pyro_compilation_flush(&f.c);
    /* The view of linear is only how the kernel reads its input. */
    assert_string_equal(owner(&f, 1, 0), "b");
    assert_string_equal(owner(&f, 1, 1), "-");
    assert_string_equal(pyro_provenance_text(&f.all, f.all.calls[1].source), "/m.py:4");
    end(&f);
}

static void damaged_maps(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "[",
                                        "{\"cppCodeToPost\": {\"a:1\": [\"b\"",
                                        "{\"a:1\": {\"x\"",
                                        "{\"a:99999999999999999999\": []}",
                                        "{\":1\": [\"x\"]}"};
    fixture f;
    begin(&f);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        pyro_read_mappings(&f.c, texts[i], strlen(texts[i]));
    pyro_compilation_flush(&f.c);
    end(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(calls_of_code),
    cmocka_unit_test(maps_are_better_than_comments),
    cmocka_unit_test(damaged_maps),
};

UNIT_TESTS(tests, NULL, NULL)
