/* Parses an expression (Python arithmetic with sympy functions) into postfix steps. */
#include "graph/expr/expr.h"

#include "base/containers/buf.h"
#include "base/checked.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 200, MAX_TEXT_BYTES = 1 << 20, MEANT_DIGITS = 15 };

#define LARGEST_DIVISOR INT64_C(100000000000000000)

typedef struct expr_parser {
    pyro_exprs *exprs;
    const char *at, *end;
    pyro_expr_step *steps;
    size_t count, capacity;
    int nesting;
    bool failed;
} expr_parser;

/* Functions by the last part of their dotted name; `arity` 0 means one or more. */
static const struct function {
    const char *name;
    uint8_t op, arity;
} functions[] = {
    {"Add", PYRO_EXPR_ADD, 0},
    {"Mul", PYRO_EXPR_MULTIPLY, 0},
    {"Max", PYRO_EXPR_MAX, 0},
    {"Min", PYRO_EXPR_MIN, 0},
    {"max", PYRO_EXPR_MAX, 0},
    {"min", PYRO_EXPR_MIN, 0},
    {"And", PYRO_EXPR_AND, 0},
    {"Or", PYRO_EXPR_OR, 0},
    {"Pow", PYRO_EXPR_POWER, 2},
    {"PowByNatural", PYRO_EXPR_POWER, 2},
    {"FloatPow", PYRO_EXPR_POWER, 2},
    {"FloorDiv", PYRO_EXPR_FLOOR_DIVIDE, 2},
    {"CleanDiv", PYRO_EXPR_FLOOR_DIVIDE, 2},
    {"CeilDiv", PYRO_EXPR_CEIL_DIVIDE, 2},
    {"IntTrueDiv", PYRO_EXPR_DIVIDE, 2},
    {"FloatTrueDiv", PYRO_EXPR_DIVIDE, 2},
    {"Rational", PYRO_EXPR_DIVIDE, 2},
    {"Mod", PYRO_EXPR_MODULO, 2},
    {"PythonMod", PYRO_EXPR_MODULO, 2},
    {"ModularIndexing", PYRO_EXPR_MODULAR_INDEX, 3},
    {"Where", PYRO_EXPR_WHERE, 3},
    {"Integer", PYRO_EXPR_SAME, 1},
    {"Identity", PYRO_EXPR_SAME, 1},
    {"ToFloat", PYRO_EXPR_SAME, 1},
    {"floor", PYRO_EXPR_FLOOR, 1},
    {"FloorToInt", PYRO_EXPR_FLOOR, 1},
    {"ceiling", PYRO_EXPR_CEIL, 1},
    {"ceil", PYRO_EXPR_CEIL, 1},
    {"CeilToInt", PYRO_EXPR_CEIL, 1},
    {"TruncToInt", PYRO_EXPR_TRUNCATE, 1},
    {"TruncToFloat", PYRO_EXPR_TRUNCATE, 1},
    {"RoundToInt", PYRO_EXPR_ROUND, 1},
    {"Abs", PYRO_EXPR_ABSOLUTE, 1},
    {"Not", PYRO_EXPR_NOT, 1},
    {"Eq", PYRO_EXPR_EQUAL, 2},
    {"Equality", PYRO_EXPR_EQUAL, 2},
    {"Ne", PYRO_EXPR_UNEQUAL, 2},
    {"Unequality", PYRO_EXPR_UNEQUAL, 2},
    {"Lt", PYRO_EXPR_LESS, 2},
    {"StrictLessThan", PYRO_EXPR_LESS, 2},
    {"Le", PYRO_EXPR_LESS_EQUAL, 2},
    {"LessThan", PYRO_EXPR_LESS_EQUAL, 2},
    {"Gt", PYRO_EXPR_GREATER, 2},
    {"StrictGreaterThan", PYRO_EXPR_GREATER, 2},
    {"Ge", PYRO_EXPR_GREATER_EQUAL, 2},
    {"GreaterThan", PYRO_EXPR_GREATER_EQUAL, 2},
};

static bool parse_expression(expr_parser *p, int precedence);

static void emit(expr_parser *p, uint8_t op, uint32_t count, int64_t argument)
{
    if (!pyro_grow(&p->steps, &p->capacity, p->count + 1, sizeof *p->steps)) {
        p->failed = true;
        return;
    }
    p->steps[p->count++] = (pyro_expr_step){op, count, argument};
}

static void skip_space(expr_parser *p)
{
    while (p->at < p->end && isspace((unsigned char)*p->at))
        p->at++;
}

static bool accept(expr_parser *p, const char *token)
{
    skip_space(p);
    size_t length = strlen(token);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, token, length))
        return false;
    p->at += length;
    return true;
}

/*
 * Reads a decimal number; a fraction becomes a division by a power of ten. Doubles are printed with
 * 17 digits, 0.3 as 0.29999999999999999: rounding to 15, which a double always holds, gives the
 * intended decimal.
 */
static bool parse_number(expr_parser *p)
{
    int64_t value = 0, divisor = 1;
    int significant = 0;
    bool fraction = false, any = false, rounded = false;
    for (; p->at < p->end; p->at++) {
        if (*p->at == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!isdigit((unsigned char)*p->at))
            break;
        int digit = *p->at - '0';
        any = true;
        if (rounded)
            continue;
        rounded = fraction && (significant >= MEANT_DIGITS || divisor >= LARGEST_DIVISOR);
        if (rounded) {
            value += digit >= 5 && value < INT64_MAX;
            continue;
        }
        if (!pyro_mul_i64(value, 10, &value) || !pyro_add_i64(value, digit, &value))
            return false;
        significant += value != 0;
        divisor *= fraction ? 10 : 1;
    }
    if (!any || (p->at < p->end && (*p->at == 'e' || *p->at == 'E')))
        return false;
    emit(p, PYRO_EXPR_INTEGER, 0, value);
    if (divisor > 1) {
        emit(p, PYRO_EXPR_INTEGER, 0, divisor);
        emit(p, PYRO_EXPR_DIVIDE, 2, 0);
    }
    return true;
}

/* A quoted text: the name of a symbol, or the digits of a Float. */
static bool quoted(expr_parser *p, const char **text, size_t *length)
{
    skip_space(p);
    if (p->at >= p->end || (*p->at != '\'' && *p->at != '"'))
        return false;
    char quote = *p->at++;
    const char *begin = p->at;
    while (p->at < p->end && *p->at != quote)
        p->at++;
    if (p->at >= p->end)
        return false;
    *text = begin;
    *length = (size_t)(p->at++ - begin);
    return true;
}

static bool emit_symbol(expr_parser *p, const char *name, size_t length)
{
    int64_t index = pyro_exprs_symbol(p->exprs, name, length);
    if (index < 0)
        return false;
    emit(p, PYRO_EXPR_SYMBOL, 0, index);
    return true;
}

/* Skips ", name=value" assumptions up to the closing parenthesis. */
static bool skip_assumptions(expr_parser *p)
{
    while (p->at < p->end && *p->at != ')')
        p->at++;
    return accept(p, ")");
}

/* Symbol('s0', positive=True) and Float('0.5', precision=53). */
static bool parse_quoted_call(expr_parser *p, bool is_symbol)
{
    const char *text;
    size_t length;
    if (!quoted(p, &text, &length))
        return false;
    if (is_symbol)
        return emit_symbol(p, text, length) && skip_assumptions(p);
    expr_parser inner = *p;
    inner.at = text;
    inner.end = text + length;
    bool negative = accept(&inner, "-");
    bool good = parse_number(&inner) && inner.at == inner.end;
    p->steps = inner.steps;
    p->count = inner.count;
    p->capacity = inner.capacity;
    p->failed = inner.failed;
    if (good && negative)
        emit(p, PYRO_EXPR_NEGATE, 1, 0);
    return good && skip_assumptions(p);
}

static bool parse_call(expr_parser *p, const char *name, size_t length)
{
    bool is_symbol = (length == 6 && !memcmp(name, "Symbol", 6)) ||
                     (length == 5 && !memcmp(name, "Dummy", 5));
    if (is_symbol || (length == 5 && !memcmp(name, "Float", 5)))
        return parse_quoted_call(p, is_symbol);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strlen(functions[i].name) != length || memcmp(functions[i].name, name, length))
            continue;
        uint32_t count = 0;
        do {
            if (!parse_expression(p, 0))
                return false;
            count++;
        } while (accept(p, ","));
        if (!accept(p, ")") || (functions[i].arity && functions[i].arity != count))
            return false;
        emit(p, functions[i].op, count, 0);
        return true;
    }
    return false;
}

static bool parse_name(expr_parser *p)
{
    const char *begin = p->at;
    while (p->at < p->end && (isalnum((unsigned char)*p->at) || *p->at == '_' || *p->at == '.'))
        p->at++;
    const char *name = begin;
    for (const char *c = begin; c < p->at; c++)
        if (*c == '.')
            name = c + 1;
    size_t length = (size_t)(p->at - name);
    if (accept(p, "("))
        return parse_call(p, name, length);
    if ((length == 4 && (!memcmp(name, "true", 4) || !memcmp(name, "True", 4)))) {
        emit(p, PYRO_EXPR_INTEGER, 0, 1);
        return true;
    }
    if ((length == 5 && (!memcmp(name, "false", 5) || !memcmp(name, "False", 5)))) {
        emit(p, PYRO_EXPR_INTEGER, 0, 0);
        return true;
    }
    return emit_symbol(p, name, length);
}

static bool parse_primary(expr_parser *p)
{
    if (accept(p, "-")) {
        if (!parse_expression(p, 6))
            return false;
        emit(p, PYRO_EXPR_NEGATE, 1, 0);
        return true;
    }
    if (accept(p, "~")) {
        if (!parse_expression(p, 6))
            return false;
        emit(p, PYRO_EXPR_NOT, 1, 0);
        return true;
    }
    if (accept(p, "("))
        return parse_expression(p, 0) && accept(p, ")");
    skip_space(p);
    if (p->at >= p->end)
        return false;
    if (isdigit((unsigned char)*p->at) || *p->at == '.')
        return parse_number(p);
    if (isalpha((unsigned char)*p->at) || *p->at == '_')
        return parse_name(p);
    return false;
}

/* Longer operators come before their prefixes. */
static const struct infix {
    const char *token;
    uint8_t op, precedence, right_precedence;
} infixes[] = {
    {"**", PYRO_EXPR_POWER, 7, 6},      {"//", PYRO_EXPR_FLOOR_DIVIDE, 5, 6},
    {"==", PYRO_EXPR_EQUAL, 2, 3},      {"!=", PYRO_EXPR_UNEQUAL, 2, 3},
    {"<=", PYRO_EXPR_LESS_EQUAL, 2, 3}, {">=", PYRO_EXPR_GREATER_EQUAL, 2, 3},
    {"<", PYRO_EXPR_LESS, 2, 3},        {">", PYRO_EXPR_GREATER, 2, 3},
    {"&", PYRO_EXPR_AND, 1, 2},         {"|", PYRO_EXPR_OR, 0, 1},
    {"+", PYRO_EXPR_ADD, 4, 5},         {"-", PYRO_EXPR_SUBTRACT, 4, 5},
    {"*", PYRO_EXPR_MULTIPLY, 5, 6},    {"/", PYRO_EXPR_DIVIDE, 5, 6},
    {"%", PYRO_EXPR_MODULO, 5, 6},
};

static const struct infix *peek_infix(expr_parser *p)
{
    skip_space(p);
    for (size_t i = 0; i < sizeof infixes / sizeof *infixes; i++) {
        size_t length = strlen(infixes[i].token);
        if ((size_t)(p->end - p->at) >= length && !memcmp(p->at, infixes[i].token, length))
            return &infixes[i];
    }
    return NULL;
}

static bool parse_expression(expr_parser *p, int precedence)
{
    if (++p->nesting > MAX_NESTING || p->failed)
        return false;
    bool good = parse_primary(p);
    const struct infix *infix;
    while (good && (infix = peek_infix(p)) && infix->precedence >= precedence) {
        p->at += strlen(infix->token);
        good = parse_expression(p, infix->right_precedence);
        emit(p, infix->op, 2, 0);
    }
    p->nesting--;
    return good && !p->failed;
}

/* Depth of the evaluation stack; returns false if the steps do not leave exactly one value. */
static bool measure_stack(const pyro_expr_step *steps, size_t count, uint32_t *depth)
{
    size_t height = 0, highest = 0;
    for (size_t i = 0; i < count; i++) {
        if (height < steps[i].count)
            return false;
        height = height - steps[i].count + 1;
        if (height > highest)
            highest = height;
    }
    *depth = (uint32_t)highest;
    return height == 1;
}

bool pyro_expr_parse(pyro_exprs *exprs, pyro_expr *expr, size_t length)
{
    if (length > MAX_TEXT_BYTES)
        return false;
    expr_parser p = {exprs, expr->text, expr->text + length, NULL, 0, 0, 0, false};
    bool good = parse_expression(&p, 0);
    skip_space(&p);
    good = good && p.at == p.end && measure_stack(p.steps, p.count, &expr->stack_depth);
    if (good) {
        pyro_expr_step *steps = pyro_arena_array(exprs->arena, p.count, sizeof *steps);
        if (steps)
            memcpy(steps, p.steps, p.count * sizeof *steps);
        expr->steps = steps;
        expr->step_count = (uint32_t)p.count;
        good = steps != NULL;
    }
    free(p.steps);
    return good;
}
