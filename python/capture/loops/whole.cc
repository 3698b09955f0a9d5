// Code for a whole call, from its arguments to what it returns. Arrays that the call makes outside of loops
// (numpy.zeros) are arrays of NumPy's from the beginning, and to the code what arguments are: nothing else
// tells apart a loop over one and a loop over the other.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

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
  if (is_new)
    arrays_.push_back({dtype, dim, uint64_t{1} << (dim - 1), true, fmt::format("new_array{}", result.index)});
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

}  // namespace weft::capture
