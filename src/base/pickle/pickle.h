/*
 * Reads pickles of plain data (dicts, lists, tuples, texts, numbers, booleans, None) as JSON. Opcodes
 * that import, call or build objects are refused or described: nothing in a pickle is ever executed.
 */
#ifndef PYRO_BASE_PICKLE_PICKLE_H
#define PYRO_BASE_PICKLE_PICKLE_H

#include "base/containers/buf.h"
#include <pyrometer/error.h>

/* Whether bytes begin like a pickle of protocol 2 or later. */
bool pyro_is_pickle(const void *bytes, size_t size);
/* Appends the JSON of a pickle: keys become texts, tuples arrays, bytes null. */
int pyro_pickle_to_json(pyro_buf *out, const void *bytes, size_t size, pyro_error *error);
/*
 * The same, with objects described: a call is {"call": name, "arguments": [...], "items": {...},
 * "state": ...}, a storage a call without a name, an imported name its text, and a dict
 * {"items": {...}}.
 */
int pyro_pickle_describe(pyro_buf *out, const void *bytes, size_t size, pyro_error *error);

#endif
