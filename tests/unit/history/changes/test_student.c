/* Tests of history/changes/student.c: values of scipy.stats.t.sf. */
#include "unit.h"

#include "history/changes/changes.h"

#include <math.h>

static void test_values(void **state)
{
    static const struct {
        double t, degrees, p;
    } known[] = {
        {0, 5, 1},
        {1, 1, 0.5},
        {2, 10, 0.07338803477074045},
        {-2, 10, 0.07338803477074045},
        {5, 48, 8.061665181471024e-06},
        {40, 100, 2.4621076021400736e-63},
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double p = pyro_student_p(known[i].t, known[i].degrees);

        assert_true(fabs(p - known[i].p) <= 1e-8 * known[i].p);
    }
    assert_true(pyro_student_p(INFINITY, 3) == 0);
    assert_true(isnan(pyro_student_p(NAN, 3)));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_values),
};

UNIT_TESTS(tests, NULL, NULL)
