/* Keeps code objects alive while recorded stacks name them. */
#ifndef PYROMETER_EXTENSION_STACK_CODES_H
#define PYROMETER_EXTENSION_STACK_CODES_H

#include "module.h"

/*
 * A cached stack must identify its code objects uniquely: a reused address would give wrong lines.
 * Since Python 3.12 every code object has a unique number. In 3.11 we hold references until the
 * session ends. Taking one needs the GIL, which ops do not have, so core_stacks_hold() takes
 * references to all code that a module's class reaches when the module gets its name. Stacks with
 * other code are written every time, but not cached.
 */
#if PY_VERSION_HEX >= 0x030C0000
#define CODE_HAS_NUMBER 1
#else
#define CODE_HAS_NUMBER 0
#endif

/* Holds code, and the functions and classes of its file; false if the code could not be held. */
bool stacks_hold_file(PyObject *code, PyObject *globals);
/* Releases all code objects. Call with the GIL, after the session. */
void stacks_release(void);

#endif
