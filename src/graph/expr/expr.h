/*
 * Sizes that are expressions of symbols ("2*s0 + 1"). Reads both notations of .pt2 files: plain
 * Python and sympy's srepr. Computes with exact fractions, never with floating point.
 */
#ifndef PYRO_GRAPH_EXPR_H
#define PYRO_GRAPH_EXPR_H

#include "base/containers/arena.h"
#include "base/containers/intern.h"
#include <pyrometer/error.h>
#include <stdbool.h>
#include <stdint.h>

/* One symbol, and what is known about it. */
typedef struct pyro_symbol {
    const char *name;
    int64_t value;    /* current value; valid if `known` */
    int64_t hint;     /* the size at export */
    int64_t min, max; /* valid range, from the file */
    bool known, has_hint;
    bool pinned;      /* set by the user, to detect contradictory requests */
} pyro_symbol;

/* One step of an expression in postfix order. */
typedef struct pyro_expr_step {
    uint8_t op;
    uint32_t count;   /* operands of an n-ary step */
    int64_t argument; /* integer, or index of a symbol */
} pyro_expr_step;

/* What evaluation found. */
typedef enum pyro_expr_state {
    PYRO_EXPR_KNOWN,
    PYRO_EXPR_OPEN,    /* a symbol has no value (it depends on data) */
    PYRO_EXPR_OPAQUE,  /* unsupported expression, and sizes differ from those of the export */
    PYRO_EXPR_OVERFLOW /* not a 64-bit integer */
} pyro_expr_state;

typedef struct pyro_expr {
    const char *text;
    const pyro_expr_step *steps;
    uint32_t step_count;
    uint32_t stack_depth;
    bool understood; /* parsed, and equal to its hint at the exported sizes */
    bool has_hint;
    int64_t hint;
    pyro_expr_state state;
    int64_t value;
} pyro_expr;

typedef struct pyro_exprs {
    pyro_arena *arena;
    pyro_intern texts; /* id of a text is the index of its expression */
    pyro_expr *items;
    size_t count, capacity;
    pyro_intern symbol_names;
    pyro_symbol *symbols;
    size_t symbol_count, symbol_capacity;
    bool changed; /* some symbol differs from its hint */
} pyro_exprs;

void pyro_exprs_init(pyro_exprs *exprs, pyro_arena *arena);
void pyro_exprs_free(pyro_exprs *exprs);

/* Index of an expression, parsed if new; a negative status if memory runs out. */
int64_t pyro_exprs_add(pyro_exprs *exprs, const char *text, size_t length);
/* Index of a symbol, added if new; a negative status if memory runs out. */
int64_t pyro_exprs_symbol(pyro_exprs *exprs, const char *name, size_t length);
/* The symbol if an expression is just a symbol, else NULL. */
pyro_symbol *pyro_expr_as_symbol(pyro_exprs *exprs, size_t index);

/* After reading: gives symbols their hints, and compares every expression with its hint. */
void pyro_exprs_settle(pyro_exprs *exprs);
/* Re-evaluates everything after symbols were set. */
void pyro_exprs_evaluate(pyro_exprs *exprs);
/*
 * True if the current sizes break a condition. Export assumes that no symbol is 1: a condition that
 * holds with 2 in place of every 1 only expresses that, and is not broken.
 */
bool pyro_expr_is_broken(const pyro_exprs *exprs, size_t index);
/*
 * Finds the value of the only free symbol that makes the expression `wanted` and sets *symbol and
 * *value. Returns false, with *symbol undefined, if there is no such integer.
 */
bool pyro_expr_solve(pyro_exprs *exprs, size_t index, int64_t wanted, pyro_symbol **symbol,
                     int64_t *value);

/*
 * Parses the text of an expression, `length` bytes, into steps (parse.c). Returns false if it is
 * unsupported or memory runs out.
 */
bool pyro_expr_parse(pyro_exprs *exprs, pyro_expr *expr, size_t length);

/* Operators of the postfix code. */
enum pyro_expr_op {
    PYRO_EXPR_INTEGER,
    PYRO_EXPR_SYMBOL,
    PYRO_EXPR_ADD, /* n-ary from here */
    PYRO_EXPR_MULTIPLY,
    PYRO_EXPR_MAX,
    PYRO_EXPR_MIN,
    PYRO_EXPR_AND,
    PYRO_EXPR_OR,
    PYRO_EXPR_SUBTRACT, /* binary from here */
    PYRO_EXPR_DIVIDE,
    PYRO_EXPR_FLOOR_DIVIDE,
    PYRO_EXPR_CEIL_DIVIDE,
    PYRO_EXPR_MODULO,
    PYRO_EXPR_POWER,
    PYRO_EXPR_EQUAL,
    PYRO_EXPR_UNEQUAL,
    PYRO_EXPR_LESS,
    PYRO_EXPR_LESS_EQUAL,
    PYRO_EXPR_GREATER,
    PYRO_EXPR_GREATER_EQUAL,
    PYRO_EXPR_NEGATE, /* unary from here */
    PYRO_EXPR_FLOOR,
    PYRO_EXPR_CEIL,
    PYRO_EXPR_TRUNCATE,
    PYRO_EXPR_ROUND,
    PYRO_EXPR_ABSOLUTE,
    PYRO_EXPR_NOT,
    PYRO_EXPR_SAME,
    PYRO_EXPR_WHERE,   /* condition, then, else */
    PYRO_EXPR_MODULAR_INDEX /* base, divisor, modulus */
};

#endif
