#include <fmt/format.h>

#include <algorithm>

#include "models/jinja/evaluator.h"

namespace weft::models::jinja {

std::vector<Value> Evaluator::evaluate_all(const std::vector<ExpressionPtr>& expressions, Scope* scope) {
  std::vector<Value> values;
  values.reserve(expressions.size());
  for (const ExpressionPtr& expression : expressions) values.push_back(evaluate(*expression, scope));
  return values;
}

Value Evaluator::evaluate_name(int name, Scope* scope) {
  for (const Scope* at = scope; at != nullptr; at = at->outer)
    if (const Value* value = at->find(name)) return *value;
  const std::string& text = tree_.names.name(name);
  if (const Method global = find_global(text); global.call != nullptr)
    return {Kind::Function, heap.make<Function>(global.name, Value(), global.call)};
  return heap.undefined_name(text);
}

Value Evaluator::evaluate(const Expression& expression, Scope* scope) {
  const Nesting nesting(*this);
  line_ = expression.line;
  const auto child = [&](size_t index) { return evaluate(*expression.children[index], scope); };
  switch (expression.kind) {
    case ExpressionKind::Constant: return expression.constant;
    case ExpressionKind::Name: return evaluate_name(expression.name, scope);
    case ExpressionKind::Attribute: return attribute(child(0), expression.constant);
    case ExpressionKind::Item: {
      const Value object = child(0);
      return item(object, child(1));
    }
    case ExpressionKind::Slice: {
      Value parts[4];
      for (size_t i = 0; i < 4; ++i)
        if (expression.children[i]) parts[i] = child(i);
      return sliced(heap, parts[0], parts[1], parts[2], parts[3]);
    }
    case ExpressionKind::Call: return evaluate_call(expression, scope);
    case ExpressionKind::Filter: {
      const Value subject = child(0);
      Arguments arguments = evaluate_arguments(expression.arguments, scope);
      return filtered(expression.text, subject, arguments);
    }
    case ExpressionKind::Test: {
      const Value subject = child(0);
      Arguments arguments = evaluate_arguments(expression.arguments, scope);
      return Value::boolean(tested(expression.text, subject, arguments));
    }
    case ExpressionKind::Tuple: return heap.tuple(evaluate_all(expression.children, scope));
    case ExpressionKind::List: return heap.list(evaluate_all(expression.children, scope));
    case ExpressionKind::Dict: return evaluate_dict(expression, scope);
    case ExpressionKind::Conditional:
      if (is_true(child(0))) return child(1);
      if (expression.children.size() > 2) return child(2);
      return heap.undefined("the inline if-expression evaluated to false and no else section was defined.");
    case ExpressionKind::And: {
      const Value left = child(0);
      return is_true(left) ? child(1) : left;
    }
    case ExpressionKind::Or: {
      const Value left = child(0);
      return is_true(left) ? left : child(1);
    }
    case ExpressionKind::Not: return Value::boolean(!is_true(child(0)));
    case ExpressionKind::Negative:
    case ExpressionKind::Positive: return evaluate_sign(expression, scope);
    case ExpressionKind::Compare: return evaluate_compare(expression, scope);
    case ExpressionKind::Concatenate: {
      std::string text;
      for (const Value& part : evaluate_all(expression.children, scope)) {
        text += to_text(heap, part);
        heap.charge(part.is_string() ? part.text().size() : 0);
      }
      return string(std::move(text));
    }
    case ExpressionKind::Binary: {
      const Value left = child(0);
      const Value right = child(1);
      line_ = expression.line;
      return binary(*this, expression.operators[0], left, right);
    }
  }
  return {};
}

Value Evaluator::evaluate_sign(const Expression& expression, Scope* scope) {
  const bool is_negative = expression.kind == ExpressionKind::Negative;
  const Value value = evaluate(*expression.children[0], scope);
  if (value.is_undefined()) fail_undefined(value);
  if (!value.is_number())
    fail_type(fmt::format("bad operand type for unary {}: '{}'", is_negative ? '-' : '+', type_name(value)));
  if (!is_negative) return value.is_whole() ? Value::integer(value.integer()) : value;
  if (value.is_whole()) return binary(*this, Operator::Subtract, Value::integer(0), value);
  return Value::real(-value.real());
}

bool Evaluator::compare(Operator symbol, const Value& a, const Value& b) {
  switch (symbol) {
    case Operator::Equal: return is_equal(heap, a, b);
    case Operator::NotEqual: return !is_equal(heap, a, b);
    case Operator::Less: return is_less(heap, a, b, "<");
    case Operator::Greater: return is_less(heap, b, a, ">");
    // Not the opposite of "greater": numbers may be NaN.
    case Operator::LessEqual: return is_less(heap, a, b, "<=") || is_equal(heap, a, b);
    case Operator::GreaterEqual: return is_less(heap, b, a, ">=") || is_equal(heap, a, b);
    case Operator::In: return contains(heap, b, a);
    case Operator::NotIn: return !contains(heap, b, a);
    default: return false;
  }
}

Value Evaluator::evaluate_compare(const Expression& expression, Scope* scope) {
  Value left = evaluate(*expression.children[0], scope);
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    const Value right = evaluate(*expression.children[i + 1], scope);
    line_ = expression.line;
    if (!compare(expression.operators[i], left, right)) return Value::boolean(false);
    left = right;
  }
  return Value::boolean(true);
}

Value Evaluator::evaluate_dict(const Expression& expression, Scope* scope) {
  Dict* const dict = heap.make<Dict>();
  for (size_t i = 0; i + 1 < expression.children.size(); i += 2) {
    const Value key = evaluate(*expression.children[i], scope);
    heap.charge(64);
    dict->set(key, evaluate(*expression.children[i + 1], scope));
  }
  return {Kind::Dict, dict};
}

Value Evaluator::evaluate_call(const Expression& expression, Scope* scope) {
  const Value function = evaluate(*expression.children[0], scope);
  Arguments arguments = evaluate_arguments(expression.arguments, scope);
  line_ = expression.line;
  return call(function, arguments);
}

Arguments Evaluator::evaluate_arguments(const CallArguments& of, Scope* scope) {
  Arguments arguments;
  arguments.positional = evaluate_all(of.positional, scope);
  for (const auto& [name, expression] : of.named)
    arguments.named.emplace_back(name, evaluate(*expression, scope));
  if (of.more_positional)
    for (const Value& value : iterate(heap, evaluate(*of.more_positional, scope)))
      arguments.positional.push_back(value);
  if (of.more_named) {
    const Value more = evaluate(*of.more_named, scope);
    if (!more.is(Kind::Dict)) fail_type("argument after ** must be a mapping");
    for (const auto& [key, value] : more.as<Dict>().entries()) {
      if (!key.is_string()) fail_type("keywords must be strings");
      arguments.named.emplace_back(key.text(), value);
    }
  }
  return arguments;
}

Value Evaluator::call(const Value& function, Arguments& arguments) {
  const Nesting nesting(*this);
  switch (function.kind()) {
    case Kind::Undefined: fail_undefined(function);
    case Kind::Function: {
      const Function& native = function.as<Function>();
      return native.call(*this, native.self, arguments);
    }
    case Kind::Macro: return call_macro(function.as<Macro>(), arguments);
    case Kind::Loop: {
      const Bound bound("LoopContext.__call__", arguments, {"iterable"}, 1);
      return call_loop(function.as<Loop>(), bound.get(0));
    }
    case Kind::Joiner: {
      Joiner& joiner = function.as<Joiner>();
      return std::exchange(joiner.is_used, true) ? joiner.separator : string("");
    }
    default: fail_type(fmt::format("'{}' object is not callable", type_name(function)));
  }
}

Value Evaluator::filtered(const std::string& name, const Value& subject, Arguments& arguments) {
  const NativeFunction filter = find_filter(name);
  if (filter == nullptr)
    fail("TemplateRuntimeError", fmt::format("No filter named {} found.", repr_of_text(name)));
  return filter(*this, subject, arguments);
}

bool Evaluator::tested(const std::string& name, const Value& subject, Arguments& arguments) {
  const TestFunction test = find_test(name);
  if (test == nullptr)
    fail("TemplateRuntimeError", fmt::format("No test named {} found.", repr_of_text(name)));
  return test(*this, subject, arguments);
}

// Attributes of Python's objects: methods, and what loops, macros and namespaces have.
bool Evaluator::data_attribute(const Value& object, std::string_view name, Value& found) {
  if (const Method method = find_method(object.kind(), name); method.call != nullptr) {
    found = {Kind::Function, heap.make<Function>(method.name, object, method.call)};
    return true;
  }
  switch (object.kind()) {
    case Kind::Namespace: {
      const Value* value = object.as<Namespace>().attributes->find(string(std::string(name)));
      if (value != nullptr) found = *value;
      return value != nullptr;
    }
    case Kind::Tuple: {
      const Elements& elements = object.as<Elements>();
      if (!elements.is_group || (name != "grouper" && name != "list")) return false;
      found = elements.items[name == "grouper" ? 0 : 1];
      return true;
    }
    case Kind::Macro: {
      const Macro& macro = object.as<Macro>();
      if (name == "name") return found = string(macro.name()), true;
      if (name == "caller") return found = Value::boolean(macro.tree->uses_caller), true;
      if (name == "catch_kwargs") return found = Value::boolean(macro.tree->uses_keywords), true;
      if (name == "catch_varargs") return found = Value::boolean(macro.tree->uses_arguments), true;
      if (name != "arguments") return false;
      std::vector<Value> names;
      for (const Parameter& parameter : macro.tree->parameters)
        names.push_back(string(tree_.names.name(parameter.name)));
      return found = heap.tuple(std::move(names)), true;
    }
    case Kind::Cycler: {
      const Cycler& cycler = object.as<Cycler>();
      if (name != "current") return false;
      return found = cycler.items[cycler.position], true;
    }
    case Kind::Loop: {
      const Loop& loop = object.as<Loop>();
      const auto length = static_cast<int64_t>(loop.items.size());
      const int64_t i = loop.index0;
      if (name == "index0") return found = Value::integer(i), true;
      if (name == "index") return found = Value::integer(i + 1), true;
      if (name == "revindex0") return found = Value::integer(length - i - 1), true;
      if (name == "revindex") return found = Value::integer(length - i), true;
      if (name == "first") return found = Value::boolean(i == 0), true;
      if (name == "last") return found = Value::boolean(i + 1 == length), true;
      if (name == "length") return found = Value::integer(length), true;
      if (name == "depth0") return found = Value::integer(loop.depth0), true;
      if (name == "depth") return found = Value::integer(loop.depth0 + 1), true;
      if (name == "previtem")
        return found = i > 0 ? loop.items[static_cast<size_t>(i - 1)]
                             : heap.undefined("there is no previous item"),
               true;
      if (name == "nextitem")
        return found = i + 1 < length ? loop.items[static_cast<size_t>(i + 1)]
                                      : heap.undefined("there is no next item"),
               true;
      return false;
    }
    default: return false;
  }
}

// source: jinja2, ImmutableSandboxedEnvironment.getattr: an attribute before an item.
Value Evaluator::attribute(const Value& object, const Value& name) {
  if (object.is_undefined()) fail_undefined(object);
  Value found;
  if (data_attribute(object, name.text(), found)) return found;
  const std::string& text = name.text();
  if ((text.starts_with("__") && text.ends_with("__")) || is_mutator(object.kind(), text)) {
    const Value unsafe = heap.undefined(fmt::format("access to attribute {} of '{}' object is unsafe.",
                                                    repr_of_text(text), type_name(object)));
    unsafe.as<Absent>().error = "SecurityError";
    return unsafe;
  }
  if (object.is(Kind::Dict))
    if (const Value* value = object.as<Dict>().find(name)) return *value;
  return heap.undefined_of(object, name);
}

// getitem: an item before an attribute.
Value Evaluator::item(const Value& object, const Value& key) {
  switch (object.kind()) {
    case Kind::Undefined: fail_undefined(object);
    case Kind::Dict: {
      const bool is_hashable = !key.is(Kind::List) && !key.is(Kind::Dict) && !key.is(Kind::View);
      if (is_hashable)
        if (const Value* value = object.as<Dict>().find(key)) return *value;
      break;
    }
    case Kind::String:
    case Kind::List:
    case Kind::Tuple:
    case Kind::Range: {
      if (!key.is_whole()) break;
      const int64_t length = length_of(object);
      const int64_t at = key.integer() < 0 ? key.integer() + length : key.integer();
      if (at < 0 || at >= length) break;
      if (object.is(Kind::Range)) {
        const Range& range = object.as<Range>();
        return Value::integer(range.start + at * range.step);
      }
      if (object.is_string())
        return sliced(heap, object, Value::integer(at), Value::integer(at + 1), Value());
      return object.as<Elements>().items[static_cast<size_t>(at)];
    }
    default: break;
  }
  if (key.is_string() && !object.is(Kind::Dict)) return attribute(object, key);
  if (key.is_string()) {
    Value found;
    if (data_attribute(object, key.text(), found)) return found;
  }
  return heap.undefined_of(object, key);
}

}  // namespace weft::models::jinja
