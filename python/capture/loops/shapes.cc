// Arrays put together and turned round in native loops.
#include <fmt/format.h>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

// As a row of a matrix.
LoopValue as_row(const LoopValue& view) {
  return loop_view(view.dtype, view.index, view.items[0].expr, {loop_known_int(1), view.size(0)},
                   {loop_int("0L"), view.stride(0)});
}

}  // namespace

// numpy.concatenate along an axis, numpy.hstack and numpy.vstack of arrays of one or two dimensions.
LoopValue LoopBuilder::joined(const std::string& name, const LoopValue& parts, int64_t axis) {
  if ((parts.kind != LoopKind::List && parts.kind != LoopKind::Tuple) || parts.items.empty())
    throw LoopUnsupported{fmt::format("numpy.{} of these", name)};
  std::vector<LoopValue> views;
  for (const LoopValue& part : parts.items) {
    if (!is_arraylike(part)) throw LoopUnsupported{fmt::format("numpy.{} of these", name)};
    views.push_back(as_view(materialized(part)));
    parts_.push_back(views.back());
    if (name == "vstack" && views.back().dims == 1) views.back() = as_row(views.back());
    if (views.back().dims != views.front().dims || views.back().dims > 2)
      throw LoopUnsupported{fmt::format("numpy.{} of these dimensions", name)};
    // NumPy's result follows the memory order of all.
    if (views.back().dims == 2 && views.back().stride(1).known != 1)
      throw LoopUnsupported{fmt::format("numpy.{} of these strides", name)};
    if (views.back().dtype != views.front().dtype)
      throw LoopUnsupported{fmt::format("numpy.{} of different types", name)};
  }
  const int dims = views.front().dims;
  if (name == "hstack") axis = dims - 1;
  if (axis < -dims || axis >= dims) throw LoopUnsupported{fmt::format("numpy.{} along this axis", name)};
  const auto along = static_cast<size_t>(axis < 0 ? axis + dims : axis);
  std::vector<std::string> sizes = shape_of(views.front());
  std::string total;
  for (const LoopValue& view : views) {
    const std::vector<std::string> own = shape_of(view);
    for (size_t d = 0; d < own.size(); ++d)
      if (d != along) require_equal_sizes(sizes[d], own[d]);
    total += (total.empty() ? "" : " + ") + own[along];
  }
  sizes[along] = temporary("i64", total);
  const DType dtype = views.front().dtype;
  const std::string type = element_type(dtype);
  const LoopValue result = allocated(dtype, sizes);
  std::vector<std::string> strides;
  for (int d = 0; d < dims; ++d) strides.push_back(result.stride(d).expr);
  std::string at = result.items[0].expr;
  for (const LoopValue& view : views) {
    std::vector<std::string> own = sizes;
    own[along] = shape_of(view)[along];
    emit_elements(view, dtype, {at, type, own, strides, ""});
    at = temporary(type + "*", fmt::format("{} + {} * {}", at, own[along], strides[along]));
  }
  return result;
}

// numpy.flip: a view that goes backwards along one axis, or along all.
LoopValue LoopBuilder::flipped(const LoopValue& array, std::optional<int64_t> axis) {
  const LoopValue view = as_view(materialized(array));
  if (axis && (*axis < -view.dims || *axis >= view.dims)) throw LoopUnsupported{"numpy.flip along this axis"};
  std::vector<LoopValue> sizes, strides;
  std::string pointer = view.items[0].expr;
  for (int d = 0; d < view.dims; ++d) {
    sizes.push_back(view.size(d));
    strides.push_back(view.stride(d));
    if (axis && (*axis < 0 ? *axis + view.dims : *axis) != d) continue;
    pointer += fmt::format(" + maximum<i64>({} - 1, 0) * {}", view.size(d).expr, view.stride(d).expr);
    strides.back() = loop_int(
        view.stride(d).known == 1 ? "-1L" : temporary("i64", fmt::format("-({})", view.stride(d).expr)));
  }
  pointer = temporary(element_type(view.dtype) + "*", pointer);
  return loop_view(view.dtype, view.index, pointer, std::move(sizes), std::move(strides));
}

}  // namespace weft::capture
