/* Looks up chips in the table of hardware.def. */
#include "hardware/hardware.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const pyro_chip pyro_chips[] = {
#define CHIP(name, words, least, fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8, bandwidth, memory, \
             cache, link, power, source) \
    {name, \
     words, \
     least, \
     fp64, \
     fp32, \
     tf32, \
     fp16, \
     bf16, \
     fp8, \
     fp4, \
     int8, \
     bandwidth, \
     INT64_C(memory) << 30, \
     INT64_C(cache) << 20, \
     (link) * 1e9, \
     power, \
     source},
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

size_t pyro_chip_rows(const pyro_chip **out)
{
    *out = pyro_chips;
    return pyro_chip_count;
}

/* The memory that a name gives, "A100-SXM4-80GB"; -1: none. */
static int64_t memory_of_name(const char *name)
{
    for (const char *at = name; *at; at++) {
        if (!isdigit((unsigned char)*at) || (at > name && isalnum((unsigned char)at[-1])))
            continue;
        char *end;
        long long gib = strtoll(at, &end, 10);
        if (gib > 0 && gib < 100000 && (!strncasecmp(end, "GB", 2) || !strncasecmp(end, "G ", 2)))
            return (int64_t)gib << 30;
    }
    return -1;
}

const pyro_chip *pyro_chip_by_name(const char *name)
{
    for (size_t i = 0; i < pyro_chip_count; i++)
        if (strcasecmp(pyro_chips[i].name, name) == 0)
            return &pyro_chips[i];
    for (size_t i = 0; i < pyro_chip_count; i++)
        if (has_words(name, pyro_chips[i].name) && has_words(pyro_chips[i].name, name))
            return &pyro_chips[i];
    return pyro_chip_find(name, memory_of_name(name));
}

double pyro_chip_ridge(const pyro_chip *chip, const char *dtype)
{
    pyro_dtype type = pyro_dtype_from_name(dtype);
    if (chip->bandwidth_gb_per_s <= 0)
        return 0;
    double flops_per_s = type == PYRO_DTYPE_FLOAT32 ? chip->fp32_tflops * 1e12
                                                    : pyro_chip_peak_flops_per_s(chip, type);
    return flops_per_s / pyro_chip_bytes_per_s(chip);
}
