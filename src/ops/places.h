// Where numbers are in a sorted sequence, found without branches that depend on the numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "ops/order.h"

namespace weft::ops {

template <class T>
class Places {
 public:
  Places(const T* sorted, int64_t length, bool right) : sorted_(sorted), length_(length), right_(right) {}

  int64_t of(const T& wanted) const { return from(wanted, 0, length_); }

  // Among the places from `first` to `first + count`.
  int64_t from(const T& wanted, int64_t first, int64_t count) const {
    while (count > 0) {
      const int64_t half = count / 2;
      const bool behind = is_behind(wanted, sorted_[first + half]);
      first = behind ? first + half + 1 : first;
      count = behind ? count - half - 1 : half;
    }
    return first;
  }

  const T* sorted() const { return sorted_; }
  int64_t last() const { return length_; }
  bool right() const { return right_; }

 private:
  bool is_behind(const T& wanted, const T& element) const {
    return right_ ? !Order<T>::less(wanted, element) : Order<T>::less(element, wanted);
  }

  const T* sorted_;
  const int64_t length_;
  const bool right_;
};

// Equally wide cells over the range of a sorted sequence. That the cell of a number never falls where the
// number rises is all that is needed for the number's place to be among those of its cell, whatever is
// rounded.
template <class T>
class Cells {
 public:
  static constexpr int64_t kPerElement = 4, kMost = 1 << 16;

  // Not of use for sequences that are no finite range.
  Cells(const T* sorted, int64_t length) {
    if (length < 1 || length > kMost / kPerElement) return;
    low_ = static_cast<double>(sorted[0]);
    const double range = static_cast<double>(sorted[length - 1]) - low_;
    cells_ = length * kPerElement;
    scale_ = static_cast<double>(cells_) / range;
    if (!(range > 0 && range <= std::numeric_limits<double>::max() && scale_ > 0 &&
          scale_ <= std::numeric_limits<double>::max()))
      return;
    starts_.resize(static_cast<size_t>(cells_) + 1);
    size_t cell = 0;
    for (int64_t i = 0; i < length; ++i)
      for (const size_t own = cell_of(sorted[i]); cell <= own; ++cell)
        starts_[cell] = static_cast<int32_t>(i);
    for (; cell < starts_.size(); ++cell) starts_[cell] = static_cast<int32_t>(length);
    for (size_t i = 1; i < starts_.size(); ++i) is_sparse_ = is_sparse_ && starts_[i] - starts_[i - 1] <= 1;
  }
  bool are_of_use() const { return !starts_.empty(); }

  // Cells that all have one element at most: then `thresholds()` has one for each, and a number's place (on
  // the right) is its cell's start, and one more where it is not below the cell's threshold.
  bool are_sparse() const { return is_sparse_; }
  const int32_t* starts() const { return starts_.data(); }
  int64_t number() const { return cells_; }
  std::vector<T> thresholds(const Places<T>& places) const {
    std::vector<T> found(static_cast<size_t>(cells_));
    for (size_t cell = 0; cell < found.size(); ++cell)
      found[cell] = places.sorted()[std::min<int64_t>(starts_[cell], places.last() - 1)];
    return found;
  }
  // The cells of `count` numbers.
  void find(const T* numbers, int64_t count, uint32_t* found) const {
    const double low = low_, scale = scale_, last = static_cast<double>(cells_ - 1);
    for (int64_t i = 0; i < count; ++i) {
      const double at = (static_cast<double>(numbers[i]) - low) * scale;
      found[i] = static_cast<uint32_t>(static_cast<int32_t>(at < last ? (at > 0 ? at : 0.0) : last));
    }
  }

  // Calls `body` with a function that gives a number's place.
  template <class Body>
  void with_place(const Places<T>& places, const Body& body) const {
    if (is_sparse_ && places.right())
      return body([at = Lookup(*this, places)](const T& wanted) {
        const int64_t first = at.first(wanted);
        return first + static_cast<int64_t>(!(wanted < at.sorted[first]));
      });
    if (is_sparse_)
      return body([at = Lookup(*this, places)](const T& wanted) {
        const int64_t first = at.first(wanted);
        return first + static_cast<int64_t>(!(wanted <= at.sorted[first]));
      });
    body([this, &places](const T& wanted) {
      const size_t cell = cell_of(wanted);
      return places.from(wanted, starts_[cell], starts_[cell + 1] - starts_[cell]);
    });
  }

 private:
  // A cell with one element at most has two places. Where it has none, the next element lies behind the cell,
  // and the comparison with it says so; there is none behind the last one, whose cell has it. NaN, which is
  // in the last cell, comes behind every number. Held by value: stores between two look-ups change nothing of
  // it.
  struct Lookup {
    Lookup(const Cells& cells, const Places<T>& places)
        : low(cells.low_),
          scale(cells.scale_),
          last_cell(static_cast<double>(cells.cells_ - 1)),
          last(places.last() - 1),
          starts(cells.starts_.data()),
          sorted(places.sorted()) {}
    int64_t first(const T& wanted) const {
      const int64_t start = starts[cell_of(wanted, low, scale, last_cell)];
      return start < last ? start : last;
    }
    double low, scale, last_cell;
    int64_t last;
    const int32_t* starts;
    const T* sorted;
  };

  // NaN is in the last one.
  static size_t cell_of(const T& value, double low, double scale, double last) {
    const double at = (static_cast<double>(value) - low) * scale;
    return static_cast<size_t>(static_cast<int64_t>(at < last ? (at > 0 ? at : 0.0) : last));
  }
  size_t cell_of(const T& value) const {
    return cell_of(value, low_, scale_, static_cast<double>(cells_ - 1));
  }

  double low_ = 0, scale_ = 0;
  int64_t cells_ = 0;
  bool is_sparse_ = true;  // no cell has more than one element
  std::vector<int32_t> starts_;
};

}  // namespace weft::ops
