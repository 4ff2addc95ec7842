#include "tails.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace pippin {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHalfLogTwoPi = 0.91893853320467274178;

// What Stirling's formula leaves of log Γ(z): log Γ(z) - ((z - 1/2) log z - z + log(2π)/2). By its own series where z is
// large, because the difference of two large numbers would have few digits left.
double stirling_rest(double z) {
    if (z < 12) return std::lgamma(z) - ((z - 0.5) * std::log(z) - z + kHalfLogTwoPi);
    const double w = 1 / (z * z);
    return (1.0 / 12 - w * (1.0 / 360 - w * (1.0 / 1260 - w * (1.0 / 1680 - w * (1.0 / 1188 - w * 691 / 360360))))) / z;
}

// log(ratio) - (ratio - 1), where `beyond` is ratio - 1 with all its digits.
double log_less_line(double ratio, double beyond) {
    if (std::abs(beyond) > 0.5) return std::log(ratio) - beyond;
    // log(1 + u) = 2 artanh(r) with r = u / (2 + u).
    const double r = beyond / (2 + beyond), square = r * r;
    double sum = 0, power = 1;
    for (int k = 3; k < 43; k += 2, power *= square) sum += power / k;
    return r * (2 * square * sum - beyond);
}

// (a + b) x - a, from whichever of x and y = 1 - x is small and has all its digits.
double beyond_mean(double a, double b, double x, double y) { return x <= y ? (a + b) * x - a : b - (a + b) * y; }

// log of x^a y^b / B(a, b). The two logarithms are taken about the mean a / (a + b), where they nearly cancel.
double log_beta_kernel(double a, double b, double x, double y) {
    const double sum = a + b;
    const double off = beyond_mean(a, b, x, y);
    const double powers = a * log_less_line(sum * x / a, off / a) + b * log_less_line(sum * y / b, -off / b);
    return powers + 0.5 * std::log(a / sum * b) - kHalfLogTwoPi + stirling_rest(sum) - stirling_rest(a) - stirling_rest(b);
}

// I_x(a, b) · a B(a, b) / (x^a y^b) as a continued fraction, the even part of 1/(1 + d1/(1 + d2/(1 + …))) with
// d(2m) = m (b - m) x / ((a + 2m - 1)(a + 2m)) and d(2m+1) = -(a + m)(a + b + m) x / ((a + 2m)(a + 2m + 1)). Its terms
// 1 + d(2m) + d(2m+1) are written out so that nothing cancels. By Lentz' method, for (a + b + 2) x < a + 1.
double beta_fraction(double a, double b, double x, double y) {
    const double below = -beyond_mean(a, b, x, y);
    double value = (1 + below) / (a + 1), c = value, d = 0, odd = (a + b) / (a + 1) * x;
    for (int m = 1; m < 1'000'000; ++m) {
        const double at = a + 2.0 * m, even = m * (b - m) * x / ((at - 1) * at);
        const double rest = ((a + m) * (below + m * y) + a + m * (2 * a + 3.0 * m + 2)) / (at * (at + 1));
        const double top = odd * even, bottom = even + rest;
        d = 1 / (bottom + top * d);
        c = bottom + top / c;
        value *= c * d;
        if (std::abs(c * d - 1) < 1e-16) return 1 / value;
        odd = (a + m) / at * ((a + b + m) / (at + 1)) * x;
    }
    return kNothing;
}

double normal_below(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

// Mean of value(s) over s = sqrt(X / df), X chi-squared with df degrees of freedom; `bend` is the relative change of s
// within which value is nearly straight. The sum runs over equal steps of w = log s, where the density
// exp(df (w - (e^(2w) - 1) / 2)) falls off on both sides and equal steps are as good as any rule of higher order; the
// density's own sum stands in for its constant.
template <typename Value>
double mean_over_scale(double df, double bend, Value&& value) {
    const double spread = 1 / std::sqrt(2 * df), step = 0.5 * std::min(spread, bend);
    const double left = -9 * spread - 40 / df, right = std::min(9 * spread, 3.0);
    double density = 0, sum = 0;
    for (double w = left; w <= right; w += step) {
        const double share = std::exp(df * (w - std::expm1(2 * w) / 2));
        density += share;
        sum += share * value(std::exp(w));
    }
    return sum / density;
}

constexpr double kRangeBend = 0.1;  // the range of normal numbers lies about 3 to 7, within some 0.5

// P(largest - smallest > x) of k standard normal numbers: 1 - k ∫ φ(z) (Φ(z + x) - Φ(z))^(k-1) dz, z the smallest.
double normal_range_tail(double x, double k) {
    constexpr double step = 0.1;
    double inside = 0;
    for (double z = -9 - std::min(x, 9.0); z < 9; z += step) {
        const double between = normal_below(z + x) - normal_below(z);
        if (between > 0) inside += std::exp(-z * z / 2 - kHalfLogTwoPi + (k - 1) * std::log(between));
    }
    return std::max(0.0, 1 - k * step * inside);
}

}  // namespace

double incomplete_beta(double a, double b, double x, double y) {
    if (!(a > 0 && b > 0 && x >= 0 && y >= 0)) return kNothing;
    if (x == 0 || y == 0) return x == 0 ? 0 : 1;
    const bool small = x * (a + b + 2) < a + 1;
    const double kernel = std::exp(log_beta_kernel(a, b, x, y));
    return small ? kernel * beta_fraction(a, b, x, y) / a : 1 - kernel * beta_fraction(b, a, y, x) / b;
}

double t_tail(double t, double df) {
    if (!(df > 0) || std::isnan(t)) return kNothing;
    const double square = t * t;
    if (std::isinf(square)) return t > 0 ? 0 : 1;
    const double tail = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square));
    return t > 0 ? tail : 1 - tail;
}

double t_point(double p, double df) {
    if (!(p >= 0 && p <= 1 && df > 0)) return kNothing;
    if (p == 0 || p == 1) return p == 0 ? kInfinity : -kInfinity;
    if (p > 0.5) return -t_point(1 - p, df);
    double low = 0, high = 1;
    while (t_tail(high, df) > p) low = high, high *= 2;
    // Newton's steps, and halves of the bracket where one would leave it.
    const double scale =
        stirling_rest((df + 1) / 2) - stirling_rest(df / 2) + df / 2 * std::log1p(1 / df) - 0.5 - kHalfLogTwoPi;
    double t = (low + high) / 2;
    for (int round = 0; round < 200; ++round) {
        const double missing = t_tail(t, df) - p;
        (missing > 0 ? low : high) = t;
        const double density = std::exp(scale - (df + 1) / 2 * std::log1p(t * t / df));
        double next = t + missing / density;
        if (!(next > low && next < high)) next = (low + high) / 2;
        if (std::abs(next - t) <= 1e-15 * t) return next;
        t = next;
    }
    return t;
}

double noncentral_t_tail(double t, double df, double shift) {
    if (!(df > 0) || !std::isfinite(t) || !std::isfinite(shift)) return kNothing;
    const double bend = 0.25 / std::max(1.0, std::abs(shift));  // the tail turns about s = shift / t, within 1 / t
    return mean_over_scale(df, bend, [=](double s) { return normal_below(shift - t * s); });
}

double range_tail(double q, double k, double df) {
    if (!(q >= 0 && k >= 2 && df > 0)) return kNothing;
    return mean_over_scale(df, kRangeBend, [=](double s) { return normal_range_tail(q * s, k); });
}

double range_point(double p, double k, double df) {
    if (!(p > 0 && p < 1 && k >= 2 && df > 0)) return kNothing;
    double low = 0, high = 1;
    while (range_tail(high, k, df) > p) low = high, high *= 2;
    while (high - low > 1e-11 * high) {
        const double middle = (low + high) / 2;
        (range_tail(middle, k, df) > p ? low : high) = middle;
    }
    return (low + high) / 2;
}

}  // namespace pippin
