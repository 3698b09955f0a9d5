// weft._C._trace: the recorder of weft.jit.trace (script/trace/trace.h) over Python's objects.
#include "jit_trace.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "graph_nodes.h"
#include "ivalue.h"
#include "jit.h"
#include "op_arguments.h"
#include "script/builtins/prim.h"
#include "script/optimize/graph_passes.h"
#include "script/trace/trace.h"
#include "weft/error.h"

namespace weft::python {
namespace {

using jit::Trace;
using jit::Traced;
using jit::TracedModules;
using ops::OpDef;
using ops::Param;

const OpDef& operator_argument(nb::handle object) {
  const OpDef* op = operator_of_python(object);
  WEFT_CHECK_TYPE(op, fmt::format("expected an operator, got {}", Py_TYPE(object.ptr())->tp_name));
  return *op;
}

// ---- arguments of operators ------------------------------------------------------------------------------
// An int that carries a value of a graph: weft.jit._tracer.TracedInt.
bool is_size(nb::handle object) {
  return PyLong_Check(object.ptr()) && !PyLong_CheckExact(object.ptr()) && !PyBool_Check(object.ptr()) &&
         PyObject_HasAttrString(object.ptr(), "recorder");
}

int64_t integer_of(nb::handle object) {
  const long long value = PyLong_AsLongLong(object.ptr());
  if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
  return value;
}

bool holds_size(nb::handle object) {
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) return is_size(object);
  return std::any_of(nb::iter(object), nb::iterator(), [](nb::handle item) { return is_size(item); });
}

nb::object attribute_to_python(const ops::Attr& attr) {
  struct Visitor {
    nb::object operator()(std::monostate) const { return nb::none(); }
    nb::object operator()(bool value) const { return nb::bool_(value); }
    nb::object operator()(const Sym& value) const { return nb::int_(value.constant()); }
    nb::object operator()(double value) const { return nb::float_(value); }
    nb::object operator()(const Scalar& value) const { return to_python(IValue(value)); }
    nb::object operator()(const std::string& value) const { return nb::str(value.c_str()); }
    nb::object operator()(DType value) const { return to_python(value); }
    nb::object operator()(Device value) const { return nb::cast(value); }
    nb::object operator()(const SymShape& value) const {
      nb::list list;
      for (const Sym& item : value) list.append(item.constant());
      return list;
    }
  };
  return std::visit(Visitor(), attr);
}

// A list of sizes stays what was given, so that the graph's values are found in it.
nb::object attribute_argument(const Param& param, PyObject* given, const ops::Attr& parsed) {
  if (!given || !holds_size(given)) return attribute_to_python(parsed);
  if (param.type == Param::Type::IntList && std::holds_alternative<SymShape>(parsed)) {
    return PyLong_Check(given) ? nb::object(nb::make_tuple(nb::handle(given))) : nb::borrow(given);
  }
  return nb::borrow(given);
}

nb::object tensor_argument(PyObject* given) {
  if (given == Py_None || tensor_of_python(given) || scalar_of_python(given)) return nb::borrow(given);
  return to_python(as_tensor(given, std::nullopt));
}

nb::object tensors_argument(PyObject* given) {
  if (!given || given == Py_None) return nb::none();
  nb::list list;
  for (nb::handle item : nb::borrow<nb::object>(given)) {
    list.append(tensor_of_python(item) ? nb::borrow<nb::object>(item)
                                       : to_python(as_tensor(item, std::nullopt)));
  }
  return list;
}

// ([(parameter, value, is it the default?)], out) of a call, checked as the call itself checks it.
nb::tuple match_call(nb::handle op_object, const nb::tuple& args, const nb::dict& kwargs) {
  const OpDef& op = operator_argument(op_object);
  std::vector<PyObject*> values;
  nb::list keys;
  for (nb::handle item : args) values.push_back(item.ptr());
  for (const auto& [key, item] : kwargs) {
    keys.append(key);
    values.push_back(item.ptr());
  }
  const nb::tuple keywords(keys);
  PyObject* out = nullptr;
  const OpArguments parsed = parse_arguments(op, values.data(), args.size(), keywords.ptr(), &out);
  const MatchedArguments matched = match_arguments(op, values.data(), args.size(), keywords.ptr());
  nb::list result;
  for (size_t i = 0; i < op.params.size(); ++i) {
    const Param& param = op.params[i];
    PyObject* given = matched.values[i];
    nb::object value;
    bool is_default = !given || given == Py_None;
    if (param.type == Param::Type::TensorList)
      value = tensors_argument(given);
    else if (param.type == Param::Type::Tensor)
      value = given ? tensor_argument(given) : nb::none();
    else {
      const ops::Attr* const found = parsed.attrs.find(param.name);
      const ops::Attr& attr = found ? *found : param.default_value;
      value = attribute_argument(param, given, attr);
      is_default = param.has_default && ops::str(attr) == ops::str(param.default_value);
    }
    result.append(nb::make_tuple(nb::str(param.name.c_str()), value, is_default));
  }
  return nb::make_tuple(result, out ? nb::borrow(out) : nb::none());
}

// ---- the recorder ----------------------------------------------------------------------------------------
// Sizes in Python are ints that carry the number of their value in the graph.
class Recorder {
 public:
  Recorder(std::shared_ptr<TracedModules> modules, std::shared_ptr<jit::CompilationUnit> unit,
           nb::object make_size)
      : unit_(std::move(unit)), trace_(unit_, std::move(modules)), make_size_(std::move(make_size)) {}

  Trace& trace() { return trace_; }

  Traced value(nb::handle object) {
    if (const Tensor* tensor = tensor_of_python(object)) return trace_.tensor(*tensor);
    if (is_size(object)) {
      if (const auto size = size_value(object)) return *size;
      return trace_.constant(integer_of(object));
    }
    if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) return sequence(object);
    if (PyDict_Check(object.ptr())) return dictionary(nb::borrow<nb::dict>(object));
    return trace_.constant(to_ivalue(object, nullptr));
  }

  nb::object call(const std::string& name, const nb::args& args, const nb::kwargs& kwargs) {
    return results(trace_.call(name, arguments_of(args, kwargs)));
  }

  // A script function or a method of a script module among the traced ones: the call is recorded, not what it
  // does.
  nb::object call_script(nb::handle callee, const nb::args& args, const nb::kwargs& kwargs) {
    return result(
        trace_.call_function(nb::cast<ScriptFunction&>(callee).function, arguments_of(args, kwargs)));
  }
  nb::object call_method(size_t module, const std::string& name, const nb::args& args,
                         const nb::kwargs& kwargs) {
    return result(trace_.call_method(module, name, arguments_of(args, kwargs)));
  }

  // NotImplemented where no builtin of that name takes these arguments.
  nb::object call_operator(const std::string& name, nb::handle op_object, const nb::list& matched) {
    std::vector<Trace::OperatorArgument> arguments;
    for (nb::handle item : matched) arguments.push_back({value(item[1]), nb::cast<bool>(item[2])});
    const auto found = trace_.call_operator(name, operator_argument(op_object), std::move(arguments));
    return found ? results(*found) : nb::borrow(Py_NotImplemented);
  }

  nb::object add_input(const std::string& name, nb::handle example) {
    return to_python(trace_.add_input(name, to_ivalue(example, nullptr)).now);
  }

  void add_closure(const std::string& name, nb::handle object) {
    const Tensor* tensor = tensor_of_python(object);
    if (tensor == nullptr) throw_error(ErrorKind::Type, "add_closure: expected a Tensor");
    trace_.add_closure(name, *tensor);
  }

  bool is_computed(nb::handle object) {
    const Tensor* tensor = tensor_of_python(object);
    return tensor && trace_.is_computed(*tensor);
  }

  // Is there a value for it that is no constant?
  bool is_known(nb::handle object) {
    const Tensor* tensor = tensor_of_python(object);
    return tensor && !jit::constant_of(trace_.tensor(*tensor).value);
  }

  // The lines of the graph, each with the user's line that it comes from.
  nb::list finish_graph(nb::handle output) {
    const ir::Graph& graph = trace_.finish_graph(value(output));
    nb::list nodes;
    for (const auto& node : graph.body().nodes) {
      if (node->script == &jit::prim::kConstant) continue;
      nodes.append(nb::make_tuple(nb::str(describe(*node).c_str()), nb::str(node->location.str().c_str())));
    }
    return nodes;
  }

  // The graph that finish_graph has finished, as Python reads it:
  //   inputs: [number]; attributes: {number: [(module, name)]}; result: number
  //   nodes: [(operator, overload, [(argument, by keyword only?, is it the default?, operand)], [result], file, line)]
  //   constants: {number: value}; forms: {number: (dtype, shape, strides, offset)}; types: {number: "List[int]"}
  // Numbers are those of values; an operand that is a constant of a dtype is the dtype.
  nb::dict graph() {
    const ir::Graph& graph = trace_.graph();
    nb::list inputs, nodes;
    nb::dict attributes, constants, forms, types;
    const auto note = [&](const ir::Value* value) {
      types[nb::int_(value->id)] = nb::str(jit::type_of(value)->str().c_str());
      if (const jit::TensorForm* form = trace_.form(value))
        forms[nb::int_(value->id)] = nb::make_tuple(to_python(form->dtype), integers(form->shape),
                                                    integers(form->strides), form->offset);
    };
    for (const ir::Value* value : graph.body().params) {
      note(value);
      nb::list places;
      for (const TracedModules::Place& place : trace_.places(value))
        places.append(nb::make_tuple(place.module, nb::str(place.name.c_str())));
      if (nb::len(places))
        attributes[nb::int_(value->id)] = places;
      else
        inputs.append(value->id);
    }
    for (const auto& node : graph.body().nodes) {
      for (const ir::Value* value : node->outputs) note(value);
      if (node->script == &jit::prim::kConstant)
        constants[nb::int_(node->output()->id)] = to_python(node->payload->value);
      else
        nodes.append(node_to_python(*node));
    }
    nb::dict result;
    result["inputs"] = inputs;
    result["attributes"] = attributes;
    result["nodes"] = nodes;
    result["constants"] = constants;
    result["forms"] = forms;
    result["types"] = types;
    result["result"] = graph.body().returns.at(0)->id;
    return result;
  }

  // The value's number of a size (weft.jit._tracer.TracedInt) of this recorder.
  int value_id(nb::handle size) { return value(size).value->id; }

  const std::shared_ptr<jit::CompilationUnit>& unit() const { return unit_; }

 private:
  static nb::tuple integers(std::span<const int64_t> values) {
    nb::list list;
    for (const int64_t each : values) list.append(each);
    return nb::tuple(list);
  }

  std::vector<Trace::Argument> arguments_of(const nb::args& args, const nb::kwargs& kwargs) {
    std::vector<Trace::Argument> arguments;
    for (nb::handle item : args) arguments.push_back({"", value(item)});
    for (const auto& [key, item] : kwargs) arguments.push_back({std::string(text_view(key)), value(item)});
    return arguments;
  }

  std::optional<Traced> size_value(nb::handle object) {
    nb::object owner = nb::borrow<nb::object>(object.attr("recorder"));
    if (!nb::isinstance<Recorder>(owner) || nb::inst_ptr<Recorder>(owner) != this) return std::nullopt;
    const auto number = nb::cast<size_t>(object.attr("number"));
    return Traced{integer_of(object), numbers_.at(number)};
  }

  Traced sequence(nb::handle object) {
    std::vector<Traced> elements;
    bool is_constant = true;
    for (nb::handle item : nb::borrow<nb::object>(object)) {
      elements.push_back(value(item));
      is_constant =
          is_constant && jit::constant_of(elements.back().value) && !elements.back().now.is_tensor();
    }
    if (is_constant && !elements.empty()) return trace_.constant(to_ivalue(object, nullptr));
    return PyList_Check(object.ptr()) || holds_size(object) ? trace_.list(std::move(elements))
                                                            : trace_.tuple(std::move(elements));
  }

  Traced dictionary(const nb::dict& object) {
    std::vector<std::pair<Traced, Traced>> items;
    for (const auto& [key, item] : object) items.emplace_back(value(key), value(item));
    return trace_.dict(std::move(items));
  }

  nb::object result(const Traced& traced) {
    if (!traced.now.is_int()) return to_python(traced.now);
    numbers_.push_back(traced.value);
    return make_size_(traced.now.to_int(), nb::find(this), numbers_.size() - 1);
  }

  nb::object results(const std::vector<Traced>& values) {
    if (values.empty()) return nb::none();
    if (values.size() == 1) return result(values[0]);
    nb::list list;
    for (const Traced& item : values) list.append(result(item));
    return nb::tuple(list);
  }

  // The operator and its operands by type, constants by value: equal for nodes that do the same.
  static std::string describe(const ir::Node& node) {
    std::string text;
    for (const ir::Value* output : node.outputs)
      text += (text.empty() ? "%" : ", %") + std::to_string(output->id);
    text += fmt::format(" = {}(", node.kind_name());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const IValue* constant = jit::constant_of(node.inputs[i]);
      text += i ? ", " : "";
      if (!constant)
        text += node.inputs[i]->name.empty() ? fmt::format("%{}", node.inputs[i]->id)
                                             : "%" + node.inputs[i]->name;
      else
        text += constant->is_tensor() ? weft::describe(constant->to_tensor()) : constant->repr();
    }
    return text + ")";
  }

  std::shared_ptr<jit::CompilationUnit> unit_;
  Trace trace_;
  nb::object make_size_;
  std::vector<ir::Value*> numbers_;
};

struct Program {
  std::shared_ptr<jit::CompilationUnit> unit = jit::CompilationUnit::create();
  std::shared_ptr<TracedModules> modules = std::make_shared<TracedModules>(unit);
};

void bind_modules(nb::module_& m) {
  nb::class_<Program>(m, "Program")
      .def(nb::init<>())
      .def("add", [](Program& self, const std::string& name,
                     bool training) { return self.modules->add(name, training); })
      .def("add_child", [](Program& self, size_t parent, const std::string& name,
                           size_t child) { self.modules->add_child(parent, name, child); })
      .def("add_script",
           [](Program& self, const jit::Module& module) { return self.modules->add_script(module.object()); })
      .def("module",
           [](Program& self, size_t module) { return jit::Module(self.modules->object(module), self.unit); })
      .def(
          "add_tensor",
          [](Program& self, size_t module, const std::string& name, nb::handle object, bool is_parameter,
             bool is_persistent) {
            const Tensor* tensor = tensor_of_python(object);
            self.modules->add_tensor(module, name, tensor ? *tensor : Tensor(), is_parameter, is_persistent);
          },
          nb::arg("module"), nb::arg("name"), nb::arg("tensor").none(), nb::arg("is_parameter"),
          nb::arg("is_persistent"));
}

void bind_recorder(nb::module_& m) {
  nb::class_<Recorder>(m, "Recorder")
      .def("__init__",
           [](Recorder* self, Program& program, bool has_modules, nb::object make_size) {
             new (self) Recorder(has_modules ? program.modules : nullptr, program.unit, std::move(make_size));
           })
      .def("set_location",
           [](Recorder& self, const std::string& file, int line) { self.trace().set_location(file, line); })
      .def("enter", [](Recorder& self, size_t module) { self.trace().enter(module); })
      .def("leave", [](Recorder& self) { self.trace().leave(); })
      .def("add_input", &Recorder::add_input)
      .def("add_closure", &Recorder::add_closure)
      .def("is_computed", &Recorder::is_computed)
      .def("is_known", &Recorder::is_known)
      .def("call", &Recorder::call)
      .def("call_script", &Recorder::call_script)
      .def("call_method", &Recorder::call_method)
      .def("call_operator", &Recorder::call_operator)
      .def("finish_graph", &Recorder::finish_graph)
      .def("graph", &Recorder::graph)
      .def("value_id", &Recorder::value_id)
      .def("finish_function",
           [](Recorder& self, const std::string& qualified_name) {
             const std::string name = self.unit()->unique_name(qualified_name);
             std::shared_ptr<jit::Function> function = self.trace().finish_function(name);
             self.unit()->add_function(function);
             return ScriptFunction{std::move(function), self.unit()};
           })
      .def("finish_method",
           [](Recorder& self, const std::string& name) { self.trace().finish_method(name); });
}

}  // namespace

void bind_jit_trace(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_trace", "The recorder of weft.jit.trace.");
  bind_modules(m);
  bind_recorder(m);
  m.def(
      "set_handler",
      [](nb::handle handler) {
        PyObject* previous = trace_handler;
        trace_handler = handler.is_none() ? nullptr : Py_NewRef(handler.ptr());
        return previous ? nb::steal(previous) : nb::none();
      },
      nb::arg("handler").none(),
      "What the operators of this thread are handed to: called with (operator, in place?, args, kwargs).");
  m.def("handler", [] { return trace_handler ? nb::borrow(trace_handler) : nb::none(); });
  m.def("match_call", &match_call);
  m.def("operator_name", [](nb::handle op) { return operator_argument(op).name; });
}

}  // namespace weft::python
