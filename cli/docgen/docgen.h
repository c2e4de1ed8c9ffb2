/* Generates command pages in Markdown. */
#ifndef PYRO_DOCGEN_H
#define PYRO_DOCGEN_H

#include "base/containers/buf.h"
#include "cli/command.h"

/* Writes the page of a command, for the site of `make docs`. */
void pyro_docgen_markdown(pyro_buf *buf, const pyro_command *command);
/* Writes the page that lists all commands. */
void pyro_docgen_markdown_index(pyro_buf *buf);

#endif
