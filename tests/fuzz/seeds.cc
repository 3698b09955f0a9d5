#include "fuzz/seeds.h"

#include <memory>

#include "script/archive/make_archive.h"
#include "weft/tensor.h"

namespace weft::fuzz {

namespace {

IValue enum_of(jit::CompilationUnit& unit, const std::string& type, size_t member) {
  const jit::TypePtr found = unit.find_type(type);
  const auto& [name, value] = static_cast<const jit::EnumType&>(*found).members()[member];
  return std::make_shared<jit::EnumValue>(jit::EnumValue{found, name, value});
}

// ---- source ----------------------------------------------------------------------------------------------
constexpr const char* kStatements = R"(
def statements(x: Tensor, n: int=3, *, flag: bool=False) -> Tuple[Tensor, int]:
  a = b = x
  (c, *d), e = (1, 2, 3), [4]
  total: Optional[int] = None
  while n > 0 and not flag: n -= 1
  for i, (j, k) in enumerate(zip([1, 2], (3, 4))):
    if i == 1:
      continue
    elif j > 2 or k <= 3:
      break
    else:
      total = i
  if total is not None:
    n = total + c
  assert n >= 0, "bad"
  if n > 100:
    raise ValueError("no")
  a[0] = b[1:, ..., None, ::2].sum()
  a += 1.5e3
  del b
  pass
  return a.relu(), n
)";

constexpr const char* kExpressions = R"(
def expressions(x: List[int], s: str, d: Dict[str, float]) -> str:
  y = [i * i for i in x if i % 2 == 0]
  z = {str(i): float(i) for i in x}
  t = (1, 2.5, True, None, 3j, 'a\x41\u00e9', -9223372036854775808)
  u = x[0] if len(x) > 0 else -x[1:][0] ** 2 // 3
  v = 1 < u <= 5 != 7 and s in d and s not in d
  w = (~u & 3 | 4 ^ 5) << 2 >> 1
  z["k"] = d.get("k", 0.0)
  x.append(w)
  s = s.upper().replace("A", "b") + "{} {:>5}".format(u, w) + f"{u}: {w!r:>10} {{}}"
  for c in s:
    print(c, v, t[0])
  return ",".join(s.split(" ")) + str(y) + str(isinstance(u, int))
)";

constexpr const char* kClassesAndCalls = R"(
class Counter:
  total: int
  def __init__(self, start: int):
    self.total = start
    self.names: List[str] = []
  def add(self, n: int=1) -> int:
    self.total += n
    return self.total
  def __getitem__(self, i: int) -> str:
    return self.names[i]
class Point(NamedTuple):
  x: int
  y: Optional[Tensor] = None
class Color(Enum):
  RED = 1
  BLUE = 2
class Face(Interface):
  def run(self, x: Tensor) -> Tensor:
    pass
def task(x: Tensor) -> Tensor:
  return torch.relu(x) @ x.t()
def classes(x: Tensor, c: Color) -> Tensor:
  counter = Counter(3)
  counter.add(n=2)
  p = Point(counter.total)
  if c == Color.RED:
    x = torch.cat([x, torch.zeros([2, 3], dtype=torch.float32)], dim=0)
  with torch.no_grad():
    f = torch.jit.fork(task, x)
    y = torch.jit.wait(f)
  if p.y is not None:
    y = y + p.y
  return torch.nn.functional.linear(y, x) * math.pi
def commented(x, y):
  # type: (Tensor, int) -> List[Tensor]
  z = []  # type: List[Tensor]
  for i in range(y, 10, 2):
    z.append(torch.jit.annotate(Tensor, x))
  return z
)";

constexpr const char* kClassesFile = R"(class Point(Module):
  __parameters__ = ["weight", ]
  __buffers__ = ["mean", ]
  weight : Tensor
  mean : Tensor
  training : bool
  names : List[str]
  table : Dict[str, List[int]]
  pair : __torch__.Pair
  color : __torch__.Color
  maybe : Optional[Tensor]
  either : Union[int, str, NoneType]
  state : __torch__.kinds.Stateful
  device : Device
  number : complex
  def forward(self: __torch__.Point,
    x: Tensor) -> Tensor:
    _0 = torch.add(torch.mul(x, self.weight), self.mean)
    if torch.eq(self.color, __torch__.Color.RED):
      _1 = CONSTANTS.c0
    else:
      _1 = _0
    pair = self.pair
    return torch.add(_0, _1, alpha=(pair).a)
class Pair(NamedTuple):
  a : int
  b : str
class Color(Enum):
  RED = 1
  BLUE = 2
class Face(ModuleInterface):
  def forward(self: __torch__.Face,
    x: Tensor) -> Tensor:
    pass
)";

constexpr const char* kStatefulFile = R"(class Stateful(Module):
  __parameters__ = []
  __buffers__ = []
  total : int
  training : bool
  def __getstate__(self: __torch__.kinds.Stateful) -> Tuple[int, bool]:
    return (self.total, self.training)
  def __setstate__(self: __torch__.kinds.Stateful,
    state: Tuple[int, bool]) -> NoneType:
    self.total = torch.add((state)[0], 1)
    self.training = (state)[1]
    return None
)";

constexpr const char* kModulesFile = R"(class Net(Module):
  __parameters__ = []
  __buffers__ = []
  __annotations__ = []
  __annotations__["0"] = __torch__.layers.Linear
  __annotations__["1"] = __torch__.layers.___torch_mangle_0.Linear
  training : bool
  _is_full_backward_hook : Optional[bool]
  scale : Final[float] = 0.5
  def forward(self: __torch__.Net,
    x: Tensor,
    n: int=2) -> Tuple[Tensor, List[int]]:
    sizes = annotate(List[int], [])
    y = x
    for i in range(n):
      y = (getattr(self, "0")).forward(y, )
      _0 = torch.append(sizes, torch.size(y, 0))
    def __forked_function():
      return (getattr(self, "1")).forward(y, )
    future = fork(__forked_function)
    z = torch.wait(future)
    if torch.gt(torch.len(sizes), 3):
      ops.prim.RaiseException("too many", "builtins.ValueError")
    else:
      pass
    return (torch.add(z, CONSTANTS.c0), sizes)
  def helper(self: __torch__.Net,
    x: Optional[Tensor]) -> Tensor:
    if torch.__is__(x, None):
      x0 = torch.zeros([1, 2], dtype=6, layout=None, device=torch.device("cpu"), pin_memory=False)
    else:
      x0 = unchecked_cast(Tensor, x)
    return __torch__.functional.twice(x0, )
)";

constexpr const char* kLinearFile = R"(class Linear(Module):
  __parameters__ = ["weight", "bias", ]
  __buffers__ = []
  weight : Tensor
  bias : Optional[Tensor]
  training : bool
  in_features : Final[int] = 2
  def forward(self: {0},
    input: Tensor) -> Tensor:
    return torch.linear(input, self.weight, self.bias)
)";

constexpr const char* kFunctionalFile = R"(def twice(x: Tensor) -> Tensor:
  while torch.Bool(False):
    x = torch.neg(x)
  return torch.mul_(x, 2)
)";

std::string linear_file(const std::string& name) {
  std::string text = kLinearFile;
  return text.replace(text.find("{0}"), 3, name);
}

Tensor ramp(const Shape& shape) { return Tensor::full(shape, 0.25, DType::F32); }

IValue classes_root(jit::CompilationUnit& unit) {
  IValue table = IValue::dict(jit::Type::string(), jit::Type::list(jit::Type::integer()));
  table.to_dict()->set("k", IValue(std::vector<int64_t>{1, -2}));
  const Tensor whole = ramp({3, 4});
  return jit::object_of(
      unit, "__torch__.Point",
      {{"weight", whole},
       {"mean", whole.as_strided({4}, {1}, 4)},
       {"training", false},
       {"names", std::vector<std::string>{"a", "b"}},
       {"table", table},
       {"pair", IValue::named_tuple(unit.find_type("__torch__.Pair"), {3, "x"})},
       {"color", enum_of(unit, "__torch__.Color", 1)},
       {"either", "text"},
       {"state", jit::object_of(unit, "__torch__.kinds.Stateful", {{"total", 7}, {"training", true}})},
       {"device", Device{}},
       {"number", std::complex<double>(1, -2)}});
}

IValue linear(jit::CompilationUnit& unit, const std::string& type, bool has_bias) {
  return jit::object_of(
      unit, type,
      {{"weight", ramp({2, 2})}, {"bias", has_bias ? IValue(ramp({2})) : IValue()}, {"training", false}});
}

}  // namespace

std::vector<std::string> programs() {
  return {kStatements,   kExpressions, kClassesAndCalls, kClassesFile,
          kStatefulFile, kModulesFile, kFunctionalFile};
}

std::string archive_of_classes() {
  return jit::archive_of(
      jit::Files{{"code/__torch__.py", kClassesFile}, {"code/__torch__/kinds.py", kStatefulFile}},
      {ramp({4})}, classes_root);
}

std::string archive_of_modules() {
  const jit::Files files = {{"code/__torch__.py", kModulesFile},
                            {"code/__torch__/layers.py", linear_file("__torch__.layers.Linear")},
                            {"code/__torch__/layers/___torch_mangle_0.py",
                             linear_file("__torch__.layers.___torch_mangle_0.Linear")},
                            {"code/__torch__/functional.py", kFunctionalFile}};
  return jit::archive_of(files, {ramp({2})}, [](jit::CompilationUnit& unit) {
    return jit::object_of(unit, "__torch__.Net",
                          {{"0", linear(unit, "__torch__.layers.Linear", true)},
                           {"1", linear(unit, "__torch__.layers.___torch_mangle_0.Linear", false)},
                           {"training", false}});
  });
}

std::vector<std::string> archives() {
  const IValue list = IValue::list(jit::Type::any(), {1, "x", ramp({2, 3})});
  return {archive_of_classes(), archive_of_modules(), jit::save_value_bytes(list)};
}

std::vector<std::string> pickles() {
  std::vector<std::string> result;
  for (const std::string& archive : archives()) {
    const auto reader = jit::ArchiveReader::from_bytes(archive);
    result.push_back('\1' + reader->read("data.pkl"));
    if (reader->has("constants.pkl")) result.push_back('\0' + reader->read("constants.pkl"));
  }
  return result;
}

}  // namespace weft::fuzz
