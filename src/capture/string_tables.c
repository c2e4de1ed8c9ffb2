/*
 * Stores what records refer to, once in memory and once in the file, under `lock`. In front of that
 * each thread caches what it saw last; the caches compare contents, not only hashes.
 */
#include "capture/session.h"

#include <string.h>

#define LONGEST_TEXT 65536
#define PADDED(size) (((size) + 15) & ~(size_t)15)

static bool has_data_room(pyro_session *session, size_t needed)
{
    if (session->data_chunk != PYRO_NO_CHUNK &&
        session->data_used + needed <= PYRO_RECORDING_CHUNK_BYTES)
        return true;
    size_t index = pyro_chunk_take_for_data(session);
    if (index == PYRO_NO_CHUNK)
        return false;
    session->data_chunk = index;
    session->data_used = sizeof(pyro_chunk_header);
    return true;
}

/* Writes an entry to the file; false when it is out of space. */
static bool write_entry(pyro_session *session, uint32_t type, uint32_t id, const void *bytes,
                        size_t size)
{
    size_t needed = sizeof(pyro_data_entry) + PADDED(size);
    if (!has_data_room(session, needed))
        return false;
    char *chunk = pyro_chunk_address(session, session->data_chunk);
    pyro_data_entry *entry = (pyro_data_entry *)(chunk + session->data_used);
    entry->bytes = (uint32_t)size;
    entry->id = id;
    entry->type = type;
    memcpy(entry + 1, bytes, size);
    if (type == PYRO_DATA_MODULE && ((pyro_module_data *)(entry + 1))->root == 0)
        ((pyro_module_data *)(entry + 1))->root = id;
    session->data_used += needed;
    if (session->data_used > PYRO_RECORDING_CHUNK_BYTES / 2 &&
        session->data_used - needed <= PYRO_RECORDING_CHUNK_BYTES / 2)
        pthread_cond_signal(&session->allocator_wakes);
    __atomic_store_n(&entry->tag, (uint32_t)session->slots[session->data_chunk].sequence,
                     __ATOMIC_RELEASE);
    return true;
}

uint32_t pyro_data_add(pyro_session *session, uint32_t type, const void *bytes, size_t size)
{
    pyro_intern *table = &session->data[type];
    if (size > LONGEST_TEXT)
        size = LONGEST_TEXT;
    uint32_t index = pyro_intern_find(table, bytes, size);
    if (index != PYRO_INTERN_NONE)
        return index < session->written[type] ? index + 1 : 0;
    if (session->data_sealed)
        return 0;
    index = pyro_intern_add(table, bytes, size);
    if (index == PYRO_INTERN_NONE)
        return 0;
    if (!write_entry(session, type, index + 1, bytes, size)) {
        session->data_sealed = true;
        return 0;
    }
    session->written[type] = index + 1;
    return index + 1;
}

/* A child numbers its threads anew, so names are stored separately: number, then text. */
void pyro_data_thread_name(pyro_session *session, uint32_t thread, const char *name)
{
    char key[sizeof thread + 256];
    size_t length = strnlen(name, sizeof key - sizeof thread);
    memcpy(key, &thread, sizeof thread);
    memcpy(key + sizeof thread, name, length);
    pyro_intern_add(&session->data[PYRO_DATA_THREAD], key, sizeof thread + length);
    if (!session->data_sealed)
        write_entry(session, PYRO_DATA_THREAD, thread, name, length);
}

bool pyro_data_rewrite(pyro_session *session)
{
    for (uint32_t type = 0; type < PYRO_DATA_TYPES; type++) {
        const pyro_intern *table = &session->data[type];
        for (uint32_t i = 0; i < session->written[type]; i++)
            if (!write_entry(session, type, i + 1, table->entries[i].text,
                             table->entries[i].length))
                return false;
    }
    return true;
}

/* The table's copy of what was just looked up; it stays until the session ends. */
static uint32_t add_kept(uint32_t type, const void *bytes, size_t size, const void **kept)
{
    pyro_session *session = &pyro_the_session;
    pthread_mutex_lock(&session->lock);
    uint32_t id = pyro_data_add(session, type, bytes, size);
    if (id)
        *kept = session->data[type].entries[id - 1].text;
    pthread_mutex_unlock(&session->lock);
    return id;
}

uint32_t pyro_table_name(pyro_recorder_thread *thread, const char *text)
{
    pyro_thread_slot *owner = (pyro_thread_slot *)thread;
    uintptr_t address = (uintptr_t)text;
    pyro_name_slot *slot = &owner->names[(address >> 3 ^ address >> 13) % PYRO_NAME_SLOTS];
    if (slot->address == text && strcmp(slot->text, text) == 0)
        return slot->id;
    size_t length = strnlen(text, LONGEST_TEXT);
    const void *kept = NULL;
    uint32_t id = add_kept(PYRO_DATA_NAME, text, length, &kept);
    if (id)
        *slot = (pyro_name_slot){text, kept, id};
    return id;
}

static uint64_t hash_words(const uint64_t *words, size_t count)
{
    uint64_t hash = count * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ words[i]) * UINT64_C(0xd6e8feb86659fd93);
        hash ^= hash >> 32;
    }
    return hash;
}

static uint32_t look_up_words(pyro_recorder_thread *thread, uint32_t type, const uint64_t *words,
                              size_t count)
{
    pyro_thread_slot *owner = (pyro_thread_slot *)thread;
    uint64_t hash = hash_words(words, count) + type;
    pyro_word_slot *slot = &owner->words[hash % PYRO_WORD_SLOTS];
    /* The type is part of the slot: storages and shapes may be the same words. */
    uint32_t key = (uint32_t)count << 4 | type;
    if (slot->words && slot->count == key && memcmp(slot->words, words, count * sizeof *words) == 0)
        return slot->id;
    const void *kept = NULL;
    uint32_t id = add_kept(type, words, count * sizeof *words, &kept);
    if (id)
        *slot = (pyro_word_slot){kept, key, id};
    return id;
}

uint32_t pyro_table_signature(pyro_recorder_thread *thread, const uint64_t *words, size_t count)
{
    return count <= PYRO_SIGNATURE_MOST_WORDS
               ? look_up_words(thread, PYRO_DATA_SIGNATURE, words, count)
               : 0;
}

uint32_t pyro_table_storages(pyro_recorder_thread *thread, const uint64_t *words, size_t count)
{
    return count <= PYRO_SIGNATURE_MOST_WORDS
               ? look_up_words(thread, PYRO_DATA_STORAGES, words, count)
               : 0;
}

uint32_t pyro_table_launch(pyro_recorder_thread *thread, const pyro_launch_data *launch)
{
    uint64_t words[sizeof *launch / sizeof(uint64_t)];
    memcpy(words, launch, sizeof words);
    return look_up_words(thread, PYRO_DATA_LAUNCH, words, sizeof words / sizeof *words);
}
