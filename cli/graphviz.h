/* Draws graphs with Graphviz, if it is installed. */
#ifndef PYRO_CLI_GRAPHVIZ_H
#define PYRO_CLI_GRAPHVIZ_H

#include "base/containers/buf.h"

#include <pyrometer/error.h>

/* Runs `dot` on a graph in the DOT language and stores the SVG it writes. */
int pyro_graphviz_svg(pyro_buf *svg, const char *text, size_t size, pyro_error *error);

#endif
