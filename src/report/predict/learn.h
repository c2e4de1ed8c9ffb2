/* What `pyrometer learn` did, or the table that it shows. */
#ifndef PYRO_REPORT_PREDICT_LEARN_H
#define PYRO_REPORT_PREDICT_LEARN_H

#include "predict/samples.h"

/* A file that was given: a trace, or a table to merge. */
typedef struct pyro_learn_file {
    const char *file;
    bool is_table;
    char rejected[256]; /* why nothing was learnt; "": it was */
    pyro_learnt learnt; /* of a trace */
    size_t rows;        /* of a table */
} pyro_learn_file;

typedef struct pyro_learn_report {
    const char *path; /* of the table; NULL: it is not a file */
    const pyro_learn_file *files;
    size_t file_count;
    pyro_efficiency_table *table;
    bool show; /* the rows of the table, else the files */
} pyro_learn_report;

#endif
