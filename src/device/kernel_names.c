/* Caches readable names by the address of the mangled ones, whose contents are compared too. */
#include "device/kernel_names.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Longer names stay as they are, like in torch.profiler: demangling them takes milliseconds. */
#define LONGEST_DEMANGLED 1024

void pyro_kernel_names_begin(pyro_kernel_names *names)
{
    memset(names, 0, sizeof *names);
    /* The C++ runtime that torch has loaded, or the system's. */
    void *symbol = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    void *library = symbol ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    if (library)
        symbol = dlsym(library, "__cxa_demangle");
    memcpy(&names->demangle, &symbol, sizeof symbol);
}

static void empty_slot(pyro_kernel_name *slot)
{
    if (slot->readable != slot->mangled)
        free(slot->readable);
    free(slot->mangled);
    *slot = (pyro_kernel_name){0};
}

void pyro_kernel_names_end(pyro_kernel_names *names)
{
    for (size_t i = 0; i < PYRO_KERNEL_NAME_SLOTS; i++)
        empty_slot(&names->slots[i]);
}

static char *make_readable(const pyro_kernel_names *names, char *mangled)
{
    int status = 0;
    if (!names->demangle || strncmp(mangled, "_Z", 2) != 0 || strlen(mangled) > LONGEST_DEMANGLED)
        return mangled;
    char *readable = names->demangle(mangled, NULL, NULL, &status);
    return readable ? readable : mangled;
}

const char *pyro_kernel_names_get(pyro_kernel_names *names, const char *mangled)
{
    uintptr_t address = (uintptr_t)mangled;
    pyro_kernel_name *slot = &names->slots[(address >> 3 ^ address >> 14) % PYRO_KERNEL_NAME_SLOTS];
    if (slot->address == mangled && strcmp(slot->mangled, mangled) == 0)
        return slot->readable;
    empty_slot(slot);
    char *copy = strdup(mangled);
    if (!copy)
        return mangled;
    *slot = (pyro_kernel_name){mangled, copy, make_readable(names, copy)};
    return slot->readable;
}
