/*
 * Records Python stacks: walks the calling thread's interpreter frames in C, without the GIL and
 * without creating frame objects, and interns them by code object and instruction. Only this file
 * knows the frame layout, which differs between Python versions.
 */
#include "hooks/stack_codes.h"

#include <pyrometer/capture.h>
#include <pthread.h>

const char core_stacks_install_doc[] =
    "stacks_install(functions) -> bool: enables recording of stacks; False if this Python's frame\n"
    "layout is unsupported. Holds the code of the functions and of their files from the start:\n"
    "the functions of torch that Python calls around ops.";
const char core_stacks_remove_doc[] =
    "stacks_remove(): releases the code objects. The session must have ended.";

#if PY_VERSION_HEX >= 0x030E0000
uint32_t core_layer_stack(pyro_recorder_thread *thread)
{
    (void)thread;
    return 0;
}

PyObject *core_stacks_install(PyObject *module, PyObject *functions)
{
    (void)module, (void)functions;
    Py_RETURN_FALSE;
}

PyObject *core_stacks_remove(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    Py_RETURN_NONE;
}
#else

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

#define MOST_FRAMES 512 /* deeper stacks keep the innermost */
#define GROUP_FRAMES 4
#define LAST_FRAMES 8
#define FEWEST_GROUPS 1024u
#define MOST_GROUPS 65536u

#if PY_VERSION_HEX >= 0x030D0000
static inline _PyInterpreterFrame *innermost_frame(PyThreadState *state)
{
    return state->current_frame;
}

static inline bool is_of_python(const _PyInterpreterFrame *frame)
{
    return frame->owner != FRAME_OWNED_BY_CSTACK && PyCode_Check(frame->f_executable);
}

static inline PyCodeObject *code_of(const _PyInterpreterFrame *frame)
{
    return (PyCodeObject *)frame->f_executable;
}

static inline const _Py_CODEUNIT *instruction_of(const _PyInterpreterFrame *frame)
{
    return frame->instr_ptr;
}
#else
static inline _PyInterpreterFrame *innermost_frame(PyThreadState *state)
{
    return state->cframe->current_frame;
}

static inline bool is_of_python(const _PyInterpreterFrame *frame)
{
#if PY_VERSION_HEX >= 0x030C0000
    return frame->owner != FRAME_OWNED_BY_CSTACK;
#else
    (void)frame;
    return true;
#endif
}

static inline PyCodeObject *code_of(const _PyInterpreterFrame *frame)
{
    return frame->f_code;
}

static inline const _Py_CODEUNIT *instruction_of(const _PyInterpreterFrame *frame)
{
    return frame->prev_instr;
}
#endif

/* Offset of the current instruction, in bytes. */
static inline uint32_t offset_of(const _PyInterpreterFrame *frame)
{
    return (uint32_t)((const char *)instruction_of(frame) -
                      (const char *)_PyCode_CODE(code_of(frame)));
}

/* A few frames, outermost first, and the stack around them: one cache line. */
typedef struct stack_group {
    uint64_t code[GROUP_FRAMES];   /* its number, or its address if held */
    uint32_t offset[GROUP_FRAMES]; /* of the instruction, in bytes */
    uint32_t around, count;
    uint32_t id; /* 0: the slot is free */
    uint32_t reserved;
} stack_group;

/* The last walked stack, innermost frame first: nested ops have the same one. */
typedef struct last_stack {
    uint32_t id, around, count;
    uint32_t offset[LAST_FRAMES];
    uint64_t code[LAST_FRAMES];
} last_stack;

/* The groups of one thread in one session. */
typedef struct stack_table {
    uint32_t generation, used, capacity;
    stack_group *groups;
    last_stack last;
} stack_table;

static pthread_key_t table_key;
static bool has_table_key;
static pthread_once_t table_key_once = PTHREAD_ONCE_INIT;
static _Thread_local stack_table *thread_table __attribute__((tls_model("initial-exec")));

static inline uint64_t mix(uint64_t left, uint64_t right)
{
    return (left ^ right) * UINT64_C(0x9e3779b97f4a7c15) ^ (left >> 29);
}

static void free_table(void *pointer)
{
    stack_table *table = pointer;
    free(table->groups);
    free(table);
}

static void make_table_key(void)
{
    has_table_key = pthread_key_create(&table_key, free_table) == 0;
}

/* Layers of other threads may need the key before core_stacks_install(). Without it, the number of the
 * key would be that of another one: Python's, for its state of the thread. */
static stack_table *make_table(void)
{
    pthread_once(&table_key_once, make_table_key);
    stack_table *table = has_table_key ? calloc(1, sizeof *table) : NULL;
    if (!table || pthread_setspecific(table_key, table)) {
        free(table);
        return NULL;
    }
    thread_table = table;
    return table;
}

/* The thread's table, cleared for a new session; NULL if memory ran out. */
static inline stack_table *table_of(const pyro_recorder_thread *thread)
{
    stack_table *table = thread_table;
    if (__builtin_expect(!table, 0) && !(table = make_table()))
        return NULL;
    if (__builtin_expect(table->generation != thread->generation, 0)) {
        table->generation = thread->generation;
        table->used = table->last.id = 0;
        if (table->groups)
            memset(table->groups, 0, table->capacity * sizeof *table->groups);
    }
    return table;
}

static inline uint64_t hash_of(const stack_group *group)
{
    uint64_t hash = group->around + UINT64_C(0x632be59bd9b4e019);
    for (uint32_t i = 0; i < group->count; i++)
        hash = mix(hash, group->code[i] + ((uint64_t)group->offset[i] << 40));
    return hash ^ hash >> 32;
}

static inline bool is_same(const stack_group *left, const stack_group *right)
{
    if (left->around != right->around || left->count != right->count)
        return false;
    for (uint32_t i = 0; i < left->count; i++) {
        if (left->code[i] != right->code[i] || left->offset[i] != right->offset[i])
            return false;
    }
    return true;
}

/* The slot of a group, or the free slot for it. */
static inline stack_group *slot_of(const stack_table *table, const stack_group *group)
{
    uint32_t mask = table->capacity - 1;
    uint32_t i = (uint32_t)hash_of(group) & mask;
    while (table->groups[i].id && !is_same(&table->groups[i], group))
        i = (i + 1) & mask;
    return &table->groups[i];
}

/* Makes room for one more; clears a full table of the largest size. */
static bool grow_table(stack_table *table)
{
    if (table->used * 2 < table->capacity)
        return true;
    uint32_t old_capacity = table->capacity;
    stack_group *old = table->groups;
    uint32_t capacity = !old_capacity ? FEWEST_GROUPS : old_capacity * 2;
    if (capacity > MOST_GROUPS)
        capacity = MOST_GROUPS;
    stack_group *groups = calloc(capacity, sizeof *groups);
    if (!groups)
        return false;
    table->groups = groups;
    table->capacity = capacity;
    if (old_capacity == MOST_GROUPS) {
        table->used = 0;
    } else {
        for (uint32_t i = 0; i < old_capacity; i++) {
            if (old[i].id)
                *slot_of(table, &old[i]) = old[i];
        }
    }
    free(old);
    return true;
}

/* Writes an immutable str as UTF-8, truncated to `room`. Needs no GIL. */
static size_t put_text(char *out, size_t room, PyObject *text)
{
    size_t used = 0;
    if (!text || !PyUnicode_Check(text))
        return 0;
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    int kind = (int)PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    for (Py_ssize_t i = 0; i < length && used + 4 < room; i++) {
        Py_UCS4 point = PyUnicode_READ(kind, data, i);
        if (point < 0x80) {
            out[used++] = point < 0x20 ? '?' : (char)point;
        } else if (point < 0x800) {
            out[used++] = (char)(0xc0 | point >> 6);
            out[used++] = (char)(0x80 | (point & 63));
        } else if (point >= 0xd800 && point < 0xe000) {
            out[used++] = '?'; /* a lone surrogate, from a file name that is not UTF-8 */
        } else if (point < 0x10000) {
            out[used++] = (char)(0xe0 | point >> 12);
            out[used++] = (char)(0x80 | (point >> 6 & 63));
            out[used++] = (char)(0x80 | (point & 63));
        } else {
            out[used++] = (char)(0xf0 | point >> 18);
            out[used++] = (char)(0x80 | (point >> 12 & 63));
            out[used++] = (char)(0x80 | (point >> 6 & 63));
            out[used++] = (char)(0x80 | (point & 63));
        }
    }
    return used;
}

/* "file.py(12): function", as torch.profiler writes it. */
static uint32_t frame_id(PyCodeObject *code, uint32_t offset)
{
    char text[2048];
    size_t used = put_text(text, 1400, code->co_filename);
    int line = PyCode_Addr2Line(code, (int)offset);
    used += (size_t)snprintf(text + used, sizeof text - used, "(%d): ", line);
    used += put_text(text + used, sizeof text - used - 1, code->co_name);
    text[used] = '\0';
    return pyro_recorder_frame(text);
}

static bool may_keep(const _PyInterpreterFrame *frame)
{
#if CODE_HAS_NUMBER
    return code_of(frame)->co_version != 0;
#else
    return stacks_hold_file((PyObject *)code_of(frame), frame->f_globals);
#endif
}

static inline uint64_t identity_of(const PyCodeObject *code)
{
#if CODE_HAS_NUMBER
    return code->co_version;
#else
    return (uintptr_t)code;
#endif
}

static uint32_t intern_new(stack_table *table, stack_group *group,
                           const _PyInterpreterFrame *const *frames, bool *all_kept)
{
    uint32_t ids[GROUP_FRAMES];
    bool is_kept = true;
    for (uint32_t i = 0; i < group->count; i++) {
        ids[i] = frame_id(code_of(frames[i]), group->offset[i]);
        is_kept = may_keep(frames[i]) && is_kept;
    }
    group->id = pyro_recorder_stack(group->around, ids, group->count);
    if (group->id && is_kept && grow_table(table)) {
        *slot_of(table, group) = *group;
        table->used++;
    }
    *all_kept = *all_kept && is_kept;
    return group->id;
}

static inline uint32_t intern_group(stack_table *table, stack_group *group,
                                    const _PyInterpreterFrame *const *frames, bool *all_kept)
{
    if (table->capacity) {
        const stack_group *found = slot_of(table, group);
        if (found->id)
            return found->id;
    }
    return intern_new(table, group, frames, all_kept);
}

static inline bool is_last(const last_stack *last, uint32_t around,
                           const _PyInterpreterFrame *const *found, uint32_t count)
{
    if (!last->id || last->around != around || last->count != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (last->code[i] != identity_of(code_of(found[i])) ||
            last->offset[i] != offset_of(found[i]))
            return false;
    }
    return true;
}

static inline void set_last(last_stack *last, uint32_t id, uint32_t around,
                            const _PyInterpreterFrame *const *found, uint32_t count)
{
    last->id = count <= LAST_FRAMES ? id : 0;
    last->around = around;
    last->count = count;
    for (uint32_t i = 0; i < count && last->id; i++) {
        last->code[i] = identity_of(code_of(found[i]));
        last->offset[i] = offset_of(found[i]);
    }
}

/* Interns frames, given innermost first, below the stack `around`. */
static uint32_t intern_frames(stack_table *table, uint32_t around,
                              const _PyInterpreterFrame *const *found, uint32_t count)
{
    uint32_t left = count, id = around;
    bool all_kept = true;
    while (left) {
        stack_group group = {.around = id};
        const _PyInterpreterFrame *frames[GROUP_FRAMES];
        while (left && group.count < GROUP_FRAMES) {
            const _PyInterpreterFrame *one = frames[group.count] = found[--left];
            group.code[group.count] = identity_of(code_of(one));
            group.offset[group.count++] = offset_of(one);
        }
        id = intern_group(table, &group, frames, &all_kept);
        if (!id)
            return 0;
    }
    set_last(&table->last, all_kept ? id : 0, around, found, count);
    return id;
}

/*
 * Interns the frames from the innermost to that of the enclosing layer, below that layer's stack.
 * Only this thread changes its frames, so walking them needs no lock.
 */
static inline uint32_t walk(pyro_recorder_thread *thread, const _PyInterpreterFrame *frame)
{
    const _PyInterpreterFrame *found[MOST_FRAMES];
    uint32_t count = 0, around = thread->layer_stack;
    const void *stop = thread->layer_frame;
    stack_table *table = table_of(thread);
    if (!table)
        return 0;
    for (; frame && (const void *)frame != stop; frame = frame->previous) {
        if (!is_of_python(frame))
            continue;
        if (count == MOST_FRAMES)
            break;
        found[count++] = frame;
    }
    /* Too deep, or the layer's frame is on another stack of this thread. */
    if (!frame || (const void *)frame != stop)
        around = 0;
    if (is_last(&table->last, around, found, count))
        return table->last.id;
    return intern_frames(table, around, found, count);
}

static const void *op_frame(void)
{
    PyThreadState *state = PyGILState_GetThisThreadState();
    return state ? innermost_frame(state) : NULL;
}

static uint32_t op_stack(pyro_recorder_thread *thread)
{
    return walk(thread, op_frame());
}

uint32_t core_layer_stack(pyro_recorder_thread *thread)
{
    const _PyInterpreterFrame *frame = innermost_frame(PyThreadState_Get());
    uint32_t stack = walk(thread, frame);
    if (stack) {
        thread->layer_stack = stack;
        thread->layer_frame = (void *)frame;
    }
    return stack;
}

PyObject *core_stacks_install(PyObject *module, PyObject *functions)
{
    (void)module;
    PyObject *list = PySequence_Fast(functions, "functions must be a sequence");
    if (!list)
        return NULL;
#if !CODE_HAS_NUMBER
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        PyObject *function = PySequence_Fast_GET_ITEM(list, i);
        if (PyFunction_Check(function))
            stacks_hold_file(PyFunction_GET_CODE(function), PyFunction_GET_GLOBALS(function));
    }
#endif
    Py_DECREF(list);
    pyro_recorder_entrance()->stack = op_stack;
    pyro_recorder_entrance()->frame = op_frame;
    Py_RETURN_TRUE;
}

PyObject *core_stacks_remove(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (pyro_is_recording(pyro_recorder_entrance())) {
        PyErr_SetString(PyExc_RuntimeError,
                        "cannot release code objects while a session runs; stop it first");
        return NULL;
    }
    stacks_release();
    Py_RETURN_NONE;
}
#endif
