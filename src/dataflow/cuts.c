/*
 * Finds the best split of blocks into parts. It first minimises the slowest part, exactly: time and
 * memory of a run of blocks never fall when it grows. Among the splits that reach that minimum, a
 * second pass takes the most even one, and of those the one whose cuts pass the fewest bytes.
 */
#include "base/error.h"
#include "base/text/units.h"
#include "dataflow/blocks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Unevenness of the parts of a split, and the bytes that cross its cuts. Parts have a fixed sum, so
 * equal ones have the smallest sum of squares, which is at most the square of the whole.
 */
__extension__ typedef unsigned __int128 squares;

typedef struct unevenness {
    squares squares;
    int64_t bytes;
} unevenness;

typedef struct splitter {
    pyro_blocks blocks;
    size_t parts;
    int64_t memory_limit;
    size_t *lowest; /* by number of blocks j: earliest start of a part that ends before block j */
    size_t *window; /* the same with the time of the best split */
    int64_t *best; /* by number of blocks: slowest part, for the current number of parts */
    int64_t *next;
    unevenness *even; /* like best, of splits that reach the slowest part */
    unevenness *even_next;
    uint32_t *choice; /* by parts and blocks: where the last part begins */
} splitter;

static int64_t amount(const splitter *s, size_t from, size_t to)
{
    return s->blocks.amount_before[to] - s->blocks.amount_before[from];
}

static int too_small(const splitter *s, size_t block, int64_t needed, pyro_error *error)
{
    char has[PYRO_UNIT_TEXT], wants[PYRO_UNIT_TEXT];
    const pyro_dataflow *graph = s->blocks.graph;
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "no split fits: '%.100s' alone needs %s, more than the memory limit of %s",
                     graph->nodes[s->blocks.node[block]].name, pyro_format_bytes(wants, needed),
                     pyro_format_bytes(has, s->memory_limit));
}

/* Among parts that fit, one that ends later may not begin earlier. */
static int find_lowest(splitter *s, pyro_error *error)
{
    size_t low = 0;
    for (size_t j = 1; j <= s->blocks.count; j++) {
        pyro_part part;
        for (; s->memory_limit; low++) {
            pyro_blocks_measure(&s->blocks, low, j - 1, &part);
            if (part.memory_bytes <= s->memory_limit)
                break;
            if (low == j - 1)
                return too_small(s, low, part.memory_bytes, error);
        }
        s->lowest[j] = low;
    }
    size_t least = 0;
    for (size_t j = s->blocks.count; j > 0; j = s->lowest[j])
        least++;
    if (least > s->parts)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "no split into %zu parts fits the memory limit; %zu parts would", s->parts,
                         least);
    return PYRO_OK;
}

/*
 * The slowest part of the best split of j blocks into k: beginning the last part earlier makes it
 * slower and the rest faster, so the best is where the two meet.
 */
static int64_t best_of(const splitter *s, size_t j, size_t k)
{
    size_t low = s->lowest[j] > k - 1 ? s->lowest[j] : k - 1, high = j - 1;
    if (low > high)
        return INT64_MAX;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->best[middle] >= amount(s, middle, j))
            high = middle;
        else
            low = middle + 1;
    }
    int64_t here = s->best[low] > amount(s, low, j) ? s->best[low] : amount(s, low, j);
    size_t first = s->lowest[j] > k - 1 ? s->lowest[j] : k - 1;
    if (low > first) {
        int64_t before = s->best[low - 1] > amount(s, low - 1, j) ? s->best[low - 1]
                                                                  : amount(s, low - 1, j);
        here = before < here ? before : here;
    }
    return here;
}

static int64_t find_slowest(splitter *s)
{
    for (size_t j = 0; j <= s->blocks.count; j++)
        s->best[j] = j ? INT64_MAX : 0;
    for (size_t k = 1; k <= s->parts; k++) {
        for (size_t j = 0; j <= s->blocks.count; j++)
            s->next[j] = j < k ? INT64_MAX : best_of(s, j, k);
        /* Fewer blocks than parts cannot be split; 0 is a lower bound. */
        for (size_t j = 0; j < k; j++)
            s->next[j] = 0;
        int64_t *swap = s->best;
        s->best = s->next;
        s->next = swap;
    }
    return s->best[s->blocks.count];
}

static bool is_less(const unevenness *a, const unevenness *b)
{
    return a->squares != b->squares ? a->squares < b->squares : a->bytes < b->bytes;
}

/* Adds a last part of the blocks [from, to) to the best split of the blocks before. */
static unevenness add_part(const splitter *s, size_t from, size_t to)
{
    unevenness sum = s->even[from];
    squares part = (squares)amount(s, from, to);
    int64_t crossing = to < s->blocks.count ? s->blocks.cut_bytes[to - 1] : 0;
    sum.squares += part * part;
    if (__builtin_add_overflow(sum.bytes, crossing, &sum.bytes))
        sum.bytes = INT64_MAX;
    return sum;
}

/*
 * The most even splits of the first j blocks into k parts, for j from `low` to `high`. The start of
 * the last part never decreases when j grows, because squares are convex: so the middle one bounds
 * the others.
 */
static void find_even(splitter *s, size_t k, size_t low, size_t high, size_t first, size_t last)
{
    while (low <= high) {
        size_t middle = low + (high - low) / 2;
        size_t from = s->window[middle] > first ? s->window[middle] : first;
        size_t to = middle - 1 < last ? middle - 1 : last;
        size_t best = from;
        s->even_next[middle] = add_part(s, from, middle);
        for (size_t i = from + 1; i <= to; i++) {
            unevenness sum = add_part(s, i, middle);
            if (is_less(&sum, &s->even_next[middle])) {
                s->even_next[middle] = sum;
                best = i;
            }
        }
        s->choice[k * (s->blocks.count + 1) + middle] = (uint32_t)best;
        if (middle > low)
            find_even(s, k, low, middle - 1, first, best);
        low = middle + 1;
        first = best;
    }
}

/* The most even of the splits with no part slower than `slowest`. */
static void find_evenest(splitter *s, int64_t slowest)
{
    size_t n = s->blocks.count, low = 0, reach = 0;
    for (size_t j = 1; j <= n; j++) {
        while (low < s->lowest[j] || amount(s, low, j) > slowest)
            low++;
        s->window[j] = low;
    }
    s->even[0] = (unevenness){0, 0};
    for (size_t k = 1; k <= s->parts; k++) {
        size_t before = reach; /* the most blocks that fit into k - 1 parts */
        while (reach < n && s->window[reach + 1] <= before)
            reach++;
        find_even(s, k, k, reach, k - 1, before);
        unevenness *swap = s->even;
        s->even = s->even_next;
        s->even_next = swap;
    }
}

static int split(splitter *s, pyro_cuts *out, pyro_error *error)
{
    size_t n = s->blocks.count;
    int status = find_lowest(s, error);
    if (status < 0)
        return status;
    find_evenest(s, find_slowest(s));
    out->parts = calloc(s->parts, sizeof *out->parts);
    if (!out->parts)
        return pyro_fail_memory(error);
    out->part_count = s->parts;
    for (size_t k = s->parts, end = n; k > 0; k--) {
        size_t begin = s->choice[k * (n + 1) + end];
        pyro_blocks_measure(&s->blocks, begin, end - 1, &out->parts[k - 1]);
        end = begin;
    }
    return PYRO_OK;
}

static bool allocate(splitter *s)
{
    size_t n = s->blocks.count + 1, cells;
    s->lowest = calloc(n, sizeof *s->lowest);
    s->window = calloc(n, sizeof *s->window);
    s->best = calloc(n, sizeof *s->best);
    s->next = calloc(n, sizeof *s->next);
    s->even = calloc(n, sizeof *s->even);
    s->even_next = calloc(n, sizeof *s->even_next);
    s->choice = __builtin_mul_overflow(n, s->parts + 1, &cells) ? NULL
                                                                : calloc(cells, sizeof *s->choice);
    return s->lowest && s->window && s->best && s->next && s->even && s->even_next && s->choice;
}

static int list_cuts(const pyro_blocks *blocks, pyro_cuts *out, pyro_error *error)
{
    out->timed = blocks->timed;
    out->cut_count = blocks->count - 1;
    out->cuts = calloc(blocks->count, sizeof *out->cuts);
    if (!out->cuts)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < out->cut_count; i++)
        out->cuts[i] = (pyro_cut){
            .after = blocks->node[i],
            .bytes = blocks->cut_bytes[i],
            .tensors = blocks->cut_tensors[i],
            .before = blocks->amount_before[i + 1],
            .behind = blocks->amount_before[blocks->count] - blocks->amount_before[i + 1],
        };
    return PYRO_OK;
}

/* Warns about unreliable times: the first pass of a model is slower than those that follow. */
static void warn(const pyro_blocks *blocks, pyro_cuts *out)
{
    const pyro_dataflow *graph = blocks->graph;
    int64_t passes = graph->program->passes, rarely = 0, count = 0;
    for (size_t s = 0; s < graph->program->step_count; s++) {
        uint32_t node = graph->node_of_step[s];
        const pyro_samples *time = &graph->program->steps[s].time;
        bool counts = node == PYRO_NONE || graph->nodes[node].kind == PYRO_GRAPH_NODE_OP;
        if (counts && time->count && time->count < PYRO_PASSES_FOR_CUTS) {
            rarely += time->median_ns;
            count++;
        }
    }
    if (passes < PYRO_PASSES_FOR_CUTS)
        snprintf(out->warning, sizeof out->warning,
                 "the times are of %lld pass%s, and the first passes of a model are slower than "
                 "later ones: profile at least %d passes (Profiler.profile_passes, or more calls "
                 "in the recording)",
                 (long long)passes, passes == 1 ? "" : "es", PYRO_PASSES_FOR_CUTS);
    else if (rarely > blocks->amount_before[blocks->count] / 20)
        snprintf(out->warning, sizeof out->warning,
                 "%lld operators between modules were timed in fewer than %d passes, the first "
                 "ones, which are slower than later ones: use Profiler(..., capture_ops=True)",
                 (long long)count, PYRO_PASSES_FOR_CUTS);
}

int pyro_cuts_find(pyro_cuts *out, const pyro_dataflow *graph, int64_t parts, int64_t memory_limit,
                   pyro_error *error)
{
    splitter s = {.memory_limit = memory_limit};
    memset(out, 0, sizeof *out);
    out->memory_limit = memory_limit;
    if (parts < 1 || memory_limit < 0)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the number of parts must be at least 1");
    int status = pyro_blocks_find(&s.blocks, graph, error);
    if (status == PYRO_OK)
        status = list_cuts(&s.blocks, out, error);
    if (status == PYRO_OK && (uint64_t)parts > s.blocks.count)
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT,
                           "the graph has %zu blocks, too few for %lld parts", s.blocks.count,
                           (long long)parts);
    s.parts = (size_t)parts;
    if (status == PYRO_OK && s.blocks.timed)
        warn(&s.blocks, out);
    if (status == PYRO_OK)
        status = allocate(&s) ? split(&s, out, error) : pyro_fail_memory(error);
    free(s.lowest);
    free(s.window);
    free(s.best);
    free(s.next);
    free(s.even);
    free(s.even_next);
    free(s.choice);
    pyro_blocks_free(&s.blocks);
    if (status < 0)
        pyro_cuts_free(out);
    return status;
}

void pyro_cuts_free(pyro_cuts *cuts)
{
    free(cuts->cuts);
    free(cuts->parts);
    memset(cuts, 0, sizeof *cuts);
}
