/* Adds one event of an allocator to the bytes that are live. */
#include "analyze/memory/memory.h"

int64_t pyro_memory_after(int64_t live_bytes, const pyro_memory_detail *detail)
{
    int64_t sum;
    if (detail->total_allocated >= 0)
        return detail->total_allocated;
    if (__builtin_add_overflow(live_bytes, detail->bytes, &sum) || sum > PYRO_MEMORY_LARGEST_BYTES)
        return PYRO_MEMORY_LARGEST_BYTES;
    return sum < -PYRO_MEMORY_LARGEST_BYTES ? -PYRO_MEMORY_LARGEST_BYTES : sum;
}
