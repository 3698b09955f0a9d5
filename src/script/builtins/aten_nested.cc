#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "script/builtins/aten.h"
#include "script/builtins/nested.h"

namespace weft::jit {
namespace nested {
namespace {

struct Entry {
  std::weak_ptr<Storage> storage;
  Tensor lengths;
};
struct Entries {
  std::mutex mutex;
  std::vector<Entry> all;
  std::atomic<size_t> count = 0;
};
Entries& entries() {
  static Entries& instance = *new Entries;
  return instance;
}

}  // namespace

bool is_possible() { return entries().count.load(std::memory_order_relaxed) > 0; }

std::optional<Tensor> lengths_of(const Tensor& x) {
  if (!is_possible() || x.is_traced() || !x.defined()) return std::nullopt;
  Entries& known = entries();
  const std::lock_guard lock(known.mutex);
  for (const Entry& entry : known.all) {
    if (entry.storage.lock() == x.storage()) return entry.lengths;
  }
  return std::nullopt;
}

void set_lengths(const Tensor& x, Tensor lengths) {
  Entries& known = entries();
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.all, [](const Entry& entry) { return entry.storage.expired(); });
  known.all.push_back({x.storage(), std::move(lengths)});
  known.count = known.all.size();
}

Tensor padding_mask(const Tensor& lengths, int64_t length) {
  const Tensor places = aten::call(aten::op<"arange">(), {}, {{"start", Scalar(length)}});
  const Tensor column = aten::call(aten::op<"unsqueeze">(), {lengths}, {{"dim", aten::sizes(aten::Ints{1})}});
  return aten::promoted(aten::op<"ge">(), {places, column});
}

}  // namespace nested

namespace aten {
namespace {

Tensor count_true(const Tensor& mask) {
  WEFT_CHECK(mask.dim() == 2,
             "_nested_tensor_from_mask: expected a mask [batch, length], got " + describe(mask));
  return call(op<"sum">(), {cast(mask, DType::I64)}, {{"dim", sizes(Ints{1})}});
}
bool is_left_aligned(const Tensor& mask) {
  const Tensor expected = call(op<"logical_not">(), {nested::padding_mask(count_true(mask), mask.size(1))});
  return call(op<"all">(), {promoted(op<"eq">(), {cast(mask, DType::Bool), expected})}).item().to_bool();
}
// `fill` where the mask [batch, length] is true.
Tensor filled(const Tensor& x, const Tensor& mask, double fill) {
  Tensor wide = mask;
  while (wide.dim() < x.dim()) wide = call(op<"unsqueeze">(), {wide}, {{"dim", sizes(Ints{wide.dim()})}});
  return call(op<"masked_fill">(), {x, wide}, {{"value", Scalar(fill)}});
}

Tensor to_padded(const Tensor& x, double padding, const OptionalInts& size) {
  const std::optional<Tensor> lengths = nested::lengths_of(x);
  WEFT_CHECK(lengths.has_value(), "to_padded_tensor: expected a nested tensor, got " + describe(x));
  const Tensor result = filled(x, nested::padding_mask(*lengths, x.size(1)), padding);
  const int64_t longest = lengths->numel() ? call(op<"max">(), {*lengths}).item().to_int() : 0;
  const int64_t wanted = size ? size->at(1) : longest;
  WEFT_CHECK(
      wanted >= longest && (!size || size->size() == static_cast<size_t>(x.dim())),
      fmt::format("to_padded_tensor: an output_size of {} does not hold sequences of {}", wanted, longest));
  if (wanted <= x.size(1))
    return call(op<"slice">(), {result}, {{"dim", number(1)}, {"start", number(0)}, {"stop", number(wanted)}})
        .contiguous();
  Ints widths(2 * static_cast<size_t>(x.dim() - 1), 0);
  widths.back() = wanted - x.size(1);
  return call(op<"pad">(), {result},
              {{"pad", sizes(widths)}, {"mode", std::string("constant")}, {"value", Scalar(padding)}});
}

[[maybe_unused]] const bool kNested = [] {
  define("_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor",
         [](const Tensor& x, const Tensor& mask, bool check) {
           WEFT_CHECK(!check || is_left_aligned(mask),
                      "_nested_tensor_from_mask: padding must follow what is no padding");
           const Tensor kept = cast(mask, DType::Bool);
           const Tensor result = filled(x, call(op<"logical_not">(), {kept}), 0);
           nested::set_lengths(result, count_true(kept));
           return result;
         });
  define("_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool",
         [](const Tensor&, const Tensor& mask) { return is_left_aligned(mask); });
  define(
      "to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor",
      [](const Tensor& x, double padding, const OptionalInts& size) { return to_padded(x, padding, size); });
  builtin("prim::is_nested(Tensor a) -> bool",
          [](const Tensor& x) { return nested::lengths_of(x).has_value(); });
  return true;
}();

}  // namespace
}  // namespace aten
}  // namespace weft::jit
