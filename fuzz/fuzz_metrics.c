/* Fuzzes the metrics endpoint: requests in any pieces, and the address that it listens at. */
#include "metrics/request.h"
#include <pyrometer/metrics.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_response(const pyro_request *request)
{
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_response_write(&buf, request, "x 1\n", 4);
    if (buf.failed || !strstr(buf.data, "\r\n\r\n") || !strstr(buf.data, "Content-Length: "))
        abort();
    pyro_buf_free(&buf);
}

/* However a request is cut, it is read once it is complete, and then always the same way. */
static void check_request(const char *bytes, size_t size)
{
    pyro_request whole, part;

    pyro_request_parse(&whole, bytes, size);
    if (whole.status)
        check_response(&whole);
    else if (size >= PYRO_REQUEST_MOST_BYTES)
        abort();
    for (size_t length = size > 64 ? size - 64 : 0; length < size; length++) {
        pyro_request_parse(&part, bytes, length);
        if (part.status && part.status != whole.status)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), again[PYRO_METRICS_ADDRESS_TEXT];
    pyro_metrics_address address, same;

    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    check_request(text, size);
    if (pyro_metrics_parse_address(&address, text, NULL) == PYRO_OK) {
        pyro_metrics_format_address(again, &address);
        if (pyro_metrics_parse_address(&same, again, NULL) != PYRO_OK ||
            same.port != address.port || strcmp(same.host, address.host) != 0)
            abort();
    }
    free(text);
    return 0;
}
