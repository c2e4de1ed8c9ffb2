/* The categories of events as Kineto names them. */
#ifndef PYRO_TRACE_EXPORT_CATEGORIES_H
#define PYRO_TRACE_EXPORT_CATEGORIES_H

#include "trace/trace.h"

/* A layer's call with a path has its own category: our reader looks for paths only there. */
const char *pyro_event_category_name(const pyro_trace *trace, uint32_t event);

#endif
