/* Responses: heads, bodies, reasons. */
#include "http/response.h"
#include "unit.h"

#include <string.h>

static void test_body(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_http_response response = PYRO_HTTP_RESPONSE_INIT;
    response.type = "text/html";
    pyro_buf_adds(&response.fields, "X-Own: 1\r\n");
    pyro_buf_adds(&response.body, "x 1\n");
    pyro_http_write_response(&buf, &response, false);
    assert_non_null(strstr(buf.data, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(buf.data, "Content-Type: text/html\r\n"));
    assert_non_null(strstr(buf.data, "Content-Length: 4\r\n"));
    assert_non_null(strstr(buf.data, "\r\nX-Own: 1\r\n"));
    assert_non_null(strstr(buf.data, "\r\n\r\nx 1\n"));
    pyro_buf_reset(&buf);
    pyro_http_write_response(&buf, &response, true);
    assert_non_null(strstr(buf.data, "Content-Length: 4\r\n"));
    assert_string_equal(buf.data + buf.length - 4, "\r\n\r\n");
    pyro_http_response_free(&response);
    pyro_buf_free(&buf);
}

static void test_reasons(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_http_response response = PYRO_HTTP_RESPONSE_INIT;
    response.status = 405;
    pyro_http_write_response(&buf, &response, false);
    assert_non_null(strstr(buf.data, "Allow: GET, HEAD\r\n"));
    assert_non_null(strstr(buf.data, "\r\n\r\nMethod Not Allowed\n"));
    pyro_buf_reset(&buf);
    response.status = 200; /* an empty body is a body */
    pyro_http_write_response(&buf, &response, false);
    assert_non_null(strstr(buf.data, "Content-Length: 0\r\n"));
    assert_string_equal(buf.data + buf.length - 4, "\r\n\r\n");
    pyro_buf_free(&buf);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_body),
    cmocka_unit_test(test_reasons),
};

UNIT_TESTS(tests, NULL, NULL)
