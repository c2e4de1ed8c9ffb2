/* The responses of pyrometer serve: its own page and scripts, the list of files, their pages. */
#ifndef PYRO_CLI_SERVE_ROUTES_H
#define PYRO_CLI_SERVE_ROUTES_H

#include "cli/serve/products.h"
#include "http/server.h"

#define SERVE_TOKEN_BYTES 33

typedef struct serve_site {
    serve_folder folder;
    serve_products *products;
    char token[SERVE_TOKEN_BYTES];
    pyro_buf list; /* the files, as JSON */
    int64_t listed_ms;
} serve_site;

/* The calls of the server; `user` is the site. */
void serve_respond(void *user, const pyro_http_request *request, pyro_http_response *response);
void serve_tick(void *user);

#endif
