// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "bindings/gil.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// Returns a context whose hook handles Ctrl-C and calls `progress`, a callable that takes the
/// fraction of work done, or None. Requires the GIL.
inline Context make_context(unsigned n_threads, const nb::object& progress) {
    PyObject* callable = progress.is_none() ? nullptr : progress.ptr();
    return Context(n_threads, [callable](double share) {
        const Crossing crossing;
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (callable != nullptr) nb::borrow<nb::object>(callable)(share);
    });
}

/// Runs kernel(context) without the GIL and returns its result.
template <class Kernel>
auto run(unsigned n_threads, const nb::object& progress, Kernel kernel) {
    const Context context = make_context(n_threads, progress);
    const ReleasedGil released;
    return kernel(context);
}

}  // namespace defrag
