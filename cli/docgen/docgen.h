/* Pages of the documentation generator that have a file of their own. */
#ifndef PYRO_DOCGEN_H
#define PYRO_DOCGEN_H

#include "base/containers/buf.h"
#include "cli/command.h"

/* The page of a command in Markdown, for the site of `make docs`. */
void pyro_docgen_markdown(pyro_buf *buf, const pyro_command *command);
/* The page that lists all commands. */
void pyro_docgen_markdown_index(pyro_buf *buf);

#endif
