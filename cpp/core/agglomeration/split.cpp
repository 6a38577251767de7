// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/split.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/agglomeration/ndcg.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kItemsPerBlock = 2048;
constexpr unsigned kBucketShift = 48;
constexpr std::int64_t kBuckets = std::int64_t{1} << (64 - kBucketShift);

std::int64_t bucket_of(std::uint64_t key) { return static_cast<std::int64_t>(key >> kBucketShift); }

__extension__ typedef unsigned __int128 Wide;

/// Exact: the sum of m rows of length at most one unit is shorter than 2^62, see fixed_point_unit.
double length(const Sums& sums) {
    Wide squares = 0;
    for (const std::int64_t sum : sums) {
        const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
        squares += static_cast<Wide>(magnitude) * magnitude;
    }
    return std::sqrt(static_cast<double>(squares));
}

/// Maps scores to integers in descending order; -0 and +0 are the same score.
std::uint32_t descending(float score) {
    score += 0.0F;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &score, sizeof bits);
    const std::uint32_t ascending = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
    return ~ascending;
}

}  // namespace

double fixed_point_unit(std::int64_t n_items) {
    double unit = 1099511627776.0;                                                    // 2^40
    while (unit * static_cast<double>(n_items) > 4611686018427387904.0) unit /= 2.0;  // 2^62
    return unit;
}

void add_row(const ItemRows& rows, std::int32_t row, std::int64_t sign, Sums& sums) {
    // The conversion truncates towards zero, so the sign may as well be that of the unit.
    const double unit = static_cast<double>(sign) * rows.unit;
    for (std::int64_t p = rows.indptr[row]; p < rows.indptr[row + 1]; ++p) {
        sums[rows.indices[p]] +=
            static_cast<std::int64_t>(static_cast<double>(rows.data[p]) * unit);
    }
}

Sums sum_rows(const Context& context, const ItemRows& rows, const Vector<std::int32_t>& members) {
    PerWorkerSums sums(context, rows.n_coords);
    parallel_for(context, members.size(), kItemsPerBlock,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     Sums& own = sums[worker];
                     for (std::int64_t i = begin; i < end; ++i) add_row(rows, members[i], 1, own);
                 });
    return sums.add_up();
}

Split::Split(const ItemRows& rows, const Vector<std::int32_t>& members, const Sums& total,
             const SplitOptions& options, SplitScratch& scratch, const Context* context)
    : rows_(rows),
      members_(members),
      total_(total),
      options_(options),
      scratch_(scratch),
      context_(context),
      dot_(select_gather_dot()) {}

void Split::run(std::int64_t n_left, std::int64_t first, std::int64_t second) {
    const std::int64_t m = members_.size();
    scratch_.direction.resize(rows_.n_coords);
    scratch_.keys.resize(m);
    scratch_.side.assign(m, 0);
    start_from(members_[first], scratch_.left);
    start_from(members_[second], scratch_.right);
    point_direction();
    double previous = -1.0;
    for (n_rounds_ = 1; n_rounds_ <= options_.max_iterations; ++n_rounds_) {
        score_members();
        const bool changed = cut(n_left);
        if (n_rounds_ == 1) {
            gather_left();
        } else if (changed) {
            move_changed();
        } else {
            break;
        }
        point_direction();
        // Not enough improvement to repay another round; zero if the partition is the same.
        if (objective_ - previous <= options_.tolerance * objective_) break;
        previous = objective_;
    }
    n_rounds_ = std::min(n_rounds_, options_.max_iterations);
    objective_ /= rows_.unit * static_cast<double>(m);
}

void Split::start_from(std::int32_t row, Sums& sums) const {
    sums.assign(rows_.n_coords, 0);
    add_row(rows_, row, 1, sums);
}

void Split::point_direction() {
    if (options_.rule == SplitRule::kKMeans) {
        point_by_centres();
    } else {
        std::fill(scratch_.direction.begin(), scratch_.direction.end(), 0.0F);
        objective_ = add_discounts(scratch_.left, 1.0F, scratch_.direction, scratch_.ranking) +
                     add_discounts(scratch_.right, -1.0F, scratch_.direction, scratch_.ranking);
    }
}

/// Difference of the two unit centres; the sum of the similarities of all items to their own
/// centres is the sum of the lengths of the centres.
void Split::point_by_centres() {
    const double left = length(scratch_.left);
    const double right = length(scratch_.right);
    const double left_scale = left > 0.0 ? 1.0 / left : 0.0;
    const double right_scale = right > 0.0 ? 1.0 / right : 0.0;
    for (std::int64_t c = 0; c < scratch_.direction.size(); ++c) {
        scratch_.direction[c] =
            static_cast<float>(static_cast<double>(scratch_.left[c]) * left_scale -
                               static_cast<double>(scratch_.right[c]) * right_scale);
    }
    objective_ = left + right;
}

void Split::score_members() {
    const auto score = [this](std::int64_t begin, std::int64_t end) {
        const float* direction = scratch_.direction.data();
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int32_t row = members_[i];
            const std::int64_t first = rows_.indptr[row];
            const std::uint64_t key = descending(
                dot_(rows_.indices + first, rows_.data + first, rows_.size(row), direction));
            scratch_.keys[i] = key << 32 | static_cast<std::uint64_t>(i);
        }
    };
    const auto m = members_.size();
    if (context_ == nullptr) {
        score(0, m);
    } else {
        parallel_for(*context_, m, kItemsPerBlock,
                     [&](std::int64_t begin, std::int64_t end, unsigned) { score(begin, end); });
    }
}

/// Assigns the n_left best to the left side; returns whether any member changed sides.
bool Split::cut(std::int64_t n_left) {
    const std::uint64_t pivot = smallest_key_outside(n_left);
    scratch_.moved.clear();
    for (std::int64_t i = 0; i < members_.size(); ++i) {
        const auto side = static_cast<std::uint8_t>(scratch_.keys[i] < pivot);
        if (side != scratch_.side[i]) scratch_.moved.push_back(static_cast<std::int32_t>(i));
        scratch_.side[i] = side;
    }
    return !scratch_.moved.empty();
}

/// Returns the n_left-th key, counted from 0. Keys are first counted by their leading bits, so that
/// only those of one bucket are partitioned: scores cluster, but rarely in one of 65,536 buckets.
std::uint64_t Split::smallest_key_outside(std::int64_t n_left) {
    Vector<std::uint64_t>& candidates = scratch_.candidates;
    std::int64_t rank = n_left;
    if (members_.size() < kBuckets) {
        candidates.assign(scratch_.keys.begin(), scratch_.keys.end());
    } else {
        Vector<std::int32_t>& counts = scratch_.counts;
        counts.assign(kBuckets, 0);
        for (const std::uint64_t key : scratch_.keys) ++counts[bucket_of(key)];
        std::int64_t bucket = 0;
        for (; rank >= counts[bucket]; ++bucket) rank -= counts[bucket];
        candidates.clear();
        for (const std::uint64_t key : scratch_.keys) {
            if (bucket_of(key) == bucket) candidates.push_back(key);
        }
    }
    std::nth_element(candidates.begin(), candidates.begin() + rank, candidates.end());
    return candidates[rank];
}

void Split::gather_left() {
    const auto gather = [&](std::int64_t begin, std::int64_t end, Sums& sums) {
        for (std::int64_t i = begin; i < end; ++i) {
            if (scratch_.side[i] != 0) add_row(rows_, members_[i], 1, sums);
        }
    };
    if (context_ == nullptr || context_->n_threads() == 1) {
        scratch_.left.assign(rows_.n_coords, 0);
        gather(0, members_.size(), scratch_.left);
    } else {
        PerWorkerSums partial(*context_, rows_.n_coords);
        parallel_for(*context_, members_.size(), kItemsPerBlock,
                     [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                         gather(begin, end, partial[worker]);
                     });
        scratch_.left = partial.add_up();
    }
    leave_rest_to_right();
}

void Split::move_changed() {
    for (const std::int32_t i : scratch_.moved) {
        add_row(rows_, members_[i], scratch_.side[i] != 0 ? 1 : -1, scratch_.left);
    }
    leave_rest_to_right();
}

void Split::leave_rest_to_right() {
    for (std::int64_t c = 0; c < scratch_.left.size(); ++c) {
        scratch_.right[c] = total_[c] - scratch_.left[c];
    }
}

}  // namespace defrag
