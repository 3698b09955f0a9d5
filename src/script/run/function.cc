#include "script/program/function.h"

#include <fmt/format.h>

#include "script/optimize/graph_passes.h"
#include "script/run/code.h"
#include "script/run/interpreter.h"

namespace weft::jit {

Function::Function(std::string qualified_name, Schema schema,
                   std::function<std::unique_ptr<ir::Graph>()> define)
    : impl_(std::make_unique<FunctionImpl>()) {
  impl_->name = qualified_name.substr(qualified_name.find_last_of('.') + 1);
  impl_->qualified_name = std::move(qualified_name);
  impl_->schema = std::move(schema);
  impl_->define = std::move(define);
}

Function::~Function() = default;

const std::string& Function::qualified_name() const { return impl_->qualified_name; }
const std::string& Function::name() const { return impl_->name; }
const Schema& Function::schema() const { return impl_->schema; }
const ir::Graph& Function::graph() const { return impl_->get_graph(); }

IValue Function::operator()(std::vector<IValue> arguments, const Keywords& keywords) const {
  std::vector<IValue> bound = bind_arguments(impl_->schema, std::move(arguments), keywords);
  if (impl_->precondition) impl_->precondition(bound);
  return run_code(code_to_call(*impl_), bound);
}

const Code& code_of(FunctionImpl& function) {
  if (const Code* made = function.ready.load(std::memory_order_acquire)) return *made;
  const ir::Graph& original = function.get_graph();
  // Without the lock: it may ask others for their graphs.
  const std::unique_ptr<ir::Graph> changed = with_number_constants(original);
  const std::lock_guard lock(function.mutex);
  if (!function.code) {
    function.code = std::make_shared<const Code>(changed ? *changed : original, function.name);
    function.ready.store(function.code.get(), std::memory_order_release);
  }
  return *function.code;
}

}  // namespace weft::jit
