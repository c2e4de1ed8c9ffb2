/* The memory of torch's CPU allocator: what is allocated and freed. */
#ifndef PYROMETER_OBSERVER_MEMORY_HPP
#define PYROMETER_OBSERVER_MEMORY_HPP

#include "_observer_door.hpp"

namespace
{

// The memory of torch's CPU allocator that is in use: address -> size.
//
// A slot is one word, so that no lock is needed: a tag of the address, the way, and the size. What
// finds no room, or is pushed out, is of unknown size when it is freed; it is never of a wrong one.
class Blocks
{
  public:
    void note(const void *address, size_t bytes)
    {
        if (!fits(address, bytes))
            return;
        uint64_t key = key_of(address);
        size_t first = index_of(address), chosen = first;
        for (size_t way = 0; way < ways; way++) {
            uint64_t word = words_[first ^ way].load(std::memory_order_relaxed);
            if (word >> size_bits == (key | way)) {
                chosen = first ^ way; // freed behind our back
                break;
            }
            if (!word)
                chosen = first ^ way;
        }
        words_[chosen].store((key | (chosen ^ first)) << size_bits | bytes,
                             std::memory_order_relaxed);
    }

    // The size, and the slot is free again; -1 when it is not known.
    int64_t take(const void *address)
    {
        std::atomic<uint64_t> *slot = find(address);
        if (!slot)
            return -1;
        uint64_t word = slot->load(std::memory_order_relaxed);
        slot->store(0, std::memory_order_relaxed);
        return static_cast<int64_t>(word & ((uint64_t{1} << size_bits) - 1));
    }

  private:
    // 48 bits of address, 64 bytes apart: 26 of them choose the tag, 16 the slot.
    static constexpr int slot_bits = 16, way_bits = 2, size_bits = 36;
    static constexpr size_t ways = size_t{1} << way_bits;

    static bool fits(const void *address, size_t bytes)
    {
        auto number = reinterpret_cast<uintptr_t>(address);
        return !(number & 63) && !(number >> 48) && !(bytes >> size_bits) && number;
    }
    static uint64_t tag_of(const void *address)
    {
        return reinterpret_cast<uintptr_t>(address) >> (6 + slot_bits);
    }
    static uint64_t key_of(const void *address)
    {
        return tag_of(address) << way_bits;
    }
    // The tag only moves the slot, so slot and tag together still are the address.
    static size_t index_of(const void *address)
    {
        uint64_t spread = tag_of(address) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - slot_bits);
        uint64_t low = reinterpret_cast<uintptr_t>(address) >> 6;
        return static_cast<size_t>((low ^ spread) & ((1u << slot_bits) - 1));
    }
    std::atomic<uint64_t> *find(const void *address)
    {
        if (!fits(address, 0))
            return nullptr;
        uint64_t key = key_of(address);
        size_t first = index_of(address);
        for (size_t way = 0; way < ways; way++) {
            std::atomic<uint64_t> &slot = words_[first ^ way];
            if (slot.load(std::memory_order_relaxed) >> size_bits == (key | way))
                return &slot;
        }
        return nullptr;
    }

    std::atomic<uint64_t> words_[1u << slot_bits];
};

Blocks blocks;

// The total is left to who reads: a sum over the recording's own blocks, while what is in use here
// may be of an earlier capture.
OFTEN void record_memory(const void *address, int64_t bytes, bool out_of_memory)
{
    if (!(wanted.load(std::memory_order_relaxed) & PYRO_RECORD_MEMORY) || door->is_resting)
        return;
    pyro_recorder_thread *thread = enter();
    if (!thread)
        return;
    pyro_record *room = pyro_record_room(door, thread);
    if (room) {
        auto *record = reinterpret_cast<pyro_memory_record *>(room);
        record->address = reinterpret_cast<uintptr_t>(address);
        record->bytes = bytes;
        record->total_allocated = -1;
        record->total_reserved = -1;
        record->device_type = static_cast<int16_t>(c10::DeviceType::CPU);
        record->device_index = -1;
        record->stack = 0;
        record->reserved = 0;
        record->kind = PYRO_RECORD_ALLOCATION;
        record->out_of_memory = out_of_memory;
        record->padding[0] = record->padding[1] = 0;
        record->start_raw = pyro_raw_time(door);
        pyro_record_commit(thread, room);
        prefetch_for_write(room + 2);
    }
    pyro_recorder_leave(thread);
}

// Stands in front of torch's allocator. It is never freed, and neither is this library: blocks that
// were allocated under it come back to it long after a capture, and storages ask it for more.
class WatchedAllocator final : public c10::Allocator
{
  public:
    c10::Allocator *inner = nullptr;
    c10::DeleterFnPtr inner_deleter = nullptr;

    c10::DataPtr allocate(size_t bytes) override
    {
        c10::DataPtr data;
        try {
            data = inner->allocate(bytes);
        } catch (...) {
            record_memory(nullptr, static_cast<int64_t>(bytes), true);
            throw;
        }
        if (!data.compare_exchange_deleter(inner_deleter, &release) || !bytes)
            return data;
        blocks.note(data.get(), bytes);
        record_memory(data.get(), static_cast<int64_t>(bytes), false);
        return data;
    }
    c10::DeleterFnPtr raw_deleter() const override
    {
        return &release;
    }
    void copy_data(void *to, const void *from, std::size_t count) const override
    {
        inner->copy_data(to, from, count);
    }
    bool is_simple_data_ptr(const c10::DataPtr &data) const override
    {
        return inner->is_simple_data_ptr(data);
    }

  private:
    // Torch's own deleter gets the same address: its context is the block.
    static void release(void *block);
};

WatchedAllocator *watched;

void WatchedAllocator::release(void *block)
{
    if (block) {
        int64_t bytes = blocks.take(block);
        record_memory(block, bytes >= 0 ? -bytes : INT64_MIN, false);
    }
    watched->inner_deleter(block);
}

// With the priority that it has, so that another allocator can still be set; else with the highest.
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
        return "another CPU allocator was set since the last capture";
    if (!present->raw_deleter())
        return "the CPU allocator of this program cannot be watched";
    if (!watched) {
        watched = new WatchedAllocator;
        watched->inner = present;
        watched->inner_deleter = present->raw_deleter();
    }
    return set_cpu_allocator(watched) ? nullptr : "the CPU allocator could not be set";
}

void unwatch_memory()
{
    if (watched && c10::GetAllocator(c10::DeviceType::CPU) == watched)
        set_cpu_allocator(watched->inner);
}

} // namespace

#endif
