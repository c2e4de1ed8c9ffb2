/* Interned strings: equal texts get equal ids, which count from 0. */
#ifndef PYRO_BASE_CONTAINERS_INTERN_H
#define PYRO_BASE_CONTAINERS_INTERN_H

#include "base/containers/arena.h"
#include <stdint.h>

#define PYRO_INTERN_NONE UINT32_MAX

typedef struct pyro_intern_entry {
    const char *text; /* NUL-terminated; may also contain NULs */
    uint32_t length;
    uint32_t hash;
} pyro_intern_entry;

typedef struct pyro_intern {
    pyro_arena *arena; /* the caller's: texts live there */
    pyro_intern_entry *entries;
    size_t count, entry_capacity;
    uint32_t *slots; /* id + 1 and a part of the hash, 0: empty; capacity is 0 or a power of two */
    size_t slot_capacity;
} pyro_intern;

void pyro_intern_init(pyro_intern *table, pyro_arena *arena);
void pyro_intern_free(pyro_intern *table);
/* Returns the id of a text and copies new ones; PYRO_INTERN_NONE if memory runs out. */
uint32_t pyro_intern_add(pyro_intern *table, const char *text, size_t length);
/* Returns the id of a text, or PYRO_INTERN_NONE if it was never added. */
uint32_t pyro_intern_find(const pyro_intern *table, const char *text, size_t length);

enum { PYRO_INTERN_STREAMS = 4, PYRO_INTERN_RECENT = 64 };

/*
 * Where texts were found lately, for files that name the same things several times: in the same
 * order (streams), or soon again (recent). Zeroed at first; one for one table.
 */
typedef struct pyro_intern_order {
    uint32_t next[PYRO_INTERN_STREAMS]; /* the ids after those found last */
    uint32_t replaced; /* counts the streams that were begun */
    uint32_t recent[PYRO_INTERN_RECENT]; /* 1 + id, by hash */
} pyro_intern_order;

/*
 * Like the functions above. A large table does not fit in the processor's caches, and a lookup waits
 * for memory three times; texts that the order predicts are compared without the table.
 */
uint32_t pyro_intern_add_ordered(pyro_intern *table, pyro_intern_order *order, const char *text,
                                 size_t length);
uint32_t pyro_intern_find_ordered(const pyro_intern *table, pyro_intern_order *order,
                                  const char *text, size_t length);

static inline const char *pyro_intern_text(const pyro_intern *table, uint32_t id)
{
    return table->entries[id].text;
}

#endif
