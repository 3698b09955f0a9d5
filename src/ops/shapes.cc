// Shape rules that many operators share.
#include <fmt/format.h>

#include <algorithm>

#include "ops/registry.h"

namespace weft::ops {

SymShape broadcast_shapes(std::string_view op, std::span<const SymShape> shapes) {
  size_t ndim = 0;
  for (const SymShape& shape : shapes) ndim = std::max(ndim, shape.size());
  SymShape result(ndim, Sym(1));
  for (const SymShape& shape : shapes) {
    const size_t lead = ndim - shape.size();
    for (size_t d = 0; d < shape.size(); ++d) {
      Sym& size = result[lead + d];
      if (shape[d].same(size) || sym_eq(shape[d], Sym(1))) continue;
      if (sym_eq(size, Sym(1))) {
        size = shape[d];
        continue;
      }
      if (!sym_eq(size, shape[d])) {
        std::string all;
        for (const SymShape& each : shapes) all += (all.empty() ? "" : " and ") + weft::str(each);
        throw_error(
            ErrorKind::Value,
            fmt::format("{}: shapes {} do not broadcast: expected size {} (or 1) in dimension {}, got {}", op,
                        all, size.str(), static_cast<int64_t>(d) - static_cast<int64_t>(shape.size()),
                        shape[d].str()));
      }
    }
  }
  return result;
}

int64_t normalize_dim(std::string_view op, int64_t dim, int64_t ndim) {
  const int64_t allowed = std::max<int64_t>(ndim, 1);  // a 0-d tensor counts as having one dimension
  WEFT_CHECK_INDEX(dim >= -allowed && dim < allowed,
                   fmt::format("{}: dimension out of range: expected one in [{}, {}], got {}", op, -allowed,
                               allowed - 1, dim));
  return dim < 0 ? dim + allowed : dim;
}

std::vector<int64_t> reduction_axes(std::string_view op, const Attrs& attrs, int64_t ndim) {
  std::vector<int64_t> axes;
  if (!attrs.is_none("dim")) {
    if (const Sym* single = std::get_if<Sym>(&attrs.at("dim")))
      axes = {sym_specialize(*single)};
    else
      axes = attrs.get_ints("dim");
  }
  for (int64_t& axis : axes) axis = normalize_dim(op, axis, ndim);
  std::sort(axes.begin(), axes.end());
  WEFT_CHECK(std::adjacent_find(axes.begin(), axes.end()) == axes.end(),
             fmt::format("{}: each dimension may be named once: got dim={}", op, str(attrs.at("dim"))));
  if (ndim == 0) return {};
  if (axes.empty()) {
    for (int64_t d = 0; d < ndim; ++d) axes.push_back(d);
  }
  return axes;
}

}  // namespace weft::ops
