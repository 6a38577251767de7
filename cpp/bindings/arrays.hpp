// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/gil.hpp"
#include "core/csr.hpp"
#include "core/parallel.hpp"

namespace defrag {

namespace nb = nanobind;

/// A read-only, contiguous, one-dimensional numpy array. `const` admits memory maps.
template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Gives a vector to numpy without copying it.
template <class T>
nb::object to_numpy(Vector<T>&& values) {
    auto* owned = new Vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(
        owned->data(), {static_cast<std::size_t>(owned->size())}, owner));
}

template <class T>
nb::object to_numpy(std::vector<T>&& values) {
    return to_numpy(Vector<T>(std::move(values)));
}

/// Gives a matrix to Python as the triple (indptr, indices, data).
inline nb::tuple to_numpy(Csr&& matrix) {
    return nb::make_tuple(to_numpy(std::move(matrix.indptr)), to_numpy(std::move(matrix.indices)),
                          to_numpy(std::move(matrix.data)));
}

/// A matrix as Python passes it: the triple (indptr, indices, data).
using CsrArrays = std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<float>>;

/// The number of columns where a kernel does not read memory by them.
constexpr std::int64_t kAnyWidth = std::numeric_limits<std::int32_t>::max();

/// Throws a ValueError unless `holds`.
inline void require(bool holds, const char* rule) {
    if (!holds) throw nb::value_error(rule);
}

/// A part of a model as a view; its numbers were checked when the model was loaded, and only
/// the sizes of its arrays are checked here, because a call may be for a single row.
inline CsrView model_view(const CsrArrays& matrix, std::int64_t n_cols) {
    const auto& [indptr, indices, data] = matrix;
    require(indptr.size() > 0, "the row pointers of a matrix are empty");
    require(indices.size() == data.size(), "a matrix must have as many values as columns");
    const auto n_rows = static_cast<std::int64_t>(indptr.size()) - 1;
    require(indptr.data()[n_rows] <= static_cast<std::int64_t>(indices.size()),
            "the row pointers of a matrix go beyond its entries");
    return {n_rows, n_cols, indptr.data(), indices.data(), data.data()};
}

/// A matrix as a view, every number checked by which a kernel reads memory.
inline CsrView csr_view(const CsrArrays& matrix, std::int64_t n_cols) {
    const CsrView view = model_view(matrix, n_cols);
    check_csr(view, static_cast<std::int64_t>(std::get<1>(matrix).size()));
    return view;
}

/// Throws a ValueError unless an array, if there is one, has this size.
template <class T>
void check_size(const std::optional<Array<T>>& array, std::int64_t size, const char* rule) {
    require(!array || static_cast<std::int64_t>(array->size()) == size, rule);
}

/// Throws a ValueError unless all ids are below `limit`.
inline void check_below(const Array<std::int32_t>& ids, std::int64_t limit, const char* rule) {
    const std::int32_t* end = ids.data() + ids.size();
    require(ids.size() == 0 || *std::max_element(ids.data(), end) < limit, rule);
}

/// The items of a list. To be called in the body of a function: nanobind converts arguments in
/// functions that must not throw, so that a std::vector among them ends the process when there is
/// no memory for it.
template <class T>
Vector<T> items_of(const nb::list& list) {
    Vector<T> items;
    items.reserve(static_cast<std::int64_t>(list.size()));
    for (const nb::handle item : list) items.push_back(nb::cast<T>(item, false));
    return items;
}

/// A context whose hook lets Python answer Ctrl-C, and tells `progress` (a callable that
/// takes the share done, or None) how far the work is. To be made while holding the GIL.
inline Context make_context(unsigned n_threads, const nb::object& progress) {
    PyObject* callable = progress.is_none() ? nullptr : progress.ptr();
    return Context(n_threads, [callable](double share) {
        const Crossing crossing;
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (callable != nullptr) nb::borrow<nb::object>(callable)(share);
    });
}

/// Runs kernel(context) without the GIL and gives back what it returns.
template <class Kernel>
auto run(unsigned n_threads, const nb::object& progress, Kernel kernel) {
    const Context context = make_context(n_threads, progress);
    const ReleasedGil released;
    return kernel(context);
}

/// The memory of an array that may be absent.
template <class T>
const T* pointer(const std::optional<Array<T>>& array) {
    return array ? array->data() : nullptr;
}

}  // namespace defrag
