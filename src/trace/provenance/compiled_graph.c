/* Reads a graph that Inductor compiled, printed as Python code: the bytes that its nodes write. */
#include "trace/provenance/compilation.h"

#include "base/checked.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int64_t pyro_bytes_of_type(const char *text, const char *end)
{
    const char *digits = text;
    while (digits < end && isalpha((unsigned char)*digits))
        digits++;
    char *behind;
    long bits = digits < end && isdigit((unsigned char)*digits) ? strtol(digits, &behind, 10) : 0;
    if (bits < 1 || bits > 256 || digits == text)
        return -1;
    const char *at = memchr(behind, '[', (size_t)(end - behind));
    int64_t bytes = bits < 8 ? 1 : bits / 8;
    for (at = at ? at + 1 : NULL; at && at < end && *at != ']';) {
        long long size = strtoll(at, &behind, 10);
        if (behind == at || size < 0 || __builtin_mul_overflow(bytes, (int64_t)size, &bytes))
            return -1;
        at = behind + strspn(behind, ", ");
        if (*behind != ',' && *behind != ']')
            return -1;
    }
    return at ? bytes : -1;
}

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
