/* Models by name: those built into the library, and the user's own in a registry on disk. */
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

/* A model that can be opened by name. Texts are "" and numbers -1 where nothing is known. */
typedef struct pyro_catalog_entry {
    const pyro_facts *facts;
    int64_t macs;        /* at the default input */
    bool is_own;         /* from the user's registry */
    bool hides_builtin;  /* the user's own, under a name that a built-in model has too */
    bool has_decode;     /* a second graph: one new token over a cache */
    const char *problem; /* why an own entry cannot be used; NULL: it can */
} pyro_catalog_entry;

typedef struct pyro_catalog pyro_catalog;

/* Everything there is, sorted by name. A registry that cannot be read is an error. */
PYRO_API int pyro_catalog_open(pyro_catalog **out, pyro_error *error);
PYRO_API void pyro_catalog_close(pyro_catalog *catalog);
PYRO_API size_t pyro_catalog_count(const pyro_catalog *catalog);
/* NULL past the end. */
PYRO_API const pyro_catalog_entry *pyro_catalog_at(const pyro_catalog *catalog, size_t index);
/*
 * Whether an entry is asked for: `pattern` is part of its name, display name or family, whatever
 * the case, or a glob over its name; `family` and `task` are whole words. NULL asks for nothing.
 */
PYRO_API bool pyro_catalog_matches(const pyro_catalog_entry *entry, const char *pattern,
                                   const char *family, const char *task);

/* Names are the same when they differ only in case and in - _ . and spaces; between two digits it
 * matters that there is one, not which. */
PYRO_API bool pyro_catalog_same_name(const char *a, const char *b);

/*
 * The built-in model that an id of Hugging Face or timm ("google/vit-base-patch16-224",
 * "timm/resnet50.a1_in1k") stands for; NULL where there is none of the same architecture. Nothing
 * is downloaded.
 */
PYRO_API const char *pyro_builtin_of_id(const char *id);

/* Built-in models, by index, until NULL. */
PYRO_API const char *pyro_builtin_name(size_t index);

/*
 * The graph of one decoding step of a model by name: one new token, and a cache of past ones.
 * PYRO_ERROR_UNSUPPORTED where the model has none.
 */
PYRO_API int pyro_model_open_decode(pyro_model **out, const char *name, pyro_error *error);

/* What torchvision publishes of one of its models. */
typedef struct pyro_published {
    const char *model, *weights;
    int64_t side;       /* of the square image it was counted at; 0: the model's default */
    int64_t milli_gmacs; /* thousandths of 10^9 MACs */
    int64_t params;
    const char *boxes; /* kind of boxes of which only some were there; NULL: the default number */
    int64_t box_count;
} pyro_published;

/* By index, until NULL. */
PYRO_API const pyro_published *pyro_published_at(size_t index);

/* The folder of the user's own models, which need not exist; the caller frees it (pyro_free). */
PYRO_API int pyro_registry_folder(char **out, pyro_error *error);

/* PYRO_OK where a model may be stored under a name; otherwise PYRO_ERROR_ARGUMENT and why not. */
PYRO_API int pyro_registry_check_name(const char *name, bool replace, pyro_error *error);

/* A model to store: a file, as pyro_model_open() takes it, or the bytes of one. */
typedef struct pyro_registry_model {
    const char *path; /* NULL: `data` */
    const void *data;
    size_t size;
} pyro_registry_model;

typedef struct pyro_registry_options {
    bool replace;        /* an own entry of that name, or hide a built-in one */
    const char *builder; /* where the model comes from, for people; may be NULL */
    const int64_t *dims; /* of the first input, as its default; NULL: as in the file */
    size_t rank;
} pyro_registry_options;

/*
 * Stores the graph of a model, without its weights, under a name. The entry appears whole or not at
 * all. PYRO_ERROR_ARGUMENT for a name that is taken or is no name. `options` may be NULL.
 */
PYRO_API int pyro_registry_add(const char *name, const pyro_registry_model *model,
                               const pyro_registry_options *options, pyro_error *error);
/* PYRO_ERROR_NOT_FOUND where the user has no such model. */
PYRO_API int pyro_registry_remove(const char *name, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
