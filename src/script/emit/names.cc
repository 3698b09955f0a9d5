// What Python's and torch's names mean to the compiler.
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <unordered_map>

#include "script/builtins/builtin.h"
#include "script/emit/special_forms.h"
#include "script/emit/sugared.h"

namespace weft::jit {
namespace {

SugaredPtr constant(IValue value) { return std::make_shared<ConstantSugar>(std::move(value)); }
SugaredPtr space(std::string path) { return std::make_shared<NamespaceSugar>(std::move(path)); }

// Python's functions that are plain operators.
const std::unordered_map<std::string, std::string>& python_operators() {
  static const auto& table = *new std::unordered_map<std::string, std::string>{
      {"abs", "prim::abs"},       {"min", "prim::min"}, {"max", "prim::max"},     {"sum", "aten::sum"},
      {"any", "aten::any"},       {"all", "aten::all"}, {"round", "aten::round"}, {"sorted", "aten::sorted"},
      {"divmod", "aten::divmod"}, {"pow", "aten::pow"}, {"ord", "aten::ord"},     {"chr", "aten::chr"},
      {"hex", "aten::hex"},       {"oct", "aten::oct"}, {"bin", "aten::bin"},     {"hash", "aten::hash"},
      {"id", "prim::id"},
  };
  return table;
}

// torch's numbers of dtypes, layouts and memory formats.
const std::unordered_map<std::string, int64_t>& torch_numbers() {
  static const auto& table = *new std::unordered_map<std::string, int64_t>{
      {"uint8", 0},
      {"int8", 1},
      {"int16", 2},
      {"short", 2},
      {"int32", 3},
      {"int", 3},
      {"int64", 4},
      {"long", 4},
      {"float16", 5},
      {"half", 5},
      {"float32", 6},
      {"float", 6},
      {"float64", 7},
      {"double", 7},
      {"complex32", 8},
      {"complex64", 9},
      {"cfloat", 9},
      {"complex128", 10},
      {"cdouble", 10},
      {"bool", 11},
      {"qint8", 12},
      {"quint8", 13},
      {"qint32", 14},
      {"bfloat16", 15},
      {"uint16", 27},
      {"uint32", 28},
      {"uint64", 29},
      {"strided", 0},
      {"sparse_coo", 1},
      {"contiguous_format", 0},
      {"preserve_format", 1},
      {"channels_last", 2},
      {"channels_last_3d", 3},
  };
  return table;
}

SugaredPtr math_constant(const std::string& name) {
  if (name == "pi") return constant(std::numbers::pi);
  if (name == "e") return constant(std::numbers::e);
  if (name == "tau") return constant(2 * std::numbers::pi);
  if (name == "inf") return constant(std::numeric_limits<double>::infinity());
  if (name == "nan") return constant(std::numeric_limits<double>::quiet_NaN());
  return nullptr;
}

// with torch.no_grad(): nothing to do in inference.
class NoGradSugar final : public SugaredValue {
 public:
  std::string kind() const override { return "'torch.no_grad'"; }
  SugaredPtr call(Emitter&, const Range&, const CallArguments&) override { return shared_from_this(); }
  SugaredPtr attribute(Emitter& emitter, const Range& range, const std::string& name) override {
    if (name == "__enter__" || name == "__exit__") return std::make_shared<Nothing>();
    return SugaredValue::attribute(emitter, range, name);
  }

 private:
  struct Nothing final : SugaredValue {
    std::string kind() const override { return "method"; }
    SugaredPtr call(Emitter&, const Range&, const CallArguments&) override { return constant(IValue()); }
  };
};

SugaredPtr jit_member(const std::string& name) {
  if (name == "is_scripting" || name == "is_tracing" || name == "_unwrap_optional" ||
      name == "ScriptModule") {
    if (name == "_unwrap_optional") return std::make_shared<BuiltinSugar>("aten::_unwrap_optional");
    return find_special_form(name);
  }
  static const auto& renamed = *new std::unordered_map<std::string, std::string>{
      {"_wait", "wait"}, {"_fork", "fork"}, {"Attribute", "attribute"}};
  const auto found = renamed.find(name);
  return find_special_form(found == renamed.end() ? name : found->second);
}

SugaredPtr torch_member(const std::string& name) {
  if (const auto found = torch_numbers().find(name); found != torch_numbers().end())
    return constant(found->second);
  if (SugaredPtr number = math_constant(name)) return number;
  if (name == "no_grad" || name == "inference_mode") return std::make_shared<NoGradSugar>();
  if (name == "Size" || name == "_fork" || name == "_wait")
    return find_special_form(name == "Size" ? "list" : name.substr(1));
  for (const char* inner : {"jit", "nn", "linalg", "special", "fft", "functional", "_C", "ops", "autograd",
                            "Tensor", "cuda", "backends", "utils", "_VF"}) {
    if (name == inner) return space("torch." + name);
  }
  return std::make_shared<BuiltinSugar>("aten::" + name);
}

// The operators of a namespace: path to the beginning of their names.
const std::unordered_map<std::string, std::string>& operator_prefixes() {
  static const auto& table = *new std::unordered_map<std::string, std::string>{
      {"math", "aten::"},
      {"torch.functional", "aten::"},
      {"torch.nn.functional", "aten::"},
      {"torch.nn", ""},
      {"torch._C", "aten::"},
      {"torch._C._nn", "aten::"},
      {"torch._VF", "aten::"},
      {"torch.Tensor", "aten::"},
      {"torch.linalg", "aten::linalg_"},
      {"torch.special", "aten::special_"},
      {"torch.fft", "aten::fft_"},
      {"torch.cuda", "cuda::"},
  };
  return table;
}

}  // namespace

SugaredPtr resolve_builtin_name(const std::string& name) {
  if (name == "torch" || name == "math" || name == "ops") return space(name);
  if (name == "inf" || name == "nan") return math_constant(name);
  if (name == "infj") return constant(std::complex<double>(0, std::numeric_limits<double>::infinity()));
  if (name == "nanj") return constant(std::complex<double>(0, std::numeric_limits<double>::quiet_NaN()));
  if (SugaredPtr form = find_special_form(name)) return form;
  const auto found = python_operators().find(name);
  return found == python_operators().end() ? nullptr : std::make_shared<BuiltinSugar>(found->second);
}

SugaredPtr resolve_namespace_member(const std::string& path, const std::string& name) {
  if (path == "torch") return torch_member(name);
  if (path == "torch.jit") return jit_member(name);
  if (path == "ops" || path == "torch.ops") return space("ops." + name);
  if (path.starts_with("ops.")) {
    const std::string library = path.substr(4);
    if (library == "prim" && find_builtins("prim::" + name).empty() &&
        !find_builtins("aten::" + name).empty()) {
      return std::make_shared<BuiltinSugar>("aten::" + name);
    }
    return std::make_shared<BuiltinSugar>(library + "::" + name);
  }
  if (path == "math") {
    if (SugaredPtr number = math_constant(name)) return number;
    if (name == "fabs") return std::make_shared<BuiltinSugar>("aten::fabs");
  }
  if (path == "torch.nn" && name == "functional") return space("torch.nn.functional");
  if (path == "torch._C" && name == "_nn") return space("torch._C._nn");
  const auto prefix = operator_prefixes().find(path);
  if (prefix == operator_prefixes().end() || prefix->second.empty()) return nullptr;
  return is_operator(prefix->second + name) ? std::make_shared<BuiltinSugar>(prefix->second + name) : nullptr;
}

namespace {

class BuiltinResolver final : public Resolver {
 public:
  SugaredPtr resolve_value(const std::string&, const Range&) override { return nullptr; }
  TypePtr resolve_type(const std::string&, const Range&) override { return nullptr; }
};

}  // namespace

std::shared_ptr<Resolver> builtin_resolver() { return std::make_shared<BuiltinResolver>(); }

}  // namespace weft::jit
