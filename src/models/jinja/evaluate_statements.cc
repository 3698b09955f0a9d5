#include <fmt/format.h>

#include <algorithm>

#include "models/jinja/evaluator.h"

namespace weft::models::jinja {

std::string Evaluator::render(const std::vector<std::pair<std::string, Value>>& variables) {
  Scope* const globals = inner(nullptr);
  for (const auto& [name, value] : variables)
    if (const int number = tree_.names.find(name); number >= 0) globals->set(number, value);
  run(tree_.body, inner(globals));
  return std::move(output_);
}

Scope* Evaluator::inner(Scope* scope) { return heap.make<Scope>(scope); }

void Evaluator::write(std::string_view text) {
  heap.charge(text.size());
  output_ += text;
}

std::string Evaluator::captured(const Statements& body, Scope* scope) {
  std::string outside = std::exchange(output_, "");
  run(body, scope);
  return std::exchange(output_, std::move(outside));
}

Evaluator::Flow Evaluator::run(const Statements& statements, Scope* scope) {
  for (const auto& statement : statements)
    if (const Flow flow = run(*statement, scope); flow != Flow::Normal) return flow;
  return Flow::Normal;
}

Evaluator::Flow Evaluator::run(const Statement& statement, Scope* scope) {
  const Nesting nesting(*this);
  line_ = statement.line;
  switch (statement.kind) {
    case StatementKind::Text: write(statement.text); break;
    case StatementKind::Output: write(to_text(heap, evaluate(*statement.expression, scope))); break;
    case StatementKind::If: return run_if(statement, scope);
    case StatementKind::For: return run_for(statement, scope, evaluate(*statement.expression, scope), 0);
    case StatementKind::Set: assign(statement.target, evaluate(*statement.expression, scope), scope); break;
    case StatementKind::SetBlock: {
      Value value = string(captured(statement.body, inner(scope)));
      if (statement.expression) value = through_filters(*statement.expression, value, scope);
      assign(statement.target, value, scope);
      break;
    }
    case StatementKind::Macro:
      scope->set(statement.target.name, {Kind::Macro, heap.make<Macro>(statement.macro.get(), scope)});
      break;
    case StatementKind::CallBlock: run_macro_call(statement, scope); break;
    case StatementKind::FilterBlock: {
      const Value value = string(captured(statement.body, inner(scope)));
      write(to_text(heap, through_filters(*statement.expression, value, scope)));
      break;
    }
    case StatementKind::With: {
      Scope* const own = inner(scope);
      for (size_t i = 0; i < statement.targets.size(); ++i)
        assign(statement.targets[i], evaluate(*statement.expressions[i], scope), own);
      return run(statement.body, own);
    }
    case StatementKind::Scope: return run(statement.body, inner(scope));
    case StatementKind::Break: return Flow::Break;
    case StatementKind::Continue: return Flow::Continue;
  }
  return Flow::Normal;
}

Evaluator::Flow Evaluator::run_if(const Statement& statement, Scope* scope) {
  for (const auto& [condition, body] : statement.branches)
    if (is_true(evaluate(*condition, scope))) return run(body, scope);
  return run(statement.else_body, scope);
}

Evaluator::Flow Evaluator::run_for(const Statement& statement, Scope* scope, const Value& items,
                                   int64_t depth0) {
  Loop* const loop = heap.make<Loop>();
  loop->items = iterate(heap, items);
  if (statement.condition)
    std::erase_if(loop->items, [&](const Value& item) {
      Scope* const own = inner(scope);
      assign(statement.target, item, own);
      return !is_true(evaluate(*statement.condition, own));
    });
  loop->depth0 = depth0;
  loop->scope = scope;
  loop->statement = statement.is_recursive ? &statement : nullptr;
  const int name = tree_.names.find("loop");
  for (loop->index0 = 0; loop->index0 < static_cast<int64_t>(loop->items.size()); ++loop->index0) {
    heap.step();
    Scope* const own = inner(scope);
    assign(statement.target, loop->items[static_cast<size_t>(loop->index0)], own);
    if (name >= 0) own->set(name, {Kind::Loop, loop});
    if (run(statement.body, own) == Flow::Break) return Flow::Normal;
  }
  if (loop->items.empty()) return run(statement.else_body, inner(scope));
  return Flow::Normal;
}

Value Evaluator::call_loop(Loop& loop, const Value& items) {
  const Nesting nesting(*this);
  if (loop.statement == nullptr)
    fail_type("The loop must have the 'recursive' marker to be called recursively.");
  std::string outside = std::exchange(output_, "");
  run_for(*loop.statement, loop.scope, items, loop.depth0 + 1);
  return string(std::exchange(output_, std::move(outside)));
}

void Evaluator::run_macro_call(const Statement& statement, Scope* scope) {
  const Value caller = {Kind::Macro, heap.make<Macro>(statement.macro.get(), scope)};
  const Expression& call_of = *statement.expression;
  const Value function = evaluate(*call_of.children[0], scope);
  Arguments arguments = evaluate_arguments(call_of.arguments, scope);
  arguments.named.emplace_back("caller", caller);
  write(to_text(heap, call(function, arguments)));
}

// A block's text through one filter or several.
Value Evaluator::through_filters(const Expression& filter, Value value, Scope* scope) {
  if (!filter.children.empty()) value = through_filters(*filter.children[0], value, scope);
  Arguments arguments = evaluate_arguments(filter.arguments, scope);
  return filtered(filter.text, value, arguments);
}

void Evaluator::assign(const Target& target, const Value& value, Scope* scope) {
  if (!target.attribute.empty()) {
    const Value space = evaluate_name(target.name, scope);
    if (!space.is(Kind::Namespace))
      fail("TemplateRuntimeError", "cannot assign attribute on non-namespace object");
    heap.charge(64);
    space.as<Namespace>().attributes->set(string(target.attribute), value);
    return;
  }
  if (!target.is_tuple) {
    heap.charge(sizeof(value) + 8);
    return scope->set(target.name, value);
  }
  if (!can_iterate(value)) fail_type(fmt::format("cannot unpack non-iterable {} object", type_name(value)));
  const std::vector<Value> items = iterate(heap, value);
  if (items.size() > target.parts.size())
    fail("ValueError", fmt::format("too many values to unpack (expected {})", target.parts.size()));
  if (items.size() < target.parts.size())
    fail("ValueError",
         fmt::format("not enough values to unpack (expected {}, got {})", target.parts.size(), items.size()));
  for (size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i], scope);
}

// source: jinja2, runtime.Macro.__call__.
Value Evaluator::call_macro(const Macro& macro, Arguments& arguments) {
  const Nesting nesting(*this);
  const MacroTree& tree = *macro.tree;
  Scope* const own = inner(macro.scope);
  const auto take_named = [&](const std::string& name) -> std::optional<Value> {
    const auto found = std::find_if(arguments.named.begin(), arguments.named.end(),
                                    [&](const auto& argument) { return argument.first == name; });
    if (found == arguments.named.end()) return std::nullopt;
    const Value value = found->second;
    arguments.named.erase(found);
    return value;
  };
  bool has_caller = false;
  for (size_t i = 0; i < tree.parameters.size(); ++i) {
    const Parameter& parameter = tree.parameters[i];
    const std::string& name = tree_.names.name(parameter.name);
    has_caller = has_caller || name == "caller";
    std::optional<Value> value;
    if (i < arguments.positional.size())
      value = arguments.positional[i];
    else
      value = take_named(name);
    if (!value && parameter.fallback) value = evaluate(*parameter.fallback, own);
    if (!value) value = heap.undefined(fmt::format("parameter {} was not provided", repr_of_text(name)));
    own->set(parameter.name, *value);
  }
  if (tree.uses_caller && !has_caller) {
    const std::optional<Value> caller = take_named("caller");
    own->set(tree_.names.find("caller"), caller ? *caller : heap.undefined("No caller defined"));
  }
  if (tree.uses_keywords) {
    Dict* const keywords = heap.make<Dict>();
    for (const auto& [name, value] : arguments.named) keywords->set(string(name), value);
    own->set(tree_.names.find("kwargs"), {Kind::Dict, keywords});
  } else if (!arguments.named.empty()) {
    if (has_caller && arguments.named[0].first == "caller")
      fail_type(
          fmt::format("macro {} was invoked with two values for the special caller argument. This is "
                      "most likely a bug.",
                      repr_of_text(tree.name)));
    fail_type(fmt::format("macro {} takes no keyword argument {}", repr_of_text(tree.name),
                          repr_of_text(arguments.named[0].first)));
  }
  if (tree.uses_arguments) {
    std::vector<Value> rest;
    if (arguments.positional.size() > tree.parameters.size())
      rest.assign(arguments.positional.begin() + static_cast<ptrdiff_t>(tree.parameters.size()),
                  arguments.positional.end());
    own->set(tree_.names.find("varargs"), heap.tuple(std::move(rest)));
  } else if (arguments.positional.size() > tree.parameters.size()) {
    fail_type(fmt::format("macro {} takes not more than {} argument(s)", repr_of_text(tree.name),
                          tree.parameters.size()));
  }
  return string(captured(tree.body, own));
}

}  // namespace weft::models::jinja
