/*
 * The model formats: one row per format in formats.c. The first row that recognises the first bytes
 * of the input opens it, so specific rows come before general ones.
 */
#ifndef PYRO_READ_FORMATS_H
#define PYRO_READ_FORMATS_H

#include "base/containers/buf.h"
#include "base/source/source.h"
#include "graph/model.h"

/* The advice for files that are not exported programs. */
#define PYRO_EXPORT_HINT \
    "export the model with torch.export.save(torch.export.export(model, inputs), \"model.pt2\")"

enum { PYRO_HEAD_BYTES = 64 };

/* An input that is being opened as a model. */
typedef struct pyro_opening {
    pyro_model *model;   /* to be filled; its file and file size are set */
    pyro_buf *stripped;  /* not NULL: write the stripped program here and make no graph */
    pyro_source *source; /* seekable; the caller closes it */
    const char *name;    /* of one of several models in the file; NULL: the only one */
    unsigned char head[PYRO_HEAD_BYTES];
    size_t head_size; /* bytes in `head`; the whole input if it is shorter */
} pyro_opening;

typedef struct pyro_model_format {
    const char *name; /* as errors list it */
    bool (*recognise)(const pyro_opening *opening);
    int (*open)(const pyro_opening *opening, pyro_error *error);
} pyro_model_format;

/* Reads the head, and opens by the first row that recognises it. */
int pyro_formats_open(pyro_opening *opening, pyro_error *error);

#endif
