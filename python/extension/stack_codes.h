/* Code objects that stacks name. */
#ifndef PYROMETER_EXTENSION_STACK_CODES_H
#define PYROMETER_EXTENSION_STACK_CODES_H

#include "module.h"

/*
 * A stack may only be kept while what it names cannot become another's: an address that is used
 * again would give wrong lines. From 3.12 on every code object has a number of its own. In 3.11
 * code objects are held until the session ends, which only a thread with the interpreter's lock can
 * do, and ops run without it: so all code that a module's class reaches is held when the module is
 * named (core_stacks_hold). What is met besides is written each time, but not kept.
 */
#if PY_VERSION_HEX >= 0x030C0000
#define CODE_HAS_NUMBER 1
#else
#define CODE_HAS_NUMBER 0
#endif

/* Holds code, and the functions and classes of the file that it is from; false where it is not
 * held. */
bool stacks_hold_file(PyObject *code, PyObject *globals);
/* Drops all code objects; with the interpreter's lock, after the session. */
void stacks_release(void);

#endif
