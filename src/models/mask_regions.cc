// Connected regions of masks, and their outlines.
#include <algorithm>
#include <numeric>
#include <vector>

#include "models/mask_bits.h"

namespace weft::models {
namespace {

// A run of equal pixels of a row, and the region it belongs to.
struct RowRun {
  int64_t y, begin, end;
  int64_t region;
};

class MaskRegions {
 public:
  // Regions of the pixels equal to `wanted`; pixels that touch at a corner are connected.
  MaskRegions(const uint8_t* bits, int64_t height, int64_t width, uint8_t wanted) {
    size_t above = 0, above_end = 0;
    for (int64_t y = 0; y < height; ++y) {
      const size_t begin = runs_.size();
      const uint8_t* row = bits + y * width;
      for (int64_t x = 0; x < width;) {
        if (row[x] != wanted) {
          ++x;
          continue;
        }
        const int64_t first = x;
        while (x < width && row[x] == wanted) ++x;
        runs_.push_back({y, first, x, static_cast<int64_t>(parents_.size())});
        parents_.push_back(static_cast<int64_t>(parents_.size()));
      }
      connect(above, above_end, begin);
      above = begin, above_end = runs_.size();
    }
    areas_.resize(parents_.size());
    for (RowRun& run : runs_) {
      run.region = find(run.region);
      areas_[static_cast<size_t>(run.region)] += run.end - run.begin;
    }
  }

  const std::vector<RowRun>& runs() const { return runs_; }
  int64_t area(const RowRun& run) const { return areas_[static_cast<size_t>(run.region)]; }
  int64_t largest() const { return areas_.empty() ? 0 : *std::max_element(areas_.begin(), areas_.end()); }

 private:
  // The row's runs, from `begin` on, with those of the row above.
  void connect(size_t above, size_t above_end, size_t begin) {
    for (size_t i = begin; i < runs_.size(); ++i) {
      while (above < above_end && runs_[above].end < runs_[i].begin) ++above;
      for (size_t j = above; j < above_end && runs_[j].begin <= runs_[i].end; ++j) {
        const int64_t a = find(runs_[i].region), b = find(runs_[j].region);
        parents_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
      }
    }
  }
  int64_t find(int64_t region) {
    while (parents_[static_cast<size_t>(region)] != region) {
      int64_t& parent = parents_[static_cast<size_t>(region)];
      region = parent = parents_[static_cast<size_t>(parent)];
    }
    return region;
  }

  std::vector<RowRun> runs_;
  std::vector<int64_t> parents_, areas_;
};

}  // namespace

bool remove_small_regions(Tensor& mask, int64_t area, bool holes) {
  check_mask("remove_small_regions", mask);
  const Tensor result = mask.clone();
  auto* bits = result.data_as<uint8_t>();
  const int64_t width = result.size(1);
  const MaskRegions regions(bits, result.size(0), width, holes ? 0 : 1);
  const int64_t kept = holes ? area : std::min(area, regions.largest());
  bool any = false;
  for (const RowRun& run : regions.runs()) {
    any = any || regions.area(run) < area;
    if (regions.area(run) < kept)
      std::fill(bits + run.y * width + run.begin, bits + run.y * width + run.end, uint8_t{holes});
  }
  if (!holes && regions.largest() < area) {
    // Of several largest, the first one stays.
    int64_t first = -1;
    for (const RowRun& run : regions.runs()) {
      if (regions.area(run) != regions.largest()) continue;
      if (first < 0) first = run.region;
      if (run.region != first)
        std::fill(bits + run.y * width + run.begin, bits + run.y * width + run.end, uint8_t{0});
    }
  }
  mask = result;
  return any;
}

std::vector<std::vector<int64_t>> polygons_of(const Tensor& mask) {
  check_mask("polygons_of", mask);
  const Tensor dense = mask.contiguous();
  const auto* bits = dense.data_as<uint8_t>();
  const int64_t height = dense.size(0), width = dense.size(1);
  const auto at = [&](int64_t x, int64_t y) {
    return x >= 0 && y >= 0 && x < width && y < height && bits[y * width + x] != 0;
  };
  // Upper edges of pixels, eastwards, that an outline has passed.
  std::vector<uint8_t> passed(static_cast<size_t>(height * width));
  constexpr int64_t kStepX[] = {1, 0, -1, 0}, kStepY[] = {0, 1, 0, -1};  // east, south, west, north
  std::vector<std::vector<int64_t>> result;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      if (!at(x, y) || at(x, y - 1) || passed[static_cast<size_t>(y * width + x)]) continue;
      // Along the edges, the mask on the right, until the first edge comes again.
      std::vector<int64_t> outline;
      int64_t px = x, py = y, twice_area = 0;
      int direction = 0;
      do {
        if (direction == 0) passed[static_cast<size_t>(py * width + px)] = 1;
        const int64_t nx = px + kStepX[direction], ny = py + kStepY[direction];
        twice_area += px * ny - nx * py;
        px = nx, py = ny;
        // The pixels ahead, left and right of the edge. Regions that touch at a corner are one.
        const int64_t ax = px + (direction == 2 || direction == 3 ? -1 : 0),
                      ay = py + (direction == 0 || direction == 3 ? -1 : 0);
        const int64_t rx = px + (direction == 1 || direction == 2 ? -1 : 0),
                      ry = py + (direction == 2 || direction == 3 ? -1 : 0);
        const bool left = at(ax, ay), right = at(rx, ry);
        const int turn = left ? 3 : right ? 0 : 1;
        if (turn != 0) outline.push_back(px), outline.push_back(py);
        direction = (direction + turn) % 4;
      } while (px != x || py != y || direction != 0);
      if (twice_area > 0) result.push_back(std::move(outline));
    }
  }
  return result;
}

}  // namespace weft::models
