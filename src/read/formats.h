/*
 * The formats that models are read from: a row each in formats.c, tried in order over the first
 * bytes of the input. The first row that recognises them opens it, so a row stands before those
 * that recognise less.
 */
#ifndef PYRO_READ_FORMATS_H
#define PYRO_READ_FORMATS_H

#include "base/containers/buf.h"
#include "base/source/source.h"
#include "graph/model.h"

/* What a user can do about a file that is no exported program. */
#define PYRO_EXPORT_HINT \
    "export the model with torch.export.save(torch.export.export(model, inputs), \"model.pt2\")"

enum { PYRO_HEAD_BYTES = 64 };

/* An input on its way to become a model. */
typedef struct pyro_opening {
    pyro_model *model;   /* to be filled; has its file and the size of that */
    pyro_buf *stripped;  /* not NULL: only the program is taken, stripped, and no graph is made */
    pyro_source *source; /* seekable; the caller closes it */
    const char *name;    /* of one of several models in the file; NULL: the only one */
    unsigned char head[PYRO_HEAD_BYTES];
    size_t head_size; /* bytes that are in `head`, all there are where they are fewer */
} pyro_opening;

typedef struct pyro_model_format {
    const char *name; /* as errors list it */
    bool (*recognise)(const pyro_opening *opening);
    int (*open)(const pyro_opening *opening, pyro_error *error);
} pyro_model_format;

/* Reads the head, and opens by the first row that recognises it. */
int pyro_formats_open(pyro_opening *opening, pyro_error *error);

#endif
