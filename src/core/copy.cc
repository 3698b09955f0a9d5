#include "core/copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "core/copy_run.h"
#include "core/transpose.h"
#include "weft/parallel.h"

namespace weft {

namespace {

constexpr int64_t kParallelBytes = 1 << 18;  // below this, starting threads costs more than it saves
constexpr int64_t kTile = kTransposedRows;

struct Axis {
  int64_t size, to, from;
};

// Axes without size-1 ones, the destination's smallest stride last, neighbours merged where both operands
// allow.
std::vector<Axis> simplify(const Shape& shape, const Strides& to, const Strides& from) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1) axes.push_back({shape[d], to[d], from[d]});
  }
  // Insertion sort: axes are few, and equal ones keep their order.
  for (size_t i = 1; i < axes.size(); ++i) {
    for (size_t j = i; j > 0 && std::abs(axes[j - 1].to) < std::abs(axes[j].to); --j)
      std::swap(axes[j - 1], axes[j]);
  }
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    if (!merged.empty() && merged.back().to == axis.to * axis.size &&
        merged.back().from == axis.from * axis.size) {
      merged.back() = {merged.back().size * axis.size, axis.to, axis.from};
    } else {
      merged.push_back(axis);
    }
  }
  if (merged.empty()) merged.push_back({1, 1, 1});
  return merged;
}

class Copy {
 public:
  Copy(const StridedPointer& to, const StridedPointer& from, const Shape& shape)
      : axes_(simplify(shape, to.strides, from.strides)),
        to_(static_cast<char*>(to.data)),
        from_(static_cast<const char*>(from.data)),
        to_size_(itemsize(to.dtype)),
        from_size_(itemsize(from.dtype)),
        is_plain_(to.dtype == from.dtype),
        convert_(convert_function(to.dtype, from.dtype)) {}

  void run() {
    const Axis& inner = axes_.back();
    // A transposition: walk both operands in small tiles, so that neither strides through memory.
    if (axes_.size() >= 2 && inner.to == 1 && inner.from != 1 && axes_[axes_.size() - 2].from == 1) {
      const Axis& outer = axes_[axes_.size() - 2];
      const int64_t tiles = (outer.size + kTile - 1) / kTile;
      parallel(outer_count(axes_.size() - 2) * tiles, kTile * inner.size, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) copy_tiles(i / tiles, i % tiles * kTile);
      });
      return;
    }
    if (axes_.size() == 1) {
      parallel(inner.size, 1, [&](int64_t begin, int64_t end) {
        copy_row(begin * inner.to, begin * inner.from, end - begin);
      });
      return;
    }
    parallel(outer_count(axes_.size() - 1), inner.size,
             [&](int64_t begin, int64_t end) { copy_rows(begin, end); });
  }

 private:
  int64_t outer_count(size_t num_axes) const {
    return std::accumulate(axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(num_axes), int64_t{1},
                           [](int64_t n, const Axis& axis) { return n * axis.size; });
  }

  std::pair<int64_t, int64_t> offsets(int64_t index, size_t num_axes) const {
    int64_t to = 0, from = 0;
    for (size_t d = num_axes; d-- > 0;) {
      const int64_t i = index % axes_[d].size;
      index /= axes_[d].size;
      to += i * axes_[d].to;
      from += i * axes_[d].from;
    }
    return {to, from};
  }

  // Rows begin to end of all but the last axis, counted on without divisions.
  void copy_rows(int64_t begin, int64_t end) const {
    const size_t num_axes = axes_.size() - 1;
    const Axis& inner = axes_.back();
    std::vector<int64_t> index(num_axes);
    int64_t to = 0, from = 0;
    for (size_t d = num_axes, rest = static_cast<size_t>(begin); d-- > 0;) {
      index[d] = static_cast<int64_t>(rest % static_cast<size_t>(axes_[d].size));
      rest /= static_cast<size_t>(axes_[d].size);
      to += index[d] * axes_[d].to;
      from += index[d] * axes_[d].from;
    }
    const bool is_run = is_plain_ && inner.to == 1 && inner.from == 1;
    const int64_t bytes = inner.size * to_size_;
    const CopyRun copy_unaligned = is_run ? copy_run_function() : nullptr;
    for (int64_t row = begin; row < end; ++row) {
      if (is_run)
        copy_run(to_ + to * to_size_, from_ + from * from_size_, bytes, copy_unaligned);
      else
        copy_row(to, from, inner.size);
      for (size_t d = num_axes; d-- > 0;) {
        to += axes_[d].to;
        from += axes_[d].from;
        if (++index[d] < axes_[d].size) break;
        to -= axes_[d].size * axes_[d].to;
        from -= axes_[d].size * axes_[d].from;
        index[d] = 0;
      }
    }
  }

  // A short row is two overlapping pieces of one size.
  static void copy_run(char* to, const char* from, int64_t bytes, CopyRun copy_unaligned) {
    const auto in_pieces = [&]<size_t kSize>(std::integral_constant<size_t, kSize>) {
      std::array<char, kSize> first, last;
      std::memcpy(first.data(), from, kSize);
      std::memcpy(last.data(), from + bytes - kSize, kSize);
      std::memcpy(to, first.data(), kSize);
      std::memcpy(to + bytes - kSize, last.data(), kSize);
    };
    constexpr int64_t kLongest =
        32 << 10;  // the library's own copies of rows that are not aligned are slow up to there
    const bool is_aligned = (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % 32 == 0;
    if (bytes > kLongest || bytes < 8 || (is_aligned && bytes > 64) ||
        (to < from + bytes && from < to + bytes)) {
      std::memmove(to, from, static_cast<size_t>(bytes));
    } else if (bytes > 64)
      copy_unaligned(to, from, bytes);
    else if (bytes > 32)
      in_pieces(std::integral_constant<size_t, 32>{});
    else if (bytes >= 16)
      in_pieces(std::integral_constant<size_t, 16>{});
    else
      in_pieces(std::integral_constant<size_t, 8>{});
  }

  void copy_row(int64_t to, int64_t from, int64_t n) const {
    convert_(to_ + to * to_size_, axes_.back().to, from_ + from * from_size_, axes_.back().from, n);
  }

  void copy_tiles(int64_t outer_index, int64_t start) const {
    const size_t num_outer = axes_.size() - 2;
    const Axis &outer = axes_[num_outer], &inner = axes_.back();
    const auto [to, from] = offsets(outer_index, num_outer);
    const int64_t stop = std::min(start + kTile, outer.size);
    if (inner.size < kTile / 4) {  // long runs of the other axis: an image's few channels put last
      for (int64_t j = 0; j < inner.size; ++j) {
        convert_(to_ + (to + start * outer.to + j * inner.to) * to_size_, outer.to,
                 from_ + (from + start * outer.from + j * inner.from) * from_size_, outer.from, stop - start);
      }
      return;
    }
    if (const Transpose transpose = is_plain_ ? transpose_function(to_size_) : nullptr; transpose != nullptr)
      return transpose(to_ + (to + start * outer.to) * to_size_, outer.to,
                       from_ + (from + start) * from_size_, inner.from, stop - start, inner.size);
    for (int64_t j = 0; j < inner.size; j += kTile) {
      const int64_t n = std::min(kTile, inner.size - j);
      for (int64_t i = start; i < stop; ++i) {
        copy_row(to + i * outer.to + j * inner.to, from + i * outer.from + j * inner.from, n);
      }
    }
  }

  void parallel(int64_t count, int64_t elements_each,
                const std::function<void(int64_t, int64_t)>& body) const {
    const int64_t bytes_each = std::max<int64_t>(1, elements_each) * std::max(to_size_, from_size_);
    if (count * bytes_each <= kParallelBytes)
      body(0, count);
    else
      parallel_for(0, count, std::max<int64_t>(1, kParallelBytes / bytes_each), body);
  }

  std::vector<Axis> axes_;
  char* to_;
  const char* from_;
  int64_t to_size_, from_size_;
  bool is_plain_;
  ConvertFn convert_;
};

}  // namespace

void copy_strided(const StridedPointer& destination, const StridedPointer& source, const Shape& shape) {
  if (numel(shape) == 0) return;
  Copy(destination, source, shape).run();
}

}  // namespace weft
