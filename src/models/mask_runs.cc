// Run lengths of masks, and COCO's text of them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "core/printable.h"
#include "models/mask_bits.h"
#include "weft/error.h"

namespace weft::models {

MaskEdges::MaskEdges(ImageSize whole, int64_t left, int64_t top) : whole_(whole), left_(left), top_(top) {}

void MaskEdges::add_row(int64_t y, const uint8_t* row, const uint8_t* before, int64_t width) {
  const int64_t most = count_ + width;
  if (static_cast<int64_t>(edges_.size()) < most) edges_.resize(static_cast<size_t>(2 * most));
  Edge* to = edges_.data() + count_;
  for (int64_t x = 0; x < width;) {
    if (x + 8 <= width && std::equal(row + x, row + x + 8, before + x)) {
      x += 8;
      continue;
    }
    // Without a branch: of noise it would be guessed wrong.
    for (const int64_t end = std::min(width, x + 8); x < end; ++x) {
      *to = {left_ + x, top_ + y};
      to += row[x] != before[x] ? 1 : 0;
    }
  }
  count_ = to - edges_.data();
}

RunLengths MaskEdges::runs() const {
  // Column after column: where each begins, then each edge to its place.
  std::vector<size_t> begin(static_cast<size_t>(whole_.width) + 2);
  for (const Edge& edge : edges()) ++begin[static_cast<size_t>(edge.column) + 2];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<int64_t> rows(edges().size());
  for (const Edge& edge : edges()) rows[begin[static_cast<size_t>(edge.column) + 1]++] = edge.row;

  RunLengths result{whole_, {}};
  result.counts.reserve(edges().size() + 1);
  int64_t at = 0;
  bool value = false;  // at the end of the column before
  for (int64_t x = 0; x < whole_.width; ++x) {
    const std::span<const int64_t> column(rows.data() + begin[static_cast<size_t>(x)],
                                          rows.data() + begin[static_cast<size_t>(x) + 1]);
    const bool first = !column.empty() && column[0] == 0;
    if (first != value) result.counts.push_back(x * whole_.height - at), at = x * whole_.height;
    value = first;
    for (size_t i = first ? 1 : 0; i < column.size(); ++i, value = !value)
      result.counts.push_back(x * whole_.height + column[i] - at), at = x * whole_.height + column[i];
  }
  result.counts.push_back(whole_.height * whole_.width - at);
  return result;
}

void check_mask(const char* name, const Tensor& mask) {
  WEFT_CHECK(mask.defined() && mask.dtype() == DType::Bool && mask.dim() == 2,
             fmt::format("{}: expected bool [height, width], got {} {}", name, short_name(mask.dtype()),
                         str(mask.shape())));
}

RunLengths run_lengths(const Tensor& mask) {
  check_mask("run_lengths", mask);
  const Tensor dense = mask.contiguous();
  const int64_t height = dense.size(0), width = dense.size(1);
  const auto* rows = dense.data_as<uint8_t>();
  MaskEdges edges({height, width}, 0, 0);
  const std::vector<uint8_t> none(static_cast<size_t>(width));
  for (int64_t y = 0; y < height; ++y)
    edges.add_row(y, rows + y * width, y > 0 ? rows + (y - 1) * width : none.data(), width);
  return edges.runs();
}

int64_t RunLengths::area() const {
  int64_t result = 0;
  for (size_t i = 1; i < counts.size(); i += 2) result += counts[i];
  return result;
}

Tensor mask_of(const RunLengths& runs) {
  const auto [height, width] = runs.size;
  WEFT_CHECK(height >= 0 && width >= 0 && (width == 0 || height <= (int64_t{1} << 40) / width),
             fmt::format("mask_of: no size of a mask: [{}, {}]", height, width));
  int64_t left = height * width;
  for (const int64_t count : runs.counts) {
    WEFT_CHECK(count >= 0 && count <= left,
               fmt::format("mask_of: the runs must fill [{}, {}]: a run of {} where {} are left", height,
                           width, count, left));
    left -= count;
  }
  WEFT_CHECK(left == 0,
             fmt::format("mask_of: the runs must fill [{}, {}]: {} are left", height, width, left));
  const Tensor result = Tensor::empty({height, width}, DType::Bool);
  auto* to = result.data_as<uint8_t>();
  int64_t at = 0;
  for (size_t i = 0; i < runs.counts.size(); ++i)
    for (const int64_t end = at + runs.counts[i]; at < end; ++at)
      to[at % height * width + at / height] = i % 2;
  return result;
}

// Each number in groups of five bits, low ones first; from the fourth on, less the one two places before.
std::string coco_string(const RunLengths& runs) {
  std::string text;
  for (size_t i = 0; i < runs.counts.size(); ++i) {
    int64_t number = runs.counts[i] - (i > 2 ? runs.counts[i - 2] : 0);
    for (bool more = true; more;) {
      int64_t group = number & 0x1f;
      number >>= 5;
      more = (group & 0x10) != 0 ? number != -1 : number != 0;
      if (more) group |= 0x20;
      text.push_back(static_cast<char>(group + '0'));
    }
  }
  return text;
}

RunLengths from_coco_string(const std::string& text, ImageSize size) {
  RunLengths runs{size, {}};
  for (size_t at = 0; at < text.size();) {
    int64_t number = 0;
    for (int shift = 0;; shift += 5) {
      WEFT_CHECK(at < text.size() && shift < 60,
                 fmt::format("from_coco_string: '{}' ends within a number", printable(text)));
      const int group = static_cast<unsigned char>(text[at]) - '0';
      WEFT_CHECK(group >= 0 && group < 64,
                 fmt::format("from_coco_string: no such character in run lengths: '{}'",
                             printable(text.substr(at, 1))));
      ++at;
      number |= static_cast<int64_t>(group & 0x1f) << shift;
      if ((group & 0x20) != 0) continue;
      if ((group & 0x10) != 0) number |= -(int64_t{1} << (shift + 5));
      break;
    }
    const size_t i = runs.counts.size();
    const int64_t before = i > 2 ? runs.counts[i - 2] : 0;
    WEFT_CHECK(number >= -before && number <= (int64_t{1} << 40),
               fmt::format("from_coco_string: no run has {} pixels", number));
    runs.counts.push_back(number + before);
  }
  return runs;
}

}  // namespace weft::models
