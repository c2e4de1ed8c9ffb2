/* int64 arithmetic with overflow checks, for sizes that come from files. */
#ifndef PYRO_BASE_CHECKED_H
#define PYRO_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool pyro_add_i64(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline bool pyro_sub_i64(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_sub_overflow(a, b, out);
}

static inline bool pyro_mul_i64(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

#endif
