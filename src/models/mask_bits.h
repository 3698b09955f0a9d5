// Masks row after row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/models/masks.h"

namespace weft::models {

// ValueError unless it is bool [H, W]. `name`: of the function that was called.
void check_mask(const char* name, const Tensor& mask);

// Where the columns of a mask change, from which its run lengths follow. The mask is a part, from (left, top)
// on, of a whole that is false elsewhere.
class MaskEdges {
 public:
  MaskEdges(ImageSize whole, int64_t left, int64_t top);
  // Row y of the part; `before`: the one above it, or zeros.
  void add_row(int64_t y, const uint8_t* row, const uint8_t* before, int64_t width);
  RunLengths runs() const;

 private:
  ImageSize whole_;
  int64_t left_, top_;
  struct Edge {
    int64_t column, row;
  };
  std::span<const Edge> edges() const { return {edges_.data(), static_cast<size_t>(count_)}; }

  std::vector<Edge> edges_;  // row after row; room for more than `count_`
  int64_t count_ = 0;
};

}  // namespace weft::models
