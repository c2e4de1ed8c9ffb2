/* Trace files for tests: read whole, or as paths; also other people's traces, if available. */
#ifndef PYRO_TESTS_TRACE_FILES_H
#define PYRO_TESTS_TRACE_FILES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline char *test_path(char path[512], const char *name)
{
    const char *folder = getenv("PYRO_TEST_FILES");
    snprintf(path, 512, "%s/kineto/%s", folder ? folder : "tests/files", name);
    return path;
}

/* The file's bytes, to be freed; NULL if it is missing. */
static inline char *read_whole(const char *path, size_t *size)
{
    *size = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    if (bytes && fread(bytes, 1, *size, file) != *size) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

/* Calls `visit` for every trace of a folder beside the repository; false if it is missing. */
static inline int visit_shared_traces(void (*visit)(const char *path))
{
    const char *files = getenv("PYRO_TEST_FILES");
    char folder[400], path[700];
    snprintf(folder, sizeof folder, "%s/../../../shared/traces", files ? files : "tests/files");
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (strstr(entries[i]->d_name, ".json"))
            visit(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count > 0;
}

#endif
