/* Holds the table of writers (writers.def), and runs the requested one. */
#include "report/writers.h"

#include "base/error.h"

static const pyro_writer writers[] = {
#define WRITER(kind, format, name, extension, write) \
    {PYRO_REPORT_##kind, format, name, extension, write, false},
#define RANKED(kind, format, name, extension, write) \
    {PYRO_REPORT_##kind, format, name, extension, write, true},
#define FORMAT(kind, format, name, extension) \
    {PYRO_REPORT_##kind, format, name, extension, NULL, false},
#include "report/writers.def"
};

const pyro_writer *pyro_writers(size_t *count)
{
    *count = sizeof writers / sizeof *writers;
    return writers;
}

const pyro_writer *pyro_writer_find(pyro_report_kind kind, int format)
{
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        if (writers[i].kind == kind && writers[i].format == format)
            return &writers[i];
    return NULL;
}

static int fail_format(const pyro_report_request *request)
{
    pyro_buf names = PYRO_BUF_INIT;
    int status;

    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        if (writers[i].kind == request->kind && writers[i].write)
            pyro_buf_addf(&names, "%s%s", names.length > 0 ? ", " : "", writers[i].name);
    status = pyro_fail(request->error, PYRO_ERROR_ARGUMENT,
                       "unsupported format for this report; formats: %s",
                       names.failed || !names.data ? "none" : names.data);
    pyro_buf_free(&names);
    return status;
}

int pyro_report_write(char **out, size_t *size, const pyro_report_request *request)
{
    const pyro_writer *writer = pyro_writer_find(request->kind, request->format);
    pyro_buf buf = PYRO_BUF_INIT;
    size_t length = 0;
    int status = writer && writer->write ? writer->write(&buf, request) : fail_format(request);

    *out = NULL;
    if (status == PYRO_OK) {
        *out = pyro_buf_detach(&buf, &length);
        status = *out ? PYRO_OK : pyro_fail_memory(request->error);
    }
    if (size)
        *size = length;
    pyro_buf_free(&buf);
    return status;
}
