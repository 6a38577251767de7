// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <memory>

#include "bindings/arrays.hpp"

namespace defrag {

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
