// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/base/parallel.hpp"

namespace defrag {

namespace nb = nanobind;

/// Guards the way from a kernel back into Python; closed when the interpreter exits. Before Python
/// 3.14, a daemon thread that requests the GIL after that is terminated by an exception that C++
/// code must not catch, which aborts the process. The gate blocks such a thread until the process
/// ends.
struct Gate {
    std::atomic<bool> closed{false};
    std::atomic<int> crossing{0};  // threads that wait for the GIL, or hold it inside a hook
    std::thread::id closer;        // the exiting thread may still pass
};

inline Gate& gate() {
    static Gate instance;
    return instance;
}

/// Keeps the interpreter from finalising while a kernel thread is in Python.
class Crossing {
 public:
    Crossing() {
        gate().crossing.fetch_add(1);
        if (!gate().closed.load() || gate().closer == std::this_thread::get_id()) return;
        gate().crossing.fetch_sub(1);
        while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    }
    ~Crossing() { gate().crossing.fetch_sub(1); }
    Crossing(const Crossing&) = delete;
    Crossing& operator=(const Crossing&) = delete;
};

/// Releases the GIL, and reacquires it through the gate.
class ReleasedGil {
 public:
    ReleasedGil() : state_(PyEval_SaveThread()) {}
    ~ReleasedGil() {
        const Crossing crossing;
        PyEval_RestoreThread(state_);
    }
    ReleasedGil(const ReleasedGil&) = delete;
    ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
    PyThreadState* state_;
};

/// Closes the gate and waits up to two seconds until no thread is inside.
inline void close_gate() {
    gate().closer = std::this_thread::get_id();
    gate().closed = true;
    const nb::gil_scoped_release release;
    for (int i = 0; i < 2000 && gate().crossing.load() > 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

/// Registers close_gate to run when the interpreter exits; a forked process starts with an empty
/// gate.
inline void guard_exit() {
    nb::module_::import_("atexit").attr("register")(nb::cpp_function(&close_gate));
    nb::module_::import_("os").attr("register_at_fork")(
        nb::arg("after_in_child") = nb::cpp_function([] { gate().crossing = 0; }));
}

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

/// Runs kernel(context, arguments...) without the GIL and returns its result.
template <class Kernel, class... Arguments>
auto run(unsigned n_threads, const nb::object& progress, Kernel kernel, Arguments&&... arguments) {
    const Context context = make_context(n_threads, progress);
    const ReleasedGil released;
    return kernel(context, std::forward<Arguments>(arguments)...);
}

}  // namespace defrag
