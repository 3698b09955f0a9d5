// Arrays that native loops make: in blocks of the loop's memory (memory.h), where nothing needs what
// they held.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>

#include "capture/loops/builder.h"

namespace weft::capture {

// Of all values the instruction may still need: the addresses that `address_of` gives, "" for none. As two
// arguments of a call, a pointer to them and their number.
std::string LoopBuilder::live_addresses(const std::function<std::string(const LoopValue&)>& address_of) {
  std::set<std::string> live;
  const std::function<void(const LoopValue&)> visit = [&](const LoopValue& value) {
    if (const std::string address = address_of(value); !address.empty()) live.insert(address);
    for (const LoopValue& item : value.items) visit(item);
  };
  for (const std::vector<LoopFrame>* frames : {&before_, &frames_}) {
    for (const LoopFrame& frame : *frames) {
      for (const LoopValue& value : frame.locals) visit(value);
      for (const LoopValue& value : frame.stack) visit(value);
      visit(frame.extra);
    }
  }
  for (const LoopValue& value : parts_) visit(value);
  if (live.empty()) return "nullptr, 0";
  const std::string name = fresh_name("live");
  emit(fmt::format("const void* const {}[] = {{{}}};", name, fmt::join(live, ", ")));
  return fmt::format("{}, {}", name, live.size());
}

// A new array in the loop's memory, whose elements are set next.
LoopValue LoopBuilder::allocated(DType dtype, const std::vector<std::string>& sizes,
                                 const std::string& condition, const std::string& otherwise,
                                 bool is_fortran) {
  block_stores_arrays_ = true;
  const std::string live = live_addresses([](const LoopValue& value) {
    const bool is_in_memory = value.kind == LoopKind::View && value.index < 0;
    return is_in_memory || value.kind == LoopKind::ScalarArray ? value.items[0].expr : "";
  });
  std::string count;
  for (const std::string& size : sizes) count += (count.empty() ? "" : " * ") + size;
  if (sizes.empty()) count = "1";
  const std::string type = element_type(dtype) + "*";
  std::string call =
      fmt::format("({}){}({}, {}, {})", type, function("allocate"), count, static_cast<int>(dtype), live);
  if (!condition.empty()) call = fmt::format("{} ? {} : {}", condition, call, otherwise);
  const std::string pointer = temporary(type, call);
  require(fmt::format("{} != nullptr", pointer));
  std::vector<LoopValue> all_sizes, strides(sizes.size());
  std::string stride = "1L";
  for (size_t k = 0; k < sizes.size(); ++k) {
    const size_t d = is_fortran ? k : sizes.size() - 1 - k;
    strides[d] = stride_value(stride);
    if (k + 1 < sizes.size())
      stride = stride == "1L" ? sizes[d] : operation("i64", sizes[d], "*", stride).text();
  }
  for (const std::string& size : sizes) all_sizes.push_back(loop_int(size, true));
  LoopValue result = loop_view(dtype, -1, pointer, std::move(all_sizes), std::move(strides));
  parts_.push_back(result);
  return result;
}

// What NumPy gives as an array without dimensions.
LoopValue LoopBuilder::scalar_array(const LoopValue& number) {
  LoopValue result;
  result.kind = LoopKind::ScalarArray;
  result.items = {allocated(number.dtype, {}).items[0]};
  emit(loopir::store(result.items[0].expr, Expr::constant("0L"), number.expr));
  return result;
}

// What such an array holds: functions of NumPy's give scalars of it as of a scalar.
LoopValue LoopBuilder::scalar_of(const LoopValue& value) {
  if (value.kind != LoopKind::ScalarArray) return value;
  const LoopValue& address = value.items[0];
  Place place;
  place.data = address.expr;
  place.offset = Expr::constant("0L");
  return loop_numpy(address.dtype,
                    loaded(c_type(address.dtype), place, address.dtype == DType::Bool ? " != 0" : ""));
}

// The value as an array in memory, in NumPy's order; `always`: in memory of its own, in C's.
LoopValue LoopBuilder::materialized(const LoopValue& value, bool always) {
  if (value.kind != LoopKind::Pending && (!is_array(value) || !always)) return value;
  if (value.operation == kChosen) return taken(value);
  return in_new_memory(value, !always && is_in_fortran_order(value));
}

LoopValue LoopBuilder::in_new_memory(const LoopValue& value, bool is_fortran) {
  const LoopValue source = is_array(value) ? as_view(value) : value;
  std::vector<LoopValue> operands;
  collect_views(source, operands);
  parts_.insert(parts_.end(), operands.begin(), operands.end());
  const std::vector<std::string> sizes = shape_of(source);
  LoopValue result = allocated(source.dtype, sizes, "", "", is_fortran);
  Target target{result.items[0].expr, element_type(source.dtype), sizes, {}, ""};
  for (int d = 0; d < result.dims; ++d) target.strides.push_back(result.stride(d).expr);
  emit_elements(source, source.dtype, target);
  return result;
}

// Nothing is pending any more: where the block ends, and before elements change that it may read.
void LoopBuilder::materialize_all() {
  const std::function<void(LoopValue&)> visit = [&](LoopValue& value) {
    if (value.kind == LoopKind::Pending)
      value = materialized(value);
    else
      for (LoopValue& item : value.items) visit(item);
  };
  for (LoopFrame& frame : frames_) {
    for (LoopValue& value : frame.locals) visit(value);
    for (LoopValue& value : frame.stack) visit(value);
    visit(frame.extra);
  }
}

}  // namespace weft::capture
