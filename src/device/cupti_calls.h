/*
 * The host calls that CUPTI reports to us: which ones are wanted, by name, and how many launches
 * still wait for their work. There is no table of launches: correlations are so far apart that each
 * launch would miss the cache.
 */
#ifndef PYRO_DEVICE_CUPTI_CALLS_H
#define PYRO_DEVICE_CUPTI_CALLS_H

#include "device/collector.h"
#include "device/cupti_subscription.h"

#define PYRO_MOST_CALL_IDS 1536
#define PYRO_CALL_TIMES 4096
/* Launches whose times are kept until the device's clock is proven: work arrives in order, so that the
 * first ones are enough, and the others cost less. */
#define PYRO_TIMED_LAUNCHES 64
#define PYRO_SEEN_GRAPHS 4096

#define PYRO_LONGEST_CALL_NAME 40

/* When a launch began; the oldest are overwritten. */
typedef struct pyro_call_time {
    uint64_t begun; /* recorder's clock */
    uint32_t correlation;
} pyro_call_time;

/* The first threads that launch have a counter each, and need no locked instruction, which would
 * wait until all earlier writes are in the cache. The last counter is that of all other threads. */
#define PYRO_LAUNCH_COUNTERS 4

/* Launches of kernels and graphs: what each of them reads and writes. */
typedef struct pyro_launches {
    uint32_t start;       /* number of the collector's start, from 1 */
    uint32_t first;       /* correlation of the first launch since then; 0: none yet */
    uint32_t wants_times; /* of how many further launches, in `times` */
    uint64_t counts[PYRO_LAUNCH_COUNTERS]; /* since the process began */
} pyro_launches;

/* Programs launch with two functions in turn: one of torch's kernels, one of the libraries'. */
#define PYRO_THREAD_CALLS 2

/* Other calls of a kind that the recorder knows. Programs wait at the end of each step, copy, and set
 * memory to zero. */
#define PYRO_OTHER_CALLS 4
#define PYRO_ENDS_SOON 0x8000u

typedef struct pyro_other_kind {
    uint64_t head; /* 0: the call is unknown */
    uint32_t key;
    bool ends_soon; /* it is written as a whole; others when they begin */
} pyro_other_kind;

/* A thread that makes calls. Launches need only the first 64 bytes: a cache line, to which glibc on
 * AArch64 cannot align it. All is small, because a running process has little room for it. */
typedef struct pyro_calling_thread {
    uint32_t pending; /* key of the call that it is in, while the sink does not know of it; or 0 */
    uint32_t start; /* in which it made its last call; 0: none */
    /* Correlation of the pending call, else of the launch that it is in, unless that was added to a
     * graph. */
    uint32_t launch;
    uint32_t counter; /* index in pyro_launches plus 1; 0: none yet */
    uint64_t begun; /* when the pending call did, by pyro_counter() */
    /* Kinds of launches that are written as a whole, the latest first; key 0: none. */
    uint32_t keys[PYRO_THREAD_CALLS];
    uint64_t heads[PYRO_THREAD_CALLS];
    uint32_t session; /* of the heads */
    pyro_recorder_thread *const *writer; /* where the recorder keeps this thread's writer */
    /* Kinds of other calls, the latest first; key 0: none. */
    uint64_t other_heads[PYRO_OTHER_CALLS];
    uint16_t other_keys[PYRO_OTHER_CALLS]; /* with PYRO_ENDS_SOON */
} pyro_calling_thread;

typedef struct pyro_cupti_calls {
    pyro_launches *launches;
    uint64_t launches_before; /* of earlier starts */
    /* By domain and id; without a name: not wanted. */
    pyro_device_call known[3][PYRO_MOST_CALL_IDS];
    uint16_t name_count; /* different names */
    char names[PYRO_MOST_CALL_NUMBERS][PYRO_LONGEST_CALL_NAME]; /* by number */
    pyro_call_time times[PYRO_CALL_TIMES];
    uint32_t seen_graphs[PYRO_SEEN_GRAPHS]; /* launches whose first work has arrived */
    uint64_t done; /* launches whose work arrived or never will; other threads count them */
} pyro_cupti_calls;

/* Finds the ids of the wanted calls by their names. */
void pyro_cupti_calls_begin(pyro_cupti_calls *calls, const pyro_cupti *cupti,
                            pyro_launches *launches);
/* Forgets the launches so far. */
void pyro_cupti_calls_restart(pyro_cupti_calls *calls);
/* Launches since the last restart. */
uint64_t pyro_cupti_count_launches(const pyro_cupti_calls *calls);
/* Switches the callbacks of all wanted calls. Returns the number of calls. */
size_t pyro_cupti_calls_enable(const pyro_cupti_calls *calls,
                               const pyro_cupti_subscription *subscription, bool enable);
/* A launch failed, or was added to a graph: no work will arrive. */
void pyro_cupti_launch_ended(pyro_cupti_calls *calls);
/* Work of a launch has arrived; a launch of a graph (`graph`) has several. */
void pyro_cupti_launch_worked(pyro_cupti_calls *calls, uint32_t correlation, uint32_t graph);
void pyro_cupti_launch_keep_time(pyro_cupti_calls *calls, uint32_t correlation, uint64_t now);
/* When a launch began; 0: it is unknown. */
uint64_t pyro_cupti_launch_begun(const pyro_cupti_calls *calls, uint32_t correlation);

/* The wanted call with an id, or NULL. */
const pyro_device_call *pyro_cupti_calls_find(const pyro_cupti_calls *calls, int domain,
                                              uint32_t id);
/* Forgets what the thread knows of earlier starts. */
void pyro_cupti_call_begins(const pyro_launches *launches, pyro_calling_thread *thread);
/* After that: counts a launch, by a locked instruction if the thread has no counter of its own. */
void pyro_cupti_launch_begins(pyro_launches *launches, pyro_calling_thread *thread,
                              uint32_t correlation);
/* The thread's next calls of this kind are written without the sink; launches only if it has a
 * counter. */
void pyro_cupti_call_is_plain(pyro_calling_thread *thread, uint32_t key,
                              const pyro_device_call *call, pyro_call_kind kind);
/* None are. */
void pyro_cupti_forget_kinds(pyro_calling_thread *thread);

/* Of a wanted call: never 0, and below PYRO_ENDS_SOON. */
static inline uint32_t pyro_cupti_call_key(int domain, uint32_t id)
{
    _Static_assert(PYRO_MOST_CALL_IDS <= 1 << 12, "ids of wanted calls have 12 bits");
    return (uint32_t)domain << 12 | id;
}

static inline int pyro_cupti_domain_of_key(uint32_t key)
{
    return (int)(key >> 12);
}

static inline uint32_t pyro_cupti_id_of_key(uint32_t key)
{
    return key & 0xfff;
}

/* What is known of a call that is no launch. */
static inline pyro_other_kind pyro_cupti_find_other(const pyro_calling_thread *thread, uint32_t key)
{
    for (size_t i = 0; i < PYRO_OTHER_CALLS; i++) {
        uint32_t other = thread->other_keys[i];
        if ((other & ~PYRO_ENDS_SOON) == key)
            return (pyro_other_kind){thread->other_heads[i], key, other & PYRO_ENDS_SOON};
    }
    return (pyro_other_kind){0};
}

/* For a thread with a counter of its own. */
static inline void pyro_cupti_count_launch(pyro_launches *launches,
                                           const pyro_calling_thread *thread)
{
    uint64_t *count = &launches->counts[thread->counter - 1];
    __atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
}

#endif
