/* Writing a small zip archive into memory: deflated members whose bytes depend on nothing else. */
#ifndef PYRO_BASE_ZIP_WRITE_H
#define PYRO_BASE_ZIP_WRITE_H

#include "base/containers/buf.h"

#include <stdint.h>

typedef struct pyro_zip_writer {
    pyro_buf *out;
    pyro_buf directory;
    uint16_t count;
    bool failed;
} pyro_zip_writer;

/* Members follow each other in `out`, which is empty and borrowed. */
void pyro_zip_write_begin(pyro_zip_writer *writer, pyro_buf *out);
/* At most 4 GiB a member and 65,535 members; more fails at the end. */
void pyro_zip_write_member(pyro_zip_writer *writer, const char *name, const void *bytes,
                           size_t size);
/* The directory. False when memory was out or a limit was passed; the writer is empty then. */
bool pyro_zip_write_end(pyro_zip_writer *writer);

#endif
