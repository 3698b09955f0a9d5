// Code for a whole call, from its arguments to what it returns. Arrays that the call makes outside of loops
// (numpy.zeros) are arrays of NumPy's from the beginning, and to the code what arguments are: nothing else
// tells apart a loop over one and a loop over the other.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <opcode.h>

#include <algorithm>
#include <cstdlib>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

constexpr int64_t kMostMoved = 16;  // by which an element is moved at once

bool has_view(const LoopValue& value) {
  return value.kind == LoopKind::View || std::any_of(value.items.begin(), value.items.end(), has_view);
}

bool has_view(const LoopFrame& frame) {
  return std::any_of(frame.locals.begin(), frame.locals.end(), [](const auto& v) { return has_view(v); }) ||
         std::any_of(frame.stack.begin(), frame.stack.end(), [](const auto& v) { return has_view(v); });
}

}  // namespace

// A call of which Python would have to perform a part is divided, and each of its loops has code of its own.
void LoopBuilder::check_whole() {
  if (!result_.notes.empty()) throw LoopRejected{first_reason_, first_line_};
  if (has_too_many_blocks_) throw LoopRejected{"it is too large", 0};
  for (const Block& block : blocks_) {
    const LoopFrame& outermost = block.frames.front();
    const int loop = outermost_loop(*outermost.code, outermost.ip);
    const bool is_outside = loop < 0 || (loop == outermost.ip && block.frames.size() == 1);
    result_.has_statements |= block.has_arrays || block.stores_arrays || (is_outside && has_view(outermost));
  }
}

bool LoopBuilder::is_performed_once() const {
  return result_.is_whole && std::all_of(before_.begin(), before_.end(), [](const LoopFrame& frame) {
           return outermost_loop(*frame.code, frame.ip) < 0;
         });
}

void LoopBuilder::require_c_order(const LoopValue& array) {
  const int dim = num_dims(array);
  if (stride_text(array, dim - 1) != "1L") throw LoopUnsupported{"an array that is not in C order"};
  std::string stride = size_text(array, dim - 1);
  for (int d = dim - 1; d-- > 0;) {
    require(fmt::format("{} == {}", stride_text(array, d), stride));
    stride += " * " + size_text(array, d);
  }
}

LoopValue LoopBuilder::array_of_call(DType dtype, const std::vector<std::string>& sizes, const char* number) {
  const auto dim = static_cast<int>(sizes.size());
  std::string place = fmt::format("{} {}", static_cast<int>(dtype), dim);
  for (const LoopFrame& frame : before_)
    place += fmt::format(" {} {}", static_cast<const void*>(frame.code), frame.ip);
  const auto [found, is_new] = arrays_of_call_.try_emplace(place, static_cast<int>(arrays_.size()));
  LoopValue result;
  result.kind = LoopKind::Array;
  result.dtype = dtype;
  result.index = found->second;
  if (is_new) {
    arrays_.push_back({dtype, dim, uint64_t{1} << (dim - 1), true, fmt::format("new_array{}", result.index)});
    arrays_.back().place = place;
    arrays_.back().is_counted_in =
        dtype == DType::I64 && number[0] != 0 && result_.objects.not_counted_in.count(place) == 0;
  }
  int words = 0;
  for (int i = 0; i < result.index; ++i) words += 1 + 2 * arrays_[static_cast<size_t>(i)].dim;
  const std::string given = fresh_name("sizes"), &name = array_of(result).name;
  emit(fmt::format("const i64 {}[] = {{{}}};", given, fmt::join(sizes, ", ")));
  const std::string text = number;
  require(fmt::format("{}({}, {}, {}, {}, {}, (i64*)arrays + {})", function("new_array"), result.index,
                      static_cast<int>(dtype), dim, given, text == "0", words));
  emit(fmt::format("{}_data = ({}*)arrays[{}];", name, element_type(dtype), words));
  // From what they were computed of: the compiler sees which indices are in range then.
  std::string count;
  for (int d = dim; d-- > 0;) {
    emit(fmt::format("{}_n{} = {};", name, d, sizes[static_cast<size_t>(d)]));
    emit(fmt::format("__builtin_assume({0}_n{1} >= 0 && {0}_n{1} < (1L << 56));", name, d));
    if (d + 1 < dim) emit(fmt::format("{}_s{} = {};", name, d, count));
    count = fmt::format("{}_n{}{}", name, d, count.empty() ? "" : " * " + count);
  }
  if (text == "1") emit(fmt::format("for (i64 i = 0; i < {}; ++i) {}_data[i] = 1;", count, name));
  return result;
}

// An array of ints that begins with zeros or ones and in which the call does nothing but count: no number of
// rounds that can be waited for brings its elements near the limits of 64 bits, and no sum is checked.
void LoopBuilder::note_stored(const LoopValue& container, const LoopValue* value) const {
  const bool is_of_call = (is_array(container) || container.kind == LoopKind::Row) &&
                          container.index >= static_cast<int>(num_entry_arrays_);
  if (!is_of_call || !array_of(container).is_counted_in) return;
  const bool is_counted =
      value && container.kind == LoopKind::Array &&
      (value->counts_of == container.index || (value->known && std::abs(*value->known) <= kMostMoved));
  if (!is_counted) throw LoopNotCountedIn{array_of(container).place};
}

// Unbound where it is no count.
LoopValue LoopBuilder::count_binary(int op, DType dtype, const LoopValue& a, const LoopValue& b) {
  const auto is_element = [](const LoopValue& value) { return value.counts_of >= 0 && !value.is_count; };
  const auto is_step = [](const LoopValue& value) {
    return value.kind == LoopKind::Int && value.known && std::abs(*value.known) <= kMostMoved;
  };
  const bool is_sum = op == NB_ADD && (is_element(a) ? is_step(b) : is_element(b) && is_step(a));
  LoopValue result;
  if (dtype != DType::I64 || (!is_sum && (op != NB_SUBTRACT || !is_element(a) || !is_step(b)))) return result;
  result = loop_numpy(dtype, operation("i64", a.expr, op == NB_ADD ? "+" : "-", b.expr));
  result.counts_of = std::max(a.counts_of, b.counts_of);
  result.is_count = true;
  return result;
}

}  // namespace weft::capture
