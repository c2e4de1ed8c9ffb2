/* Models by name: the built-in catalog, and the user's registry on disk. */
#ifndef PYROMETER_CATALOG_H
#define PYROMETER_CATALOG_H

#include <pyrometer/error.h>
#include <pyrometer/model.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A model that can be opened by name. Unknown texts are "", unknown numbers -1. */
typedef struct pyro_catalog_entry {
    const pyro_facts *facts;
    int64_t macs;        /* at the default input */
    bool is_own;         /* from the user's registry */
    bool hides_builtin;  /* from the registry, under the name of a built-in model */
    bool has_decode;     /* has a second graph: one decoding step over a cache */
    const char *problem; /* why a registry entry cannot be used; NULL: it can */
} pyro_catalog_entry;

typedef struct pyro_catalog pyro_catalog;

/* Lists all models, sorted by name. Fails if the registry cannot be read. */
PYRO_API int pyro_catalog_open(pyro_catalog **out, pyro_error *error);
PYRO_API void pyro_catalog_close(pyro_catalog *catalog);
PYRO_API size_t pyro_catalog_count(const pyro_catalog *catalog);
/* Returns NULL past the end. */
PYRO_API const pyro_catalog_entry *pyro_catalog_at(const pyro_catalog *catalog, size_t index);
/*
 * Tests whether an entry matches. `pattern` is a substring of its name, display name or family,
 * ignoring case, or a glob over its name; `family` and `task` match whole words. NULL matches all.
 */
PYRO_API bool pyro_catalog_matches(const pyro_catalog_entry *entry, const char *pattern,
                                   const char *family, const char *task);

/* Compares names, ignoring case and the separators - _ . and space. Between two digits a separator
 * counts, but not which one. */
PYRO_API bool pyro_catalog_same_name(const char *a, const char *b);

/*
 * Returns the built-in model with the architecture of a Hugging Face or timm id
 * ("google/vit-base-patch16-224", "timm/resnet50.a1_in1k"), or NULL. Downloads nothing.
 */
PYRO_API const char *pyro_builtin_of_id(const char *id);

/* Name of a built-in model by index; NULL past the end. */
PYRO_API const char *pyro_builtin_name(size_t index);

/*
 * Opens the graph of one decoding step of a named model: one new token, and a cache of past ones.
 * PYRO_ERROR_UNSUPPORTED if the model has no such graph.
 */
PYRO_API int pyro_model_open_decode(pyro_model **out, const char *name, pyro_error *error);

/* The numbers that torchvision publishes for one of its models. */
typedef struct pyro_published {
    const char *model, *weights;
    int64_t side;       /* of the square input image; 0: the model's default */
    int64_t milli_gmacs; /* thousandths of 10^9 MACs */
    int64_t params;
    const char *boxes; /* kind of boxes that `box_count` limits; NULL: the default number */
    int64_t box_count;
} pyro_published;

/* A row by index; NULL past the end. */
PYRO_API const pyro_published *pyro_published_at(size_t index);

/* Path of the user's registry, which may not exist. The caller frees it with pyro_free(). */
PYRO_API int pyro_registry_folder(char **out, pyro_error *error);

/* Checks that a model may be stored under a name; else PYRO_ERROR_ARGUMENT with the reason. */
PYRO_API int pyro_registry_check_name(const char *name, bool replace, pyro_error *error);

/* A model to store: a spec for pyro_model_open(), or the bytes of a file. */
typedef struct pyro_registry_model {
    const char *path; /* NULL: use `data` */
    const void *data;
    size_t size;
} pyro_registry_model;

typedef struct pyro_registry_options {
    bool replace;        /* replace an entry of that name, or hide a built-in model */
    const char *builder; /* where the model comes from, as text; may be NULL */
    const int64_t *dims; /* default sizes of the first input; NULL: as in the file */
    size_t rank;
} pyro_registry_options;

/*
 * Stores the graph of a model, without weights, under a name. The write is atomic.
 * PYRO_ERROR_ARGUMENT if the name is invalid or taken. `options` may be NULL.
 */
PYRO_API int pyro_registry_add(const char *name, const pyro_registry_model *model,
                               const pyro_registry_options *options, pyro_error *error);
/* Removes a model from the registry. PYRO_ERROR_NOT_FOUND if it is not there. */
PYRO_API int pyro_registry_remove(const char *name, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
