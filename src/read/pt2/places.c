/*
 * Resolves the module stacks of nodes. In a large program a thread does so while the reader goes on:
 * it alone uses the modules of the model then, and nodes hold numbers of stacks until the end.
 */
#include "read/pt2/pt2.h"

#include "base/processors.h"
#include "base/thread.h"
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 4, BATCH_BYTES = 128 << 10 };
/* In place of the length of a stack: the node has none. */
#define NO_STACK UINT32_MAX

struct pt2_places {
    pyro_model *model;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Guarded by the mutex. */
    size_t filled, resolved; /* batches, counted from the start */
    bool ended;
    /* Lengths and texts. The reader owns batches[filled], the thread batches[resolved]. */
    pyro_buf batches[BATCHES];
    uint32_t stack_count; /* of the reader */
    /* Of the thread until it is joined: the places of the stacks. */
    pyro_place *places;
    size_t place_count, place_capacity;
    bool failed;
};

static pyro_place resolve(pyro_model *model, const char *stack, size_t length)
{
    pyro_place place = pyro_model_place_of_stack(model, stack, length);
    if (place.module != PYRO_NO_VALUE && length && stack[0] == ',')
        place.call = pyro_model_enter(model, place.module);
    return place;
}

static bool keep_place(pt2_places *places, pyro_place place)
{
    if (place.module == PYRO_NO_VALUE ||
        !pyro_grow(&places->places, &places->place_capacity, places->place_count + 1,
                   sizeof *places->places))
        return false;
    places->places[places->place_count++] = place;
    return true;
}

/* False if memory runs out. */
static bool resolve_batch(pt2_places *places, const pyro_buf *batch)
{
    uint32_t length;
    if (batch->failed)
        return false;
    for (size_t at = 0; at < batch->length; at += length) {
        memcpy(&length, batch->data + at, sizeof length);
        at += sizeof length;
        if (length == NO_STACK) {
            places->model->open_call = PYRO_NO_VALUE;
            length = 0;
        } else if (!keep_place(places, resolve(places->model, batch->data + at, length))) {
            return false;
        }
    }
    return true;
}

static void *run(void *argument)
{
    pt2_places *places = argument;
    pthread_mutex_lock(&places->mutex);
    while (places->resolved < places->filled || !places->ended) {
        if (places->resolved == places->filled) {
            pthread_cond_wait(&places->changed, &places->mutex);
            continue;
        }
        pyro_buf *batch = &places->batches[places->resolved % BATCHES];
        pthread_mutex_unlock(&places->mutex);
        places->failed = places->failed || !resolve_batch(places, batch);
        batch->length = 0;
        pthread_mutex_lock(&places->mutex);
        places->resolved++;
        pthread_cond_signal(&places->changed);
    }
    pthread_mutex_unlock(&places->mutex);
    return NULL;
}

/* Passes the current batch to the thread, and waits until the next one is free. */
static void pass_batch(pt2_places *places)
{
    pthread_mutex_lock(&places->mutex);
    places->filled++;
    pthread_cond_signal(&places->changed);
    while (places->filled - places->resolved == BATCHES)
        pthread_cond_wait(&places->changed, &places->mutex);
    pthread_mutex_unlock(&places->mutex);
}

static void add_stack(pt2_places *places, uint32_t length, const char *stack)
{
    pyro_buf *batch = &places->batches[places->filled % BATCHES];
    pyro_buf_add(batch, &length, sizeof length);
    if (length != NO_STACK)
        pyro_buf_add(batch, stack, length);
    if (batch->length >= BATCH_BYTES)
        pass_batch(places);
}

bool pt2_place_node(pt2_reader *reader, pyro_node *node, const char *stack, size_t length)
{
    pt2_places *places = reader->places;
    if (places) { /* lengths and counts fit: PYRO_PT2_MAX_BYTES bounds the file */
        add_stack(places, (uint32_t)length, stack);
        node->module = places->stack_count++;
        return true;
    }
    pyro_place place = resolve(reader->model, stack, length);
    if (place.module == PYRO_NO_VALUE)
        return pt2_out_of_memory(reader);
    node->module = place.module;
    node->call = place.call;
    return true;
}

void pt2_place_nowhere(pt2_reader *reader)
{
    if (reader->places)
        add_stack(reader->places, NO_STACK, NULL);
    else
        reader->model->open_call = PYRO_NO_VALUE;
}

void pt2_places_start(pt2_reader *reader)
{
    pt2_places *places = pyro_count_processors() > 1 ? calloc(1, sizeof *places) : NULL;
    if (!places)
        return;
    places->model = reader->model;
    pthread_mutex_init(&places->mutex, NULL);
    pthread_cond_init(&places->changed, NULL);
    if (!pyro_thread_start(&places->thread, "pyrometer-stack", run, places)) {
        reader->places = places;
        return;
    }
    pthread_mutex_destroy(&places->mutex);
    pthread_cond_destroy(&places->changed);
    free(places);
}

static void join(pt2_places *places)
{
    pthread_mutex_lock(&places->mutex);
    places->filled++;
    places->ended = true;
    pthread_cond_signal(&places->changed);
    pthread_mutex_unlock(&places->mutex);
    pthread_join(places->thread, NULL);
}

static void set_places(const pt2_places *places)
{
    for (pyro_graph *graph = places->model->all_graphs; graph; graph = graph->next)
        for (size_t n = 0; n < graph->node_count; n++) {
            pyro_node *node = &graph->nodes[n];
            if (node->module == PYRO_NO_VALUE)
                continue;
            node->call = places->places[node->module].call;
            node->module = places->places[node->module].module;
        }
}

bool pt2_places_end(pt2_reader *reader)
{
    pt2_places *places = reader->places;
    if (!places)
        return true;
    join(places);
    bool good = !places->failed;
    if (good)
        set_places(places);
    for (size_t i = 0; i < BATCHES; i++)
        pyro_buf_free(&places->batches[i]);
    free(places->places);
    pthread_mutex_destroy(&places->mutex);
    pthread_cond_destroy(&places->changed);
    free(places);
    reader->places = NULL;
    return good || pt2_out_of_memory(reader);
}
