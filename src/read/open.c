/* Opens a model from any spec: a file, one model of a file, a folder, a name or an id. */
#include "base/containers/buf.h"
#include "base/error.h"
#include "read/catalog.h"
#include "read/huggingface/folder.h"
#include "read/open_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Fails for an id without an exact built-in model, and suggests a similar one. */
static int only_near(const pyro_alias *alias, pyro_error *error)
{
    char option[64] = "";
    if (alias->side)
        snprintf(option, sizeof option, " --input-shape 1,3,%lld,%lld", (long long)alias->side,
                 (long long)alias->side);
    return pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                     "no such file or built-in model; %s is %s: pyrometer cost %s%s (nothing is "
                     "downloaded)",
                     alias->model->name,
                     alias->side ? "the same at another image size"
                                 : "near it, but may differ in head, vocabulary or element type",
                     alias->model->name, option);
}

static int no_such_model(const char *spec, pyro_error *error)
{
    pyro_alias alias;
    if (pyro_alias_find(&alias, spec))
        return only_near(&alias, error);
    pyro_buf near = PYRO_BUF_INIT;
    pyro_catalog_suggest(&near, spec);
    int status = pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                           "%s%s (pyrometer models lists the %zu built-in ones)",
                           pyro_alias_is_id(spec) ? "no such file, and no built-in model for this "
                                                    "id, which is not downloaded"
                                                  : "no such file or model",
                           near.data && !near.failed ? near.data : "", pyro_builtin_count());
    pyro_buf_free(&near);
    return status;
}

/* True for a file. Folders come later: a model of the same name takes precedence over them. */
static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

static bool is_there(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

/* A folder stands for the only model file in it. */
static int open_folder(pyro_model **out, const char *folder, pyro_buf *stripped, pyro_error *error)
{
    char *path = pyro_spec_only_file(folder);
    int result = path ? pyro_open_file(out, path, NULL, stripped, error)
                      : pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                                  "is a directory without a config.json or a single .pt2 "
                                  "file; name a file");
    free(path);
    return result;
}

/* Opens a built-in model of that name, which has no file. */
static int strip_builtin(const char *name, pyro_buf *stripped, pyro_error *error)
{
    pyro_model *none = NULL;
    const char *known = pyro_builtin_of_id(name);
    const pyro_embedded_model *builtin = known ? pyro_builtin_find(known, false) : NULL;
    return builtin ? pyro_open_memory(&none, builtin->data, builtin->size, name, stripped, error)
                   : PYRO_ERROR_NOT_FOUND;
}

static int open_other(pyro_model **out, const char *spec, pyro_buf *stripped, pyro_error *error)
{
    const char *colon = strrchr(spec, ':');
    char *path = colon ? strndup(spec, (size_t)(colon - spec)) : NULL;
    int result;
    if (path && is_there(path))
        result = pyro_open_file(out, path, colon + 1, stripped, error);
    else if (stripped || (result = pyro_catalog_open_id(out, spec, error)) == PYRO_ERROR_NOT_FOUND)
        result = no_such_model(spec, error);
    free(path);
    return result;
}

static int open_spec(pyro_model **out, const char *spec, pyro_buf *stripped, pyro_error *error)
{
    pyro_spec_kind kind = pyro_spec_of(spec);
    int result;
    if (kind == PYRO_SPEC_FOLDER && !stripped)
        result = pyro_folder_open(out, spec, false, error);
    else if (kind != PYRO_SPEC_MODEL)
        result = pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                           "%s, which Python has to build; export it first",
                           kind == PYRO_SPEC_FOLDER ? "a folder with a config.json"
                                                    : "a function that builds a model");
    else if (is_file(spec))
        return pyro_open_file(out, spec, NULL, stripped, error);
    else if ((result = stripped
                           ? strip_builtin(spec, stripped, error)
                           : pyro_catalog_open_model(out, spec, error)) != PYRO_ERROR_NOT_FOUND)
        return result;
    else if (is_there(spec))
        result = open_folder(out, spec, stripped, error);
    else
        result = open_other(out, spec, stripped, error);
    if (result < 0)
        pyro_error_where(error, spec, NULL);
    return result;
}

int pyro_model_open(pyro_model **out, const char *spec, pyro_error *error)
{
    return open_spec(out, spec, NULL, error);
}

int pyro_model_program(pyro_buf *out, const pyro_registry_model *given, pyro_error *error)
{
    pyro_model *model = NULL;
    int status = given->path
                     ? open_spec(&model, given->path, out, error)
                     : pyro_open_memory(&model, given->data, given->size, "model", out, error);
    pyro_model_close(model);
    return status;
}
