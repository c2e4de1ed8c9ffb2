/* Tests of report/csv.c: spreadsheets can open the output, and run nothing in it. */
#include "report/csv.h"
#include "unit.h"

#include <math.h>

static void check_text(const char *text, const char *field)
{
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_csv_text(&buf, text, true);
    assert_false(buf.failed);
    assert_string_equal(buf.data, field);
    pyro_buf_free(&buf);
}

static void test_quoting(void **state)
{
    (void)state;
    check_text("", "\n");
    check_text("layer1.0.conv1", "layer1.0.conv1\n");
    check_text("a,b", "\"a,b\"\n");
    check_text("say \"x\"", "\"say \"\"x\"\"\"\n");
    check_text("two\nlines", "\"two\nlines\"\n");
    check_text("cr\r", "\"cr?\"\n");
    check_text("a\nb\tc", "\"a\nb\tc\"\n");
    check_text("e\033[2Jf\xe2\x80\xaeg\xe2\x80\x8bh\xc2\x9bi", "e?[2Jf?g?h?i\n");
}

static void test_formulas_are_disarmed(void **state)
{
    (void)state;
    check_text("=1+1", "'=1+1\n");
    check_text("+x", "'+x\n");
    check_text("-x", "'-x\n");
    check_text("@sum", "'@sum\n");
    check_text("\tx", "'\tx\n");
    check_text("=HYPERLINK(\"a\",\"b\")", "\"'=HYPERLINK(\"\"a\"\",\"\"b\"\")\"\n");
    check_text("a=b", "a=b\n");
}

static void test_records(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_csv_header(&buf, "name,change,share,none");
    pyro_csv_text(&buf, "a", false);
    pyro_csv_integer(&buf, INT64_MIN, false);
    pyro_csv_number(&buf, 0.125, false);
    pyro_csv_number(&buf, NAN, true);
    assert_string_equal(buf.data, "name,change,share,none\na,-9223372036854775808,0.125,\n");
    pyro_buf_free(&buf);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_quoting),
    cmocka_unit_test(test_formulas_are_disarmed),
    cmocka_unit_test(test_records),
};

UNIT_TESTS(tests, NULL, NULL)
