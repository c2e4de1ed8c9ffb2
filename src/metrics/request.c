/* Parses requests and writes responses. Trusts no byte of a request. */
#include "metrics/request.h"

#include <string.h>
#include <strings.h>

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {400, "Bad Request"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

/* A piece of the request. */
typedef struct piece {
    const char *text;
    size_t length;
} piece;

static bool is(piece word, const char *text)
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
static bool next_line(piece *rest, piece *line)
{
    const char *end = memchr(rest->text, '\n', rest->length);
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

static bool next_word(piece *line, piece *word)
{
    const char *end = memchr(line->text, ' ', line->length);
    word->text = line->text;
    word->length = end ? (size_t)(end - line->text) : line->length;
    size_t used = word->length + (end != NULL);
    line->text += used;
    line->length -= used;
    return word->length > 0;
}

static int status_of_line(piece line, bool *is_head)
{
    piece method, target, version;
    if (!next_word(&line, &method) || !next_word(&line, &target) || !next_word(&line, &version) ||
        line.length)
        return 400;
    if (version.length != 8 || memcmp(version.text, "HTTP/", 5) != 0)
        return 400;
    if (memcmp(version.text, "HTTP/1.", 7) != 0)
        return 505;
    const char *query = memchr(target.text, '?', target.length);
    if (query)
        target.length = (size_t)(query - target.text);
    *is_head = is(method, "HEAD");
    if (!*is_head && !is(method, "GET"))
        return 405;
    return is(target, "/metrics") || is(target, "/") ? 200 : 404;
}

static bool contains(piece text, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= text.length; i++)
        if (strncasecmp(text.text + i, word, length) == 0)
            return true;
    return false;
}

static bool is_accept(piece line)
{
    static const char name[] = "accept:";
    return line.length >= sizeof name - 1 && strncasecmp(line.text, name, sizeof name - 1) == 0;
}

/* A field is a name and a colon; lines that continue another one are obsolete. */
static bool is_field(piece line)
{
    const char *colon = memchr(line.text, ':', line.length);
    if (!colon || colon == line.text)
        return false;
    for (const char *at = line.text; at < colon; at++)
        if (*at <= ' ' || *at == 0x7f)
            return false;
    return true;
}

void pyro_request_parse(pyro_request *out, const char *bytes, size_t size)
{
    *out = (pyro_request){0};
    size_t end = find_end(bytes, size);
    if (!end || end > PYRO_REQUEST_MOST_BYTES) {
        out->status = end || size >= PYRO_REQUEST_MOST_BYTES ? 431 : 0;
        return;
    }
    piece rest = {bytes, end}, line;
    out->status = next_line(&rest, &line) ? status_of_line(line, &out->is_head) : 400;
    while (next_line(&rest, &line) && line.length) {
        if (!is_field(line))
            out->status = 400;
        else if (is_accept(line) && contains(line, "application/openmetrics-text"))
            out->wants_openmetrics = true;
    }
}

static const char *reason_of(int status)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Error";
}

void pyro_response_write(pyro_buf *buf, const pyro_request *request, const char *body, size_t size)
{
    const char *type = request->wants_openmetrics
                           ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                           : "text/plain; version=0.0.4; charset=utf-8";
    const char *reason = reason_of(request->status);
    bool is_done = request->status == 200;
    size_t length = is_done ? size : strlen(reason) + 1;

    pyro_buf_addf(buf,
                  "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
                  "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                  "Connection: close\r\n\r\n",
                  request->status, reason, is_done ? type : "text/plain; charset=utf-8", length,
                  request->status == 405 ? "Allow: GET, HEAD\r\n" : "");
    if (request->is_head)
        return;
    if (is_done)
        pyro_buf_add(buf, body, size);
    else
        pyro_buf_addf(buf, "%s\n", reason);
}
