/* Implements interned strings: entries in insertion order, and an open-addressed table of ids. */
#include "base/containers/intern.h"

#include "base/bytes.h"
#include "base/containers/buf.h"
#include "base/pages.h"
#include <stdlib.h>
#include <string.h>

#define SMALLEST_CAPACITY 64
/* Ids have 32 bits. */
#define LARGEST_CAPACITY ((size_t)1 << 31)

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

/* Marks the bytes of a word that are decimal digits, by their highest bits. */
static uint64_t find_digits(uint64_t word)
{
    uint64_t other = word ^ UINT64_C(0x3030303030303030); /* of a digit: 0 to 9 */
    uint64_t above = (other & UINT64_C(0x7f7f7f7f7f7f7f7f)) + UINT64_C(0x7676767676767676);
    return ~(above | other) & UINT64_C(0x8080808080808080);
}

/* A text of less than 8 bytes as a word. */
static uint64_t short_word(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (length >= 4)
        return pyro_le32(bytes) | (uint64_t)pyro_le32(bytes + length - 4) << 8 * (length - 4);
    if (length == 0)
        return 0;
    return bytes[0] | (uint64_t)bytes[length / 2] << 8 * (length / 2) |
           (uint64_t)bytes[length - 1] << 8 * (length - 1);
}

/* The bytes from a multiple of 8 on, of which there are 8 or, at the end of the text, fewer. */
static uint64_t word_at(const char *text, size_t length, size_t at)
{
    if (at + 8 <= length)
        return pyro_le64((const unsigned char *)text + at);
    if (length < 8)
        return short_word(text, length);
    return pyro_le64((const unsigned char *)text + length - 8) >> 8 * (at + 8 - length);
}

/*
 * The seed is an address, so that a file cannot contain names that collide on purpose.
 *
 * Large files number their names: "add_0", "add_1". Texts that differ only in their last digit get
 * slots that are next to each other, in one or two lines of the cache; otherwise a million names
 * wait for memory a million times.
 */
static uint32_t hash_text(uintptr_t seed, const char *text, size_t length)
{
    uint64_t hash = (uint64_t)seed ^ length * UINT64_C(0x9e3779b97f4a7c15), digit = 0, digits = 0;
    size_t at = length ? (length - 1) & ~(size_t)7 : 0;
    for (;; at -= 8) {
        uint64_t word = word_at(text, length, at);
        if (!digits && (digits = find_digits(word))) {
            int shift = 56 - __builtin_clzll(digits); /* of the last digit in the word */
            digit = word >> shift & 15;
            word ^= digit << shift;
        }
        hash = (hash ^ word) * UINT64_C(0xd6e8feb86659fd93);
        hash ^= hash >> 32;
        if (!at)
            break;
    }
    uint32_t mixed = (uint32_t)(hash * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return digits ? (mixed & ~UINT32_C(15)) | ((mixed + (uint32_t)digit) & 15) : mixed;
}

/*
 * A slot has 1 + the id in the bits that index the table, which is never full, and above them those
 * of the hash, so that entries, which are far apart in memory, are compared only if these are equal.
 */
static uint32_t make_slot(size_t capacity, uint32_t hash, size_t id)
{
    uint32_t index_bits = (uint32_t)(capacity - 1);
    return (hash & ~index_bits) | (uint32_t)(id + 1);
}

/* PYRO_INTERN_NONE for an empty slot. */
static uint32_t id_of_slot(const pyro_intern *table, uint32_t slot)
{
    return (slot & (uint32_t)(table->slot_capacity - 1)) - 1;
}

static bool is_text(const pyro_intern *table, uint32_t id, const char *text, size_t length,
                    uint32_t hash)
{
    const pyro_intern_entry *entry = &table->entries[id];
    return entry->hash == hash && entry->length == length &&
           (length == 0 || memcmp(entry->text, text, length) == 0);
}

/* Returns the slot of the text's id, or the empty slot where it belongs. */
static uint32_t *find_slot(const pyro_intern *table, const char *text, size_t length, uint32_t hash)
{
    uint32_t index_bits = (uint32_t)(table->slot_capacity - 1), at = hash & index_bits;
    for (; table->slots[at]; at = (at + 1) & index_bits) {
        if ((table->slots[at] ^ hash) & ~index_bits)
            continue;
        if (is_text(table, id_of_slot(table, table->slots[at]), text, length, hash))
            break;
    }
    return &table->slots[at];
}

/* Ids ahead of the current one whose slots are fetched from memory when a table grows. */
enum { FETCH_AHEAD = 16 };

static bool grow_slots(pyro_intern *table)
{
    size_t capacity = table->slot_capacity ? table->slot_capacity * 2 : SMALLEST_CAPACITY;
    uint32_t *slots = capacity <= LARGEST_CAPACITY ? pyro_calloc_pages(capacity, sizeof *slots)
                                                   : NULL;
    if (!slots)
        return false;
    for (size_t id = 0; id < table->count; id++) {
        if (id + FETCH_AHEAD < table->count)
            __builtin_prefetch(&slots[table->entries[id + FETCH_AHEAD].hash & (capacity - 1)], 1);
        size_t at = table->entries[id].hash & (capacity - 1);
        while (slots[at])
            at = (at + 1) & (capacity - 1);
        slots[at] = make_slot(capacity, table->entries[id].hash, id);
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
    uint32_t *slot = find_slot(table, text, length, hash);
    if (*slot)
        return id_of_slot(table, *slot);
    if (!pyro_grow(&table->entries, &table->entry_capacity, table->count + 1,
                   sizeof *table->entries))
        return PYRO_INTERN_NONE;
    char *copy = pyro_arena_text(table->arena, text, length);
    if (!copy)
        return PYRO_INTERN_NONE;
    table->entries[table->count] = (pyro_intern_entry){copy, (uint32_t)length, hash};
    *slot = make_slot(table->slot_capacity, hash, table->count);
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
    return id_of_slot(table, *find_slot(table, text, length, hash_in(table, text, length)));
}

/* Ids that are tried from the next one of a stream on: a second list may leave out some names. */
enum { STREAM_REACH = 4 };

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
    id = id_of_slot(table, *find_slot(table, text, length, hash));
    if (id != PYRO_INTERN_NONE)
        remember(order, id, hash, true);
    return id;
}
