/*
 * The folder that is served: opens files in it, and nothing outside of it, and recognises what they
 * are. Never follows a symbolic link and never opens anything but regular files and folders.
 */
#ifndef PYRO_CLI_SERVE_FOLDER_H
#define PYRO_CLI_SERVE_FOLDER_H

#include "base/containers/buf.h"

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stdint.h>

#define SERVE_PATH_BYTES 1024
#define SERVE_SCHEMA_BYTES 48

typedef struct serve_folder {
    int fd;
    char *path;  /* absolute */
    char *only;  /* the one file that is served; NULL: all */
} serve_folder;

typedef enum serve_kind { SERVE_OTHER, SERVE_RECORDING, SERVE_TRACE, SERVE_RESULT } serve_kind;

/* A file, and what its first bytes say about it. */
typedef struct serve_file {
    char path[SERVE_PATH_BYTES]; /* below the folder */
    char schema[SERVE_SCHEMA_BYTES]; /* of a result: "pyrometer.cost/1" */
    serve_kind kind;
    int64_t size_bytes, modified_ns;
    int64_t duration_ns; /* of a recording so far; 0 unknown */
    uint64_t version; /* changes when the content does */
    bool is_growing;
} serve_file;

/* Opens a folder, or the folder of a file; the caller closes it also after a failure. */
int serve_folder_open(serve_folder *folder, const char *path, pyro_error *error);
void serve_folder_close(serve_folder *folder);

/* Fills `out` for a path below the folder. False if there is no such regular file. */
bool serve_folder_look(const serve_folder *folder, const char *path, serve_file *out);

/* Adds the list of files as JSON (schemas/folder.schema.json), newest first. */
void serve_folder_list(pyro_buf *buf, const serve_folder *folder);
/* "recording", "trace", "result". */
const char *serve_kind_name(serve_kind kind);

#endif
