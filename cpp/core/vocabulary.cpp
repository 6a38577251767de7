// SPDX-License-Identifier: BSD-3-Clause
#include "core/vocabulary.hpp"

#include <cstring>
#include <stdexcept>

namespace defrag {
namespace {

constexpr std::size_t kLeastSlots = 1024;

std::uint64_t mix(std::uint64_t state) {
    state ^= state >> 32;
    state *= 0xD6E8FEB86659FD93ULL;
    state ^= state >> 29;
    return state;
}

}  // namespace

std::uint64_t hash_bytes(std::string_view bytes) {
    std::uint64_t state = 0x9E3779B97F4A7C15ULL ^ bytes.size();
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
        std::uint64_t chunk = 0;
        for (unsigned i = 0; i < 8; ++i) {
            chunk |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << 8 * i;
        }
        state = mix(state ^ chunk);
    }
    std::uint64_t rest = 0;
    for (unsigned shift = 0; at < bytes.size(); ++at, shift += 8) {
        rest |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at])) << shift;
    }
    return mix(mix(state ^ rest) * 0x9FB21C651E98DF25ULL);
}

std::string_view Vocabulary::operator[](std::int32_t id) const {
    const auto i = static_cast<std::size_t>(id);
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
}

std::size_t Vocabulary::probe(std::string_view word, std::uint64_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::size_t at = static_cast<std::size_t>(hash) & mask;
    while (slots_[at].id != kNone) {
        if (slots_[at].tag == tag && (*this)[slots_[at].id] == word) break;
        at = (at + 1) & mask;
    }
    return at;
}

std::int32_t Vocabulary::find(std::string_view word) const {
    return slots_.empty() ? kNone : slots_[probe(word, hash_bytes(word))].id;
}

std::int32_t Vocabulary::intern(std::string_view word) {
    if (2 * (ends_.size() + 1) > slots_.size()) grow();
    const std::uint64_t hash = hash_bytes(word);
    Slot& slot = slots_[probe(word, hash)];
    if (slot.id == kNone) {
        if (size() == INT32_MAX) throw std::length_error("more than 2^31 - 1 distinct words");
        bytes_ += word;
        ends_.push_back(bytes_.size());
        slot = {static_cast<std::uint32_t>(hash >> 32), size() - 1};
    }
    return slot.id;
}

void Vocabulary::grow() {
    std::vector<Slot> fresh(slots_.empty() ? kLeastSlots : 2 * slots_.size());
    const std::size_t mask = fresh.size() - 1;
    for (std::int32_t id = 0; id < size(); ++id) {
        const std::uint64_t hash = hash_bytes((*this)[id]);
        std::size_t at = static_cast<std::size_t>(hash) & mask;
        while (fresh[at].id != kNone) at = (at + 1) & mask;
        fresh[at] = {static_cast<std::uint32_t>(hash >> 32), id};
    }
    slots_.swap(fresh);
}

}  // namespace defrag
