/*
 * Internals of a program: the common form of files and recordings. It has steps (operators) and
 * calls (of modules) in the order in which they began, and the values between steps.
 */
#ifndef PYRO_DATAFLOW_PROGRAM_H
#define PYRO_DATAFLOW_PROGRAM_H

#include "base/containers/arena.h"
#include "base/containers/intern.h"
#include <pyrometer/graph.h>

#define PYRO_NONE UINT32_MAX

/* Durations of one item over passes, and their summary. */
typedef struct pyro_samples {
    int64_t *items;
    size_t count, capacity;
    int64_t total_ns, median_ns, p95_ns; /* after pyro_program_finish; -1: too few samples */
    int64_t device_ns; /* of devices, in all samples; after pyro_program_finish the mean, -1: none */
} pyro_samples;

/* A tensor, made by one step or from outside. A write in place makes a new value. */
typedef struct pyro_flow_value {
    pyro_graph_tensor tensor;
    const char *name; /* "" without one */
    uint32_t maker;   /* step; PYRO_NONE: from outside */
    uint32_t weight;  /* of values from outside; PYRO_NONE: an input */
    uint32_t memory;  /* equal for values that share memory */
    uint32_t first_level, level_count; /* in `levels`, of views: what it is a view of, and so on */
} pyro_flow_value;

/* A value that a step uses, or that a view shows. */
typedef struct pyro_flow_use {
    uint32_t value;
    bool assumed; /* it may not overlap what is read (region.h) */
    bool is_viewed; /* the step only makes views of it, and reads nothing */
} pyro_flow_use;

/*
 * What a view's bytes held when it was made, seen through a tensor that it is a view of: that
 * tensor's value, or what was written over it. The first level is the viewed tensor, the next one
 * what that is a view of.
 */
typedef struct pyro_flow_level {
    uint32_t value;
    uint64_t clock; /* of the tracker */
    uint32_t first_shown, shown_count; /* in `shown` */
} pyro_flow_level;

typedef enum pyro_weight_role { PYRO_WEIGHT_PARAMETER, PYRO_WEIGHT_OTHER } pyro_weight_role;

/* A parameter, buffer or constant; tied ones count as one. */
typedef struct pyro_flow_weight {
    const char *name;
    pyro_weight_role role;
    int64_t values, bytes;
} pyro_flow_weight;

typedef struct pyro_flow_step {
    const char *op;
    uint32_t call; /* in which it ran */
    uint32_t order; /* among steps and calls */
    uint32_t first_use, use_count; /* in `uses` */
    uint32_t first_made, made_count; /* in `made`: values */
    int64_t flops, moved_bytes; /* -1: unknown */
    pyro_samples time;
} pyro_flow_step;

/* A call of a module, or of a torch function. */
typedef struct pyro_flow_call {
    const char *path; /* of functions: of the module around them */
    const char *class_name; /* of functions: their name */
    uint32_t parent; /* PYRO_NONE for the first call, the model's */
    uint32_t order;
    bool is_function;
    pyro_samples time;
} pyro_flow_call;

struct pyro_program {
    pyro_arena arena;
    pyro_intern strings;
    const char *name;
    int64_t passes;
    bool has_device_work; /* some pass has */
    uint32_t order;

    pyro_flow_value *values;
    size_t value_count, value_capacity;
    pyro_flow_weight *weights;
    size_t weight_count, weight_capacity;
    pyro_flow_step *steps;
    size_t step_count, step_capacity;
    pyro_flow_call *calls;
    size_t call_count, call_capacity;
    pyro_flow_use *uses;
    size_t use_count, use_capacity;
    pyro_flow_level *levels;
    size_t level_count, level_capacity;
    pyro_flow_use *shown;
    size_t shown_count, shown_capacity;
    uint32_t *made;
    size_t made_count, made_capacity;
    const char **notes;
    size_t note_count, note_capacity;
};

pyro_program *pyro_program_new(void);
/* A copy that the program owns; NULL when memory is out. */
const char *pyro_program_text(pyro_program *program, const char *text);
/* Each adds an item and returns its number; PYRO_NONE when memory is out. Texts are not copied. */
uint32_t pyro_program_add_value(pyro_program *program, const pyro_flow_value *value);
uint32_t pyro_program_add_weight(pyro_program *program, const pyro_flow_weight *weight);
uint32_t pyro_program_add_call(pyro_program *program, const pyro_flow_call *call);
/* Add its uses and made values before the next step. */
uint32_t pyro_program_add_step(pyro_program *program, const pyro_flow_step *step);
bool pyro_program_add_use(pyro_program *program, pyro_flow_use use);
/* Belongs to the last level, which belongs to the next added value. */
bool pyro_program_add_shown(pyro_program *program, pyro_flow_use use);
bool pyro_program_add_level(pyro_program *program, const pyro_flow_level *level);
bool pyro_program_add_made(pyro_program *program, uint32_t value);
bool pyro_program_note(pyro_program *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Copies dims to the program's memory, and computes the tensor's bytes (-1: unknown). */
bool pyro_program_shape(pyro_program *program, pyro_graph_tensor *tensor, const int64_t *dims,
                        size_t rank, int64_t element_bytes);

bool pyro_samples_add(pyro_samples *samples, int64_t duration_ns);
/* Sorts the samples and computes their summary. */
void pyro_samples_finish(pyro_samples *samples);
void pyro_program_finish(pyro_program *program);

#endif
