/* Our count beside another counter's, as it is reported. */
#ifndef PYRO_REPORT_COST_CHECK_H
#define PYRO_REPORT_COST_CHECK_H

#include "base/containers/buf.h"

#include <pyrometer/report.h>

/* The reason of a difference that is no more than the digits which were published. */
#define PYRO_CHECK_ROUNDING "rounding"

/* A part of the difference: an operator, and by how much our count of it is the larger one. */
typedef struct pyro_check_reason {
    const char *op;
    int64_t flops;
    const char *text;
} pyro_check_reason;

/* One model in one other counter. */
typedef struct pyro_check_row {
    const char *model;
    const char *counter; /* "fvcore", "torch" or "torchvision" */
    const char *detail;  /* of torchvision: the weights; else "" */
    const char *error;   /* why there is nothing to compare; NULL: there is */
    int64_t our_flops, their_flops; /* 2 x MACs */
    int64_t unpriced; /* operators of the model that no rule of ours priced */
    pyro_check_reason *reasons;
    size_t reason_count, reason_capacity;
} pyro_check_row;

typedef struct pyro_check {
    double tolerance; /* 0.1 is 10% */
    pyro_check_row *rows;
    size_t count, capacity;
} pyro_check;

/* |ours - theirs| / theirs; 0 where both are 0. */
double pyro_check_difference(const pyro_check_row *row);
/*
 * Not of a row with an error or with unpriced operators, of which nothing can be said; always where
 * only rounding parts the two.
 */
bool pyro_check_within(const pyro_check *check, const pyro_check_row *row);

#endif
