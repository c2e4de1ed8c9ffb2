/*
 * Learnt efficiencies: how long work took on a chip, by kind, element type and sizes. A table holds
 * sums per bucket of sizes, so merging is associative and commutative. It holds no names of models,
 * layers or files. File: pyrometer.efficiency/2 (docs/reference/learn.md).
 */
#ifndef PYRO_PREDICT_EFFICIENCY_H
#define PYRO_PREDICT_EFFICIENCY_H

#include "base/containers/buf.h"
#include "graph/dtype.h"
#include "predict/work.h"

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PYRO_EFFICIENCY_TEXT = 96,           /* most bytes of a chip or library, with the NUL */
    PYRO_EFFICIENCY_CHIPS = 4095,        /* most chips of a table */
    PYRO_EFFICIENCY_LIBRARIES = 4095,
    PYRO_EFFICIENCY_ROWS = 16 * 1000000, /* most rows of a table */
    PYRO_LOG_UNIT = 1024                 /* a logarithm of 2 is stored as a multiple of 1/1024 */
};

/* Buckets of half an octave: sizes from 2^(i/2) to 2^((i+1)/2) have the number i; 127: 0. */
enum {
    PYRO_SIZE_M,
    PYRO_SIZE_N,
    PYRO_SIZE_K,
    PYRO_SIZE_FLOPS,
    PYRO_SIZE_BYTES,
    PYRO_SIZE_PARTS,
    PYRO_SIZE_COUNT,
    PYRO_SIZE_NONE = 127
};

/* float32 values that tensor cores multiplied: another speed, though the same element type. */
enum { PYRO_DTYPE_TF32 = PYRO_DTYPE_COUNT, PYRO_EFFICIENCY_DTYPES };

/* Sums over samples. A sample is an op with given shapes in one trace: its median time. */
typedef struct pyro_efficiency_row {
    uint16_t chip, library; /* indices of the table's texts */
    uint8_t kind;           /* pyro_work_kind */
    uint8_t dtype;          /* pyro_dtype, or PYRO_DTYPE_TF32 */
    uint8_t form;           /* pyro_work_form */
    uint8_t sizes[PYRO_SIZE_COUNT]; /* buckets */
    int64_t samples;
    int64_t time_log, time_log_squares; /* of log2 ns in units, and of their squares */
    int64_t size_logs[PYRO_SIZE_COUNT]; /* of log2 of the sizes in units */
    int64_t least_ns, most_ns;
} pyro_efficiency_row;

typedef struct pyro_efficiency_table pyro_efficiency_table;

/* What is known about some work on a chip. */
struct pyro_efficiency {
    /* overhead_ns + flops / (peak * compute_share) is time_ns, and so is overhead_ns + bytes /
     * (bandwidth * memory_share), with the chip's data sheet. -1: nothing of it, or no data sheet. */
    double compute_share, memory_share;
    double overhead_ns; /* of time_ns: what work of this kind takes at least, whatever its size */
    double low, high;   /* 80% of such ops take between time_ns * low and time_ns * high */
    uint64_t samples;   /* that it is derived from */
    double time_ns;     /* point estimate */
    int level; /* 0: sizes of the same bucket were seen; higher: only more distant ones */
};

/* An empty table; NULL if memory runs out. */
pyro_efficiency_table *pyro_efficiency_new(void);
void pyro_efficiency_free(pyro_efficiency_table *table); /* accepts NULL */

/* Adds a sample. PYRO_ERROR_ARGUMENT: an unknown kind or element type, or the time is 0. */
int pyro_efficiency_add(pyro_efficiency_table *table, const struct pyro_op_work *work,
                        const char *chip, const char *library, int64_t time_ns, pyro_error *error);
/* Adds all rows of `other`. */
int pyro_efficiency_merge(pyro_efficiency_table *table, const pyro_efficiency_table *other,
                          pyro_error *error);

/* Reads a file and adds its rows. A damaged file adds nothing. PYRO_ERROR_UNSUPPORTED: a table of an
 * older version. */
int pyro_efficiency_read(pyro_efficiency_table *table, const char *path, pyro_error *error);
int pyro_efficiency_read_memory(pyro_efficiency_table *table, const void *bytes, size_t size,
                                pyro_error *error);
/* Adds the table that is embedded in the library. */
int pyro_efficiency_read_shipped(pyro_efficiency_table *table, pyro_error *error);
/* The shipped table and, unless `path` is NULL, that file if it exists; prepared for lookups. A file
 * of an older version is left out, and `is_old` set. */
int pyro_efficiency_load(pyro_efficiency_table **out, const char *path, bool *is_old,
                         pyro_error *error);
/* $XDG_DATA_HOME/pyrometer/efficiency.json; the caller frees it. NULL: no home folder. */
char *pyro_efficiency_user_path(void);
/* Appends the table as JSON; equal tables give equal bytes. Sorts the rows: prepare again. */
int pyro_efficiency_write(pyro_efficiency_table *table, pyro_buf *buf, pyro_error *error);

/* Leaves out rows that similar ones predict within a share of their time, such as 0.1. */
int pyro_efficiency_thin(pyro_efficiency_table *table, double tolerance, pyro_error *error);

/* Prepares for lookups: call it after the last addition. */
int pyro_efficiency_prepare(pyro_efficiency_table *table, pyro_error *error);
/*
 * Estimates the time of work on a chip (a name of hardware.def, or of a processor): from the same
 * bucket, else from neighbouring ones with a wider range. False if the chip or the kind is unknown.
 */
bool pyro_efficiency_find(const pyro_efficiency_table *table, const struct pyro_op_work *work,
                          const char *chip, struct pyro_efficiency *out);

/* Rows, in the order of the file after pyro_efficiency_write, and their texts. */
const pyro_efficiency_row *pyro_efficiency_rows(const pyro_efficiency_table *table, size_t *count);
const char *pyro_efficiency_chip(const pyro_efficiency_table *table, size_t chip);
const char *pyro_efficiency_library(const pyro_efficiency_table *table, size_t library);
size_t pyro_efficiency_chip_count(const pyro_efficiency_table *table);

/* Names of the types of rows: "bfloat16", "tf32". */
const char *pyro_efficiency_dtype_name(uint8_t dtype);
/* -1: not a type that a table can have. */
int pyro_efficiency_dtype(const char *name);

#endif
