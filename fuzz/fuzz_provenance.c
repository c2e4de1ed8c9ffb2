/* Fuzzes the readers of files about compiled code: a log, each of its parts alone, and pickles. */
#include "base/pickle/pickle.h"
#include "trace/provenance/torch_log.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void read_parts(pyro_provenance *all, const char *text, size_t size)
{
    pyro_compilation compilation;
    pyro_compilation_init(&compilation, all);
    pyro_read_captured_graph(&compilation, text, size);
    pyro_read_compiled_graph(&compilation, text, size);
    pyro_read_wrapper(&compilation, text, size);
    pyro_read_mappings(&compilation, text, size);
    pyro_compilation_flush(&compilation);
    pyro_compilation_free(&compilation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pyro_provenance all;
    pyro_source *source = NULL;
    pyro_error error;
    pyro_buf json = PYRO_BUF_INIT;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    pyro_error_clear(&error);
    pyro_provenance_init(&all);
    if (pyro_source_open_memory(&source, text, size, &error) == PYRO_OK)
        pyro_provenance_read_log(&all, source, &error);
    pyro_source_close(source);
    pyro_provenance_read_note(&all, text, size, &error);
    read_parts(&all, text, size);
    pyro_pickle_to_json(&json, text, size, &error);
    pyro_buf_free(&json);
    pyro_provenance_free(&all);
    free(text);
    return 0;
}
