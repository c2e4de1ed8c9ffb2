/* Runs the tool's Python helper in the user's interpreter and reads its JSON results. */
#ifndef PYRO_CLI_PYTHON_HELPER_H
#define PYRO_CLI_PYTHON_HELPER_H

#include "base/containers/buf.h"
#include "report/cost/traceable.h"

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stdint.h>

/* The helper, a zip file that Python runs. The build makes it from python/pyrometer. */
extern const unsigned char pyro_helper_archive[];
extern const size_t pyro_helper_archive_size;

/* A temporary folder for one run, with the helper and its output. */
typedef struct pyro_helper {
    char *python, *folder;
} pyro_helper;

/* `python` is the value of --python, or NULL for the default. */
int pyro_helper_begin(pyro_helper *helper, const char *python, pyro_error *error);
/*
 * Runs "python helper.zip ARGUMENTS --result FILE", ARGUMENTS ending with NULL, and reads the
 * result. The program's output goes to standard error. PYRO_ERROR_NOT_FOUND when the Python does
 * not exist.
 */
int pyro_helper_run(pyro_helper *helper, pyro_buf *answer, const char *const *arguments,
                    pyro_error *error);
/* The path of a file in the folder, to be freed; NULL: out of memory. */
char *pyro_helper_path(const pyro_helper *helper, const char *name);
/* Removes the folder. */
void pyro_helper_end(pyro_helper *helper);

/* Reads a whole file. */
int pyro_helper_read(pyro_buf *out, const char *path, pyro_error *error);

/* Reports the missing packages and how to install them; returns the exit code. */
int pyro_helper_complain_missing(const char *python, const char *packages);

/* A model to export. */
typedef struct pyro_helper_request {
    const char *python, *spec, *input_shape; /* python and input_shape may be NULL */
} pyro_helper_request;

typedef struct pyro_helper_export {
    pyro_buf archive;
    char *label, *builder;
    bool untraceable; /* the user's code raised: `broken` says where */
    pyro_trace_break broken;
} pyro_helper_export;

/*
 * Runs and exports the model in `request`. On failure `error` holds the reason in one line, and
 * `untraceable` is set if the user's code or torch failed.
 */
int pyro_helper_export_model(pyro_helper_export *out, const pyro_helper_request *request,
                             pyro_error *error);
void pyro_helper_export_free(pyro_helper_export *exported);

#endif
