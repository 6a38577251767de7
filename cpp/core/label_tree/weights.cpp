// SPDX-License-Identifier: BSD-3-Clause
#include "core/label_tree/weights.hpp"

#include <algorithm>

namespace defrag {

NodeWeights BlockJoiner::join(const CompactRows& rows, const Vector<BlockWeights>& blocks,
                              std::int64_t first, std::int64_t n_outputs) {
    NodeWeights result;
    next_.assign(rows.n_slots(), 0);
    for (const BlockWeights& block : blocks) {
        for (const std::int32_t slot : block.slots) ++next_[slot];
    }
    std::int64_t n_used = 0;
    for (std::int32_t slot = 1; slot < rows.n_slots(); ++slot) {
        if (next_[slot] == 0) continue;
        used_.insert(rows.feature(slot));
        slot_of_[rows.feature(slot)] = slot;
        ++n_used;
    }
    result.features.reserve(n_used);
    result.sizes.reserve(n_used);
    std::int64_t total = 0;
    used_.drain([&](std::int32_t feature) {
        std::int64_t& place = next_[slot_of_[feature]];
        result.features.push_back(feature);
        result.sizes.push_back(static_cast<std::int32_t>(place));
        total += std::exchange(place, total);
    });
    result.outputs.resize(total);
    result.weights.resize(total);
    for (const BlockWeights& block : blocks) {
        for (std::int64_t e = 0; e < block.slots.size(); ++e) {
            const std::int64_t place = next_[block.slots[e]]++;
            result.outputs[place] = static_cast<std::uint16_t>(first + block.lanes[e]);
            result.weights[place] = block.weights[e];
        }
        result.bias.insert(result.bias.end(), block.bias,
                           block.bias + std::min(kLanes, n_outputs - first));
        first += kLanes;
    }
    return result;
}

LabelTreeWeights join_nodes(const Context& context, Vector<NodeWeights>& nodes) {
    LabelTreeWeights result;
    Vector<std::int64_t> first_entry{0};
    for (const NodeWeights& node : nodes) {
        result.feature_ptr.push_back(result.feature_ptr.back() + node.features.size());
        first_entry.push_back(first_entry.back() + node.outputs.size());
        result.bias_ptr.push_back(result.bias_ptr.back() + node.bias.size());
    }
    result.features.resize_for_overwrite(result.feature_ptr.back());
    result.entry_ptr.resize_for_overwrite(result.feature_ptr.back() + 1);
    result.outputs.resize_for_overwrite(first_entry.back());
    result.weights.resize_for_overwrite(first_entry.back());
    result.bias.resize_for_overwrite(result.bias_ptr.back());
    parallel_for(context, nodes.size(), 1, [&](std::int64_t n, std::int64_t, unsigned) {
        NodeWeights& node = nodes[n];
        const std::int64_t feature = result.feature_ptr[n];
        const auto copy = [](const auto& from, auto& to, std::int64_t place) {
            std::copy(from.begin(), from.end(), to.begin() + place);
        };
        copy(node.features, result.features, feature);
        copy(node.outputs, result.outputs, first_entry[n]);
        copy(node.weights, result.weights, first_entry[n]);
        copy(node.bias, result.bias, result.bias_ptr[n]);
        std::int64_t end = first_entry[n];
        for (std::int64_t f = 0; f < node.sizes.size(); ++f) {
            result.entry_ptr[feature + f] = end;
            end += node.sizes[f];
        }
        node = NodeWeights();
    });
    result.entry_ptr.back() = first_entry.back();
    return result;
}

}  // namespace defrag
