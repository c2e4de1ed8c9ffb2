/* Tests of graph/expr/parse.c: texts of sizes, valid, invalid and hostile. */
#include "expr_fixture.h"
#include "unit.h"

/* The value of a text with s0 = 7 and s1 = -3; `state` gets the outcome. */
static int64_t evaluate(const char *text, pyro_expr_state *state)
{
    fixture f;
    begin(&f);
    set(&f, "s0", 7);
    set(&f, "s1", -3);
    size_t index = add(&f, text);
    pyro_exprs_evaluate(&f.exprs);
    *state = f.exprs.items[index].state;
    int64_t value = f.exprs.items[index].value;
    end(&f);
    return value;
}

static void expect_state(const char *text, pyro_expr_state expected)
{
    pyro_expr_state state;
    evaluate(text, &state);
    if (state != expected)
        fail_msg("%.200s: state %d, not %d", text, (int)state, (int)expected);
}

typedef struct row {
    const char *text;
    int64_t value;
} row;

static void expect_values(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pyro_expr_state state;
        int64_t value = evaluate(rows[i].text, &state);
        if (state != PYRO_EXPR_KNOWN || value != rows[i].value)
            fail_msg("%s: %lld (state %d), not %lld", rows[i].text, (long long)value, (int)state,
                     (long long)rows[i].value);
    }
}

#define EXPECT_VALUES(rows) expect_values(rows, sizeof(rows) / sizeof *(rows))

/* All values are Python's for the same text. */
static void test_infix(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"5", 5},
        {"s0", 7},
        {" s0 ", 7},
        {"-s0", -7},
        {"--s0", 7},
        {"s0 - -s1", 4},
        {"2*s0 + 1", 15},
        {"1 + 2*s0", 15},
        {"(1 + 2)*s0", 21},
        {"s0 - s1 - 1", 9},
        {"s0 - (s1 - 1)", 11},
        {"2**3**2", 512},
        {"(2**3)**2", 64},
        {"-2**2", -4},
        {"(-2)**2", 4},
        {"2**-1*8", 4},
        {"2*3**2", 18},
        {"24//5//2", 2},
        {"24//(5//2)", 12},
        {"24/4/2", 3},
        {"24/(4/2)", 12},
        {"2*7//3", 4},
        {"2*(7//3)", 4},
        {"7//2*2", 6},
        {"-s0//2", -4},
        {"-(s0//2)", -3},
        {"s0//-2", -4},
        {"s1//2", -2},
        {"s0 % 4", 3},
        {"s1 % 4", 1},
        {"s0 % -4", -1},
        {"s1 % -2", -1},
        {"10 - s0 % 4", 7},
        {"((s0 - 1)//2) + 1", 4},
        {"(s0 + 2*3 - 1*(3 - 1) - 1)//2 + 1", 6},
        {"s0 == 7", 1},
        {"s0 != 7", 0},
        {"s0 < 7", 0},
        {"s0 <= 7", 1},
        {"s0 > 6 + 0", 1},
        {"s0 >= 8", 0},
        {"s0 + 1 == 8", 1},
        {"(s0 > 1) & (s1 > 1)", 0},
        {"(s0 > 1) | (s1 > 1)", 1},
        {"(s0 > 1) | (s1 > 1) & (s1 > 2)", 1},
        {"~(s0 > 1) | (s1 < 1)", 1},
        {"~(s0 > 1)", 0},
        {"0.5*8", 4},
        {"2.0", 2},
        {".5*s0*2", 7},
        {"5.*2", 10},
        {"True", 1},
        {"False", 0},
        {"s0*0", 0},
        {"00012", 12},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807 - 1", INT64_MIN},
    };
    EXPECT_VALUES(rows);
}

/* All values are sympy's, with torch's functions, for the same text. */
static void test_functions(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"Integer(5)", 5},
        {"Integer(-5)", -5},
        {"Symbol('s0')", 7},
        {"Symbol('s0', positive=True, integer=True)", 7},
        {"Symbol(\"s1\", integer=True)", -3},
        {"Dummy('s0', dummy_index=12)", 7},
        {"Add(Symbol('s0', integer=True), Integer(1))", 8},
        {"Add(1, 2, 3, s0)", 13},
        {"Add(s0)", 7},
        {"Mul(Integer(-1), Symbol('s0', positive=True, integer=True))", -7},
        {"Mul(2, 3, s0)", 42},
        {"Max(1, s0, 3)", 7},
        {"Max(s1, -5)", -3},
        {"Min(1, s0, s1)", -3},
        {"max(1, s0)", 7},
        {"min(1, s0)", 1},
        {"And(true, s0 > 1)", 1},
        {"And(true, false)", 0},
        {"Or(false, false, true)", 1},
        {"Or(false, false)", 0},
        {"Not(true)", 0},
        {"Not(s0 < 1)", 1},
        {"Pow(2, 10)", 1024},
        {"Mul(8, Pow(2, -2))", 2},
        {"PowByNatural(Integer(3), Integer(4))", 81},
        {"FloatPow(2, 3)", 8},
        {"FloorDiv(7, 2)", 3},
        {"FloorDiv(-7, 2)", -4},
        {"FloorDiv(7, -2)", -4},
        {"FloorDiv(-7, -2)", 3},
        {"torch.utils._sympy.functions.FloorDiv(Symbol('s0', integer=True), Integer(2))", 3},
        {"CleanDiv(s0 + 1, 2)", 4},
        {"CeilDiv(7, 2)", 4},
        {"CeilDiv(-7, 2)", -3},
        {"CeilDiv(8, 2)", 4},
        {"IntTrueDiv(8, 2)", 4},
        {"FloatTrueDiv(9, 3)", 3},
        {"Mul(Rational(1, 2), 8)", 4},
        {"Mul(Rational(-1, 2), 8)", -4},
        {"Mul(Rational(1, 3), s0 + 2)", 3},
        {"Add(Rational(1, 3), Rational(1, 6), Rational(1, 2))", 1},
        {"Mod(7, 4)", 3},
        {"Mod(-7, 4)", 1},
        {"PythonMod(-7, 4)", 1},
        {"PythonMod(7, -4)", -1},
        {"ModularIndexing(s0, 2, 2)", 1},
        {"ModularIndexing(29, 3, 4)", 1},
        {"Where(s0 > 3, 11, 22)", 11},
        {"Where(Eq(s0, 3), 11, 22)", 22},
        {"Identity(s0)", 7},
        {"ToFloat(s0)", 7},
        {"Mul(Float('0.5', precision=53), s0 + 1)", 4},
        {"Mul(Float('-0.25', precision=53), 8)", -2},
        {"Float('2.0000000000000000000000', precision=53)", 2},
        {"floor(7/2)", 3},
        {"floor(-7/2)", -4},
        {"floor(Mul(Rational(1, 2), s1))", -2},
        {"FloorToInt(IntTrueDiv(s0, 2))", 3},
        {"ceiling(7/2)", 4},
        {"ceiling(-7/2)", -3},
        {"ceil(7/2)", 4},
        {"math.ceil(7/2)", 4},
        {"CeilToInt(7/2)", 4},
        {"TruncToInt(7/2)", 3},
        {"TruncToInt(-7/2)", -3},
        {"TruncToFloat(-7/2)", -3},
        {"RoundToInt(5/2)", 2},
        {"RoundToInt(7/2)", 4},
        {"RoundToInt(-5/2)", -2},
        {"RoundToInt(-7/2)", -4},
        {"RoundToInt(1/2)", 0},
        {"RoundToInt(-1/2)", 0},
        {"RoundToInt(8/3)", 3},
        {"RoundToInt(7/3)", 2},
        {"RoundToInt(-8/3)", -3},
        {"Abs(s1)", 3},
        {"Abs(s0)", 7},
        {"Eq(s0, 7)", 1},
        {"Equality(s0, 8)", 0},
        {"Ne(s0, 7)", 0},
        {"Unequality(Symbol('s0', integer=True), Integer(8))", 1},
        {"Lt(s0, 8)", 1},
        {"StrictLessThan(s0, 7)", 0},
        {"Le(s0, 7)", 1},
        {"LessThan(s0, 6)", 0},
        {"Gt(s0, 7)", 0},
        {"StrictGreaterThan(s0, 6)", 1},
        {"Ge(s0, 7)", 1},
        {"GreaterThan(s0, 8)", 0},
        {"Add(FloorDiv(Add(s0,-1),2),1)", 4},
        {"2*FloorDiv(s0, 2) + Mod(s0, 2)", 7},
    };
    EXPECT_VALUES(rows);
}

/* Decimals as Python prints doubles: 0.3 is written as 0.29999999999999999. */
static void test_decimals(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"floor(Mul(Float('0.29999999999999999', precision=53), 10))", 3},
        {"floor(Mul(Float('0.10000000000000001', precision=53), 30))", 3},
        {"floor(Mul(Float('0.10000000000000001', precision=53), 1048576))", 104857},
        {"floor(Mul(Float('1.1000000000000001', precision=53), 10))", 11},
        {"floor(Mul(Float('0.000000000000000001', precision=53), 1000000000000000))", 0},
        {"floor(Mul(Float('0.0625', precision=53), 100))", 6},
        {"floor(Mul(Float('0.33333333333333331', precision=53), 100))", 33},
        {"RoundToInt(Mul(Float('0.66666666666666663', precision=53), 3))", 2},
    };
    EXPECT_VALUES(rows);
}

static void test_no_integer(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "s0/2",
        "1/0",
        "s0//0",
        "s0 % 0",
        "CeilDiv(s0, 0)",
        "Rational(1, 0)",
        "ModularIndexing(s0, 0, 2)",
        "ModularIndexing(s0, 2, 0)",
        "Pow(0, -1)",
        "Pow(2, Rational(1, 2))",
        "9223372036854775807 + 1",
        "-9223372036854775807 - 2",
        "9223372036854775807 * 2",
        "4294967296 * 4294967296",
        "-(-9223372036854775807 - 1)",
        "Abs(-9223372036854775807 - 1)",
        "(-9223372036854775807 - 1) // -1",
        "(-9223372036854775807 - 1) / -1",
        "Pow(10, 19)",
        "Pow(3, 62)",
        "Pow(2, 1000000000)",
        "Pow(2, -1000000000)",
        "Rational(1, 9223372036854775807) + Rational(1, 9223372036854775806)",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_state(texts[i], PYRO_EXPR_OVERFLOW);
    expect_state("Max(Rational(9223372036854775807, 2), Rational(1, 3))", PYRO_EXPR_OVERFLOW);
    expect_state("u0 + 1", PYRO_EXPR_OPEN);
    expect_state("Symbol('u3', integer=True)", PYRO_EXPR_OPEN);
}

/* The ends of the range, where a careless intermediate result would overflow. */
static void test_extremes(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"(-9223372036854775807 - 1)//3", -3074457345618258603},
        {"RoundToInt((-9223372036854775807 - 1)/3)", -3074457345618258603},
        {"RoundToInt(9223372036854775807/2)", 4611686018427387904},
        {"RoundToInt(9223372036854775805/2)", 4611686018427387902},
        {"floor((-9223372036854775807 - 1)/9223372036854775807)", -2},
        {"ceiling(9223372036854775807/2)", 4611686018427387904},
        {"TruncToInt((-9223372036854775807 - 1)/2)", -4611686018427387904},
        {"Pow(2, 62)", 4611686018427387904},
        {"Pow(-2, 62)", 4611686018427387904},
        {"Pow(1, 62)", 1},
        {"Pow(0, 0)", 1},
        {"Min(9223372036854775807, -9223372036854775807 - 1)", INT64_MIN},
    };
    EXPECT_VALUES(rows);
}

static void test_garbage(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "",
        " ",
        "+",
        "-",
        "*",
        "1 +",
        "+ 1",
        "1 1",
        "s0 s1",
        "(",
        ")",
        "(1",
        "1)",
        "()",
        "Add(",
        "Add()",
        "Add(1,",
        "Add(1,)",
        "Add(,1)",
        "Add 1",
        "FloorDiv(1)",
        "FloorDiv(1, 2, 3)",
        "Where(1, 2)",
        "Symbol(s0)",
        "Symbol('s0",
        "Symbol('s0'",
        "Symbol()",
        "Float()",
        "Float(x)",
        "Float('1e5')",
        "Float('x')",
        "Float('1",
        "Integer()",
        "1e5",
        "1.2.3",
        ".",
        "..",
        "1 ** ",
        "unknown(s0)",
        "os.system('true')",
        "__import__('os')",
        "lambda x: x",
        "[1]",
        "{}",
        "'s0'",
        "1 // ",
        "1 = 2",
        "1 === 2",
        "!s0",
        "s0 if s1 else 2",
        "\xff\xfe",
        "\xc3\xa9",
        "s0;",
        "#",
        "99999999999999999999",
        "Mod(1)",
        "floor()",
        "~",
        "&",
        "s0 &",
        "1,2",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_state(texts[i], PYRO_EXPR_OPAQUE);
}

/* A NUL inside a text does not end it. */
static void test_embedded_nul(void **unused)
{
    (void)unused;
    fixture f;
    begin(&f);
    int64_t index = pyro_exprs_add(&f.exprs, "s0\0 + 1", 7);
    assert_true(index >= 0);
    assert_false(f.exprs.items[index].understood);
    end(&f);
}

/* Texts that would exhaust the stack, or time that is more than linear. */
static void test_bombs(void **unused)
{
    (void)unused;
    static const struct {
        const char *before, *after;
        size_t count;
    } bombs[] = {
        {"(", ")", 300000},  {"-", "", 600000},       {"Add(", ")", 150000},
        {"2**", "", 300000}, {"Add(1,", ")", 100000}, {"~", "", 600000},
    };
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        pyro_buf text = PYRO_BUF_INIT;
        repeat(&text, bombs[i].before, bombs[i].count);
        pyro_buf_adds(&text, "1");
        repeat(&text, bombs[i].after, bombs[i].count);
        expect_state(text.data, PYRO_EXPR_OPAQUE);
        pyro_buf_free(&text);
    }
}

static void test_long_sums(void **unused)
{
    (void)unused;
    pyro_expr_state state;
    pyro_buf text = PYRO_BUF_INIT;
    pyro_buf_adds(&text, "1");
    repeat(&text, " + s0", 100000);
    assert_int_equal(evaluate(text.data, &state), 700001);
    assert_int_equal(state, PYRO_EXPR_KNOWN);
    pyro_buf_reset(&text);
    pyro_buf_adds(&text, "Add(1");
    repeat(&text, ",s0", 100000);
    pyro_buf_adds(&text, ")");
    assert_int_equal(evaluate(text.data, &state), 700001);
    assert_int_equal(state, PYRO_EXPR_KNOWN);
    /* Longer than the limit. */
    pyro_buf_reset(&text);
    pyro_buf_adds(&text, "1");
    repeat(&text, " + s0", 300000);
    expect_state(text.data, PYRO_EXPR_OPAQUE);
    pyro_buf_free(&text);
}

static void test_nesting_that_is_read(void **unused)
{
    (void)unused;
    pyro_expr_state state;
    pyro_buf text = PYRO_BUF_INIT;
    repeat(&text, "Add(1,", 150);
    pyro_buf_adds(&text, "s0");
    repeat(&text, ")", 150);
    assert_int_equal(evaluate(text.data, &state), 157);
    assert_int_equal(state, PYRO_EXPR_KNOWN);
    pyro_buf_free(&text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_infix),        cmocka_unit_test(test_functions),
    cmocka_unit_test(test_decimals),     cmocka_unit_test(test_no_integer),
    cmocka_unit_test(test_extremes),     cmocka_unit_test(test_garbage),
    cmocka_unit_test(test_embedded_nul), cmocka_unit_test(test_bombs),
    cmocka_unit_test(test_long_sums),    cmocka_unit_test(test_nesting_that_is_read),
};

UNIT_TESTS(tests, NULL, NULL)
