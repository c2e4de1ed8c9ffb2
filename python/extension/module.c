/* Defines the extension module: its state and its table of functions. Other files define the
 * functions and types. */
#include "module.h"

static int core_exec(PyObject *module)
{
    core_state *state = PyModule_GetState(module);
    PyObject *errors = PyImport_ImportModule("pyrometer._error");

    if (errors)
        state->error_type = PyObject_GetAttrString(errors, "Error");
    Py_XDECREF(errors);
    if (!state->error_type || core_add_model(module) || core_add_trace(module) ||
        core_add_capture(module) || core_add_collector(module) || core_add_flight(module) ||
        core_add_marks(module) || core_add_passes(module) || core_add_graph(module) ||
        core_add_loop(module) || core_add_gpu(module) || core_add_bench(module) ||
        core_add_training(module) || core_add_recommend(module) || core_add_process_use(module) ||
        core_add_history(module) || core_add_history_read(module) || core_add_metrics(module) ||
        core_add_page(module) || core_add_fuse(module) || core_add_fit(module) ||
        core_add_map(module))
        return -1;
    return PyModule_AddStringConstant(module, "version", pyro_version());
}

static int core_traverse(PyObject *module, visitproc visit, void *arg)
{
    core_state *state = PyModule_GetState(module);

    Py_VISIT(state->error_type);
    Py_VISIT(state->model_type);
    Py_VISIT(state->trace_type);
    Py_VISIT(state->column_type);
    Py_VISIT(state->program_type);
    Py_VISIT(state->scalars_type);
    Py_VISIT(state->loop_type);
    Py_VISIT(state->gpu_type);
    Py_VISIT(state->bench_type);
    return 0;
}

static int core_clear(PyObject *module)
{
    core_state *state = PyModule_GetState(module);

    Py_CLEAR(state->error_type);
    Py_CLEAR(state->model_type);
    Py_CLEAR(state->trace_type);
    Py_CLEAR(state->column_type);
    Py_CLEAR(state->program_type);
    Py_CLEAR(state->scalars_type);
    Py_CLEAR(state->loop_type);
    Py_CLEAR(state->gpu_type);
    Py_CLEAR(state->bench_type);
    return 0;
}

static PyMethodDef core_methods[] = {
    {"open", core_open, METH_VARARGS, "open(spec) -> Model: a path, path:name or built-in name."},
    {"open_memory", core_open_memory, METH_VARARGS, "open_memory(data, label) -> Model"},
    {"open_decode", core_open_decode, METH_VARARGS,
     "open_decode(name) -> Model: the graph of one decoding step of a built-in model."},
    {"open_trace", core_open_trace, METH_VARARGS, core_open_trace_doc},
    {"ranks", core_ranks, METH_VARARGS, core_ranks_doc},
    {"layers_install", core_layers_install, METH_VARARGS, core_layers_install_doc},
    {"layers_remove", core_layers_remove, METH_NOARGS, core_layers_remove_doc},
    {"inputs_install", core_inputs_install, METH_VARARGS, core_inputs_install_doc},
    {"forward_watch", core_forward_watch, METH_O, core_forward_watch_doc},
    {"recorder_api", core_recorder_api, METH_NOARGS, core_recorder_api_doc},
    {"stacks_install", core_stacks_install, METH_O, core_stacks_install_doc},
    {"stacks_remove", core_stacks_remove, METH_NOARGS, core_stacks_remove_doc},
    {"models", core_models, METH_VARARGS, core_models_doc},
    {"same_name", core_same_name, METH_VARARGS,
     "same_name(a, b) -> bool: whether both name the same model."},
    {"builtin_of_id", core_builtin_of_id, METH_O,
     "builtin_of_id(id) -> str or None: the built-in model of a Hugging Face or timm id."},
    {"spec_kind", core_spec_kind, METH_VARARGS,
     "spec_kind(spec) -> str: \"model\" for open(), or \"python\" or \"folder\" for a builder."},
    {"share", core_share, METH_O,
     "share(given) -> float: parses 0.1 or \"10%\"; raises ValueError."},
    {"registry_check_name", core_registry_check_name, METH_VARARGS,
     "registry_check_name(name, replace): raises ValueError if no model may have this name."},
    {"registry_add", core_registry_add, METH_VARARGS,
     "registry_add(name, archive, builder, replace): stores a model without its weights."},
    {"registry_remove", core_registry_remove, METH_VARARGS, "registry_remove(name)"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot core_slots[] = {
    {Py_mod_exec, core_exec},
    {0, NULL},
};

static struct PyModuleDef core_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "pyrometer._core",
    .m_doc = "Thin wrapper of the C library.",
    .m_size = sizeof(core_state),
    .m_methods = core_methods,
    .m_slots = core_slots,
    .m_traverse = core_traverse,
    .m_clear = core_clear,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&core_module);
}
