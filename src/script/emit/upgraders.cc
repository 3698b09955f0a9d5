#include "script/emit/upgraders.h"

#include <limits>
#include <map>
#include <string>

#include "script/builtins/builtin.h"
#include "script/emit/emit.h"
#include "script/syntax/parser.h"

namespace weft::jit {
namespace {

struct Upgrader {
  const char* name;
  int64_t since;  // the version from which on the builtin has its meaning
  const char* source;
};
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Before version 4 integers were divided as C++ divides them; before 5 full() of an integer or truth value
// gave floating point numbers; before 8 and 9 the number of steps could be left out.
constexpr Upgrader kUpgraders[] = {
    {"aten::div", 4, R"(def div_Tensor(self: Tensor, other: Tensor) -> Tensor:
  if self.is_floating_point() or other.is_floating_point():
    return self.true_divide(other)
  return self.divide(other, rounding_mode="trunc")
)"},
    {"aten::div", 4, R"(def div_Scalar(self: Tensor, other: number) -> Tensor:
  if self.is_floating_point() or isinstance(other, float):
    return self.true_divide(other)
  return self.divide(other, rounding_mode="trunc")
)"},
    {"aten::div_", 4, R"(def div__Tensor(self: Tensor, other: Tensor) -> Tensor:
  if self.is_floating_point() or other.is_floating_point():
    return self.true_divide_(other)
  return self.divide_(other, rounding_mode="trunc")
)"},
    {"aten::div_", 4, R"(def div__Scalar(self: Tensor, other: number) -> Tensor:
  if self.is_floating_point() or isinstance(other, float):
    return self.true_divide_(other)
  return self.divide_(other, rounding_mode="trunc")
)"},
    {"aten::full", 5, R"(def full(size: List[int], fill_value: number, *, dtype: Optional[int]=None,
    layout: Optional[int]=None, device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:
  if dtype is None:
    fill_value = float(fill_value)
  return torch.full(size, fill_value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
)"},
    {"aten::linspace", 8, R"(def linspace(start: number, end: number, steps: Optional[int]=None, *,
    dtype: Optional[int]=None, layout: Optional[int]=None, device: Optional[Device]=None,
    pin_memory: Optional[bool]=None) -> Tensor:
  if steps is None:
    steps = 100
  return torch.linspace(start, end, steps, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
)"},
    {"aten::logspace", 9, R"(def logspace(start: number, end: number, steps: Optional[int]=None,
    base: float=10.0, *, dtype: Optional[int]=None, layout: Optional[int]=None,
    device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:
  if steps is None:
    steps = 100
  return torch.logspace(start, end, steps, base, dtype=dtype, layout=layout, device=device,
                        pin_memory=pin_memory)
)"},
    {"aten::cholesky", kNever, R"(def cholesky(self: Tensor, upper: bool=False) -> Tensor:
  return torch.linalg_cholesky(self, upper=upper)
)"},
    {"aten::qr", kNever, R"(def qr(self: Tensor, some: bool=True) -> Tuple[Tensor, Tensor]:
  return torch.linalg_qr(self, "reduced" if some else "complete")
)"},
    {"aten::frobenius_norm", kNever, R"(def frobenius_norm(self: Tensor) -> Tensor:
  return torch.linalg_vector_norm(self)
)"},
    {"aten::_scaled_dot_product_attention", kNever,
     R"(def _scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor,
    attn_mask: Optional[Tensor]=None, dropout_p: float=0.0, need_attn_weights: bool=False,
    is_causal: bool=False) -> Tuple[Tensor, Tensor]:
  return torch._scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal)
)"},
    {"aten::ndimension", kNever, R"(def ndimension(self: Tensor) -> int:
  return self.dim()
)"},
    {"aten::__contains__", kNever, R"(def str_in_str(self: str, item: str) -> bool:
  return self.find(item, 0, len(self)) != -1
)"},
    {"aten::__contains__", kNever, R"(def bool_in_list(l: List[bool], item: bool) -> bool:
  for each in l:
    if each == item:
      return True
  return False
)"},
};

std::shared_ptr<Function> compiled(const Upgrader& upgrader) {
  static const auto& unit = *new std::shared_ptr<CompilationUnit>(CompilationUnit::create());
  auto source = std::make_shared<Source>();
  source->text = upgrader.source;
  source->file = "upgraders.py";
  auto definition = std::make_shared<const FunctionDef>(parse_function(std::move(source)));
  const std::string name = "__torch__.upgraders." + definition->name;
  return define_function(*unit, name, std::move(definition), builtin_resolver());
}

struct Overloads {
  int64_t since = 0;
  std::vector<std::shared_ptr<Function>> functions;
};

const Overloads* find_overloads(std::string_view name) {
  static const auto& table = *[] {
    auto* made = new std::map<std::string, Overloads, std::less<>>();
    for (const Upgrader& upgrader : kUpgraders) {
      Overloads& overloads = (*made)[upgrader.name];
      overloads.since = upgrader.since;
      overloads.functions.push_back(compiled(upgrader));
    }
    return made;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace

const std::vector<std::shared_ptr<Function>>& function_overloads(std::string_view name, int64_t version) {
  static const auto& none = *new std::vector<std::shared_ptr<Function>>();
  const Overloads* found = find_overloads(name);
  return found && version < found->since ? found->functions : none;
}

bool is_operator(std::string_view name) {
  if (!find_builtins(name).empty()) return true;
  const Overloads* found = find_overloads(name);
  return found && found->since == kNever;
}

}  // namespace weft::jit
