// What a word adds to the BM25 of documents, many at once: weight·c/(c + k1(1 − b + b·length/average)).
//
// Four documents go through one division where the processor has AVX2, else two; which it is is decided when it runs.
// There is one formula, and contraction is off, so that the bits are the same.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pippin {

struct Norm {
    double fixed, slope;  // k1(1 − b), k1·b/average

    double addition(double weight, double count, double length) const {
        return weight * count / (count + (fixed + slope * length));
    }
    // added[i] of a document that holds the word counts[i] times; documents[i] is its place in `lengths`.
    void additions(double weight, const std::uint32_t* counts, const std::uint32_t* documents, const std::uint32_t* lengths,
                   std::size_t size, double* added) const;
};

// No document has 2³¹ words; signed numbers are the faster ones to convert.
inline double number(std::uint32_t count) { return static_cast<double>(static_cast<std::int32_t>(count)); }

}  // namespace pippin
