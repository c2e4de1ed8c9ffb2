/* The checks of `pyrometer doctor`. */
#ifndef PYRO_REPORT_DOCTOR_H
#define PYRO_REPORT_DOCTOR_H

#include <stddef.h>

/* The result of one check. */
typedef struct pyro_doctor_check {
    const char *name, *state, *text, *mend; /* state: ok, note or problem */
} pyro_doctor_check;

typedef struct pyro_doctor {
    const pyro_doctor_check *checks;
    size_t count;
    const char *json; /* the same checks, with the package's further facts */
    size_t json_size;
} pyro_doctor;

#endif
