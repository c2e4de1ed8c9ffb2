/* Inside the catalog: finding models by name, in the library and in the user's registry. */
#ifndef PYRO_READ_CATALOG_H
#define PYRO_READ_CATALOG_H

#include "base/containers/arena.h"
#include "base/containers/buf.h"
#include "read/embedded.h"
#include "read/index.h"
#include <pyrometer/catalog.h>

#define PYRO_DECODE_SUFFIX ".decode"

enum { PYRO_NORMAL_NAME = 128 };
/* A name as names are compared, in `text` (model_names.c). */
void pyro_catalog_normalize(char text[PYRO_NORMAL_NAME], const char *name);

/* The built-in model of a name, or its decoding step; NULL: there is none. */
const pyro_embedded_model *pyro_builtin_find(const char *name, bool decode);
size_t pyro_builtin_count(void);

/* The built-in model that an id of Hugging Face or timm stands for (aliases.c). */
typedef struct pyro_alias {
    const pyro_embedded_model *model;
    bool exact;   /* the same architecture; otherwise only near it */
    int64_t side; /* of the images that the id says and that the model is not at by default; 0 */
} pyro_alias;
/* False where no built-in model is known for it. */
bool pyro_alias_find(pyro_alias *out, const char *id);
/* Whether a text looks like owner/name of Hugging Face. */
bool pyro_alias_is_id(const char *text);
/* The id without its address and owner, in `name`; NULL where it can be no id. */
const char *pyro_alias_name(const char *id, char name[PYRO_INDEX_NAME]);

/* Names of the user's models, sorted, in the arena. A folder that is not there has none. */
int pyro_registry_names(const char ***out, size_t *count, pyro_arena *arena, pyro_error *error);
/* The file that a name has or would have, for the caller to free. */
int pyro_registry_path(char **out, const char *name, pyro_error *error);
/* The file of one of them, for the caller to free; NULL in *out where there is none. */
int pyro_registry_find(char **out, const char *name, pyro_error *error);

/* Opens a model by name (open_name.c); PYRO_ERROR_NOT_FOUND, `error` untouched: there is none. */
int pyro_catalog_open_model(pyro_model **out, const char *name, pyro_error *error);
/* Opens the built-in model that an id of elsewhere stands for; the same where there is none. */
int pyro_catalog_open_id(pyro_model **out, const char *id, pyro_error *error);
/* "; did you mean a, b or c?", or "" where nothing is near (near_names.c). */
void pyro_catalog_suggest(pyro_buf *buf, const char *wanted);

/* The one .pt2 file of a folder, for the caller to free; NULL: it has none or several (spec.c). */
char *pyro_spec_only_file(const char *folder);

/* Opens a file, whatever its name (open_file.c). */
int pyro_model_open_file(pyro_model **out, const char *path, pyro_error *error);
/* The stripped program of what a model can be opened from (open.c). */
int pyro_model_program(pyro_buf *out, const pyro_registry_model *given, pyro_error *error);

/*
 * The archive of a model without its weights and without anything that is not needed to price it.
 * `given` is what the model was opened from.
 */
int pyro_skeleton_write(pyro_buf *out, pyro_model *model, const pyro_registry_model *given,
                        const char *name, const pyro_registry_options *options, pyro_error *error);

#endif
