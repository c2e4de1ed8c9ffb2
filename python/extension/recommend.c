/* Python functions for recommendations: read evidence from an object's attributes and return rows
 * as tuples. Also the knee of a batch sweep, the gain of a variant, and statistics of samples. */
#include "module.h"

#include <pyrometer/recommend.h>
#include <stddef.h>

enum kind { INTEGER, NUMBER, TEXT, FLAG, TRISTATE };

/* Members of the evidence by attribute name. None leaves a member unchanged. */
static const struct member {
    const char *attribute;
    enum kind kind;
    size_t offset;
} members[] = {
#define MEMBER(attribute, kind, member) {attribute, kind, offsetof(pyro_model_evidence, member)}
    MEMBER("kind", TEXT, kind),
    MEMBER("precision", TEXT, precision),
    MEMBER("on_gpu", FLAG, on_gpu),
    MEMBER("channels_last", FLAG, channels_last),
    MEMBER("batch_size", INTEGER, batch_size),
    MEMBER("call_ms", NUMBER, call_ms),
    MEMBER("outside", NUMBER, outside_share),
    MEMBER("flops", INTEGER, flops),
    MEMBER("moved_bytes", INTEGER, moved_bytes),
    MEMBER("weight_bytes", INTEGER, weight_bytes),
    MEMBER("activation_bytes", INTEGER, activation_bytes),
    MEMBER("device_bytes", INTEGER, device_bytes),
    MEMBER("zero_share", NUMBER, zero_share),
    MEMBER("allocations", INTEGER, allocations),
    MEMBER("allocated_bytes", INTEGER, allocated_bytes),
    MEMBER("fragmentation", NUMBER, fragmentation),
    MEMBER("peak_bytes", INTEGER, peak_bytes),
    MEMBER("threads", INTEGER, threads),
    MEMBER("usable", INTEGER, usable_cpus),
    MEMBER("cpu_percent", NUMBER, cpu_percent),
    MEMBER("waiting", NUMBER, waiting_share),
    MEMBER("gpu_percent", NUMBER, gpu_percent),
    MEMBER("disk_read_bytes", INTEGER, disk_read_bytes),
    MEMBER("calls_timed", INTEGER, timed_calls),
    MEMBER("first_token_ms", NUMBER, first_token_ms),
    MEMBER("token_ms", NUMBER, token_ms),
    MEMBER("caches", TRISTATE, uses_cache),
    MEMBER("cache_bytes", INTEGER, cache_bytes),
    MEMBER("attention", TEXT, attention),
#undef MEMBER
};

/* Evidence, and the objects that keep its pointers valid. */
typedef struct gathered {
    pyro_model_evidence evidence;
    PyObject *kept; /* list of objects that own its texts */
    pyro_batch_time *batches;
    pyro_op_share *ops;
    const char **classes;
    pyro_finding *findings;
} gathered;

/* False with an exception. */
static bool read_value(PyObject *value, enum kind kind, void *out)
{
    int truth;

    switch (kind) {
    case INTEGER:
        *(int64_t *)out = PyLong_AsLongLong(value);
        break;
    case NUMBER:
        *(double *)out = PyFloat_AsDouble(value);
        break;
    case TEXT:
        *(const char **)out = PyUnicode_AsUTF8(value);
        break;
    case FLAG:
    case TRISTATE:
        truth = PyObject_IsTrue(value);
        if (kind == FLAG)
            *(bool *)out = truth > 0;
        else
            *(int *)out = truth > 0;
        break;
    }
    return !PyErr_Occurred();
}

/* A new reference, also added to `kept`; NULL with an exception. */
static PyObject *attribute(gathered *all, PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);

    if (value && PyList_Append(all->kept, value))
        Py_CLEAR(value);
    return value;
}

static bool read_members(gathered *all, PyObject *object)
{
    bool good = true;

    for (size_t i = 0; good && i < sizeof members / sizeof *members; i++) {
        PyObject *value = attribute(all, object, members[i].attribute);

        good = value &&
               (value == Py_None ||
                read_value(value, members[i].kind, (char *)&all->evidence + members[i].offset));
        Py_XDECREF(value);
    }
    return good;
}

/* An attribute as a list, borrowed from `kept`, and a zeroed array for its items; NULL with an
 * exception. */
static PyObject *read_list(gathered *all, PyObject *object, const char *name, size_t item_size,
                           void *room)
{
    PyObject *value = attribute(all, object, name), *list = NULL;

    if (value)
        list = PyDict_Check(value) ? PyDict_Items(value) : PySequence_List(value);
    Py_XDECREF(value);
    if (list && PyList_Append(all->kept, list))
        Py_CLEAR(list);
    if (!list)
        return NULL;
    Py_DECREF(list); /* `kept` has it */
    *(void **)room = PyMem_Calloc((size_t)PyList_GET_SIZE(list) + 1, item_size);
    return *(void **)room ? list : PyErr_NoMemory();
}

static bool read_batches(gathered *all, PyObject *object)
{
    PyObject *list = read_list(all, object, "batch_ms", sizeof *all->batches, &all->batches);
    bool good = list != NULL;

    for (Py_ssize_t i = 0; good && i < PyList_GET_SIZE(list); i++) {
        long long size;

        good = PyArg_ParseTuple(PyList_GET_ITEM(list, i), "Ld", &size, &all->batches[i].call_ms);
        all->batches[i].batch_size = good ? size : 0;
    }
    all->evidence.batches = all->batches;
    all->evidence.batch_count = good ? (size_t)PyList_GET_SIZE(list) : 0;
    return good;
}

static bool read_ops(gathered *all, PyObject *object)
{
    PyObject *list = read_list(all, object, "ops", sizeof *all->ops, &all->ops);
    bool good = list != NULL;

    for (Py_ssize_t i = 0; good && i < PyList_GET_SIZE(list); i++) {
        long long calls;

        good = PyArg_ParseTuple(PyList_GET_ITEM(list, i), "sdL", &all->ops[i].name,
                                &all->ops[i].share, &calls);
        all->ops[i].calls = good ? calls : 0;
    }
    all->evidence.ops = all->ops;
    all->evidence.op_count = good ? (size_t)PyList_GET_SIZE(list) : 0;
    return good;
}

static bool read_classes(gathered *all, PyObject *object)
{
    PyObject *list = read_list(all, object, "classes", sizeof *all->classes, &all->classes);
    bool good = list != NULL;

    for (Py_ssize_t i = 0; good && i < PyList_GET_SIZE(list); i++)
        good = (all->classes[i] = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i))) != NULL;
    all->evidence.layer_classes = all->classes;
    all->evidence.layer_class_count = good ? (size_t)PyList_GET_SIZE(list) : 0;
    return good;
}

/* The value of a key, borrowed; NULL with an exception. */
static PyObject *item(PyObject *dict, const char *key)
{
    PyObject *value = PyDict_Check(dict) ? PyDict_GetItemString(dict, key) : NULL;

    if (!value)
        PyErr_Format(PyExc_KeyError, "%s", key);
    return value;
}

static bool read_finding(pyro_finding *out, PyObject *dict)
{
    const struct {
        const char *key;
        const char **text;
    } texts[] = {{"id", &out->id},
                 {"title", &out->title},
                 {"advice", &out->advice},
                 {"evidence", &out->evidence}};
    PyObject *value = item(dict, "gain_ns");

    out->gain_ns = -1;
    bool good = value && (value == Py_None || read_value(value, INTEGER, &out->gain_ns));
    for (size_t i = 0; good && i < sizeof texts / sizeof *texts; i++) {
        value = item(dict, texts[i].key);
        good = value && read_value(value, TEXT, texts[i].text);
    }
    return good;
}

static bool read_findings(gathered *all, PyObject *object)
{
    PyObject *list = read_list(all, object, "findings", sizeof *all->findings, &all->findings);
    bool good = list != NULL;

    for (Py_ssize_t i = 0; good && i < PyList_GET_SIZE(list); i++)
        good = read_finding(&all->findings[i], PyList_GET_ITEM(list, i));
    all->evidence.findings = all->findings;
    all->evidence.finding_count = good ? (size_t)PyList_GET_SIZE(list) : 0;
    return good;
}

/* The attribute is a pair (type, reason) or None. */
static bool read_half_type(gathered *all, PyObject *object)
{
    PyObject *value = attribute(all, object, "half_type");
    bool good = value &&
                (value == Py_None || PyArg_ParseTuple(value, "ss", &all->evidence.half_type,
                                                      &all->evidence.half_type_reason));

    Py_XDECREF(value);
    return good;
}

static bool read_stages(gathered *all, PyObject *object)
{
    const struct {
        const char *key;
        double *ms;
    } stages[] = {{"end_to_end", &all->evidence.end_to_end_ms},
                  {"preprocess", &all->evidence.preprocess_ms},
                  {"postprocess", &all->evidence.postprocess_ms}};
    PyObject *dict = attribute(all, object, "stages_ms");
    bool good = dict && PyDict_Check(dict);

    for (size_t i = 0; good && i < sizeof stages / sizeof *stages; i++) {
        PyObject *value = PyDict_GetItemString(dict, stages[i].key);

        good = !value || read_value(value, NUMBER, stages[i].ms);
    }
    if (!good && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "stages_ms must be a dict");
    Py_XDECREF(dict);
    return good;
}

static PyObject *rows_as_list(const pyro_recommendations *made)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < made->count; i++) {
        const pyro_recommendation *row = &made->rows[i];
        PyObject *tuple = Py_BuildValue("(ssssss)", row->id, row->subject, row->advice,
                                        row->evidence, row->gain, row->variant);

        if (!tuple || PyList_Append(list, tuple))
            Py_CLEAR(list);
        Py_XDECREF(tuple);
    }
    return list;
}

static PyObject *recommend(PyObject *module, PyObject *object)
{
    gathered all = {.kept = PyList_New(0)};
    pyro_recommendations *made = NULL;
    PyObject *rows = NULL;
    pyro_error error;

    pyro_model_evidence_init(&all.evidence);
    pyro_error_clear(&error);
    if (all.kept && read_members(&all, object) && read_batches(&all, object) &&
        read_ops(&all, object) && read_classes(&all, object) && read_findings(&all, object) &&
        read_half_type(&all, object) && read_stages(&all, object)) {
        int status = pyro_recommend(&made, &all.evidence, &error);

        rows = status < 0 ? core_fail(PyModule_GetState(module), &error, status, 0)
                          : rows_as_list(made);
        pyro_recommendations_free(made);
    }
    PyMem_Free(all.batches);
    PyMem_Free(all.ops);
    PyMem_Free(all.classes);
    PyMem_Free(all.findings);
    Py_XDECREF(all.kept);
    return rows;
}

static PyObject *recommendation_rules(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    pyro_recommendation_rule rule;

    (void)module;
    (void)unused;
    for (size_t i = 0; list && pyro_recommendation_rule_at(&rule, i); i++) {
        PyObject *tuple = Py_BuildValue("(ssd)", rule.id, rule.subject, rule.threshold);

        if (!tuple || PyList_Append(list, tuple))
            Py_CLEAR(list);
        Py_XDECREF(tuple);
    }
    return list;
}

/* The numbers of a sequence, which the caller frees; NULL with an exception. */
static double *as_numbers(PyObject *sequence, size_t *count)
{
    PyObject *list = PySequence_Fast(sequence, "samples must be a sequence of numbers");
    double *values = NULL;

    if (!list)
        return NULL;
    *count = (size_t)PySequence_Fast_GET_SIZE(list);
    values = PyMem_Calloc(*count + 1, sizeof *values);
    if (!values)
        PyErr_NoMemory();
    for (size_t i = 0; values && i < *count; i++)
        values[i] = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(list, (Py_ssize_t)i));
    Py_DECREF(list);
    if (PyErr_Occurred()) {
        PyMem_Free(values);
        values = NULL;
    }
    return values;
}

static PyObject *find_knee(PyObject *module, PyObject *pairs)
{
    PyObject *list = PySequence_Fast(pairs, "points must be a sequence of pairs"), *result = NULL;
    pyro_batch_rate *points = NULL;
    pyro_knee knee;
    bool good;

    (void)module;
    if (!list)
        return NULL;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
    points = PyMem_Calloc((size_t)count + 1, sizeof *points);
    good = points || PyErr_NoMemory();
    for (Py_ssize_t i = 0; good && i < count; i++) {
        long long size = 0;

        good = PyArg_ParseTuple(PySequence_Fast_GET_ITEM(list, i), "Ld", &size,
                                &points[i].samples_per_s);
        points[i].batch_size = size;
    }
    if (good && pyro_find_knee(&knee, points, (size_t)count))
        result = Py_BuildValue("(LOs)", (long long)knee.batch_size,
                               knee.reached ? Py_True : Py_False, knee.text);
    else if (good)
        result = Py_NewRef(Py_None);
    PyMem_Free(points);
    Py_DECREF(list);
    return result;
}

static PyObject *compare_variant(PyObject *module, PyObject *args)
{
    PyObject *before_object, *after_object, *result = NULL;
    double factor, *before, *after;
    size_t before_count = 0, after_count = 0;
    int frees;
    pyro_variant_gain gain;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "OOdp:compare_variant", &before_object, &after_object, &factor,
                          &frees))
        return NULL;
    pyro_error_clear(&error);
    before = as_numbers(before_object, &before_count);
    after = before ? as_numbers(after_object, &after_count) : NULL;
    if (after && before_count != after_count) {
        PyErr_SetString(PyExc_ValueError, "before_ms and after_ms must have the same length");
    } else if (after) {
        int status = pyro_variant_compare(&gain, before, after, before_count, factor, frees,
                                          &error);

        result = status < 0 ? core_fail(PyModule_GetState(module), &error, status, 0)
                            : Py_BuildValue("(ss)", pyro_outcome_name(gain.outcome), gain.text);
    }
    PyMem_Free(before);
    PyMem_Free(after);
    return result;
}

static PyObject *summarize(PyObject *sequence, double (*of)(const double *, size_t))
{
    size_t count = 0;
    double *values = as_numbers(sequence, &count);

    if (!values)
        return NULL;
    double result = of(values, count);
    PyMem_Free(values);
    return PyFloat_FromDouble(result);
}

static PyObject *mean(PyObject *module, PyObject *sequence)
{
    (void)module;
    return summarize(sequence, pyro_samples_mean);
}

static PyObject *median(PyObject *module, PyObject *sequence)
{
    (void)module;
    return summarize(sequence, pyro_samples_median);
}

static PyMethodDef methods[] = {
    {"recommend", recommend, METH_O,
     "recommend(evidence) -> [(id, subject, advice, evidence, gain, variant)]"},
    {"recommendation_rules", recommendation_rules, METH_NOARGS,
     "recommendation_rules() -> [(id, subject, threshold)]"},
    {"find_knee", find_knee, METH_O,
     "find_knee([(batch, rate)]) -> (batch, reached, text), or None for fewer than two batches."},
    {"compare_variant", compare_variant, METH_VARARGS,
     "compare_variant(before_ms, after_ms, factor, frees_processors) -> (outcome, text)"},
    {"mean", mean, METH_O, "mean(samples) -> float: NaN if empty."},
    {"median", median, METH_O, "median(samples) -> float: NaN if empty."},
    {NULL, NULL, 0, NULL},
};

int core_add_recommend(PyObject *module)
{
    PyObject *gain = PyFloat_FromDouble(PYRO_KNEE_GAIN);
    int status = gain ? PyModule_AddObjectRef(module, "KNEE_GAIN", gain) : -1;

    Py_XDECREF(gain);
    return status ? -1 : PyModule_AddFunctions(module, methods);
}
