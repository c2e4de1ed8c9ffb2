/* Stores size expressions, evaluates them in exact fractions, and solves for a symbol. */
#include "graph/expr/expr.h"

#include "base/containers/buf.h"
#include "base/checked.h"
#include <stdlib.h>
#include <string.h>

/* A fraction in lowest terms with a positive denominator. */
typedef struct fraction {
    int64_t top, bottom;
} fraction;

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x > INT64_MAX ? 1 : (int64_t)x;
}

static bool make_fraction(int64_t top, int64_t bottom, fraction *out)
{
    if (bottom == 0)
        return false;
    int64_t divisor = greatest_divisor(top, bottom);
    if (divisor > 1) {
        top /= divisor;
        bottom /= divisor;
    }
    if (bottom < 0 && (!pyro_sub_i64(0, top, &top) || !pyro_sub_i64(0, bottom, &bottom)))
        return false;
    *out = (fraction){top, bottom};
    return true;
}

static bool add(fraction a, fraction b, fraction *out)
{
    int64_t left, right, top, bottom;
    return pyro_mul_i64(a.top, b.bottom, &left) && pyro_mul_i64(b.top, a.bottom, &right) &&
           pyro_add_i64(left, right, &top) && pyro_mul_i64(a.bottom, b.bottom, &bottom) &&
           make_fraction(top, bottom, out);
}

static bool negate(fraction a, fraction *out)
{
    out->bottom = a.bottom;
    return pyro_sub_i64(0, a.top, &out->top);
}

static bool multiply(fraction a, fraction b, fraction *out)
{
    int64_t top, bottom;
    return pyro_mul_i64(a.top, b.top, &top) && pyro_mul_i64(a.bottom, b.bottom, &bottom) &&
           make_fraction(top, bottom, out);
}

static bool divide(fraction a, fraction b, fraction *out)
{
    return b.top != 0 && multiply(a, (fraction){b.bottom, b.top}, out) &&
           make_fraction(out->top, out->bottom, out);
}

static int64_t floor_of(fraction a)
{
    int64_t quotient = a.top / a.bottom;
    return a.top % a.bottom < 0 ? quotient - 1 : quotient;
}

static int64_t ceil_of(fraction a)
{
    int64_t quotient = a.top / a.bottom;
    return a.top % a.bottom > 0 ? quotient + 1 : quotient;
}

/* Half to even, as Python's round does. */
static int64_t round_of(fraction a)
{
    int64_t low = floor_of(a), rest = a.top % a.bottom;
    if (rest < 0)
        rest += a.bottom;
    if (rest > a.bottom - rest || (rest == a.bottom - rest && low % 2))
        return low + 1;
    return low;
}

static bool less(fraction a, fraction b, bool *out)
{
    int64_t left, right;
    if (!pyro_mul_i64(a.top, b.bottom, &left) || !pyro_mul_i64(b.top, a.bottom, &right))
        return false;
    *out = left < right;
    return true;
}

static bool raise_power(fraction base, fraction exponent, fraction *out)
{
    if (exponent.bottom != 1 || exponent.top > 62 || exponent.top < -62)
        return false;
    int64_t times = exponent.top < 0 ? -exponent.top : exponent.top;
    fraction result = {1, 1};
    for (int64_t i = 0; i < times; i++)
        if (!multiply(result, base, &result))
            return false;
    if (exponent.top < 0)
        return divide((fraction){1, 1}, result, out);
    *out = result;
    return true;
}

static bool floor_divide(fraction a, fraction b, fraction *out)
{
    if (!divide(a, b, out))
        return false;
    *out = (fraction){floor_of(*out), 1};
    return true;
}

static bool modulo(fraction a, fraction b, fraction *out)
{
    fraction quotient, product;
    return floor_divide(a, b, &quotient) && multiply(quotient, b, &product) &&
           negate(product, &product) && add(a, product, out);
}

static bool compare(uint8_t op, fraction a, fraction b, fraction *out)
{
    bool is_less, is_greater, result = false;
    if (!less(a, b, &is_less) || !less(b, a, &is_greater))
        return false;
    switch (op) {
    case PYRO_EXPR_EQUAL:
        result = !is_less && !is_greater;
        break;
    case PYRO_EXPR_UNEQUAL:
        result = is_less || is_greater;
        break;
    case PYRO_EXPR_LESS:
        result = is_less;
        break;
    case PYRO_EXPR_LESS_EQUAL:
        result = !is_greater;
        break;
    case PYRO_EXPR_GREATER:
        result = is_greater;
        break;
    default:
        result = !is_less;
        break;
    }
    *out = (fraction){result, 1};
    return true;
}

static bool apply_pair(uint8_t op, fraction a, fraction b, fraction *out)
{
    bool is_less;
    switch (op) {
    case PYRO_EXPR_ADD:
        return add(a, b, out);
    case PYRO_EXPR_SUBTRACT:
        return negate(b, &b) && add(a, b, out);
    case PYRO_EXPR_MULTIPLY:
        return multiply(a, b, out);
    case PYRO_EXPR_DIVIDE:
        return divide(a, b, out);
    case PYRO_EXPR_FLOOR_DIVIDE:
        return floor_divide(a, b, out);
    case PYRO_EXPR_CEIL_DIVIDE:
        if (!divide(a, b, out))
            return false;
        *out = (fraction){ceil_of(*out), 1};
        return true;
    case PYRO_EXPR_MODULO:
        return modulo(a, b, out);
    case PYRO_EXPR_POWER:
        return raise_power(a, b, out);
    case PYRO_EXPR_MAX:
    case PYRO_EXPR_MIN:
        if (!less(a, b, &is_less))
            return false;
        *out = is_less == (op == PYRO_EXPR_MAX) ? b : a;
        return true;
    case PYRO_EXPR_AND:
        *out = (fraction){a.top && b.top, 1};
        return true;
    case PYRO_EXPR_OR:
        *out = (fraction){a.top || b.top, 1};
        return true;
    default:
        return compare(op, a, b, out);
    }
}

static bool apply_single(uint8_t op, fraction a, fraction *out)
{
    switch (op) {
    case PYRO_EXPR_NEGATE:
        return negate(a, out);
    case PYRO_EXPR_FLOOR:
        *out = (fraction){floor_of(a), 1};
        return true;
    case PYRO_EXPR_CEIL:
        *out = (fraction){ceil_of(a), 1};
        return true;
    case PYRO_EXPR_TRUNCATE:
        *out = (fraction){a.top / a.bottom, 1};
        return true;
    case PYRO_EXPR_ROUND:
        *out = (fraction){round_of(a), 1};
        return true;
    case PYRO_EXPR_ABSOLUTE:
        *out = a;
        return a.top >= 0 || negate(a, out);
    case PYRO_EXPR_NOT:
        *out = (fraction){!a.top, 1};
        return true;
    default:
        *out = a;
        return true;
    }
}

/* One step over the operands at `values`; the result replaces the first of them. */
static bool apply(const pyro_expr_step *step, fraction *values)
{
    if (step->op == PYRO_EXPR_WHERE) {
        values[0] = values[0].top ? values[1] : values[2];
        return true;
    }
    if (step->op == PYRO_EXPR_MODULAR_INDEX)
        return floor_divide(values[0], values[1], &values[0]) &&
               modulo(values[0], values[2], &values[0]);
    if (step->op >= PYRO_EXPR_NEGATE)
        return apply_single(step->op, values[0], &values[0]);
    for (uint32_t i = 1; i < step->count; i++)
        if (!apply_pair(step->op, values[0], values[i], &values[0]))
            return false;
    return true;
}

enum { SMALL_STACK = 64 };

static pyro_expr_state run(const pyro_exprs *exprs, const pyro_expr *expr, int64_t *value)
{
    fraction small[SMALL_STACK], *stack = small;
    size_t height = 0;
    pyro_expr_state state = PYRO_EXPR_OVERFLOW;
    if (expr->stack_depth > SMALL_STACK && !(stack = malloc(expr->stack_depth * sizeof *stack)))
        return state;
    for (uint32_t i = 0; i < expr->step_count; i++) {
        const pyro_expr_step *step = &expr->steps[i];
        if (step->op == PYRO_EXPR_INTEGER) {
            stack[height++] = (fraction){step->argument, 1};
        } else if (step->op == PYRO_EXPR_SYMBOL) {
            const pyro_symbol *symbol = &exprs->symbols[step->argument];
            if (!symbol->known) {
                state = PYRO_EXPR_OPEN;
                goto done;
            }
            stack[height++] = (fraction){symbol->value, 1};
        } else {
            height -= step->count;
            if (!apply(step, &stack[height]))
                goto done;
            height++;
        }
    }
    if (stack[0].bottom == 1) {
        *value = stack[0].top;
        state = PYRO_EXPR_KNOWN;
    }
done:
    if (stack != small)
        free(stack);
    return state;
}

int64_t pyro_exprs_add(pyro_exprs *exprs, const char *text, size_t length)
{
    uint32_t id = pyro_intern_add(&exprs->texts, text, length);
    if (id == PYRO_INTERN_NONE)
        return PYRO_ERROR_MEMORY;
    if (id < exprs->count)
        return id;
    if (!pyro_grow(&exprs->items, &exprs->capacity, id + 1u, sizeof *exprs->items))
        return PYRO_ERROR_MEMORY;
    pyro_expr *expr = &exprs->items[id];
    memset(expr, 0, sizeof *expr);
    expr->text = pyro_intern_text(&exprs->texts, id);
    expr->understood = pyro_expr_parse(exprs, expr, length);
    exprs->count = id + 1u;
    return id;
}

pyro_symbol *pyro_expr_as_symbol(pyro_exprs *exprs, size_t index)
{
    const pyro_expr *expr = &exprs->items[index];
    if (!expr->understood || expr->step_count != 1 || expr->steps[0].op != PYRO_EXPR_SYMBOL)
        return NULL;
    return &exprs->symbols[expr->steps[0].argument];
}

/* The only symbol in an expression that is not pinned or, with `unknown`, has no value; or NULL. */
static pyro_symbol *only_symbol(pyro_exprs *exprs, const pyro_expr *expr, bool unknown)
{
    pyro_symbol *found = NULL;
    for (uint32_t i = 0; i < expr->step_count; i++) {
        if (expr->steps[i].op != PYRO_EXPR_SYMBOL)
            continue;
        pyro_symbol *symbol = &exprs->symbols[expr->steps[i].argument];
        if ((unknown ? symbol->known : symbol->pinned) || symbol == found)
            continue;
        if (found)
            return NULL;
        found = symbol;
    }
    return found;
}

/* Finds the symbol's value that makes the expression `wanted`; returns false without one. */
static bool solve_for(const pyro_exprs *exprs, const pyro_expr *expr, pyro_symbol *unknown,
                      int64_t wanted, int64_t *value)
{
    pyro_symbol saved = *unknown;
    int64_t at_low, at_high, slope, rise, result;
    int64_t low = saved.has_hint && saved.hint > 1 ? saved.hint : 2;
    bool found = false;
    unknown->known = true;
    unknown->value = low;
    if (run(exprs, expr, &at_low) != PYRO_EXPR_KNOWN)
        goto done;
    /* Sizes are affine in practice. The solution is verified below, so a wrong one only fails. */
    if (!pyro_mul_i64(low, 2, &unknown->value) || run(exprs, expr, &at_high) != PYRO_EXPR_KNOWN ||
        !pyro_sub_i64(at_high, at_low, &slope) || slope == 0 || slope == -1 ||
        !pyro_sub_i64(wanted, at_low, &rise) || !pyro_mul_i64(rise, low, &rise))
        goto done;
    found = pyro_add_i64(low, rise / slope, &unknown->value) &&
            run(exprs, expr, &result) == PYRO_EXPR_KNOWN && result == wanted;
    *value = unknown->value;
done:
    *unknown = saved;
    return found;
}

/* True if it has only sums and products, so that its value determines its symbol. */
static bool is_polynomial(const pyro_expr *expr)
{
    for (uint32_t i = 0; i < expr->step_count; i++)
        switch (expr->steps[i].op) {
        case PYRO_EXPR_INTEGER:
        case PYRO_EXPR_SYMBOL:
        case PYRO_EXPR_ADD:
        case PYRO_EXPR_MULTIPLY:
        case PYRO_EXPR_SUBTRACT:
        case PYRO_EXPR_NEGATE:
        case PYRO_EXPR_SAME:
            break;
        default:
            return false;
        }
    return true;
}

/* If only a derived dim (8*s2) mentions a symbol, its hint gives the symbol's hint. */
static void infer_hints(pyro_exprs *exprs)
{
    for (size_t i = 0; i < exprs->count; i++) {
        const pyro_expr *expr = &exprs->items[i];
        int64_t value;
        if (!expr->understood || !expr->has_hint || !is_polynomial(expr))
            continue;
        pyro_symbol *symbol = only_symbol(exprs, expr, true);
        if (symbol && solve_for(exprs, expr, symbol, expr->hint, &value)) {
            symbol->hint = symbol->value = value;
            symbol->has_hint = symbol->known = true;
        }
    }
}

void pyro_exprs_settle(pyro_exprs *exprs)
{
    for (size_t i = 0; i < exprs->count; i++) {
        pyro_symbol *symbol = pyro_expr_as_symbol(exprs, i);
        if (symbol && exprs->items[i].has_hint) {
            symbol->hint = symbol->value = exprs->items[i].hint;
            symbol->has_hint = symbol->known = true;
        }
    }
    infer_hints(exprs);
    for (size_t i = 0; i < exprs->count; i++) {
        pyro_expr *expr = &exprs->items[i];
        int64_t value;
        if (expr->understood && expr->has_hint && run(exprs, expr, &value) == PYRO_EXPR_KNOWN &&
            value != expr->hint)
            expr->understood = false;
    }
    pyro_exprs_evaluate(exprs);
}

void pyro_exprs_evaluate(pyro_exprs *exprs)
{
    exprs->changed = false;
    for (size_t i = 0; i < exprs->symbol_count; i++) {
        const pyro_symbol *symbol = &exprs->symbols[i];
        exprs->changed |= symbol->known && !(symbol->has_hint && symbol->value == symbol->hint);
    }
    for (size_t i = 0; i < exprs->count; i++) {
        pyro_expr *expr = &exprs->items[i];
        expr->state = expr->understood ? run(exprs, expr, &expr->value) : PYRO_EXPR_OPAQUE;
        if (expr->state != PYRO_EXPR_KNOWN && expr->has_hint && !exprs->changed) {
            expr->value = expr->hint;
            expr->state = PYRO_EXPR_KNOWN;
        }
    }
}

bool pyro_expr_is_broken(const pyro_exprs *exprs, size_t index)
{
    const pyro_expr *expr = &exprs->items[index];
    bool broken = expr->state == PYRO_EXPR_KNOWN && expr->value == 0;
    int64_t value = 0;
    if (!broken || !exprs->changed)
        return false;
    pyro_exprs beside = *exprs;
    beside.symbols = malloc(exprs->symbol_count * sizeof *beside.symbols);
    if (!beside.symbols)
        return true;
    for (size_t i = 0; i < exprs->symbol_count; i++) {
        beside.symbols[i] = exprs->symbols[i];
        if (beside.symbols[i].min == 2 && beside.symbols[i].value == 1)
            beside.symbols[i].value = 2;
    }
    broken = run(&beside, expr, &value) == PYRO_EXPR_KNOWN && value == 0;
    free(beside.symbols);
    return broken;
}

bool pyro_expr_solve(pyro_exprs *exprs, size_t index, int64_t wanted, pyro_symbol **symbol,
                     int64_t *value)
{
    const pyro_expr *expr = &exprs->items[index];
    *symbol = expr->understood ? only_symbol(exprs, expr, false) : NULL;
    return *symbol && solve_for(exprs, expr, *symbol, wanted, value);
}
