// Numbers by a stream, as on systems whose library has no std::from_chars for them, are those of std::from_chars.
#include "text/from_chars.hpp"

#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "check.hpp"

using namespace pippin;

namespace {

bool alike(const std::string& text) {
    double ours = -1, theirs = -1;
    const char *const first = text.data(), *const last = first + text.size();
    const auto read = from_chars_by_stream(first, last, ours);
    const auto expected = std::from_chars(first, last, theirs);
    return read.ec == expected.ec && read.ptr == expected.ptr && std::memcmp(&ours, &theirs, sizeof ours) == 0;
}

}  // namespace

int main() {
    for (const char* text : {"0", "-0", "1.5", "-2e10", "0.1", "1e308", "1e309", "-1e309", "1e-400", "4.9e-324", "2e-310",
                             "0e5", "0.000", "123456789012345678901234567890"})
        CHECK(alike(text));
    for (const char* text : {"", "+1", " 1", "x", "0x10", "1,5"}) {
        double value = 7;
        CHECK(from_chars_by_stream(text, text + std::strlen(text), value).ec == std::errc::invalid_argument);
        CHECK(value == 7);
    }
    std::mt19937_64 random(1);
    for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t bits = random();
        double value = 0;
        std::memcpy(&value, &bits, sizeof value);
        char text[64];
        if (std::isfinite(value)) CHECK(alike(std::string(text, std::to_chars(text, text + sizeof text, value).ptr)));
    }
    return check::summary();
}
