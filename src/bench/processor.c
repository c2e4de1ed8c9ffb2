/* Describes the processor for measurements: usable processors, cache sizes, fast 16-bit types. */
#include "bench/processor.h"

#include "base/processors.h"
#include "bench/system_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CACHES_MAX = 16, FLAGS_BYTES = 16384 };

static const char cache_folder[] = "/sys/devices/system/cpu/cpu0/cache";

int64_t pyro_usable_cpus(void)
{
    return pyro_count_processors();
}

void pyro_processor_model(char model[PYRO_PROCESSOR_TEXT])
{
    _Static_assert(PYRO_PROCESSOR_TEXT == PYRO_PROCESSOR_NAME, "one size");
    pyro_processor_name(model);
}

int64_t pyro_machine_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

    return pages > 0 && page_bytes > 0 ? (int64_t)pages * page_bytes : -1;
}

/* "48K", "32M" or "512"; 0 if it is no size. */
static int64_t parse_size(const char *text)
{
    char *end;
    long long number = strtoll(text, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;

    return end == text || number < 0 || number > INT64_MAX >> 30 ? 0 : number << shift;
}

static bool read_cache(const char *folder, int index, const char *name, char text[64])
{
    char path[512];

    snprintf(path, sizeof path, "%s/index%d/%s", folder, index, name);
    return pyro_system_line(path, text, 64);
}

void pyro_caches_read(int64_t bytes[PYRO_CACHE_LEVELS], const char *folder)
{
    for (int i = 0; i < PYRO_CACHE_LEVELS; i++)
        bytes[i] = 0;
    for (int i = 0; i < CACHES_MAX; i++) {
        char level_text[64], kind[64], size[64];

        if (!read_cache(folder, i, "level", level_text) || !read_cache(folder, i, "type", kind) ||
            !read_cache(folder, i, "size", size) || strcmp(kind, "Instruction") == 0)
            continue;
        long level = strtol(level_text, NULL, 10);
        int64_t found = parse_size(size);
        if (level > 0 && level < PYRO_CACHE_LEVELS && found > bytes[level])
            bytes[level] = found;
    }
}

static bool has_any(const int64_t bytes[PYRO_CACHE_LEVELS])
{
    for (int i = 1; i < PYRO_CACHE_LEVELS; i++)
        if (bytes[i] > 0)
            return true;
    return false;
}

/* The kernel's files; where those are missing, the C library's numbers. */
static void find_caches(int64_t bytes[PYRO_CACHE_LEVELS])
{
    pyro_caches_read(bytes, cache_folder);
#if defined(_SC_LEVEL2_CACHE_SIZE) && defined(_SC_LEVEL3_CACHE_SIZE)
    if (!has_any(bytes)) {
        long second = sysconf(_SC_LEVEL2_CACHE_SIZE), third = sysconf(_SC_LEVEL3_CACHE_SIZE);

        bytes[2] = second > 0 ? second : 0;
        bytes[3] = third > 0 ? third : 0;
    }
#endif
}

int64_t pyro_cache_bytes(int level)
{
    int64_t bytes[PYRO_CACHE_LEVELS];

    if (level < 1 || level >= PYRO_CACHE_LEVELS)
        return -1;
    find_caches(bytes);
    return bytes[level] > 0 ? bytes[level] : -1;
}

int64_t pyro_caches_eviction_bytes(const int64_t bytes[PYRO_CACHE_LEVELS], int64_t threads)
{
    int64_t deepest = 0;

    if (!has_any(bytes))
        return -1;
    for (int i = 1; i < PYRO_CACHE_LEVELS; i++)
        if (bytes[i] > 0)
            deepest = bytes[i];
    int64_t private = threads > 0 && bytes[2] > INT64_MAX / 4 / threads ? INT64_MAX / 4
                                                                        : bytes[2] * threads;
    return 2 * (deepest > private ? deepest : private);
}

int64_t pyro_cache_eviction_bytes(int64_t threads)
{
    int64_t bytes[PYRO_CACHE_LEVELS];

    find_caches(bytes);
    return pyro_caches_eviction_bytes(bytes, threads);
}

/* Whether a list of words, separated by spaces, contains a word. */
static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

const char *pyro_find_bfloat16(const char *cpuinfo)
{
    static const char *const extensions[] = {"amx_bf16", "avx512_bf16", "bf16"};
    char flags[FLAGS_BYTES];

    if (!pyro_system_value(cpuinfo, "flags", flags, sizeof flags) &&
        !pyro_system_value(cpuinfo, "Features", flags, sizeof flags))
        return NULL;
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        if (has_word(flags, extensions[i]))
            return extensions[i];
    return NULL;
}

const char *pyro_bfloat16_extension(void)
{
    char *text = malloc(PYRO_SYSTEM_TEXT);
    const char *found = NULL;

    if (text && pyro_system_text("/proc/cpuinfo", text, PYRO_SYSTEM_TEXT))
        found = pyro_find_bfloat16(text);
    free(text);
    return found;
}
