/* Replaces imported functions in the allocator's library, by its own relocation table. */
#include "device/torch_memory.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALLOCATOR "libc10_cuda.so"
#define REPORTER "libc10.so"
#define USAGE "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define OUT_OF_MEMORY "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"

/* A loaded library, found by the name of its file. */
typedef struct loaded_library {
    const char *name;
    char path[512];
    uintptr_t base;
    const ElfW(Dyn) * dynamic;
} loaded_library;

static int is_library(struct dl_phdr_info *info, size_t size, void *wanted)
{
    (void)size;
    loaded_library *library = wanted;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (strcmp(slash ? slash + 1 : info->dlpi_name, library->name) != 0 ||
        strlen(info->dlpi_name) >= sizeof library->path)
        return 0;
    strcpy(library->path, info->dlpi_name);
    library->base = info->dlpi_addr;
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            library->dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return 1;
}

static void *find_function(const char *path, const char *name)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}

/* Tables of the dynamic section; the loader has made most addresses absolute. */
typedef struct import_tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * relocations[2];
    size_t counts[2];
} import_tables;

static import_tables read_tables(const loaded_library *library)
{
    import_tables tables = {0};
    for (const ElfW(Dyn) *entry = library->dynamic; entry && entry->d_tag != DT_NULL; entry++) {
        uintptr_t value = entry->d_un.d_ptr;
        uintptr_t address = value < library->base ? library->base + value : value;
        switch (entry->d_tag) {
        case DT_SYMTAB:
            tables.symbols = (const ElfW(Sym) *)address;
            break;
        case DT_STRTAB:
            tables.strings = (const char *)address;
            break;
        case DT_JMPREL:
            tables.relocations[0] = (const ElfW(Rela) *)address;
            break;
        case DT_PLTRELSZ:
            tables.counts[0] = value / sizeof(ElfW(Rela));
            break;
        case DT_RELA:
            tables.relocations[1] = (const ElfW(Rela) *)address;
            break;
        case DT_RELASZ:
            tables.counts[1] = value / sizeof(ElfW(Rela));
            break;
        }
    }
    return tables;
}

/* The slot may lie in memory that the loader has made read-only. */
static bool write_slot(void **slot, void *function)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)slot & ~(page - 1);
    if (mprotect((void *)first, page, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n(slot, function, __ATOMIC_RELEASE);
    return true;
}

static bool replace_import(const loaded_library *library, const char *name, void *function)
{
    import_tables tables = read_tables(library);
    bool is_replaced = false;
    if (!tables.symbols || !tables.strings)
        return false;
    for (size_t table = 0; table < 2; table++) {
        for (size_t i = 0; tables.relocations[table] && i < tables.counts[table]; i++) {
            const ElfW(Rela) *relocation = &tables.relocations[table][i];
            size_t symbol = ELF64_R_SYM(relocation->r_info);
            if (symbol && relocation->r_addend == 0 &&
                strcmp(tables.strings + tables.symbols[symbol].st_name, name) == 0)
                is_replaced |= write_slot((void **)(library->base + relocation->r_offset),
                                          function);
        }
    }
    return is_replaced;
}

static void *address_of(const void *function_pointer)
{
    void *address;
    memcpy(&address, function_pointer, sizeof address);
    return address;
}

bool pyro_torch_memory_replace(const pyro_torch_reports *ours, pyro_torch_reports *torch)
{
    loaded_library allocator = {.name = ALLOCATOR}, reporter = {.name = REPORTER};
    if (!dl_iterate_phdr(is_library, &allocator) || !dl_iterate_phdr(is_library, &reporter))
        return false;
    void *usage = find_function(reporter.path, USAGE);
    void *failure = find_function(reporter.path, OUT_OF_MEMORY);
    if (!usage)
        return false;
    memcpy(&torch->usage, &usage, sizeof usage);
    memcpy(&torch->failure, &failure, sizeof failure);
    if (failure)
        replace_import(&allocator, OUT_OF_MEMORY, address_of(&ours->failure));
    return replace_import(&allocator, USAGE, address_of(&ours->usage));
}
