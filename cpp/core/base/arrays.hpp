// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace defrag {

/// Whether items may be created without a value; false for atomics, which cannot be copied.
template <class T>
constexpr bool kPlain =
    std::is_trivially_default_constructible_v<T> && std::is_copy_constructible_v<T>;

/// The allocator of Vector: plain items without a value are left uninitialised.
template <class T>
struct Uninitialised : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = Uninitialised<U>;
    };

    Uninitialised() = default;
    template <class U>
    explicit Uninitialised(const Uninitialised<U>&) noexcept {}

    template <class U>
    void construct(U* place) noexcept(std::is_nothrow_default_constructible_v<U>) {
        if constexpr (!kPlain<U>) ::new (static_cast<void*>(place)) U();
    }
    template <class U, class... Arguments>
    void construct(U* place, Arguments&&... arguments) {
        ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
    }
};

/// std::vector with std::int64_t sizes and positions, the type used in the data, so that v[i] needs
/// no cast. Positions are checked where the standard library checks its own (-D_GLIBCXX_ASSERTIONS,
/// set in sanitizer builds). A size that exceeds the address space throws std::bad_alloc, like any
/// other failed allocation.
template <class T>
class Vector : public std::vector<T, Uninitialised<T>> {
    using Base = std::vector<T, Uninitialised<T>>;
    template <class Iterator>
    using IfIterator = typename std::iterator_traits<Iterator>::iterator_category;

 public:
    Vector() = default;
    Vector(std::initializer_list<T> items) : Base(items) {}
    explicit Vector(Base&& items) : Base(std::move(items)) {}
    explicit Vector(std::int64_t size) : Base(initialised(checked(size))) {}
    Vector(std::int64_t size, const T& value) : Base(checked(size), value) {}
    template <class Iterator, class = IfIterator<Iterator>>
    Vector(Iterator first, Iterator last) : Base(first, last) {}

    T& operator[](std::int64_t i) { return Base::operator[](static_cast<std::size_t>(i)); }
    const T& operator[](std::int64_t i) const {
        return Base::operator[](static_cast<std::size_t>(i));
    }
    std::int64_t size() const { return static_cast<std::int64_t>(Base::size()); }

    void reserve(std::int64_t size) { Base::reserve(checked(size)); }
    void resize(std::int64_t size) {
        if constexpr (kPlain<T>) {
            Base::resize(checked(size), T());
        } else {
            Base::resize(checked(size));
        }
    }
    /// Leaves new plain items uninitialised. For large results, whose pages the system then clears
    /// in the threads that fill them.
    void resize_for_overwrite(std::int64_t size) { Base::resize(checked(size)); }
    void assign(std::int64_t size, const T& value) { Base::assign(checked(size), value); }
    template <class Iterator, class = IfIterator<Iterator>>
    void assign(Iterator first, Iterator last) {
        Base::assign(first, last);
    }

 private:
    static Base initialised(std::size_t size) {
        if constexpr (kPlain<T>) {
            return Base(size, T());
        } else {
            return Base(size);
        }
    }

    static std::size_t checked(std::int64_t size) {
        constexpr std::int64_t kMost = PTRDIFF_MAX / static_cast<std::int64_t>(sizeof(T));
        if (size < 0 || size > kMost) throw std::bad_array_new_length();
        return static_cast<std::size_t>(size);
    }
};

/// Returns a * b as the size of an array; throws std::bad_alloc if it exceeds the address space.
inline std::int64_t checked_product(std::int64_t a, std::int64_t b) {
    if (a < 0 || b < 0 || (b > 0 && a > PTRDIFF_MAX / b)) throw std::bad_array_new_length();
    return a * b;
}

}  // namespace defrag
