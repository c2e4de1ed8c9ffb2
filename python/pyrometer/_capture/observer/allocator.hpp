/* Wraps torch's CPU allocator and records every allocation and free with its size. Owns the table
 * of blocks in use. */
#ifndef PYROMETER_OBSERVER_ALLOCATOR_HPP
#define PYROMETER_OBSERVER_ALLOCATOR_HPP

#include "recorder.hpp"

namespace
{

// Blocks in use: address -> size.
//
// A slot is one word (address tag, way, size), so the table needs no lock. A block that does not
// fit or was evicted has an unknown size when it is freed, but never a wrong one.
template <int slot_bits> class Blocks
{
  public:
    static bool fits(const void *address, size_t bytes)
    {
        auto number = reinterpret_cast<uintptr_t>(address);
        return !(number & 63) && !(number >> 48) && !(bytes >> size_bits) && number;
    }

    // Adds a block. Returns the address of the block that it evicted, or NULL.
    const void *note(const void *address, size_t bytes, size_t *other_bytes)
    {
        uint64_t key = key_of(address);
        size_t first = index_of(address), chosen = first;
        for (size_t way = 0; way < ways; way++) {
            uint64_t word = words_[first ^ way].load(std::memory_order_relaxed);
            if (word >> size_bits == (key | way)) {
                chosen = first ^ way; // freed without our deleter
                break;
            }
            if (!word)
                chosen = first ^ way;
        }
        uint64_t before = words_[chosen].load(std::memory_order_relaxed);
        words_[chosen].store((key | (chosen ^ first)) << size_bits | bytes,
                             std::memory_order_relaxed);
        if (__builtin_expect(!before || before >> size_bits == (key | (chosen ^ first)), 1))
            return nullptr;
        *other_bytes = size_of(before);
        return address_of(before, chosen);
    }

    // Removes a block and returns its size, or -1 if it is unknown.
    int64_t take(const void *address)
    {
        uint64_t key = key_of(address);
        size_t first = index_of(address);
        for (size_t way = 0; way < ways; way++) {
            std::atomic<uint64_t> &slot = words_[first ^ way];
            uint64_t word = slot.load(std::memory_order_relaxed);
            if (word >> size_bits != (key | way))
                continue;
            slot.store(0, std::memory_order_relaxed);
            return static_cast<int64_t>(size_of(word));
        }
        return -1;
    }

  private:
    // Addresses have 48 bits and are multiples of 64. Some bits select the slot, the rest is tag.
    static constexpr int way_bits = 2, tag_bits = 48 - 6 - slot_bits;
    static constexpr int size_bits = 64 - tag_bits - way_bits;
    static constexpr size_t ways = size_t{1} << way_bits;

    static uint64_t tag_of(const void *address)
    {
        return reinterpret_cast<uintptr_t>(address) >> (6 + slot_bits);
    }
    static uint64_t key_of(const void *address)
    {
        return tag_of(address) << way_bits;
    }
    static uint64_t size_of(uint64_t word)
    {
        return word & ((uint64_t{1} << size_bits) - 1);
    }
    // Hashes the tag into the slot index. The address can be restored from slot and tag.
    static uint64_t spread(uint64_t tag)
    {
        return tag * UINT64_C(0x9e3779b97f4a7c15) >> (64 - slot_bits);
    }
    static size_t index_of(const void *address)
    {
        uint64_t low = reinterpret_cast<uintptr_t>(address) >> 6;
        return static_cast<size_t>((low ^ spread(tag_of(address))) & ((1u << slot_bits) - 1));
    }
    static const void *address_of(uint64_t word, size_t slot)
    {
        uint64_t key = word >> size_bits, tag = key >> way_bits;
        uint64_t low = (slot ^ (key & (ways - 1))) ^ spread(tag);
        return reinterpret_cast<const void *>((tag << slot_bits | low) << 6);
    }

    alignas(64) std::atomic<uint64_t> words_[1u << slot_bits];
};

// Most blocks are freed soon, so a small table that stays in the cache serves them first.
Blocks<8> near_blocks;
Blocks<16> far_blocks;

COLD void note_far(const void *address, size_t bytes)
{
    if (far_blocks.fits(address, bytes))
        far_blocks.note(address, bytes, &bytes);
}

INLINED void note_block(const void *address, size_t bytes)
{
    const void *other = address;
    if (__builtin_expect(near_blocks.fits(address, bytes), 1))
        other = near_blocks.note(address, bytes, &bytes);
    if (__builtin_expect(other != nullptr, 0))
        note_far(other, bytes);
}

COLD int64_t take_far(const void *address)
{
    return far_blocks.take(address);
}

// Like Blocks::take, in both tables.
INLINED int64_t take_block(const void *address)
{
    if (__builtin_expect(!near_blocks.fits(address, 0), 0))
        return -1;
    int64_t bytes = near_blocks.take(address);
    return __builtin_expect(bytes >= 0, 1) ? bytes : take_far(address);
}

// Leaves the totals to the reader, which sums over this recording's blocks. A total from here could
// include blocks of an earlier capture.
INLINED void write_memory(pyro_recorder_thread *thread, pyro_record *room, const void *address,
                          int64_t bytes, bool out_of_memory, uint64_t now)
{
    auto *record = reinterpret_cast<pyro_memory_record *>(room);
    record->start_raw = now;
    record->address = reinterpret_cast<uintptr_t>(address);
    record->bytes = bytes;
    record->total_allocated = record->total_reserved = -1;
    record->device_type = static_cast<int16_t>(c10::DeviceType::CPU);
    record->device_index = -1;
    pyro_record_is(room, PYRO_RECORD_ALLOCATION, out_of_memory);
    pyro_record_commit(thread, room);
    prefetch_for_write(room + 2);
}

COLD void record_memory(const void *address, int64_t bytes, bool out_of_memory)
{
    if (!(wanted.load(std::memory_order_relaxed) & PYRO_RECORD_MEMORY) || api->is_resting)
        return;
    pyro_recorder_thread *thread = enter();
    if (!thread)
        return;
    if (pyro_record *room = pyro_record_room(api, thread))
        write_memory(thread, room, address, bytes, out_of_memory, pyro_raw_time(api));
    pyro_recorder_leave(thread);
}

// Fast path for nearly all calls; hands every special case to record_memory().
HOT __attribute__((noinline)) void record_memory_quickly(const void *address, int64_t bytes)
{
    uint32_t busy;
    pyro_recorder_thread *thread = enter_fast(find_thread_state(), &busy);
    if (__builtin_expect(!thread, 0))
        return record_memory(address, bytes, false);
    pyro_record *room = thread->next;
    if (__builtin_expect(room == thread->end || api->is_resting || api->uses_clock ||
                             !(wanted.load(std::memory_order_relaxed) & PYRO_RECORD_MEMORY),
                         0)) {
        pyro_recorder_leave_quickly(thread, busy);
        return record_memory(address, bytes, false);
    }
    write_memory(thread, room, address, bytes, false, pyro_counter());
    pyro_recorder_leave_quickly(thread, busy);
}

COLD void report_failure(size_t bytes)
{
    record_memory(nullptr, static_cast<int64_t>(bytes), true);
    if (api->out_of_memory)
        api->out_of_memory(static_cast<int64_t>(bytes), static_cast<int>(c10::DeviceType::CPU), -1);
}

// Wraps torch's allocator and reports failures. Neither it nor this library is ever freed: storages
// use it to grow long after a capture.
class WrappingAllocator : public c10::Allocator
{
  public:
    c10::Allocator *inner = nullptr;

    void copy_data(void *to, const void *from, std::size_t count) const override
    {
        inner->copy_data(to, from, count);
    }
    bool is_simple_data_ptr(const c10::DataPtr &data) const override
    {
        return inner->is_simple_data_ptr(data);
    }

  protected:
    INLINED c10::DataPtr allocate_inner(size_t bytes)
    {
        try {
            return inner->allocate(bytes);
        } catch (...) {
            report_failure(bytes);
            throw;
        }
    }
};

// For sessions that do not record memory: blocks belong to torch's allocator alone.
class FailureWatch final : public WrappingAllocator
{
  public:
    c10::DataPtr allocate(size_t bytes) override
    {
        return allocate_inner(bytes);
    }
    c10::DeleterFnPtr raw_deleter() const override
    {
        return inner->raw_deleter();
    }
};

// Records memory. Blocks that it allocated are returned to it long after a capture.
class WatchedAllocator final : public WrappingAllocator
{
  public:
    c10::DeleterFnPtr inner_deleter = nullptr;

    c10::DataPtr allocate(size_t bytes) override
    {
        c10::DataPtr data = allocate_inner(bytes);
        if (!data.compare_exchange_deleter(inner_deleter, &release) || !bytes)
            return data;
        note_block(data.get(), bytes);
        record_memory_quickly(data.get(), static_cast<int64_t>(bytes));
        return data;
    }
    c10::DeleterFnPtr raw_deleter() const override
    {
        return &release;
    }

  private:
    // Passes the block on to torch's deleter, whose context is also the block's address.
    static void release(void *block);
};

WatchedAllocator *watched;
FailureWatch *failure_watch;

HOT void WatchedAllocator::release(void *block)
{
    if (block) {
        int64_t bytes = take_block(block);
        record_memory_quickly(block, bytes >= 0 ? -bytes : INT64_MIN);
    }
    watched->inner_deleter(block);
}

// Uses the lowest priority, so that others can still set theirs; if torch rejects it, the highest.
bool set_cpu_allocator(c10::Allocator *allocator)
{
    c10::SetAllocator(c10::DeviceType::CPU, allocator, 0);
    if (c10::GetAllocator(c10::DeviceType::CPU) != allocator)
        c10::SetAllocator(c10::DeviceType::CPU, allocator, 255);
    return c10::GetAllocator(c10::DeviceType::CPU) == allocator;
}

const char *watch_memory()
{
    c10::Allocator *present = c10::GetAllocator(c10::DeviceType::CPU);
    if (present == watched && watched)
        return nullptr;
    if (watched && present != watched->inner)
        return "the program replaced the CPU allocator after the last capture";
    if (!present->raw_deleter())
        return "this program's CPU allocator has no raw deleter, so its memory cannot be recorded";
    if (!watched) {
        watched = new WatchedAllocator;
        watched->inner = present;
        watched->inner_deleter = present->raw_deleter();
    }
    return set_cpu_allocator(watched) ? nullptr : "torch rejected the observer's CPU allocator";
}

const char *watch_failures()
{
    c10::Allocator *present = c10::GetAllocator(c10::DeviceType::CPU);
    if (failure_watch && present == failure_watch)
        return nullptr;
    if (!failure_watch || failure_watch->inner != present) {
        failure_watch = new FailureWatch;
        failure_watch->inner = present;
    }
    return set_cpu_allocator(failure_watch) ? nullptr
                                            : "torch rejected the observer's CPU allocator";
}

void unwatch_memory()
{
    c10::Allocator *present = c10::GetAllocator(c10::DeviceType::CPU);
    if (watched && present == watched)
        set_cpu_allocator(watched->inner);
    else if (failure_watch && present == failure_watch)
        set_cpu_allocator(failure_watch->inner);
}

} // namespace

#endif
