// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <tuple>
#include <type_traits>

#include "bindings/arrays.hpp"
#include "core/label_tree/stored_weights.hpp"

namespace defrag {

/// Base of structs that represent a Python object whose attributes are arrays. Such a struct has
///   kType   the type of the object, for signatures;
///   kNames  the names of the attributes;
///   arrays  a tuple with one array per name.
/// Arrays are never converted, because overloads are resolved by their types. `load_more` reads
/// attributes that are not arrays; it returns false if one has another type.
struct Attributes {
    bool load_more(nb::handle, nb::detail::cleanup_list*) { return true; }
};

/// Returns a view of weights as they are stored; the caller checks that bytes have their scales.
inline StoredWeights stored_weights(const AnyArray& weights,
                                    const std::optional<Array<float>>& scales) {
    const StoredWeights view{{items_as<float>(weights)},
                             {items_as<std::uint16_t>(weights)},
                             {items_as<std::int8_t>(weights)},
                             pointer(scales)};
    require(view.floats.values != nullptr || view.halves.values != nullptr ||
                view.bytes.values != nullptr,
            "weights must be of float32, int8 or uint16, the bits of float16");
    return view;
}

}  // namespace defrag

namespace nanobind::detail {

template <class T>
struct type_caster<T, enable_if_t<std::is_base_of_v<defrag::Attributes, T>>> {
    NB_TYPE_CASTER(T, T::kType)

    bool from_python(handle source, std::uint32_t, cleanup_list* cleanup) noexcept {
        constexpr std::size_t n = std::tuple_size_v<decltype(T::arrays)>;
        static_assert(std::size(T::kNames) == n);
        try {
            return load(source, cleanup, std::make_index_sequence<n>()) &&
                   value.load_more(source, cleanup);
        } catch (const std::exception&) {
            return false;
        }
    }

 private:
    template <std::size_t... I>
    bool load(handle source, cleanup_list* cleanup, std::index_sequence<I...>) {
        return (
            defrag::load_array(source.attr(T::kNames[I]), 0, cleanup, std::get<I>(value.arrays)) &&
            ...);
    }
};

}  // namespace nanobind::detail
