// The operator table as Python: every operator is one object, the function weft.<name> and the Tensor method.
#include <Python.h>
#include <fmt/format.h>
#include <structmember.h>

#include <algorithm>
#include <cstring>

#include "array.h"
#include "bindings.h"
#include "core/distinct_elements.h"
#include "core/profiling.h"
#include "jit_trace.h"
#include "once.h"
#include "op_arguments.h"
#include "op_results.h"
#include "ops/autocast.h"
#include "ops/iteration_order.h"
#include "ops/kept_order.h"
#include "ops/pointwise_into.h"
#include "ops/torch_rules.h"
#include "overriding.h"
#include "weft/error.h"

namespace weft::python {

namespace {

using ops::OpDef;
using ops::OpKind;

// How a call through an operator object differs from the plain function.
enum class CallStyle : uint8_t {
  Function,   // weft.add(x, y), x.add(y)
  Operator,   // x + y: NotImplemented for operands that are no arrays
  Reflected,  // y + x
  InPlace,    // x += y, x.add_(y)
};

struct OperatorObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const OpDef* op;
  PyObject* name;
  CallStyle style;
  uint32_t refused;  // kinds of dtypes, under PyTorch's rules
  uint8_t needed;    // tensors, where PyTorch takes no numbers
};

PyTypeObject *g_operator_type = nullptr, *g_method_type = nullptr;

// Elements from which on the interpreter's lock is released while an operator runs.
constexpr int64_t kReleaseLock = 1 << 14;

std::vector<Tensor> run(const OpDef& op, OpArguments arguments, Promotion rules) {
  if (!takes_scalars(op)) make_tensors(arguments.operands, rules);
  int64_t elements = 0;
  for (const auto& operand : arguments.operands) {
    if (const Tensor* tensor = std::get_if<Tensor>(&operand);
        tensor && tensor->defined() && !tensor->is_traced())
      elements += tensor->numel();
  }
  std::optional<ComputeRelease> no_gil;
  if (elements >= kReleaseLock) {
    if (profiling::is_on(profiling::kStacks))
      profiling::remember_stack();  // it cannot be read without the lock
    no_gil.emplace();
  }
  if (takes_scalars(op)) {
    if (rules == Promotion::NumPy) ops::refuse_negative_powers(op, arguments.operands);
    return {rules == Promotion::Torch ? ops::invoke_in_order(op, arguments.operands, arguments.attrs)
                                      : ops::invoke(op, arguments.operands, arguments.attrs, rules)};
  }
  ops::OpArgs args;
  args.rules = rules;
  for (const auto& operand : arguments.operands) args.tensors.push_back(std::get<Tensor>(operand));
  args.attrs = std::move(arguments.attrs);
  return rules == Promotion::Torch ? ops::call_in_kept_order(op, std::move(args))
                                   : ops::call(op, std::move(args));
}

std::vector<Tensor> tensors_among(std::span<const ops::Operand> operands) {
  std::vector<Tensor> found;
  for (const auto& operand : operands)
    if (const Tensor* tensor = std::get_if<Tensor>(&operand); tensor && tensor->defined())
      found.push_back(*tensor);
  return found;
}

// x @ 2 is nobody's; x @= y makes another tensor, as PyTorch has it.
bool is_product(const OpDef& op) { return op.name == "matmul"; }

bool is_operand(PyObject* object) {
  return tensor_of_python(object) || symbolic_int(object) || PyFloat_Check(object) || PyLong_Check(object) ||
         PyComplex_Check(object) ||
         (PyObject_CheckBuffer(object) && !PyBytes_Check(object) && !PyByteArray_Check(object));
}

// y + x: PyTorch's product is x * y, in which y is the number.
bool is_swapped(const OperatorObject& self, Promotion rules) {
  return self.style == CallStyle::Reflected && (self.op->name != "mul" || rules != Promotion::Torch);
}

// y / x of a number and 16 bits: PyTorch's is the reciprocal, as these hold it, times the number.
bool multiplies_reciprocal(const OperatorObject& self, PyObject* const* args, size_t nargs) {
  if (self.style != CallStyle::Reflected || self.op->name != "true_divide" || nargs != 2) return false;
  const Tensor* const x = tensor_of_python(args[0]);
  return x && compute_dtype(x->dtype()) != x->dtype() && (PyFloat_Check(args[1]) || PyLong_Check(args[1])) &&
         rules_of(args, nargs) == Promotion::Torch;
}

const OpDef& meant(const OpDef& op, const OpArguments& arguments, Promotion rules) {
  return rules == Promotion::Torch ? ops::torch_overload(op, arguments.operands, arguments.attrs) : op;
}

size_t count_of(PyObject* keywords) { return keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0; }

// Into a tensor of so many elements at least, without one for the result.
bool runs_into(const OpDef& op, OpArguments& arguments, Promotion rules, const Tensor& target,
               int64_t fewest = kReleaseLock) {
  if (!takes_scalars(op) || target.is_traced() || target.numel() < fewest) return false;
  std::optional<ComputeRelease> no_gil;
  if (target.numel() >= kReleaseLock) no_gil.emplace();
  if (rules == Promotion::NumPy) ops::refuse_negative_powers(op, arguments.operands);
  return ops::invoke_into(op, arguments.operands, arguments.attrs, rules, target);
}

// x += y
bool runs_in_place(const OpDef& op, OpArguments& arguments, Promotion rules) {
  const Tensor* const target =
      arguments.operands.empty() ? nullptr : std::get_if<Tensor>(&arguments.operands[0]);
  if (!target) return false;
  if (rules == Promotion::Torch && takes_scalars(op) && !target->is_traced() &&
      target->numel() >= kReleaseLock)
    check_distinct_elements(*target);
  return runs_into(op, arguments, rules, *target);
}

// out=. Where operands may not be written into at all, the usual way says so.
bool runs_into_out(const OpDef& op, OpArguments& arguments, Promotion rules, PyObject* out,
                   int64_t fewest = kReleaseLock) {
  const Tensor* const target = op.num_outputs == 1 ? tensor_of_python(out) : nullptr;
  if (!target || (torch_refuses(rules) && ops::out_rules_of(op).refused == ops::OutRules::Overlap::Any))
    return false;
  return runs_into(op, arguments, rules, *target, fewest);
}

// What PyTorch refuses of operands.
void check_operands(const OperatorObject& self, const OpDef& op, const OpArguments& arguments,
                    Promotion rules) {
  if (rules != Promotion::Torch) return;
  if (self.style == CallStyle::Function && self.needed && torch_refuses(rules))
    ops::refuse_numbers(op, self.needed, arguments.operands);
  ops::refuse_bool_subtraction(op, arguments.operands);
  if (self.refused) ops::refuse_kinds(op, self.refused, arguments.operands);
  if (torch_refuses(rules)) ops::refuse_unfit_number(op, arguments.operands, arguments.attrs);
  if (self.style == CallStyle::InPlace && torch_refuses(rules) && op.name == "abs" &&
      is_complex(std::get<Tensor>(arguments.operands.at(0)).dtype()))
    throw_error(ErrorKind::Runtime, "In-place abs is not supported for complex tensors.");
}

nb::object call(const OperatorObject& self, PyObject* const* args, size_t nargs, PyObject* keywords) {
  const Promotion rules = rules_of(args, nargs + count_of(keywords));
  PyObject* out = nullptr;
  if (self.style == CallStyle::Function) {
    OpArguments arguments = parse_arguments(*self.op, args, nargs, keywords, &out, rules);
    const OpDef& op = meant(*self.op, arguments, rules);
    check_operands(self, op, arguments, rules);
    const std::vector<Tensor> inputs =
        out && torch_refuses(rules) ? tensors_among(arguments.operands) : std::vector<Tensor>();
    if (out && torch_refuses(rules)) check_made_dtype(op, arguments, out);
    // What writes into a tensor given has its dtype.
    if (!out && rules == Promotion::Torch) ops::autocast_operands(op, arguments.operands, arguments.attrs);
    if (out && runs_into_out(op, arguments, rules, out)) return nb::borrow(out);
    PyObject *const requires_grad = arguments.requires_grad, *const memory_format = arguments.memory_format;
    const std::vector<Tensor> results = run(op, std::move(arguments), rules);
    if (!out) {
      nb::object result = wrap_results(op, results, rules);
      if (rules == Promotion::Torch && op.name.ends_with("_like") && op.num_outputs == 1 && !memory_format &&
          nargs > 0)
        result = in_order_beside(std::move(result), args[0]);
      return as_made(std::move(result), requires_grad, memory_format);
    }
    if (op.num_outputs == 1) {
      store_out(op, out, results.at(0), rules, inputs);
      return nb::borrow(out);
    }
    WEFT_CHECK_TYPE(PySequence_Check(out) && !tensor_of_python(out) &&
                        PySequence_Size(out) == static_cast<Py_ssize_t>(results.size()),
                    fmt::format("{}: out must be a tuple of {} tensors, got {}", op.name, results.size(),
                                Py_TYPE(out)->tp_name));
    nb::list written;
    for (size_t i = 0; i < results.size(); ++i) {
      const nb::object target = nb::steal(PySequence_GetItem(out, static_cast<Py_ssize_t>(i)));
      store_out(op, target.ptr(), results[i], rules, inputs);
      written.append(target);
    }
    return named_results(op, written, true);
  }
  if (self.style == CallStyle::InPlace && is_product(*self.op) && rules == Promotion::Torch)
    return nb::borrow(Py_NotImplemented);
  for (size_t i = 0; i < nargs; ++i) {
    const bool is_known = is_operand(args[i]) && (rules == Promotion::NumPy || !is_product(*self.op) ||
                                                  tensor_of_python(args[i]) || PyObject_CheckBuffer(args[i]));
    if (self.style != CallStyle::InPlace && !is_known) return nb::borrow(Py_NotImplemented);
  }
  PyObject* swapped[] = {nargs == 2 ? args[1] : nullptr, nargs == 2 ? args[0] : nullptr};
  if (is_swapped(self, rules)) args = swapped;
  OpArguments arguments = parse_arguments(*self.op, args, nargs, keywords, nullptr, rules);
  const OpDef& op = meant(*self.op, arguments, rules);
  check_operands(self, op, arguments, rules);
  if (self.style == CallStyle::InPlace && runs_in_place(op, arguments, rules)) return nb::borrow(args[0]);
  if (self.style != CallStyle::InPlace && rules == Promotion::Torch)
    ops::autocast_operands(op, arguments.operands, arguments.attrs);
  const std::vector<Tensor> results = run(op, std::move(arguments), rules);
  if (self.style != CallStyle::InPlace) return wrap_results(op, results, rules);
  store_result(op, *tensor_of_python(args[0]), results.at(0), rules);
  return nb::borrow(args[0]);
}

// What a trace knows are tensors: an array's is found by its memory.
nb::object to_traced(nb::handle argument) {
  if (is_array(argument.ptr())) return to_python(*tensor_of_python(argument));
  if (!PyList_Check(argument.ptr()) && !PyTuple_Check(argument.ptr())) return nb::borrow(argument);
  nb::list items;
  for (nb::handle item : nb::borrow<nb::object>(argument)) items.append(to_traced(item));
  return PyList_Check(argument.ptr()) ? nb::object(items) : nb::object(nb::tuple(items));
}

nb::object to_arrays(const nb::object& result) {
  if (const Tensor* tensor = tensor_of_python(result)) return to_python(*tensor, Promotion::NumPy);
  if (!PyTuple_CheckExact(result.ptr()) && !PyList_CheckExact(result.ptr())) return result;
  nb::list items;
  for (nb::handle item : result) items.append(to_arrays(nb::borrow(item)));
  return nb::tuple(items);
}

// While the thread traces: the recorder is given the call, and gives its result. TorchScript promotes as
// PyTorch does: operands of NumPy's rules are given in the dtype that these compute in.
nb::object call_traced(nb::handle self, CallStyle style, PyObject* const* args, size_t nargs,
                       PyObject* keywords) {
  for (size_t i = 0; i < nargs; ++i) {
    const bool is_operator = style == CallStyle::Operator || style == CallStyle::Reflected;
    if (is_operator && !is_operand(args[i])) return nb::borrow(Py_NotImplemented);
  }
  const OpDef& op = *reinterpret_cast<const OperatorObject*>(self.ptr())->op;
  const Promotion rules = rules_of(args, nargs + count_of(keywords));
  if (style == CallStyle::InPlace && is_product(op) && rules == Promotion::Torch)
    return nb::borrow(Py_NotImplemented);
  std::optional<DType> compute;
  if (rules == Promotion::NumPy && takes_scalars(op) && style != CallStyle::InPlace)
    compute =
        ops::promoted_types(op, parse_arguments(op, args, nargs, keywords, nullptr, rules).operands, rules)
            .compute;
  const auto given = [&](PyObject* argument, bool is_condition) {
    nb::object plain = to_traced(argument);
    const Tensor* tensor = tensor_of_python(plain);
    if (!compute || !tensor || is_condition || tensor->dtype() == *compute) return plain;
    return nb::borrow<nb::object>(plain.attr("to")(to_python(*compute)));
  };
  nb::list positional;
  nb::dict named;
  for (size_t i = 0; i < nargs; ++i) positional.append(given(args[i], i == 0 && op.name == "where"));
  if (is_swapped(*reinterpret_cast<const OperatorObject*>(self.ptr()), rules)) positional.reverse();
  for (size_t i = 0; i < count_of(keywords); ++i)
    named[nb::handle(PyTuple_GET_ITEM(keywords, i))] = given(args[nargs + i], false);
  nb::object result =
      nb::borrow<nb::object>(trace_handler)(self, style == CallStyle::InPlace, nb::tuple(positional), named);
  return rules == Promotion::NumPy ? to_arrays(result) : result;
}

// What an argument's class makes of the operator (weft.nested's, weft.sparse's tensors of several parts), by
// its function __weft_operator__(name, ...); null, without an error, where no argument is of such a class.
PyObject* overriding(PyObject* object) {
  if (PyList_Check(object) || PyTuple_Check(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      if (PyObject* found = overriding(PySequence_Fast_GET_ITEM(object, i))) return found;
    return nullptr;
  }
  static constinit MadeOnce<PyObject*> name;
  return _PyType_Lookup(Py_TYPE(object),
                        name.get([] { return PyUnicode_InternFromString("__weft_operator__"); }));
}

PyObject* call_overriding(const OperatorObject& self, PyObject* const* args, size_t nargs,
                          PyObject* keywords) {
  const size_t count = nargs + count_of(keywords);
  PyObject* function = nullptr;
  for (size_t i = 0; i < count && !function; ++i) function = overriding(args[i]);
  if (!function) return nullptr;
  std::vector<PyObject*> all{self.name};
  all.insert(all.end(), args, args + count);
  return PyObject_Vectorcall(function, all.data(), nargs + 1, keywords);
}

PyObject* vectorcall(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* keywords) {
  const auto& self = *reinterpret_cast<OperatorObject*>(callable);
  try {
    const auto nargs = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
    if (override_handler) [[unlikely]] {
      if (PyObject* result = call_offered(callable, args, nargs, keywords)) return result;
    }
    if (multiplies_reciprocal(self, args, nargs)) [[unlikely]]
      return PyNumber_Multiply(nb::handle(args[0]).attr("reciprocal")().ptr(), args[1]);
    if (trace_handler) [[unlikely]]
      return call_traced(callable, self.style, args, nargs, keywords).release().ptr();
    return call(self, args, nargs, keywords).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  } catch (const runtime::Interrupted&) {
    return nullptr;
  } catch (const Error& error) {
    const auto nargs = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
    PyObject* const result = call_overriding(self, args, nargs, keywords);
    if (!result && !PyErr_Occurred()) set_error(error, rules_of(args, nargs + count_of(keywords)));
    return result;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    set_error(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

// operator.into(out, ...): whether `out` has the result now; else nothing happened, the plain call says why.
PyObject* into(PyObject* callable, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  const auto& self = *reinterpret_cast<OperatorObject*>(callable);
  const size_t nargs = static_cast<size_t>(given), count = nargs + count_of(keywords);
  try {
    if (trace_handler || nargs < 2 || ops::autocast().enabled || std::any_of(args, args + count, overriding))
      Py_RETURN_FALSE;
    const Promotion rules = rules_of(args, count);
    OpArguments arguments = parse_arguments(*self.op, args + 1, nargs - 1, keywords, nullptr, rules);
    const OpDef& op = meant(*self.op, arguments, rules);
    check_operands(self, op, arguments, rules);
    return PyBool_FromLong(runs_into_out(op, arguments, rules, args[0], /*fewest=*/1));
  } catch (const runtime::Interrupted&) {
    return nullptr;
  } catch (const std::exception&) {
    PyErr_Clear();
    Py_RETURN_FALSE;
  }
}

PyObject* get_doc(PyObject* self, void*) {
  const OpDef& op = *reinterpret_cast<OperatorObject*>(self)->op;
  return PyUnicode_FromString(fmt::format("{}{}\n\n{}", op.name, op.schema, op.doc).c_str());
}
PyObject* get_name(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<OperatorObject*>(self)->name); }
PyObject* get_module(PyObject*, void*) { return PyUnicode_FromString("weft"); }
PyObject* get_schema(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<OperatorObject*>(self)->op->schema.c_str());
}
// The table's row: what tests, documentation and benchmarks read.
PyObject* get_definition(PyObject* self, void*) {
  const OpDef& op = *reinterpret_cast<OperatorObject*>(self)->op;
  constexpr const char* kKinds[] = {"pointwise", "reduction", "view", "creation", "composite", "kernel"};
  nb::list dtypes;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (op.dtypes & ops::dtype_bit(static_cast<DType>(i)))
      dtypes.append(nb::str(std::string(name(static_cast<DType>(i))).c_str()));
  }
  nb::dict row;
  row["name"] = nb::str(op.name.c_str());
  row["kind"] = kKinds[static_cast<size_t>(op.kind)];
  row["numpy"] = nb::str(op.numpy.c_str());
  row["error"] = nb::make_tuple(op.error.f32, op.error.f64);
  row["sample"] = nb::make_tuple(op.sample_low, op.sample_high);
  row["dtypes"] = dtypes;
  row["doc"] = nb::str(op.doc.c_str());
  return row.release().ptr();
}
PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("<weft operator %U>", reinterpret_cast<OperatorObject*>(self)->name);
}
// As an attribute of tensors' class, the operator is a method; of other classes (`activation = torch.tanh`)
// it is itself, as functions of C are.
PyObject* bind_to(PyObject* self, PyObject* object, PyObject*) {
  if (!object || !nb::isinstance<Tensor>(object)) return Py_NewRef(self);
  return PyMethod_New(self, object);
}
// Pickled by name, as functions are.
PyObject* reduce(PyObject* self, PyObject*) {
  return Py_NewRef(reinterpret_cast<OperatorObject*>(self)->name);
}

PyGetSetDef kAttributes[] = {
    {"__doc__", get_doc, nullptr, nullptr, nullptr},
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_name, nullptr, nullptr, nullptr},
    {"__module__", get_module, nullptr, nullptr, nullptr},
    {"schema", get_schema, nullptr, nullptr, nullptr},
    {"definition", get_definition, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef kMethods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                          {"into", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(into)),
                           METH_FASTCALL | METH_KEYWORDS, nullptr},
                          {nullptr, nullptr, 0, nullptr}};
PyMemberDef kMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OperatorObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
// Functions, which are no methods of the classes that have them as attributes (`activation = torch.tanh`), as
// functions of C are none; and methods of tensors.
constexpr unsigned kFlags =
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION;
PyType_Slot kSlots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_getset, kAttributes},
    {Py_tp_members, kMembers},
    {Py_tp_methods, kMethods},
    {0, nullptr},
};
PyType_Spec kSpec = {"weft.Operator", sizeof(OperatorObject), 0, kFlags | Py_TPFLAGS_BASETYPE, kSlots};
PyType_Slot kMethodSlots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind_to)},
    {Py_tp_members, kMembers},
    {0, nullptr},
};
PyType_Spec kMethodSpec = {"weft.OperatorMethod", sizeof(OperatorObject), 0,
                           kFlags | Py_TPFLAGS_METHOD_DESCRIPTOR, kMethodSlots};

// Operator objects live as long as the process.
nb::object make_operator(PyTypeObject* type, const OpDef& op, const std::string& name,
                         CallStyle style = CallStyle::Function) {
  OperatorObject* object = PyObject_New(OperatorObject, type);
  if (!object) nb::raise_python_error();
  object->vectorcall = &vectorcall;
  object->op = &op;
  object->name = PyUnicode_InternFromString(name.c_str());
  object->style = style;
  object->refused = ops::kinds_refused_by(op);
  object->needed = ops::tensors_needed_by(op);
  return nb::steal(reinterpret_cast<PyObject*>(object));
}

struct Dunder {
  const char* name;       // "add" for __add__, __radd__, __iadd__
  const char* operator_;  // in the operator table
  bool binary_number;     // has a reflected and an in-place form
};
constexpr Dunder kDunders[] = {
    {"add", "add", true},
    {"sub", "sub", true},
    {"mul", "mul", true},
    {"truediv", "true_divide", true},
    {"floordiv", "floor_divide", true},
    {"mod", "remainder", true},
    {"pow", "pow", true},
    {"matmul", "matmul", true},
    {"and", "bitwise_and", true},
    {"or", "bitwise_or", true},
    {"xor", "bitwise_xor", true},
    {"lshift", "left_shift", true},
    {"rshift", "right_shift", true},
    {"eq", "eq", false},
    {"ne", "ne", false},
    {"lt", "lt", false},
    {"le", "le", false},
    {"gt", "gt", false},
    {"ge", "ge", false},
    {"neg", "neg", false},
    {"pos", "positive", false},
    {"abs", "abs", false},
    {"invert", "bitwise_not", false},
};

// An operator whose first operand is a tensor is a method of it, under its own name and those the table adds.
std::vector<std::string> method_names(const OpDef& op, const std::string& name) {
  std::vector<std::string> names;
  if (!op.params.empty() && op.params[0].type == ops::Param::Type::Tensor && name[0] != '_')
    names.push_back(name);
  for (const std::string& method : op.methods) names.push_back(method.empty() ? name : method);
  return names;
}

}  // namespace

const OpDef* operator_of_python(nb::handle object) {
  const PyTypeObject* const type = Py_TYPE(object.ptr());
  if (type != g_operator_type && type != g_method_type) return nullptr;
  return reinterpret_cast<OperatorObject*>(object.ptr())->op;
}

void bind_operators(nb::module_& m) {
  g_operator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kSpec));
  if (!g_operator_type) nb::raise_python_error();
  g_method_type = reinterpret_cast<PyTypeObject*>(
      PyType_FromSpecWithBases(&kMethodSpec, reinterpret_cast<PyObject*>(g_operator_type)));
  if (!g_method_type) nb::raise_python_error();
  m.attr("Operator") = nb::borrow(reinterpret_cast<PyObject*>(g_operator_type));
  nb::object tensor = m.attr("Tensor");
  const auto add = [&](const OpDef& op, const std::string& name) {
    const nb::object function = make_operator(g_operator_type, op, name);
    // A dtype of the same name stays: weft.float is one in PyTorch too.
    if (!nb::hasattr(m, name.c_str())) m.attr(name.c_str()) = function;
    for (const std::string& method : method_names(op, name)) {
      if (!nb::hasattr(tensor, method.c_str()))
        tensor.attr(method.c_str()) = make_operator(g_method_type, op, method);
      if (op.kind == OpKind::Pointwise && method.back() != '_') {
        tensor.attr((method + "_").c_str()) =
            make_operator(g_method_type, op, method + "_", CallStyle::InPlace);
      }
    }
  };
  for (const auto& [name, op] : ops::all_ops()) add(*op, name);
  for (const auto& [name, op] : ops::all_ops()) {
    for (const std::string& alias : op->aliases) add(*op, alias);
  }
  for (const Dunder& dunder : kDunders) {
    const OpDef* op = ops::find_op(dunder.operator_);
    if (!op) continue;
    const auto set = [&](const char* prefix, CallStyle style) {
      const std::string name = fmt::format("__{}{}__", prefix, dunder.name);
      tensor.attr(name.c_str()) = make_operator(g_method_type, *op, name, style);
    };
    set("", CallStyle::Operator);
    if (!dunder.binary_number) continue;
    set("r", CallStyle::Reflected);
    set("i", CallStyle::InPlace);
  }
}

}  // namespace weft::python
