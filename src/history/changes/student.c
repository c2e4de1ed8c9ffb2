/* Student's distribution, through the continued fraction of the incomplete beta function. */
#include "history/changes/changes.h"

#include <math.h>

/* Lentz's method; converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);

    d = 1 / (fabs(d) < tiny ? tiny : d);
    double result = d;
    for (int m = 1; m < 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double steps[] = {even, odd};
        double change = 1;

        for (int i = 0; i < 2; i++) {
            d = 1 + steps[i] * d;
            c = 1 + steps[i] / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            change = d * c;
            result *= change;
        }
        if (fabs(change - 1) < 1e-16)
            break;
    }
    return result;
}

/* The regularized incomplete beta function; `rest` is 1 - x without its rounding error. */
static double incomplete_beta(double a, double b, double x, double rest)
{
    if (x <= 0)
        return 0;
    if (rest <= 0)
        return 1;
    int sign;
    double front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) +
                       a * log(x) + b * log(rest));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, rest) / b;
}

double pyro_student_p(double t, double degrees)
{
    if (isnan(t) || !(degrees > 0))
        return NAN;
    if (isinf(t))
        return 0;
    double square = t * t;
    return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + square),
                           square / (degrees + square));
}
