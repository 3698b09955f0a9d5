#include "exported/graph_lowering.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "exported/lower.h"
#include "ops/autocast.h"
#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "script/emit/overload.h"

namespace weft::exported {
namespace {

using jit::Type;
using jit::type_of;

// TorchScript's numbers of layouts and memory formats, from the schema's.
int64_t layout_number(int64_t number, const std::string& where) {
  if (number != 7) fail(fmt::format("{}: layout {}: weft's tensors are strided", where, number));
  return 0;
}
int64_t memory_format_number(int64_t number, const std::string& where) {
  static const auto& table = *new std::map<int64_t, int64_t>{{1, 0}, {2, 2}, {3, 3}, {4, 1}};
  const auto found = table.find(number);
  if (found == table.end()) fail(fmt::format("{}: memory format {} is not known", where, number));
  return found->second;
}

// "torch.ops.aten.add.Tensor" in its parts.
struct Target {
  std::string space, name, overload;
};
std::optional<Target> operator_target(const std::string& target) {
  constexpr std::string_view prefix = "torch.ops.";
  if (!target.starts_with(prefix)) return std::nullopt;
  const std::string rest = target.substr(prefix.size());
  const size_t first = rest.find('.'), last = rest.rfind('.');
  if (first == std::string::npos) return std::nullopt;
  if (first == last) return Target{rest.substr(0, first), rest.substr(first + 1), ""};
  const std::string overload = rest.substr(last + 1);
  return Target{rest.substr(0, first), rest.substr(first + 1, last - first - 1), overload == "default" ? "" : overload};
}

// The last "File "model.py", line 12" of a stack trace.
ir::SourceLocation location_of(const Json& node) {
  ir::SourceLocation result;
  if (!node.contains("metadata") || !node["metadata"].is_object()) return result;
  const auto found = node["metadata"].find("stack_trace");
  if (found == node["metadata"].end() || !found->is_string()) return result;
  const std::string& trace = found->get_ref<const std::string&>();
  const size_t at = trace.rfind("File \"");
  const size_t end = at == std::string::npos ? at : trace.find("\", line ", at);
  if (end == std::string::npos) return result;
  int line = 0;
  const char* const digits = trace.data() + end + 8;
  if (std::from_chars(digits, trace.data() + trace.size(), line).ec != std::errc()) return result;
  result.file = std::make_shared<const std::string>(trace.substr(at + 6, end - at - 6));
  result.line = line;
  return result;
}

constexpr std::array kPythonFunctions = {
    PythonFunction{"_operator.add", "aten::add"},        PythonFunction{"_operator.sub", "aten::sub"},
    PythonFunction{"_operator.mul", "aten::mul"},        PythonFunction{"_operator.floordiv", "aten::floordiv"},
    PythonFunction{"_operator.truediv", "aten::div"},    PythonFunction{"_operator.mod", "aten::remainder"},
    PythonFunction{"_operator.neg", "aten::neg"},        PythonFunction{"_operator.pos", ""},
    PythonFunction{"_operator.eq", "aten::eq"},          PythonFunction{"_operator.ne", "aten::ne"},
    PythonFunction{"_operator.lt", "aten::lt"},          PythonFunction{"_operator.le", "aten::le"},
    PythonFunction{"_operator.gt", "aten::gt"},          PythonFunction{"_operator.ge", "aten::ge"},
    PythonFunction{"_operator.and_", "aten::__and__"},   PythonFunction{"_operator.or_", "aten::__or__"},
    PythonFunction{"_operator.lshift", "aten::__lshift__"}, PythonFunction{"_operator.rshift", "aten::__rshift__"},
    PythonFunction{"_operator.not_", "aten::__not__"},   PythonFunction{"_operator.abs", "prim::abs"},
    PythonFunction{"builtins.abs", "prim::abs"},         PythonFunction{"builtins.round", "aten::round"},
    PythonFunction{"builtins.max", "prim::max"},         PythonFunction{"builtins.min", "prim::min"},
    PythonFunction{"math.ceil", "aten::ceil"},           PythonFunction{"math.floor", "aten::floor"},
    PythonFunction{"math.trunc", "aten::Int"},           PythonFunction{"math.sqrt", "aten::sqrt"},
    PythonFunction{"math.pow", "aten::pow"},             PythonFunction{"math.log2", "aten::log2"},
    PythonFunction{"torch.sym_int", "aten::Int"},        PythonFunction{"torch.sym_float", "aten::Float"},
    PythonFunction{"torch.sym_max", "prim::max"},        PythonFunction{"torch.sym_min", "prim::min"},
    PythonFunction{"torch.sym_not", "aten::__not__"},    PythonFunction{"torch._sym_sqrt", "aten::sqrt"},
    PythonFunction{"torch._sym_log2", "aten::log2"},
};

// The view that an operator is a copy of: aten::permute of aten::permute_copy; "" of other operators.
std::string view_of_copy(const std::string& name) {
  constexpr std::string_view suffix = "_copy";
  if (!name.ends_with(suffix)) return "";
  const std::string view = name == "aten::lift_fresh_copy" ? "aten::alias" : name.substr(0, name.size() - suffix.size());
  return jit::find_builtins(view).empty() ? "" : view;
}
// Operators that lower_copy takes.
bool is_copy(const std::string& name) {
  return name == "aten::lift" || name == "aten::lift_fresh" || name == "aten::_pdist_forward" || !view_of_copy(name).empty();
}

}  // namespace

std::span<const PythonFunction> python_functions() { return kPythonFunctions; }

GraphLowering::GraphLowering(ir::Graph& graph, jit::CompilationUnit& unit, const Json& source)
    : emitter_(graph, unit, jit::builtin_resolver()) {
  graphs_.push_back({&source, {}});
}

// ---- values ----------------------------------------------------------------------------------------------
void GraphLowering::bind(const std::string& name, ir::Value* value) { graphs_.back().values[name] = value; }

ir::Value* GraphLowering::find(const std::string& name) const {
  const auto& values = graphs_.back().values;
  const auto found = values.find(name);
  if (found == values.end()) fail(fmt::format("{}: there is no value '{}' before it", where_, printable(name)));
  return found->second;
}

const Json& GraphLowering::tensor_meta(const std::string& name) const {
  const auto copy = copies_.find(name);
  const std::string& named = copy == copies_.end() ? name : copy->second;
  return field(field(*graphs_.back().source, "tensor_values", "the graph"), named.c_str(), "tensor_values");
}

ir::Value* GraphLowering::read_attribute(ir::Value* self, const std::string& path) {
  ir::Value* owner = self;
  for (size_t start = 0;;) {
    const size_t dot = path.find('.', start);
    ir::Value*& found = objects_[path.substr(0, dot)];
    if (!found) {
      ir::ScriptPayload payload;
      payload.text = path.substr(start, dot == std::string::npos ? dot : dot - start);
      const auto& type = static_cast<const jit::ClassType&>(*type_of(owner));
      found = emitter_.value(jit::prim::kGetAttr, {owner}, type.attributes()[*type.find_slot(payload.text)].type,
                             range_, payload);
    }
    owner = found;
    if (dot == std::string::npos) return owner;
    start = dot + 1;
  }
}

IValue GraphLowering::constant_value(const Json& argument) {
  const auto [kind, value] = choice(argument, where_);
  const auto each = [&](auto read) {
    std::vector<std::decay_t<decltype(read(value))>> result;
    for (const Json& item : items(value, where_)) result.push_back(read(item));
    return result;
  };
  if (kind == "as_none") return {};
  if (kind == "as_int" || kind == "as_sym_int") return kind == "as_int" ? integer(value, where_) : integer(field(value, "as_int", where_), where_);
  if (kind == "as_float") return real(value, where_);
  if (kind == "as_bool") return truth(value, where_);
  if (kind == "as_string") return text(value, where_);
  if (kind == "as_complex")
    return std::complex<double>(real(field(value, "real", where_), where_), real(field(value, "imag", where_), where_));
  if (kind == "as_scalar_type") return dtype_of(value, where_);
  if (kind == "as_layout") return layout_number(integer(value, where_), where_);
  if (kind == "as_memory_format") return memory_format_number(integer(value, where_), where_);
  if (kind == "as_device") return device_of(value, where_);
  if (kind == "as_ints") return each([&](const Json& item) { return integer(item, where_); });
  if (kind == "as_floats") return each([&](const Json& item) { return real(item, where_); });
  if (kind == "as_bools") return each([&](const Json& item) { return truth(item, where_); });
  if (kind == "as_strings") return each([&](const Json& item) { return text(item, where_); });
  fail(fmt::format("{}: an argument is of the kind '{}', which weft does not know there", where_, printable(kind)));
}

ir::Value* GraphLowering::value_of(const Json& argument, const std::string& where) {
  const auto [kind, value] = choice(argument, where);
  const auto made_list = [&](const jit::TypePtr& element, const Json& parts, auto read) {
    Values values;
    for (const Json& part : items(parts, where)) values.push_back(read(part));
    return emitter_.value(jit::prim::kListConstruct, values, Type::list(element), range_);
  };
  const auto tensor = [&](const Json& part) { return find(text(part, "name", where)); };
  if (kind == "as_tensor") return tensor(value);
  if (kind == "as_tensors") return made_list(Type::tensor(), value, tensor);
  if (kind == "as_optional_tensor" || kind == "as_optional_tensors") {
    const auto optional = [&](const Json& part) {
      const auto [present, named] = choice(part, where);
      return present == "as_none" ? emitter_.none(range_) : tensor(named);
    };
    if (kind == "as_optional_tensor") return optional(value);
    const jit::TypePtr type = Type::optional(Type::tensor());
    return made_list(type, value, [&](const Json& part) { return emitter_.retyped(optional(part), type, range_); });
  }
  // A number that is one of the graph's values, or a constant.
  const auto number = [&](const Json& part) {
    const auto [named, content] = choice(part, where);
    return named == "as_name" ? find(text(content, where)) : constant(constant_value(part));
  };
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") return number(value);
  if (kind == "as_sym_ints") return made_list(Type::integer(), value, number);
  if (kind == "as_sym_floats") return made_list(Type::floating(), value, number);
  return constant(constant_value(argument));
}

ir::Value* GraphLowering::truth_of(ir::Value* value) {
  if (type_of(value)->is(jit::TypeKind::None)) refuse_missing();
  return emitter_.to_bool(value, range_);
}

ir::Value* GraphLowering::call(const std::string& name, const Values& inputs) {
  return emitter_.builtin(name, inputs, range_);
}

// ---- nodes -----------------------------------------------------------------------------------------------
void GraphLowering::run() { lower_nodes(); }

void GraphLowering::lower_nodes() {
  const Json& nodes = list(*graphs_.back().source, "nodes", "the graph");
  lower_range(nodes, 0, nodes.size());
}

void GraphLowering::lower_range(const Json& nodes, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (text(nodes[i], "target", "a node") == kVmapBegins)
      i = lower_vmap(nodes, i, end);
    else
      lower_node(nodes[i]);
  }
}

void GraphLowering::lower_node(const Json& node) {
  const std::string& target = text(node, "target", "a node");
  where_ = target;
  location_ = location_of(node);
  std::vector<Argument> arguments;
  for (const Json& input : list(node, "inputs", where_))
    arguments.push_back({text(input, "name", where_), &field(input, "arg", where_)});
  lower_target(target, arguments, list(node, "outputs", where_));
}

void GraphLowering::lower_target(const std::string& target, const std::vector<Argument>& arguments, const Json& outputs) {
  const std::optional<Target> parts = operator_target(target);
  if (!parts) return lower_python(target, arguments, outputs);
  if (parts->space == "higher_order") return lower_region(parts->name, arguments, outputs);
  if (parts->space == "aten" && lower_check(parts->name, arguments)) return;
  if (parts->space == "aten" && lower_foreach(parts->name, parts->overload, arguments, outputs)) return;
  if (parts->space == "aten" && parts->name.starts_with("sym_") && jit::find_builtins("aten::" + parts->name).empty())
    return lower_operator("aten::" + parts->name.substr(4), parts->overload, arguments, outputs);
  lower_operator(fmt::format("{}::{}", parts->space, parts->name), parts->overload, arguments, outputs);
}

const jit::Builtin* GraphLowering::find_operator(const std::string& target) {
  const std::optional<Target> parts = operator_target(target);
  if (!parts) return nullptr;
  const std::string name = fmt::format("{}::{}", parts->space, parts->name);
  return jit::find_builtin(parts->overload.empty() ? name : name + "." + parts->overload);
}

void GraphLowering::lower_operator(const std::string& name, const std::string& overload,
                                   const std::vector<Argument>& arguments, const Json& outputs) {
  const std::string exact = overload.empty() ? name : name + "." + overload;
  const auto overloads = jit::find_builtins(name);
  if (std::any_of(arguments.begin(), arguments.end(), [&](const Argument& each) { return is_unknown(*each.value); })) {
    if (overloads.empty() && !is_copy(name)) missing_.emplace(exact, "");
    return bind_unknown(outputs);
  }
  std::vector<const jit::Builtin*> candidates;
  if (overloads.empty() && lower_copy(name, overload, arguments, outputs)) return;
  // The overload itself first; a number that is one of the graph's values may need that of numbers.
  const auto takes_tensors = [](const jit::Builtin* builtin) {
    const auto& formals = builtin->schema.arguments;
    return std::any_of(formals.begin(), formals.end(), [](const auto& formal) {
      const jit::TypePtr type = jit::without_none(formal.type);
      return type->is(jit::TypeKind::Tensor) || (type->is(jit::TypeKind::List) && type->element()->is(jit::TypeKind::Tensor));
    });
  };
  for (const bool is_named : {true, false})
    for (const jit::Builtin* builtin : overloads)
      if ((builtin->overload == overload) == is_named &&
          (candidates.empty() || takes_tensors(builtin) || !takes_tensors(candidates[0])))
        candidates.push_back(builtin);
  if (candidates.empty()) {
    missing_.emplace(exact, "");
    return bind_unknown(outputs);
  }
  std::vector<const jit::Schema*> schemas;
  for (const jit::Builtin* builtin : candidates) schemas.push_back(&builtin->schema);
  const auto has_argument = [&](const std::string& argument) {
    const auto& formals = candidates[0]->schema.arguments;
    return std::any_of(formals.begin(), formals.end(), [&](const auto& formal) { return formal.name == argument; });
  };
  jit::CallArguments given;
  bool is_positional = true;
  for (const Argument& argument : arguments) {
    // Once an argument goes by its name, so do those behind it.
    const size_t place = given.size();
    const auto& formals = candidates[0]->schema.arguments;
    is_positional = is_positional && place < formals.size() && !formals[place].keyword_only &&
                    (argument.name.empty() || formals[place].name == argument.name || !has_argument(argument.name));
    ir::Value* value = in_region(name, arguments, argument, value_of(*argument.value, where_));
    const bool is_first = place == 0 && !formals.empty() && formals[0].type->is(jit::TypeKind::Tensor);
    if (is_first && jit::is_number_type(type_of(value))) value = as_tensor(value, arguments);
    given.push_back({is_positional ? "" : argument.name, value, range_});
  }
  std::optional<jit::Overload> chosen;
  try {
    chosen = jit::select_overload(emitter_, exact, schemas, given, range_);
  } catch (const Error& error) {
    missing_.emplace(exact, error.what());
    return bind_unknown(outputs);
  }
  ir::Node* const made = emitter_.node(*candidates[chosen->index], std::move(chosen->match.inputs),
                                       std::move(chosen->match.returns), range_);
  made->location = location_;
  bind_outputs(outputs, {made->outputs.begin(), made->outputs.end()});
  recast_outputs(outputs);
}

std::optional<DType> GraphLowering::dtype_of_argument(const Argument& argument) const {
  const auto [kind, value] = choice(*argument.value, where_);
  if (kind == "as_optional_tensor" && value.is_object() && value.contains("as_tensor"))
    return dtype_of(field(tensor_meta(text(value["as_tensor"], "name", where_)), "dtype", where_), where_);
  if (kind != "as_tensor") return std::nullopt;
  return dtype_of(field(tensor_meta(text(value, "name", where_)), "dtype", where_), where_);
}

ir::Value* GraphLowering::as_tensor(ir::Value* number, const std::vector<Argument>& arguments) {
  DType dtype = DType::F32;
  const bool is_integer = !type_of(number)->is(jit::TypeKind::Float) && !type_of(number)->is(jit::TypeKind::Complex);
  for (const Argument& argument : arguments) {
    const std::optional<DType> other = dtype_of_argument(argument);
    if (!other) continue;
    if (is_floating(*other) || is_complex(*other) || (is_integer && *other != DType::Bool)) dtype = *other;
    else if (is_integer) dtype = type_of(number)->is(jit::TypeKind::Bool) ? DType::Bool : DType::I64;
    break;
  }
  const jit::CallArguments given = {{"", number, range_}, {"dtype", constant(dtype), range_}};
  return emitter_.call_builtin("aten::scalar_tensor", given, range_)->value();
}

ir::Value* GraphLowering::in_region(const std::string& name, const std::vector<Argument>& arguments,
                                    const Argument& argument, ir::Value* value) {
  if (autocast_.empty() || !autocast_.back()) return value;
  const auto dtype_of_name = [&](const Json& part) {
    return dtype_of(field(tensor_meta(text(part, "name", where_)), "dtype", where_), where_);
  };
  bool has_float32 = false;
  ops::Attrs attrs;
  attrs.set("mode", std::string("constant"));
  for (const Argument& each : arguments) {
    const auto [kind, content] = choice(*each.value, where_);
    has_float32 = has_float32 || dtype_of_argument(each) == DType::F32;
    if (kind == "as_tensors")
      for (const Json& part : items(content, where_)) has_float32 = has_float32 || dtype_of_name(part) == DType::F32;
    if (kind == "as_string") attrs.set(each.name, text(content, where_));
    if (kind == "as_ints" || kind == "as_sym_ints") attrs.set(each.name, SymShape(items(content, where_).size(), Sym(0)));
  }
  if (!attrs.find("equation")) attrs.set("equation", std::string());
  if (!attrs.find("pad")) attrs.set("pad", SymShape());
  const std::string_view short_name = std::string_view(name).substr(name.find("::") + 2);
  const auto wanted = ops::autocast_dtype(short_name, attrs, has_float32, *autocast_.back());
  const bool keeps_states = ops::autocast_keeps_states(short_name);
  if (!wanted || (keeps_states && argument.name == "hx")) return value;
  const auto to = [&](ir::Value* tensor, DType dtype) {
    return call("aten::to", {tensor, constant(dtype), constant(false), constant(false)});
  };
  const auto cast = [&](ir::Value* tensor, DType own) {
    if (!is_floating(own) || own == DType::F64 || own == *wanted) return tensor;
    ir::Value* const rounded = to(tensor, *wanted);
    return keeps_states ? to(rounded, own) : rounded;
  };
  if (const std::optional<DType> own = dtype_of_argument(argument)) return cast(value, *own);
  const auto [kind, content] = choice(*argument.value, where_);
  if (kind != "as_tensors") return value;
  Values parts;
  for (const Json& part : items(content, where_)) parts.push_back(cast(find(text(part, "name", where_)), dtype_of_name(part)));
  return emitter_.make_list(jit::Type::tensor(), parts, range_);
}

void GraphLowering::recast_outputs(const Json& outputs) {
  if (autocast_.empty() || !autocast_.back()) return;
  const auto recast = [&](const Json& part) {
    const std::string& name = text(part, "name", where_);
    ir::Value* const made = find(name);
    const DType wanted = dtype_of(field(tensor_meta(name), "dtype", where_), where_);
    if (is_floating(wanted) && wanted != DType::F64 && !type_of(made)->is(jit::TypeKind::None))
      bind(name, call("aten::to", {made, constant(wanted), constant(false), constant(false)}));
  };
  for (const Json& output : outputs) {
    const auto [kind, value] = choice(output, where_);
    if (kind == "as_tensor") recast(value);
    if (kind == "as_tensors")
      for (const Json& part : items(value, where_)) recast(part);
  }
}

// What decompositions name: a copy in place of a view, and another operator's kernel.
bool GraphLowering::lower_copy(const std::string& name, const std::string& overload,
                               const std::vector<Argument>& arguments, const Json& outputs) {
  if (name == "aten::lift" || name == "aten::lift_fresh")
    return lower_operator("aten::alias", overload, arguments, outputs), true;
  if (name == "aten::_pdist_forward") return lower_operator("aten::pdist", overload, arguments, outputs), true;
  const std::string view = view_of_copy(name);
  if (view.empty()) return false;
  lower_operator(view, overload, arguments, outputs);
  const auto copy = [&](const Json& named) {
    const std::string& result = text(named, "name", where_);
    if (!type_of(find(result))->is(jit::TypeKind::None)) bind(result, call("aten::clone", {find(result)}));
  };
  for (const Json& output : outputs) {
    const auto [kind, value] = choice(output, where_);
    if (kind == "as_tensor") copy(value);
    if (kind == "as_tensors")
      for (const Json& part : items(value, where_)) copy(part);
  }
  return true;
}

// The results of an operator that is missing are None's constant.
bool GraphLowering::is_unknown(const Json& argument) {
  if (missing_.empty()) return false;
  const auto [kind, value] = choice(argument, where_);
  const auto is_none = [&](const Json& named) {
    return named.is_object() && named.contains("name") &&
           type_of(find(text(named, "name", where_)))->is(jit::TypeKind::None);
  };
  if (kind == "as_tensor") return is_none(value);
  return kind == "as_tensors" && value.is_array() && std::any_of(value.begin(), value.end(), is_none);
}

void GraphLowering::bind_unknown(const Json& outputs) {
  for (const Json& output : outputs) bind_output(output, emitter_.none(range_));
}

void GraphLowering::lower_python(const std::string& name, const std::vector<Argument>& arguments, const Json& outputs) {
  if (name == "torch._functorch.predispatch.lazy_load_decompositions") return;  // PyTorch's own
  Values inputs;
  for (const Argument& argument : arguments) inputs.push_back(value_of(*argument.value, where_));
  if (name == "_operator.getitem" && inputs.size() == 2) return bind_outputs(outputs, {call("aten::__getitem__", inputs)});
  if (name == "torch.sym_ite" && inputs.size() == 3) {
    const std::string result = fresh("ite");
    jit::Condition condition;
    condition.value = inputs[0];
    emitter_.emit_branches(condition, range_, [&] { set(result, inputs[1]); }, [&] { set(result, inputs[2]); });
    return bind_outputs(outputs, {get(result)});
  }
  if (name == "torch.sym_sum" && inputs.size() == 1) return bind_outputs(outputs, {call("aten::sum", inputs)});
  if (name == "_operator.pow" && inputs.size() == 2) {
    const bool is_of_ints = type_of(inputs[0])->is(jit::TypeKind::Int) && type_of(inputs[1])->is(jit::TypeKind::Int);
    const jit::Builtin* builtin = jit::find_builtin("aten::pow.int_to_int");
    if (is_of_ints)
      return bind_outputs(outputs, {emitter_.node(*builtin, inputs, {Type::integer()}, range_)->outputs[0]});
    return bind_outputs(outputs, {call("aten::pow", inputs)});
  }
  const auto* found = std::find_if(kPythonFunctions.begin(), kPythonFunctions.end(),
                                   [&](const PythonFunction& function) { return name == function.name; });
  if (found == kPythonFunctions.end() || inputs.empty()) {
    missing_.emplace(name, "");
    return bind_unknown(outputs);
  }
  bind_outputs(outputs, {*found->builtin ? call(found->builtin, inputs) : inputs[0]});
}

void GraphLowering::bind_outputs(const Json& outputs, const Values& results) {
  const auto& named = items(outputs, where_);
  const auto is_none = [](const Json& output) { return output.is_object() && output.contains("as_none"); };
  if (std::all_of(named.begin(), named.end(), is_none)) return;
  // A list's elements one by one.
  const bool is_list = results.size() == 1 && type_of(results[0])->is(jit::TypeKind::List);
  if (named.size() == 1 && named[0].contains("as_tensors") && !is_list) {
    const Json& names = items(named[0]["as_tensors"], where_);
    if (names.size() != results.size())
      fail(fmt::format("{}: {} results, and the program names {}", where_, results.size(), names.size()));
    for (size_t i = 0; i < names.size(); ++i) bind(text(names[i], "name", where_), results[i]);
    return;
  }
  Values parts = results;
  // One tuple for several outputs.
  if (parts.size() == 1 && named.size() > 1 && type_of(parts[0])->is(jit::TypeKind::Tuple))
    parts = emitter_.unpack_tuple(parts[0], range_);
  if (parts.size() < named.size())
    fail(fmt::format("{}: {} results, and the program names {}", where_, parts.size(), named.size()));
  for (size_t i = 0; i < named.size(); ++i) bind_output(named[i], parts[i]);
}

void GraphLowering::bind_output(const Json& output, ir::Value* result) {
  const auto [kind, value] = choice(output, where_);
  if (kind == "as_none") return;
  if (kind == "as_tensor") return bind(text(value, "name", where_), result);
  if (kind == "as_tensors" || kind == "as_optional_tensors") {
    const auto& names = items(value, where_);
    Values parts(names.size(), result);  // of an operator that is missing
    if (type_of(result)->is(jit::TypeKind::List)) {
      const std::vector<jit::TypePtr> types(names.size(), type_of(result)->element());
      const ir::Node* unpacked = emitter_.node(jit::prim::kListUnpack, {result}, types, range_);
      parts.assign(unpacked->outputs.begin(), unpacked->outputs.end());
    }
    for (size_t i = 0; i < names.size(); ++i) {
      const Json* name = &names[i];
      if (kind == "as_optional_tensors") {
        const auto part = choice(names[i], where_);
        if (part.kind == "as_none") continue;
        name = &part.value;
      }
      bind(text(*name, "name", where_), parts[i]);
    }
    return;
  }
  if (kind == "as_optional_tensor") {
    const auto part = choice(value, where_);
    return part.kind == "as_none" ? void() : bind(text(part.value, "name", where_), result);
  }
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
    if (!value.contains("as_name")) return;
    const jit::TypeKind wanted = kind == "as_sym_int"     ? jit::TypeKind::Int
                                 : kind == "as_sym_float" ? jit::TypeKind::Float
                                                          : jit::TypeKind::Bool;
    const char* const convert = kind == "as_sym_int" ? "aten::Int" : kind == "as_sym_float" ? "aten::Float" : "aten::Bool";
    const bool is_missing = type_of(result)->is(jit::TypeKind::None);
    return bind(text(value, "as_name", where_),
                is_missing || type_of(result)->is(wanted) ? result : call(convert, {result}));
  }
  fail(fmt::format("{}: a result is of the kind '{}', which weft does not know", where_, printable(kind)));
}

// ---- checks ----------------------------------------------------------------------------------------------
void GraphLowering::require(ir::Value* condition, const std::string& message) {
  jit::Condition holds;
  holds.value = truth_of(condition);
  emitter_.emit_branches(
      holds, range_, [] {},
      [&] {
        ir::ScriptPayload payload;
        payload.text = "RuntimeError";
        emitter_.node(jit::prim::kRaise, {constant(message)}, {}, range_, payload);
        emitter_.flow() = {jit::Flow::Raised};
      });
}

// dtypes and sizes are those that the graph was exported with: the graph says them itself.
void GraphLowering::check_metadata(const std::vector<Argument>& arguments) {
  const Json* tensor = nullptr;
  for (const Argument& argument : arguments) {
    const auto [kind, value] = choice(*argument.value, where_);
    if (kind == "as_tensor") tensor = &tensor_meta(text(value, "name", where_));
    if (kind == "as_scalar_type" && tensor && value != field(*tensor, "dtype", where_))
      fail(fmt::format("{}: asks for a dtype that the tensor does not have", where_));
  }
}

bool GraphLowering::lower_check(const std::string& name, const std::vector<Argument>& arguments) {
  if (name == "_assert_tensor_metadata") {
    check_metadata(arguments);
    return true;
  }
  if (name != "_assert_scalar" && name != "_assert_async" && name != "sym_constrain_range" &&
      name != "sym_constrain_range_for_size" && name != "_functional_assert_scalar")
    return false;
  if (arguments.empty()) fail(where_ + ": nothing to check");
  ir::Value* value = value_of(*arguments[0].value, where_);
  if (name.find("assert") != std::string::npos) {
    std::string message = "Assertion failed in an exported program";
    if (arguments.size() > 1 && arguments[1].value->contains("as_string"))
      message = text((*arguments[1].value)["as_string"], where_);
    require(value, message);
    return true;
  }
  for (const Argument& bound : arguments) {
    if ((bound.name != "min" && bound.name != "max") || bound.value->contains("as_none")) continue;
    const bool is_least = bound.name == "min";
    require(call(is_least ? "aten::ge" : "aten::le", {value, value_of(*bound.value, where_)}),
            fmt::format("a value that the program computes is {} than its range allows: {}",
                        is_least ? "less" : "greater", bound.value->dump()));
  }
  return true;
}

// ---- the end ---------------------------------------------------------------------------------------------
void GraphLowering::finish(const Values& outputs) {
  ir::Value* result = outputs.size() == 1 ? outputs[0] : outputs.empty() ? emitter_.none(range_) : emitter_.make_tuple(outputs, range_);
  emitter_.graph().add_return(emitter_.block(), result);
}

void GraphLowering::refuse_missing() const {
  if (missing_.empty()) return;
  std::string message = "exported program: weft does not have these operators, or not with these arguments:";
  for (const auto& [name, why] : missing_) message += fmt::format("\n  {}{}{}", name, why.empty() ? "" : ": ", why);
  throw_error(ErrorKind::NotImplemented, message);
}

}  // namespace weft::exported
