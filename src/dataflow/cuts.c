/*
 * The best split of blocks into parts. The slowest part is made as fast as can be, which is found
 * exactly: time and memory of a run of blocks never fall when it grows. Among the splits that reach
 * it, a second pass takes one over whose cuts the fewest bytes go.
 */
#include "base/error.h"
#include "base/units.h"
#include "dataflow/blocks.h"
#include <stdlib.h>
#include <string.h>

typedef struct splitter {
    pyro_blocks blocks;
    size_t parts;
    int64_t memory_limit;
    size_t *lowest;   /* by number of blocks j: a part that ends before block j may begin here */
    size_t *window;   /* the same with the time that the best split needs */
    int64_t *best;    /* by number of blocks: slowest part, for the number of parts at hand */
    int64_t *next;
    int64_t *bytes;   /* as best, but the bytes that cross */
    int64_t *bytes_next;
    uint32_t *choice; /* by parts and blocks: where the last part begins */
    size_t *queue;
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

/* A part that ends where another does and fits may not begin earlier than one that ends sooner. */
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
 * The slowest part of the best split of j blocks into k: earlier beginnings of the last part make
 * it slower and the rest faster, so that the best is where the two meet.
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
        /* Fewer blocks than parts cannot be split; they are no better than the first that can. */
        for (size_t j = 0; j < k; j++)
            s->next[j] = 0;
        int64_t *swap = s->best;
        s->best = s->next;
        s->next = swap;
    }
    return s->best[s->blocks.count];
}

/* The fewest bytes over cuts, with no part slower than `slowest`: a least of a sliding window. */
static void find_fewest(splitter *s, int64_t slowest)
{
    size_t n = s->blocks.count, low = 0;
    for (size_t j = 1; j <= n; j++) {
        while (low < s->lowest[j] || amount(s, low, j) > slowest)
            low++;
        s->window[j] = low;
    }
    for (size_t j = 0; j <= n; j++)
        s->bytes[j] = j ? INT64_MAX : 0;
    for (size_t k = 1; k <= s->parts; k++) {
        size_t head = 0, tail = 0;
        s->bytes_next[0] = INT64_MAX;
        for (size_t j = 1; j <= n; j++) {
            while (tail > head && s->bytes[s->queue[tail - 1]] >= s->bytes[j - 1])
                tail--;
            s->queue[tail++] = j - 1;
            while (s->queue[head] < s->window[j])
                head++;
            size_t from = s->queue[head];
            int64_t crossing = j < n ? s->blocks.cut_bytes[j - 1] : 0;
            s->choice[k * (n + 1) + j] = (uint32_t)from;
            s->bytes_next[j] = s->bytes[from] == INT64_MAX ||
                                       __builtin_add_overflow(s->bytes[from], crossing,
                                                              &s->bytes_next[j])
                                   ? INT64_MAX
                                   : s->bytes[from] + crossing;
        }
        int64_t *swap = s->bytes;
        s->bytes = s->bytes_next;
        s->bytes_next = swap;
    }
}

static int split(splitter *s, pyro_cuts *out, pyro_error *error)
{
    size_t n = s->blocks.count;
    int status = find_lowest(s, error);
    if (status < 0)
        return status;
    find_fewest(s, find_slowest(s));
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
    s->bytes = calloc(n, sizeof *s->bytes);
    s->bytes_next = calloc(n, sizeof *s->bytes_next);
    s->queue = calloc(n, sizeof *s->queue);
    s->choice = __builtin_mul_overflow(n, s->parts + 1, &cells) ? NULL
                                                                : calloc(cells, sizeof *s->choice);
    return s->lowest && s->window && s->best && s->next && s->bytes && s->bytes_next && s->queue &&
           s->choice;
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

int pyro_cuts_find(pyro_cuts *out, const pyro_dataflow *graph, int64_t parts, int64_t memory_limit,
                   pyro_error *error)
{
    splitter s = {.memory_limit = memory_limit};
    memset(out, 0, sizeof *out);
    out->memory_limit = memory_limit;
    if (parts < 1 || memory_limit < 0)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "a graph is cut into one part or more");
    int status = pyro_blocks_find(&s.blocks, graph, error);
    if (status == PYRO_OK)
        status = list_cuts(&s.blocks, out, error);
    if (status == PYRO_OK && (uint64_t)parts > s.blocks.count)
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT,
                           "the graph has %zu blocks, too few for %lld parts", s.blocks.count,
                           (long long)parts);
    s.parts = (size_t)parts;
    if (status == PYRO_OK)
        status = allocate(&s) ? split(&s, out, error) : pyro_fail_memory(error);
    free(s.lowest);
    free(s.window);
    free(s.best);
    free(s.next);
    free(s.bytes);
    free(s.bytes_next);
    free(s.queue);
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
