/* Shares of a whole, as options and arguments give them: "10%" or 0.1. */
#ifndef PYROMETER_SHARE_H
#define PYROMETER_SHARE_H

#include <pyrometer/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads a share: "10%" and "0.1" are both 0.1. A number without % is a share of 1 and must be
 * below 1, so that 2 is never read as 200%; with % it may be up to 1000%. PYRO_ERROR_ARGUMENT, with
 * what to write instead, for anything else; *out is untouched then.
 */
PYRO_API int pyro_share_parse(double *out, const char *text, pyro_error *error);

/* The same rule for a number that a program gives. */
PYRO_API int pyro_share_check(double share, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
