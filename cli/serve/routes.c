/*
 * Finds the response of a request. Every name of this machine's loopback is accepted as Host and no
 * other, so that a foreign page cannot reach the server through its own name; data needs the token.
 */
#include "cli/serve/routes.h"

#include <string.h>
#include <time.h>

#define LIST_AGE_MS 1000
#define BEARER "Bearer "

/* Written by cmake/serve.S.in from web/serve/. */
extern const char pyro_serve_html[], pyro_serve_script[], pyro_serve_style[];

#define OWN_POLICY \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; " \
    "connect-src 'self'; frame-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; " \
    "frame-ancestors 'none'\r\n"
/* A page brings its own policy; only we may frame it. */
#define PAGE_POLICY "Content-Security-Policy: frame-ancestors 'self'\r\n"
#define COMMON_FIELDS \
    "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"

static const struct {
    const char *path, *type, *content;
} assets[] = {
    {"/", "text/html; charset=utf-8", pyro_serve_html},
    {"/view", "text/html; charset=utf-8", pyro_serve_html},
    {"/serve.js", "text/javascript; charset=utf-8", pyro_serve_script},
    {"/serve.css", "text/css; charset=utf-8", pyro_serve_style},
};

/* Any port is accepted: a tunnel may have another one. */
static bool is_own_host(const pyro_http_request *request)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    pyro_http_text host;

    if (!pyro_http_field(request, "host", &host))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]), at = length + 1;

        if (host.length < length || memcmp(host.text, names[i], length) != 0)
            continue;
        while (at < host.length && host.text[at] >= '0' && host.text[at] <= '9')
            at++;
        if (host.length == length || (host.text[length] == ':' && at == host.length))
            return true;
    }
    return false;
}

/* Takes the same time for every wrong token. */
static bool is_token(const serve_site *site, const char *text, size_t length)
{
    unsigned difference = length != SERVE_TOKEN_BYTES - 1;

    for (size_t i = 0; i < SERVE_TOKEN_BYTES - 1; i++)
        difference |= (unsigned char)site->token[i] ^ (unsigned char)(i < length ? text[i] : 0);
    return difference == 0;
}

static bool is_allowed(const serve_site *site, const pyro_http_request *request)
{
    pyro_http_text value;
    char token[SERVE_TOKEN_BYTES + 1];
    size_t prefix = strlen(BEARER);

    if (pyro_http_field(request, "authorization", &value) && value.length > prefix &&
        memcmp(value.text, BEARER, prefix) == 0)
        return is_token(site, value.text + prefix, value.length - prefix);
    return pyro_http_parameter(request, "token", token, sizeof token) &&
           is_token(site, token, strlen(token));
}

static bool send_asset(const pyro_http_request *request, pyro_http_response *response)
{
    for (size_t i = 0; i < sizeof assets / sizeof *assets; i++) {
        if (!pyro_http_is(request->path, assets[i].path))
            continue;
        response->type = assets[i].type;
        pyro_buf_adds(&response->fields, OWN_POLICY);
        pyro_buf_adds(&response->body, assets[i].content);
        return true;
    }
    return false;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Many clients that ask often get the same list. */
static void send_list(serve_site *site, pyro_http_response *response)
{
    int64_t time_ms = now_ms();

    if (site->list.length == 0 || time_ms - site->listed_ms > LIST_AGE_MS) {
        pyro_buf_free(&site->list);
        serve_folder_list(&site->list, &site->folder);
        site->listed_ms = now_ms();
    }
    response->type = "application/json";
    response->body.failed |= site->list.failed;
    if (!site->list.failed)
        pyro_buf_add(&response->body, site->list.data, site->list.length);
}

static void send_state(serve_site *site, const pyro_http_request *request,
                       pyro_http_response *response, serve_product_kind kind)
{
    char path[SERVE_PATH_BYTES];
    serve_file file;

    response->type = "application/json";
    if (!pyro_http_parameter(request, "file", path, sizeof path) ||
        !serve_folder_look(&site->folder, path, &file) || file.kind == SERVE_OTHER ||
        (kind == SERVE_PERFETTO && file.kind == SERVE_RESULT))
        response->status = 404;
    else if (!serve_products_state(&response->body, site->products, kind, &file))
        response->status = 503;
}

static void send_product(serve_site *site, const pyro_http_request *request,
                         pyro_http_response *response, serve_product_kind kind)
{
    char path[SERVE_PATH_BYTES];
    serve_file file;

    if (pyro_http_parameter(request, "file", path, sizeof path) &&
        serve_folder_look(&site->folder, path, &file))
        response->file = serve_products_open(site->products, kind, path, &response->file_bytes);
    if (response->file < 0) {
        response->status = 404;
        return;
    }
    if (kind == SERVE_PAGE)
        pyro_buf_adds(&response->fields, PAGE_POLICY);
    response->type = kind == SERVE_PAGE ? "text/html; charset=utf-8" : "application/octet-stream";
}

void serve_respond(void *user, const pyro_http_request *request, pyro_http_response *response)
{
    serve_site *site = user;

    pyro_buf_adds(&response->fields, COMMON_FIELDS);
    if (!is_own_host(request)) {
        response->status = 421;
    } else if (send_asset(request, response)) {
        return;
    } else if (!is_allowed(site, request)) {
        response->status = 403;
        pyro_buf_adds(&response->body,
                      "Forbidden: open the address that pyrometer serve printed\n");
    } else if (pyro_http_is(request->path, "/api/files")) {
        send_list(site, response);
    } else if (pyro_http_is(request->path, "/api/page")) {
        send_state(site, request, response, SERVE_PAGE);
    } else if (pyro_http_is(request->path, "/api/perfetto")) {
        send_state(site, request, response, SERVE_PERFETTO);
    } else if (pyro_http_is(request->path, "/page")) {
        send_product(site, request, response, SERVE_PAGE);
    } else if (pyro_http_is(request->path, "/perfetto")) {
        send_product(site, request, response, SERVE_PERFETTO);
    } else {
        response->status = 404;
    }
}

void serve_tick(void *user)
{
    serve_site *site = user;

    serve_products_tick(site->products);
}
