#include "core/copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "weft/parallel.h"

namespace weft {

namespace {

constexpr int64_t kParallelBytes = 1 << 18;  // below this, starting threads costs more than it saves
constexpr int64_t kTile = 32;

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

#if defined(__GNUC__)
template <class Word>
constexpr int64_t kBlockOfVectors = sizeof(Word) == 4   ? 8
                                    : sizeof(Word) == 8 ? 4
                                                        : 0;
using Words32 = uint32_t __attribute__((vector_size(32)));
using Words64 = uint64_t __attribute__((vector_size(32)));

// Eight rows of eight, which lie `from_stride` apart, as eight columns of rows that lie `to_stride` apart.
inline void transpose_block(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  Words32 a[8], b[8];
  for (int64_t i = 0; i < 8; ++i) std::memcpy(&a[i], from + i * from_stride, sizeof(Words32));
  for (int64_t i = 0; i < 8; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int64_t i = 0; i < 8; i += 4) {
    a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    a[i + 1] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    a[i + 2] = __builtin_shufflevector(b[i + 1], b[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    a[i + 3] = __builtin_shufflevector(b[i + 1], b[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int64_t i = 0; i < 4; ++i) {
    b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int64_t i = 0; i < 8; ++i) std::memcpy(to + i * to_stride, &b[i], sizeof(Words32));
}
// The same of four rows of four.
inline void transpose_block(const uint64_t* from, int64_t from_stride, uint64_t* to, int64_t to_stride) {
  Words64 a[4], b[4];
  for (int64_t i = 0; i < 4; ++i) std::memcpy(&a[i], from + i * from_stride, sizeof(Words64));
  for (int64_t i = 0; i < 4; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 4, 2, 6);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 5, 3, 7);
  }
  for (int64_t i = 0; i < 2; ++i) {
    a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 4, 5);
    a[i + 2] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 6, 7);
  }
  for (int64_t i = 0; i < 4; ++i) std::memcpy(to + i * to_stride, &a[i], sizeof(Words64));
}
#else
template <class Word>
constexpr int64_t kBlockOfVectors = 0;
#endif

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
    for (int64_t row = begin; row < end; ++row) {
      if (is_run)
        copy_run(to_ + to * to_size_, from_ + from * from_size_, bytes);
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
  static void copy_run(char* to, const char* from, int64_t bytes) {
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
    } else if (bytes > 64) {
      constexpr int64_t kPiece = 64;
      std::array<char, kPiece> piece, last;
      std::memcpy(last.data(), from + bytes - kPiece, kPiece);
      for (int64_t at = 0; at < bytes - kPiece; at += kPiece) {
        std::memcpy(piece.data(), from + at, kPiece);
        std::memcpy(to + at, piece.data(), kPiece);
      }
      std::memcpy(to + bytes - kPiece, last.data(), kPiece);
    } else if (bytes > 32)
      in_pieces(std::integral_constant<size_t, 32>{});
    else if (bytes >= 16)
      in_pieces(std::integral_constant<size_t, 16>{});
    else
      in_pieces(std::integral_constant<size_t, 8>{});
  }

  void copy_row(int64_t to, int64_t from, int64_t n) const {
    convert_(to_ + to * to_size_, axes_.back().to, from_ + from * from_size_, axes_.back().from, n);
  }

  // Through a buffer, of which the source's lines are read as a whole: rows that lie a multiple of 4 KiB
  // apart share their places in the first-level cache.
  template <class Word>
  void transpose(int64_t to, int64_t from, int64_t start, int64_t stop) const {
    const Axis &outer = axes_[axes_.size() - 2], &inner = axes_.back();
    Word* const target = reinterpret_cast<Word*>(to_) + to;
    const Word* const source = reinterpret_cast<const Word*>(from_) + from;
    const int64_t rows = stop - start;
    Word buffer[kTile][kTile];
    for (int64_t j = 0; j < inner.size; j += kTile) {
      const int64_t columns = std::min(kTile, inner.size - j);
      int64_t first = 0;
      if constexpr (constexpr int64_t kSide = kBlockOfVectors<Word>; kSide > 0) {
        if (rows == kTile)
          for (; first + kSide <= columns; first += kSide)
            for (int64_t i = 0; i < kTile; i += kSide)
              transpose_block(source + start + i + (j + first) * inner.from, inner.from, &buffer[i][first],
                              kTile);
      }
      for (int64_t k = first; k < columns; ++k) {
        const Word* const line = source + start + (j + k) * inner.from;
        for (int64_t i = 0; i < rows; ++i) buffer[i][k] = line[i];
      }
      for (int64_t i = 0; i < rows; ++i)
        std::memcpy(target + (start + i) * outer.to + j, buffer[i],
                    static_cast<size_t>(columns) * sizeof(Word));
    }
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
    if (is_plain_) {
      switch (to_size_) {
        case 1: return transpose<uint8_t>(to, from, start, stop);
        case 2: return transpose<uint16_t>(to, from, start, stop);
        case 4: return transpose<uint32_t>(to, from, start, stop);
        case 8: return transpose<uint64_t>(to, from, start, stop);
        default: break;
      }
    }
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
