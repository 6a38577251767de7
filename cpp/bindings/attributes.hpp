// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bindings/arrays.hpp"

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
