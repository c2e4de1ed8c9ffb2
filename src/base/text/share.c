/* Parses and checks shares for every option and argument: what 0.1, 2 and 10% mean. */
#include "base/error.h"

#include <math.h>
#include <pyrometer/share.h>
#include <stdlib.h>
#include <string.h>

enum { SHARE_MAX = 10 };

static int not_a_share(const char *text, pyro_error *error)
{
    return pyro_fail(error, PYRO_ERROR_ARGUMENT, "\"%.40s\" is not a share such as 10%% or 0.1",
                     text);
}

int pyro_share_check(double share, pyro_error *error)
{
    if (share >= 0 && share < 1)
        return PYRO_OK;
    if (share >= 1 && share <= 100 * SHARE_MAX)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "%g is ambiguous: write %g%% (a number without %% is a share of 1: "
                         "0.1 is 10%%)",
                         share, share);
    return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%g is not a share such as 10%% or 0.1", share);
}

int pyro_share_parse(double *out, const char *text, pyro_error *error)
{
    char *end;
    double value;
    int status = PYRO_OK;

    /* strtod also takes leading spaces, signs, "inf" and hexadecimal numbers. */
    if (text[0] == '\0' || strspn(text, "0123456789.eE+-% ") != strlen(text) ||
        !strchr("0123456789.", text[0]))
        return not_a_share(text, error);
    value = strtod(text, &end);
    if (end == text || !isfinite(value))
        return not_a_share(text, error);
    end += strspn(end, " ");
    if (*end == '%' && end[1] == '\0') {
        value /= 100;
        if (value > SHARE_MAX)
            status = pyro_fail(error, PYRO_ERROR_ARGUMENT, "%.40s is more than %d%%", text,
                               100 * SHARE_MAX);
    } else if (*end == '\0') {
        status = pyro_share_check(value, error);
    } else {
        status = not_a_share(text, error);
    }
    if (status == PYRO_OK)
        *out = value;
    return status;
}
