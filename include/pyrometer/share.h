/* Shares of a whole in options and arguments: "10%" or 0.1. */
#ifndef PYROMETER_SHARE_H
#define PYROMETER_SHARE_H

#include <pyrometer/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Parses a share: "10%" and "0.1" are both 0.1. A number without % must be below 1, so that 2 is
 * never read as 200%; with % it may be up to 1000%. Anything else is PYRO_ERROR_ARGUMENT with a
 * suggestion, and leaves *out unchanged.
 */
PYRO_API int pyro_share_parse(double *out, const char *text, pyro_error *error);

/* Applies the same rule to a number. */
PYRO_API int pyro_share_check(double share, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
