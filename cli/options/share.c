/* Reads shares from options, and warns where the meaning of a bare number changed. */
#include "cli/options/share.h"

#include "cli/common.h"

#include "base/error.h"

#include <pyrometer/share.h>
#include <string.h>

int pyro_share_option(double *out, const char *option, const char *text, bool was_percent,
                      pyro_error *error)
{
    pyro_error reason;

    if (!text)
        return PYRO_OK;
    pyro_error_clear(&reason);
    if (pyro_share_parse(out, text, &reason) != PYRO_OK)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--%s: %s", option, reason.message);
    if (was_percent && !strchr(text, '%') && *out > 0)
        pyro_common_complain("--%s %s is read as %g%%: a number without %% is a share of 1 (it was "
                             "a percentage before); write %g%% or %s%%",
                             option, text, *out * 100, *out * 100, text);
    return PYRO_OK;
}
