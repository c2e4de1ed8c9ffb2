/* Requests: complete or not, good or bad; responses. */
#include "metrics/request.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static pyro_request parse(const char *text)
{
    pyro_request request;
    pyro_request_parse(&request, text, strlen(text));
    return request;
}

static void test_status(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 200},
        {"GET / HTTP/1.0\n\n", 200},
        {"GET /metrics?name=a HTTP/1.1\r\n\r\n", 200},
        {"HEAD /metrics HTTP/1.1\r\n\r\n", 200},
        {"GET /metrics HTTP/1.1\r\nHost: x\r\n", 0},
        {"", 0},
        {"GET /other HTTP/1.1\r\n\r\n", 404},
        {"POST /metrics HTTP/1.1\r\n\r\n", 405},
        {"GET /metrics HTTP/2.0\r\n\r\n", 505},
        {"GET /metrics\r\n\r\n", 400},
        {"GET /metrics FTP/1.0\r\n\r\n", 400},
        {"GET /metrics HTTP/1.1 more\r\n\r\n", 400},
        {"GET /metrics HTTP/1.1\r\nno colon\r\n\r\n", 400},
        {"GET /metrics HTTP/1.1\r\n folded: x\r\n\r\n", 400},
        {"\r\n\r\n", 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (parse(cases[i].text).status != cases[i].status)
            fail_msg("%s: %d", cases[i].text, parse(cases[i].text).status);
}

static void test_too_long(void **state)
{
    (void)state;
    static char text[PYRO_REQUEST_MOST_BYTES + 10];
    pyro_request request;
    memset(text, 'a', sizeof text);
    pyro_request_parse(&request, text, PYRO_REQUEST_MOST_BYTES - 1);
    assert_int_equal(request.status, 0);
    pyro_request_parse(&request, text, PYRO_REQUEST_MOST_BYTES);
    assert_int_equal(request.status, 431);
    memcpy(text + sizeof text - 4, "\r\n\r\n", 4);
    pyro_request_parse(&request, text, sizeof text);
    assert_int_equal(request.status, 431);
}

static void test_format(void **state)
{
    (void)state;
    assert_false(parse("GET / HTTP/1.1\r\nAccept: text/plain\r\n\r\n").wants_openmetrics);
    assert_true(parse("GET / HTTP/1.1\r\nACCEPT: text/plain;q=0.1, Application/OpenMetrics-Text; "
                      "version=1.0.0\r\n\r\n")
                    .wants_openmetrics);
}

static void test_response(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_request request = {.status = 200, .wants_openmetrics = true};
    pyro_response_write(&buf, &request, "x 1\n", 4);
    assert_non_null(strstr(buf.data, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(buf.data, "application/openmetrics-text; version=1.0.0"));
    assert_non_null(strstr(buf.data, "Content-Length: 4\r\n"));
    assert_non_null(strstr(buf.data, "\r\n\r\nx 1\n"));
    pyro_buf_reset(&buf);
    request = (pyro_request){.status = 200, .is_head = true};
    pyro_response_write(&buf, &request, "x 1\n", 4);
    assert_non_null(strstr(buf.data, "Content-Length: 4\r\n"));
    assert_string_equal(buf.data + buf.length - 4, "\r\n\r\n");
    pyro_buf_reset(&buf);
    request = (pyro_request){.status = 405};
    pyro_response_write(&buf, &request, "", 0);
    assert_non_null(strstr(buf.data, "Allow: GET, HEAD\r\n"));
    assert_non_null(strstr(buf.data, "\r\n\r\nMethod Not Allowed\n"));
    pyro_buf_free(&buf);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_status),
    cmocka_unit_test(test_too_long),
    cmocka_unit_test(test_format),
    cmocka_unit_test(test_response),
};

UNIT_TESTS(tests, NULL, NULL)
