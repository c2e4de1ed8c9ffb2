/* Looks up chips in the table of hardware.def. */
#include "hardware/hardware.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

const pyro_chip pyro_chips[] = {
#define CHIP(name, words, memory, fp64, fp32, tf32, fp16, bf16, fp8, int8, bandwidth) \
    {name, words, memory, fp64, fp32, tf32, fp16, bf16, fp8, int8, bandwidth},
#include "hardware/hardware.def"
#undef CHIP
};

const size_t pyro_chip_count = sizeof pyro_chips / sizeof *pyro_chips;

static const char separators[] = " -_/,()";

/* Finds a word in a name and moves *name past it. */
static bool find_word(const char **name, const char *word, size_t length)
{
    const char *at = *name;
    while (*at) {
        at += strspn(at, separators);
        size_t this_length = strcspn(at, separators);
        if (this_length == length && !strncasecmp(at, word, length)) {
            *name = at + length;
            return true;
        }
        at += this_length;
    }
    return false;
}

static bool has_words(const char *name, const char *words)
{
    while (*words) {
        size_t length = strcspn(words, " ");
        if (!find_word(&name, words, length))
            return false;
        words += length + (words[length] == ' ');
    }
    return true;
}

const pyro_chip *pyro_chip_find(const char *device_name, int64_t memory_bytes)
{
    /* Negative is unknown, and then the smallest variant is assumed. */
    double gib = memory_bytes > 0 ? (double)memory_bytes / (1024.0 * 1024.0 * 1024.0) : 0;
    /* Laptop chips share names with faster ones. */
    if (has_words(device_name, "Laptop") || has_words(device_name, "Max Q"))
        return NULL;
    for (size_t i = 0; i < pyro_chip_count; i++)
        if (has_words(device_name, pyro_chips[i].words) && gib >= pyro_chips[i].least_memory_gib)
            return &pyro_chips[i];
    return NULL;
}

double pyro_chip_peak_flops_per_s(const pyro_chip *chip, pyro_dtype dtype)
{
    double tflops;
    switch (dtype) {
    case PYRO_DTYPE_FLOAT64:
    case PYRO_DTYPE_COMPLEX128:
        tflops = chip->fp64_tflops;
        break;
    case PYRO_DTYPE_FLOAT16:
        tflops = chip->fp16_tflops;
        break;
    case PYRO_DTYPE_BFLOAT16:
        tflops = chip->bf16_tflops;
        break;
    case PYRO_DTYPE_INT8:
    case PYRO_DTYPE_UINT8:
        tflops = chip->int8_tops;
        break;
    case PYRO_DTYPE_FLOAT8_E4M3FN:
    case PYRO_DTYPE_FLOAT8_E5M2:
    case PYRO_DTYPE_FLOAT8_E4M3FNUZ:
    case PYRO_DTYPE_FLOAT8_E5M2FNUZ:
        tflops = chip->fp8_tflops;
        break;
    default:
        tflops = chip->tf32_tflops;
        break;
    }
    if (tflops < chip->fp32_tflops && dtype != PYRO_DTYPE_FLOAT64 && dtype != PYRO_DTYPE_COMPLEX128)
        tflops = chip->fp32_tflops; /* no units for it: computed as float32 */
    return tflops * 1e12;
}

double pyro_chip_bytes_per_s(const pyro_chip *chip)
{
    return chip->bandwidth_gb_per_s * 1e9;
}
