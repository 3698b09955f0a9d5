// Walking operands of one shape together where they are no contiguous runs: rows along the last dimension,
// with each operand's place, counted on without divisions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/tensor.h"

namespace weft::ops {

class StridedRows {
 public:
  static constexpr size_t kMost = 5;  // operands and the result
  using Offsets = std::array<int64_t, kMost>;

  // `strides`: each operand's along `shape`, in any unit. Dimensions are merged where all operands allow.
  StridedRows(const Shape& shape, std::span<const Strides> strides) : num_operands_(strides.size()) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      Dimension next{shape[d], {}};
      for (size_t i = 0; i < num_operands_; ++i) next.strides[i] = strides[i][d];
      if (!dimensions_.empty() && continues(dimensions_.back(), next))
        next.size *= dimensions_.back().size, dimensions_.back() = next;
      else
        dimensions_.push_back(next);
    }
    if (dimensions_.empty()) dimensions_.push_back({1, {}});
  }

  int64_t length() const { return dimensions_.back().size; }
  int64_t stride(size_t operand) const { return dimensions_.back().strides[operand]; }
  // Of rows that follow each other in one dimension: do the operand's lie one after the other, or is one
  // there for all?
  bool has_one_outer() const { return dimensions_.size() == 2; }
  bool is_flat(size_t operand) const {
    return stride(operand) == 1 && dimensions_.front().strides[operand] == length();
  }
  bool is_repeated(size_t operand) const {
    return stride(operand) == 1 && dimensions_.front().strides[operand] == 0;
  }
  int64_t count() const {
    int64_t rows = 1;
    for (size_t d = 0; d + 1 < dimensions_.size(); ++d) rows *= dimensions_[d].size;
    return rows;
  }

  // body(first, last, offsets) for pieces of at most `piece` elements: positions of the row that begins at
  // `offsets`. Of the pieces of all rows, those from `begin` to `end`.
  template <class Body>
  void for_each_piece(int64_t piece, int64_t begin, int64_t end, const Body& body) const {
    const size_t outer = dimensions_.size() - 1;
    const int64_t pieces = pieces_of_row(piece);
    std::vector<int64_t> index(outer);
    Offsets offsets{};
    int64_t part = begin % pieces;
    for (int64_t d = static_cast<int64_t>(outer) - 1, rest = begin / pieces; d >= 0; --d) {
      const Dimension& dimension = dimensions_[static_cast<size_t>(d)];
      index[static_cast<size_t>(d)] = rest % dimension.size;
      rest /= dimension.size;
      for (size_t i = 0; i < num_operands_; ++i)
        offsets[i] += index[static_cast<size_t>(d)] * dimension.strides[i];
    }
    for (int64_t at = begin; at < end; ++at) {
      body(part * piece, std::min(length(), (part + 1) * piece), offsets);
      if (++part < pieces) continue;
      part = 0;
      for (size_t d = outer; d-- > 0;) {
        const Dimension& dimension = dimensions_[d];
        for (size_t i = 0; i < num_operands_; ++i) offsets[i] += dimension.strides[i];
        if (++index[d] < dimension.size) break;
        for (size_t i = 0; i < num_operands_; ++i) offsets[i] -= dimension.size * dimension.strides[i];
        index[d] = 0;
      }
    }
  }
  // body(count, offsets, steps) for rows from `begin` to `end`, `count` at a time whose places are `steps`
  // apart.
  template <class Body>
  void for_each_run(int64_t begin, int64_t end, const Body& body) const {
    static constexpr Dimension kOne{1, {}};
    const size_t outer = dimensions_.size() - 1;
    const Dimension& along = outer == 0 ? kOne : dimensions_[outer - 1];
    for (int64_t at = begin, count; at < end; at += count) {
      const int64_t first = at % along.size;
      count = std::min(along.size - first, end - at);
      Offsets offsets{};
      for (size_t i = 0; i < num_operands_; ++i) offsets[i] = first * along.strides[i];
      int64_t rest = at / along.size;
      for (size_t d = outer; d-- > 1;) {
        const Dimension& dimension = dimensions_[d - 1];
        for (size_t i = 0; i < num_operands_; ++i) offsets[i] += rest % dimension.size * dimension.strides[i];
        rest /= dimension.size;
      }
      body(count, offsets, along.strides);
    }
  }
  int64_t pieces_of_row(int64_t piece) const { return (length() + piece - 1) / piece; }

 private:
  struct Dimension {
    int64_t size;
    std::array<int64_t, kMost> strides;
  };
  bool continues(const Dimension& outer, const Dimension& inner) const {
    for (size_t i = 0; i < num_operands_; ++i)
      if (outer.strides[i] != inner.strides[i] * inner.size) return false;
    return true;
  }

  const size_t num_operands_;
  std::vector<Dimension> dimensions_;
};

}  // namespace weft::ops
