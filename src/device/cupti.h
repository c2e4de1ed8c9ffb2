/*
 * CUPTI, NVIDIA's profiling library, loaded at run time: building needs no NVIDIA header. Only the
 * functions and constants in use are declared. The loader prefers the copy that torch has loaded,
 * because two copies in one process disturb each other.
 */
#ifndef PYRO_DEVICE_CUPTI_H
#define PYRO_DEVICE_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Results of functions. */
enum {
    PYRO_CUPTI_SUCCESS = 0,
    PYRO_CUPTI_END_OF_BUFFER = 12,
    PYRO_CUPTI_NO_DRIVER = 15, /* cannot connect to the driver */
    PYRO_CUPTI_NOT_SUPPORTED = 27,
    PYRO_CUPTI_NO_PRIVILEGES = 35,
    PYRO_CUPTI_TAKEN = 39
};

/* Kinds of activities. */
enum {
    PYRO_CUPTI_MEMCPY = 1,
    PYRO_CUPTI_MEMSET = 2,
    PYRO_CUPTI_KERNEL = 3,
    PYRO_CUPTI_CONCURRENT_KERNEL = 10,
    PYRO_CUPTI_OVERHEAD = 17,
    PYRO_CUPTI_PEER_MEMCPY = 22,
    PYRO_CUPTI_SYNCHRONIZATION = 38
};

/* Domains of callbacks, and the callbacks in use of the domain of resources. */
enum { PYRO_CUPTI_DRIVER = 1, PYRO_CUPTI_RUNTIME = 2, PYRO_CUPTI_RESOURCE = 3 };
enum { PYRO_CUPTI_NODE_CREATED = 13, PYRO_CUPTI_NODE_CLONED = 20 };

/* The attribute that says that buffers are handed over filled with zeros. */
enum { PYRO_CUPTI_ZEROED_BUFFERS = 5 };

/* What a callback of the driver or runtime domain gets. */
typedef struct pyro_cupti_call {
    uint32_t site; /* 0: entered, 1: about to return */
    const char *function;
    const void *parameters;
    const int *result; /* of the function; valid when it is about to return */
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *shared; /* a word between the two callbacks of a call */
    uint32_t correlation;
} pyro_cupti_call;

/* What a callback of the resource domain gets, and its descriptor for graphs. */
typedef struct pyro_cupti_resource {
    void *context, *handle, *descriptor;
} pyro_cupti_resource;

typedef struct pyro_cupti_graph {
    void *graph, *original_graph, *node, *original_node;
} pyro_cupti_graph;

typedef void (*pyro_cupti_callback)(void *user, int domain, uint32_t id, const void *data);
typedef void (*pyro_cupti_request)(uint8_t **buffer, size_t *size, size_t *most_records);
typedef void (*pyro_cupti_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                    size_t valid);

/* The same two for several subscribers; the last argument describes the buffer. */
typedef void (*pyro_cupti_request_shared)(uint8_t **buffer, size_t *size, size_t *most_records,
                                          void *about);
typedef void (*pyro_cupti_complete_shared)(uint8_t *buffer, size_t size, size_t valid, void *about);

/* The functions in use; each returns a result as above. */
typedef struct pyro_cupti {
    void *library;
    char path[256];
    uint32_t version;
    bool has_shared; /* all functions for several subscribers are there */
    int (*get_version)(uint32_t *version);
    int (*result_text)(int result, const char **text);
    int (*timestamp)(uint64_t *time);
    int (*subscribe)(void **subscriber, pyro_cupti_callback callback, void *user);
    int (*unsubscribe)(void *subscriber);
    int (*enable_callback)(uint32_t enable, void *subscriber, int domain, uint32_t id);
    int (*callback_name)(int domain, uint32_t id, const char **name);
    int (*register_buffers)(pyro_cupti_request request, pyro_cupti_complete complete);
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*flush)(uint32_t flags);
    int (*next_record)(uint8_t *buffer, size_t valid, void **record);
    int (*dropped)(void *context, uint32_t stream, size_t *count);
    int (*node_id)(void *node, uint64_t *id);                     /* may be NULL */
    int (*set_attribute)(int attribute, size_t *size, void *value); /* may be NULL */
    int (*record_queries)(uint8_t enable);                          /* may be NULL */
    /* For several subscribers, from CUDA 13.3 on; NULL before. */
    int (*subscribe_shared)(void **subscriber, pyro_cupti_callback callback, void *user,
                            void *parameters);
    int (*timestamp_shared)(void *subscriber, uint64_t *time);
    int (*register_buffers_shared)(void *subscriber, pyro_cupti_request_shared request,
                                   pyro_cupti_complete_shared complete);
    int (*enable_shared)(void *subscriber, int kind, void *configuration);
    int (*disable_shared)(void *subscriber, int kind, void *configuration);
    int (*next_record_shared)(void *subscriber, uint8_t *buffer, size_t valid, void **record);
    int (*dropped_shared)(void *subscriber, void *context, uint32_t stream, size_t *count);
    int (*set_attribute_shared)(void *subscriber, int attribute, size_t *size, void *value);
} pyro_cupti;

typedef enum pyro_cupti_load {
    PYRO_CUPTI_LOADED,
    PYRO_CUPTI_MISSING,
    PYRO_CUPTI_INCOMPLETE
} pyro_cupti_load;

/*
 * Finds the library and its functions. The environment variable PYRO_CUPTI names another library.
 * `reason` gets one line unless it is loaded. The library is never unloaded: callbacks may run late.
 */
pyro_cupti_load pyro_cupti_open(pyro_cupti *cupti, char *reason, size_t size);

/* CUPTI's text for a result. */
const char *pyro_cupti_text(const pyro_cupti *cupti, int result);

#endif
