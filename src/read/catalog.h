/* Internal interface of the catalog: finds models by name, built-in or in the user's registry. */
#ifndef PYRO_READ_CATALOG_H
#define PYRO_READ_CATALOG_H

#include "base/containers/arena.h"
#include "base/containers/buf.h"
#include "read/embedded.h"
#include "read/index.h"
#include <pyrometer/report.h>
#include <pyrometer/catalog.h>

#define PYRO_DECODE_SUFFIX ".decode"

enum { PYRO_NORMAL_NAME = 128 };
/* Writes the normalised form of a name, for comparison, to `text` (model_names.c). */
void pyro_catalog_normalize(char text[PYRO_NORMAL_NAME], const char *name);

/* Finds a built-in model, or its decoding step, by name; NULL: not found. */
const pyro_embedded_model *pyro_builtin_find(const char *name, bool decode);
size_t pyro_builtin_count(void);

/* The built-in model for a Hugging Face or timm id (aliases.c). */
typedef struct pyro_alias {
    const pyro_embedded_model *model;
    bool exact;   /* the same architecture; else a similar one */
    int64_t side; /* image size of the id if it is not the model's default; else 0 */
} pyro_alias;
/* Returns false if no built-in model matches. */
bool pyro_alias_find(pyro_alias *out, const char *id);
/* True if a text looks like a Hugging Face id (owner/name). */
bool pyro_alias_is_id(const char *text);
/* Writes the id without address and owner to `name`; NULL if the text cannot be an id. */
const char *pyro_alias_name(const char *id, char name[PYRO_INDEX_NAME]);

/* Sorted names of the user's models, in the arena. Empty if the folder is missing. */
int pyro_registry_names(const char ***out, size_t *count, pyro_arena *arena, pyro_error *error);
/* The file path for a name, whether it exists or not. The caller frees it. */
int pyro_registry_path(char **out, const char *name, pyro_error *error);
/* The file path of an existing model, which the caller frees; NULL in *out if not found. */
int pyro_registry_find(char **out, const char *name, pyro_error *error);

/* Opens a model by name (open_name.c). PYRO_ERROR_NOT_FOUND, with `error` unchanged, if unknown. */
int pyro_catalog_open_model(pyro_model **out, const char *name, pyro_error *error);
/* Opens the built-in model for a Hugging Face or timm id; fails in the same way. */
int pyro_catalog_open_id(pyro_model **out, const char *id, pyro_error *error);
/* "; did you mean a, b or c?", or "" if no name is near (near_names.c). */
void pyro_catalog_suggest(pyro_buf *buf, const char *wanted);

/* The only .pt2 file of a folder, which the caller frees; NULL: none or several (spec.c). */
char *pyro_spec_only_file(const char *folder);

/* Opens a file, whatever its name (open_file.c). */
int pyro_model_open_file(pyro_model **out, const char *path, pyro_error *error);
/* The stripped program of any spec that pyro_model_open accepts (open.c). */
int pyro_model_program(pyro_buf *out, const pyro_registry_model *given, pyro_error *error);

/*
 * Makes an archive of a model with only what its cost needs, without weights. `given` is what the
 * model was opened from.
 */
int pyro_skeleton_write(pyro_buf *out, pyro_model *model, const pyro_registry_model *given,
                        const char *name, const pyro_registry_options *options, pyro_error *error);

/* The entries that match a query, in its order. The caller frees *out, even after a failure. */
int pyro_catalog_query(const pyro_catalog_entry ***out, size_t *count, const pyro_catalog *catalog,
                       const pyro_models_query *query, pyro_error *error);

#endif
