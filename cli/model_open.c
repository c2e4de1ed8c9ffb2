/* Opens a model the same way for every command; exports it in Python where needed. */
#include "cli/model_open.h"

#include "cli/python/helper.h"

#include "base/error.h"
#include <stdio.h>

static int open_built(pyro_model **out, const char *spec, const pyro_open_options *options,
                      pyro_error *error)
{
    pyro_helper_request request = {
        .python = options->python, .spec = spec, .input_shape = options->input_shape};
    pyro_helper_export exported;
    int status = pyro_helper_export_model(&exported, &request, error);

    if (status == PYRO_OK)
        status = pyro_model_open_memory(out, exported.archive.data, exported.archive.length, spec,
                                        error);
    pyro_helper_export_free(&exported);
    if (status != PYRO_OK)
        pyro_error_where(error, spec, NULL);
    return status;
}

/* Without a Python that could build the model, the reason why it has to be built matters, too. */
static int explain(pyro_error *error, const pyro_error *reason, int status)
{
    char missing[sizeof error->message];

    if (status != PYRO_ERROR_NOT_FOUND || reason->message[0] == '\0')
        return status;
    snprintf(missing, sizeof missing, "%s", error->message);
    snprintf(error->message, sizeof error->message, "%.255s, and %.250s", reason->message, missing);
    return status;
}

int pyro_open_model(pyro_model **out, const char *spec, const pyro_open_options *options,
                    pyro_error *error)
{
    static const pyro_open_options usual = {0};
    pyro_spec_kind kind = pyro_spec_of(spec);
    pyro_error reason = {0};
    int status;

    if (kind == PYRO_SPEC_MODEL)
        return pyro_model_open(out, spec, error);
    /* A configuration alone is enough for many families; --python asks for the exact graph. */
    if (kind == PYRO_SPEC_FOLDER && !(options && options->python)) {
        status = pyro_model_open(out, spec, error);
        if (status != PYRO_ERROR_UNSUPPORTED)
            return status;
        reason = *error;
        pyro_error_clear(error);
    }
    status = open_built(out, spec, options ? options : &usual, error);
    return status == PYRO_OK ? status : explain(error, &reason, status);
}
