#include "graph/hits_algorithm.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pippin {
namespace {

// The pages with any links, those with most links first, equal ones in order.
std::vector<std::int32_t> most_first(std::span<const std::int64_t> links) {
    const std::int64_t most = links.empty() ? 0 : *std::ranges::max_element(links);
    std::vector<std::int64_t> places(most + 1);  // of the first page with this number of links
    for (const std::int64_t count : links) ++places[most - count];
    std::exclusive_scan(places.begin(), places.end(), places.begin(), std::int64_t{0});
    std::vector<std::int32_t> pages(places[most]);
    for (std::size_t page = 0; page < links.size(); ++page)
        if (links[page]) pages[places[most - links[page]]++] = static_cast<std::int32_t>(page);
    return pages;
}

std::vector<double> take(std::span<const double> values, const std::vector<std::int32_t>& pages) {
    std::vector<double> taken(pages.size());
    for (std::size_t i = 0; i < pages.size(); ++i) taken[i] = values[pages[i]];
    return taken;
}

void put(const std::vector<double>& values, const std::vector<std::int32_t>& pages, std::span<double> out) {
    std::ranges::fill(out, 0.0);
    for (std::size_t i = 0; i < pages.size(); ++i) out[pages[i]] = values[i];
}

// Σ term(i) below `count`, as four sums side by side: one alone would wait for itself at every term.
template <typename Term>
double sum_of(std::size_t count, Term&& term) {
    double sums[4] = {};
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (std::size_t k = 0; k < 4; ++k) sums[k] += term(i + k);
    for (; i < count; ++i) sums[0] += term(i);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double length(const std::vector<double>& values) {
    return std::sqrt(sum_of(values.size(), [&](std::size_t i) { return values[i] * values[i]; }));
}

// Writes scale·fresh + kept(i) over the old values; the L1 change.
template <typename Kept>
double renew(std::vector<double>& old, const std::vector<double>& fresh, double scale, Kept&& kept) {
    return sum_of(old.size(), [&](std::size_t i) {
        const double before = old[i];
        old[i] = scale * fresh[i] + kept(i);
        return std::abs(old[i] - before);
    });
}

std::vector<double> scaled(double scale, std::vector<double> values) {
    for (double& value : values) value *= scale;
    return values;
}

}  // namespace

HubLinks::HubLinks(const Lists& lists) : pages_(static_cast<std::size_t>(lists.size())) {
    std::vector<std::int64_t> out(pages_), in(pages_);
    for (std::size_t page = 0; page < pages_; ++page) out[page] = lists.offsets[page + 1] - lists.offsets[page];
    for (const std::int32_t column : lists.columns) ++in[column];
    hubs_ = most_first(out);
    authorities_ = most_first(in);
    std::vector<std::int32_t> number(pages_);
    for (std::size_t i = 0; i < authorities_.size(); ++i) number[authorities_[i]] = static_cast<std::int32_t>(i);
    offsets_ = {0};
    columns_.reserve(lists.columns.size());
    for (const std::int32_t hub : hubs_) {
        for (const std::int32_t column : lists.of(hub)) columns_.push_back(number[column]);
        offsets_.push_back(static_cast<std::int64_t>(columns_.size()));
    }
}

// hub(p) = shape(p, Σ authority(q) over the links of p), back(q) = Σ hub(p) over the links to q. A list just read for the
// one is available for the other, and the links by target are not needed.
template <typename Shape>
void HubLinks::there_and_back(const Values& authority, Shape&& shape, Values& hub, Values& back) const {
    std::ranges::fill(back, 0.0);
    for (std::size_t p = 0; p < hubs_.size(); ++p) {
        const std::int32_t* first = columns_.data() + offsets_[p];
        const std::int32_t* last = columns_.data() + offsets_[p + 1];
        double sum = 0.0;
        for (const std::int32_t* q = first; q != last; ++q) sum += authority[*q];
        hub[p] = sum = shape(p, sum);
        for (const std::int32_t* q = first; q != last; ++q) back[*q] += sum;
    }
}

HubLinks::Values HubLinks::back_from(const Values& hub) const {
    Values same(hub.size()), back(authorities_.size());
    there_and_back(back, [&](std::size_t p, double) { return hub[p]; }, same, back);
    return back;
}

End HubLinks::hits(std::span<double> authority, std::span<double> hub, double tolerance, std::int64_t rounds) const {
    Values a = take(authority, authorities_), h = take(hub, hubs_), back = back_from(h), sums(h.size());
    const auto nothing = [](std::size_t) { return 0.0; };
    End end = start();
    while (end.rounds < rounds && end.residual > tolerance) {
        ++end.rounds;
        end.residual = renew(a, back, 1.0 / length(back), nothing);
        there_and_back(a, [](std::size_t, double sum) { return sum; }, sums, back);
        end.residual += renew(h, sums, 1.0 / length(sums), nothing);
    }
    put(a, authorities_, authority);
    put(h, hubs_, hub);
    return end;
}

End HubLinks::topical(std::span<const double> plain, double alpha, std::span<double> authority, std::span<double> hub,
                      double tolerance, std::int64_t rounds) const {
    Values a = take(authority, authorities_), h = take(hub, hubs_), back(a.size()), sums(h.size());
    there_and_back(take(plain, authorities_), [](std::size_t, double sum) { return sum; }, sums, back);
    const double to_hub = alpha / length(sums), to_authority = alpha * length(sums) / length(back);
    const Values kept_a = scaled(1 - alpha, a), kept_h = scaled(1 - alpha, h);
    back = back_from(h);
    End end = start();
    while (end.rounds < rounds && end.residual > tolerance) {
        ++end.rounds;
        end.residual = renew(a, back, to_authority, [&](std::size_t q) { return kept_a[q]; });
        there_and_back(a, [&](std::size_t p, double sum) { return to_hub * sum + kept_h[p]; }, sums, back);
        end.residual += renew(h, sums, 1.0, [](std::size_t) { return 0.0; });
    }
    put(a, authorities_, authority);
    put(h, hubs_, hub);
    return end;
}

}  // namespace pippin
