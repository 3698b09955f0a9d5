// Runs a template's tree.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/jinja/functions.h"
#include "models/jinja/objects.h"
#include "models/jinja/tree.h"

namespace weft::models::jinja {

class Evaluator {
 public:
  Evaluator(const Tree& tree, Heap& heap) : heap(heap), tree_(tree) {}
  std::string render(const std::vector<std::pair<std::string, Value>>& variables);
  int line() const { return line_; }

  // What functions use.
  Heap& heap;
  Value attribute(const Value& object, const Value& name);  // object.name
  Value item(const Value& object, const Value& key);        // object[key]
  Value call(const Value& function, Arguments& arguments);
  Value filtered(const std::string& name, const Value& subject, Arguments& arguments);
  bool tested(const std::string& name, const Value& subject, Arguments& arguments);
  Value string(std::string text) { return heap.text(std::move(text)); }
  Value call_loop(Loop& loop, const Value& items);

 private:
  enum class Flow : uint8_t { Normal, Break, Continue };
  struct Nesting;

  // Statements: evaluate_statements.cc.
  Flow run(const Statements& statements, Scope* scope);
  Flow run(const Statement& statement, Scope* scope);
  Flow run_if(const Statement& statement, Scope* scope);
  Flow run_for(const Statement& statement, Scope* scope, const Value& items, int64_t depth0);
  void run_macro_call(const Statement& statement, Scope* scope);
  std::string captured(const Statements& body, Scope* scope);
  void write(std::string_view text);
  void assign(const Target& target, const Value& value, Scope* scope);
  Scope* inner(Scope* scope);
  Value call_macro(const Macro& macro, Arguments& arguments);
  Value through_filters(const Expression& filter, Value value, Scope* scope);

  // Expressions: evaluate_expressions.cc.
  Value evaluate(const Expression& expression, Scope* scope);
  Value evaluate_name(int name, Scope* scope);
  bool compare(Operator symbol, const Value& a, const Value& b);
  Value evaluate_compare(const Expression& expression, Scope* scope);
  Value evaluate_call(const Expression& expression, Scope* scope);
  Value evaluate_dict(const Expression& expression, Scope* scope);
  Value evaluate_sign(const Expression& expression, Scope* scope);
  std::vector<Value> evaluate_all(const std::vector<ExpressionPtr>& expressions, Scope* scope);
  Arguments evaluate_arguments(const CallArguments& arguments, Scope* scope);
  bool data_attribute(const Value& object, std::string_view name, Value& found);

  const Tree& tree_;
  std::string output_;
  int line_ = 0, depth_ = 0;
};

struct Evaluator::Nesting {
  explicit Nesting(Evaluator& of) : evaluator(of) {
    of.heap.step();
    if (++of.depth_ > of.heap.limits().depth) fail("RecursionError", "maximum recursion depth exceeded");
  }
  ~Nesting() { --evaluator.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  Evaluator& evaluator;
};

}  // namespace weft::models::jinja
