/* Shortens C++ names by their structure, and finds words that tell of tensor cores. */
#include "analyze/device/kernel_names.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { DEEPEST_TEMPLATE = 4, LONGEST_NAME = 16384, LONGEST_FOLDED = 2048 };

typedef struct span {
    const char *text;
    size_t length;
} span;

typedef struct name_writer {
    char *out;
    size_t length, capacity;
    bool is_cut;
} name_writer;

static void put(name_writer *w, const char *text, size_t length)
{
    if (w->length + length >= w->capacity) {
        length = w->capacity - 1 - w->length;
        w->is_cut = true;
    }
    memcpy(w->out + w->length, text, length);
    w->length += length;
    w->out[w->length] = '\0';
}

static span trim(span s)
{
    while (s.length && s.text[0] == ' ')
        s.text++, s.length--;
    while (s.length && s.text[s.length - 1] == ' ')
        s.length--;
    return s;
}

static bool span_is(span s, const char *word)
{
    return s.length == strlen(word) && !memcmp(s.text, word, s.length);
}

static bool starts_with(span s, const char *word)
{
    return s.length >= strlen(word) && !memcmp(s.text, word, strlen(word));
}

static int nesting(char c)
{
    return (c == '<' || c == '(' || c == '{' || c == '[') -
           (c == '>' || c == ')' || c == '}' || c == ']');
}

/* Where a character stands outside of all brackets, at or behind `from`; the length when nowhere.
 * */
static size_t find_outside(span s, size_t from, char wanted)
{
    int depth = 0;
    for (size_t i = from; i < s.length; i++) {
        if (depth <= 0 && s.text[i] == wanted)
            return i;
        /* "->" and operators are no brackets */
        if (s.text[i] == '>' && i && s.text[i - 1] == '-')
            continue;
        depth += nesting(s.text[i]);
    }
    return s.length;
}

static const char anonymous[] = "(anonymous namespace)::";

/* Without "(anonymous namespace)::", which is no parameter list. */
static size_t drop_anonymous(const char *name, char *out, size_t capacity)
{
    size_t length = 0;
    while (*name && length + 1 < capacity) {
        if (!strncmp(name, anonymous, sizeof anonymous - 1))
            name += sizeof anonymous - 1;
        else
            out[length++] = *name++;
    }
    out[length] = '\0';
    return length;
}

/* "at::native::f<int>(float)::{lambda()#1}" -> "at::native::f<int>": the function that is meant. */
static span function_of(span s)
{
    s = trim(s);
    size_t open = find_outside(s, 0, '(');
    s.length = open;
    /* A return type stands in front, with a space between. */
    for (size_t space; (space = find_outside(s, 0, ' ')) < s.length;) {
        span rest = trim((span){s.text + space, s.length - space});
        if (!rest.length || rest.text[0] == '<' || starts_with(rest, "const"))
            break;
        s = rest;
    }
    return s;
}

/* The last component of "a::b::c<...>". */
static span last_component(span s)
{
    for (size_t at; (at = find_outside(s, 0, ':')) + 1 < s.length;) {
        size_t next = at + 1 + (s.text[at + 1] == ':');
        s = (span){s.text + next, s.length - next};
    }
    return s;
}

static bool is_one_of(span s, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (span_is(s, words[i]))
            return true;
    return false;
}

#define IS_ONE_OF(s, words) is_one_of(s, words, sizeof(words) / sizeof *(words))

/* Types that only carry the arguments of a kernel. */
static bool is_plumbing(span name)
{
    static const char *const words[] = {
        "Array",
        "array",
        "OffsetCalculator",
        "TrivialOffsetCalculator",
        "LoadWithoutCast",
        "StoreWithoutCast",
        "LoadWithCast",
        "StoreWithCast",
        "TensorListMetadata",
        "unsigned int",
        "unsigned long",
        "int",
        "char",
        "TensorIteratorBase",
        "true",
        "false",
        "void",
        "nullptr",
        "Params",
        "TensorInfo",
        "DefaultReducePolicy",
        "TensorListScalarListMetadata",
        "FusedOptimizerTensorListMetadata",
        "decltype",
    };
    if (starts_with(name, "cublasGemv"))
        return true;
    if (!name.length || isdigit((unsigned char)name.text[0]) || name.text[0] == '-' ||
        name.text[0] == '(' || name.text[name.length - 1] == '*')
        return true;
    return IS_ONE_OF(name, words);
}

/* Uninformative names: what they wrap is informative. */
static bool is_wrapper(span name)
{
    static const char *const words[] = {
        "gpu_kernel_impl",
        "gpu_kernel_impl_nocast",
        "func_wrapper_t",
        "ReduceOp",
        "Kernel",
        "Kernel2",
        "kentry",
        "device_kernel",
        "GemmUniversal",
        "AUnaryFunctor",
        "BUnaryFunctor",
        "BinaryFunctor",
        "opmath_symmetric_gpu_kernel_with_scalars",
    };
    return IS_ONE_OF(name, words);
}

static bool is_scalar_type(span s)
{
    static const char *const words[] = {"float", "double", "c10::BFloat16", "c10::Half",
                                        "long",  "short",  "bool",          "signed char"};
    return IS_ONE_OF(s, words);
}

static bool put_type(name_writer *w, span s, int depth);

/* The informative template arguments, each once. */
static bool put_arguments(name_writer *w, span arguments, int depth, const char *before,
                          bool scalars)
{
    enum { REMEMBERED = 8 };
    span told[REMEMBERED];
    size_t begun = w->length, count = 0;
    for (size_t at = 0; at < arguments.length && !w->is_cut;) {
        size_t comma = find_outside(arguments, at, ','), mark = w->length;
        span one = trim((span){arguments.text + at, comma - at});
        at = comma + 1;
        if (!scalars && is_scalar_type(one))
            continue;
        put(w, w->length == begun ? before : ", ", w->length == begun ? strlen(before) : 2);
        size_t from = w->length;
        bool tells = put_type(w, one, depth + 1);
        span written = {w->out + from, w->length - from};
        for (size_t i = 0; i < count && tells; i++)
            tells = told[i].length != written.length ||
                    memcmp(told[i].text, written.text, written.length);
        if (!tells) {
            w->length = mark;
            w->out[mark] = '\0';
        } else if (count < REMEMBERED) {
            told[count++] = written;
        }
    }
    return w->length > begun;
}

/* "a::b::operator" and "a::b::kernel" say less than "b" and "b::kernel". */
static span telling_component(span s, span last)
{
    bool is_operator = starts_with(last, "operator");
    span head = {last.text, find_outside(last, 0, '<')};
    if ((!is_operator && !span_is(head, "kernel")) || last.text < s.text + 4)
        return last;
    span outer = last_component((span){s.text, (size_t)(last.text - s.text) - 2});
    if (!outer.length)
        return last;
    return is_operator ? outer : (span){outer.text, outer.length + 2 + last.length};
}

/* Writes a type or function in short; false when it is uninformative. */
static bool put_type(name_writer *w, span s, int depth)
{
    s = function_of(s);
    span name = telling_component(s, last_component(s)), inside = {NULL, 0};
    size_t open = find_outside(name, 0, '<');
    span head = {name.text, open};
    if (open < name.length) {
        size_t close = name.length;
        while (close > open && name.text[close - 1] != '>')
            close--;
        inside = (span){name.text + open + 1, close > open + 1 ? close - open - 2 : 0};
    }
    if (is_plumbing(head))
        return false;
    if (depth >= DEEPEST_TEMPLATE)
        inside.length = 0;
    if (is_wrapper(head) && inside.length &&
        (put_arguments(w, inside, depth, "", false) || put_arguments(w, inside, depth, "", true)))
        return true;
    put(w, head.text, head.length);
    if (inside.length && put_arguments(w, inside, depth, "<", true))
        put(w, ">", 1);
    return true;
}

/* "_ZN2ck6device6kernelILi4EE": the last name before its arguments, longer ones preferred. */
static bool put_mangled(name_writer *w, const char *name)
{
    const char *at = name + 2;
    span best = {NULL, 0};
    bool in_arguments = false;
    if (strncmp(name, "_Z", 2))
        return false;
    while (*at) {
        if (isdigit((unsigned char)*at)) {
            size_t length = 0;
            while (isdigit((unsigned char)*at) && length < LONGEST_NAME)
                length = length * 10 + (size_t)(*at++ - '0');
            if (length > strlen(at))
                return best.length > 0;
            /* Names inside of the arguments serve only where the own one says nothing. */
            if (!in_arguments || (is_wrapper(best) && length > best.length))
                best = (span){at, length};
            at += length;
        } else {
            if (*at == 'I' && best.length && !in_arguments) {
                in_arguments = true;
                if (!is_wrapper(best))
                    break;
            } else if (*at == 'E' && !in_arguments) {
                break;
            } else if (*at == 'L') {
                /* a literal: its digits are no length */
                at += strcspn(at, "E");
                if (!*at)
                    break;
            }
            at++;
        }
    }
    if (best.length)
        put(w, best.text, best.length);
    return best.length > 0;
}

/* rocBLAS and hipBLASLt: "Cijk_Ailk_Bljk_BBS_BH_..._MT64x32x256_..." up to the tile's size. */
static bool put_tensile(name_writer *w, const char *name)
{
    if (strncmp(name, "Cijk_", 5))
        return false;
    const char *tile = strstr(name, "_MT");
    size_t length = strlen(name);
    if (tile)
        length = (size_t)(tile - name) + 1 + strcspn(tile + 1, "_");
    put(w, name, length);
    return true;
}

void pyro_kernel_shorten(const char *name, char *out, size_t capacity)
{
    char plain[LONGEST_NAME];
    name_writer w = {.out = out, .capacity = capacity};
    out[0] = '\0';
    if (!put_mangled(&w, name) && !put_tensile(&w, name)) {
        span s = {plain, drop_anonymous(name, plain, sizeof plain)};
        bool is_cpp = strpbrk(plain, "<(") || strstr(plain, "::");
        if (!is_cpp || !put_type(&w, s, 0) || !w.length) {
            w.length = 0;
            put(&w, plain, s.length);
        }
    }
    if (w.is_cut)
        memcpy(out + capacity - 4, "...", 4);
}

void pyro_kernel_short_name(const char *name, char out[PYRO_KERNEL_SHORT_NAME])
{
    pyro_kernel_shorten(name, out, PYRO_KERNEL_SHORT_NAME);
}

/* Small letters; false where the text is too long. */
static bool fold(const char *text, char *folded, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        folded[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
        if (!c)
            return true;
    }
    return false;
}

/* strcasestr takes several times as long as strstr, and a name is searched for dozens of words. */
static bool holds_any(const char *name, const char *const *words, size_t count)
{
    char folded[LONGEST_FOLDED], word[64];
    bool is_folded = fold(name, folded, sizeof folded);
    for (size_t i = 0; i < count; i++) {
        bool is_short = is_folded && fold(words[i], word, sizeof word);
        if (is_short ? strstr(folded, word) != NULL : strcasestr(name, words[i]) != NULL)
            return true;
    }
    return false;
}

#define HOLDS_ANY(name, words) holds_any(name, words, sizeof(words) / sizeof *(words))

bool pyro_kernel_uses_tensor_cores(const char *name)
{
    /* Shapes of instructions (s16816 and its like), generations of cores, and libraries that use
     * nothing else; names that say plain cores are checked first. */
    static const char *const plain[] = {
        "simt",         "ffma",    "splitKreduce", "init_device_workspace",
        "ReduceSplitK", "_dgemm_", "sgemm_largek"};
    static const char *const tensor[] = {
        "_tensorop",
        "s884",
        "h884",
        "s1688",
        "h1688",
        "s16816",
        "h16816",
        "i8816",
        "i16832",
        "d884",
        "hmma",
        "imma",
        "wgmma",
        "gmma",
        "qmma",
        "utcmma",
        "tcgen05",
        "_tensor16x8x",
        "nvjet",
        "mfma",
        "xdlops",
        "_xdl_",
        "_MxE2m1MxE4m3_",
        "gtcx",
        "wmma",
        "tfloat32",
        "flash_fwd",
        "flash_bwd",
        "fmha",
        "bmm_MxE",
        "warpgroupsize",
        "tensor8x8x",
        "cudnn_generated_fort_native_sdpa",
        "device_gemm_wmma",
        "_mma_",
        "attn_fwd",
        "ck_tile",
        "BFloat16_tc",
        "trtllm_gemm",
        "deep_gemm",
        /* Triton compiles products to nothing else. */
        "_matmul_ogs",
        "fused_moe_kernel",
        "triton_tem_fused",
        "triton_mm",
        "triton_bmm",
        "kernel_unified_attention",
    };
    if (!strncmp(name, "Cijk_", 5))
        return strstr(name, "_MI") != NULL;
    return !HOLDS_ANY(name, plain) && HOLDS_ANY(name, tensor);
}

bool pyro_kernel_uses_tf32(const char *name)
{
    static const char *const words[] = {"tf32", "tensorop_s1688"};
    return HOLDS_ANY(name, words);
}

bool pyro_kernel_uses_plain_cores(const char *name)
{
    static const char *const plain[] = {
        "simt",           "ffma",      "sgemm",   "scudnn",
        "dgrad_engine",   "wgrad_alg", "gcgemm",  "winograd_nonfused",
        "fft2d",          "dgrad2d",   "wgrad2d", "convolve_common",
        "_f32f32_f32f32_"};
    if (!strncmp(name, "Cijk_", 5))
        return !strstr(name, "_MI");
    return !pyro_kernel_uses_tensor_cores(name) && HOLDS_ANY(name, plain);
}
