/*
 * Ops whose outputs follow from their inputs: views and copies have sizes and types that are a
 * function of what they were given. Once torch has handed them over for some inputs, it need not do
 * so again for the same ones, which costs an allocation an op.
 */
#ifndef PYROMETER_OBSERVER_DERIVED_HPP
#define PYROMETER_OBSERVER_DERIVED_HPP

#include "_observer_door.hpp"

#include <algorithm>
#include <iterator>

namespace
{

// By their definition, what these give depends on sizes, types and numbers of their arguments
// alone: not on elements, strides, promotion, defaults or autocast. In the order of strcmp.
constexpr const char *derived_names[] = {
    "aten::_reshape_alias",
    "aten::_unsafe_view",
    "aten::add_",
    "aten::addcdiv_",
    "aten::addcmul_",
    "aten::alias",
    "aten::as_strided",
    "aten::chunk",
    "aten::clone",
    "aten::contiguous",
    "aten::copy_",
    "aten::detach",
    "aten::diagonal",
    "aten::div_",
    "aten::dropout",
    "aten::empty_like",
    "aten::expand",
    "aten::expand_as",
    "aten::fill_",
    "aten::flatten",
    "aten::lerp_",
    "aten::movedim",
    "aten::mul_",
    "aten::narrow",
    "aten::permute",
    "aten::relu",
    "aten::relu_",
    "aten::reshape",
    "aten::resolve_conj",
    "aten::resolve_neg",
    "aten::select",
    "aten::slice",
    "aten::split",
    "aten::split_with_sizes",
    "aten::squeeze",
    "aten::sub_",
    "aten::t",
    "aten::transpose",
    "aten::unbind",
    "aten::unflatten",
    "aten::unfold",
    "aten::unsqueeze",
    "aten::view",
    "aten::view_as",
    "aten::zero_",
};

bool is_derived_name(const char *name)
{
    auto is_less = [](const char *a, const char *b) { return std::strcmp(a, b) < 0; };
    return std::binary_search(std::begin(derived_names), std::end(derived_names), name, is_less);
}

// Whether words of inputs say all that there is to say: nothing is left out, and all tensors are
// arguments themselves, so that their keys were looked at.
bool are_whole(const uint64_t *words, size_t count)
{
    uint64_t in_lists = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t number = words[i] >> 32;
        bool is_item = in_lists > 0;
        in_lists -= is_item;
        switch (words[i] & 0xff) {
        case PYRO_VALUE_NONE:
            break;
        case PYRO_VALUE_TENSOR:
            if (is_item)
                return false;
            i += number;
            break;
        case PYRO_VALUE_INTEGER:
        case PYRO_VALUE_REAL:
        case PYRO_VALUE_BOOLEAN:
            i++;
            break;
        case PYRO_VALUE_LIST:
            in_lists += number;
            break;
        default:
            return false;
        }
    }
    return true;
}

} // namespace

#endif
