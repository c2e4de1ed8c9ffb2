/* Writes scalars per step to a TensorBoard event file. */
#ifndef PYROMETER_SCALARS_H
#define PYROMETER_SCALARS_H

#include <pyrometer/error.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pyro_scalars pyro_scalars;

typedef struct pyro_scalar {
    const char *tag; /* "step/time_ms"; the part before the slash is TensorBoard's group */
    float value;
} pyro_scalar;

/*
 * Creates an event file "events.out.tfevents.SECONDS.HOST.PID.SUFFIX" in an existing folder.
 * TensorBoard finds it by that name, and no two writers share one. `suffix` may be NULL.
 */
PYRO_API int pyro_scalars_open(pyro_scalars **out, const char *folder, const char *suffix,
                               pyro_error *error);
/* Writes all values of a step as one record. After a failure (a full disk) the file ends with the
 * last complete record, and further calls fail. `time_s` is seconds since 1970. */
PYRO_API int pyro_scalars_add(pyro_scalars *scalars, int64_t step, double time_s,
                              const pyro_scalar *values, size_t count, pyro_error *error);
PYRO_API const char *pyro_scalars_path(const pyro_scalars *scalars);
PYRO_API void pyro_scalars_close(pyro_scalars *scalars); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
