/* The part of the tool that is Python: run in an interpreter of the user's, answers as JSON. */
#ifndef PYRO_CLI_PYTHON_HELPER_H
#define PYRO_CLI_PYTHON_HELPER_H

#include "base/containers/buf.h"

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stdint.h>

/* The helper's program, a zip that Python runs; the build makes it from python/pyrometer. */
extern const unsigned char pyro_helper_archive[];
extern const size_t pyro_helper_archive_size;

/* A folder of its own for one run of the helper, which holds the helper and what it writes. */
typedef struct pyro_helper {
    char *python, *folder;
} pyro_helper;

/* `python` is the value of --python, or NULL for the one to take without it. */
int pyro_helper_begin(pyro_helper *helper, const char *python, pyro_error *error);
/*
 * Runs "python helper.zip ARGUMENTS --result FILE", ARGUMENTS ending with NULL, and reads the
 * answer. What the program prints goes to standard error. PYRO_ERROR_NOT_FOUND where there is no
 * such Python.
 */
int pyro_helper_run(pyro_helper *helper, pyro_buf *answer, const char *const *arguments,
                    pyro_error *error);
/* The path of a file in the folder, for the caller to free; NULL when memory is out. */
char *pyro_helper_path(const pyro_helper *helper, const char *name);
/* Removes the folder. */
void pyro_helper_end(pyro_helper *helper);

/* A whole file as bytes. */
int pyro_helper_read(pyro_buf *out, const char *path, pyro_error *error);

/* Says which packages are missing and how to get them; the exit code. */
int pyro_helper_complain_missing(const char *python, const char *packages);

/* A model to export. */
typedef struct pyro_helper_request {
    const char *python, *spec, *input_shape; /* python and input_shape may be NULL */
} pyro_helper_request;

/* Where and why a model could not be traced; texts are "" where nothing is known. */
typedef struct pyro_helper_break {
    char *stage; /* "import", "build", "forward" or "trace" */
    char *type, *message, *hint, *file, *function, *code;
    int64_t line; /* 0: not known */
} pyro_helper_break;

typedef struct pyro_helper_export {
    pyro_buf archive;
    char *label, *builder;
    bool untraceable; /* the user's code raised: `broken` says where */
    pyro_helper_break broken;
} pyro_helper_export;

/*
 * Runs and exports what `request` names. Where that fails, `error` says what stood in the way in one
 * line; `untraceable` is set where it was the user's code or torch.
 */
int pyro_helper_export_model(pyro_helper_export *out, const pyro_helper_request *request,
                             pyro_error *error);
void pyro_helper_export_free(pyro_helper_export *exported);

#endif
