/* Tests of trace/provenance/captured_graph.c: the modules of nodes, stated and inferred. */
#include "trace/provenance/compilation.h"

#include "unit.h"

#include <string.h>

#define P "l_self_modules_blocks_modules_"

static const char graph[] =
    "class GraphModule(torch.nn.Module):\n"
    "    def forward(self, L_self_modules_tok_parameters_weight_: \"f32[8, 4][4, 1]\", L_x_: "
    "\"i64[2, 3]\", L_self_modules_blocks_modules_0_modules_self_attn_parameters_in_proj_: "
    "\"f32[4]\"):\n"
    "        l_x_ = L_x_\n"
    "        # File: /m.py:30 in forward, code: x = self.tok(i)\n"
    "        x: \"f32[2, 3, 4]\" = torch.nn.functional.embedding(l_x_, "
    "l_self_modules_tok_parameters_weight_, None);  l_x_ = None\n"
    "        # File: /m.py:10 in forward, code: y = self.self_attn(x)\n"
    "        linear: \"f32[2]\" = torch._C._nn.linear(x, " P
    "0_modules_self_attn_parameters_in_proj_);  x = None\n"
    "        # File: /m.py:12 in forward, code: sdpa\n"
    "        y: \"f32[2]\" = torch._C._nn.scaled_dot_product_attention(linear)\n"
    "        # File: /m.py:11 in forward, code: self.mlp(y)\n"
    "        linear_1: \"f32[2]\" = torch._C._nn.linear(y, " P "0_modules_mlp_parameters_weight_)\n"
    "        add: \"f32[2]\" = x + linear_1\n"
    "        # File: /n.py:5 in forward, code: rms\n"
    "        pow_1: \"f32[2]\" = add.pow(2)\n"
    "        # File: /n.py:7 in forward, code: x * self.weight\n"
    "        mul: \"f32[2]\" = pow_1 * " P "1_modules_norm_parameters_weight_\n"
    "        # File: /m.py:40 in forward, code: loss\n"
    "        mean: \"f32[]\" = mul.mean()\n"
    "        return (mean,)\n";

static const char *path_of(const pyro_compilation *compilation, const pyro_node_table *table,
                           const char *name)
{
    const struct pyro_node_facts *facts = pyro_node_find(table, name, strlen(name));
    return !facts || facts->path == PYRO_NO_TEXT
               ? "-"
               : pyro_intern_text(&compilation->paths, facts->path);
}

static void nodes_get_modules(void **state)
{
    (void)state;
    pyro_provenance all;
    pyro_compilation c;
    pyro_provenance_init(&all);
    pyro_compilation_init(&c, &all);
    pyro_read_captured_graph(&c, graph, sizeof graph - 1);
    assert_string_equal(path_of(&c, &c.captured, "x"), "tok");
    assert_string_equal(path_of(&c, &c.captured, "linear"), "blocks.0.self_attn");
    /* Between two modules of one block, without parameters: the block. */
    assert_string_equal(path_of(&c, &c.captured, "y"), "blocks.0");
    /* Between blocks, on a line of the first block's code. */
    assert_string_equal(path_of(&c, &c.captured, "add"), "blocks.0");
    /* In the function that uses the weight itself. */
    assert_string_equal(path_of(&c, &c.captured, "pow_1"), "blocks.1.norm");
    assert_string_equal(path_of(&c, &c.captured, "mul"), "blocks.1.norm");
    assert_string_equal(path_of(&c, &c.captured, "mean"), "blocks.1");
    assert_string_equal(path_of(&c, &c.captured, "l_x_"), "-");
    /* Inputs in order, by the names of Inductor. */
    assert_string_equal(path_of(&c, &c.compiled, "primals_1"), "tok");
    assert_string_equal(path_of(&c, &c.compiled, "arg2_1"), "blocks.0.self_attn");
    assert_string_equal(path_of(&c, &c.compiled, "primals_2"), "-");
    assert_false(c.failed);
    pyro_compilation_free(&c);
    pyro_provenance_free(&all);
}

/* Every prefix of a graph can be read. */
static void cut_graphs_are_read(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof graph; length += 3) {
        pyro_provenance all;
        pyro_compilation c;
        char text[sizeof graph] = "";
        memcpy(text, graph, length);
        pyro_provenance_init(&all);
        pyro_compilation_init(&c, &all);
        pyro_read_captured_graph(&c, text, length);
        pyro_read_compiled_graph(&c, text, length);
        pyro_read_wrapper(&c, text, length);
        assert_false(c.failed);
        pyro_compilation_free(&c);
        pyro_provenance_free(&all);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(nodes_get_modules),
    cmocka_unit_test(cut_graphs_are_read),
};

UNIT_TESTS(tests, NULL, NULL)
