// CHECK counts and names what fails; summary() prints the count and is the exit status of a test.
#pragma once

#include <cmath>
#include <cstdio>

namespace check {

inline int passed = 0, failed = 0;

inline bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * std::fmax(1.0, std::abs(b)); }

inline void count(bool good, const char* what, const char* file, int line) {
    if (good) {
        ++passed;
        return;
    }
    ++failed;
    std::fprintf(stderr, "%s:%d: CHECK(%s) failed\n", file, line, what);
}

inline int summary() {
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

}  // namespace check

#define CHECK(...) check::count(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
