// Lists of tensors, compared as PyTorch compares them: element by element, where an element is equal if ==
// gives one value, and that is true.
#include <fmt/format.h>

#include <algorithm>

#include "script/builtins/aten.h"
#include "weft/error.h"

namespace weft::jit::aten {
namespace {

bool are_equal(const Tensor& x, const Tensor& y) {
  const Tensor equal = promoted(op<"eq">(), {x, y});
  WEFT_CHECK(equal.numel() == 1,
             fmt::format("tensors in lists are equal by one truth value, but == of them gives {}\n  {}\n  {}",
                         describe(equal), describe(x), describe(y)));
  return equal.item().to_bool();
}

bool are_equal_lists(const Tensors& x, const Tensors& y) {
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), are_equal);
}

auto find(const Tensors& list, const Tensor& wanted) {
  return std::find_if(list.begin(), list.end(), [&](const Tensor& item) { return are_equal(item, wanted); });
}

int64_t position_of(const char* method, const IValue& list, const Tensor& wanted) {
  const Tensors tensors = tensor_list(list);
  const auto found = find(tensors, wanted);
  WEFT_CHECK(found != tensors.end(),
             fmt::format("list.{}(x): {} is not in the list", method, describe(wanted)));
  return found - tensors.begin();
}

[[maybe_unused]] const bool kListsOfTensors = [] {
  define("eq.Tensor_list(Tensor[] a, Tensor[] b) -> bool",
         [](const Tensors& x, const Tensors& y) { return are_equal_lists(x, y); });
  define("ne.Tensor_list(Tensor[] a, Tensor[] b) -> bool",
         [](const Tensors& x, const Tensors& y) { return !are_equal_lists(x, y); });
  define("index.list_Tensor(Tensor[] self, Tensor el) -> int",
         [](const IValue& list, const Tensor& el) { return position_of("index", list, el); });
  define("count.Tensor(Tensor[] self, Tensor el) -> int", [](const Tensors& list, const Tensor& el) {
    return static_cast<int64_t>(
        std::count_if(list.begin(), list.end(), [&](const Tensor& item) { return are_equal(item, el); }));
  });
  define("remove.Tensor(Tensor[](a!) self, Tensor el) -> ()", [](const IValue& list, const Tensor& el) {
    const int64_t position = position_of("remove", list, el);
    std::vector<IValue>& values = list.to_list()->values;
    values.erase(values.begin() + position);
  });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
