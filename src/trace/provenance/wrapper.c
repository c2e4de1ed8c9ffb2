/*
 * Reads the code that Inductor wrote for a graph: the calls of kernels in order. Comments above a call
 * list the nodes that it comes from ("Topologically Sorted Source Nodes: [linear], Original ATen:
 * [...]") and its handle ("[Provenance debug handles] extern_kernels.mm:4").
 */
#include "trace/provenance/compilation.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CALLS 1000000
#define FAR_HANDLES 4096

typedef struct wrapper {
    pyro_compilation *compilation;
    pyro_buf sources; /* of the comment above the next call */
    pyro_buf handled; /* "name:handle" of the comment above the next call */
    bool is_in_call; /* of the wrapper: calls before it are definitions and benchmarks */
    bool is_in_text; /* of a kernel's code, in quotes */
} wrapper;

static const char *find_in(const char *text, size_t length, const char *word)
{
    return memmem(text, length, word, strlen(word));
}

static bool begins(const char *line, size_t length, const char *prefix)
{
    return length >= strlen(prefix) && strncmp(line, prefix, strlen(prefix)) == 0;
}

/* "[layer_norm, linear]" as "layer_norm linear". */
static void take_sources(wrapper *wrapper, const char *line, size_t length)
{
    const char *open = memchr(line, '[', length);
    const char *close = open ? memchr(open, ']', (size_t)(line + length - open)) : NULL;
    pyro_buf_reset(&wrapper->sources);
    for (const char *at = open ? open + 1 : NULL; close && at < close; at++)
        if (*at != ',')
            pyro_buf_addc(&wrapper->sources, *at);
}

static void take_handle(wrapper *wrapper, const char *line, size_t length)
{
    const char *close = memchr(line, ']', length);
    if (!close || close + 2 >= line + length)
        return;
    const char *name = close + 2;
    pyro_buf_reset(&wrapper->handled);
    pyro_buf_add(&wrapper->handled, name, strcspn(name, " ,\r\n"));
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The identifiers in the arguments of a call. */
static char *identifiers(wrapper *wrapper, const char *text, size_t length)
{
    pyro_buf words = PYRO_BUF_INIT;
    for (size_t i = 0; i < length;) {
        size_t size = 0;
        while (i + size < length && is_word(text[i + size]))
            size++;
        if (size && !isdigit((unsigned char)text[i])) {
            pyro_buf_add(&words, text + i, size);
            pyro_buf_addc(&words, ' ');
        }
        i += size ? size : 1;
    }
    char *kept = words.failed ? NULL
                              : pyro_arena_text(&wrapper->compilation->arena,
                                                words.length ? words.data : "", words.length);
    pyro_buf_free(&words);
    return kept;
}

/* The length of the name in "buf7 = torch.ops.aten.x.default(", "triton_poi_0.run("; 0: no call. */
static size_t name_of_call(const char **line, size_t *length)
{
    static const char *const prefixes[] = {
        "extern_kernels.", "torch.ops.", "aten.", "triton_", "cpp_", "pallas_", "cutlass_"};
    const char *equals = find_in(*line, *length, " = ");
    if (equals && strcspn(*line, " (") == (size_t)(equals - *line)) {
        *length -= (size_t)(equals + 3 - *line);
        *line = equals + 3;
    }
    const char *open = memchr(*line, '(', *length);
    if (!open)
        return 0;
    size_t size = (size_t)(open - *line);
    if (size > 4 && strncmp(open - 4, ".run", 4) == 0)
        size -= 4;
    if (memchr(*line, ' ', size) || memchr(*line, '=', size))
        return 0;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins(*line, size, prefixes[i]))
            return size;
    return 0;
}

static void add_call(wrapper *wrapper, const char *line, size_t length)
{
    pyro_compilation *compilation = wrapper->compilation;
    size_t size = name_of_call(&line, &length);
    pyro_buf *handled = &wrapper->handled;
    const char *colon = handled->length ? strrchr(handled->data, ':') : NULL;
    if (colon) /* lines such as "stream0 = get_raw_stream(0)" come before the call */
        colon = memmem(line, length, handled->data, (size_t)(colon - handled->data)) ? colon : NULL;
    if ((!size && !colon) || compilation->call_count >= MOST_CALLS)
        return;
    const char *name = colon ? handled->data : line;
    size_t name_length = colon ? (size_t)(colon - handled->data) : size;
    const char *open = memchr(line, '(', length);
    if (!pyro_grow(&compilation->calls, &compilation->call_capacity, compilation->call_count + 1,
                   sizeof *compilation->calls)) {
        compilation->failed = true;
        return;
    }
    pyro_wrapper_call call = {
        .name = pyro_arena_text(&compilation->arena, name, name_length),
        .handle = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0,
        .source_nodes = pyro_arena_text(&compilation->arena,
                                        wrapper->sources.length ? wrapper->sources.data : "",
                                        wrapper->sources.length),
        .arguments = open ? identifiers(wrapper, open, (size_t)(line + length - open)) : NULL,
    };
    compilation->failed |= !call.name || !call.source_nodes || (open && !call.arguments);
    compilation->calls[compilation->call_count++] = call;
    pyro_buf_reset(&wrapper->sources);
    pyro_buf_reset(handled);
}

static void read_line(wrapper *wrapper, const char *line, size_t length)
{
    while (length && (*line == ' ' || *line == '\t')) {
        line++;
        length--;
    }
    /* Code of kernels is a quoted text of several lines. */
    const char *quotes = find_in(line, length, "'''");
    if (quotes) {
        bool closes_too = find_in(quotes + 3, (size_t)(line + length - quotes - 3), "'''") != NULL;
        wrapper->is_in_text = closes_too ? wrapper->is_in_text : !wrapper->is_in_text;
        return;
    }
    if (wrapper->is_in_text || !length)
        return;
    if (begins(line, length, "# AOT ID:")) {
        wrapper->compilation->is_backward = find_in(line, length, "backward") != NULL;
        wrapper->compilation->has_code = true;
    } else if (begins(line, length, "def call(") || begins(line, length, "def partition_")) {
        wrapper->is_in_call = wrapper->compilation->has_code = true;
    } else if (begins(line, length, "def ") || begins(line, length, "class ")) {
        wrapper->is_in_call = false;
    } else if (begins(line, length, "# Topologically Sorted Source Nodes:") ||
               begins(line, length, "# Source Nodes:")) {
        take_sources(wrapper, line, length);
    } else if (begins(line, length, "# [Provenance debug handles]")) {
        take_handle(wrapper, line, length);
    } else if (wrapper->is_in_call && *line != '#' && !begins(line, length, "del ")) {
        add_call(wrapper, line, length);
    }
}

void pyro_read_wrapper(pyro_compilation *compilation, const char *text, size_t length)
{
    wrapper wrapper = {.compilation = compilation};
    const char *end = text + length, *line;
    size_t line_length;
    while (!compilation->failed && pyro_next_line(&text, end, &line, &line_length))
        read_line(&wrapper, line, line_length);
    compilation->failed |= wrapper.sources.failed || wrapper.handled.failed;
    pyro_buf_free(&wrapper.sources);
    pyro_buf_free(&wrapper.handled);
}

pyro_wrapper_call *pyro_wrapper_find(const pyro_compilation *compilation, const char *name)
{
    const char *colon = strrchr(name, ':');
    unsigned long handle = colon ? strtoul(colon + 1, NULL, 10) : 0;
    for (size_t i = 0; colon && handle && i < compilation->call_count && i < FAR_HANDLES; i++) {
        /* Handles count from 1 in the order of the calls. */
        size_t at = (handle - 1 + i) % compilation->call_count;
        pyro_wrapper_call *call = &compilation->calls[at];
        if (call->handle == handle && strlen(call->name) == (size_t)(colon - name) &&
            strncmp(call->name, name, (size_t)(colon - name)) == 0)
            return call;
    }
    return NULL;
}
