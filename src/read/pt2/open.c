/* Recognises and opens files of torch.export: archives, and the JSON of a program alone. */
#include "base/error.h"
#include "base/source/source.h"
#include "read/pt2/pt2.h"
#include "read/pt2/strip.h"
#include "read/torch_archive.h"
#include <string.h>

/* Reports what else a zip archive is. */
static int refuse_zip(const pyro_zip *zip, pyro_error *error)
{
    for (size_t i = 0; i < zip->count; i++)
        if (strstr(zip->entries[i].name, "aotinductor/"))
            return pyro_fail(
                error, PYRO_ERROR_UNSUPPORTED,
                "an AOTInductor package without its exported program; " PYRO_EXPORT_HINT);
    return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                     "a zip archive without an exported program; " PYRO_EXPORT_HINT);
}

/* Reads the JSON of a program into the model's graph or, if requested, into stripped text. */
static int take_program(const pyro_opening *opening, pyro_source *program, pyro_error *error)
{
    return opening->stripped ? pyro_strip_program(opening->stripped, program, error)
                             : pyro_pt2_read_program(opening->model, program, error);
}

bool pyro_pt2_is_zip(const pyro_opening *opening)
{
    return pyro_zip_is(opening->head, opening->head_size);
}

int pyro_pt2_open_zip(const pyro_opening *opening, pyro_error *error)
{
    pyro_zip zip;
    pyro_source *program = NULL;
    int status = pyro_zip_open(&zip, opening->source, error);
    if (status < 0)
        return status;
    if (!pyro_pt2_is(&zip)) {
        status = pyro_torch_archive_find(&zip) && !opening->stripped
                     ? pyro_torch_archive_open(opening->model, &zip, error)
                     : refuse_zip(&zip, error);
    } else if (!opening->stripped) {
        status = pyro_pt2_open(opening->model, &zip, opening->name, error);
    } else {
        status = pyro_pt2_open_program(&program, &zip, opening->name, error);
        if (status == PYRO_OK)
            status = take_program(opening, program, error);
        pyro_source_close(program);
    }
    pyro_zip_close(&zip);
    return status;
}

bool pyro_pt2_is_json(const pyro_opening *opening)
{
    const unsigned char *head = opening->head;
    for (size_t i = 0; i < opening->head_size; i++)
        if (head[i] != ' ' && head[i] != '\n' && head[i] != '\r' && head[i] != '\t')
            return head[i] == '{';
    return false;
}

int pyro_pt2_open_json(const pyro_opening *opening, pyro_error *error)
{
    return take_program(opening, opening->source, error);
}

/* Only a file can be opened a second time for decompression. */
bool pyro_pt2_is_gzip(const pyro_opening *opening)
{
    return opening->head_size > 2 && opening->head[0] == 0x1f && opening->head[1] == 0x8b &&
           opening->model->file_bytes >= 0;
}

int pyro_pt2_open_gzip(const pyro_opening *opening, pyro_error *error)
{
    pyro_source *inner, *source;
    int status = pyro_source_open_file(&inner, opening->model->file, error);
    if (status == PYRO_OK)
        status = pyro_source_open_gzip(&source, inner, error);
    if (status == PYRO_OK) {
        pyro_gzip_limit(source, PYRO_PT2_EXPANSION_FREE_BYTES, PYRO_PT2_MAX_EXPANSION,
                        PYRO_PT2_MAX_BYTES);
        status = take_program(opening, source, error);
        pyro_source_close(source);
    }
    return status;
}
