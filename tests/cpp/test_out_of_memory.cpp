// SPDX-License-Identifier: BSD-3-Clause
// Every allocation of a kernel fails in turn: the kernel must throw std::bad_alloc or do without.
#include <doctest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>

#include "core/agglomeration/agglomeration.hpp"
#include "core/agglomeration/kmeans.hpp"
#include "core/agglomeration/representations.hpp"
#include "core/base/parallel.hpp"
#include "core/solver/solver.hpp"

using namespace defrag;

namespace {

std::atomic<std::int64_t> until_failure{-1};  // allocations that succeed; -1: all

bool fails_now() {
    if (until_failure.load() < 0) return false;
    return until_failure.fetch_sub(1) == 0;
}

void* allocate(std::size_t size, std::size_t alignment) {
    if (fails_now()) throw std::bad_alloc();
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, size == 0 ? 1 : size) != 0) throw std::bad_alloc();
    return memory;
}

/// Runs `kernel` until no allocation fails, and returns how many failed before.
std::int64_t fail_in_turn(const std::function<void()>& kernel) {
    for (std::int64_t n = 0; n < 100'000; ++n) {
        until_failure = n;
        bool complete = false;
        try {
            kernel();
            complete = until_failure >= 0;
        } catch (const std::bad_alloc&) {
            complete = false;
        }
        until_failure = -1;
        if (complete) return n;
    }
    return -1;
}

Csr diagonal(std::int64_t n) {
    Csr matrix;
    matrix.n_cols = n;
    for (std::int64_t row = 0; row < n; ++row) {
        matrix.indices.push_back(static_cast<std::int32_t>(row));
        matrix.data.push_back(1.0F);
        matrix.indptr.push_back(matrix.indices.size());
    }
    return matrix;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    try {
        return allocate(size, alignof(std::max_align_t));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

TEST_CASE("threads that cannot start leave their work to the others") {
    std::atomic<std::int64_t> done{0};
    std::int64_t runs = 0;
    const std::int64_t failed = fail_in_turn([&] {
        const Context context(4);
        ++runs;
        parallel_for(context, 8, 1, [&](std::int64_t, std::int64_t, unsigned) { ++done; });
    });
    CHECK(failed > 3);  // the list of threads, and the state of each
    CHECK(done >= 8);
    CHECK(runs == failed + 1);
}

TEST_CASE("a kernel that runs out of memory throws std::bad_alloc, whichever allocation fails") {
    const Csr matrix = diagonal(40);
    const CsrView view = matrix.view();
    const Vector<std::int32_t> groups(40, 1);
    CHECK(fail_in_turn([&] {
              agglomerate(Context(3), view, groups.data(), 2, Pooling::kSum, nullptr);
          }) > 5);
    CHECK(fail_in_turn([&] { multiply(Context(3), view, view, 2); }) > 5);
    CHECK(fail_in_turn([&] { scale_rows(Context(3), view, RowScale::kIdeal, 0.0F); }) > 5);
    CHECK(fail_in_turn([&] { solve_blocks(Context(3), view, view, SolverOptions()); }) > 5);
    KMeansOptions options;
    options.n_clusters = 5;
    CHECK(fail_in_turn([&] { spherical_kmeans(Context(3), view, options); }) > 5);
}

TEST_CASE("sizes that no memory can hold are failed allocations") {
    CHECK_THROWS_AS(Vector<float>(-1), std::bad_alloc);
    CHECK_THROWS_AS(Vector<float>(std::int64_t{1} << 62), std::bad_alloc);
    CHECK_THROWS_AS(checked_product(std::int64_t{1} << 40, std::int64_t{1} << 40), std::bad_alloc);
}
