/* The data that detectors of findings about traces read, and helpers that they share. */
#ifndef PYRO_ANALYZE_FINDINGS_FINDINGS_H
#define PYRO_ANALYZE_FINDINGS_FINDINGS_H

#include "analyze/analyze.h"
#include "analyze/findings/evidence.h"
#include "graph/ops.h"
#include "hardware/hardware.h"

/* Device time of priced ops, compared with the peaks of the chip. */
typedef struct pyro_roofline {
    bool is_made;
    int64_t priced_ns;       /* device time of ops whose FLOPs and bytes are known */
    int64_t memory_bound_ns; /* of it, in ops that use most of the bandwidth */
    int64_t long_ns, lost_ns; /* of ops longer than a launch; what better kernels would save */
    int64_t norm_lost_ns;     /* of it, in batch norms that are not in channels_last */
    uint32_t memory_bound_op, lost_op; /* names with the most of each; PYRO_NO_ID */
} pyro_roofline;

/* How long matrix products ran, by precision and cores. */
typedef struct pyro_products {
    bool is_made;
    int64_t total_ns, known_ns, half_ns;
    int64_t plain_ns; /* without tensor cores, though the type supports them */
    int64_t plain_fp32_ns; /* of float32 without TF32, where the run uses no TF32 */
    uint32_t worst, worst_fp32, worst_wide; /* longest kernels of these, and of 32 bits or more */
} pyro_products;

/* Totals that several detectors use. */
typedef struct pyro_finder {
    pyro_analysis_context *context;
    const pyro_analysis *result;
    int64_t span_ns;      /* of all steps, or of the whole trace, without what recording took */
    int64_t steps;        /* 1 where the trace has none */
    int64_t device_ns;    /* of the device work that pyro_finder_wants selects */
    int64_t compute_ns;   /* of it, without copies and collectives */
    int64_t cause_ns[PYRO_CAUSE_COUNT]; /* over all steps, without what recording took */
    int64_t profiler_ns[PYRO_CAUSE_COUNT]; /* what recording took of each */
    int64_t captures,
        captured_ns; /* of graphs (captures.c); idle time in them, which is in cause_ns */
    double late_part; /* of the time in which the host is late: what lies outside of captures */
    /* More specific findings explain these parts of the host's lateness. */
    bool claims_waits, claims_optimizer, claims_loops, claims_collectives, claims_small_ops;
    unsigned in_use;    /* PYRO_USE_*: what the run does already */
    bool has_device_work;
    bool memory_out;      /* set by detectors and pyro_finder_* */
    uint16_t *kernel_family; /* by name; read it with pyro_finder_family */
    uint8_t *op_groups;     /* by name; read it with pyro_finder_groups */
    uint16_t *op_words;     /* by name; read it with pyro_finder_words */
    pyro_op_index op_index; /* made on first use */
    bool has_op_index;
    /* Events by kind, so that detectors do not look at all: in the order of the trace ... */
    uint32_t *ops, *work; /* device work */
    size_t op_count, work_count;
    /* ... and in order of time: ops that no other op encloses, and of them and of the kernels those
     * that pyro_finder_wants selects. */
    uint32_t *outermost_ops, *outer_ops, *kernels;
    size_t outermost_op_count, outer_op_count, kernel_count;
    pyro_roofline roofline;
    pyro_products products; /* device.c */
} pyro_finder;

enum {
    PYRO_FAMILY_CONTRACTION = 1,
    PYRO_FAMILY_TENSOR_CORE = 2,
    PYRO_FAMILY_LAYOUT = 4,
    PYRO_FAMILY_ELEMENTWISE = 8,
    PYRO_FAMILY_CONVOLUTION = 16,
    PYRO_FAMILY_PLAIN_CORES = 32, /* its name says so */
    PYRO_FAMILY_TF32 = 64,
    PYRO_FAMILY_KNOWN = 128,
    PYRO_FAMILY_CHANNELS_LAST = 256 /* its name says so */
};

/* Measures the number of a row; false when the trace lacks the data for it. */
typedef bool (*pyro_detector)(pyro_finder *finder, pyro_evidence *evidence);

/* What the trace shows is in use, so that no advice recommends it, or is there to be advised on. */
enum {
    PYRO_USE_DEVICE = 1,
    PYRO_USE_GRAPHS = 2,     /* launches of CUDA or HIP graphs */
    PYRO_USE_COMPILE = 4,    /* torch.compile: its regions, graphs or kernels */
    PYRO_USE_FUSED = 8,      /* a fused or multi-tensor optimizer */
    PYRO_USE_OPTIMIZER = 16, /* any optimizer */
    PYRO_USE_SDPA = 32,      /* fused attention */
    PYRO_USE_PINNED = 64,    /* copies from or to pinned memory */
    PYRO_USE_WORKERS = 128,  /* a data loader with worker processes */
    PYRO_USE_STACKS = 256,   /* Python stacks were recorded */
    PYRO_USE_CHANNELS_LAST = 512,
    PYRO_USE_STEPS = 1024, /* steps are known */
    PYRO_USE_BFLOAT16 = 2048, /* the chip has units for it */
    PYRO_USE_ALLREDUCE = 4096, /* the collective with the most time, as the next two */
    PYRO_USE_SHARDS = 8192, /* all-gather and reduce-scatter */
    PYRO_USE_ALLTOALL = 16384,
    PYRO_USE_SERVING = 32768, /* a serving engine */
    PYRO_USE_FIRST_CALLS = 65536, /* what the runtime does once (loading code, memory) takes most of
                                   * the time in which the host is late */
    PYRO_USE_LATE_OPTIMIZER = 1 << 17, /* the host is late in the optimizer */
    PYRO_USE_LARGE_OPTIMIZER = 1 << 18, /* its kernels take much of the device time */
    PYRO_USE_LONG_GAPS = 1 << 19, /* most idle time is in gaps that no launch takes */
    PYRO_USE_TRAINING = 1 << 20, /* gradients or an optimizer */
    PYRO_USE_AMD = 1 << 21, /* a chip of AMD */
    PYRO_USE_LAUNCHES = 1 << 22, /* calls of CUDA or HIP, which return before the work is done */
    PYRO_USE_COPY_STREAM = 1 << 23 /* most copies run on streams without kernels */
};

/* Finds captures of graphs, whose idle time other findings leave out. */
void pyro_find_captures(pyro_finder *finder);
/* Finds what is in use; false when memory is out. */
bool pyro_find_in_use(pyro_finder *finder);
/* The title of a row, without a device if the run has none. */
const char *pyro_title_of(const pyro_finder *finder, const char *id, const char *title);
/* The advice of a row, without what is in use; NULL when memory is out. */
const char *pyro_advice_of(const pyro_finder *finder, const char *id, const char *advice);

/* The causes of lateness of the host, as bits: Python code, ops, launch latency. */
#define PYRO_LATE_CAUSES \
    (1u << PYRO_CAUSE_PYTHON | 1u << PYRO_CAUSE_OPS | 1u << PYRO_CAUSE_LAUNCH_LATENCY)
/* Time of these causes (bits) in which the host was late, without what other findings explain and
 * what recording took. */
int64_t pyro_finder_late_ns(const pyro_finder *finder, unsigned causes);
/* Time of causes (bits) over all steps. */
int64_t pyro_finder_causes_ns(const pyro_finder *finder, unsigned causes);
/* Time of a place that would be lost without a profiler too. */
static inline int64_t pyro_place_lost_ns(const pyro_cause_place *place)
{
    return place->time_ns - place->profiler_ns;
}
/* ", besides 1.234 ms that the profiler takes" of these causes (bits); "" where that is nothing. */
const char *pyro_finder_besides_profiler(const pyro_finder *finder, pyro_evidence *evidence,
                                         unsigned causes);
/* What recording an event took of the host's time. */
int64_t pyro_finder_cost_ns(const pyro_finder *finder, uint32_t event);
/* What recording took in a part of a track, between the starts of two of its events. */
int64_t pyro_finder_cost_between_ns(const pyro_finder *finder, uint32_t first, uint32_t last);
/* "the step time", or "the time" where no steps are known; "... without the profiler" where that
 * differs. */
const char *pyro_finder_whole(const pyro_finder *finder);

/* Fills finder->roofline on first use. */
const pyro_roofline *pyro_finder_roofline(pyro_finder *finder);
/* The first of the texts that is not empty. */
const char *pyro_first_text(const char *a, const char *b, const char *c);
/* PYRO_FAMILY_* of an event that is a kernel. */
uint16_t pyro_finder_find_family(pyro_finder *finder, uint32_t event);
static inline uint16_t pyro_finder_family(pyro_finder *finder, uint32_t event)
{
    uint32_t name = finder->context->trace->name[event];
    uint16_t known = name == PYRO_NO_ID ? (uint16_t)PYRO_FAMILY_KNOWN : finder->kernel_family[name];
    return known ? known : pyro_finder_find_family(finder, event);
}
/* PYRO_GROUP_* (graph/op_groups.h) of an op by its name; 0: no op, or it is not in ops.def. */
unsigned pyro_finder_groups(pyro_finder *finder, uint32_t op);
/* PYRO_WORD_* (op_words.h) of an op by its name. */
unsigned pyro_finder_words(pyro_finder *finder, uint32_t op);
/* The id of a name, PYRO_NO_ID when no event has it. */
uint32_t pyro_finder_name(const pyro_finder *finder, const char *name);
/* Whether products of the run use TF32; convolutions are a setting of their own. */
bool pyro_finder_uses_tf32(pyro_finder *finder, bool in_convolutions);
/* Element type of an op's first tensor, as its types say; PYRO_DTYPE_UNKNOWN. */
pyro_dtype pyro_finder_dtype(const pyro_finder *finder, uint32_t op);

/* True for events that the options select and that belong to a step, where steps are known: what
 * happens before the first step is no part of the time that findings speak about. */
bool pyro_finder_wants(const pyro_finder *finder, uint32_t event);
/* Whether the work is the host's. Ops of a device whose work is missing only launch it. */
bool pyro_finder_runs_on_host(const pyro_finder *finder);
/* True when no op encloses the op. */
static inline bool pyro_finder_is_outermost(const pyro_finder *finder, uint32_t op)
{
    const pyro_joins *joins = finder->context->joins;
    uint32_t parent = joins->parent[op];
    return parent == PYRO_NO_EVENT || joins->op[parent] == PYRO_NO_EVENT;
}
uint32_t pyro_finder_outermost(const pyro_finder *finder, uint32_t op);
/* Where a host event is in the program: its source line, else its layer, else its op. */
const char *pyro_finder_place(pyro_finder *finder, uint32_t event);
/* Where a kernel is in the program: its layer, else its name and the graph that holds it, else its op,
 * else its name. */
const char *pyro_finder_kernel_place(const pyro_finder *finder, pyro_evidence *evidence,
                                     uint32_t kernel);
/* Where most time of a cause was lost: a line, else a layer, else an op; "" unknown. */
const char *pyro_finder_cause_place(const pyro_finder *finder, pyro_cause cause);
/* True when a name is one of the words. */
bool pyro_is_one_of(const char *name, const char *const *words, size_t count);
#define IS_ONE_OF(name, words) pyro_is_one_of(name, words, sizeof(words) / sizeof *(words))
/* Dims of the nth argument in a text of "Input Dims". Returns their length, 0 when it is missing. */
size_t pyro_argument_dims(const char *dims, int n, const char **out);
/* Elements of the largest tensor in a text of "Input Dims", at most one more than the limit; -1 when
 * it has none. */
int64_t pyro_largest_elements(const char *dims, int64_t limit);
/* Texts of an op's inputs; "" when they are unknown. */
const char *pyro_finder_dims(const pyro_finder *finder, uint32_t op);
const char *pyro_finder_concrete(const pyro_finder *finder, uint32_t op);
/* Device time of work under ops that have a mark, or their host time where nothing ran on a device.
 * `marks` is by event; marked ops are outermost. */
int64_t pyro_finder_sum_marked(const pyro_finder *finder, const uint8_t *marks, uint8_t mark);
/* Device time in all, or host time of all outermost ops where nothing ran on a device. */
int64_t pyro_finder_whole_ns(const pyro_finder *finder);

#define DETECTOR(name) bool pyro_detect_##name(pyro_finder *finder, pyro_evidence *evidence)
#define FINDING(id, detector, unit, warning, severe, title, advice) DETECTOR(detector);
#include "analyze/findings/findings.def"
#undef FINDING

#endif
