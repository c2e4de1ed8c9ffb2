/* Test fixture: a table of expressions and its symbols. */
#ifndef PYRO_TESTS_EXPR_FIXTURE_H
#define PYRO_TESTS_EXPR_FIXTURE_H

#include "base/containers/buf.h"
#include "graph/expr/expr.h"
#include "unit.h"
#include <string.h>

typedef struct fixture {
    pyro_arena arena;
    pyro_exprs exprs;
} fixture;

static inline void begin(fixture *f)
{
    pyro_arena_init(&f->arena);
    pyro_exprs_init(&f->exprs, &f->arena);
}

static inline void end(fixture *f)
{
    pyro_exprs_free(&f->exprs);
    pyro_arena_free(&f->arena);
}

static inline size_t add(fixture *f, const char *text)
{
    int64_t index = pyro_exprs_add(&f->exprs, text, strlen(text));
    assert_true(index >= 0);
    return (size_t)index;
}

static inline pyro_symbol *symbol(fixture *f, const char *name)
{
    int64_t index = pyro_exprs_symbol(&f->exprs, name, strlen(name));
    assert_true(index >= 0);
    return &f->exprs.symbols[index];
}

static inline void set(fixture *f, const char *name, int64_t value)
{
    symbol(f, name)->value = value;
    symbol(f, name)->known = true;
}

static inline void repeat(pyro_buf *buf, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pyro_buf_adds(buf, text);
}

#endif
