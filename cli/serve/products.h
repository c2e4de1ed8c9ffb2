/*
 * Pages and Perfetto traces of files, made by child processes of the tool: a large or hostile file
 * costs the server neither memory nor time. Bounded: children at a time, their seconds, the number
 * of products that are kept. Results are unnamed temporary files.
 */
#ifndef PYRO_CLI_SERVE_PRODUCTS_H
#define PYRO_CLI_SERVE_PRODUCTS_H

#include "cli/serve/folder.h"

typedef enum serve_product_kind { SERVE_PAGE, SERVE_PERFETTO } serve_product_kind;

typedef struct serve_products serve_products;

/* NULL when memory is out. The folder must outlive it. */
serve_products *serve_products_new(const serve_folder *folder);
/* Ends the children. */
void serve_products_free(serve_products *products);

/* Collects children that have ended, ends those that take too long, starts the next ones. */
void serve_products_tick(serve_products *products);

/*
 * Adds the state of a product as JSON: {"state": "building"|"ready"|"failed", "revision": N, ...}.
 * Starts to make it, or to make it again after the file has changed. False: too many are wanted.
 */
bool serve_products_state(pyro_buf *buf, serve_products *products, serve_product_kind kind,
                          const serve_file *file);
/* A descriptor of the finished product, which the caller closes, and its size; -1: not there. */
int serve_products_open(serve_products *products, serve_product_kind kind, const char *path,
                        int64_t *size_bytes);

#endif
