/*
 * The ops, their values and the memory of a running torch, written to the recorder: a callback of
 * at::RecordFunction and a wrapper of the CPU allocator. The one C++ file, because torch offers
 * neither to C; it is built on first use against the user's torch (_observer.py).
 */
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <torch/version.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <unordered_set>
#include <vector>

#include <pyrometer/capture.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

constexpr int most_nesting = 4; // of lists in lists
constexpr size_t most_words = PYRO_SIGNATURE_MOST_WORDS;

pyro_recorder_door *door;
std::atomic<uint32_t> wanted; // PYRO_RECORD_*

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

// Lets through what torch keeps to itself: whether sizes are not simply there, and whether asking
// for them would run Python.
struct Peek : c10::TensorImpl {
    static bool has_own_sizes(const c10::TensorImpl *tensor)
    {
        return static_cast<const Peek *>(tensor)->matches_policy(SizesStridesPolicy::CustomSizes);
    }
    static bool asks_python(const c10::TensorImpl *tensor)
    {
        return static_cast<const Peek *>(tensor)->matches_python_custom(
            SizesStridesPolicy::CustomSizes);
    }
};

bool has_plain_sizes(const c10::TensorImpl *tensor)
{
    return !tensor->has_symbolic_sizes_strides() && !tensor->is_nested() &&
           !Peek::asks_python(tensor) && tensor->dtype().isScalarType();
}

// Writes words of values, in the form of recording.h, behind `at`. NULL when they do not fit before
// `end`: then the values are written again into room that is large, and cut there.
uint64_t *put_value(uint64_t *at, uint64_t *end, const c10::IValue &value, int nesting);

inline uint64_t *put_sizes(uint64_t *at, uint64_t *end, const c10::TensorImpl *tensor)
{
    c10::IntArrayRef sizes = tensor->sizes();
    if (__builtin_expect(static_cast<size_t>(end - at) <= sizes.size(), 0))
        return nullptr;
    *at++ = PYRO_VALUE_TENSOR |
            static_cast<uint64_t>(static_cast<uint8_t>(tensor->dtype().toScalarType())) << 8 |
            static_cast<uint64_t>(static_cast<uint8_t>(tensor->device_type())) << 16 |
            static_cast<uint64_t>(sizes.size()) << 32;
    for (int64_t size : sizes)
        *at++ = static_cast<uint64_t>(size);
    return at;
}

__attribute__((noinline)) uint64_t *put_odd_tensor(uint64_t *at, uint64_t *end,
                                                   const c10::TensorImpl *tensor)
{
    if (has_plain_sizes(tensor))
        return put_sizes(at, end, tensor);
    if (at == end)
        return nullptr;
    *at = PYRO_VALUE_OTHER;
    return at + 1;
}

inline uint64_t *put_tensor(uint64_t *at, uint64_t *end, const at::Tensor &value)
{
    const c10::TensorImpl *tensor = value.unsafeGetTensorImpl();
    if (!value.defined()) {
        if (at == end)
            return nullptr;
        *at = PYRO_VALUE_NONE;
        return at + 1;
    }
    if (__builtin_expect(Peek::has_own_sizes(tensor) || !tensor->dtype().isScalarType(), 0))
        return put_odd_tensor(at, end, tensor);
    return put_sizes(at, end, tensor);
}

__attribute__((noinline)) uint64_t *put_list(uint64_t *at, uint64_t *end, const c10::IValue &value,
                                             int nesting)
{
    if (at == end)
        return nullptr;
    if (nesting >= most_nesting) {
        *at = PYRO_VALUE_OTHER;
        return at + 1;
    }
    auto items = value.toListRef();
    *at++ = PYRO_VALUE_LIST | static_cast<uint64_t>(items.size()) << 32;
    for (size_t i = 0; i < items.size() && at; i++)
        at = put_value(at, end, items[i], nesting + 1);
    return at;
}

inline uint64_t *put_value(uint64_t *at, uint64_t *end, const c10::IValue &value, int nesting)
{
    if (value.isTensor())
        return put_tensor(at, end, value.toTensor());
    if (value.isList())
        return put_list(at, end, value, nesting);
    if (__builtin_expect(end - at < 2, 0))
        return nullptr;
    if (value.isInt()) {
        *at++ = PYRO_VALUE_INTEGER;
        *at++ = static_cast<uint64_t>(value.toInt());
    } else if (value.isBool()) {
        *at++ = PYRO_VALUE_BOOLEAN;
        *at++ = value.toBool();
    } else if (value.isDouble()) {
        double number = value.toDouble();
        *at++ = PYRO_VALUE_REAL;
        std::memcpy(at++, &number, sizeof number);
    } else {
        *at++ = value.isNone() ? PYRO_VALUE_NONE : PYRO_VALUE_OTHER;
    }
    return at;
}

// As much of the values as fits, ended by the mark of a cut: whole values, and of a list that is
// too long its first items.
class CutWriter
{
  public:
    uint64_t words[most_words];
    size_t count = 0;

    __attribute__((noinline)) void values(const c10::IValue *first, size_t number, int nesting = 0)
    {
        for (size_t i = 0; i < number && !is_cut_; i++)
            value(first[i], nesting);
    }

  private:
    bool is_cut_ = false;

    void value(const c10::IValue &value, int nesting)
    {
        uint64_t *end = words + most_words - 1;
        uint64_t *after = put_value(words + count, end, value, nesting);
        if (after) {
            count = static_cast<size_t>(after - words);
        } else if (value.isList() && words + count + 1 < end) {
            auto items = value.toListRef();
            words[count++] = PYRO_VALUE_LIST | static_cast<uint64_t>(items.size()) << 32;
            values(items.data(), items.size(), nesting + 1);
        } else {
            words[count++] = PYRO_VALUE_CUT;
            is_cut_ = true;
        }
    }
};

// The words of some values where they are few, which they nearly always are.
struct Words {
    size_t count = 0;
    uint64_t words[192];

    // False when they are more.
    bool put(const c10::IValue *first, size_t number)
    {
        uint64_t *at = words, *end = words + sizeof words / sizeof *words;
        for (size_t i = 0; i < number && at; i++)
            at = put_value(at, end, first[i], 0);
        count = at ? static_cast<size_t>(at - words) : 0;
        return at != nullptr;
    }
};

// Holds on to the objects whose addresses were written down, so that no other gets the same one. The
// weak pointers keep a few hundred bytes each; what the tensors hold is freed as ever.
class Kept {
public:
    void tensor(const at::Tensor &value)
    {
        const void *address = value.unsafeGetTensorImpl();
        std::lock_guard<std::mutex> guard(lock_);
        if (addresses_.insert(address).second)
            tensors_.emplace_back(value.getIntrusivePtr());
    }
    void storage(const c10::Storage &value)
    {
        const void *address = value.unsafeGetStorageImpl();
        std::lock_guard<std::mutex> guard(lock_);
        if (addresses_.insert(address).second)
            storages_.push_back(value.getWeakStorageImpl());
    }
    void clear()
    {
        std::lock_guard<std::mutex> guard(lock_);
        addresses_.clear();
        tensors_.clear();
        storages_.clear();
    }

private:
    std::mutex lock_;
    std::unordered_set<const void *> addresses_;
    std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> tensors_;
    std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> storages_;
};

Kept &kept()
{
    static Kept *forever = new Kept; // callbacks may come after static objects are gone
    return *forever;
}

// Words of storages, in the form of recording.h. A tensor that finds no room is left out.
class StorageWriter {
public:
    uint64_t words[most_words];
    size_t count = 0;

    void values(const c10::IValue *first, size_t number, int nesting = 0)
    {
        for (size_t i = 0; i < number; i++) {
            if (first[i].isTensor()) {
                tensor(first[i].toTensor());
            } else if (first[i].isList() && nesting < most_nesting) {
                auto items = first[i].toListRef();
                values(items.data(), items.size(), nesting + 1);
            }
        }
    }

  private:
    void tensor(const at::Tensor &value)
    {
        if (!value.defined() || value.unsafeGetTensorImpl()->is_wrapped_number())
            return; // a number of Python's that an op takes as a tensor comes from nowhere
        c10::TensorImpl *impl = value.unsafeGetTensorImpl();
        bool is_plain = has_plain_sizes(impl);
        size_t rank = is_plain ? impl->sizes().size() : 0;
        if (count + PYRO_STORAGE_WORDS + rank > most_words)
            return;
        kept().tensor(value);
        uint64_t *at = words + count;
        at[0] = reinterpret_cast<uintptr_t>(impl);
        at[1] = at[0] | 1; // without storage it shares none
        const c10::VariableVersion &version = impl->version_counter();
        at[2] = version.enabled() ? version.current_version() : UINT64_MAX;
        at[3] = at[4] = UINT64_MAX;
        uint64_t code = is_plain ? static_cast<uint8_t>(impl->dtype().toScalarType()) : 0xff;
        at[5] = code | static_cast<uint64_t>(rank) << 32;
        if (impl->has_storage()) {
            kept().storage(impl->unsafe_storage());
            at[1] = reinterpret_cast<uintptr_t>(impl->unsafe_storage().unsafeGetStorageImpl());
            if (is_plain)
                place(impl, at);
        }
        for (size_t d = 0; d < rank; d++)
            at[PYRO_STORAGE_WORDS + d] = static_cast<uint64_t>(impl->sizes()[d]);
        count += PYRO_STORAGE_WORDS + rank;
    }

    // Which bytes of the storage are the tensor's, and whether all between the first and the last.
    void place(const c10::TensorImpl *impl, uint64_t *at)
    {
        uint64_t item = impl->itemsize(), last = 0;
        c10::IntArrayRef sizes = impl->sizes(), strides = impl->strides();
        for (size_t d = 0; d < sizes.size(); d++)
            if (sizes[d] > 0)
                last += static_cast<uint64_t>(sizes[d] - 1) * static_cast<uint64_t>(strides[d]);
        uint64_t elements = static_cast<uint64_t>(impl->numel());
        at[3] = static_cast<uint64_t>(impl->storage_offset()) * item;
        at[4] = at[3] + (elements ? (last + 1) * item : 0);
        at[5] |= static_cast<uint64_t>(elements >= last + 1) << 8;
    }
};

// Spans of labels (record_function) may end on another thread: their records by address.
class Labels
{
  public:
    struct Entry {
        const void *key;
        pyro_record *record;
        uint64_t chunk;
        uint32_t generation;
        pthread_t thread;
    };

    void open(const void *key, pyro_recorder_thread *thread, pyro_record *record)
    {
        lock();
        Entry *free_entry = nullptr;
        for (Entry &entry : entries_) {
            if (!entry.key || entry.key == key || entry.generation != thread->generation) {
                free_entry = &entry;
                if (entry.key == key)
                    break;
            }
        }
        if (free_entry)
            *free_entry = {key, record, thread->chunk, thread->generation, pthread_self()};
        unlock();
    }

    // Takes the entry out; false when there is none of this session.
    bool close(const void *key, uint32_t generation, Entry *out)
    {
        bool found = false;
        lock();
        for (Entry &entry : entries_) {
            if (entry.key != key)
                continue;
            *out = entry;
            found = entry.generation == generation;
            entry.key = nullptr;
            break;
        }
        unlock();
        return found;
    }

  private:
    void lock()
    {
        while (busy_.exchange(true, std::memory_order_acquire)) {
        }
    }
    void unlock()
    {
        busy_.store(false, std::memory_order_release);
    }
    Entry entries_[256] = {};
    std::atomic<bool> busy_{false};
};

Labels labels;

bool is_intact(const pyro_record *record, uint64_t chunk)
{
    return __atomic_load_n(&record->tag, __ATOMIC_RELAXED) == static_cast<uint32_t>(chunk);
}

// What an op was when it was last met after the same op: its name and values, and their ids.
struct Known {
    Known *next[2]; // what followed it; the latest first
    const char *name;
    uint32_t name_id, inputs, outputs;
    uint32_t before_name, before_inputs; // of the op that it followed
    uint16_t input_words, output_words, output_room, name_words;
    uint64_t words[]; // the name, ended and padded by 0; then the inputs; then the outputs

    const uint64_t *input_place() const
    {
        return words + name_words;
    }
    uint64_t *output_place()
    {
        return words + name_words + input_words;
    }
};

// A model runs the same ops in the same order again and again, so the next one is most likely what
// followed last time: then comparing it, from memory that was laid out in that order, replaces all
// looking up. What is compared is everything, so nothing is taken from an earlier call.
struct Memory {
    static constexpr size_t room_bytes = 1u << 20;
    uint32_t generation;
    Known *last; // the op that began last; never NULL
    Known *open[PYRO_MOST_OPEN_SPANS];
    Known *index[4096]; // by both ops, so that the chain of what follows closes to a ring
    size_t used;
    alignas(64) char room[room_bytes];
};

__attribute__((noinline)) Memory *renew_memory(pyro_recorder_thread *thread)
{
    auto *memory = static_cast<Memory *>(thread->ops);
    if (!memory)
        thread->ops = memory = static_cast<Memory *>(std::calloc(1, sizeof *memory));
    if (!memory)
        return nullptr;
    memory->generation = thread->generation;
    memory->last = reinterpret_cast<Known *>(memory->room); // before the first op
    memory->last->next[0] = memory->last->next[1] = nullptr;
    memory->used = sizeof(Known);
    memory->last->name_id = memory->last->inputs = 0;
    std::memset(memory->open, 0, sizeof memory->open);
    std::memset(memory->index, 0, sizeof memory->index);
    return memory;
}

inline Memory *memory_of(pyro_recorder_thread *thread)
{
    auto *memory = static_cast<Memory *>(thread->ops);
    if (__builtin_expect(!memory || memory->generation != thread->generation, 0))
        return renew_memory(thread);
    return memory;
}

inline bool is_same(const uint64_t *left, const uint64_t *right, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (left[i] != right[i])
            return false;
    }
    return true;
}

inline bool fits(const Known *known, const char *name, const Words &inputs)
{
    return known && known->name == name && known->input_words == inputs.count &&
           is_same(known->input_place(), inputs.words, inputs.count) &&
           !std::strcmp(reinterpret_cast<const char *>(known->words), name);
}

// Makes room for an op and what it was given; NULL where that is too long to be worth it.
Known *append(pyro_recorder_thread *thread, Memory *memory, const char *name, const Words &inputs)
{
    constexpr size_t output_room = 16, longest = 256; // bytes of a name
    size_t length = std::strlen(name), name_words = length / 8 + 1;
    size_t bytes = sizeof(Known) + (name_words + inputs.count + output_room) * 8;
    if (length >= longest)
        return nullptr;
    if (memory->used + bytes > Memory::room_bytes)
        renew_memory(thread);
    auto *known = reinterpret_cast<Known *>(memory->room + memory->used);
    memory->used += bytes;
    known->next[0] = known->next[1] = nullptr;
    known->name = name;
    known->name_words = static_cast<uint16_t>(name_words);
    known->input_words = static_cast<uint16_t>(inputs.count);
    known->output_words = UINT16_MAX;
    known->output_room = output_room;
    known->words[name_words - 1] = 0;
    std::memcpy(known->words, name, length);
    std::memcpy(known->words + name_words, inputs.words, inputs.count * 8);
    return known;
}

// Looks up what was not expected, and remembers it as what follows the last op. The ids are in
// `out` in any case.
__attribute__((noinline)) Known *learn(pyro_recorder_thread *thread, Memory *memory,
                                       const char *name, const Words &inputs, Known *out)
{
    out->name_id = door->name(thread, name);
    out->inputs = inputs.count ? door->signature(thread, inputs.words, inputs.count) : 0;
    out->outputs = 0;
    if (!memory || !out->name_id)
        return nullptr;
    uint32_t before_name = memory->last->name_id, before_inputs = memory->last->inputs;
    uint64_t hash = (uint64_t{before_name} << 48 ^ uint64_t{before_inputs} << 32 ^
                     uint64_t{out->name_id} << 16 ^ out->inputs) *
                    UINT64_C(0x9e3779b97f4a7c15);
    Known **place = &memory->index[hash >> 52];
    Known *known = *place;
    if (!known || !fits(known, name, inputs) || known->before_name != before_name ||
        known->before_inputs != before_inputs) {
        known = append(thread, memory, name, inputs);
        if (!known)
            return nullptr;
        known->name_id = out->name_id;
        known->inputs = out->inputs;
        known->outputs = 0;
        known->before_name = before_name;
        known->before_inputs = before_inputs;
        *place = known;
    }
    memory->last->next[1] = memory->last->next[0];
    memory->last->next[0] = known;
    return known;
}

// The op that begins: as it is known, or in `out` where it cannot be kept.
inline Known *recognize(pyro_recorder_thread *thread, const char *name, const Words &inputs,
                        Known *out)
{
    Memory *memory = memory_of(thread);
    Known *known = nullptr;
    if (__builtin_expect(memory != nullptr, 1)) {
        Known **next = memory->last->next;
        if (__builtin_expect(fits(next[0], name, inputs), 1)) {
            known = next[0];
        } else if (fits(next[1], name, inputs)) {
            known = next[1];
            next[1] = next[0];
            next[0] = known;
        }
    }
    if (__builtin_expect(!known, 0))
        known = learn(thread, memory, name, inputs, out);
    if (memory) {
        if (known)
            memory->last = known;
        if (thread->depth < PYRO_MOST_OPEN_SPANS)
            memory->open[thread->depth] = known;
    }
    return known ? known : out;
}

// What comes next is compared when this op has run; by then it should be at hand.
inline void prefetch_next(const Known *known)
{
    if (const Known *next = known->next[0]) {
        auto *line = reinterpret_cast<const char *>(next);
        __builtin_prefetch(line);
        __builtin_prefetch(line + 64);
        __builtin_prefetch(line + 128);
    }
}

// The outputs' id; `depth` is where the op was open.
inline uint32_t recognize_outputs(pyro_recorder_thread *thread, uint32_t depth,
                                  const Words &outputs)
{
    auto *memory = static_cast<Memory *>(thread->ops);
    Known *known = memory && memory->generation == thread->generation &&
                           depth < PYRO_MOST_OPEN_SPANS
                       ? memory->open[depth]
                       : nullptr;
    if (__builtin_expect(known && known->output_words == outputs.count &&
                             is_same(known->output_place(), outputs.words, outputs.count),
                         1))
        return known->outputs;
    uint32_t id = outputs.count ? door->signature(thread, outputs.words, outputs.count) : 0;
    if (known && id && outputs.count <= known->output_room) {
        std::memcpy(known->output_place(), outputs.words, outputs.count * 8);
        known->output_words = static_cast<uint16_t>(outputs.count);
        known->outputs = id;
    }
    return id;
}

// Spans that ended elsewhere are taken off the thread's list now and then, or it would fill up.
__attribute__((noinline)) void prune_open(pyro_recorder_thread *thread)
{
    Memory *memory = memory_of(thread);
    uint32_t kept = 0;
    uint32_t depth = thread->depth < PYRO_MOST_OPEN_SPANS ? thread->depth : PYRO_MOST_OPEN_SPANS;
    if (thread->depth > PYRO_MOST_OPEN_SPANS)
        return;
    for (uint32_t i = 0; i < depth; i++) {
        const pyro_open_span &span = thread->open[i];
        if (span.record && is_intact(span.record, span.chunk) && span.record->end_raw)
            continue;
        if (memory)
            memory->open[kept] = memory->open[i];
        thread->open[kept++] = span;
    }
    __atomic_store_n(&thread->depth, kept, __ATOMIC_RELAXED);
}

__attribute__((noinline)) uint32_t long_signature(pyro_recorder_thread *thread,
                                                  const c10::IValue *first, size_t number)
{
    CutWriter writer;
    writer.values(first, number);
    return door->signature(thread, writer.words, writer.count);
}

__attribute__((noinline)) uint32_t storages_of(pyro_recorder_thread *thread,
                                               const c10::IValue *first, size_t number)
{
    StorageWriter writer;
    writer.values(first, number);
    return writer.count ? door->storages(thread, writer.words, writer.count) : 0;
}

// The engine runs a backward function inside of a span without inputs or number; as in
// torch.profiler's traces, that span gets the number of what it runs.
__attribute__((noinline)) void number_evaluation(pyro_recorder_thread *thread,
                                                 const at::RecordFunction &function)
{
    if (!thread->depth || thread->depth > PYRO_MOST_OPEN_SPANS)
        return;
    const pyro_open_span &span = thread->open[thread->depth - 1];
    pyro_record *outer = span.record;
    if (!outer || !is_intact(outer, span.chunk) || outer->kind != PYRO_RECORD_OP ||
        outer->scope != static_cast<uint8_t>(at::RecordScope::FUNCTION) || outer->inputs ||
        outer->sequence != -1)
        return;
    outer->sequence = function.seqNr();
    outer->forward_thread = static_cast<uint32_t>(function.forwardThreadId());
}

void begin_op(pyro_recorder_thread *thread, const at::RecordFunction &function)
{
    uint32_t flags = wanted.load(std::memory_order_relaxed);
    uint32_t input_storages = 0, stack = 0;
    at::RecordScope scope = function.scope();
    Words inputs;
    Known passing;
    passing.next[0] = nullptr;
    uint32_t long_inputs = 0;
    if (flags & (PYRO_RECORD_SHAPES | PYRO_RECORD_STORAGES)) {
        c10::ArrayRef<const c10::IValue> values = function.inputs();
        if (flags & PYRO_RECORD_SHAPES && !inputs.put(values.data(), values.size()))
            long_inputs = long_signature(thread, values.data(), values.size());
        if (flags & PYRO_RECORD_STORAGES && !values.empty())
            input_storages = storages_of(thread, values.data(), values.size());
    }
    const Known *known = recognize(thread, function.name(), inputs, &passing);
    if (flags & PYRO_RECORD_STACKS && door->stack)
        stack = door->stack(thread);
    if (scope == at::RecordScope::BACKWARD_FUNCTION)
        number_evaluation(thread, function);
    pyro_record *record = pyro_record_room(door, thread);
    pyro_span_open(thread, record, &function);
    if (!record)
        return;
    record->end_raw = 0;
    record->sequence = function.seqNr();
    record->name = known->name_id;
    record->inputs = long_inputs ? long_inputs : known->inputs;
    record->outputs = 0;
    record->stack = stack;
    record->forward_thread = static_cast<uint32_t>(function.forwardThreadId());
    record->torch_thread = static_cast<uint32_t>(function.threadId());
    record->input_storages = input_storages;
    record->output_storages = 0;
    record->kind = PYRO_RECORD_OP;
    record->scope = static_cast<uint8_t>(scope);
    record->notes = record->reserved = 0;
    if (scope == at::RecordScope::USER_SCOPE)
        labels.open(&function, thread, record);
    record->start_raw = pyro_raw_time(door);
    pyro_record_commit(thread, record);
    __builtin_prefetch(record + 2, 1);
    prefetch_next(known);
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction &function)
{
    pyro_recorder_thread *thread = pyro_recorder_enter(door);
    if (!thread)
        return nullptr;
    if (__builtin_expect(thread->depth >= 64 && !(thread->depth & (thread->depth - 1)), 0))
        prune_open(thread);
    try {
        begin_op(thread, function);
    } catch (...) {
        // A tensor that does not say its sizes: the op goes on as if nobody had asked.
    }
    pyro_recorder_leave(thread);
    return nullptr;
}

void end_record(pyro_recorder_thread *thread, pyro_record *record,
                const at::RecordFunction &function, uint64_t now)
{
    uint32_t flags = wanted.load(std::memory_order_relaxed);
    const std::vector<c10::IValue> &values = function.outputs();
    if (!values.empty()) {
        try {
            if (flags & PYRO_RECORD_SHAPES) {
                Words outputs;
                record->outputs = outputs.put(values.data(), values.size())
                                      ? recognize_outputs(thread, thread->depth, outputs)
                                      : long_signature(thread, values.data(), values.size());
            }
            if (flags & PYRO_RECORD_STORAGES)
                record->output_storages = storages_of(thread, values.data(), values.size());
        } catch (...) {
            // As above.
        }
    }
    __atomic_store_n(&record->end_raw, now, __ATOMIC_RELEASE);
}

__attribute__((noinline)) void end_label(pyro_recorder_thread *thread,
                                         const at::RecordFunction &function, uint64_t now)
{
    Labels::Entry entry;
    pyro_record *record = pyro_span_close(thread, &function);
    bool found = labels.close(&function, thread->generation, &entry);
    if (record)
        return is_intact(record, thread->open[thread->depth].chunk)
                   ? end_record(thread, record, function, now)
                   : void();
    if (!found || !is_intact(entry.record, entry.chunk) || entry.record->end_raw)
        return;
    if (!pthread_equal(entry.thread, pthread_self()))
        entry.record->notes |= PYRO_NOTE_ELSEWHERE;
    __atomic_store_n(&entry.record->end_raw, now, __ATOMIC_RELEASE);
}

void on_end(const at::RecordFunction &function, at::ObserverContext *)
{
    if (!pyro_is_recording(door))
        return;
    uint64_t now = pyro_raw_time(door);
    pyro_recorder_thread *thread = pyro_recorder_enter(door);
    if (!thread)
        return;
    if (function.scope() == at::RecordScope::USER_SCOPE) {
        end_label(thread, function, now);
    } else {
        pyro_record *record = pyro_span_close(thread, &function);
        if (record && is_intact(record, thread->open[thread->depth].chunk))
            end_record(thread, record, function, now);
    }
    pyro_recorder_leave(thread);
}

alignas(64) std::atomic<int64_t> live_bytes{0};

void record_memory(const void *address, int64_t bytes, int64_t total, bool out_of_memory)
{
    if (!(wanted.load(std::memory_order_relaxed) & PYRO_RECORD_MEMORY))
        return;
    pyro_recorder_thread *thread = pyro_recorder_enter(door);
    if (!thread)
        return;
    pyro_record *room = pyro_record_room(door, thread);
    if (room) {
        auto *record = reinterpret_cast<pyro_memory_record *>(room);
        record->address = reinterpret_cast<uintptr_t>(address);
        record->bytes = bytes;
        record->total_allocated = total;
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
            record_memory(nullptr, static_cast<int64_t>(bytes),
                          live_bytes.load(std::memory_order_relaxed), true);
            throw;
        }
        if (!data.compare_exchange_deleter(inner_deleter, &release) || !bytes)
            return data;
        blocks.note(data.get(), bytes);
        int64_t size = static_cast<int64_t>(bytes);
        int64_t total = live_bytes.fetch_add(size, std::memory_order_relaxed) + size;
        record_memory(data.get(), size, total, false);
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
        int64_t total = -1;
        if (bytes >= 0)
            total = live_bytes.fetch_sub(bytes, std::memory_order_relaxed) - bytes;
        record_memory(block, bytes >= 0 ? -bytes : INT64_MIN, total, false);
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

at::CallbackHandle handle;

at::RecordFunctionCallback make_callback(uint32_t flags)
{
    bool needs_values = flags & (PYRO_RECORD_SHAPES | PYRO_RECORD_STORAGES);
    return at::RecordFunctionCallback(&on_start, &on_end)
        .needsInputs(needs_values)
        .needsOutputs(needs_values)
        .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                 at::RecordScope::TORCHSCRIPT_FUNCTION, at::RecordScope::USER_SCOPE});
}

} // namespace

EXPORT const char *pyro_observer_torch()
{
    return TORCH_VERSION;
}

EXPORT void pyro_observer_stop()
{
    if (handle)
        at::removeCallback(handle);
    handle = 0;
    unwatch_memory();
    wanted.store(0, std::memory_order_relaxed);
    kept().clear();
}

// Starts to write to a door what the flags say; NULL, or why not, and then nothing is observed.
EXPORT const char *pyro_observer_start(pyro_recorder_door *to, uint32_t flags)
{
    const char *reason = nullptr;
    pyro_observer_stop();
    if (to->size != sizeof *to)
        return "the observer was built for another version of the recorder";
    door = to;
    try {
        if (flags & PYRO_RECORD_MEMORY && (reason = watch_memory()))
            return reason;
        wanted.store(flags, std::memory_order_relaxed);
        if (flags & PYRO_RECORD_OPS)
            handle = at::addGlobalCallback(make_callback(flags));
    } catch (const std::exception &) {
        pyro_observer_stop();
        reason = "torch refused the callback";
    }
    return reason;
}

// A trial of the above with a door of its own, before a session trusts this library. The caller
// runs ops on this thread in between; the answer is text: "name|sequence|inputs|outputs" a line and
// "memory|bytes".
namespace
{

struct Trial {
    pyro_recorder_door door;
    pyro_recorder_thread thread;
    pyro_record records[256];
    pthread_t owner;
    char names[64][64];
    uint32_t name_count;
    uint64_t words[64][64];
    size_t word_counts[64];
    uint32_t signature_count;
};

Trial *trial;

pyro_recorder_thread *trial_thread()
{
    return pthread_equal(trial->owner, pthread_self()) ? &trial->thread : nullptr;
}

bool trial_refill(pyro_recorder_thread *)
{
    return false;
}

uint32_t trial_name(pyro_recorder_thread *, const char *text)
{
    if (trial->name_count == 64)
        return 0;
    std::snprintf(trial->names[trial->name_count], 64, "%s", text);
    return ++trial->name_count;
}

uint32_t trial_words(pyro_recorder_thread *, const uint64_t *words, size_t count)
{
    if (trial->signature_count == 64 || count > 64)
        return 0;
    std::memcpy(trial->words[trial->signature_count], words, count * sizeof *words);
    trial->word_counts[trial->signature_count] = count;
    return ++trial->signature_count;
}

size_t put_words(char *out, size_t room, uint32_t id)
{
    size_t used = 0;
    for (size_t i = 0; id && i < trial->word_counts[id - 1] && used + 24 < room; i++)
        used += std::snprintf(out + used, room - used, " %llx",
                              static_cast<unsigned long long>(trial->words[id - 1][i]));
    return used;
}

size_t put_record(char *out, size_t room, const pyro_record &record)
{
    if (record.kind == PYRO_RECORD_ALLOCATION) {
        const auto &memory = reinterpret_cast<const pyro_memory_record &>(record);
        return std::snprintf(out, room, "memory|%lld\n", static_cast<long long>(memory.bytes));
    }
    size_t used = std::snprintf(out, room, "%s|%lld|",
                                record.name ? trial->names[record.name - 1] : "",
                                static_cast<long long>(record.sequence));
    used += put_words(out + used, room - used, record.inputs);
    out[used++] = '|';
    used += put_words(out + used, room - used, record.outputs);
    used += std::snprintf(out + used, room - used, "|%s\n",
                          record.end_raw >= record.start_raw ? "ended" : "open");
    return used;
}

} // namespace

EXPORT const char *pyro_observer_try()
{
    if (!trial)
        trial = new Trial;
    std::memset(static_cast<void *>(trial), 0, sizeof *trial);
    trial->owner = pthread_self();
    trial->door.size = sizeof trial->door;
    trial->door.generation = trial->thread.generation = 1;
    trial->door.uses_clock = 1;
    trial->door.thread = trial_thread;
    trial->door.refill = trial_refill;
    trial->door.name = trial_name;
    trial->door.signature = trial->door.storages = trial_words;
    trial->thread.next = trial->records;
    trial->thread.end = trial->records + 256;
    trial->thread.chunk = 1;
    return pyro_observer_start(&trial->door,
                               PYRO_RECORD_OPS | PYRO_RECORD_SHAPES | PYRO_RECORD_MEMORY);
}

EXPORT size_t pyro_observer_tried(char *out, size_t room)
{
    size_t used = 0;
    pyro_observer_stop();
    for (const pyro_record *record = trial->records;
         record < trial->thread.next && used + 2048 < room; record++)
        used += put_record(out + used, room - used, *record);
    out[used] = '\0';
    return used;
}
