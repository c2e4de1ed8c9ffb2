/* Decides, for every command, what the text that names a model refers to. */
#include "read/catalog.h"
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && !strcmp(text + length - end_length, end);
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* "name" or "package.name": letters, digits, _ and dots, as Python has them. */
static bool is_dotted(const char *text, size_t length)
{
    bool starts = true;
    for (size_t i = 0; i < length; i++) {
        unsigned char letter = (unsigned char)text[i];
        if (letter == '.' ? starts
                          : !(isalpha(letter) || letter == '_' || letter >= 0x80 ||
                              (isdigit(letter) && !starts)))
            return false;
        starts = letter == '.';
    }
    return !starts;
}

/* "file.py:function" or "package.module:function". */
static bool is_function(const char *spec)
{
    const char *colon = strrchr(spec, ':');
    if (!colon)
        return ends_with(spec, ".py");
    size_t place = (size_t)(colon - spec);
    bool file = place > 3 && !strncmp(colon - 3, ".py", 3);
    if (!is_dotted(colon + 1, strlen(colon + 1)) && !(file && !colon[1]))
        return false;
    return file || is_dotted(spec, place);
}

/* True if the text before the last colon is itself a model or a file of models. */
static bool is_known_place(const char *spec)
{
    const char *colon = strrchr(spec, ':');
    char *place = colon ? strndup(spec, (size_t)(colon - spec)) : NULL;
    bool known = place && !ends_with(place, ".py") &&
                 (access(place, F_OK) == 0 || pyro_builtin_find(place, false));
    free(place);
    return known;
}

pyro_spec_kind pyro_spec_of(const char *spec)
{
    char *path = NULL;
    if (is_folder(spec)) {
        /* A folder is a model only if no model has its name. */
        bool named = pyro_builtin_find(spec, false) != NULL;
        if (!named && pyro_registry_find(&path, spec, NULL) == PYRO_OK && path)
            named = true;
        free(path);
        if (named || asprintf(&path, "%s/config.json", spec) < 0)
            return PYRO_SPEC_MODEL;
        bool config = access(path, F_OK) == 0;
        free(path);
        return config ? PYRO_SPEC_FOLDER : PYRO_SPEC_MODEL;
    }
    if (access(spec, F_OK) == 0)
        return ends_with(spec, ".py") ? PYRO_SPEC_PYTHON : PYRO_SPEC_MODEL;
    if (is_known_place(spec))
        return PYRO_SPEC_MODEL;
    return is_function(spec) ? PYRO_SPEC_PYTHON : PYRO_SPEC_MODEL;
}

char *pyro_spec_only_file(const char *folder)
{
    DIR *files = opendir(folder);
    struct dirent *file;
    char *found = NULL;
    size_t count = 0;
    while (files && (file = readdir(files))) {
        if (!ends_with(file->d_name, ".pt2"))
            continue;
        count++;
        free(found);
        if (asprintf(&found, "%s/%s", folder, file->d_name) < 0)
            found = NULL;
    }
    if (files)
        closedir(files);
    if (count == 1)
        return found;
    free(found);
    return NULL;
}
