// What a Function holds: its graph, made on demand, and the code that script/run makes of it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "ir/graph.h"
#include "weft/jit/module.h"

namespace weft::jit {

class Code;  // script/run/code.h: the interpreter's instructions

struct FunctionImpl {
  std::string qualified_name, name;
  Schema schema;
  std::function<std::unique_ptr<ir::Graph>()> define;
  bool compile_at_once = false;         // at the first call rather than after a profiling run
  std::string mode = "default";         // that its stretches are compiled in (weft::CompileOptions)
  // What arguments must be beyond their types: raises before each call that comes from outside. May be null.
  std::function<void(std::span<const IValue> arguments)> precondition;
  std::weak_ptr<CompilationUnit> unit;  // the program it belongs to, if any

  std::recursive_mutex mutex;  // of what follows, while it is made
  std::unique_ptr<ir::Graph> graph;
  std::shared_ptr<const Code> code;  // null: not made yet
  std::atomic<const Code*> ready{nullptr};

  std::mutex optimizing;  // one thread optimizes; others go on interpreting
  std::shared_ptr<const Code> optimized;
  std::atomic<const Code*> optimized_ready{nullptr};
  std::atomic<bool> was_called{false};

  ir::Graph& get_graph();
  void forget();  // what was made of its source; nobody runs it
};

// A function or method whose graph is made: its parameters, and the type of what it returns, are the graph's.
std::shared_ptr<Function> function_of(const std::string& qualified_name, std::unique_ptr<ir::Graph> graph);

}  // namespace weft::jit
