/* Requests: complete or not, good or bad; fields and parameters. */
#include "http/request.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static pyro_http_request parse(const char *text)
{
    pyro_http_request request;
    pyro_http_parse(&request, text, strlen(text));
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
        {"GET /other HTTP/1.1\r\n\r\n", 200},
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
    static char text[PYRO_HTTP_MOST_BYTES + 10];
    pyro_http_request request;
    memset(text, 'a', sizeof text);
    pyro_http_parse(&request, text, PYRO_HTTP_MOST_BYTES - 1);
    assert_int_equal(request.status, 0);
    pyro_http_parse(&request, text, PYRO_HTTP_MOST_BYTES);
    assert_int_equal(request.status, 431);
    memcpy(text + sizeof text - 4, "\r\n\r\n", 4);
    pyro_http_parse(&request, text, sizeof text);
    assert_int_equal(request.status, 431);
}

static bool is(pyro_http_text text, const char *other)
{
    return pyro_http_is(text, other);
}

static void test_target(void **state)
{
    (void)state;
    pyro_http_request request = parse("GET /a/b?c=d?e HTTP/1.1\r\n\r\n");
    assert_true(is(request.path, "/a/b"));
    assert_true(is(request.query, "c=d?e"));
    request = parse("HEAD /%2e%2e/x HTTP/1.1\r\n\r\n");
    assert_true(request.is_head && is(request.path, "/%2e%2e/x") && request.query.length == 0);
}

static void test_fields(void **state)
{
    (void)state;
    pyro_http_text value;
    pyro_http_request request = parse("GET / HTTP/1.1\r\nACCEPT: text/plain;q=0.1, "
                                      "Application/OpenMetrics-Text\r\nhost: \tx:1 \r\n"
                                      "twice: 1\r\nTwice: 2\r\n\r\n");
    assert_true(pyro_http_field_contains(&request, "accept", "application/openmetrics-text"));
    assert_false(pyro_http_field_contains(&request, "accept", "image/png"));
    assert_true(pyro_http_field_contains(&request, "twice", "2"));
    assert_true(pyro_http_field(&request, "Host", &value) && is(value, "x:1"));
    assert_false(pyro_http_field(&request, "twice", &value));
    assert_false(pyro_http_field(&request, "hos", &value));
    assert_false(pyro_http_field(&request, "missing", &value));
}

static void test_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *query, *value; /* NULL: not accepted */
    } cases[] = {
        {"file=run.pyro", "run.pyro"},
        {"a=1&file=a%20b+c%2Fd", "a b c/d"},
        {"file=", ""},
        {"file", ""},
        {"file=%c3%A4", "\xc3\xa4"},
        {"file=a%00b", NULL},
        {"file=%", NULL},
        {"file=%2", NULL},
        {"file=%zz", NULL},
        {"files=x", NULL},
        {"file=0123456789abcdef", NULL},
        {"file=0123456789abcde", "0123456789abcde"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200], value[16];
        snprintf(text, sizeof text, "GET /x?%s HTTP/1.1\r\n\r\n", cases[i].query);
        pyro_http_request request = parse(text);
        bool found = pyro_http_parameter(&request, "file", value, sizeof value);
        if (found != (cases[i].value != NULL) || (found && strcmp(value, cases[i].value) != 0))
            fail_msg("%s", cases[i].query);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_status), cmocka_unit_test(test_too_long),   cmocka_unit_test(test_target),
    cmocka_unit_test(test_fields), cmocka_unit_test(test_parameters),
};

UNIT_TESTS(tests, NULL, NULL)
