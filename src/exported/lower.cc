#include "exported/lower.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "exported/graph_lowering.h"
#include "script/builtins/prim.h"
#include "script/program/function.h"
#include "script/trace/trace.h"

namespace weft::exported {
namespace {

// A module's tensors by the path of modules that leads to them.
class Weights {
 public:
  explicit Weights(jit::TracedModules& modules) : modules_(modules) { numbers_[""] = modules.add("__torch__.Exported", false); }

  void add(const std::string& name, const Tensor& tensor, bool is_parameter, bool is_persistent) {
    const size_t dot = name.rfind('.');
    const std::string path = dot == std::string::npos ? "" : name.substr(0, dot);
    modules_.add_tensor(module(path), name.substr(dot + 1), tensor, is_parameter, is_persistent);
  }

 private:
  size_t module(const std::string& path) {
    const auto found = numbers_.find(path);
    if (found != numbers_.end()) return found->second;
    const size_t dot = path.rfind('.');
    const size_t parent = module(dot == std::string::npos ? "" : path.substr(0, dot));
    const size_t number = modules_.add("__torch__.Exported", false);
    modules_.add_child(parent, path.substr(dot + 1), number);
    return numbers_[path] = number;
  }

  jit::TracedModules& modules_;
  std::map<std::string, size_t> numbers_;
};

struct Attribute {
  std::string path;  // "layer.0.weight"
  std::string name;  // of the graph's value
};

// What the graph's inputs and outputs are.
struct Signature {
  std::vector<Attribute> attributes;
  std::vector<const Json*> inputs;  // the user's: arguments of the schema
  struct Update {
    std::string value, target;  // the target: an attribute's path, or a user's input
    bool is_attribute;
  };
  std::vector<Update> updates;
  std::vector<const Json*> outputs;
  std::vector<std::string> tokens;  // what orders effects: nothing here
};

const std::string& argument_name(const Json& spec, const std::string& where) {
  return text(field(spec, "arg", where), "name", where);
}

Signature read_signature(const Json& graph_module, const Tensors& weights, const Tensors& constants,
                         Weights& modules) {
  Signature result;
  const std::string where = "the signature";
  const Json& signature = field(graph_module, "signature", where);
  const auto add = [&](const Tensors& tensors, const std::string& path, const Json& spec, bool is_parameter,
                       bool is_persistent) {
    const auto found = tensors.find(path);
    if (found == tensors.end()) fail(fmt::format("there is no tensor '{}'", printable(path)));
    result.attributes.push_back({path, argument_name(spec, where)});
    modules.add(path, found->second, is_parameter, is_persistent);
  };
  for (const Json& input : list(signature, "input_specs", where)) {
    const auto [kind, spec] = choice(input, where + ": an input");
    if (kind == "user_input") {
      result.inputs.push_back(&field(spec, "arg", where));
    } else if (kind == "constant_input") {
      result.inputs.push_back(&input);
    } else if (kind == "parameter") {
      add(weights, text(spec, "parameter_name", where), spec, true, true);
    } else if (kind == "buffer") {
      const bool is_persistent = truth(field(spec, "persistent", where), where);
      add(is_persistent || !constants.contains(text(spec, "buffer_name", where)) ? weights : constants, text(spec, "buffer_name", where), spec, false, is_persistent);
    } else if (kind == "token") {
      result.tokens.push_back(argument_name(spec, where));
    } else if (kind == "tensor_constant") {
      add(constants, text(spec, "tensor_constant_name", where), spec, false, false);
    } else if (kind == "custom_obj") {
      fail(fmt::format("the input '{}' is an object of a custom class, which weft does not have",
                       printable(argument_name(spec, where))));
    } else {
      fail(fmt::format("an input is a '{}', which weft does not know", printable(kind)));
    }
  }
  for (const Json& output : list(signature, "output_specs", where)) {
    const auto [kind, spec] = choice(output, where + ": an output");
    if (kind == "user_output")
      result.outputs.push_back(&field(spec, "arg", where));
    else if (kind == "buffer_mutation" || kind == "parameter_mutation")
      result.updates.push_back({argument_name(spec, where),
                                text(spec, kind == "buffer_mutation" ? "buffer_name" : "parameter_name", where), true});
    else if (kind == "user_input_mutation")
      result.updates.push_back({argument_name(spec, where), text(spec, "user_input_name", where), false});
    else if (kind != "token")
      fail(fmt::format("an output is a '{}', which weft does not know", printable(kind)));
  }
  return result;
}

// "4" of a number, else sympy's text.
std::string size_text(const Json& size, const std::string& where) {
  const auto [kind, value] = choice(size, where);
  if (kind == "as_int") return std::to_string(integer(value, where));
  return text(field(value, "expr_str", where), where);
}

const std::map<int64_t, DType>& dtype_numbers() {
  static const auto& table = *new std::map<int64_t, DType>{
      {1, DType::U8},   {2, DType::I8},   {3, DType::I16},   {4, DType::I32},    {5, DType::I64},
      {6, DType::F16},  {7, DType::F32},  {8, DType::F64},   {10, DType::C64},   {11, DType::C128},
      {12, DType::Bool}, {13, DType::BF16}, {28, DType::U16}, {29, DType::F8E4M3FN}, {30, DType::F8E5M2},
      {31, DType::F8E4M3FNUZ}, {32, DType::F8E5M2FNUZ}, {34, DType::U32}, {35, DType::U64}};
  return table;
}

}  // namespace

Lowered lower(const Json& graph_module, const Tensors& weights, const Tensors& constants) {
  const auto unit = jit::CompilationUnit::create();
  jit::TracedModules modules(unit);
  Weights attributes(modules);
  const Signature signature = read_signature(graph_module, weights, constants, attributes);
  const std::shared_ptr<jit::Object>& root = modules.object(0);
  auto graph = std::make_unique<ir::Graph>(root->type->name() + ".forward");
  const Json& source = field(graph_module, "graph", "the program");

  Lowered result;
  GraphLowering lowering(*graph, *unit, source);
  const auto script_type = [](jit::TypePtr type) {
    return ir::Type{.kind = ir::Type::Kind::Script, .tensor = {}, .script = std::move(type)};
  };
  ir::Value* self = graph->add_param(graph->body(), script_type(root->type), "self");
  for (const Json* argument : signature.inputs) {
    Input input;
    std::vector<std::string> sizes;
    const auto [kind, value] = choice(*argument, "an input");
    if (kind == "as_tensor") {
      input.name = text(value, "name", "an input");
      input.is_tensor = true;
      const Json& meta = lowering.tensor_meta(input.name);
      input.dtype = dtype_of(field(meta, "dtype", input.name), input.name);
      for (const Json& size : list(meta, "sizes", input.name)) sizes.push_back(size_text(size, input.name));
      lowering.bind(input.name, graph->add_param(graph->body(), script_type(jit::Type::tensor()), input.name));
    } else if (kind == "constant_input") {
      input.name = text(value, "name", "an input");
      input.is_constant = true;
      input.constant = lowering.constant_value(field(value, "value", input.name));
    } else if ((kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") && value.contains("as_name")) {
      input.name = text(value, "as_name", "an input");
      const jit::TypePtr type = kind == "as_sym_int"     ? jit::Type::integer()
                                : kind == "as_sym_float" ? jit::Type::floating()
                                                         : jit::Type::boolean();
      lowering.bind(input.name, graph->add_param(graph->body(), script_type(type), input.name));
    } else {
      input.name = fmt::format("input_{}", result.inputs.size());
      input.is_constant = true;
      input.constant = lowering.constant_value(*argument);
    }
    result.inputs.push_back(std::move(input));
    result.size_texts.push_back(std::move(sizes));
  }
  for (const Attribute& attribute : signature.attributes)
    lowering.bind(attribute.name, lowering.read_attribute(self, attribute.path));

  for (const std::string& token : signature.tokens) lowering.bind(token, lowering.constant(IValue()));

  lowering.run();
  lowering.refuse_missing();
  for (const Signature::Update& update : signature.updates) {
    ir::Value* target =
        update.is_attribute ? lowering.read_attribute(self, update.target) : lowering.find(update.target);
    lowering.call("aten::copy_", {target, lowering.find(update.value)});
  }
  std::vector<ir::Value*> outputs;
  for (const Json* output : signature.outputs) outputs.push_back(lowering.value_of(*output, "an output"));
  lowering.finish(outputs);

  const std::string name = graph->name;
  const std::shared_ptr<jit::Function> forward = jit::function_of(name, std::move(graph));
  forward->impl().compile_at_once = true;  // as compiled modules
  root->type->add_method(forward);
  result.module = jit::Module(root, unit);
  return result;
}

DType dtype_of(const Json& number, const std::string& where) {
  const auto found = dtype_numbers().find(integer(number, where));
  if (found == dtype_numbers().end())
    fail(fmt::format("{}: weft has no dtype of the schema's number {}", where, number.dump()));
  return found->second;
}

int64_t number_of(DType dtype) {
  for (const auto& [number, each] : dtype_numbers())
    if (each == dtype) return number;
  throw_error(ErrorKind::Value, fmt::format("exported programs have no dtype {}", weft::name(dtype)));
}

Device device_of(const Json& value, const std::string& where) {
  const std::string& type = text(value, "type", where);
  const Json& index = field(value, "index", where);
  return Device::parse(index.is_null() ? type : fmt::format("{}:{}", type, integer(index, where)));
}

}  // namespace weft::exported
