/* Reads a graph that Inductor compiled, printed as Python code: the bytes that its nodes write. */
#include "trace/provenance/compilation.h"

#include <ctype.h>
#include <string.h>

/* `name: "f32[2, 16]" = ...`; a node without a type has several results, which follow. */
static void read_node(pyro_compilation *compilation, const char *line, size_t length)
{
    size_t name_length = strcspn(line, ": =");
    if (!name_length || name_length >= length ||
        compilation->compiled.names.count >= PYRO_MOST_NODES)
        return;
    const char *quote = line[name_length] == ':' ? memchr(line, '"', length) : NULL;
    const char *closing = quote ? memchr(quote + 1, '"', (size_t)(line + length - quote - 1))
                                : NULL;
    struct pyro_node_facts *facts = pyro_node_add(&compilation->compiled, line, name_length);
    if (!facts)
        compilation->failed = true;
    else
        facts->bytes = closing ? pyro_bytes_of_type(quote + 1, closing) : 0;
}

void pyro_read_compiled_graph(pyro_compilation *compilation, const char *text, size_t length)
{
    const char *end = text + length, *line;
    size_t line_length;
    while (!compilation->failed && pyro_next_line(&text, end, &line, &line_length)) {
        while (line_length && (*line == ' ' || *line == '\t')) {
            line++;
            line_length--;
        }
        if (line_length && (isalpha((unsigned char)*line) || *line == '_') &&
            memmem(line, line_length, " = ", 3) && strncmp(line, "return", 6) != 0)
            read_node(compilation, line, line_length);
    }
}
