#include "compiler/repeated.h"

#include <algorithm>

#include "nest/fusible.h"
#include "nest/views.h"

namespace weft::compiler {

using namespace nest;

std::string repeats(const Visit& visit, const IndexSpace& space, size_t num_outer) {
  if (is_unrolled(*visit.value->def)) return "";
  // Through a reshape, several positions may share a result (the channels of a group).
  int64_t positions = 1, results = 1;
  for (int loop : visit.loops) positions *= space.atom(loop).extent.hint();
  for (const Sym& size : visit.value->tensor().shape) results *= size.hint();
  if (positions > results) return "it would be reduced again for each position that shares a result";
  size_t depends = visit.loops.size();
  for (size_t k = 0; k < depends; ++k)
    if (k >= visit.enclosing.size() || !visit.loops.count(visit.enclosing[k]))
      return "it varies along inner loops only, and would be reduced again for each outer position";
  // Inside another reduction, positions of the outer one share a vector. Along the innermost dimension
  // their elements lie apart; a loop of its own reads them in order.
  const ir::Node& node = *visit.value->def;
  const std::vector<size_t> dims = reduced_dims(node);
  const bool innermost = !dims.empty() && dims.back() + 1 == node.inputs[0]->tensor().shape.size();
  const int64_t most = innermost ? 16 : 64;
  Sym extent = reduction_extent(node);
  bool is_short = extent.is_constant() && extent.constant() <= most;
  if (depends > num_outer && !is_short) return "it is reduced inside another reduction";
  return "";
}

bool is_repeated(const Visit& visit, const IndexSpace& space) {
  constexpr double kCostly = 4;
  constexpr int64_t kFewElements = 1 << 14;  // a kernel of its own would cost as much
  if (visit.enclosing.empty() || !visit.loops.count(visit.enclosing.back())) return false;
  bool leaves_out = false;
  Sym elements = 1;
  for (int loop : visit.enclosing) {
    leaves_out = leaves_out || !visit.loops.count(loop);
    elements = elements * space.atom(loop).extent;
  }
  if (!leaves_out || (elements.is_constant() && elements.constant() < kFewElements)) return false;
  return pointwise_cost(*visit.value->def) >= kCostly;
}

bool is_in_order(const Visit& rotation, const IndexSpace& space) {
  constexpr int64_t kShort = 32;  // rows of fewer elements would be pieces mostly
  const SymShape& shape = rotation.value->tensor().shape;
  const size_t dim = rotated_dim(*rotation.value->def);
  const bool is_innermost =
      std::all_of(shape.begin() + static_cast<ptrdiff_t>(dim) + 1, shape.end(), known_one);
  const bool has_rows = std::any_of(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(dim),
                                    [](const Sym& size) { return !known_one(size); });
  return space.is_affine(rotation.address) && !(is_innermost && has_rows && shape[dim].hint() < kShort);
}

}  // namespace weft::compiler
