/*
 * Reads the names that serving engines give to their steps.
 *
 * vLLM: execute_[TOKENS_]context_N(LOAD)_generation_N(LOAD), where LOAD is a number of tokens,
 * TOKENS_SQUARES, or "sq1sk2sqsq3sqsk4". SGLang: step[MODE bs=N key=number ...] with toks, and c_ and
 * g_ before the names of the sums.
 */
#include "trace/joins/joins.h"

#include <stdlib.h>
#include <string.h>

static const pyro_serving_load NO_LOAD = {0, 0, 0, 0, 0};
static const pyro_serving_load UNKNOWN = {-1, -1, -1, -1, -1};

static bool skip(const char **at, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*at, word, length))
        return false;
    *at += length;
    return true;
}

/* No count of tokens or pairs has more digits. */
static bool read_number(const char **at, int64_t *number)
{
    enum { MOST_DIGITS = 18 };
    const char *begin = *at;
    int64_t value = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        if (*at - begin >= MOST_DIGITS)
            return false;
        value = value * 10 + (**at - '0');
    }
    *number = value;
    return *at > begin;
}

/* "(888)", "(888_788544)" or "(sq888sk888sqsq788544sqsk788544)" after a number of requests. */
static bool read_vllm_load(const char **at, pyro_serving_load *load)
{
    int64_t requests;
    *load = UNKNOWN;
    if (!read_number(at, &requests) || !skip(at, "("))
        return false;
    load->requests = requests;
    if (skip(at, "sq"))
        return read_number(at, &load->sq) && skip(at, "sk") && read_number(at, &load->sk) &&
               skip(at, "sqsq") && read_number(at, &load->sqsq) && skip(at, "sqsk") &&
               read_number(at, &load->sqsk) && skip(at, ")");
    if (!read_number(at, &load->sq))
        return false;
    if (skip(at, "_") && !read_number(at, &load->sqsq))
        return false;
    if (!requests)
        *load = NO_LOAD;
    return skip(at, ")");
}

static bool read_vllm(const char *name, pyro_serving_mark *mark)
{
    int64_t tokens;
    if (!skip(&name, "execute_"))
        return false;
    if (read_number(&name, &tokens) && !skip(&name, "_"))
        return false;
    if (!skip(&name, "context_") || !read_vllm_load(&name, &mark->context) ||
        !skip(&name, "_generation_") || !read_vllm_load(&name, &mark->generation) || *name)
        return false;
    bool has_context = mark->context.requests > 0, has_decode = mark->generation.requests > 0;
    mark->kind = has_context && has_decode ? PYRO_SERVING_MIXED
                 : has_context             ? PYRO_SERVING_PREFILL
                                           : PYRO_SERVING_DECODE;
    return has_context || has_decode;
}

/* " key=number"; unknown keys are skipped. */
static bool read_pair(const char **at, pyro_serving_mark *mark, int64_t *batch, int64_t *tokens)
{
    const struct {
        const char *key;
        int64_t *number;
    } keys[] = {
        {"bs=", batch},
        {"toks=", tokens},
        {"c=", &mark->context.requests},
        {"g=", &mark->generation.requests},
        {"c_sq=", &mark->context.sq},
        {"c_sk=", &mark->context.sk},
        {"c_sqsq=", &mark->context.sqsq},
        {"c_sqsk=", &mark->context.sqsk},
        {"g_sq=", &mark->generation.sq},
        {"g_sk=", &mark->generation.sk},
        {"g_sqsq=", &mark->generation.sqsq},
        {"g_sqsk=", &mark->generation.sqsk},
    };
    if (!skip(at, " "))
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (skip(at, keys[i].key))
            return read_number(at, keys[i].number);
    *at += strcspn(*at, " ]");
    return true;
}

/* Gives the whole batch to the kind of requests that the mode has. */
static void divide_batch(pyro_serving_mark *mark, int64_t batch, int64_t tokens)
{
    if (mark->kind == PYRO_SERVING_MIXED)
        return;
    bool is_context = mark->kind == PYRO_SERVING_PREFILL || mark->kind == PYRO_SERVING_DRAFT;
    pyro_serving_load *all = is_context ? &mark->context : &mark->generation;
    *(is_context ? &mark->generation : &mark->context) = NO_LOAD;
    all->requests = all->requests < 0 ? batch : all->requests;
    if (all->sq < 0)
        all->sq = mark->kind == PYRO_SERVING_DECODE ? batch : tokens;
}

static bool read_sglang(const char *name, pyro_serving_mark *mark)
{
    static const struct {
        const char *mode;
        pyro_serving_kind kind;
    } modes[] = {
        {"EXTEND", PYRO_SERVING_PREFILL},       {"SPLIT_PREFILL", PYRO_SERVING_PREFILL},
        {"DECODE", PYRO_SERVING_DECODE},        {"MIXED", PYRO_SERVING_MIXED},
        {"TARGET_VERIFY", PYRO_SERVING_VERIFY}, {"DRAFT_EXTEND_V2", PYRO_SERVING_DRAFT},
        {"DRAFT_EXTEND", PYRO_SERVING_DRAFT},
    };
    int64_t batch = -1, tokens = -1;
    size_t i = 0, count = sizeof modes / sizeof *modes;
    if (!skip(&name, "step["))
        return false;
    while (i < count && !skip(&name, modes[i].mode))
        i++;
    if (i == count)
        return false;
    mark->kind = modes[i].kind;
    mark->is_sglang = true;
    while (*name && *name != ']')
        if (!read_pair(&name, mark, &batch, &tokens))
            return false;
    if (strcmp(name, "]") || batch <= 0)
        return false;
    divide_batch(mark, batch, tokens);
    if (mark->kind == PYRO_SERVING_MIXED && mark->context.requests < 0 &&
        mark->generation.requests < 0)
        mark->context.requests = batch; /* of both kinds: the name does not say how many of each */
    return true;
}

bool pyro_parse_serving(const char *name, pyro_serving_mark *mark)
{
    *mark = (pyro_serving_mark){.context = UNKNOWN, .generation = UNKNOWN};
    return read_vllm(name, mark) || read_sglang(name, mark);
}
