// Which code a call of a function runs: interpreted at first, with compiled stretches then.
#include <fmt/format.h>

#include <atomic>

#include "core/profiling.h"
#include "runtime/log.h"
#include "script/optimize/graph_passes.h"
#include "script/program/function.h"
#include "script/run/code.h"
#include "script/run/stretch_outline.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

std::atomic<bool>& executor_switch() {
  static std::atomic<bool> on = env::flag("WEFT_JIT_COMPILE") && !env::flag("WEFT_DISABLE_COMPILE");
  return on;
}

// Null where nothing is worth compiling.
std::shared_ptr<const Code> optimize(const FunctionImpl& function, const ir::Graph& original) try {
  const profiling::Span span([&] { return "optimize " + function.qualified_name; }, profiling::Kind::Compile);
  const std::unique_ptr<ir::Graph> graph = original.clone();
  graph->name = function.qualified_name;
  inline_calls(*graph);
  replace_number_constants(*graph);
  fold_script_constants(*graph);
  gather_numbers(*graph);
  relax_views(*graph);
  remove_dropout(*graph);
  fold_batch_norm(*graph);
  remove_dead_nodes(*graph);
  const size_t stretches = outline_stretches(*graph, function.compile_at_once, function.mode);
  log::write(log::Channel::Executor,
             fmt::format("{}: {}", function.qualified_name,
                         stretches ? fmt::format("{} stretches", stretches) : "interpreted"));
  if (log::dumping()) log::dump(function.qualified_name + ".executor.graph", graph->str());
  return stretches ? std::make_shared<const Code>(*graph, function.name) : nullptr;
} catch (const Error& error) {  // of a function that is called: it is raised when that runs
  log::write(log::Channel::Executor,
             fmt::format("{}: interpreted: {}", function.qualified_name, error.what()));
  return nullptr;
}

}  // namespace

void set_profiling_executor(bool on) { executor_switch() = on; }
bool profiling_executor() { return executor_switch(); }

const Code& code_to_call(FunctionImpl& function) {
  if (!executor_switch().load(std::memory_order_relaxed)) return code_of(function);
  if (const Code* made = function.optimized_ready.load(std::memory_order_acquire)) return *made;
  if (!function.compile_at_once && !function.was_called.exchange(true)) return code_of(function);
  const std::unique_lock lock(function.optimizing, std::try_to_lock);
  if (!lock.owns_lock()) return code_of(function);
  if (function.optimized_ready.load(std::memory_order_relaxed) == nullptr) {
    function.optimized = optimize(function, function.get_graph());
    function.optimized_ready.store(function.optimized ? function.optimized.get() : &code_of(function),
                                   std::memory_order_release);
  }
  return *function.optimized_ready.load(std::memory_order_relaxed);
}

}  // namespace weft::jit
