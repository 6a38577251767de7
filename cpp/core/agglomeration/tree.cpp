// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/tree.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/agglomeration/split.hpp"
#include "core/base/aligned.hpp"
#include "core/base/random.hpp"
#include "core/base/schedule.hpp"
#include "core/base/sums.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kEntriesPerBlock = 65536;
constexpr std::int64_t kRowsPerBlock = 1024;
// A part with fewer than 1 / kPartsPerThread of the entries per thread is not divided any more.
constexpr std::int64_t kPartsPerThread = 8;

/// A compact copy of some rows.
struct Block {
    Vector<std::int64_t> indptr;
    AlignedBuffer<std::int32_t> indices;
    AlignedBuffer<float> data;
};

/// A node to be split: its rows, which of them belong to it, and their sum.
struct Part {
    std::int64_t node = 0;
    ItemRows rows;
    Vector<std::int32_t> members;  // row numbers, ascending
    Vector<std::int32_t> ids;      // item ids of the members
    Sums total;
};

/// Per-thread memory for one depth of the descent. A node finishes its first half before it starts
/// the second, so one object per depth is enough for all nodes of that depth.
struct Level {
    Block block;
    Part left;
    Part right;
};

struct Worker {
    SplitScratch scratch;
    Vector<std::unique_ptr<Level>> levels;  // references stay valid when a deeper level is added
    Vector<std::int32_t> local_of;          // new numbers of coordinates while rows are copied

    Level& level(std::int64_t depth) {
        while (levels.size() <= depth) levels.push_back(std::make_unique<Level>());
        return *levels[depth];
    }
};

class Builder {
 public:
    Builder(const Context& context, const CsrView& items, const TreeShape& shape,
            const SplitOptions& options)
        : context_(context), items_(items), shape_(shape), options_(options), workers_(context, [] {
              return Worker();
          }) {
        result_.order.resize(items.n_rows);
        result_.objective.resize(shape.n_nodes);
        result_.n_rounds.resize(shape.n_nodes);
    }

    TreeResult build() {
        context_.expect(items_.nnz() * depth());
        // While there are fewer nodes than threads, the rows of a node are distributed over the
        // threads, but work per coordinate stays serial. Afterwards nodes are distributed.
        Vector<Part> level(1);
        level[0] = root();
        while (!level.empty() && level.size() < context_.n_threads()) level = next_level(level);
        run_growing(
            context_, std::move(level), [](const Part& part) { return part.members.size(); },
            [&](Part& part, const auto& push, unsigned worker) {
                work_on(part, push, workers_[worker]);
            });
        return std::move(result_);
    }

 private:
    std::int64_t depth() const {
        std::int64_t levels = 1;
        for (std::int64_t node = 0; shape_.first_child[node] >= 0; ++levels) {
            node = shape_.first_child[node];
        }
        return levels;
    }

    bool is_leaf(const Part& part) const { return shape_.first_child[part.node] < 0; }

    Part root() {
        Part part;
        part.rows = {items_.n_cols, fixed_point_unit(items_.n_rows), items_.indptr, items_.indices,
                     items_.data};
        // The nDCG rule breaks ties by the number of a coordinate.
        if (options_.rule == SplitRule::kKMeans) part.rows.n_coords = renumber_coordinates();
        if (!coordinates_.empty()) part.rows.indices = coordinates_.data();
        part.members.resize(items_.n_rows);
        std::iota(part.members.begin(), part.members.end(), 0);
        part.ids = part.members;
        part.total = sum_rows(context_, part.rows, part.members);
        return part;
    }

    /// Numbers coordinates by falling frequency and returns how many occur. Entries keep their
    /// order within a row, so sums and results have the same bits.
    std::int64_t renumber_coordinates() {
        const Numbering coordinates = number_by_frequency(count_coordinates());
        coordinates_.resize(items_.nnz());
        over_entries([&](std::int64_t begin, std::int64_t end, unsigned) {
            for (std::int64_t p = begin; p < end; ++p) {
                coordinates_[p] = coordinates.number[items_.indices[p]];
            }
        });
        return coordinates.n_occurring;
    }

    Sums count_coordinates() {
        PerWorkerSums counts(context_, items_.n_cols);
        over_entries([&](std::int64_t begin, std::int64_t end, unsigned worker) {
            Sums& own = counts[worker];
            for (std::int64_t p = begin; p < end; ++p) ++own[items_.indices[p]];
        });
        return counts.add_up();
    }

    template <class Body>
    void over_entries(Body body) {
        parallel_for(context_, items_.nnz(), kEntriesPerBlock, body);
    }

    /// Splits all parts of a level, each with all threads, and returns their halves.
    Vector<Part> next_level(const Vector<Part>& level) {
        Vector<Part> next;
        for (const Part& part : level) {
            if (is_leaf(part)) {
                emit(part);
                continue;
            }
            Part left;
            Part right;
            split(part, workers_[0], &context_);
            halve(part, workers_[0], left, right);
            next.push_back(std::move(left));
            next.push_back(std::move(right));
        }
        return next;
    }

    /// Splits a part: a large one once, whose halves are pushed, a small one to its leaves.
    template <class Push>
    void work_on(Part& part, const Push& push, Worker& worker) {
        const std::int64_t n_threads = context_.n_threads();
        const std::int64_t n_parts = n_threads == 1 ? 1 : kPartsPerThread * n_threads;
        if (is_leaf(part) || member_nnz(part) * n_parts <= items_.nnz()) {
            return descend(part, worker, 0);
        }
        Part left;
        Part right;
        split(part, worker, nullptr);
        halve(part, worker, left, right);
        push(std::move(left));
        push(std::move(right));
    }

    void emit(const Part& part) {
        std::copy(part.ids.begin(), part.ids.end(),
                  result_.order.begin() + shape_.begin[part.node]);
    }

    void descend(Part& part, Worker& worker, std::int64_t depth) {
        if (is_leaf(part)) {
            emit(part);
            return;
        }
        Level& level = worker.level(depth);
        if (should_compact(part)) compact(part, worker, level.block);
        split(part, worker, nullptr);
        halve(part, worker, level.left, level.right);
        descend(level.left, worker, depth + 1);
        descend(level.right, worker, depth + 1);
    }

    /// Returns whether work per coordinate would otherwise outweigh work per non-zero.
    static bool should_compact(const Part& part) {
        return member_nnz(part) < 4 * part.rows.n_coords;
    }

    static std::int64_t member_nnz(const Part& part) {
        std::int64_t nnz = 0;
        for (const std::int32_t row : part.members) nnz += part.rows.size(row);
        return nnz;
    }

    /// Copies the rows of the members with their coordinates renumbered. The order of coordinates
    /// is kept, so the result is bit-identical.
    static void compact(Part& part, Worker& worker, Block& block) {
        Vector<std::int32_t>& local_of = worker.local_of;
        local_of.assign(part.rows.n_coords, -1);
        for (const std::int32_t row : part.members) {
            for (std::int64_t p = part.rows.indptr[row]; p < part.rows.indptr[row + 1]; ++p) {
                local_of[part.rows.indices[p]] = 0;
            }
        }
        std::int32_t n_coords = 0;
        for (std::int64_t c = 0; c < local_of.size(); ++c) {
            if (local_of[c] < 0) continue;
            part.total[n_coords] = part.total[c];
            local_of[c] = n_coords++;
        }
        part.total.resize(n_coords);
        const auto nnz = member_nnz(part);
        block.indices.require(nnz);
        block.data.require(nnz);
        block.indptr.assign(1, 0);
        std::int64_t end = 0;
        for (const std::int32_t row : part.members) {
            const std::int64_t begin = part.rows.indptr[row];
            const std::int64_t size = part.rows.size(row);
            for (std::int64_t i = 0; i < size; ++i) {
                block.indices.data()[end + i] = local_of[part.rows.indices[begin + i]];
            }
            std::copy(part.rows.data + begin, part.rows.data + begin + size,
                      block.data.data() + end);
            end += size;
            block.indptr.push_back(end);
        }
        std::iota(part.members.begin(), part.members.end(), 0);
        part.rows = {n_coords, part.rows.unit, block.indptr.data(), block.indices.data(),
                     block.data.data()};
    }

    void split(const Part& part, Worker& worker, const Context* context) {
        const auto node = part.node;
        const auto m = part.members.size();
        const std::int32_t first_child = shape_.first_child[node];
        const std::int64_t n_left = shape_.end[first_child] - shape_.begin[first_child];
        SplitScratch& scratch = worker.scratch;
        const auto [first, second] = starts(part);
        if (n_left == 0 || n_left == m || first == second) {
            // Nothing to choose, or no information to choose by: the order of ids decides.
            scratch.side.assign(part.members.size(), 0);
            std::fill(scratch.side.begin(), scratch.side.begin() + n_left, std::uint8_t{1});
            scratch.left.assign(part.total.size(), 0);
            for (std::int64_t i = 0; i < n_left; ++i) {
                add_row(part.rows, part.members[i], 1, scratch.left);
            }
            scratch.right.resize(part.total.size());
            for (std::int64_t c = 0; c < part.total.size(); ++c) {
                scratch.right[c] = part.total[c] - scratch.left[c];
            }
        } else {
            Split attempt(part.rows, part.members, part.total, options_, scratch, context);
            attempt.run(n_left, first, second);
            result_.objective[node] = attempt.objective();
            result_.n_rounds[node] = attempt.n_rounds();
        }
        context_.advance(member_nnz(part));
    }

    /// Returns the positions of two members with different non-zero rows, or the same position
    /// twice if there are none.
    std::pair<std::int64_t, std::int64_t> starts(const Part& part) const {
        if (options_.starts != nullptr) {
            return {options_.starts[2 * part.node], options_.starts[2 * part.node + 1]};
        }
        const auto m = part.members.size();
        if (m < 2) return {0, 0};
        Stream stream(options_.seed, Stage::kTreeSplit, static_cast<std::uint64_t>(part.node));
        const std::int64_t first =
            next_member(part, stream, [&](std::int32_t row) { return part.rows.size(row) > 0; });
        if (first < 0) return {0, 0};
        const std::int32_t first_row = part.members[first];
        const std::int64_t second = next_member(part, stream, [&](std::int32_t row) {
            return part.rows.size(row) > 0 && !equal_rows(part.rows, first_row, row);
        });
        return {first, second < 0 ? first : second};
    }

    /// Returns the first member that `fits`, scanning cyclically from a random one, or -1.
    template <class Fits>
    static std::int64_t next_member(const Part& part, Stream& stream, Fits fits) {
        const auto m = part.members.size();
        const std::int64_t start = stream.below(m);
        for (std::int64_t step = 0; step < m; ++step) {
            const std::int64_t position = (start + step) % m;
            if (fits(part.members[position])) return position;
        }
        return -1;
    }

    static bool equal_rows(const ItemRows& rows, std::int32_t a, std::int32_t b) {
        const std::int64_t size = rows.size(a);
        return size == rows.size(b) &&
               std::equal(rows.indices + rows.indptr[a], rows.indices + rows.indptr[a] + size,
                          rows.indices + rows.indptr[b]) &&
               std::equal(rows.data + rows.indptr[a], rows.data + rows.indptr[a] + size,
                          rows.data + rows.indptr[b]);
    }

    /// Creates the two halves of a part that has just been split, and moves its sums into them.
    void halve(const Part& part, Worker& worker, Part& left, Part& right) const {
        left.node = shape_.first_child[part.node];
        right.node = left.node + 1;
        left.total.swap(worker.scratch.left);
        right.total.swap(worker.scratch.right);
        for (Part* half : {&left, &right}) {
            half->rows = part.rows;
            half->members.clear();
            half->ids.clear();
        }
        for (std::int64_t i = 0; i < part.members.size(); ++i) {
            Part& half = worker.scratch.side[i] != 0 ? left : right;
            half.members.push_back(part.members[i]);
            half.ids.push_back(part.ids[i]);
        }
    }

    const Context& context_;
    const CsrView& items_;
    const TreeShape& shape_;
    const SplitOptions& options_;
    TreeResult result_;
    PerWorker<Worker> workers_;
    Vector<std::int32_t> coordinates_;  // of all entries, renumbered
};

}  // namespace

Vector<std::int32_t> min_hash_order(const Context& context, const CsrView& items,
                                    std::uint64_t seed) {
    constexpr std::uint64_t kNone = ~std::uint64_t{0};
    using Hashes = Vector<std::uint64_t>;
    Vector<Hashes> found(context.n_threads());
    for_each(context, items.n_rows, kRowsPerBlock, [&](std::int64_t row, unsigned worker) {
        Hashes& own = found[worker];
        if (own.empty()) own.assign(items.n_cols, kNone);
        std::uint64_t state = seed ^ static_cast<std::uint64_t>(row);
        const std::uint64_t hash = splitmix64(state);
        for (std::int64_t p = items.begin(row); p < items.end(row); ++p) {
            std::uint64_t& current = own[items.indices[p]];
            current = std::min(current, hash);
        }
    });
    Hashes smallest(items.n_cols, kNone);
    for (const Hashes& own : found) {
        for (std::int64_t c = 0; c < own.size(); ++c) smallest[c] = std::min(smallest[c], own[c]);
    }
    Vector<std::pair<std::uint64_t, std::int32_t>> nearest(items.n_rows);  // hash and item
    for_each(context, items.n_rows, kRowsPerBlock, [&](std::int64_t row, unsigned) {
        std::uint64_t hash = kNone;
        for (std::int64_t p = items.begin(row); p < items.end(row); ++p) {
            hash = std::min(hash, smallest[items.indices[p]]);
        }
        nearest[row] = {hash, static_cast<std::int32_t>(row)};
    });
    std::sort(nearest.begin(), nearest.end());
    Vector<std::int32_t> order;
    order.reserve(items.n_rows);
    for (const auto& item : nearest) order.push_back(item.second);
    return order;
}

namespace {

void check_shape(const TreeShape& shape, std::int64_t n_items, const std::int64_t* starts) {
    const auto require = [](bool holds, std::int64_t node) {
        if (holds) return;
        throw std::invalid_argument("node " + std::to_string(node) +
                                    " of a tree has items, children or starts out of place");
    };
    require(shape.n_nodes > 0 && shape.begin[0] == 0 && shape.end[0] == n_items, 0);
    for (std::int64_t node = 0; node < shape.n_nodes; ++node) {
        const std::int64_t begin = shape.begin[node];
        const std::int64_t end = shape.end[node];
        const std::int64_t child = shape.first_child[node];
        require(begin <= end, node);
        for (int i = 0; starts != nullptr && child >= 0 && begin < end && i < 2; ++i) {
            require(starts[2 * node + i] >= 0 && starts[2 * node + i] < end - begin, node);
        }
        if (child < 0) continue;
        require(child > node && child + 1 < shape.n_nodes, node);
        require(shape.begin[child] == begin && shape.end[child] == shape.begin[child + 1] &&
                    shape.end[child + 1] == end && shape.end[child] >= begin,
                node);
    }
}

}  // namespace

TreeResult split_items(const Context& context, const CsrView& items, const TreeShape& shape,
                       const SplitOptions& options) {
    check_shape(shape, items.n_rows, options.starts);
    return Builder(context, items, shape, options).build();
}

}  // namespace defrag
