/* Our FLOPs compared with those of other counters. */
#ifndef PYRO_REPORT_COST_CHECK_H
#define PYRO_REPORT_COST_CHECK_H

#include "base/containers/buf.h"

#include <pyrometer/report.h>

/* The reason for a difference that is only rounding of the published number. */
#define PYRO_CHECK_ROUNDING "rounding"

/* A part of the difference: an operator, and how much larger our count of it is. */
typedef struct pyro_check_reason {
    const char *op;
    int64_t flops;
    const char *text;
} pyro_check_reason;

/* One model in one other counter. */
typedef struct pyro_check_row {
    const char *model;
    const char *counter; /* "fvcore", "torch" or "torchvision" */
    const char *detail;  /* torchvision: the weights; else "" */
    const char *error;   /* why the counts cannot be compared; NULL: they can */
    int64_t our_flops, their_flops; /* 2 x MACs */
    int64_t unpriced; /* operators of the model that our rules do not price */
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
 * False for a row with an error or with unpriced operators; true where the counts differ only by
 * rounding.
 */
bool pyro_check_within(const pyro_check *check, const pyro_check_row *row);

#endif
