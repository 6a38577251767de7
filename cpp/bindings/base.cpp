// SPDX-License-Identifier: BSD-3-Clause
#include <limits>

#include <nanobind/stl/string.h>

#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"
#include "bindings/storage.hpp"
#include "core/base/blocks.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// Returns the getter of a property that exposes an array of the rows without copying it.
template <class T>
auto array_of(Vector<T> Csr::* member) {
    return [member](KernelRows& self) {
        Vector<T>& values = self.matrix.*member;
        return Numpy<T, 1>(values.data(), {static_cast<std::size_t>(values.size())},
                           nb::find(self));
    };
}

void bind_csr(nb::module_& m) {
    nb::class_<KernelRows>(m, "KernelRows")
        .def_prop_ro("shape",
                     [](const KernelRows& self) {
                         return std::pair(self.matrix.n_rows(), self.matrix.n_cols);
                     })
        .def_prop_ro("indptr", array_of(&Csr::indptr))
        .def_prop_ro("indices", array_of(&Csr::indices))
        .def_prop_ro("data", array_of(&Csr::data));
    nb::enum_<CsrState>(m, "CsrState")
        .value("canonical", CsrState::kCanonical)
        .value("unsorted", CsrState::kUnsorted)
        .value("bad_pointers", CsrState::kBadPointers)
        .value("bad_indices", CsrState::kBadIndices);
    m.def(
        "is_clean",
        [](const nb::object& X) {
            CsrArgument argument;
            if (!argument.load(X, 0, nullptr)) return false;
            try {
                const ModelCsr matrix = argument.sized();
                return is_clean(matrix.view, matrix.n_stored);
            } catch (const nb::builtin_exception&) {
                return false;
            }
        },
        "X"_a,
        "Return whether X is canonical float32 with finite, non-zero values; False for anything "
        "else, including malformed matrices.");
    m.def(
        "kernel_rows",
        [](const nb::object& X, std::int64_t n_cols,
           std::int64_t most) -> std::optional<KernelRows> {
            CsrArgument argument;
            if (!argument.load(X, 0, nullptr)) return std::nullopt;
            try {
                const auto [rows, n_stored] = argument.sized();
                if (rows.n_rows < 1 || rows.n_rows > most || rows.n_cols != n_cols ||
                    !is_clean(rows, n_stored)) {
                    return std::nullopt;
                }
                const std::int64_t n = rows.indptr[rows.n_rows];
                return KernelRows{{n_cols,
                                   {rows.indptr, rows.indptr + rows.n_rows + 1},
                                   {rows.indices, rows.indices + n},
                                   {rows.data, rows.data + n}}};
            } catch (const nb::builtin_exception&) {
                return std::nullopt;
            }
        },
        "X"_a, "n_cols"_a, "most"_a,
        "Return a copy of one to `most` rows of `n_cols` columns if they are clean, otherwise "
        "None.");
    m.def(
        "count_empty_rows",
        [](const ModelCsr& X) {
            std::int64_t count = 0;
            for (std::int64_t row = 0; row < X.view.n_rows; ++row) {
                count += X.view.begin(row) == X.view.end(row);
            }
            return count;
        },
        "X"_a);
    m.def(
        "inspect_csr",
        [](const Array<std::int64_t>& indptr, const Array<std::int32_t>& indices,
           std::int64_t n_cols) {
            require(indptr.size() > 0, "the row pointers of a matrix are empty");
            const ReleasedGil released;
            const CsrView matrix{n_items(indptr) - 1, n_cols, indptr.data(), indices.data(),
                                 nullptr};
            return inspect(matrix, n_items(indices));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), nb::kw_only(), "n_cols"_a);
}

void bind_join_columns(nb::module_& m) {
    m.def(
        "join_columns",
        [](const nb::list& matrices, unsigned n_threads) {
            Vector<CsrArgument> arguments(static_cast<std::int64_t>(matrices.size()));
            Vector<CsrView> views;
            for (std::int64_t i = 0; i < arguments.size(); ++i) {
                require(arguments[i].load(matrices[static_cast<std::size_t>(i)], 0, nullptr),
                        "matrices that are joined must be float32 CSR matrices");
                views.push_back(arguments[i].checked());
            }
            return run(n_threads, nb::none(), join_columns, views);
        },
        "matrices"_a, nb::kw_only(), "n_threads"_a);
}

void bind_storage(nb::module_& m) {
    nb::class_<FileStorage>(m, "FileStorage")
        .def(nb::init<std::string, std::int64_t, std::int64_t>(), "folder"_a, "least_bytes"_a,
             "budget"_a = std::numeric_limits<std::int64_t>::max())
        .def("give_back", &FileStorage::give_back);
}

}  // namespace

void bind_base(nb::module_& m) {
    bind_storage(m);
    bind_csr(m);
    bind_join_columns(m);
}
