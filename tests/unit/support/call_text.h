/*
 * Prices operators that are written as text, for tests of rules:
 *   "input=t2x3x6x6 weight=w6x3x4x4 bias=none stride=[1,1] > t2x6x5x5"
 * A tensor begins with t, a weight with w, a strided view with v; an element type may follow
 * ("t2x3/int64"), and "t" alone has no dims. Other values: [t2,w3], 3, [1,2], true,
 * 'text', none. Equal tensors are different values unless they are named: "t2x3#a".
 */
#ifndef PYRO_TESTS_CALL_TEXT_H
#define PYRO_TESTS_CALL_TEXT_H

#include "graph/call.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_ARGS = 40, CALL_ITEMS = 120 };

typedef struct call_text {
    pyro_call call;
    pyro_price price;
    char text[2048];
    pyro_call_arg args[CALL_ARGS];
    pyro_tensor tensors[CALL_ITEMS];
    int64_t dims[CALL_ITEMS][8], integers[CALL_ITEMS];
    size_t tensor_count, integer_count;
} call_text;

static inline void call_text_tensor(call_text *c, const char *text, pyro_dtype otherwise)
{
    assert_true(c->tensor_count < CALL_ITEMS);
    size_t index = c->tensor_count++;
    pyro_tensor *tensor = &c->tensors[index];
    *tensor = (pyro_tensor){
        .dims = c->dims[index], .elements = 1, .id = 1000 + index, .dtype = (uint8_t)otherwise};
    if (!strncmp(text, "none", 4)) {
        tensor->dims = NULL;
        return;
    }
    tensor->is_weight = *text == 'w';
    tensor->is_strided = *text++ == 'v';
    while (*text >= '0' && *text <= '9') {
        char *end;
        int64_t size = strtoll(text, &end, 10);
        c->dims[index][tensor->rank++] = size;
        tensor->elements *= size;
        text = *end == 'x' ? end + 1 : end;
    }
    if (*text == '/') {
        char name[32] = "";
        sscanf(text + 1, "%31[a-z0-9_]", name);
        tensor->dtype = (uint8_t)pyro_dtype_from_name(name);
        assert_int_not_equal(tensor->dtype, PYRO_DTYPE_UNKNOWN);
        text += 1 + strlen(name);
    }
    if (*text == '#')
        tensor->id = (uint64_t)text[1];
}

static inline bool call_text_is_tensor(const char *text)
{
    return (*text == 't' && strncmp(text, "true", 4)) || *text == 'w' || *text == 'v';
}

static inline void call_text_list(call_text *c, pyro_call_arg *arg, char *items)
{
    bool tensors = call_text_is_tensor(items) || !strncmp(items, "none", 4);
    arg->kind = tensors ? PYRO_ARG_TENSORS : PYRO_ARG_INTEGERS;
    arg->tensors = tensors ? &c->tensors[c->tensor_count] : NULL;
    arg->integers = tensors ? NULL : &c->integers[c->integer_count];
    for (char *rest, *item = strtok_r(items, ",]", &rest); item;
         item = strtok_r(NULL, ",]", &rest), arg->count++) {
        if (tensors)
            call_text_tensor(c, item, PYRO_DTYPE_FLOAT32);
        else
            c->integers[c->integer_count++] = strtoll(item, NULL, 10);
    }
}

static inline void call_text_arg(call_text *c, char *text)
{
    assert_true(c->call.arg_count < CALL_ARGS);
    pyro_call_arg *arg = &c->args[c->call.arg_count++];
    char *equals = strchr(text, '='), *value = equals + 1;
    *equals = 0;
    *arg = (pyro_call_arg){.name = text};
    if (*value == '[') {
        call_text_list(c, arg, value + 1);
    } else if (*value == '\'') {
        arg->kind = PYRO_ARG_TEXT;
        arg->text = value + 1;
        *strrchr(value, '\'') = 0;
    } else if (call_text_is_tensor(value)) {
        arg->kind = PYRO_ARG_TENSOR;
        arg->count = 1;
        arg->tensors = &c->tensors[c->tensor_count];
        call_text_tensor(c, value, PYRO_DTYPE_FLOAT32);
    } else if (strcmp(value, "none")) {
        arg->kind = *value == 't' || *value == 'f' ? PYRO_ARG_BOOLEAN : PYRO_ARG_INTEGER;
        arg->count = 1;
        arg->integers = &c->integers[c->integer_count];
        c->integers[c->integer_count++] = *value == 't' ? 1 : strtoll(value, NULL, 10);
    }
}

/* Reads a call of a row of the table; its outputs follow ">". */
static inline void call_text_read(call_text *c, const pyro_op *op, const char *text)
{
    memset(c, 0, sizeof *c);
    c->call.op = op;
    c->call.args = c->args;
    assert_true(strlen(text) < sizeof c->text);
    strcpy(c->text, text);
    char *outputs = strrchr(c->text, '>'), *rest;
    assert_non_null(outputs);
    *outputs++ = 0;
    for (char *word = strtok_r(c->text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        call_text_arg(c, word);
    c->call.outputs = &c->tensors[c->tensor_count];
    for (char *word = strtok_r(outputs, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        call_text_tensor(c, word, PYRO_DTYPE_FLOAT32);
        c->call.output_count++;
    }
}

static inline const pyro_op *call_text_find(const char *name)
{
    for (size_t i = 0; i < pyro_op_count; i++)
        if (!strcmp(pyro_ops[i].name, name))
            return &pyro_ops[i];
    fail_msg("no operator is called %s", name);
    return NULL;
}

/* Prices a call; false if its rule does not support it or a product overflows. */
static inline bool call_text_price(call_text *c, const char *op, const char *text)
{
    call_text_read(c, call_text_find(op), text);
    return pyro_op_price(&c->call, &c->price) && !c->call.overflow;
}

#endif
