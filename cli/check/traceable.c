/* `models check`: prices a model that can be traced, and writes the report. */
#include "cli/check/traceable.h"

#include "cli/options/model.h"

#include "base/error.h"
#include "report/writers.h"

static int open_checked(pyro_priced *out, const char *spec, const pyro_helper_export *exported,
                        const char *input_shape, pyro_error *error)
{
    int64_t dims[PYRO_DIMS_MAX];
    size_t rank;
    int status;

    if (exported->archive.length > 0)
        status = pyro_model_open_memory(&out->model, exported->archive.data,
                                        exported->archive.length, spec, error);
    else
        status = pyro_model_open(&out->model, spec, error);
    if (status == PYRO_OK && exported->archive.length == 0 && input_shape) {
        status = pyro_parse_dims(input_shape, "--input-shape", dims, &rank, error);
        if (status == PYRO_OK)
            status = pyro_model_set_shape(out->model, NULL, dims, rank, error);
    }
    if (status == PYRO_OK)
        status = pyro_cost_compute(&out->cost, out->model, NULL, error);
    return status;
}

int pyro_trace_check_write(const char *spec, const pyro_helper_export *exported,
                           const char *input_shape, const pyro_common *common)
{
    pyro_report_options options = pyro_common_report(common);
    pyro_priced priced = {0};
    pyro_error error;
    char *text = NULL;
    size_t size = 0;

    pyro_error_clear(&error);
    if (!exported->untraceable &&
        open_checked(&priced, spec, exported, input_shape, &error) != PYRO_OK) {
        pyro_priced_free(&priced);
        return pyro_common_fail(spec, &error);
    }
    pyro_traceable result = {spec, priced.cost, &exported->broken};
    pyro_report_request request = {.kind = PYRO_REPORT_TRACEABLE,
                                   .format = options.format,
                                   .options = &options,
                                   .error = &error,
                                   .traceable = &result};
    int exit_code = pyro_report_write(&text, &size, &request) == PYRO_OK
                        ? pyro_common_write(common, text, size)
                        : pyro_common_fail(NULL, &error);
    pyro_free(text);
    pyro_priced_free(&priced);
    if (exit_code == PYRO_EXIT_FINE && exported->untraceable)
        return PYRO_EXIT_POLICY;
    return exit_code;
}
