/* Writes small zip archives to memory. The same members always give the same bytes. */
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

/* Writes members to `out`, which is borrowed and must be empty. */
void pyro_zip_write_begin(pyro_zip_writer *writer, pyro_buf *out);
/* At most 4 GiB per member and 65,535 members; more fails at the end. */
void pyro_zip_write_member(pyro_zip_writer *writer, const char *name, const void *bytes,
                           size_t size);
/* Writes the directory. Returns false, with an empty writer, if memory ran out or a limit was
 * exceeded. */
bool pyro_zip_write_end(pyro_zip_writer *writer);

#endif
