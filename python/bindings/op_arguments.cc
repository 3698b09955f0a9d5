#include "op_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/composite.h"
#include "weft/error.h"

namespace weft::python {

namespace {

using ops::Attr;
using ops::OpDef;
using ops::Param;

// Other names of parameters, as NumPy and PyTorch have them.
constexpr std::pair<std::string_view, std::string_view> kParamAliases[] = {
    {"axis", "dim"},         {"axis", "dims"},      {"keepdims", "keepdim"},
    {"axes", "dims"},        {"axes", "dim"},       {"input", "x"},
    {"self", "x"},           {"other", "y"},        {"size", "shape"},
    {"fill_value", "value"}, {"stop", "end"},       {"num", "steps"},
    {"ddof", "correction"},  {"arrays", "tensors"}, {"exponent", "y"},
    {"dimension", "dim"},    {"x1", "x"},           {"x2", "y"},
};

const char* expected(Param::Type type) {
  switch (type) {
    case Param::Type::Tensor: return "a Tensor, an array or a number";
    case Param::Type::TensorList: return "a sequence of Tensors";
    case Param::Type::Bool: return "a bool";
    case Param::Type::Int: return "an int";
    case Param::Type::Float: return "a float";
    case Param::Type::Scalar: return "a number";
    case Param::Type::String: return "a str";
    case Param::Type::DType: return "a dtype";
    case Param::Type::Device: return "a device";
    case Param::Type::IntList: return "an int or a sequence of ints";
  }
  return "";
}

[[noreturn]] void bad_argument(const OpDef& op, const Param& param, PyObject* value) {
  throw_error(ErrorKind::Type, fmt::format("{}: argument '{}' must be {}{}, got {}\n  {}{}", op.name,
                                           param.name, expected(param.type), param.optional ? " or None" : "",
                                           Py_TYPE(value)->tp_name, op.name, op.schema));
}

[[noreturn]] void bad_call(const OpDef& op, const std::string& what) {
  throw_error(ErrorKind::Type, fmt::format("{}: {}\n  {}{}", op.name, what, op.name, op.schema));
}

std::optional<size_t> find_param(const OpDef& op, std::string_view name) {
  const auto find = [&](std::string_view wanted) -> std::optional<size_t> {
    for (size_t i = 0; i < op.params.size(); ++i) {
      if (op.params[i].name == wanted) return i;
    }
    return std::nullopt;
  };
  if (const auto found = find(name)) return found;
  for (const auto& [alias, real] : kParamAliases) {
    if (name == alias) {
      if (const auto found = find(real)) return found;
    }
    if (name == real) {
      if (const auto found = find(alias)) return found;
    }
  }
  return std::nullopt;
}

bool is_tensor_param(const Param& param) { return param.is_tensor(); }

Tensor tensor_argument(const OpDef& op, const Param& param, PyObject* value) {
  if (const Tensor* tensor = tensor_of_python(value)) return *tensor;
  const bool array_like =
      (PyObject_CheckBuffer(value) && !PyBytes_Check(value) && !PyByteArray_Check(value)) ||
      PyFloat_Check(value) || PyLong_Check(value) || PyComplex_Check(value);
  if (!array_like) bad_argument(op, param, value);
  return as_tensor(value, std::nullopt);
}

bool is_weak(PyObject* value, Promotion rules) {
  return rules == Promotion::Torch || PyFloat_CheckExact(value) || PyLong_CheckExact(value) ||
         PyBool_Check(value) || PyComplex_CheckExact(value);
}

// Symbolic integers among the operands: where each stands.
using SizeOperands = std::vector<std::pair<size_t, Sym>>;

void push_operands(const OpDef& op, const Param& param, PyObject* value, Promotion rules,
                   std::vector<ops::Operand>& operands, SizeOperands& sizes) {
  if (param.optional && value == Py_None) {
    operands.push_back(Tensor());
    return;
  }
  if (const Sym* size = symbolic_int(value); size && rules == Promotion::Torch) {
    sizes.emplace_back(operands.size(), *size);
    operands.push_back(Scalar(size->hint()));
    return;
  }
  if (param.type == Param::Type::TensorList) {
    if (!PySequence_Check(value) || PyUnicode_Check(value)) bad_argument(op, param, value);
    if (tensor_of_python(value) && torch_refuses(rules))
      throw_error(ErrorKind::Type, fmt::format("{}(): argument '{}' must be tuple of Tensors, not Tensor",
                                               op.name, param.name));
    const size_t before = operands.size();
    for (nb::handle item : nb::borrow<nb::object>(value))
      operands.push_back(tensor_argument(op, param, item.ptr()));
    const size_t count = operands.size() - before;
    if (param.list_length >= 0 && static_cast<int64_t>(count) != param.list_length)
      bad_call(op, fmt::format("argument '{}' must have {} tensors, got {}", param.name, param.list_length,
                               count));
    return;
  }
  if (!tensor_of_python(value)) {
    if (const auto scalar = is_weak(value, rules) ? scalar_of_python(value) : std::nullopt) {
      operands.push_back(*scalar);
      return;
    }
  }
  operands.push_back(tensor_argument(op, param, value));
}

// Beside this tensor a 0-d one of int64 takes part as a Python int does.
bool takes_size(const ops::Operand& operand) {
  const Tensor* tensor = std::get_if<Tensor>(&operand);
  if (!tensor || !tensor->defined()) return false;
  const DType dtype = tensor->dtype();
  if (is_floating(dtype) || is_complex(dtype) || dtype == DType::I64) return true;
  return tensor->dim() > 0 && (dtype == DType::I32 || dtype == DType::Bool);
}

// Symbolic integers beside tensors are read when the graph runs. Their values are guards elsewhere: of
// operators that look at their operands, and as exponents, since powers of small numbers are products.
void place_sizes(const OpDef& op, const SizeOperands& sizes, std::vector<ops::Operand>& operands) {
  const bool is_power = op.name == "pow" || op.name == "float_power";
  const bool stay =
      takes_scalars(op) && !is_power && std::any_of(operands.begin(), operands.end(), takes_size);
  for (const auto& [at, size] : sizes)
    operands[at] = stay ? ops::size_operand(size) : ops::Operand(Scalar(sym_specialize(size)));
}

// A truth value is none: x.sum(True) is a mistake, not a sum over dimension 1.
std::optional<Sym> integer(PyObject* value) {
  if (const Sym* size = symbolic_int(value)) return *size;
  if (!PyIndex_Check(value) || PyBool_Check(value)) return std::nullopt;
  const Py_ssize_t result = PyNumber_AsSsize_t(value, PyExc_OverflowError);
  if (result == -1 && PyErr_Occurred()) nb::raise_python_error();
  return Sym(result);
}

// int|int[]: a single integer means something else than a list of one.
bool keeps_single(const OpDef& op, const Param& param) {
  return op.schema.find("int|int[] " + param.name) != std::string::npos;
}

// What is made of no tensor lives where `with weft.device(...)` says.
bool is_made_on_default_device(const OpDef& op, const Param& param, PyObject* value) {
  return param.type == Param::Type::Device && (!value || value == Py_None) && default_device() != Device{} &&
         std::none_of(op.params.begin(), op.params.end(), is_tensor_param);
}

Attr attribute(const OpDef& op, const Param& param, PyObject* value) {
  if (value == Py_None) {
    if (!param.optional && !std::holds_alternative<std::monostate>(param.default_value))
      bad_argument(op, param, value);
    if (param.optional || param.has_default) return std::monostate{};
    bad_argument(op, param, value);
  }
  switch (param.type) {
    case Param::Type::Bool:
      if (!PyBool_Check(value) && !PyLong_Check(value)) break;
      return PyObject_IsTrue(value) == 1;
    case Param::Type::Int:
      if (const auto result = integer(value)) return *result;
      break;
    case Param::Type::Float:
      if (const auto scalar = scalar_of_python(value); scalar && !scalar->is_complex())
        return scalar->to_double();
      if (const Tensor* tensor = tensor_of_python(value);
          tensor && tensor->dim() == 0 && !is_complex(tensor->dtype()))
        return tensor->item().to_double();
      break;
    case Param::Type::Scalar:
      if (const auto scalar = scalar_of_python(value)) return *scalar;
      if (const Tensor* tensor = tensor_of_python(value); tensor && tensor->dim() == 0) return tensor->item();
      break;
    case Param::Type::String:
      if (PyUnicode_Check(value)) return std::string(text_view(value));
      break;
    case Param::Type::DType: return dtype_of_python(value);
    case Param::Type::Device: return device_of_python(value);
    case Param::Type::IntList: {
      if (PyUnicode_Check(value) && op.schema.find("int[]|str " + param.name) != std::string::npos)
        return std::string(text_view(value));
      SymShape list;
      const bool is_list = PyTuple_Check(value) || PyList_Check(value);
      if (const auto single = is_list ? std::nullopt : integer(value);
          single && (PyLong_Check(value) || !PyObject_HasAttrString(value, "__len__"))) {
        if (keeps_single(op, param)) return *single;
        list.push_back(*single);
        return list;
      }
      if (!PySequence_Check(value) || PyUnicode_Check(value)) break;
      for (nb::handle item : nb::borrow<nb::object>(value)) {
        const auto element = !list.empty() && PyBool_Check(item.ptr())
                                 ? std::optional(Sym(item.ptr() == Py_True))
                                 : integer(item.ptr());
        if (!element) bad_argument(op, param, item.ptr());
        list.push_back(*element);
      }
      return list;
    }
    case Param::Type::Tensor:
    case Param::Type::TensorList: break;
  }
  bad_argument(op, param, value);
}

// Arguments by parameter: borrowed, null where absent.
class Matcher {
 public:
  Matcher(const OpDef& op, PyObject* const* args, size_t nargs, PyObject* keywords, PyObject** out)
      : op_(op), values_(op.params.size(), nullptr) {
    positional(args, nargs);
    const size_t count = keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0;
    for (size_t i = 0; i < count; ++i) keyword(PyTuple_GET_ITEM(keywords, i), args[nargs + i], out);
    if (op.name == "arange" && !values_[0]) std::swap(values_[0], values_[1]);  // arange(end=n)
  }
  PyObject* operator[](size_t i) const { return values_[i]; }
  MatchedArguments release(PyObject* out) { return {std::move(values_), out, std::move(collected_)}; }

 private:
  void positional(PyObject* const* args, size_t nargs) {
    size_t i = 0;
    for (size_t p = 0; p < op_.params.size() && i < nargs && !op_.params[p].keyword_only; ++p) {
      // Sizes and axes may be given one by one: x.permute(2, 0, 1), weft.zeros(2, 3); so may the tensors of
      // einsum and meshgrid.
      const bool sizes = op_.params[p].type == Param::Type::IntList && nargs - i > 1 && is_last(p) &&
                         all_integers(args + i, nargs - i);
      // std(x, False): what is no dimension is the flag behind it.
      const bool passed_over = op_.params[p].type == Param::Type::IntList && PyBool_Check(args[i]) &&
                               p + 1 < op_.params.size() && op_.params[p + 1].type == Param::Type::Bool &&
                               op_.params[p + 1].optional;
      if (passed_over) continue;
      const bool tensors =
          op_.params[p].type == Param::Type::TensorList && is_last(p) &&
          std::all_of(args + i, args + nargs, [](PyObject* arg) { return tensor_of_python(arg) != nullptr; });
      if (sizes || tensors) {
        collected_ = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(nargs - i)));
        for (size_t j = i; j < nargs; ++j)
          PyTuple_SET_ITEM(collected_.ptr(), static_cast<Py_ssize_t>(j - i), Py_NewRef(args[j]));
        values_[p] = collected_.ptr();
        return;
      }
      values_[p] = args[i++];
    }
    if (i < nargs) bad_call(op_, fmt::format("expected at most {} positional arguments, got {}", i, nargs));
  }

  // No later parameter takes a positional argument.
  bool is_last(size_t p) const { return p + 1 == op_.params.size() || op_.params[p + 1].keyword_only; }

  static bool all_integers(PyObject* const* args, size_t count) {
    // PyTorch looks at the first one only: x.repeat(2, True) is x.repeat(2, 1).
    return !PyBool_Check(args[0]) && std::all_of(args, args + count, [](PyObject* arg) {
      if (PyLong_Check(arg) || symbolic_int(arg)) return true;
      if (const Tensor* tensor = tensor_of_python(arg))
        return tensor->dim() == 0 && is_integral(tensor->dtype());
      return PyIndex_Check(arg) && !PySequence_Check(arg);
    });
  }

  void keyword(PyObject* key, PyObject* value, PyObject** out) {
    const std::string_view name = text_view(key);
    const auto index = find_param(op_, name);
    if (!index) {
      if (out && name == "out") {
        if (value != Py_None) *out = value;
        return;
      }
      if (out && find_param(op_, "device") && making_keyword(name, value)) return;
      bad_call(op_, fmt::format("unexpected keyword argument '{}'", name));
    }
    if (values_[*index]) bad_call(op_, fmt::format("argument '{}' is given twice", op_.params[*index].name));
    values_[*index] = value;
  }

  // What PyTorch's functions that make tensors take besides dtype and device.
  bool making_keyword(std::string_view name, PyObject* value) {
    if (name == "requires_grad") {
      requires_grad = value;
    } else if (name == "memory_format") {
      memory_format = value;
    } else if (name == "layout") {
      const bool is_strided = value == Py_None || repr_text(value).ends_with(".strided");
      if (!is_strided)
        throw_error(ErrorKind::NotImplemented,
                    fmt::format("{}: weft's tensors are strided, got layout={}", op_.name, repr_text(value)));
    } else if (name != "pin_memory") {
      return false;
    }
    return true;
  }

  const OpDef& op_;
  std::vector<PyObject*> values_;
  nb::object collected_;

 public:
  PyObject* requires_grad = nullptr;
  PyObject* memory_format = nullptr;
};

}  // namespace

void make_tensors(std::vector<ops::Operand>& operands, Promotion rules) {
  std::optional<DType> first;
  for (const ops::Operand& operand : operands) {
    if (const Tensor* tensor = std::get_if<Tensor>(&operand); tensor && tensor->defined() && !first)
      first = tensor->dtype();
  }
  for (ops::Operand& operand : operands) {
    const Scalar* scalar = std::get_if<Scalar>(&operand);
    if (!scalar) continue;
    DType dtype = promote_weak(DType::Bool, scalar->kind(), rules);
    if (first && (!scalar->is_int() || is_integral(*first)))
      dtype = promote_weak(*first, scalar->kind(), rules);
    operand = Tensor::scalar(*scalar, dtype);
  }
}

bool takes_scalars(const OpDef& op) { return op.kind == ops::OpKind::Pointwise || op.promotes; }

MatchedArguments match_arguments(const OpDef& op, PyObject* const* args, size_t nargs, PyObject* keywords) {
  PyObject* out = nullptr;
  Matcher matched(op, args, nargs, keywords, &out);
  return matched.release(out);
}

OpArguments parse_arguments(const OpDef& op, PyObject* const* args, size_t nargs, PyObject* keywords,
                            PyObject** out, Promotion rules) {
  const Matcher matched(op, args, nargs, keywords, out);
  OpArguments result;
  result.requires_grad = matched.requires_grad;
  result.memory_format = matched.memory_format;
  SizeOperands sizes;
  for (size_t i = 0; i < op.params.size(); ++i) {
    const Param& param = op.params[i];
    PyObject* value = matched[i];
    if (!value && !param.has_default && !param.optional)
      bad_call(op, fmt::format("missing argument '{}'", param.name));
    if (is_tensor_param(param)) {
      push_operands(op, param, value ? value : Py_None, rules, result.operands, sizes);
    } else {
      if (is_made_on_default_device(op, param, value))
        result.attrs.set(param.name, default_device());
      else if (value || !op.default_params)  // a small call of a pointwise operator has none but the defaults
        result.attrs.set(param.name, value ? attribute(op, param, value) : param.default_value);
    }
  }
  if (!sizes.empty()) place_sizes(op, sizes, result.operands);
  return result;
}

}  // namespace weft::python
