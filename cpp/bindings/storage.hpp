// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "core/base/aligned.hpp"

namespace defrag {

/// Large buffers of kernels in temporary files of a folder. A file has no name, so that it ends
/// with the buffer or the process; its blocks are reserved, because a full disk would otherwise end
/// the process when a page is written.
class FileStorage : public Storage {
 public:
    FileStorage(std::string folder, std::int64_t least_bytes, std::int64_t budget)
        : folder_(std::move(folder)),
          least_bytes_(static_cast<std::size_t>(least_bytes)),
          budget_(budget) {}

    void* allocate(std::size_t n_bytes) override {
#if defined(__unix__) || defined(__APPLE__)
        if (n_bytes < least_bytes_) return nullptr;
        std::string path = folder_ + "/buffer-XXXXXX";
        const int file = mkstemp(path.data());
        if (file < 0) throw std::runtime_error("no file can be made in " + folder_);
        unlink(path.c_str());
        const auto size = static_cast<off_t>(n_bytes);
#if defined(__linux__)
        const bool made = posix_fallocate(file, 0, size) == 0;
#else
        const bool made = ftruncate(file, size) == 0;
#endif
        void* data = MAP_FAILED;
        if (made) data = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (data == MAP_FAILED) {
            close(file);
            throw std::runtime_error("no room for a file in " + folder_);
        }
        const std::lock_guard<std::mutex> lock(mutex_);
        live_.emplace(data, Buffer{n_bytes, file});
        return data;
#else
        static_cast<void>(n_bytes);
        return nullptr;
#endif
    }

    void release(void* data, std::size_t n_bytes) noexcept override {
#if defined(__unix__) || defined(__APPLE__)
        const std::lock_guard<std::mutex> lock(mutex_);
        close(live_.at(data).file);
        live_.erase(data);
        munmap(data, n_bytes);
#endif
    }

    void fetch(const void* data, std::size_t n_bytes, bool now) noexcept override {
#if defined(__linux__)
        // One call instead of a fault per page. Systems that do not know it read pages when needed.
        constexpr int kPopulate = 22;  // MADV_POPULATE_READ, Linux 5.14
        const auto [page, size] = pages_of(data, n_bytes);
        static_cast<void>(madvise(page, size, now ? kPopulate : MADV_WILLNEED));
#else
        static_cast<void>(data);
        static_cast<void>(n_bytes);
        static_cast<void>(now);
#endif
    }

    void drop(const void* data, std::size_t n_bytes) noexcept override {
#if defined(__linux__)
        const auto [page, size] = pages_of(data, n_bytes);
        madvise(page, size, MADV_DONTNEED);
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto& [begin, buffer] = *std::prev(live_.upper_bound(page));
        const auto place = static_cast<char*>(page) - static_cast<char*>(begin);
        posix_fadvise(buffer.file, place, static_cast<off_t>(size), POSIX_FADV_DONTNEED);
#else
        static_cast<void>(data);
        static_cast<void>(n_bytes);
#endif
    }

    std::int64_t budget() const noexcept override { return budget_; }

    /// Lets the system have the pages of all buffers, which it reads again when they are needed.
    void give_back() {
#if defined(__unix__) || defined(__APPLE__)
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const auto& [data, buffer] : live_) madvise(data, buffer.n_bytes, MADV_DONTNEED);
#endif
    }

 private:
    struct Buffer {
        std::size_t n_bytes;
        int file;
    };

    /// Returns the pages that hold some memory.
    static std::pair<void*, std::size_t> pages_of(const void* data, std::size_t n_bytes) {
        constexpr std::uintptr_t kPage = 4096;
        const std::uintptr_t within = reinterpret_cast<std::uintptr_t>(data) % kPage;
        return {static_cast<char*>(const_cast<void*>(data)) - within, n_bytes + within};
    }

    std::string folder_;
    std::size_t least_bytes_;
    std::int64_t budget_;
    std::mutex mutex_;
    std::map<void*, Buffer> live_;
};

}  // namespace defrag
