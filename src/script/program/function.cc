#include "script/program/function.h"

namespace weft::jit {

ir::Graph& FunctionImpl::get_graph() {
  const std::lock_guard lock(mutex);
  if (!graph) graph = define();
  return *graph;
}

void FunctionImpl::forget() {
  ready = optimized_ready = nullptr;
  code.reset();
  optimized.reset();
  graph.reset();
}

std::shared_ptr<Function> function_of(const std::string& qualified_name, std::unique_ptr<ir::Graph> graph) {
  Schema schema;
  schema.name = qualified_name.substr(qualified_name.rfind('.') + 1);
  for (const ir::Value* input : graph->inputs()) {
    SchemaArgument argument;
    argument.name = input->name;
    argument.type = input->type.script;
    schema.arguments.push_back(std::move(argument));
  }
  schema.returns.push_back({"", graph->outputs().at(0)->type.script});
  auto function = std::make_shared<Function>(qualified_name, std::move(schema), nullptr);
  function->impl().graph = std::move(graph);
  return function;
}

}  // namespace weft::jit
