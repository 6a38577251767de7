// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "bindings/arrays.hpp"

namespace defrag {

/// The getter of a property that shows a vector of a result as an array, without copying it.
template <class Result, class T>
auto array_of(Vector<T> Result::* member) {
    return [member](Result& self) {
        Vector<T>& values = self.*member;
        return Numpy<T, 1>(values.data(), {static_cast<std::size_t>(values.size())},
                           nb::find(self));
    };
}

/// One member of all reports as an array.
template <class Report, class T>
Numpy<T, 1> column(const Vector<Report>& reports, T Report::* member) {
    auto values = std::make_unique<T[]>(static_cast<std::size_t>(reports.size()));
    for (std::int64_t i = 0; i < reports.size(); ++i) values[i] = reports[i].*member;
    nb::capsule owner(values.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Numpy<T, 1>(values.release(), {static_cast<std::size_t>(reports.size())}, owner);
}

}  // namespace defrag
