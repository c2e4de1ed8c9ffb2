/* Tests of graph/expr/expr.c: hints, their consequences, and solving for a symbol. */
#include "expr_fixture.h"

#include "fail_alloc.h"
#include "unit.h"

static void hint(fixture *f, const char *text, int64_t value)
{
    size_t index = add(f, text);
    pyro_expr *expr = &f->exprs.items[index];
    expr->has_hint = true;
    expr->hint = value;
}

static void test_equal_texts_are_one(void **unused)
{
    (void)unused;
    fixture f;
    begin(&f);
    assert_int_equal(add(&f, "s0 + 1"), add(&f, "s0 + 1"));
    assert_int_not_equal(add(&f, "s0 + 1"), add(&f, "s0+1"));
    assert_ptr_equal(pyro_expr_as_symbol(&f.exprs, add(&f, "s0")), symbol(&f, "s0"));
    assert_ptr_equal(pyro_expr_as_symbol(&f.exprs, add(&f, "Symbol('s0', integer=True)")),
                     symbol(&f, "s0"));
    assert_null(pyro_expr_as_symbol(&f.exprs, add(&f, "s0 + 1")));
    assert_null(pyro_expr_as_symbol(&f.exprs, add(&f, "s0 +")));
    end(&f);
}

/* At the exported sizes hints are right; a formula that disagrees with its hint is not used. */
static void test_hints(void **unused)
{
    (void)unused;
    fixture f;
    begin(&f);
    hint(&f, "s0", 8);
    hint(&f, "s0//2", 4);
    hint(&f, "s0 + 3", 12);       /* wrong */
    hint(&f, "mystery(s0)", 5);   /* not understood */
    hint(&f, "s0//(s0 - 8)", 6);  /* without a value at the exported size */
    size_t half = add(&f, "s0//2"), wrong = add(&f, "s0 + 3"), mystery = add(&f, "mystery(s0)");
    size_t undefined = add(&f, "s0//(s0 - 8)");
    pyro_exprs_settle(&f.exprs);
    const pyro_expr *items = f.exprs.items;
    assert_false(f.exprs.changed);
    assert_int_equal(items[half].value, 4);
    assert_int_equal(items[wrong].state, PYRO_EXPR_KNOWN);
    assert_int_equal(items[wrong].value, 12);
    assert_int_equal(items[mystery].value, 5);
    assert_int_equal(items[undefined].value, 6);

    symbol(&f, "s0")->value = 10;
    pyro_exprs_evaluate(&f.exprs);
    assert_true(f.exprs.changed);
    assert_int_equal(items[half].value, 5);
    assert_int_equal(items[wrong].state, PYRO_EXPR_OPAQUE);
    assert_int_equal(items[mystery].state, PYRO_EXPR_OPAQUE);
    assert_int_equal(items[undefined].state, PYRO_EXPR_KNOWN);
    assert_int_equal(items[undefined].value, 5);

    symbol(&f, "s0")->value = 8;
    pyro_exprs_evaluate(&f.exprs);
    assert_false(f.exprs.changed);
    assert_int_equal(items[wrong].value, 12);
    end(&f);
}

/* A symbol that occurs only in derived dims gets the hint that follows from theirs. */
static void test_inferred_hints(void **unused)
{
    (void)unused;
    fixture f;
    begin(&f);
    hint(&f, "Mul(Integer(8), Symbol('s2', integer=True))", 16);
    hint(&f, "8*s2 + 3*s3", 28);
    hint(&f, "s4//2", 8); /* 16 or 17 */
    hint(&f, "2*s5", 7);  /* no integer */
    hint(&f, "s6*s7", 6);
    size_t twice = add(&f, "2*s2"), half = add(&f, "s4//2");
    pyro_exprs_settle(&f.exprs);
    assert_true(symbol(&f, "s2")->has_hint && symbol(&f, "s2")->hint == 2);
    assert_true(symbol(&f, "s3")->has_hint && symbol(&f, "s3")->hint == 4);
    assert_false(symbol(&f, "s4")->known);
    assert_false(symbol(&f, "s5")->known);
    assert_false(symbol(&f, "s6")->known);
    assert_int_equal(f.exprs.items[twice].value, 4);
    assert_int_equal(f.exprs.items[half].value, 8);
    assert_false(f.exprs.changed);
    end(&f);
}

/* Solves `text` for `wanted` with s0 exported as `exported` (0: not at all); INT64_MIN: none. */
static int64_t solve(const char *text, int64_t exported, int64_t wanted)
{
    fixture f;
    pyro_symbol *found = NULL;
    int64_t value = 0;
    begin(&f);
    if (exported)
        hint(&f, "s0", exported);
    size_t index = add(&f, text);
    pyro_exprs_settle(&f.exprs);
    bool solved = pyro_expr_solve(&f.exprs, index, wanted, &found, &value);
    if (solved)
        assert_ptr_equal(found, symbol(&f, "s0"));
    end(&f);
    return solved ? value : INT64_MIN;
}

static void test_solve(void **unused)
{
    (void)unused;
    static const int64_t exported[] = {0, 1, 2, 3, 64, 224};
    for (size_t i = 0; i < sizeof exported / sizeof *exported; i++) {
        int64_t hinted = exported[i];
        assert_int_equal(solve("s0", hinted, 5), 5);
        assert_int_equal(solve("2*s0", hinted, 10), 5);
        assert_int_equal(solve("2*s0", hinted, 11), INT64_MIN);
        assert_int_equal(solve("2*s0 + 1", hinted, 11), 5);
        assert_int_equal(
            solve("Add(Mul(Integer(8), Symbol('s0', integer=True)), Integer(-3))", hinted, 37), 5);
        assert_int_equal(solve("s0 + s0", hinted, 10), 5);
        assert_int_equal(solve("1000 - s0", hinted, 995), 5);
        assert_int_equal(solve("1000 - 3*s0", hinted, 985), 5);
        assert_int_equal(solve("7", hinted, 7), INT64_MIN);
        assert_int_equal(solve("s0*0 + 7", hinted, 7), INT64_MIN);
        assert_int_equal(solve("s0 +", hinted, 7), INT64_MIN);
        assert_int_equal(solve("4611686018427387904*s0", hinted, 7), INT64_MIN);
        assert_int_equal(solve("s0 - 9223372036854775807", hinted, INT64_MAX), INT64_MIN);
    }
    /* Not affine: the guess is tried, and dropped if wrong. */
    assert_int_equal(solve("s0**2", 4, 25), INT64_MIN);
    assert_int_equal(solve("4611686018427387903 + s0", 4, -4611686018427387904), INT64_MIN);
}

static void test_solve_with_other_symbols(void **unused)
{
    (void)unused;
    fixture f;
    pyro_symbol *found;
    int64_t value;
    begin(&f);
    hint(&f, "s0", 3);
    hint(&f, "s1", 4);
    size_t index = add(&f, "s0*s1");
    pyro_exprs_settle(&f.exprs);
    assert_false(pyro_expr_solve(&f.exprs, index, 20, &found, &value));
    symbol(&f, "s0")->pinned = true;
    assert_true(pyro_expr_solve(&f.exprs, index, 15, &found, &value));
    assert_ptr_equal(found, symbol(&f, "s1"));
    assert_int_equal(value, 5);
    assert_int_equal(symbol(&f, "s1")->value, 4); /* solving sets nothing */
    assert_false(pyro_expr_solve(&f.exprs, index, 16, &found, &value));
    symbol(&f, "s1")->pinned = true;
    assert_false(pyro_expr_solve(&f.exprs, index, 12, &found, &value));
    size_t open = add(&f, "u0 + s2");
    assert_false(pyro_expr_solve(&f.exprs, open, 12, &found, &value));
    end(&f);
}

static void test_without_memory(void **unused)
{
    (void)unused;
    pyro_buf text = PYRO_BUF_INIT;
    pyro_buf_adds(&text, "Add(1");
    repeat(&text, ",s0*Symbol('s1')", 1000);
    pyro_buf_adds(&text, ")");
    bool whole = false;
    for (long n = 0; !whole; n++) {
        fixture f;
        begin(&f);
        fail_alloc_after(n);
        int64_t index = pyro_exprs_add(&f.exprs, text.data, text.length);
        whole = fail_alloc_failures() == 0;
        fail_alloc_after(-1);
        assert_true(index == 0 || index == PYRO_ERROR_MEMORY);
        if (index == 0)
            pyro_exprs_settle(&f.exprs);
        end(&f);
    }
    pyro_buf_free(&text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_equal_texts_are_one),      cmocka_unit_test(test_hints),
    cmocka_unit_test(test_inferred_hints),           cmocka_unit_test(test_solve),
    cmocka_unit_test(test_solve_with_other_symbols), cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
