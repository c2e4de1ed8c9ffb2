/*
 * Variables that the recorder reads at every event lie side by side, in few cache lines and pages:
 * between two events the program evicts them, and in a virtual machine a lookup of a page costs as
 * much as a cache miss. The Python extension uses the same section.
 */
#ifndef PYRO_BASE_EVERY_EVENT_H
#define PYRO_BASE_EVERY_EVENT_H

#define PYRO_EVERY_EVENT __attribute__((section("every_event")))

#endif
