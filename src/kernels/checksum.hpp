// Are these the bytes that were written? XXH3 (Yann Collet's xxHash, 64 bits, seed 0) of a stretch of bytes, and of
// the blocks of one, checked when they are needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pippin {

std::uint64_t xxh3(std::span<const std::uint8_t> bytes);

// The checksum of every block; the last block may be short. `sums` has one place for each.
void block_checksums(std::span<const std::uint8_t> bytes, std::size_t block, std::span<std::uint64_t> sums, int threads);

// Returns the first block in [first, last) whose checksum differs from `sums`, or -1. Blocks marked in `checked` are
// trusted; the others are read, and valid ones are marked.
std::int64_t first_damaged(std::span<const std::uint8_t> bytes, std::size_t block, std::span<const std::uint64_t> sums,
                           std::span<std::uint8_t> checked, std::size_t first, std::size_t last, int threads);

}  // namespace pippin
