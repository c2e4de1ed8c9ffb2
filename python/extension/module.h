/* What the files of the extension share: its state, the model object, how failures are raised. */
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
    int busy; /* set while the library works on it, perhaps without the interpreter's lock */
} model_object;

/* state.c: raises what a Python user would look for and returns NULL; what is missing while `opening`
 * is a missing file. */
PyObject *core_fail(core_state *state, const pyro_error *error, int code, int opening);

/* model.c: adds the type of models to the module; 0, or -1 with an exception. */
int core_add_model(PyObject *module);
PyObject *core_open(PyObject *module, PyObject *args);
PyObject *core_open_decode(PyObject *module, PyObject *args);
PyObject *core_open_memory(PyObject *module, PyObject *args);
/* Marks a model as busy; -1 with an exception when it is already. The caller clears `busy`. */
int core_enter_model(model_object *self);

/* trace.c: adds the types of traces to the module; 0, or -1 with an exception. */
int core_add_trace(PyObject *module);
PyObject *core_open_trace(PyObject *module, PyObject *args);
extern const char core_open_trace_doc[];

/* ranks.c: many traces answered together. */
PyObject *core_ranks(PyObject *module, PyObject *args);
extern const char core_ranks_doc[];

/* hook_modules.c: observes calls of modules while a session runs. */
PyObject *core_layers_install(PyObject *module, PyObject *args);
PyObject *core_layers_remove(PyObject *module, PyObject *unused);
PyObject *core_recorder_api(PyObject *module, PyObject *unused);
extern const char core_layers_install_doc[], core_layers_remove_doc[], core_recorder_api_doc[];

/* hook_stacks.c: gives the recorder the Python frames of the thread that asks. */
PyObject *core_stacks_install(PyObject *module, PyObject *functions);
PyObject *core_stacks_remove(PyObject *module, PyObject *unused);
extern const char core_stacks_install_doc[], core_stacks_remove_doc[];
/* The stack of a layer that begins; those of what it calls will be told from it on. */
uint32_t core_layer_stack(pyro_recorder_thread *thread);
/* stack_codes.c: a class of modules was met; its code may be on stacks that are walked without the
 * lock. */
void core_stacks_hold(PyTypeObject *type);

/* recorder.c: adds the recorder's functions to the module; 0, or -1 with an exception. */
int core_add_capture(PyObject *module);
/* A pyro_write_fn to a FILE, and what it says where the system refuses. */
int core_write_to_file(void *user, const char *bytes, size_t size, pyro_error *error);
int core_fail_to_write(pyro_error *error);

/* training.c: adds event files and what is made of the recording of steps. */
int core_add_training(PyObject *module);

/* graph.c: adds programs, and what a recording needs to become one. */
int core_add_graph(PyObject *module);

/* loop.c: adds the measuring loop. */
int core_add_loop(PyObject *module);
/* The library's loop of an object of state->loop_type. */
pyro_loop *core_loop_of(PyObject *loop);

/* gpu.c: adds the GPU as its driver sees it. */
int core_add_gpu(PyObject *module);
/* The library's GPU of an object of state->gpu_type. */
const pyro_gpu *core_gpu_of(PyObject *gpu);

/* bench.c: adds results and their comparison. */
int core_add_bench(PyObject *module);

/* hook_marks.c: labels at both ends of layers while `core_marks_wanted`, by number. */
extern bool core_marks_wanted;
int64_t core_marks_next(void);
void core_mark(int64_t number, bool begins);
int core_add_marks(PyObject *module);

/* hook_passes.c: what the hook of layers asks around a call while `core_passes_wanted`. */
extern bool core_passes_wanted;
/* A call of a module that may be a pass. */
typedef struct core_pass {
    PyObject *token;  /* of a pass that was begun */
    PyObject *before; /* what was being called around it, where no pass was begun */
    bool is_asked;    /* core_pass_leave() must be called */
} core_pass;
/* Begins a pass where the call is one. core_pass_leave() ends it, with the exception that the call
 * raised still set. Neither raises. */
void core_pass_enter(core_pass *pass, PyObject *module);
void core_pass_leave(core_pass *pass);
/* True when a pass of this thread runs, so that no other one begins. */
bool core_is_inside_pass(void);
int core_add_passes(PyObject *module);

/* hook_inputs.c: what layers are given. */
PyObject *core_inputs_install(PyObject *module, PyObject *args);
extern const char core_inputs_install_doc[];

/* hook_forward.c: calls of `forward` itself. */
PyObject *core_forward_watch(PyObject *module, PyObject *function);
extern const char core_forward_watch_doc[];
/* models.c: models by name. */
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
