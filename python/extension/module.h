/* Shared declarations of the extension: its state, the model object, and each file's functions. */
#ifndef PYROMETER_EXTENSION_MODULE_H
#define PYROMETER_EXTENSION_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pyrometer/bench.h>
#include <pyrometer/capture.h>
#include <pyrometer/pyrometer.h>
#include <stdbool.h>

typedef struct core_state {
    PyObject *error_type;
    PyObject *model_type;
    PyObject *trace_type;
    PyObject *column_type;
    PyObject *program_type;
    PyObject *loop_type;
    PyObject *gpu_type;
    PyObject *bench_type;
    PyObject *scalars_type;
} core_state;

typedef struct model_object {
    PyObject_HEAD
    pyro_model *model;
    int busy; /* set while the library uses it, possibly without the GIL */
} model_object;

/* state.c: raises the matching Python exception and returns NULL. With `opening`, "not found"
 * becomes FileNotFoundError. */
PyObject *core_fail(core_state *state, const pyro_error *error, int code, int opening);
/* A report of the library as str, or its error; frees the text. */
PyObject *core_report(core_state *state, int status, char *text, size_t size,
                      const pyro_error *error);

/* model.c: adds the Model type to the module; 0, or -1 with an exception. */
int core_add_model(PyObject *module);
PyObject *core_open(PyObject *module, PyObject *args);
PyObject *core_open_decode(PyObject *module, PyObject *args);
PyObject *core_open_memory(PyObject *module, PyObject *args);
/* Marks a model as busy; -1 with an exception if it is busy already. The caller clears `busy`. */
int core_enter_model(model_object *self);

/* Reads the tuple of options of training; an exception, or a status with the error filled. */
int core_read_training(PyObject *given, pyro_train_options *out, pyro_error *error);

/* fit.c: adds what computes whether a model fits. */
int core_add_fit(PyObject *module);

/* fuse.c: adds what finds fused groups of a model. */
int core_add_fuse(PyObject *module);

/* map.c: adds what predicts models on chips. */
int core_add_map(PyObject *module);

/* trace.c: adds the Trace and Column types to the module; 0, or -1 with an exception. */
int core_add_trace(PyObject *module);
PyObject *core_open_trace(PyObject *module, PyObject *args);
extern const char core_open_trace_doc[];

/* ranks.c: analyzes the traces of many ranks together. */
PyObject *core_ranks(PyObject *module, PyObject *args);
extern const char core_ranks_doc[];

/* hooks/modules.c: records module calls while a session runs. */
PyObject *core_layers_install(PyObject *module, PyObject *args);
PyObject *core_layers_remove(PyObject *module, PyObject *unused);
PyObject *core_recorder_api(PyObject *module, PyObject *unused);
extern const char core_layers_install_doc[], core_layers_remove_doc[], core_recorder_api_doc[];

/* hooks/stacks.c: gives the recorder the Python stack of the calling thread. */
PyObject *core_stacks_install(PyObject *module, PyObject *functions);
PyObject *core_stacks_remove(PyObject *module, PyObject *unused);
extern const char core_stacks_install_doc[], core_stacks_remove_doc[];
/* The stack of a layer that begins. Stacks of nested calls are recorded relative to it. */
uint32_t core_layer_stack(pyro_recorder_thread *thread);
/* hooks/stack_codes.c: keeps the code of a new module class alive, because stacks that name it are walked
 * without the GIL. */
void core_stacks_hold(PyTypeObject *type);

/* recorder.c: adds the recorder's functions to the module; 0, or -1 with an exception. */
int core_add_capture(PyObject *module);
/* A pyro_write_fn that writes to a FILE, and the error that it sets from errno. */
int core_write_to_file(void *user, const char *bytes, size_t size, pyro_error *error);
int core_fail_to_write(pyro_error *error);

/* collector.c: adds the functions of the collector of device work. */
int core_add_collector(PyObject *module);

/* flight.c: adds triggers of the flight recorder, and ranges for other tools. */
int core_add_flight(PyObject *module);
/* Reads the texts of what is kept and of triggers, either may be NULL; -1 with an exception. */
int core_parse_flight(PyObject *module, pyro_flight_options *out, const char *keep,
                      const char *triggers);
extern bool core_ranges_wanted; /* layers become ranges */

/* Variables that every call of a layer reads lie beside those of the recorder (base/every_event.h). */
#define CORE_EVERY_CALL __attribute__((section("every_event")))

/* metrics.c: adds the live metrics. */
int core_add_metrics(PyObject *module);

/* training.c: adds event files and the reports of profiled training steps. */
int core_add_training(PyObject *module);

/* graph.c: adds programs, and the weights and marks that a recording needs to become one. */
int core_add_graph(PyObject *module);

/* loop.c: adds the sampling loop. */
int core_add_loop(PyObject *module);
/* The library's loop inside an object of state->loop_type. */
pyro_loop *core_loop_of(PyObject *loop);

/* gpu.c: adds the driver's readings of a GPU. */
int core_add_gpu(PyObject *module);
/* The library's GPU inside an object of state->gpu_type. */
const pyro_gpu *core_gpu_of(PyObject *gpu);

/* bench.c: adds benchmark results and their comparison. */
int core_add_bench(PyObject *module);

/* page.c: adds functions that write pages. */
int core_add_page(PyObject *module);
/* model.c and trace.c: add an object to a page. A negative status, with or without an exception. */
int core_add_model_to_page(pyro_page *page, const char *name, model_object *model,
                           PyObject *settings, pyro_error *error);
int core_add_trace_to_page(pyro_page *page, PyObject *trace, pyro_error *error);

/* history.c: adds the history of results. */
int core_add_history(PyObject *module);
/* history_read.c: adds what reads it. */
int core_add_history_read(PyObject *module);

/* process_use.c: adds the resource use of this process, and what the machine offers. */
int core_add_process_use(PyObject *module);

/* recommend.c: adds recommendations, knees and gains of variants. */
int core_add_recommend(PyObject *module);

/* hooks/marks.c: records numbered labels at both ends of layers while `core_marks_wanted`. */
extern bool core_marks_wanted;
int64_t core_marks_next(void);
void core_mark(int64_t number, bool begins);
int core_add_marks(PyObject *module);

/* hooks/passes.c: called by the layer hook around each call while `core_passes_wanted`. */
extern bool core_passes_wanted;
/* A call of a module that may be a pass. */
typedef struct core_pass {
    PyObject *token; /* of the pass, if one was begun */
    PyObject *before; /* the candidate of the call around it, to be restored */
    bool is_asked; /* core_pass_leave() must be called */
} core_pass;
/* Begins a pass if the call is one. core_pass_leave() ends it; an exception of the call must still
 * be set then. Neither raises. */
void core_pass_enter(core_pass *pass, PyObject *module);
void core_pass_leave(core_pass *pass);
/* Whether this thread is inside a pass, so that no other one begins. */
bool core_is_inside_pass(void);
int core_add_passes(PyObject *module);

/* hooks/inputs.c: records input shapes of layers. */
PyObject *core_inputs_install(PyObject *module, PyObject *args);
extern const char core_inputs_install_doc[];

/* hooks/forward.c: records direct calls of `forward`. */
PyObject *core_forward_watch(PyObject *module, PyObject *function);
extern const char core_forward_watch_doc[];
/* models.c: the model catalog and the user's registry. */
PyObject *core_models(PyObject *module, PyObject *args);
PyObject *core_same_name(PyObject *module, PyObject *args);
PyObject *core_share(PyObject *module, PyObject *given);
PyObject *core_spec_kind(PyObject *module, PyObject *args);
PyObject *core_builtin_of_id(PyObject *module, PyObject *given);
PyObject *core_registry_check_name(PyObject *module, PyObject *args);
PyObject *core_registry_add(PyObject *module, PyObject *args);
PyObject *core_registry_remove(PyObject *module, PyObject *args);
extern const char core_models_doc[];

#endif
