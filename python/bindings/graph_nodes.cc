#include "graph_nodes.h"

#include <cstring>

#include "ivalue.h"
#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "script/emit/emitter.h"
#include "script/optimize/graph_passes.h"

namespace weft::python {
namespace {

// TorchScript has numbers for dtypes, whose arguments only the schema's text tells.
bool takes_dtype(const jit::Builtin& builtin, const std::string& argument) {
  for (const char* kind : {"ScalarType ", "ScalarType? "}) {
    const size_t at = builtin.text.find(kind + argument);
    if (at == std::string::npos) continue;
    const char next = builtin.text.at(at + std::strlen(kind) + argument.size());
    if (next == ',' || next == ')' || next == '=') return true;
  }
  return false;
}

struct Tables {
  nb::dict constants, types;
};

void note_value(const ir::Value& value, Tables& tables) {
  tables.types[nb::int_(value.id)] = nb::str(jit::type_of(&value)->str().c_str());
}

nb::tuple block_to_python(const ir::Block& block, Tables& tables) {
  nb::list parameters, nodes, results;
  for (const ir::Value* value : block.params) {
    note_value(*value, tables);
    parameters.append(value->id);
  }
  for (const auto& node : block.nodes) {
    for (const ir::Value* value : node->outputs) note_value(*value, tables);
    if (node->script == &jit::prim::kConstant) {
      tables.constants[nb::int_(node->output()->id)] = to_python(node->payload->value);
      continue;
    }
    nb::list blocks;
    for (const auto& inner : node->blocks) blocks.append(block_to_python(*inner, tables));
    const std::string text = node->payload ? node->payload->text : "";
    nodes.append(nb::make_tuple(node_to_python(*node), nb::str(text.c_str(), text.size()), blocks));
  }
  for (const ir::Value* value : block.returns) results.append(value->id);
  return nb::make_tuple(parameters, nodes, results);
}

}  // namespace

nb::tuple node_to_python(const ir::Node& node) {
  const jit::Builtin* builtin = jit::builtin_of(node);
  nb::list arguments, results;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ir::Value* input = node.inputs[i];
    const bool has_argument = builtin && i < builtin->schema.arguments.size();
    const jit::SchemaArgument* argument = has_argument ? &builtin->schema.arguments[i] : nullptr;
    const IValue* constant = jit::constant_of(input);
    const bool is_default = argument && argument->default_value && constant && !constant->is_tensor() &&
                            constant->repr() == argument->default_value->repr();
    nb::object operand = nb::int_(input->id);
    if (argument && constant && constant->is_int() && takes_dtype(*builtin, argument->name))
      operand = to_python(constant->to_dtype());
    arguments.append(nb::make_tuple(nb::str(argument ? argument->name.c_str() : ""), argument && argument->keyword_only,
                                    is_default, operand));
  }
  for (const ir::Value* output : node.outputs) results.append(output->id);
  const std::string file = node.location.file ? *node.location.file : "";
  return nb::make_tuple(nb::str(std::string(node.kind_name()).c_str()), nb::str(builtin ? builtin->overload.c_str() : ""),
                        arguments, results, nb::str(file.c_str()), node.location.line);
}

nb::dict inlined_to_python(const jit::Function& function) {
  const std::unique_ptr<ir::Graph> graph = function.graph().clone();
  jit::inline_calls(*graph);
  Tables tables;
  nb::dict result;
  result["block"] = block_to_python(graph->body(), tables);
  result["constants"] = tables.constants;
  result["types"] = tables.types;
  nb::list arguments;
  for (const jit::SchemaArgument& argument : function.schema().arguments)
    arguments.append(nb::make_tuple(nb::str(argument.name.c_str()), argument.default_value.has_value(),
                                    argument.default_value ? to_python(*argument.default_value) : nb::none()));
  result["arguments"] = arguments;
  return result;
}

}  // namespace weft::python
