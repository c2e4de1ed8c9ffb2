/* The detectors of change points, as the vote sees them. Values are finite. */
#ifndef PYRO_HISTORY_CHANGES_CHANGES_H
#define PYRO_HISTORY_CHANGES_CHANGES_H

#include <pyrometer/history.h>

/* A growing list of change points, in order of their index. */
typedef struct pyro_change_list {
    pyro_change_point *items;
    size_t count, capacity;
} pyro_change_list;

/* Adds a point at its place; one with the same index stays. False: memory runs out. */
bool pyro_change_list_insert(pyro_change_list *list, const pyro_change_point *point);

typedef int pyro_change_detector(pyro_change_list *out, const double *values, size_t count,
                                 const pyro_change_options *options, pyro_error *error);
pyro_change_detector pyro_changes_edivisive, pyro_changes_bayesian, pyro_changes_ranks,
    pyro_changes_vote;

/* Means, deviations and Student's p-value of two neighbouring pieces, as NumPy and SciPy compute. */
pyro_change_point pyro_change_compare(const double *values, size_t start, size_t split, size_t end);

/* Two-sided p-value of Student's t with `degrees` of freedom. */
double pyro_student_p(double t, double degrees);

/*
 * The correlation of neighbours of a series with two levels, corrected for its bias in short
 * series; 0 .. 0.9. Outliers count like the quartiles' distance times three.
 */
double pyro_step_correlation(const double *values, size_t count, size_t split);
/* By how much such a correlation widens the deviation of a mean. */
double pyro_correlation_factor(double correlation);

#endif
