/* Detects unfused attention: a softmax between two batched products, with only cheap ops between. */
#include "analyze/findings/findings.h"
#include "analyze/findings/op_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BETWEEN = 32, BETWEEN = 1, PRODUCT = 2 };

/* The ops of a track since its last batched product. */
typedef struct candidate {
    uint32_t ops[MOST_BETWEEN];
    size_t count;
    uint32_t softmax; /* PYRO_NO_EVENT until it was seen */
} candidate;

typedef struct attention_sums {
    int64_t count;
    uint32_t first; /* softmax of the first */
} attention_sums;

/* Reads the dims of an argument; returns the rank. */
static int last_dims(const char *dims, int argument, int64_t last[2])
{
    const char *at;
    size_t length = pyro_argument_dims(dims, argument, &at);
    int rank = 0;
    last[0] = last[1] = -1;
    for (size_t i = 0; i < length; rank++) {
        i += strcspn(at + i, "0123456789]");
        if (i >= length || at[i] == ']')
            break;
        char *end;
        last[0] = last[1];
        last[1] = strtoll(at + i, &end, 10);
        i = (size_t)(end - at);
    }
    return rank;
}

/* Whether the product multiplies what the softmax made, a batch of matrices; unknown shapes do. */
static bool fits(const pyro_finder *finder, uint32_t softmax, uint32_t product)
{
    const char *dims = pyro_finder_dims(finder, softmax);
    int64_t scores[2], left[2], right[2];
    int rank = last_dims(dims, 0, scores);
    if (!dims[0] || !strcmp(pyro_event_name(finder->context->trace, product), "aten::einsum"))
        return true;
    if (rank < 3 || last_dims(pyro_finder_dims(finder, product), 0, left) < 2)
        return false;
    last_dims(pyro_finder_dims(finder, product), 1, right);
    return (left[0] == scores[0] && left[1] == scores[1]) ||
           (right[0] == scores[1] && right[1] == scores[0]);
}

static void mark(const candidate *found, uint32_t product, uint8_t *marks)
{
    marks[found->ops[0]] = marks[product] = PRODUCT;
    for (size_t i = 1; i < found->count; i++)
        marks[found->ops[i]] = BETWEEN;
}

static void begin(candidate *open, uint32_t product)
{
    *open = (candidate){.ops = {product}, .count = 1, .softmax = PYRO_NO_EVENT};
}

static void take_op(pyro_finder *finder, candidate *open, uint32_t event, uint8_t *marks,
                    attention_sums *sums)
{
    unsigned words = pyro_finder_words(finder, event);
    if (words & PYRO_WORD_BATCHED_PRODUCT) {
        if (open->count && open->softmax != PYRO_NO_EVENT && fits(finder, open->softmax, event)) {
            mark(open, event, marks);
            sums->first = sums->count++ ? sums->first : open->softmax;
            open->count = 0;
        } else {
            begin(open, event);
        }
        return;
    }
    if (!open->count)
        return;
    if (words & PYRO_WORD_LAYER || open->count == MOST_BETWEEN) {
        open->count = 0;
        return;
    }
    if (words & PYRO_WORD_SOFTMAX)
        open->softmax = event;
    open->ops[open->count++] = event;
}

static int64_t softmax_backward_ns(const pyro_finder *finder)
{
    const pyro_trace *trace = finder->context->trace;
    uint32_t name = pyro_finder_name(finder, "aten::_softmax_backward_data");
    int64_t sum = 0;
    const uint32_t *events = finder->has_device_work ? finder->work : finder->ops;
    size_t count = finder->has_device_work ? finder->work_count : finder->op_count;
    for (size_t i = 0; name != PYRO_NO_ID && i < count; i++) {
        uint32_t op = finder->context->joins->op[events[i]];
        if (op != PYRO_NO_EVENT && trace->name[op] == name && pyro_finder_wants(finder, events[i]))
            sum += trace->duration_ns[events[i]];
    }
    return sum;
}

DETECTOR(unfused_attention)
{
    const pyro_trace *trace = finder->context->trace;
    candidate *open = calloc(trace->track_count + 1, sizeof *open);
    uint8_t *marks = calloc(trace->count ? trace->count : 1, 1);
    attention_sums sums = {.first = PYRO_NO_EVENT};
    finder->memory_out |= !open || !marks;
    for (size_t i = 0; !finder->memory_out && i < finder->outer_op_count; i++) {
        uint32_t event = finder->outer_ops[i];
        take_op(finder, &open[trace->track[event]], event, marks, &sums);
    }
    int64_t whole_ns = sums.count ? pyro_finder_whole_ns(finder) : 0;
    if (whole_ns > 0) {
        int64_t between_ns = pyro_finder_sum_marked(finder, marks, BETWEEN);
        int64_t product_ns = pyro_finder_sum_marked(finder, marks, PRODUCT);
        int64_t backward_ns = softmax_backward_ns(finder);
        evidence->value = (double)(between_ns + product_ns + backward_ns) / (double)whole_ns;
        evidence->gain_ns = between_ns + backward_ns;
        evidence->gain_basis = "time of softmax, masks and scaling between the products";
        evidence->place = pyro_finder_place(finder, sums.first);
        pyro_evidence_say(
            evidence,
            "%" PRId64 " attentions in separate ops take %.1f%% of the %s time: "
            "products %s, softmax and the ops around it %s%s%s",
            sums.count, evidence->value * 100, finder->has_device_work ? "device" : "op",
            pyro_evidence_time(evidence, product_ns), pyro_evidence_time(evidence, between_ns),
            backward_ns ? ", softmax in the backward " : "",
            backward_ns ? pyro_evidence_time(evidence, backward_ns) : "");
    }
    free(open);
    free(marks);
    return whole_ns > 0;
}
