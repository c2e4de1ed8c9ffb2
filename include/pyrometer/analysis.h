/*
 * What an analysis of a trace finds: its options, the rows of its tables, findings and totals. Times
 * are int64 nanoseconds, memory is bytes; unattributed time has separate rows.
 */
#ifndef PYROMETER_ANALYSIS_H
#define PYROMETER_ANALYSIS_H

#include <pyrometer/error.h>
#include <pyrometer/model.h>
#include <pyrometer/peaks.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PYRO_NO_EVENT UINT32_MAX

typedef struct pyro_trace pyro_trace; /* trace.h */

typedef enum pyro_phase {
    PYRO_PHASE_OTHER,
    PYRO_PHASE_FORWARD,
    PYRO_PHASE_BACKWARD,
    PYRO_PHASE_OPTIMIZER,
    PYRO_PHASE_COUNT
} pyro_phase;
PYRO_API const char *pyro_phase_name(pyro_phase phase);

/* Where the steps of a trace come from. Those from the optimizer on are inferred. */
typedef enum pyro_step_source {
    PYRO_STEPS_NONE, /* one window, the whole trace */
    PYRO_STEPS_MARKED, /* ProfilerStep#N */
    PYRO_STEPS_CHOSEN, /* pyro_analysis_options.steps_from */
    PYRO_STEPS_SERVING, /* annotations of vLLM and SGLang */
    PYRO_STEPS_OPTIMIZER,
    PYRO_STEPS_LOADER,
    PYRO_STEPS_MODULE, /* calls of the outermost module */
    PYRO_STEPS_ANNOTATION, /* a range of the program that repeats */
    PYRO_STEPS_KERNELS, /* a sequence of device work that repeats */
    PYRO_STEPS_SOURCE_COUNT
} pyro_step_source;
/* "none", "marks", "option", "serving", "optimizer", "data_loader", "module", "annotation",
 * "kernels" */
PYRO_API const char *pyro_step_source_name(pyro_step_source source);
static inline bool pyro_steps_are_inferred(pyro_step_source source)
{
    return source >= PYRO_STEPS_OPTIMIZER;
}

typedef struct pyro_analysis_options {
    pyro_model *model; /* provides dotted names and FLOPs; may be NULL */
    const char *layers_from; /* POSIX extended regex on annotations: group 1 is a layer's path */
    const char *annotations; /* file of graph nodes' layers; NULL: looked for near the trace */
    const char *provenance; /* folder or file about compiled code, of Inductor or TORCH_TRACE; NULL:
                             * looked for beside the trace */
    /* POSIX extended regex on annotations (else ops, else Python frames): those that match are the
     * steps; digits in group 1 are the number */
    const char *steps_from;
    int step; /* number of the step to analyse; negative: all */
    bool
        host_steps; /* steps last as long as on the host, even where that runs ahead of the device */
    pyro_phase phase; /* only this phase's device work; PYRO_PHASE_OTHER: all */
    const char *filter; /* POSIX extended regex on names of ops, kernels and layers; or NULL */
    int threads; /* 0: one per core */
    bool without_stacks; /* leave stacks[] empty: their texts dominate a small analysis */
    /* gaps[] say when a device was idle, not why: their texts are empty. The causes of lost time do
     * not depend on them. Has no effect with a filter, which compares these texts. */
    bool without_gap_causes;
    const pyro_peaks *peaks; /* measured; NULL: those of a data sheet, by the device's name */
    const char *const *ignored_findings; /* ids that are left out; may be NULL */
    size_t ignored_finding_count;
} pyro_analysis_options;

/* True if a finding can have this id. */
PYRO_API bool pyro_finding_exists(const char *id);

/*
 * Time of the host before the first step, in disjoint parts that add up to span_ns. Of two that
 * happen at once, the first in this order counts.
 */
typedef struct pyro_startup {
    int64_t span_ns; /* 0: none, or no steps */
    int64_t import_ns; /* Python imports modules */
    int64_t compile_ns; /* torch.compile, Triton, Inductor */
    int64_t runtime_ns; /* calls of the device's runtime and driver */
    int64_t loading_ns; /* data loaders */
    int64_t ops_ns; /* other ops */
    int64_t other_ns;
    int64_t first_step_ns; /* of the span: a slow first step that inferred steps leave out; 0 */
} pyro_startup;

/*
 * One step, or the whole span if the trace has no steps. The parts of device time are
 * disjoint: compute + communication_exposed + copy_exposed + idle = span. They are clipped to the
 * step's window and are unions over all devices: idle is time in which no device works. Sums (by
 * phase, device_total, kernels) count the work that was launched in the window, even if it ran
 * later; work without a known launch counts where it starts. Where the host runs ahead of the device
 * (steps_on_device), a step starts with its first work on the device.
 */
typedef struct pyro_step_row {
    const char *name; /* "ProfilerStep#3", "step 3" if inferred, or "(whole trace)" */
    int64_t number; /* -1: none */
    int64_t start_ns, span_ns;
    int64_t compute_ns; /* union of memsets and kernels other than collectives */
    int64_t communication_ns; /* union of collectives */
    int64_t communication_exposed_ns; /* of it, not covered by compute */
    int64_t copy_ns, copy_exposed_ns; /* not covered by compute or communication */
    int64_t idle_ns; /* no device work of any kind */
    int64_t host_only_ns; /* of the idle time, spent in host ops */
    int64_t data_loading_ns; /* of the idle time, spent in data loaders */
    int64_t forward_ns, backward_ns, optimizer_ns, other_ns; /* device time by phase, summed */
    int64_t device_total_ns;
    int64_t kernels;
    /* Of the work that the step launched: when its first began, how long until the first of the next
     * step began (until its last ended, in the last step), and how long after the step its last
     * ended; -1: the step launched nothing. */
    int64_t device_start_ns, device_span_ns, device_lag_ns;
} pyro_step_row;

/*
 * The breakdown of a training step: forward + backward + optimizer + data + communication + other =
 * span. If a device worked, this is device time by the phase that launched the work, and data is
 * loading while the device was idle; else it is host time on all threads. Communication is the
 * exposed part. FLOPs are those of the ops that started in the step.
 *
 * If no device worked: forward_op + backward_op + optimizer_op + other_op + data + communication +
 * python = span. There, a phase counts only while an op runs, and python is the time outside ops.
 */
typedef struct pyro_training_step {
    int64_t number, start_ns, span_ns; /* number -1: the whole trace */
    int64_t forward_ns, backward_ns, optimizer_ns, data_ns, communication_ns, other_ns;
    int64_t communication_total_ns; /* including the part that compute covers */
    int64_t forward_op_ns, backward_op_ns, optimizer_op_ns, other_op_ns; /* -1: a device worked */
    int64_t python_ns; /* -1: a device worked */
    int64_t flops, torch_flops; /* conventions full and torch; -1 if no op has a rule */
    const char *dtype; /* of most of its FLOPs, "float32"; "" unknown */
    double flops_per_s; /* flops over the span; -1 unknown */
    double peak_flops_per_s; /* of the hardware, with that dtype; -1 unknown */
} pyro_training_step;

/*
 * A step of a serving engine (vLLM, SGLang), as its annotation describes it. Context requests are in
 * prefill, generation requests in decode. The work is that of one device.
 */
typedef struct pyro_serving_step {
    const char *kind; /* "prefill", "decode", "mixed", "verify" or "draft" */
    int64_t number, start_ns, span_ns;
    int64_t busy_ns; /* of the span: some device works */
    int64_t waited_ns; /* of the span: waits for work that is not in the file; rates leave it out */
    int64_t requests, context_requests, generation_requests; /* -1 unknown, as below */
    int64_t tokens, context_tokens, generation_tokens; /* that the step computes */
    bool steady; /* of the longest stretch with nearly the largest batch */
    double tokens_per_s; /* tokens over the span without waited_ns */
    int64_t attention_flops; /* from the sums in the annotation, causal */
    int64_t flops; /* attention and the model's other FLOPs */
    int64_t bytes; /* weights, and keys and values, read once */
    double peak_share; /* of the device's FLOP/s (MFU) */
    double bandwidth_share; /* of the device's memory bandwidth */
} pyro_serving_step;

/* What serving steps were priced with, and their rates in the steady state; -1 unknown. */
typedef struct pyro_serving_summary {
    const char *engine; /* "vLLM", "SGLang"; "": no such steps */
    int64_t heads, kv_heads, head_size, layers; /* of attention, on one device */
    const char *shapes_from; /* "trace", "model" or "" */
    int64_t steady_first, steady_last, steady_steps; /* numbers of its first and last step */
    double steady_tokens_per_s, steady_generation_tokens_per_s;
} pyro_serving_summary;

/* One row per dotted path; *_self_ns without children, the others with them. */
typedef struct pyro_layer_row {
    const char *path; /* "" is the model itself */
    const char *class_name; /* "Conv2d" */
    uint32_t parent; /* row index; PYRO_NO_EVENT for a root */
    uint32_t depth;
    int64_t calls, backward_calls;
    int64_t forward_host_ns, forward_host_self_ns;
    int64_t forward_device_ns, forward_device_self_ns;
    int64_t backward_host_ns, backward_host_self_ns;
    int64_t backward_device_ns, backward_device_self_ns;
    int64_t kernels; /* launched in it or its children, forward and backward */
    int64_t flops, bytes; /* with its children's ops, convention full; -1 if none has a rule */
    const char *shapes; /* of its first input tensor, else of its first op's inputs; "" unknown */
    int64_t macs; /* like flops */
    int64_t allocated_bytes; /* with children, frees not subtracted; -1: not in the trace */
    const char *dtype; /* of most of its FLOPs, "float32"; "" unknown */
    double flops_per_s; /* flops over its total time (device time if any); -1 unknown */
    double peak_share; /* of the hardware's peak with that dtype; -1 unknown */
    double bytes_per_s; /* bytes over that time; -1 unknown */
    double
        bandwidth_share; /* of the hardware's peak for bytes; over 1: caches served; -1 unknown */
    int64_t shared_ns; /* of its own device time: its parts of kernels that are fused over several
                        * layers, which share their time by the bytes that each writes, else evenly */
    int64_t
        least_ns; /* that the chip needs for the work of its ops; at most its time; -1 unknown */
    int64_t lost_ns; /* its time beyond that; -1 unknown */
} pyro_layer_row;

/* One row per name, or per name and input shapes. */
typedef struct pyro_op_row {
    const char *name;
    const char *shapes; /* "" in the table by name */
    int64_t calls;
    int64_t host_total_ns, host_self_ns;
    int64_t device_total_ns, device_self_ns;
    int64_t flops, bytes; /* of the op itself, without ops inside; -1: no rule or no shapes */
    const char *dtype; /* of its first tensors: "float32", "float32, int64"; "" unknown */
    double flops_per_s; /* flops over the time of that work (device time if any); -1 unknown */
    pyro_phase phase; /* with most of its device (else host) time */
    double peak_share; /* time that its flops take at the peaks of their types, of that time */
    double bytes_per_s, bandwidth_share; /* as in pyro_layer_row */
    int64_t least_ns, lost_ns; /* as in pyro_layer_row, of the time of that work */
} pyro_op_row;

typedef struct pyro_kernel_row {
    const char *name, *short_name;
    const char *op; /* that launches it most often; "" unknown */
    const char *shapes; /* of the inputs in the first such call; "" unknown */
    const char *category; /* of its first call, as in pyro_category_row */
    int64_t calls, total_ns, min_ns, max_ns, median_ns;
    bool tensor_core; /* by its name, it uses tensor (matrix) cores */
    double occupancy_percent; /* mean of the estimates, weighted by time; -1 unknown */
    double waves; /* mean grid / (SMs x blocks per SM); -1 unknown */
    int64_t outliers; /* calls that took more than 3 times the median, and over 10 us */
    const char
        *source; /* line that compiled code is made of, "/x/model.py:23"; "" unknown or several
                         * */
} pyro_kernel_row;

/* Device work of one category; `total_ns` of all rows is the device time. */
typedef struct pyro_category_row {
    const char *category; /* "gemm", "attention", ...; docs/reference/trace.md lists them */
    int64_t calls; /* kernels; of "copy" also copies and memsets */
    int64_t total_ns;
    double share; /* of the device time */
    int64_t forward_ns, backward_ns, optimizer_ns, other_ns; /* by the phase that launched it */
    const char *kernel; /* short name of the work with the most time in it */
} pyro_category_row;

/* Host wait: the next work was launched after the device became idle. Kernel wait: it was already
 * queued. Other: its launch is not in the trace. */
typedef enum pyro_gap_kind {
    PYRO_GAP_HOST_WAIT,
    PYRO_GAP_KERNEL_WAIT,
    PYRO_GAP_OTHER
} pyro_gap_kind;

/* A period between a device's first and last work in which all its streams were idle. */
typedef struct pyro_gap_row {
    int64_t start_ns, duration_ns;
    int device;
    pyro_gap_kind kind;
    /* The cause: what the thread that launched the next work ran for most of the gap (an op, else
     * the user's annotation); "" unknown */
    const char *op, *layer, *line;
    const char *sync; /* synchronising call in the gap, on that thread; "": none */
    int64_t step; /* number of the step at its middle; -1: none */
} pyro_gap_row;

/* Where a stretch of time went. Each has exactly one cause. */
typedef enum pyro_cause {
    PYRO_CAUSE_COMPUTE, /* a kernel or memset ran */
    PYRO_CAUSE_COMMUNICATION, /* only collectives, or these and copies, ran */
    PYRO_CAUSE_PEER_WAIT, /* only collectives ran, and waited for another rank */
    PYRO_CAUSE_COPY, /* only copies ran */
    PYRO_CAUSE_PYTHON, /* idle: the host ran Python code, or nothing that was recorded */
    PYRO_CAUSE_OPS, /* idle: the host was in an op or in a call of the runtime */
    PYRO_CAUSE_DATA_LOADING, /* idle: the host waited for its next batch */
    PYRO_CAUSE_LAUNCH_LATENCY, /* idle: the host was late; its launch took effect after this */
    PYRO_CAUSE_QUEUED, /* idle: the next work was launched already, but did not start */
    PYRO_CAUSE_UNRECORDED, /* idle: the host was blocked by work that is not in the file */
    PYRO_CAUSE_BEFORE_FIRST, /* idle: the host had not launched the first work in the file */
    PYRO_CAUSE_AFTER_LAST, /* idle: the last work in the file had ended */
    PYRO_CAUSE_UNKNOWN, /* idle: it is unknown when the next work was launched */
    PYRO_CAUSE_COUNT
} pyro_cause;
PYRO_API const char *pyro_cause_name(pyro_cause cause); /* "data_loading" */

/* The time of a step (or of the whole trace) that has a cause; the rows of a step add up to its
 * span. */
typedef struct pyro_cause_row {
    int64_t step; /* number of the step; -1: the whole trace */
    pyro_cause cause;
    int64_t time_ns;
    int64_t profiler_ns; /* of it, what recording took (an estimate): time that is not lost without
                          * a profiler */
} pyro_cause_row;

/* Where the host was in time that has a cause, over all steps; for queued work, what was queued.
 * The rows of a cause add up to its time; the smallest share a row without texts. */
typedef struct pyro_cause_place {
    pyro_cause cause;
    const char *op, *layer, *line; /* "" unknown */
    const char *sync; /* the call in which the host was when the device became idle; "": none */
    pyro_phase phase;
    int64_t time_ns, profiler_ns, stretches;
    uint32_t
        sync_event; /* one of these calls, as an index of the trace's events; UINT32_MAX: none */
} pyro_cause_place;

/* Where the costs per event come from. */
typedef enum pyro_cost_source {
    PYRO_COSTS_DEFAULT, /* measured on other machines */
    PYRO_COSTS_TRACE, /* these, scaled by how fast events follow each other in the trace */
    PYRO_COSTS_CALIBRATED /* pyrometer doctor --calibrate on the machine of the trace */
} pyro_cost_source;
PYRO_API const char *pyro_cost_source_name(pyro_cost_source source); /* "default", ... */

/* Texts speak of what recording cost from this share of the time on. */
#define PYRO_PROFILER_MATTERS 0.03

/* What recording added to the steps: the part of it that made them longer. An estimate from the
 * number of events and what each costs. */
typedef struct pyro_profiler_cost {
    int64_t time_ns; /* of all steps (or of the whole trace); the sum over the causes */
    double share; /* of a step, the median */
    int64_t step_ns; /* the median step as recorded */
    int64_t step_without_ns; /* without the cost, and the range that it lies in */
    int64_t step_without_low_ns, step_without_high_ns;
    int64_t op_ns, memory_ns, frame_ns, builtin_ns, call_ns; /* per event */
    pyro_cost_source source;
} pyro_profiler_cost;

/*
 * The account of work whose FLOPs or bytes are known: what the chip needs at least (FLOPs at its dense
 * peak or bytes at its bandwidth, whichever takes longer, op by op) and the time that it took.
 */
typedef struct pyro_least_time {
    int64_t known_ns; /* time of the work: device time if a device worked, else host time */
    int64_t least_ns; /* of it, what the chip needs */
    int64_t lost_ns; /* the rest; all three are 0 if no peak is known */
} pyro_least_time;

typedef struct pyro_collective_row {
    const char *kind; /* "allreduce", ... */
    const char *group; /* name of the process group; "" unknown */
    const char *dtype;
    int64_t group_size; /* -1 unknown */
    int64_t calls, total_ns;
    int64_t exposed_ns; /* not covered by compute */
    int64_t bytes; /* message bytes in all; -1 unknown */
    double bus_gb_per_s; /* bus bandwidth (nccl-tests' factors); -1 unknown */
    int64_t message_bytes; /* per call: the larger of input and output; -1 unknown */
} pyro_collective_row;

/* A counter of the file: one series of one process (device). */
typedef struct pyro_counter_row {
    const char *name, *series;
    int64_t process; /* the device for counters of one; -1 unknown */
    int64_t samples;
    double min, mean, max;
} pyro_counter_row;

/*
 * Power, energy and state of a device in a step, from samples of its driver (gpu_counters.h). -1 is
 * unknown. An energy is right within energy_error_j: the sensor's update or the sampling interval,
 * whichever is longer, times the power.
 */
typedef struct pyro_power_row {
    int64_t step; /* number of the step; -1: the whole trace */
    int device;
    int64_t start_ns, span_ns, samples;
    double mean_power_w, max_power_w;
    double energy_j, energy_error_j;
    const char *energy_basis; /* "counter": the driver's; "power": area below samples; "" */
    int64_t tokens; /* of a serving step */
    double joules_per_token;
    double clock_mhz, min_clock_mhz; /* of the SMs: mean and lowest */
    double temperature_c; /* highest */
    double tensor_percent, dram_percent; /* mean use of tensor cores and memory bandwidth */
    double throttled_share; /* of the samples: heat or hardware lowered the clocks */
    double power_cap_share; /* of the samples: the power cap lowered them */
} pyro_power_row;

/* Over all steps. Sums are over devices, shares and limits are those of the worst device. */
typedef struct pyro_power_summary {
    int64_t devices, samples; /* 0: the trace has no samples */
    const char *sensor; /* of power: "instant", "mean of 1 s"; "" unknown */
    int64_t interval_ns, update_ns; /* between samples; between changes of the energy counter */
    double mean_power_w, max_power_w; /* the largest sample of one device */
    double energy_j, energy_error_j, energy_per_step_j, joules_per_token;
    double min_clock_mhz, max_clock_mhz;
    double heat_share, throttled_share, power_cap_share;
    int64_t throttled_steps;
} pyro_power_summary;

typedef struct pyro_copy_row {
    const char *kind; /* "HtoD pageable", "DtoD", "memset", ... */
    int64_t calls, bytes, total_ns; /* bytes -1: unknown */
    double gb_per_s; /* -1 unknown */
} pyro_copy_row;

typedef struct pyro_sync_row {
    const char *call; /* "cudaStreamSynchronize", "aten::item", ... */
    const char *op, *layer, *line;
    int64_t calls, total_ns;
} pyro_sync_row;

typedef struct pyro_memory_point {
    int64_t time_ns, allocated_bytes, reserved_bytes;
} pyro_memory_point;

/* What holds the memory: at the peak, or where an allocation failed. */
typedef struct pyro_memory_holder {
    const char *layer, *op;
    int64_t bytes, blocks;
} pyro_memory_holder;

typedef struct pyro_memory_device {
    const char *device; /* "cpu", "cuda:0" */
    int64_t peak_bytes, peak_time_ns;
    int64_t peak_reserved_bytes; /* -1 unknown, as in the curve */
    int64_t allocations, frees, allocated_bytes; /* bytes allocated in all */
    int64_t growth_bytes_per_step; /* of live memory between steps; 0: no growth */
    double growth_confidence; /* share of steps that grew */
    const char *growth_place; /* line, else layer, else op that allocated most of it; "" unknown */
    int64_t failed_bytes; /* of the last allocation that failed; -1: none */
    int64_t failed_live_bytes; /* live at that time; -1 */
    const pyro_memory_point *curve; /* at most 2000 points, peaks kept */
    size_t curve_count;
    /* Largest first. They sum to the peak, or to failed_live_bytes if an allocation failed. */
    const pyro_memory_holder *holders;
    size_t holder_count;
} pyro_memory_device;

enum { PYRO_SLOW_LAUNCH_US = 50 };

typedef struct pyro_launch_summary {
    int64_t launches, launch_total_ns, launch_median_ns; /* of calls that started kernels */
    int64_t graph_launches, graph_launch_total_ns; /* of these, launches of graphs */
    int64_t executed_ns; /* of launch_total_ns, in which the launched kernel itself ran */
    int64_t delay_median_ns, delay_p95_ns; /* from launch end to kernel start, at least 0 */
    int64_t short_kernels; /* shorter than their launch call, which is no graph's */
    int64_t short_kernel_total_ns;
    int64_t slow_launches; /* launch calls over PYRO_SLOW_LAUNCH_US, without those of graphs */
    int64_t late_kernels; /* launched when their device was idle */
    int64_t max_queue; /* most kernels launched but not started */
    double mean_queue; /* over the time from the first launch to the last start */
} pyro_launch_summary;

typedef struct pyro_data_loading {
    int64_t calls, total_ns;
    int64_t uncovered_ns; /* not covered by device work */
    double share_of_steps; /* uncovered / span of the steps */
} pyro_data_loading;

typedef struct pyro_stack_row {
    const char *frames; /* "run;forward;conv2d;kernel", outermost first, for flame graphs */
    int64_t device_ns, host_self_ns;
} pyro_stack_row;

typedef enum pyro_severity {
    PYRO_SEVERITY_INFO,
    PYRO_SEVERITY_WARNING,
    PYRO_SEVERITY_SEVERE
} pyro_severity;

/* A known defect of the trace itself: what is wrong with the file, not with the program. */
typedef struct pyro_defect_row {
    const char *id; /* "lost-kernel-prefix" */
    pyro_severity severity;
    const char *title, *evidence, *cause, *advice;
    int64_t count; /* events, launches or calls that have it */
} pyro_defect_row;

typedef struct pyro_finding {
    const char *id; /* "device-idle", ... (findings.def) */
    pyro_severity severity;
    const char *title; /* one line */
    const char *evidence; /* the measured numbers against the threshold */
    const char *advice; /* what to do */
    const char *place; /* layer, op or line; "": the whole run */
    int64_t gain_ns; /* time that could be saved; gains of findings do not overlap; -1 unknown */
    const char *gain_basis; /* what gain_ns is: "idle time with these causes"; "": unknown */
} pyro_finding;

/* A part of a finding: one of its causes, or another finding about the same time. */
typedef struct pyro_finding_part {
    const char *finding; /* id of the finding */
    const char *id; /* name of a cause (pyro_cause_name), or id of a finding */
    const char *title, *evidence, *advice; /* "" where the finding has them */
    const char *place;
    int64_t gain_ns; /* of the finding's gain; -1 unknown */
} pyro_finding_part;

/* Time that belongs to no layer, by reason. Collectives are always here. */
typedef struct pyro_unattributed {
    int64_t no_launch_ns, outside_layer_ns, optimizer_ns, collective_ns;
} pyro_unattributed;

/* The result of an analysis, which owns its arrays. */
typedef struct pyro_analysis {
    const char *device_name; /* "NVIDIA H200"; "": no device */
    bool device_known; /* the chip is in hardware.def */
    /* Where the peaks of shares come from: "measured" or "data sheet"; "": unknown. */
    const char *peaks_from;
    const char *peaks_measured; /* date; "" */
    int64_t start_ns, span_ns;
    int64_t device_total_ns; /* sum over kernels, copies and memsets */
    int64_t device_busy_ns; /* their union, over all devices */
    int64_t kernel_count;
    bool has_layers, has_shapes, has_stacks, has_memory;
    bool is_captured; /* by Pyrometer, not by torch.profiler alone */
    pyro_step_source step_source;
    bool
        steps_on_device; /* the host runs ahead: steps start and end where the device's work does */
    const char *step_mark; /* the op, range or module that they come from; "" */
    pyro_startup startup;
    const pyro_step_row *steps;
    size_t step_count;
    const pyro_training_step *training; /* as many rows as steps */
    size_t training_count;
    const pyro_serving_step *serving; /* as many rows as steps, or none */
    size_t serving_count;
    pyro_serving_summary serving_summary;
    const pyro_layer_row *layers; /* parents before children */
    size_t layer_count;
    const pyro_op_row *ops, *ops_by_shape; /* most device (else host) time first */
    size_t op_count, op_by_shape_count;
    const pyro_kernel_row *kernels; /* most time first */
    size_t kernel_row_count;
    const pyro_category_row *categories; /* most time first */
    size_t category_count;
    const pyro_gap_row *gaps; /* longest first, at most 1000 */
    size_t gap_count;
    int64_t gap_total_ns[3]; /* by pyro_gap_kind, all gaps */
    const pyro_cause_row *causes; /* in order of steps, then of pyro_cause */
    size_t cause_count;
    const pyro_cause_place *cause_places; /* longest first */
    size_t cause_place_count;
    pyro_profiler_cost profiler_cost;
    pyro_least_time least_time;
    const pyro_collective_row *collectives;
    size_t collective_count;
    const pyro_counter_row *counters; /* by name */
    size_t counter_count;
    const pyro_power_row *power; /* by step, then by device */
    size_t power_count;
    pyro_power_summary power_summary;
    const pyro_copy_row *copies;
    size_t copy_count;
    const pyro_sync_row *syncs;
    size_t sync_count;
    const pyro_memory_device *memory;
    size_t memory_count;
    pyro_launch_summary launch;
    pyro_data_loading data_loading;
    const pyro_stack_row *stacks;
    size_t stack_count;
    pyro_unattributed unattributed;
    const pyro_defect_row *defects; /* most severe first */
    size_t defect_count;
    const pyro_finding *findings; /* most gain first */
    size_t finding_count;
    const pyro_finding_part *finding_parts; /* in the order of their findings */
    size_t finding_part_count;
    const char *const *notes;
    size_t note_count;
} pyro_analysis;

/* Analyses a trace, which must outlive the analysis. `options` NULL: the defaults. */
PYRO_API int pyro_trace_analyze(pyro_analysis **out, pyro_trace *trace,
                                const pyro_analysis_options *options, pyro_error *error);
PYRO_API void pyro_analysis_free(pyro_analysis *analysis);

#ifdef __cplusplus
}
#endif
#endif
