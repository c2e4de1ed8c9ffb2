/* A measured value and its explanation; shared by the findings about traces and models. */
#ifndef PYRO_ANALYZE_FINDINGS_EVIDENCE_H
#define PYRO_ANALYZE_FINDINGS_EVIDENCE_H

#include "base/containers/arena.h"
#include <stdbool.h>
#include <stdint.h>

/* How a threshold is written for people. */
typedef enum pyro_threshold_unit {
    PYRO_UNIT_SHARE,     /* 0.2: "20%" */
    PYRO_UNIT_REST,      /* 0.2: "80%", where the text shows the rest of a share */
    PYRO_UNIT_NUMBER,    /* 10: "10" */
    PYRO_UNIT_PER_STEP,  /* 2: "2 per step" */
    PYRO_UNIT_MEBIBYTES, /* 1: "1 MiB" */
    PYRO_UNIT_OWN        /* as the detector writes it (pyro_evidence_limit) */
} pyro_threshold_unit;

/* "s" after a number of things, "" after one. */
#define PYRO_PLURAL(count) ((count) == 1 ? "" : "s")

/* A part of the evidence: one cause of the time. */
typedef struct pyro_evidence_part {
    const char *id, *title, *place;
    int64_t gain_ns;
} pyro_evidence_part;

enum { PYRO_MOST_EVIDENCE_PARTS = 4 };

typedef struct pyro_evidence {
    double value;     /* compared with the thresholds of the row */
    double threshold; /* the row's lower one */
    const char *text, *place;
    const char *limit; /* the threshold as the detector writes it; NULL: by its unit */
    int64_t gain_ns;   /* -1 unknown */
    const char *gain_basis; /* what the gain is; "" unknown */
    const char *advice; /* where the evidence decides on it; NULL: as in the tables */
    int64_t rank_ns;   /* orders findings instead of an unknown gain; -1 none */
    pyro_evidence_part parts[PYRO_MOST_EVIDENCE_PARTS];
    size_t part_count;
    pyro_arena *arena; /* of the texts */
    bool memory_out;   /* set by the functions below */
} pyro_evidence;

pyro_evidence pyro_evidence_begin(pyro_arena *arena, double threshold);
/* Sets the text. */
void pyro_evidence_say(pyro_evidence *evidence, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Sets how the threshold is written, for rows whose unit is PYRO_UNIT_OWN. */
void pyro_evidence_limit(pyro_evidence *evidence, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a part if its time is over 0; the texts live as long as the evidence. */
void pyro_evidence_add_part(pyro_evidence *evidence, const char *id, const char *title,
                            const char *place, int64_t gain_ns);
/* A text in the evidence's arena; "" when memory is out, which the evidence remembers. */
const char *pyro_evidence_text(pyro_evidence *evidence, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A time in the same arena: "12.345 ms", from a second on "30.4 s". */
const char *pyro_evidence_time(pyro_evidence *evidence, int64_t time_ns);
/* "1.234 of 12.345 ms", from a second on "1.23 s of 30.4 s". */
const char *pyro_evidence_part_of(pyro_evidence *evidence, int64_t part_ns, int64_t whole_ns);
/* Adds "; threshold 20%" to the text. */
void pyro_evidence_add_threshold(pyro_evidence *evidence, pyro_threshold_unit unit);

#endif
