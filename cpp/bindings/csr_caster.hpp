// SPDX-License-Identifier: BSD-3-Clause
// Type casters for sparse matrices: a parameter of type CsrView accepts a scipy.sparse.csr_array
// (or any object with the attributes indptr, indices, data and shape), and a result of type Csr is
// returned as one. Both share memory with numpy; only 32-bit row pointers, which scipy prefers, are
// copied.
#pragma once

#include <exception>
#include <limits>
#include <new>

#include "bindings/arrays.hpp"
#include "core/base/csr.hpp"

namespace defrag {

/// Rows passed from one kernel to the next. They are canonical by construction and are not checked
/// again; a conversion to scipy would take longer than searching a single row.
struct KernelRows {
    Csr matrix;
};

/// A matrix that is part of a model. Its entries were checked when the model was loaded; only the
/// sizes of its arrays are checked here, because a call may be for a single row.
struct ModelCsr {
    CsrView view;
    std::int64_t n_stored = 0;
};

/// The arrays of a matrix argument, kept alive for the duration of a call. `load` is noexcept, so
/// all memory is allocated later, in `sized`.
class CsrArgument {
 public:
    /// Returns false if `source` is not a matrix. Other errors, such as a KeyboardInterrupt raised
    /// by the property `shape`, are rethrown by `sized`.
    bool load(nb::handle source, std::uint32_t flags, nb::detail::cleanup_list* cleanup) noexcept {
        try {
            if (nb::isinstance<KernelRows>(source)) {
                rows_ = nb::inst_ptr<KernelRows>(source);
                return true;
            }
            const nb::object shape = source.attr("shape");
            if (nb::len(shape) != 2) return false;
            n_rows_ = nb::cast<std::int64_t>(shape[0]);
            n_cols_ = nb::cast<std::int64_t>(shape[1]);
            return load_pointers(source.attr("indptr"), flags, cleanup) &&
                   load_array(source.attr("indices"), flags, cleanup, indices_) &&
                   load_array(source.attr("data"), flags, cleanup, data_);
        } catch (const nb::python_error& error) {
            if (error.matches(PyExc_AttributeError) || error.matches(PyExc_TypeError)) return false;
            error_ = std::current_exception();
            return true;
        } catch (const std::bad_alloc&) {
            error_ = std::current_exception();
            return true;
        } catch (const std::exception&) {
            return false;
        }
    }

    /// Returns a view after checking the sizes of the arrays. O(1) unless row pointers are widened.
    ModelCsr sized() {
        if (error_) std::rethrow_exception(error_);
        if (rows_ != nullptr) return {rows_->matrix.view(), rows_->matrix.indices.size()};
        const bool is_narrow = narrow_.is_valid();
        const std::int64_t n_pointers = is_narrow ? n_items(narrow_) : n_items(wide_);
        require(n_pointers > 0, "the row pointers of a matrix are empty");
        require(n_pointers == n_rows_ + 1, "a matrix must have one row pointer more than rows");
        if (is_narrow) widened_.assign(narrow_.data(), narrow_.data() + narrow_.size());
        const std::int64_t* pointers = is_narrow ? widened_.data() : wide_.data();
        require(n_cols_ >= 0, "a matrix must have a number of columns >= 0");
        require(indices_.size() == data_.size(), "a matrix must have as many values as columns");
        require(pointers[n_rows_] <= n_items(indices_),
                "the row pointers of a matrix go beyond its entries");
        return {{n_rows_, n_cols_, pointers, indices_.data(), data_.data()}, n_items(indices_)};
    }

    /// Returns a view after checking every index that a kernel uses to address memory. O(rows +
    /// non-zeros).
    CsrView checked() {
        const ModelCsr matrix = sized();
        if (rows_ == nullptr) check_csr(matrix.view, matrix.n_stored);
        return matrix.view;
    }

 private:
    /// Accepts 32-bit and 64-bit row pointers; scipy prefers 32 bits.
    bool load_pointers(const nb::object& array, std::uint32_t flags,
                       nb::detail::cleanup_list* cleanup) {
        return load_array(array, 0, cleanup, narrow_) || load_array(array, flags, cleanup, wide_);
    }

    std::exception_ptr error_;
    const KernelRows* rows_ = nullptr;
    std::int64_t n_rows_ = 0;
    std::int64_t n_cols_ = 0;
    Array<std::int32_t> narrow_;
    Array<std::int64_t> wide_;
    Vector<std::int64_t> widened_;
    Array<std::int32_t> indices_;
    Array<float> data_;
};

}  // namespace defrag

namespace nanobind::detail {

/// The part of a type caster that both parameter types share.
template <class Value>
struct CsrParameterCaster {
    static constexpr auto Name =
        const_name("scipy.sparse.csr_array | ") + const_name<defrag::KernelRows>();
    template <class>
    using Cast = Value;
    template <class>
    static constexpr bool can_cast() {
        return true;
    }
    bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
        return argument.load(source, flags, cleanup);
    }

    defrag::CsrArgument argument;
};

template <>
struct type_caster<defrag::CsrView> : CsrParameterCaster<defrag::CsrView> {
    explicit operator defrag::CsrView() { return argument.checked(); }
};

template <>
struct type_caster<defrag::ModelCsr> : CsrParameterCaster<defrag::ModelCsr> {
    explicit operator defrag::ModelCsr() { return argument.sized(); }
};

template <>
struct type_caster<defrag::Csr> {
    static constexpr auto Name = const_name("scipy.sparse.csr_array");

    static handle from_cpp(defrag::Csr&& matrix, rv_policy, cleanup_list*) noexcept {
        using defrag::to_numpy;
        try {
            const std::int64_t n_rows = matrix.n_rows();
            const std::int64_t n_cols = matrix.n_cols;
            object pointers;
            if (matrix.indptr[n_rows] <= std::numeric_limits<std::int32_t>::max()) {
                // scipy requires one type for pointers and indices, and would widen the indices.
                defrag::Vector<std::int32_t> narrow(matrix.indptr.begin(), matrix.indptr.end());
                pointers = cast(to_numpy(std::move(narrow)));
            } else {
                pointers = cast(to_numpy(std::move(matrix.indptr)));
            }
            object result =
                module_::import_("scipy.sparse")
                    .attr("csr_array")(make_tuple(to_numpy(std::move(matrix.data)),
                                                  to_numpy(std::move(matrix.indices)), pointers),
                                       make_tuple(n_rows, n_cols));
            result.attr("has_canonical_format") = true;
            return result.release();
        } catch (python_error& error) {
            error.restore();
        } catch (const std::bad_alloc&) {
            PyErr_NoMemory();
        }
        return handle();
    }
};

}  // namespace nanobind::detail
