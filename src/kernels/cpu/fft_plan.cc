#include "kernels/cpu/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>

namespace weft::kernels {
namespace {

// From here on a transform is cut in two steps, which stay in the caches and have work for several threads.
constexpr int64_t kLongLength = 1 << 14;
// What plans may take that nobody uses now.
constexpr size_t kCacheBytes = size_t{64} << 20;
constexpr size_t kCacheEntries = 128;

// The radices of a direct transform; empty where n has a prime factor that is too large.
std::vector<int> factor(int64_t n) {
  std::vector<int> radices;
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  // Eights, and fours for the rest: 16 is 4 * 4.
  for (; twos >= 5 || twos == 3; twos -= 3) radices.push_back(8);
  for (; twos >= 2; twos -= 2) radices.push_back(4);
  if (twos == 1) radices.push_back(2);
  for (int radix = 3; radix <= kLargestRadix; radix += 2)
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  return n == 1 ? radices : std::vector<int>{};
}

bool has_own_loop(int radix) {
  return std::find(std::begin(kRadices), std::end(kRadices), radix) != std::end(kRadices);
}

// The next length from n whose prime factors are 2, 3 and 5, and that divides well.
int64_t convolution_length(int64_t n) {
  int64_t best = 1;
  while (best < n) best *= 2;
  for (int64_t three = 1; three <= 9; three *= 3)
    for (int64_t five = 1; five <= 5; five *= 5) {
      int64_t length = 16 * three * five;
      while (length < n) length *= 2;
      best = std::min(best, length);
    }
  return best;
}

template <class T>
std::shared_ptr<FftPlan<T>> direct_plan(int64_t n, const std::vector<int>& radices) {
  auto plan = std::make_shared<FftPlan<T>>();
  plan->n = n;
  const RootsOfUnity roots(n);
  std::vector<size_t>
      starts;  // by_row, by_column, radix_roots of each pass: tables grows until all are there
  int64_t before = 1;
  for (const int radix : radices) {
    const int64_t m = n / before / radix;
    starts.push_back(plan->tables.size());
    for (int64_t p = 0; p < m; ++p)
      for (int64_t j = 1; j < radix; ++j) roots.append(plan->tables, p * j * before);
    starts.push_back(plan->tables.size());
    if (before == 1) {
      std::vector<T> imaginary;
      for (int64_t j = 1; j < radix; ++j)
        for (int64_t p = 0; p < m; ++p) {
          roots.append(plan->tables, p * j);
          imaginary.push_back(plan->tables.back());
          plan->tables.pop_back();
        }
      plan->tables.insert(plan->tables.end(), imaginary.begin(), imaginary.end());
    }
    starts.push_back(plan->tables.size());
    if (!has_own_loop(radix))
      for (int64_t j = 0; j < radix; ++j) roots.append(plan->tables, j * (n / radix));
    before *= radix;
  }
  before = 1;
  for (size_t i = 0; i < radices.size(); ++i) {
    const T* const tables = plan->tables.data();
    plan->passes.push_back({.radix = radices[i],
                            .m = n / before / radices[i],
                            .before = before,
                            .by_row = tables + starts[3 * i],
                            .by_column = tables + starts[3 * i + 1],
                            .radix_roots = tables + starts[3 * i + 2]});
    before *= radices[i];
  }
  plan->bytes = plan->tables.size() * sizeof(T);
  return plan;
}

// The divisor of n nearest its root; multiples of the width, with a multiple on the other side, come first.
template <class T>
int64_t divide(int64_t n, const std::vector<int>& radices) {
  std::vector<int64_t> divisors{1};
  for (const int radix : radices) {
    const size_t count = divisors.size();
    for (size_t i = 0; i < count; ++i) divisors.push_back(divisors[i] * radix);
    std::sort(divisors.begin(), divisors.end());
    divisors.erase(std::unique(divisors.begin(), divisors.end()), divisors.end());
  }
  const auto cost = [n](int64_t d) {
    const auto padded = [](int64_t size) {
      return static_cast<double>((size + kFftWidth<T> - 1) / kFftWidth<T> * kFftWidth<T>) /
             static_cast<double>(size);
    };
    return std::abs(std::log2(static_cast<double>(d) / static_cast<double>(n / d))) +
           4 * (padded(d) * padded(n / d) - 1);
  };
  return *std::min_element(divisors.begin(), divisors.end(),
                           [&](int64_t a, int64_t b) { return cost(a) < cost(b); });
}

template <class T>
std::shared_ptr<FftPlan<T>> long_plan(int64_t n, const std::vector<int>& radices) {
  constexpr int64_t kWidth = kFftWidth<T>;
  auto plan = std::make_shared<FftPlan<T>>();
  plan->n = n, plan->kind = FftPlan<T>::Kind::Long;
  const int64_t n1 = divide<T>(n, radices), n2 = n / n1;
  plan->columns = direct_plan<T>(n1, factor(n1)), plan->rows = direct_plan<T>(n2, factor(n2));
  const RootsOfUnity roots(n);
  const int64_t padded = (n1 + kWidth - 1) / kWidth * kWidth;
  plan->factors.resize(static_cast<size_t>(padded * 2 * kWidth));
  std::vector<T> pair;
  for (int64_t k = 0; k < n1; ++k)
    for (int64_t w = 0; w < kWidth; ++w) {
      pair.clear();
      roots.append(pair, k * w % n);
      plan->factors[static_cast<size_t>(2 * k * kWidth + w)] = pair[0];
      plan->factors[static_cast<size_t>((2 * k + 1) * kWidth + w)] = pair[1];
    }
  for (int64_t j = 0; j < n2; j += kWidth) {
    for (int64_t k = 0; k < n1; ++k) roots.append(plan->bases, j * k % n);
    plan->bases.resize(plan->bases.size() + static_cast<size_t>(2 * (padded - n1)));
  }
  plan->bytes =
      plan->columns->bytes + plan->rows->bytes + (plan->factors.size() + plan->bases.size()) * sizeof(T);
  return plan;
}

// a[k] = sum of x[j] * w^(j k) with j k = (j^2 + k^2 - (k - j)^2) / 2.
template <class T>
std::shared_ptr<FftPlan<T>> bluestein_plan(int64_t n) {
  auto plan = std::make_shared<FftPlan<T>>();
  plan->n = n, plan->kind = FftPlan<T>::Kind::Bluestein;
  const RootsOfUnity roots(2 * n);
  int64_t exponent = 0;  // j^2 modulo 2 n
  for (int64_t j = 0; j < n; ++j) {
    roots.append(plan->chirp, exponent);
    exponent = (exponent + 2 * j + 1) % (2 * n);
  }
  const int64_t length = convolution_length(2 * n - 1);
  plan->convolution = fft_plan<T>(length);
  std::vector<T>& b = plan->transformed_chirp;
  b.resize(static_cast<size_t>(2 * length));
  for (int64_t j = 0; j < n; ++j)
    for (const int64_t at : {j, (length - j) % length}) {
      b[static_cast<size_t>(2 * at)] = plan->chirp[static_cast<size_t>(2 * j)];
      b[static_cast<size_t>(2 * at + 1)] = -plan->chirp[static_cast<size_t>(2 * j + 1)];
    }
  transform_row<T>(*plan->convolution, b.data(), b.data(), false, T(1) / static_cast<T>(length));
  plan->bytes = plan->convolution->bytes + (plan->chirp.size() + b.size()) * sizeof(T);
  return plan;
}

template <class T>
std::shared_ptr<const FftPlan<T>> make_plan(int64_t n) {
  const std::vector<int> radices = factor(n);
  if (n > 1 && radices.empty()) return bluestein_plan<T>(n);
  return n >= kLongLength ? long_plan<T>(n, radices) : direct_plan<T>(n, radices);
}

template <class T>
std::shared_ptr<const RealFftPlan<T>> make_real_plan(int64_t n) {
  auto plan = std::make_shared<RealFftPlan<T>>();
  plan->half = fft_plan<T>(n / 2);
  const RootsOfUnity roots(n);
  for (int64_t k = 0; k <= n / 4; ++k) roots.append(plan->roots, k);
  plan->bytes = plan->roots.size() * sizeof(T);
  return plan;
}

// The plans used last, by length.
template <class Plan>
class PlanCache {
 public:
  template <class Make>
  std::shared_ptr<const Plan> get(int64_t n, Make make) {
    if (auto found = find(n)) return found;
    std::shared_ptr<const Plan> plan = make(n);  // without the lock: plans are made of plans
    const std::lock_guard lock(mutex_);
    entries_.push_front({n, plan});
    bytes_ += plan->bytes;
    while (entries_.size() > 1 && (bytes_ > kCacheBytes || entries_.size() > kCacheEntries)) {
      bytes_ -= entries_.back().plan->bytes;
      entries_.pop_back();
    }
    return plan;
  }

 private:
  struct Entry {
    int64_t n;
    std::shared_ptr<const Plan> plan;
  };
  std::shared_ptr<const Plan> find(int64_t n) {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->n == n) {
        entries_.splice(entries_.begin(), entries_, it);
        return it->plan;
      }
    return nullptr;
  }

  std::mutex mutex_;
  std::list<Entry> entries_;
  size_t bytes_ = 0;
};

// Never destroyed: a transform may run while the process ends.
template <class Plan>
PlanCache<Plan>& plan_cache() {
  static PlanCache<Plan>& cache = *new PlanCache<Plan>;
  return cache;
}

}  // namespace

RootsOfUnity::RootsOfUnity(int64_t n) : low_(1) {
  while (low_ * low_ < n) low_ *= 2;
  const auto append = [n](std::vector<long double>& to, int64_t e) {
    // In the first eighth of the circle, where sine and cosine are exact to the last bit.
    int64_t eight = 8 * e;
    const int octant = static_cast<int>(eight / n);
    eight = octant % 2 ? (octant + 1) * n - eight : eight - octant * n;
    const long double angle = static_cast<long double>(eight) / static_cast<long double>(n) *
                              0.785398163397448309615660845819875721L;
    long double c = std::cos(angle), s = std::sin(angle);
    if (octant == 1 || octant == 2 || octant == 5 || octant == 6) std::swap(c, s);
    to.push_back(octant >= 2 && octant <= 5 ? -c : c);
    to.push_back(octant >= 4 ? s : -s);
  };
  for (int64_t e = 0; e < std::min(low_, n); ++e) append(fine_, e);
  for (int64_t e = 0; e < n; e += low_) append(coarse_, e);
}

template <class T>
void RootsOfUnity::append(std::vector<T>& to, int64_t e) const {
  const size_t fine = 2 * static_cast<size_t>(e % low_), coarse = 2 * static_cast<size_t>(e / low_);
  const long double a = fine_[fine], b = fine_[fine + 1], c = coarse_[coarse], d = coarse_[coarse + 1];
  to.push_back(static_cast<T>(a * c - b * d));
  to.push_back(static_cast<T>(a * d + b * c));
}

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n) {
  return plan_cache<FftPlan<T>>().get(n, make_plan<T>);
}

template <class T>
std::shared_ptr<const RealFftPlan<T>> real_fft_plan(int64_t n) {
  return plan_cache<RealFftPlan<T>>().get(n, make_real_plan<T>);
}

template std::shared_ptr<const FftPlan<float>> fft_plan(int64_t);
template std::shared_ptr<const FftPlan<double>> fft_plan(int64_t);
template std::shared_ptr<const RealFftPlan<float>> real_fft_plan(int64_t);
template std::shared_ptr<const RealFftPlan<double>> real_fft_plan(int64_t);

}  // namespace weft::kernels
