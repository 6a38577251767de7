// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "core/base/arrays.hpp"
#include "core/base/ranking.hpp"

namespace defrag {

namespace nb = nanobind;

/// A read-only, contiguous, one-dimensional numpy array. `const` admits memory-mapped files.
template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// The same with any item type.
using AnyArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// The same in two dimensions.
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// An array returned to Python.
template <class T, std::size_t n_dimensions>
using Numpy = nb::ndarray<nb::numpy, T, nb::ndim<n_dimensions>>;

/// The size of a container as a signed integer, the type that the kernels use.
template <class Sized>
std::int64_t n_items(const Sized& array) {
    return static_cast<std::int64_t>(array.size());
}

/// Throws a ValueError unless `holds`.
inline void require(bool holds, const char* rule) {
    if (!holds) throw nb::value_error(rule);
}

/// Throws a ValueError unless an optional array is absent or has this size.
template <class T>
void check_size(const std::optional<Array<T>>& array, std::int64_t size, const char* rule) {
    require(!array || n_items(*array) == size, rule);
}

/// Throws a ValueError unless all ids are below `limit`.
inline void check_below(const Array<std::int32_t>& ids, std::int64_t limit, const char* rule) {
    const std::int32_t* end = ids.data() + ids.size();
    require(ids.size() == 0 || *std::max_element(ids.data(), end) < limit, rule);
}

/// The data pointer of an optional array; null if it is absent.
template <class T>
const T* pointer(const std::optional<Array<T>>& array) {
    return array ? array->data() : nullptr;
}

/// The data pointer of an array if its items have this type, otherwise null.
template <class T>
const T* items_as(const AnyArray& array) {
    return array.dtype() == nb::dtype<T>() ? static_cast<const T*>(array.data()) : nullptr;
}

/// Copies a Python list into a vector. Call it in the body of a bound function: nanobind converts
/// arguments in noexcept functions, so that a std::vector parameter would terminate the process
/// when an allocation fails.
template <class T>
Vector<T> items_of(const nb::list& list) {
    Vector<T> items;
    items.reserve(static_cast<std::int64_t>(list.size()));
    for (const nb::handle item : list) items.push_back(nb::cast<T>(item, false));
    return items;
}

/// Loads an array inside a type caster; returns false if the object has another type.
template <class Loaded>
bool load_array(const nb::object& array, std::uint32_t flags, nb::detail::cleanup_list* cleanup,
                Loaded& out) {
    nb::detail::make_caster<Loaded> caster;
    if (!caster.from_python(array, flags, cleanup)) return false;
    out = std::move(caster.value);
    return true;
}

/// Moves a vector into a numpy array of this shape without copying it.
template <class T, class... Extent>
auto to_numpy(Vector<T>&& values, Extent... extents) {
    auto* owned = new Vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Vector<T>*>(p); });
    return Numpy<T, sizeof...(extents)>(owned->data(), {static_cast<std::size_t>(extents)...},
                                        owner);
}

template <class T>
Numpy<T, 1> to_numpy(Vector<T>&& values) {
    const std::int64_t size = values.size();
    return to_numpy(std::move(values), size);
}

/// A matrix with uninitialised entries, to be filled by a kernel.
template <class T>
Numpy<T, 2> empty_matrix(std::int64_t n_rows, std::int64_t n_cols) {
    auto* owned = new T[static_cast<std::size_t>(checked_product(n_rows, n_cols))];
    nb::capsule owner(owned, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Numpy<T, 2>(owned, {static_cast<std::size_t>(n_rows), static_cast<std::size_t>(n_cols)},
                       owner);
}

/// The labels and scores of `n_rows` rows, as two matrices.
using TopArrays = std::pair<Numpy<std::int32_t, 2>, Numpy<float, 2>>;

inline TopArrays to_numpy(TopLabels&& top, std::int64_t n_rows) {
    const std::int64_t k = top.k;
    return {to_numpy(std::move(top.labels), n_rows, k), to_numpy(std::move(top.scores), n_rows, k)};
}

/// Returns the getter of a property that exposes a vector of a result without copying it.
template <class Result, class T>
auto array_of(Vector<T> Result::* member) {
    return [member](Result& self) {
        Vector<T>& values = self.*member;
        return Numpy<T, 1>(values.data(), {static_cast<std::size_t>(values.size())},
                           nb::find(self));
    };
}

/// Collects one member of all reports into an array.
template <class Report, class T>
Numpy<T, 1> column(const Vector<Report>& reports, T Report::* member) {
    auto values = std::make_unique<T[]>(static_cast<std::size_t>(reports.size()));
    std::transform(reports.begin(), reports.end(), values.get(),
                   [member](const Report& report) { return report.*member; });
    nb::capsule owner(values.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Numpy<T, 1>(values.release(), {static_cast<std::size_t>(reports.size())}, owner);
}

}  // namespace defrag
