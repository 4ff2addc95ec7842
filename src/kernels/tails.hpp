// Tails of the distributions that significance tests ask for: the incomplete beta function, from which Student's t,
// Fisher's F and the binomial follow, the noncentral t of a test's power, and the
// studentized range. Each takes and gives plain numbers; NaN
// where it has no answer. Relative precision is about 1e-13 for parameters up to a million, of the last two
// distributions absolute.
#pragma once

namespace pippin {

// I_x(a, b) = ∫_0^x t^(a-1) (1-t)^(b-1) dt / B(a, b). The caller gives y = 1 - x as well: one of them may be so close to
// 1 that the other could not be told from it.
double incomplete_beta(double a, double b, double x, double y);

// P(T > t) of Student's t with df degrees of freedom.
double t_tail(double t, double df);

// The t that T exceeds with probability p.
double t_point(double p, double df);

// P(T > t) for T = (Z + shift) / sqrt(X / df), Z normal and X chi-squared with df degrees of freedom.
double noncentral_t_tail(double t, double df, double shift);

// P(Q > q) of the studentized range Q = (largest - smallest of k normal numbers) / sqrt(X / df), and the q that Q exceeds
// with probability p.
double range_tail(double q, double k, double df);
double range_point(double p, double k, double df);

}  // namespace pippin
