/* Compares names with the rows of kernels.def, and decides between a kernel's name and its ops. */
#include "analyze/device/kernel_category.h"

#include "analyze/device/kernel_names.h"
#include "graph/op_groups.h"

#include <string.h>

enum { LONGEST_TEXT = 1024, LONGEST_WORD = 32, PAIR_BITS = 1024, DEEPEST_NEST = 100 };

/* A text in small letters. Most words are ruled out by their pairs of letters, without a search. */
typedef struct searched {
    char text[LONGEST_TEXT];
    uint64_t pairs[PAIR_BITS / 64];
} searched;

static unsigned pair_of(char first, char second)
{
    return ((unsigned char)first * 31u + (unsigned char)second) % PAIR_BITS;
}

static char small_letter(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Takes at most `length` bytes. */
static void prepare(searched *s, const char *text, size_t length)
{
    size_t i = 0;
    memset(s->pairs, 0, sizeof s->pairs);
    for (; i < length && i + 1 < sizeof s->text && text[i]; i++) {
        s->text[i] = small_letter(text[i]);
        if (i) {
            unsigned pair = pair_of(s->text[i - 1], s->text[i]);
            s->pairs[pair / 64] |= UINT64_C(1) << pair % 64;
        }
    }
    s->text[i] = '\0';
}

static bool has_pair(const searched *s, char first, char second)
{
    unsigned pair = pair_of(first, second);
    return s->pairs[pair / 64] >> pair % 64 & 1;
}

/* Words have at least two letters. */
static bool holds(const searched *s, const char *word, size_t length, bool at_begin)
{
    char text[LONGEST_WORD + 1];
    if (length < 2 || length > LONGEST_WORD || !has_pair(s, word[0], word[1]) ||
        !has_pair(s, word[length - 2], word[length - 1]))
        return false;
    if (at_begin)
        return !strncmp(s->text, word, length);
    memcpy(text, word, length);
    text[length] = '\0';
    return strstr(s->text, text) != NULL;
}

/* True when each word of a row is in its text. */
static bool matches(const char *words, const searched *name, const searched *qualified)
{
    while (*words) {
        bool at_begin = *words == '^';
        words += at_begin;
        size_t length = strcspn(words, " ");
        bool is_qualified = memchr(words, ':', length) != NULL;
        if (!holds(is_qualified ? qualified : name, words, length, at_begin))
            return false;
        words += length;
        words += *words == ' ';
    }
    return true;
}

const char *pyro_kernel_category_name(pyro_kernel_category category)
{
    static const char *const names[] = {
#define CATEGORY(id, name) name,
#include "analyze/device/kernels.def"
    };
    return names[category];
}

enum { SURE = 1, OPEN = 0 };

static const struct {
    const char *words;
    pyro_kernel_class result;
} kernel_rows[] = {
#define KERNEL(words, category, certainty, role) \
    {words, {PYRO_KERNEL_##category, PYRO_ROLE_##role, certainty}},
#include "analyze/device/kernels.def"
};

static const struct {
    const char *words;
    pyro_kernel_category category;
} launcher_rows[] = {
#define LAUNCHER(words, category) {words, PYRO_KERNEL_##category},
#include "analyze/device/kernels.def"
};

pyro_kernel_class pyro_kernel_classify(const char *name)
{
    char text[LONGEST_TEXT];
    searched shown, qualified;
    if (pyro_is_collective_kernel(name))
        return (pyro_kernel_class){PYRO_KERNEL_COMMUNICATION, PYRO_ROLE_PLAIN, true};
    pyro_kernel_shorten(name, text, sizeof text);
    prepare(&shown, text, sizeof text);
    /* Types of arguments and parameters say nothing about the kernel itself. */
    size_t anonymous = strncmp(name, "void (anonymous", 15) ? 0 : 15;
    prepare(&qualified, name, anonymous + strcspn(name + anonymous, "<("));
    for (size_t i = 0; i < sizeof kernel_rows / sizeof *kernel_rows; i++)
        if (matches(kernel_rows[i].words, &shown, &qualified))
            return kernel_rows[i].result;
    return (pyro_kernel_class){PYRO_KERNEL_OTHER, PYRO_ROLE_PLAIN, false};
}

/* By an operator's row in ops.def. */
static pyro_kernel_category category_of(const pyro_op *op)
{
    static const uint8_t categories[PYRO_CATEGORY_COUNT] = {
        [PYRO_CATEGORY_CONVOLUTION] = PYRO_KERNEL_CONVOLUTION + 1,
        [PYRO_CATEGORY_MATMUL] = PYRO_KERNEL_GEMM + 1,
        [PYRO_CATEGORY_ATTENTION] = PYRO_KERNEL_ATTENTION + 1,
        [PYRO_CATEGORY_NORM] = PYRO_KERNEL_NORM + 1,
        [PYRO_CATEGORY_ACTIVATION] = PYRO_KERNEL_ELEMENTWISE + 1,
        [PYRO_CATEGORY_ELEMENTWISE] = PYRO_KERNEL_ELEMENTWISE + 1,
        [PYRO_CATEGORY_REDUCTION] = PYRO_KERNEL_REDUCTION + 1,
        [PYRO_CATEGORY_POOLING] = PYRO_KERNEL_REDUCTION + 1,
        [PYRO_CATEGORY_RESAMPLING] = PYRO_KERNEL_ELEMENTWISE + 1,
        [PYRO_CATEGORY_LOOKUP] = PYRO_KERNEL_EMBEDDING + 1,
        [PYRO_CATEGORY_MEMORY] = PYRO_KERNEL_COPY + 1,
    };
    if (strstr(op->label, "Softmax"))
        return PYRO_KERNEL_SOFTMAX;
    /* The projections of a whole multi-head attention are plain products. */
    if (strstr(op->label, "FFT") || strstr(op->label, "MultiHead"))
        return PYRO_KERNEL_OTHER;
    uint8_t found = categories[op->category];
    return found ? (pyro_kernel_category)(found - 1) : PYRO_KERNEL_OTHER;
}

pyro_kernel_category pyro_op_kernel_category(const pyro_op_index *ops, const char *name)
{
    const pyro_op *op = pyro_op_find_recorded(ops, name);
    searched text;
    if (op)
        return category_of(op);
    prepare(&text, name, sizeof text.text);
    for (size_t i = 0; i < sizeof launcher_rows / sizeof *launcher_rows; i++)
        if (matches(launcher_rows[i].words, &text, &text))
            return launcher_rows[i].category;
    return PYRO_KERNEL_OTHER;
}

/* A class in one byte that is not 0: category, role and certainty fit 4, 2 and 1 bits. */
static uint8_t pack(pyro_kernel_class class)
{
    return (uint8_t)(1 + (class.category | class.role << 4 | class.is_sure << 6));
}

bool pyro_classify_kernels(pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    uint8_t *classes = pyro_arena_alloc(context->scratch, trace->names.count + 1);
    context->kernel_classes = classes;
    for (size_t i = pyro_trace_next(trace, 0, PYRO_EVENT_KERNEL); classes && i < trace->count;
         i = pyro_trace_next(trace, i + 1, PYRO_EVENT_KERNEL)) {
        uint32_t name = trace->name[i];
        if (name != PYRO_NO_ID && !classes[name])
            classes[name] = pack(pyro_kernel_classify(pyro_trace_text(trace, name)));
    }
    return classes != NULL;
}

pyro_kernel_class pyro_kernel_class_of(const pyro_analysis_context *context, uint32_t event)
{
    uint32_t name = context->trace->name[event];
    if (name == PYRO_NO_ID)
        return (pyro_kernel_class){PYRO_KERNEL_OTHER, PYRO_ROLE_PLAIN, false};
    if (!context->kernel_classes[name]) /* no kernel's */
        return pyro_kernel_classify(pyro_trace_text(context->trace, name));
    unsigned bits = context->kernel_classes[name] - 1u;
    return (pyro_kernel_class){bits & 15, bits >> 4 & 3, bits >> 6 & 1};
}

bool pyro_kernel_sorter_init(pyro_kernel_sorter *sorter, const pyro_analysis_context *context)
{
    *sorter = (pyro_kernel_sorter){.context = context};
    bool is_complete = pyro_op_index_init(&sorter->ops);
    sorter->has_ops = true; /* an incomplete index is freed too */
    sorter->by_op = pyro_arena_alloc(context->scratch, context->trace->names.count + 1);
    return is_complete && sorter->by_op;
}

void pyro_kernel_sorter_free(pyro_kernel_sorter *sorter)
{
    if (sorter->has_ops)
        pyro_op_index_free(&sorter->ops);
    sorter->has_ops = false;
}

static pyro_kernel_category op_category(pyro_kernel_sorter *sorter, uint32_t op)
{
    uint32_t name = sorter->context->trace->name[op];
    if (name == PYRO_NO_ID)
        return PYRO_KERNEL_OTHER;
    uint8_t *known = &sorter->by_op[name];
    if (!*known)
        *known = (uint8_t)(1 + pyro_op_kernel_category(
                                   &sorter->ops, pyro_trace_text(sorter->context->trace, name)));
    return (pyro_kernel_category)(*known - 1);
}

/* Whether an op's category says more than the name of its kernel: a product may belong to a
 * convolution, and a map or a reduction may belong to a norm. */
static bool says_more(pyro_kernel_category op, pyro_kernel_class kernel)
{
    switch (op) {
    case PYRO_KERNEL_CONVOLUTION:
    case PYRO_KERNEL_ATTENTION:
    case PYRO_KERNEL_MOE:
        return true;
    case PYRO_KERNEL_NORM:
    case PYRO_KERNEL_SOFTMAX:
    case PYRO_KERNEL_EMBEDDING:
    case PYRO_KERNEL_OPTIMIZER:
    case PYRO_KERNEL_SAMPLING:
        return kernel.role != PYRO_ROLE_PRODUCT;
    default:
        return kernel.category == PYRO_KERNEL_OTHER && op != PYRO_KERNEL_OTHER;
    }
}

pyro_kernel_category pyro_kernel_sorter_find(pyro_kernel_sorter *sorter, uint32_t event)
{
    const pyro_joins *joins = sorter->context->joins;
    if (sorter->context->trace->category[event] != PYRO_EVENT_KERNEL)
        return PYRO_KERNEL_COPY;
    pyro_kernel_class kernel = pyro_kernel_class_of(sorter->context, event);
    if (kernel.is_sure)
        return (pyro_kernel_category)kernel.category;
    if (joins->phase[event] == PYRO_PHASE_OPTIMIZER && kernel.role != PYRO_ROLE_PRODUCT)
        return PYRO_KERNEL_OPTIMIZER;
    uint32_t op = joins->op[event];
    for (int depth = 0; depth < DEEPEST_NEST && op != PYRO_NO_EVENT; depth++) {
        pyro_kernel_category found = op_category(sorter, op);
        if (says_more(found, kernel))
            return found;
        uint32_t parent = joins->parent[op];
        op = parent == PYRO_NO_EVENT ? PYRO_NO_EVENT : joins->op[parent];
    }
    return (pyro_kernel_category)kernel.category;
}
