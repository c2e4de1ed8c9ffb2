/* Sorts kernels into categories, by kernels.def: their names first, then the ops around them. */
#ifndef PYRO_ANALYZE_DEVICE_KERNEL_CATEGORY_H
#define PYRO_ANALYZE_DEVICE_KERNEL_CATEGORY_H

#include "analyze/analyze.h"
#include "graph/ops.h"

typedef enum pyro_kernel_category {
#define CATEGORY(id, name) PYRO_KERNEL_##id,
#include "analyze/device/kernels.def"
    PYRO_KERNEL_CATEGORY_COUNT
} pyro_kernel_category;

typedef enum pyro_kernel_role {
    PYRO_ROLE_PLAIN,
    PYRO_ROLE_PRODUCT, /* multiplies matrices */
    PYRO_ROLE_MAP,     /* computes each element alone */
    PYRO_ROLE_LAYOUT   /* only changes the order of dims */
} pyro_kernel_role;

/* What a kernel's name says. */
typedef struct pyro_kernel_class {
    uint8_t category, role;
    bool is_sure; /* else the op that launched it may say more */
} pyro_kernel_class;

const char *pyro_kernel_category_name(pyro_kernel_category category);
pyro_kernel_class pyro_kernel_classify(const char *name);
/* Classifies the names of all kernels once, for all analyses; false when memory is out. */
bool pyro_classify_kernels(pyro_analysis_context *context);
/* The class by an event's name. */
pyro_kernel_class pyro_kernel_class_of(const pyro_analysis_context *context, uint32_t event);
/* What an op's name says about its kernels; PYRO_KERNEL_OTHER: nothing. */
pyro_kernel_category pyro_op_kernel_category(const pyro_op_index *ops, const char *name);

/* Finds categories of device work and remembers what names say. */
typedef struct pyro_kernel_sorter {
    const pyro_analysis_context *context;
    pyro_op_index ops;
    bool has_ops;
    uint8_t *by_op; /* by id of a name, plus 1; 0 until it is known */
} pyro_kernel_sorter;

/* False when memory is out. The array lives in the context's scratch arena. */
bool pyro_kernel_sorter_init(pyro_kernel_sorter *sorter, const pyro_analysis_context *context);
pyro_kernel_category pyro_kernel_sorter_find(pyro_kernel_sorter *sorter, uint32_t event);
void pyro_kernel_sorter_free(pyro_kernel_sorter *sorter);

#endif
