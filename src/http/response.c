/* Writes responses. */
#include "http/response.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {303, "See Other"},
    {400, "Bad Request"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {421, "Misdirected Request"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

static const char *reason_of(int status)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Error";
}

void pyro_http_write_response(pyro_buf *buf, const pyro_http_response *response, bool is_head)
{
    const char *reason = reason_of(response->status);
    bool has_body = response->body.length > 0 || response->file >= 0 || response->status == 200;
    int64_t length = has_body ? (int64_t)response->body.length : (int64_t)strlen(reason) + 1;

    if (response->file >= 0)
        length = response->file_bytes;
    pyro_buf_addf(buf,
                  "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %" PRId64 "\r\n%s"
                  "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
                  response->status, reason, response->type, length,
                  response->status == 405 ? "Allow: GET, HEAD\r\n" : "");
    if (response->fields.length > 0)
        pyro_buf_add(buf, response->fields.data, response->fields.length);
    pyro_buf_adds(buf, "Connection: close\r\n\r\n");
    buf->failed |= response->fields.failed || response->body.failed;
    if (is_head || response->file >= 0)
        return;
    if (!has_body)
        pyro_buf_addf(buf, "%s\n", reason);
    else if (response->body.length > 0)
        pyro_buf_add(buf, response->body.data, response->body.length);
}

void pyro_http_response_free(pyro_http_response *response)
{
    pyro_buf_free(&response->fields);
    pyro_buf_free(&response->body);
    if (response->file >= 0)
        close(response->file);
    response->file = -1;
}
