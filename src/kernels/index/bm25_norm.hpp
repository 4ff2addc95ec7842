// Adds the contribution of one word to the BM25 of many documents: weight·c/(c + k1(1 − b + b·length/average)).
//
// One vector division handles four documents with AVX2, else two; the choice is made at run time. The formula is the
// same and contraction is off, so the bits are equal.
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
