/* A configuration of transformers (config.json) as a flat table of paths: "text_config.hidden_size". */
#ifndef PYRO_READ_HUGGINGFACE_CONFIG_H
#define PYRO_READ_HUGGINGFACE_CONFIG_H

#include "base/containers/arena.h"
#include "base/containers/intern.h"
#include "base/source/source.h"

typedef enum hf_kind {
    HF_NULL,
    HF_TRUTH,
    HF_INTEGER,
    HF_REAL,
    HF_TEXT,
    HF_LIST,
    HF_OBJECT
} hf_kind;

typedef struct hf_entry {
    uint8_t kind;
    int64_t integer; /* a truth as 0 or 1; the number of items of a list or an object */
    double real;
    const char *text;
} hf_entry;

typedef struct hf_config {
    pyro_arena *arena;
    pyro_intern paths; /* id is an index into `entries` */
    hf_entry *entries;
    size_t capacity;
    const char *prefix; /* of the fields of the text model: "" or "text_config." */
    const char *model_type;
    const char *outer_type; /* of the whole model; differs if the text model is a part of it */
    const struct hf_family *text_family; /* of a text model that is a part; NULL: none */
    pyro_error *error;
} hf_config;

/* Reads a configuration; the texts live in the arena. Free it in any case. */
int hf_config_read(hf_config *config, pyro_source *source, pyro_arena *arena, pyro_error *error);
void hf_config_free(hf_config *config);

/* An empty configuration, to be filled field by field; and its fields. False: memory ran out. */
void hf_config_begin(hf_config *config, pyro_arena *arena, pyro_error *error);
bool hf_config_set(hf_config *config, const char *name, hf_entry entry);

/* Finds a field of the text model; NULL: missing or null. */
const hf_entry *hf_find(const hf_config *config, const char *name);
/* The first of several names that is an integer; `otherwise` if none is. NULL ends the names. */
int64_t hf_integer(const hf_config *config, const char *const *names, int64_t otherwise);
/* The same of a field that may be left out or null; anything else than an integer is an error. */
int hf_optional(const hf_config *config, const char *const *names, int64_t otherwise, int64_t *out);
int64_t hf_number(const hf_config *config, const char *name, int64_t otherwise);
bool hf_truth(const hf_config *config, const char *name, bool otherwise);
const char *hf_text(const hf_config *config, const char *name, const char *otherwise);
/* An item of a list of texts; "" if it is missing. */
const char *hf_item(const hf_config *config, const char *name, int64_t index);
/* A field that the family needs, 1 or more; else fails, and names the field. */
int hf_need(const hf_config *config, const char *const *names, int64_t *out);

#endif
