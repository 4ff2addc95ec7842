// Runs a loop over queries on several threads. Work is cut into fixed blocks handed out in turn; every item writes
// only its own output, so the number of threads cannot change a bit of the result.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace pippin {

// Calls body(first, last) for blocks that cover [0, count). The first exception thrown is thrown again here.
template <typename Body>
void parallel_blocks(std::int64_t count, int threads, std::int64_t block, Body&& body) {
    block = std::max<std::int64_t>(1, block);
    threads = static_cast<int>(std::min<std::int64_t>(threads, (count + block - 1) / block));
    if (threads <= 1) {
        if (count > 0) body(std::int64_t{0}, count);
        return;
    }
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    auto work = [&] {
        for (;;) {
            const std::int64_t first = next.fetch_add(block);
            if (first >= count) return;
            try {
                body(first, std::min(first + block, count));
            } catch (...) {
                const std::lock_guard lock(guard);
                if (!failure) failure = std::current_exception();
                next = count;
            }
        }
    };
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(work);
    work();
    others.clear();  // joins
    if (failure) std::rethrow_exception(failure);
}

}  // namespace pippin
