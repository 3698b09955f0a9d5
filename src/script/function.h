// What a Function holds: its graph, made on demand, and its code.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "ir/graph.h"
#include "weft/jit/module.h"

namespace weft::jit {

class Code;  // script/code.h: the interpreter's instructions

struct FunctionImpl {
  std::string qualified_name, name;
  Schema schema;
  std::function<std::unique_ptr<ir::Graph>()> define;

  std::recursive_mutex mutex;  // of what follows, while it is made
  std::unique_ptr<ir::Graph> graph;
  std::shared_ptr<const Code> code;  // null: not made yet
  std::atomic<const Code*> ready{nullptr};

  ir::Graph& get_graph();
  const Code& get_code();
};

}  // namespace weft::jit
