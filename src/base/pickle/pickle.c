/*
 * Runs the opcodes of a pickle that make plain data, and writes the result as JSON. Where objects are
 * described, imports and calls become data too: nothing is imported or called.
 */
#include "base/pickle/pickle.h"

#include "base/containers/arena.h"
#include "base/error.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_VALUES ((size_t)50000000)
#define MOST_MEMOS ((size_t)10000000)
#define LARGEST_JSON ((size_t)256 << 20)
#define DEEPEST 64

typedef enum value_kind {
    VALUE_NONE,
    VALUE_BOOLEAN,
    VALUE_INTEGER,
    VALUE_REAL,
    VALUE_TEXT,
    VALUE_LIST, /* tuples too */
    VALUE_DICT,   /* items are keys and values in turn */
    VALUE_OBJECT, /* a described call; items as of a dict */
    VALUE_MARK
} value_kind;

typedef struct value {
    value_kind kind;
    union {
        int64_t integer; /* also of a boolean */
        double real;
        struct {
            const char *text;
            size_t length;
        };
        struct {
            struct value **items;
            size_t count, capacity;
            struct value *callee, *arguments, *state; /* of an object */
        };
    };
} value;

typedef struct machine {
    const unsigned char *at, *end, *begin;
    pyro_arena arena;
    value **stack;
    size_t depth, stack_capacity;
    value **memo;
    size_t memo_count, memo_capacity;
    value **containers; /* whose items are freed at the end */
    size_t container_count, container_capacity;
    size_t values;
    bool describes; /* objects, instead of refusing them */
    pyro_error *error;
} machine;

static int fail(const machine *m, const char *what)
{
    return pyro_fail(m->error, PYRO_ERROR_FORMAT, "invalid pickle at byte %zu: %s",
                     (size_t)(m->at - m->begin), what);
}

static bool push(machine *m, value *one)
{
    if (!one || !pyro_grow(&m->stack, &m->stack_capacity, m->depth + 1, sizeof *m->stack))
        return false;
    m->stack[m->depth++] = one;
    return true;
}

static value *make(machine *m, value_kind kind)
{
    value *one = m->values++ < MOST_VALUES ? pyro_arena_alloc(&m->arena, sizeof *one) : NULL;
    if (!one)
        return NULL;
    one->kind = kind;
    if (kind != VALUE_LIST && kind != VALUE_DICT && kind != VALUE_OBJECT)
        return one;
    if (!pyro_grow(&m->containers, &m->container_capacity, m->container_count + 1,
                   sizeof *m->containers))
        return NULL;
    m->containers[m->container_count++] = one;
    return one;
}

/* Moves the values from `first` on into a container that lies below them. */
static bool fill(machine *m, value *into, size_t first, size_t leave)
{
    size_t count = m->depth - first;
    if (count &&
        !pyro_grow(&into->items, &into->capacity, into->count + count, sizeof *into->items))
        return false;
    if (count)
        memcpy(into->items + into->count, m->stack + first, count * sizeof *into->items);
    into->count += count;
    m->depth = leave;
    return true;
}

static size_t last_mark(const machine *m)
{
    for (size_t i = m->depth; i-- > 0;)
        if (m->stack[i]->kind == VALUE_MARK)
            return i;
    return SIZE_MAX;
}

/* A little-endian number of the next bytes. */
static bool take(machine *m, size_t size, uint64_t *number)
{
    if ((size_t)(m->end - m->at) < size)
        return false;
    *number = 0;
    for (size_t i = size; i-- > 0;)
        *number = *number << 8 | m->at[i];
    m->at += size;
    return true;
}

static int push_integer(machine *m, size_t size, bool is_signed)
{
    uint64_t number;
    if (!take(m, size, &number))
        return fail(m, "it ends early");
    value *one = make(m, VALUE_INTEGER);
    if (!push(m, one))
        return pyro_fail_memory(m->error);
    one->integer = is_signed && size < 8 && number >> (8 * size - 1) & 1
                       ? (int64_t)(number | ~UINT64_C(0) << (8 * size))
                       : (int64_t)number;
    return PYRO_OK;
}

/* LONG1: as many bytes as its first byte says. Ids of graph nodes have up to 8. */
static int push_long(machine *m)
{
    uint64_t size;
    if (!take(m, 1, &size))
        return fail(m, "it ends early");
    if (size == 0 || size > 9 || (size == 9 && (size_t)(m->end - m->at) >= 9 && m->at[8]))
        return fail(m, "a number is too large");
    int status = push_integer(m, size < 8 ? size : 8, true);
    if (status == PYRO_OK && size == 9)
        m->at++;
    return status;
}

static int push_text(machine *m, size_t size_bytes, value_kind kind)
{
    uint64_t length;
    if (!take(m, size_bytes, &length) || length > (uint64_t)(m->end - m->at))
        return fail(m, "it ends early");
    value *one = make(m, kind);
    if (!push(m, one))
        return pyro_fail_memory(m->error);
    if (kind == VALUE_TEXT) {
        one->text = (const char *)m->at;
        one->length = length;
    }
    m->at += length;
    return PYRO_OK;
}

static int push_real(machine *m)
{
    uint64_t bits = 0;
    if (m->end - m->at < 8)
        return fail(m, "it ends early");
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | *m->at++; /* big-endian, unlike all others */
    value *one = make(m, VALUE_REAL);
    if (!push(m, one))
        return pyro_fail_memory(m->error);
    memcpy(&one->real, &bits, sizeof one->real);
    return PYRO_OK;
}

static int push_simple(machine *m, value_kind kind, int64_t integer)
{
    value *one = make(m, kind);
    if (!push(m, one))
        return pyro_fail_memory(m->error);
    if (kind == VALUE_BOOLEAN)
        one->integer = integer;
    return PYRO_OK;
}

/* A new list or dict of the last `count` values, or of those behind the mark. */
static int collect(machine *m, value_kind kind, size_t count)
{
    size_t mark = count == SIZE_MAX ? last_mark(m) : SIZE_MAX;
    size_t first = count == SIZE_MAX ? mark + 1 : m->depth - count;
    if ((count == SIZE_MAX && mark == SIZE_MAX) || (count != SIZE_MAX && m->depth < count))
        return fail(m, "too few values");
    value *one = make(m, kind);
    if (!one || !fill(m, one, first, mark == SIZE_MAX ? first : mark) || !push(m, one))
        return pyro_fail_memory(m->error);
    return PYRO_OK;
}

static bool can_hold(const value *container, value_kind kind)
{
    return container->kind == kind || (kind == VALUE_DICT && container->kind == VALUE_OBJECT);
}

/* Adds values to the container below them. */
static int add_to(machine *m, value_kind kind, size_t count)
{
    size_t mark = count == SIZE_MAX ? last_mark(m) : SIZE_MAX;
    size_t first = count == SIZE_MAX ? mark + 1 : m->depth - count;
    size_t leave = count == SIZE_MAX ? mark : first;
    if ((count == SIZE_MAX && mark == SIZE_MAX) || (count != SIZE_MAX && m->depth < count) ||
        !leave || !can_hold(m->stack[leave - 1], kind) ||
        (kind == VALUE_DICT && (m->depth - first) % 2))
        return fail(m, "values without their container");
    return fill(m, m->stack[leave - 1], first, leave) ? PYRO_OK : pyro_fail_memory(m->error);
}

static int memoize(machine *m, uint64_t index)
{
    if (!m->depth || index >= MOST_MEMOS)
        return fail(m, "an invalid memo");
    if (!pyro_grow(&m->memo, &m->memo_capacity, index + 1, sizeof *m->memo))
        return pyro_fail_memory(m->error);
    for (; m->memo_count <= index; m->memo_count++)
        m->memo[m->memo_count] = NULL;
    m->memo[index] = m->stack[m->depth - 1];
    return PYRO_OK;
}

static int memo_opcode(machine *m, size_t size, bool is_put)
{
    uint64_t index;
    if (!take(m, size, &index))
        return fail(m, "it ends early");
    if (is_put)
        return memoize(m, index);
    if (index >= m->memo_count || !m->memo[index])
        return fail(m, "an unknown memo");
    return push(m, m->memo[index]) ? PYRO_OK : pyro_fail_memory(m->error);
}

static int skip(machine *m, size_t size)
{
    uint64_t ignored;
    return size <= 8 && take(m, size, &ignored) ? PYRO_OK : fail(m, "it ends early");
}

/* The text up to the end of a line. */
static bool take_line(machine *m, const char **text, size_t *length)
{
    const unsigned char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!end)
        return false;
    *text = (const char *)m->at;
    *length = (size_t)(end - m->at);
    m->at = end + 1;
    return true;
}

static int push_joined(machine *m, const char *scope, size_t scope_length, const char *name,
                       size_t length)
{
    char *text = pyro_arena_alloc(&m->arena, scope_length + length + 2);
    value *one = make(m, VALUE_TEXT);
    if (!text || !push(m, one))
        return pyro_fail_memory(m->error);
    memcpy(text, scope, scope_length);
    text[scope_length] = '.';
    memcpy(text + scope_length + 1, name, length);
    one->text = text;
    one->length = scope_length + 1 + length;
    return PYRO_OK;
}

/* An imported name becomes its text: "torch.FloatStorage". */
static int push_import(machine *m, bool is_on_stack)
{
    const char *scope, *name;
    size_t scope_length, length;
    if (!is_on_stack) {
        if (!take_line(m, &scope, &scope_length) || !take_line(m, &name, &length))
            return fail(m, "it ends early");
        return push_joined(m, scope, scope_length, name, length);
    }
    if (m->depth < 2 || m->stack[m->depth - 1]->kind != VALUE_TEXT ||
        m->stack[m->depth - 2]->kind != VALUE_TEXT)
        return fail(m, "an import without a name");
    const value *module = m->stack[m->depth - 2], *member = m->stack[m->depth - 1];
    m->depth -= 2;
    return push_joined(m, module->text, module->length, member->text, member->length);
}

/* A call becomes an object of its callee and arguments; a storage has no callee. */
static int push_object(machine *m, size_t taken)
{
    if (m->depth < taken || (taken == 2 && m->stack[m->depth - 2]->kind == VALUE_MARK))
        return fail(m, "too few values");
    value *one = make(m, VALUE_OBJECT);
    if (!one)
        return pyro_fail_memory(m->error);
    one->arguments = m->stack[m->depth - 1];
    one->callee = taken == 2 ? m->stack[m->depth - 2] : NULL;
    m->depth -= taken;
    return push(m, one) ? PYRO_OK : pyro_fail_memory(m->error);
}

static int set_state(machine *m)
{
    if (m->depth < 2 || m->stack[m->depth - 1]->kind == VALUE_MARK)
        return fail(m, "too few values");
    if (m->stack[m->depth - 2]->kind == VALUE_OBJECT)
        m->stack[m->depth - 2]->state = m->stack[m->depth - 1];
    m->depth--;
    return PYRO_OK;
}

static int run_object(machine *m, unsigned char opcode)
{
    switch (opcode) {
    case 'c':
        return push_import(m, false);
    case 0x93:
        return push_import(m, true);
    case 'Q': /* a storage */
        return push_object(m, 1);
    case 'R':
    case 0x81:
        return push_object(m, 2);
    case 'b':
        return set_state(m);
    case '0':
        return m->depth ? (m->depth--, PYRO_OK) : fail(m, "too few values");
    default:
        return fail(m, "an unsupported opcode");
    }
}

static int run_container(machine *m, unsigned char opcode)
{
    switch (opcode) {
    case ']':
    case ')':
        return collect(m, VALUE_LIST, 0);
    case '}':
        return collect(m, VALUE_DICT, 0);
    case 't':
    case 'l':
        return collect(m, VALUE_LIST, SIZE_MAX);
    case 0x85:
    case 0x86:
    case 0x87:
        return collect(m, VALUE_LIST, (size_t)opcode - 0x84);
    case 'a':
        return add_to(m, VALUE_LIST, 1);
    case 'e':
        return add_to(m, VALUE_LIST, SIZE_MAX);
    case 's':
        return add_to(m, VALUE_DICT, 2);
    case 'u':
        return add_to(m, VALUE_DICT, SIZE_MAX);
    default:
        if (m->describes)
            return run_object(m, opcode);
        return pyro_fail(m->error, PYRO_ERROR_UNSUPPORTED,
                         "the pickle is no plain data: opcode 0x%02x at byte %zu is refused, "
                         "because nothing in a pickle is executed",
                         opcode, (size_t)(m->at - m->begin) - 1);
    }
}

static int run_opcode(machine *m, unsigned char opcode)
{
    switch (opcode) {
    case 0x80: /* protocol */
        return skip(m, 1);
    case 0x95: /* frame */
        return skip(m, 8);
    case '(':
        return push_simple(m, VALUE_MARK, 0);
    case 'N':
        return push_simple(m, VALUE_NONE, 0);
    case 0x88:
    case 0x89:
        return push_simple(m, VALUE_BOOLEAN, opcode == 0x88);
    case 'K':
        return push_integer(m, 1, false);
    case 'M':
        return push_integer(m, 2, false);
    case 'J':
        return push_integer(m, 4, true);
    case 0x8a:
        return push_long(m);
    case 'G':
        return push_real(m);
    case 0x8c:
        return push_text(m, 1, VALUE_TEXT);
    case 'X':
        return push_text(m, 4, VALUE_TEXT);
    case 0x8d:
        return push_text(m, 8, VALUE_TEXT);
    case 'C':
        return push_text(m, 1, VALUE_NONE);
    case 'B':
        return push_text(m, 4, VALUE_NONE);
    case 0x94:
        return memoize(m, m->memo_count);
    case 'q':
    case 'h':
        return memo_opcode(m, 1, opcode == 'q');
    case 'r':
    case 'j':
        return memo_opcode(m, 4, opcode == 'r');
    default:
        return run_container(m, opcode);
    }
}

static void write_text(pyro_buf *out, const char *text, size_t length)
{
    pyro_buf_addc(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            pyro_buf_addf(out, "\\%c", c);
        else if (c < 0x20)
            pyro_buf_addf(out, "\\u%04x", c);
        else
            pyro_buf_addc(out, (char)c);
    }
    pyro_buf_addc(out, '"');
}

static int write_value(machine *m, pyro_buf *out, const value *one, int depth);

static int write_items(machine *m, pyro_buf *out, const value *one, int depth)
{
    bool is_dict = one->kind != VALUE_LIST;
    int status = PYRO_OK;
    pyro_buf_addc(out, is_dict ? '{' : '[');
    for (size_t i = 0; i < one->count && !status; i++) {
        const value *item = one->items[i];
        bool is_key = is_dict && i % 2 == 0;
        pyro_buf_adds(out, i == 0 ? "" : is_dict && i % 2 ? ":" : ",");
        if (is_key && item->kind == VALUE_INTEGER)
            pyro_buf_addf(out, "\"%" PRId64 "\"", item->integer);
        else if (is_key && item->kind != VALUE_TEXT)
            pyro_buf_adds(out, "\"\"");
        else
            status = write_value(m, out, item, depth + 1);
    }
    pyro_buf_addc(out, is_dict ? '}' : ']');
    return status;
}

/* {"call": name, "arguments": ..., "items": {...}, "state": ...}; of a dict only the items. */
static int write_object(machine *m, pyro_buf *out, const value *one, int depth)
{
    int status = PYRO_OK;
    pyro_buf_addc(out, '{');
    if (one->kind == VALUE_OBJECT) {
        const value *callee = one->callee;
        pyro_buf_adds(out, "\"call\":");
        if (callee && callee->kind == VALUE_TEXT)
            write_text(out, callee->text, callee->length);
        else
            pyro_buf_adds(out, "null");
        pyro_buf_adds(out, ",\"arguments\":");
        status = write_value(m, out, one->arguments, depth + 1);
        pyro_buf_addc(out, ',');
    }
    pyro_buf_adds(out, "\"items\":");
    if (!status)
        status = write_items(m, out, one, depth);
    if (!status && one->kind == VALUE_OBJECT && one->state) {
        pyro_buf_adds(out, ",\"state\":");
        status = write_value(m, out, one->state, depth + 1);
    }
    pyro_buf_addc(out, '}');
    return status;
}

/* Values that several others share are written each time, so the size is bounded. */
static int write_value(machine *m, pyro_buf *out, const value *one, int depth)
{
    if (depth > DEEPEST || out->length > LARGEST_JSON)
        return pyro_fail(m->error, PYRO_ERROR_LIMIT, "the pickle is too deep or too large");
    switch (one->kind) {
    case VALUE_BOOLEAN:
        pyro_buf_adds(out, one->integer ? "true" : "false");
        return PYRO_OK;
    case VALUE_INTEGER:
        pyro_buf_addf(out, "%" PRId64, one->integer);
        return PYRO_OK;
    case VALUE_REAL:
        if (isfinite(one->real))
            pyro_buf_addf(out, "%.17g", one->real);
        else
            pyro_buf_adds(out, "null");
        return PYRO_OK;
    case VALUE_TEXT:
        write_text(out, one->text, one->length);
        return PYRO_OK;
    case VALUE_LIST:
        return write_items(m, out, one, depth);
    case VALUE_DICT:
    case VALUE_OBJECT:
        return m->describes ? write_object(m, out, one, depth) : write_items(m, out, one, depth);
    default:
        pyro_buf_adds(out, "null");
        return PYRO_OK;
    }
}

bool pyro_is_pickle(const void *bytes, size_t size)
{
    const unsigned char *head = bytes;
    return size >= 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5;
}

static int to_json(pyro_buf *out, const void *bytes, size_t size, bool describes, pyro_error *error)
{
    machine m = {.at = bytes, .begin = bytes, .describes = describes, .error = error};
    int status = PYRO_OK;
    bool is_over = false;
    m.end = m.begin + size;
    pyro_arena_init(&m.arena);
    while (!status && !is_over) {
        if (m.at >= m.end)
            status = fail(&m, "it ends early");
        else if (*m.at == '.')
            is_over = true;
        else
            status = run_opcode(&m, *m.at++);
    }
    if (!status && (m.depth != 1 || m.stack[0]->kind == VALUE_MARK))
        status = fail(&m, "no single value");
    if (!status)
        status = write_value(&m, out, m.stack[0], 0);
    if (!status && out->failed)
        status = pyro_fail_memory(error);
    for (size_t i = 0; i < m.container_count; i++)
        free(m.containers[i]->items);
    free(m.containers);
    free(m.stack);
    free(m.memo);
    pyro_arena_free(&m.arena);
    return status;
}

int pyro_pickle_to_json(pyro_buf *out, const void *bytes, size_t size, pyro_error *error)
{
    return to_json(out, bytes, size, false, error);
}

int pyro_pickle_describe(pyro_buf *out, const void *bytes, size_t size, pyro_error *error)
{
    return to_json(out, bytes, size, true, error);
}
