/* Parses the first line and the fields of a request. */
#include "http/request.h"

#include <string.h>
#include <strings.h>

bool pyro_http_is(pyro_http_text word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

/* Where the head ends, or 0. */
static size_t find_end(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != '\n')
            continue;
        if (i + 1 < size && bytes[i + 1] == '\n')
            return i + 2;
        if (i + 2 < size && bytes[i + 1] == '\r' && bytes[i + 2] == '\n')
            return i + 3;
    }
    return 0;
}

/* Takes the next line; false at the end. */
static bool next_line(pyro_http_text *rest, pyro_http_text *line)
{
    const char *end = rest->length ? memchr(rest->text, '\n', rest->length) : NULL;
    if (!end)
        return false;
    line->text = rest->text;
    line->length = (size_t)(end - rest->text);
    rest->text = end + 1;
    rest->length -= line->length + 1;
    if (line->length && line->text[line->length - 1] == '\r')
        line->length--;
    return true;
}

/* Takes the text up to a separator, which is skipped. */
static pyro_http_text next_part(pyro_http_text *rest, char separator)
{
    const char *end = rest->length ? memchr(rest->text, separator, rest->length) : NULL;
    pyro_http_text part = {rest->text, end ? (size_t)(end - rest->text) : rest->length};
    size_t used = part.length + (end != NULL);
    rest->text += used;
    rest->length -= used;
    return part;
}

static int read_first_line(pyro_http_request *out, pyro_http_text line)
{
    pyro_http_text method = next_part(&line, ' '), target = next_part(&line, ' ');
    pyro_http_text version = next_part(&line, ' ');
    if (!method.length || !target.length || !version.length || line.length)
        return 400;
    if (version.length != 8 || memcmp(version.text, "HTTP/", 5) != 0)
        return 400;
    if (memcmp(version.text, "HTTP/1.", 7) != 0)
        return 505;
    out->query = target;
    out->path = next_part(&out->query, '?');
    out->is_head = pyro_http_is(method, "HEAD");
    return out->is_head || pyro_http_is(method, "GET") ? 200 : 405;
}

/* A field is a name and a colon; lines that continue another one are obsolete. */
static bool is_field(pyro_http_text line)
{
    const char *colon = memchr(line.text, ':', line.length);
    if (!colon || colon == line.text)
        return false;
    for (const char *at = line.text; at < colon; at++)
        if (*at <= ' ' || *at == 0x7f)
            return false;
    return true;
}

void pyro_http_parse(pyro_http_request *out, const char *bytes, size_t size)
{
    *out = (pyro_http_request){.path = {"", 0}, .query = {"", 0}, .fields = {"", 0}};
    size_t end = find_end(bytes, size);
    if (!end || end > PYRO_HTTP_MOST_BYTES) {
        out->status = end || size >= PYRO_HTTP_MOST_BYTES ? 431 : 0;
        return;
    }
    pyro_http_text rest = {bytes, end}, line;
    out->status = next_line(&rest, &line) ? read_first_line(out, line) : 400;
    out->fields = rest;
    while (next_line(&rest, &line) && line.length)
        if (!is_field(line))
            out->status = 400;
}

static pyro_http_text trim(pyro_http_text text)
{
    while (text.length && (*text.text == ' ' || *text.text == '\t')) {
        text.text++;
        text.length--;
    }
    while (text.length && (text.text[text.length - 1] == ' ' || text.text[text.length - 1] == '\t'))
        text.length--;
    return text;
}

/* Takes the value of the next field of a name; false at the end. */
static bool next_field(pyro_http_text *rest, const char *name, pyro_http_text *value)
{
    size_t length = strlen(name);
    pyro_http_text line;
    while (next_line(rest, &line) && line.length) {
        if (line.length <= length || line.text[length] != ':' ||
            strncasecmp(line.text, name, length) != 0)
            continue;
        *value = trim((pyro_http_text){line.text + length + 1, line.length - length - 1});
        return true;
    }
    return false;
}

static bool contains(pyro_http_text text, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= text.length; i++)
        if (strncasecmp(text.text + i, word, length) == 0)
            return true;
    return false;
}

bool pyro_http_field_contains(const pyro_http_request *request, const char *name, const char *word)
{
    pyro_http_text rest = request->fields, value;
    while (next_field(&rest, name, &value))
        if (contains(value, word))
            return true;
    return false;
}

bool pyro_http_field(const pyro_http_request *request, const char *name, pyro_http_text *value)
{
    pyro_http_text rest = request->fields, second;
    return next_field(&rest, name, value) && !next_field(&rest, name, &second);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool decode(pyro_http_text text, char *out, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        int c = text.text[i] == '+' ? ' ' : text.text[i];
        if (c == '%') {
            int high = text.length - i > 2 ? digit_of(text.text[i + 1]) : -1;
            int low = high >= 0 ? digit_of(text.text[i + 2]) : -1;
            if (low < 0)
                return false;
            c = high << 4 | low;
            i += 2;
        }
        if (c == 0 || length + 1 >= size)
            return false;
        out[length++] = (char)c;
    }
    out[length] = '\0';
    return true;
}

bool pyro_http_parameter(const pyro_http_request *request, const char *name, char *out, size_t size)
{
    pyro_http_text rest = request->query;
    while (rest.length) {
        pyro_http_text value = next_part(&rest, '&');
        if (pyro_http_is(next_part(&value, '='), name))
            return decode(value, out, size);
    }
    return false;
}
