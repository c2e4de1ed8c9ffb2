/* Implements interned strings: entries in insertion order, and an open-addressed table of ids. */
#include "base/containers/intern.h"

#include "base/containers/buf.h"
#include "base/pages.h"
#include <stdlib.h>
#include <string.h>

#define SMALLEST_CAPACITY 64

void pyro_intern_init(pyro_intern *table, pyro_arena *arena)
{
    *table = (pyro_intern){.arena = arena};
}

void pyro_intern_free(pyro_intern *table)
{
    free(table->entries);
    free(table->slots);
    pyro_intern_init(table, table->arena);
}

/* The seed is an address, so that a file cannot contain names that collide on purpose. */
static uint32_t hash_text(uintptr_t seed, const char *text, size_t length)
{
    uint64_t hash = (uint64_t)seed ^ length * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t word;
    for (; length >= sizeof word; text += sizeof word, length -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = (hash ^ word) * UINT64_C(0xd6e8feb86659fd93);
        hash ^= hash >> 32;
    }
    word = 0;
    for (size_t i = 0; i < length; i++)
        word |= (uint64_t)(unsigned char)text[i] << 8 * i;
    hash = (hash ^ word) * UINT64_C(0xd6e8feb86659fd93);
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32);
}

static uint64_t make_slot(uint32_t hash, size_t id)
{
    return (uint64_t)hash << 32 | (id + 1);
}

/* PYRO_INTERN_NONE for an empty slot. */
static uint32_t id_of_slot(uint64_t slot)
{
    return (uint32_t)slot - 1;
}

/*
 * Returns the slot of the text's id, or the empty slot where it belongs. The slot holds the hash,
 * so that entries, which are far apart in memory, are compared only if the hashes are equal.
 */
static uint64_t *find_slot(const pyro_intern *table, const char *text, size_t length, uint32_t hash)
{
    size_t at = hash & (table->slot_capacity - 1);
    for (; table->slots[at]; at = (at + 1) & (table->slot_capacity - 1)) {
        if (table->slots[at] >> 32 != hash)
            continue;
        const pyro_intern_entry *entry = &table->entries[id_of_slot(table->slots[at])];
        if (entry->length == length && (length == 0 || memcmp(entry->text, text, length) == 0))
            break;
    }
    return &table->slots[at];
}

/* Ids ahead of the current one whose slots are fetched from memory when a table grows. */
enum { FETCH_AHEAD = 16 };

static bool grow_slots(pyro_intern *table)
{
    size_t capacity = table->slot_capacity ? table->slot_capacity * 2 : SMALLEST_CAPACITY;
    uint64_t *slots = pyro_calloc_pages(capacity, sizeof *slots);
    if (!slots)
        return false;
    for (size_t id = 0; id < table->count; id++) {
        if (id + FETCH_AHEAD < table->count)
            __builtin_prefetch(&slots[table->entries[id + FETCH_AHEAD].hash & (capacity - 1)], 1);
        size_t at = table->entries[id].hash & (capacity - 1);
        while (slots[at])
            at = (at + 1) & (capacity - 1);
        slots[at] = make_slot(table->entries[id].hash, id);
    }
    free(table->slots);
    table->slots = slots;
    table->slot_capacity = capacity;
    return true;
}

static uint32_t hash_in(const pyro_intern *table, const char *text, size_t length)
{
    return hash_text((uintptr_t)table->arena, text, length);
}

static uint32_t add_hashed(pyro_intern *table, const char *text, size_t length, uint32_t hash)
{
    if (table->count >= table->slot_capacity / 8 * 5 && !grow_slots(table))
        return PYRO_INTERN_NONE;
    uint64_t *slot = find_slot(table, text, length, hash);
    if (*slot)
        return id_of_slot(*slot);
    if (table->count >= PYRO_INTERN_NONE || !pyro_grow(&table->entries, &table->entry_capacity,
                                                       table->count + 1, sizeof *table->entries))
        return PYRO_INTERN_NONE;
    char *copy = pyro_arena_text(table->arena, text, length);
    if (!copy)
        return PYRO_INTERN_NONE;
    table->entries[table->count] = (pyro_intern_entry){copy, (uint32_t)length, hash};
    *slot = make_slot(hash, table->count);
    return (uint32_t)table->count++;
}

uint32_t pyro_intern_add(pyro_intern *table, const char *text, size_t length)
{
    if (length >= UINT32_MAX)
        return PYRO_INTERN_NONE;
    return add_hashed(table, text, length, hash_in(table, text, length));
}

uint32_t pyro_intern_find(const pyro_intern *table, const char *text, size_t length)
{
    if (table->count == 0 || length >= UINT32_MAX)
        return PYRO_INTERN_NONE;
    return id_of_slot(*find_slot(table, text, length, hash_in(table, text, length)));
}

/* Ids that are tried from the next one of a stream on: a second list may leave out some names. */
enum { STREAM_REACH = 4 };

static bool is_text(const pyro_intern *table, uint32_t id, const char *text, size_t length,
                    uint32_t hash)
{
    const pyro_intern_entry *entry = &table->entries[id];
    return entry->hash == hash && entry->length == length &&
           (length == 0 || memcmp(entry->text, text, length) == 0);
}

/* PYRO_INTERN_NONE: the order does not predict the text. */
static uint32_t predicted(const pyro_intern *table, pyro_intern_order *order, const char *text,
                          size_t length, uint32_t hash)
{
    uint32_t recent = order->recent[hash % PYRO_INTERN_RECENT];
    if (recent && is_text(table, recent - 1, text, length, hash))
        return recent - 1;
    for (size_t s = 0; s < PYRO_INTERN_STREAMS; s++) {
        size_t end = order->next[s] + (size_t)STREAM_REACH;
        if (end > table->count)
            end = table->count;
        for (size_t id = order->next[s]; id < end; id++)
            if (is_text(table, (uint32_t)id, text, length, hash)) {
                order->next[s] = (uint32_t)id + 1;
                order->recent[hash % PYRO_INTERN_RECENT] = (uint32_t)id + 1;
                return (uint32_t)id;
            }
    }
    return PYRO_INTERN_NONE;
}

/* Remembers an id; one that was already in the table may begin a stream. */
static void remember(pyro_intern_order *order, uint32_t id, uint32_t hash, bool is_old)
{
    order->recent[hash % PYRO_INTERN_RECENT] = id + 1;
    if (is_old)
        order->next[order->replaced++ % PYRO_INTERN_STREAMS] = id + 1;
}

uint32_t pyro_intern_add_ordered(pyro_intern *table, pyro_intern_order *order, const char *text,
                                 size_t length)
{
    if (length >= UINT32_MAX)
        return PYRO_INTERN_NONE;
    uint32_t hash = hash_in(table, text, length);
    uint32_t id = predicted(table, order, text, length, hash);
    if (id != PYRO_INTERN_NONE)
        return id;
    size_t count = table->count;
    id = add_hashed(table, text, length, hash);
    if (id != PYRO_INTERN_NONE)
        remember(order, id, hash, id < count);
    return id;
}

uint32_t pyro_intern_find_ordered(const pyro_intern *table, pyro_intern_order *order,
                                  const char *text, size_t length)
{
    if (table->count == 0 || length >= UINT32_MAX)
        return PYRO_INTERN_NONE;
    uint32_t hash = hash_in(table, text, length);
    uint32_t id = predicted(table, order, text, length, hash);
    if (id != PYRO_INTERN_NONE)
        return id;
    id = id_of_slot(*find_slot(table, text, length, hash));
    if (id != PYRO_INTERN_NONE)
        remember(order, id, hash, true);
    return id;
}
