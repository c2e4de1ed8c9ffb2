/*
 * Reads the graph that Dynamo captured, printed as Python code. A node that uses a parameter belongs
 * to the parameter's module: l_self_modules_blocks_modules_0_parameters_weight_ is of "blocks.0". A
 * node without parameters belongs to what the nodes around it have in common, or to the module whose
 * source line it shares.
 */
#include "trace/provenance/compilation.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How far nodes look for one on their source line, and how far a function reaches, in lines. */
#define FAR_NODES 200
#define FAR_LINES 12
#define LONGEST_PATH 1024

typedef struct node {
    uint32_t name; /* in captured.names */
    uint32_t path;     /* of its parameters, in paths; PYRO_NO_TEXT */
    uint32_t inferred; /* the same, or what was inferred; PYRO_NO_TEXT */
    bool is_known;     /* `inferred` was there before this pass */
    uint32_t place; /* "/x/model.py in forward", in paths; PYRO_NO_TEXT */
    long line;
    bool is_direct; /* its parameter is used in the module's own code, not in a function of torch */
} node;

typedef struct reader {
    pyro_compilation *compilation;
    node *nodes;
    size_t count, capacity;
    uint32_t place; /* of the lines that follow */
    long line;
} reader;

static const char *find_in(const char *text, size_t length, const char *word)
{
    return memmem(text, length, word, strlen(word));
}

/* Writes "blocks.0.ln1" for l_self_modules_blocks_modules_0_modules_ln1_parameters_weight_. */
static size_t path_of_parameter(const char *name, size_t length, char *path)
{
    static const char modules[] = "_modules_";
    const char *end = find_in(name, length, "_parameters_"), *at = name;
    size_t size = 0;
    end = end ? end : find_in(name, length, "_buffers_");
    if (!end || tolower((unsigned char)name[0]) != 'l' || name[1] != '_')
        return SIZE_MAX;
    at = find_in(name, (size_t)(end - name), modules);
    while (at && size < LONGEST_PATH) {
        const char *part = at + sizeof modules - 1;
        const char *next = part < end ? find_in(part, (size_t)(end - part), modules) : NULL;
        size_t part_length = (size_t)((next ? next : end) - part);
        if (part >= end || size + part_length + 1 >= LONGEST_PATH)
            return SIZE_MAX;
        if (size)
            path[size++] = '.';
        memcpy(path + size, part, part_length);
        size += part_length;
        at = next;
    }
    return size;
}

/* Length that two paths have in common, in whole parts. */
static size_t common_length(const char *left, const char *right)
{
    size_t same = 0, whole = 0;
    for (;; same++) {
        bool left_ends = !left[same] || left[same] == '.';
        bool right_ends = !right[same] || right[same] == '.';
        if (left_ends && right_ends)
            whole = same;
        if (left[same] != right[same] || !left[same])
            return whole;
    }
}

static uint32_t add_path(reader *reader, const char *path, size_t length)
{
    uint32_t id = pyro_intern_add(&reader->compilation->paths, path, length);
    reader->compilation->failed |= id == PYRO_INTERN_NONE;
    return id;
}

static const char *path_text(const reader *reader, uint32_t path)
{
    return pyro_intern_text(&reader->compilation->paths, path);
}

static uint32_t parent_of(reader *reader, uint32_t path)
{
    const char *text = path_text(reader, path), *dot = strrchr(text, '.');
    return add_path(reader, text, dot ? (size_t)(dot - text) : 0);
}

/* The module of all parameters among the words of an expression. */
static uint32_t path_of_expression(reader *reader, const char *text, size_t length)
{
    uint32_t found = PYRO_NO_TEXT;
    for (size_t i = 0; i < length;) {
        size_t size = 0;
        while (i + size < length &&
               (isalnum((unsigned char)text[i + size]) || text[i + size] == '_'))
            size++;
        char path[LONGEST_PATH];
        size_t path_length = size > 2 ? path_of_parameter(text + i, size, path) : SIZE_MAX;
        if (path_length != SIZE_MAX && found == PYRO_NO_TEXT)
            found = add_path(reader, path, path_length);
        else if (path_length != SIZE_MAX && !reader->compilation->failed) {
            path[path_length < LONGEST_PATH ? path_length : LONGEST_PATH - 1] = '\0';
            const char *before = path_text(reader, found);
            found = add_path(reader, before, common_length(before, path));
        }
        i += size ? size : 1;
    }
    return found;
}

/* "# File: /x/model.py:23 in forward, code: ..." */
static void read_place(reader *reader, const char *line, size_t length)
{
    const char *file = find_in(line, length, "# File: ");
    const char *end = line + length, *in, *colon, *comma;
    if (!file)
        return;
    file += 8;
    in = find_in(file, (size_t)(end - file), " in ");
    if (!in)
        return;
    colon = memrchr(file, ':', (size_t)(in - file));
    comma = memchr(in, ',', (size_t)(end - in));
    if (!colon)
        return;
    char place[LONGEST_PATH];
    size_t file_length = (size_t)(colon - file);
    size_t function_length = (size_t)((comma ? comma : end) - in);
    if (file_length + function_length >= sizeof place)
        return;
    memcpy(place, file, file_length);
    memcpy(place + file_length, in, function_length);
    reader->line = strtol(colon + 1, NULL, 10);
    reader->place = add_path(reader, place, file_length + function_length);
}

static bool is_of_torch(const char *expression, size_t length)
{
    return length > 6 && strncmp(expression, "torch.", 6) == 0;
}

/* "name: "f32[2, 3]" = expression;  x = None" */
static void read_node(reader *reader, const char *line, size_t length)
{
    pyro_compilation *compilation = reader->compilation;
    const char *equals = find_in(line, length, " = ");
    size_t name_length = strcspn(line, ": =");
    if (!equals || !name_length || name_length >= length || reader->count >= PYRO_MOST_NODES)
        return;
    const char *expression = equals + 3, *end = line + length;
    const char *semicolon = find_in(expression, (size_t)(end - expression), ";  ");
    size_t expression_length = (size_t)((semicolon ? semicolon : end) - expression);
    if (!pyro_node_add(&compilation->captured, line, name_length) ||
        !pyro_grow(&reader->nodes, &reader->capacity, reader->count + 1, sizeof *reader->nodes)) {
        compilation->failed = true;
        return;
    }
    bool is_input = strncmp(expression, "L_", 2) == 0 &&
                    !memchr(expression, ' ', expression_length);
    reader->nodes[reader->count++] = (node){
        .name = pyro_intern_find(&compilation->captured.names, line, name_length),
        .path = is_input ? PYRO_NO_TEXT : path_of_expression(reader, expression, expression_length),
        .place = is_input ? PYRO_NO_TEXT : reader->place,
        .line = reader->line,
        .is_direct = !is_of_torch(expression, expression_length),
    };
    if (is_input) { /* "l_x_ = L_x_" is no work */
        reader->count--;
        return;
    }
    node *last = &reader->nodes[reader->count - 1];
    last->inferred = last->path;
    last->is_known = last->path != PYRO_NO_TEXT;
}

/* The inputs of the graph in order: Inductor calls them primals_1... or arg0_1... */
static void read_inputs(reader *reader, const char *line, size_t length)
{
    pyro_compilation *compilation = reader->compilation;
    const char *at = find_in(line, length, "(self"), *end = line + length;
    for (size_t index = 0; at && (at = memchr(at, ',', (size_t)(end - at))); index++) {
        at++;
        while (at < end && *at == ' ')
            at++;
        size_t size = 0;
        while (at + size < end && (isalnum((unsigned char)at[size]) || at[size] == '_'))
            size++;
        /* Commas in the quoted types, "f32[2, 3]", separate no inputs. */
        const char *quote = at + size < end && at[size] == ':' ? memchr(at, '"', (size_t)(end - at))
                                                               : NULL;
        const char *closing = quote ? memchr(quote + 1, '"', (size_t)(end - quote - 1)) : NULL;
        char path[LONGEST_PATH], names[2][32];
        size_t path_length = size ? path_of_parameter(at, size, path) : SIZE_MAX;
        snprintf(names[0], sizeof names[0], "primals_%zu", index + 1);
        snprintf(names[1], sizeof names[1], "arg%zu_1", index);
        for (int i = 0; i < 2 && path_length != SIZE_MAX; i++) {
            struct pyro_node_facts *facts = pyro_node_add(&compilation->compiled, names[i],
                                                          strlen(names[i]));
            if (facts)
                *facts = (struct pyro_node_facts){
                    add_path(reader, path, path_length),
                    closing ? pyro_bytes_of_type(quote + 1, closing) : -1, true};
            compilation->failed |= !facts;
        }
        if (closing)
            at = closing;
        if (index > PYRO_MOST_NODES || compilation->failed)
            return;
    }
}

static bool is_below(const reader *reader, uint32_t path, uint32_t above)
{
    const char *text = path_text(reader, path), *prefix = path_text(reader, above);
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 && (!length || !text[length] || text[length] == '.');
}

/* The module in whose code the node's parameter is used: its own, or its parent's. */
static uint32_t path_of_code(reader *reader, const node *here)
{
    return here->is_direct ? here->path : parent_of(reader, here->path);
}

/*
 * The module whose code has this node's line, if nodes with parameters on it tell. Containers of torch
 * have no code of their own, so the outermost of these modules counts. An earlier line of the same
 * module's code ends the search: before it the function was called for another module.
 */
static uint32_t path_by_line(reader *reader, size_t index)
{
    const node *nodes = reader->nodes, *here = &nodes[index];
    uint32_t found = PYRO_NO_TEXT;
    if (here->place == PYRO_NO_TEXT)
        return found;
    for (size_t i = index; i-- > 0 && index - i <= FAR_NODES && !reader->compilation->failed;) {
        if (nodes[i].path == PYRO_NO_TEXT || nodes[i].place != here->place)
            continue;
        uint32_t path = path_of_code(reader, &nodes[i]);
        if (nodes[i].line < here->line && found != PYRO_NO_TEXT && !reader->compilation->failed &&
            is_below(reader, found, path))
            break;
        if (nodes[i].line != here->line)
            continue;
        const char *text = found == PYRO_NO_TEXT ? NULL : path_text(reader, found);
        found = text ? add_path(reader, text, common_length(text, path_text(reader, path))) : path;
    }
    for (size_t i = index + 1; found == PYRO_NO_TEXT && i < reader->count && i - index <= FAR_NODES;
         i++)
        if (nodes[i].path != PYRO_NO_TEXT && nodes[i].place == here->place &&
            nodes[i].line == here->line)
            found = path_of_code(reader, &nodes[i]);
    return found;
}

/* A module that uses its parameter itself: the lines around that are its code too. */
static bool is_same_function(const node *here, const node *other)
{
    return other && other->is_direct && here->place != PYRO_NO_TEXT &&
           other->place == here->place && labs(other->line - here->line) <= FAR_LINES;
}

/* What the nodes before and behind have in common; PYRO_NO_TEXT without any. */
static uint32_t common_path(reader *reader, const node *before, const node *after)
{
    if (before && after) {
        const char *left = path_text(reader, before->inferred);
        return add_path(reader, left, common_length(left, path_text(reader, after->inferred)));
    }
    return before || after ? parent_of(reader, (before ? before : after)->inferred) : PYRO_NO_TEXT;
}

/* By the code alone: in the function of a module that uses its parameter, or on a line of its parent.
 * Only a module inside what is around the node can be meant. */
static uint32_t path_by_code(reader *reader, size_t index, const node *before, const node *after)
{
    const node *here = &reader->nodes[index];
    if (is_same_function(here, after))
        return after->path;
    if (is_same_function(here, before))
        return before->path;
    uint32_t common = common_path(reader, before, after), by_line = path_by_line(reader, index);
    bool may_be = !reader->compilation->failed && by_line != PYRO_NO_TEXT &&
                  common != PYRO_NO_TEXT && is_below(reader, by_line, common);
    return may_be ? by_line : PYRO_NO_TEXT;
}

typedef uint32_t inference(reader *reader, size_t index, const node *before, const node *after);

/* Gives nodes without a path what the rule says; those that it finds do not count as neighbours yet. */
static void infer_all(reader *reader, inference *rule)
{
    const node *before = NULL;
    size_t next = 0;
    for (size_t i = 0; i < reader->count && !reader->compilation->failed; i++) {
        node *here = &reader->nodes[i];
        next = next > i ? next : i + 1;
        while (next < reader->count && !reader->nodes[next].is_known)
            next++;
        if (here->is_known)
            before = here;
        else
            here->inferred = rule(reader, i, before,
                                  next < reader->count ? &reader->nodes[next] : NULL);
    }
    for (size_t i = 0; i < reader->count; i++)
        reader->nodes[i].is_known = reader->nodes[i].inferred != PYRO_NO_TEXT;
}

static uint32_t path_by_neighbours(reader *reader, size_t index, const node *before,
                                   const node *after)
{
    (void)index;
    return common_path(reader, before, after);
}

static void keep(reader *reader)
{
    for (size_t i = 0; i < reader->count; i++) {
        struct pyro_node_facts *facts = &reader->compilation->captured.facts[reader->nodes[i].name];
        facts->has_parameter = reader->nodes[i].path != PYRO_NO_TEXT;
        facts->path = reader->nodes[i].inferred;
    }
}

void pyro_read_captured_graph(pyro_compilation *compilation, const char *text, size_t length)
{
    reader reader = {.compilation = compilation, .place = PYRO_NO_TEXT};
    const char *end = text + length, *line;
    size_t line_length;
    while (!compilation->failed && pyro_next_line(&text, end, &line, &line_length)) {
        while (line_length && (*line == ' ' || *line == '\t')) {
            line++;
            line_length--;
        }
        if (line_length > 8 && strncmp(line, "# File: ", 8) == 0)
            read_place(&reader, line, line_length);
        else if (line_length > 12 && strncmp(line, "def forward(", 12) == 0)
            read_inputs(&reader, line, line_length);
        else if (line_length && (isalpha((unsigned char)*line) || *line == '_') &&
                 strncmp(line, "return", 6) != 0)
            read_node(&reader, line, line_length);
    }
    infer_all(&reader, path_by_code);
    infer_all(&reader, path_by_neighbours);
    keep(&reader);
    free(reader.nodes);
}
