/* Counts the processors that this process may use, and names their model. */
#include "base/processors.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int pyro_count_processors(void)
{
#ifdef CPU_COUNT
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return CPU_COUNT(&allowed);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

/* AArch64 kernels report numbers instead of names. */
static const struct {
    unsigned long implementer, part;
    const char *name;
} arm_parts[] = {
    {0x41, 0xd08, "Cortex-A72"},  {0x41, 0xd0b, "Cortex-A76"},  {0x41, 0xd0c, "Neoverse-N1"},
    {0x41, 0xd40, "Neoverse-V1"}, {0x41, 0xd49, "Neoverse-N2"}, {0x41, 0xd4f, "Neoverse-V2"},
    {0x41, 0xd83, "Neoverse-V3"}, {0x41, 0xd84, "Neoverse-V3"}, {0x41, 0xd8e, "Neoverse-N3"},
    {0xc0, 0xac3, "AmpereOne"},   {0x4e, 0x010, "Olympus"},
};

/* What follows "key" and the colon at the start of a line. */
static bool find_value(const char *text, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0)
            continue;
        const char *at = line + length + strspn(line + length, " \t");
        if (*at != ':')
            continue;
        at += 1 + strspn(at + 1, " \t");
        snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
        return value[0] != '\0';
    }
    return false;
}

void pyro_processor_name_in(char name[PYRO_PROCESSOR_NAME], const char *cpuinfo)
{
    char implementer[32], part[32];
    if (find_value(cpuinfo, "model name", name, PYRO_PROCESSOR_NAME))
        return;
    if (!find_value(cpuinfo, "CPU implementer", implementer, sizeof implementer) ||
        !find_value(cpuinfo, "CPU part", part, sizeof part)) {
        snprintf(name, PYRO_PROCESSOR_NAME, "unknown");
        return;
    }
    for (size_t i = 0; i < sizeof arm_parts / sizeof *arm_parts; i++) {
        if (strtoul(implementer, NULL, 0) == arm_parts[i].implementer &&
            strtoul(part, NULL, 0) == arm_parts[i].part) {
            snprintf(name, PYRO_PROCESSOR_NAME, "%s", arm_parts[i].name);
            return;
        }
    }
    snprintf(name, PYRO_PROCESSOR_NAME, "implementer %.20s part %.20s", implementer, part);
}

void pyro_processor_name(char name[PYRO_PROCESSOR_NAME])
{
    char text[8192]; /* the first processor is enough */
    FILE *file = fopen("/proc/cpuinfo", "re");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    pyro_processor_name_in(name, text);
}
