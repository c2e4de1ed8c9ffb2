/* Drawing through Graphviz, where it is installed. */
#ifndef PYRO_CLI_GRAPHVIZ_H
#define PYRO_CLI_GRAPHVIZ_H

#include "base/containers/buf.h"

#include <pyrometer/error.h>

/* The SVG that `dot` makes of a text of its language. */
int pyro_graphviz_svg(pyro_buf *svg, const char *text, size_t size, pyro_error *error);

#endif
