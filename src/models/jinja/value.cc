#include "models/jinja/value.h"

#include <fmt/format.h>

#include <functional>

#include "models/jinja/texts.h"

namespace weft::models::jinja {

void fail(const char* kind, std::string message) { throw Failure{kind, std::move(message)}; }
void fail_type(std::string message) { fail("TypeError", std::move(message)); }

int64_t Range::size() const {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  return (step > 0 ? (stop - start - 1) / step : (start - stop - 1) / -step) + 1;
}

namespace {

constexpr int kMostNesting = 200;

size_t joined_hash(size_t seed, size_t hash) { return seed * 1000003 ^ hash; }

size_t hash_of(const Value& value, int depth) {
  if (depth > kMostNesting) fail("RecursionError", "a key is nested too deep");
  switch (value.kind()) {
    case Kind::None: return 0x5bd1e995;
    case Kind::Undefined: return 0x9e3779b9;
    case Kind::Boolean:
    case Kind::Integer: return std::hash<double>()(static_cast<double>(value.integer()));
    case Kind::Float: return std::hash<double>()(value.real());
    case Kind::String: return std::hash<std::string>()(value.text());
    case Kind::Tuple: {
      size_t hash = 77;
      for (const Value& item : value.as<Elements>().items) hash = joined_hash(hash, hash_of(item, depth + 1));
      return hash;
    }
    case Kind::List:
    case Kind::Dict:
    case Kind::View: fail_type(fmt::format("unhashable type: '{}'", type_name(value)));
    default: return std::hash<const void*>()(value.object());
  }
}

// Comparing values that share parts can take for ever: each comparison is a step where there is a heap.
bool equal(Heap* heap, const Value& a, const Value& b, int depth);

bool equal_items(Heap* heap, const std::vector<Value>& a, const std::vector<Value>& b, int depth) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!equal(heap, a[i], b[i], depth)) return false;
  return true;
}

bool equal(Heap* heap, const Value& a, const Value& b, int depth) {
  if (depth > kMostNesting) fail("RecursionError", "maximum recursion depth exceeded in comparison");
  if (heap != nullptr) heap->step();
  if (a.is_number() && b.is_number()) {
    if (a.is_whole() && b.is_whole()) return a.integer() == b.integer();
    return a.real() == b.real();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::None:
    case Kind::Undefined: return true;
    case Kind::String: return a.text() == b.text();
    case Kind::List:
    case Kind::Tuple: return equal_items(heap, a.as<Elements>().items, b.as<Elements>().items, depth + 1);
    case Kind::Dict: {
      const Dict &left = a.as<Dict>(), &right = b.as<Dict>();
      if (left.entries().size() != right.entries().size()) return false;
      for (const auto& [key, value] : left.entries()) {
        const Value* const other = right.find(key);
        if (other == nullptr || !equal(heap, value, *other, depth + 1)) return false;
      }
      return true;
    }
    case Kind::Range: {
      const Range &left = a.as<Range>(), &right = b.as<Range>();
      if (left.size() != right.size()) return false;
      return left.size() == 0 || (left.start == right.start && (left.size() == 1 || left.step == right.step));
    }
    default: return a.object() == b.object();
  }
}

bool less(Heap& heap, const Value& a, const Value& b, const char* symbol, int depth) {
  if (depth > kMostNesting) fail("RecursionError", "maximum recursion depth exceeded in comparison");
  heap.step();
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  if (a.is_whole() && b.is_whole()) return a.integer() < b.integer();
  if (a.is_number() && b.is_number()) return a.real() < b.real();
  if (a.is_string() && b.is_string()) return a.text() < b.text();
  if (a.kind() == b.kind() && (a.is(Kind::List) || a.is(Kind::Tuple))) {
    const auto &left = a.as<Elements>().items, &right = b.as<Elements>().items;
    for (size_t i = 0; i < left.size() && i < right.size(); ++i)
      if (!equal(&heap, left[i], right[i], depth + 1))
        return less(heap, left[i], right[i], symbol, depth + 1);
    return left.size() < right.size();
  }
  fail_type(fmt::format("'{}' not supported between instances of '{}' and '{}'", symbol, type_name(a),
                        type_name(b)));
}

}  // namespace

size_t ValueHash::operator()(const Value& value) const { return hash_of(value, 0); }
bool ValueEqual::operator()(const Value& a, const Value& b) const { return equal(nullptr, a, b, 0); }

const Value* Dict::find(const Value& key) const {
  const auto found = positions_.find(key);
  return found == positions_.end() ? nullptr : &entries_[found->second].second;
}

void Dict::set(const Value& key, const Value& value) {
  const auto [place, is_new] = positions_.try_emplace(key, entries_.size());
  if (is_new)
    entries_.emplace_back(key, value);
  else
    entries_[place->second].second = value;
}

Value Heap::text(std::string text) {
  charge(text.size());
  return {Kind::String, make<Text>(std::move(text))};
}

Value Heap::elements(Kind kind, std::vector<Value> items) {
  charge(items.size() * sizeof(Value));
  return {kind, make<Elements>(std::move(items))};
}

Value Heap::undefined(std::string hint) {
  auto* const absent = make<Absent>();
  absent->hint = std::move(hint);
  return {Kind::Undefined, absent};
}

Value Heap::undefined_name(std::string_view name) {
  auto* const absent = make<Absent>();
  absent->name = text(std::string(name));
  return {Kind::Undefined, absent};
}

Value Heap::undefined_of(const Value& object, const Value& name) {
  auto* const absent = make<Absent>();
  absent->object = object;
  absent->has_object = true;
  absent->name = name;
  return {Kind::Undefined, absent};
}

void Heap::fail_steps() const {
  fail("TemplateError", fmt::format("the template takes more than {} steps", limits_.steps));
}
void Heap::fail_bytes() const {
  fail("TemplateError", fmt::format("the template takes more than {} MiB", limits_.bytes >> 20));
}

const char* type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::None: return "NoneType";
    case Kind::Undefined: return "Undefined";
    case Kind::Boolean: return "bool";
    case Kind::Integer: return "int";
    case Kind::Float: return "float";
    case Kind::String: return value.as<Text>().is_markup ? "Markup" : "str";
    case Kind::List: return "list";
    case Kind::Tuple: return "tuple";
    case Kind::Dict: return "dict";
    case Kind::Range: return "range";
    case Kind::View: return value.as<Elements>().view;
    case Kind::Generator: return "generator";
    case Kind::Namespace: return "Namespace";
    case Kind::Function: return "function";
    case Kind::Macro: return "Macro";
    case Kind::Loop: return "LoopContext";
    case Kind::Cycler: return "Cycler";
    case Kind::Joiner: return "Joiner";
  }
  return "";
}

// source: jinja2, Undefined._undefined_message and object_type_repr.
std::string Absent::message() const {
  if (!hint.empty()) return hint;
  Heap heap({.bytes = 1 << 20});
  const std::string shown = to_repr(heap, name);
  if (!has_object) return shown + " is undefined";
  std::string of = type_name(object);
  switch (object.kind()) {
    case Kind::None: of = "None"; break;
    case Kind::Namespace:
    case Kind::Cycler:
    case Kind::Joiner: of = "jinja2.utils." + of + " object"; break;
    case Kind::Macro:
    case Kind::Loop: of = "jinja2.runtime." + of + " object"; break;
    default: of += " object";
  }
  if (name.is_string()) return fmt::format("{} has no attribute {}", repr_of_text(of), shown);
  return fmt::format("{} has no element {}", of, shown);
}

void fail_undefined(const Value& value) {
  const Absent& absent = value.as<Absent>();
  fail(absent.error, absent.message());
}

bool is_true(const Value& value) {
  switch (value.kind()) {
    case Kind::None:
    case Kind::Undefined: return false;
    case Kind::Boolean:
    case Kind::Integer: return value.integer() != 0;
    case Kind::Float: return value.real() != 0;
    case Kind::Generator: return true;
    case Kind::String: return !value.text().empty();
    case Kind::List:
    case Kind::Tuple:
    case Kind::Dict:
    case Kind::Range:
    case Kind::View: return length_of(value) != 0;
    default: return true;
  }
}

int64_t length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined: return 0;
    case Kind::String: return static_cast<int64_t>(character_count(value.text()));
    case Kind::List:
    case Kind::Tuple:
    case Kind::View: return static_cast<int64_t>(value.as<Elements>().items.size());
    case Kind::Dict: return static_cast<int64_t>(value.as<Dict>().entries().size());
    case Kind::Range: return value.as<Range>().size();
    default: fail_type(fmt::format("object of type '{}' has no len()", type_name(value)));
  }
}

bool can_iterate(const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined:
    case Kind::String:
    case Kind::List:
    case Kind::Tuple:
    case Kind::Dict:
    case Kind::Range:
    case Kind::View:
    case Kind::Generator: return true;
    default: return false;
  }
}

std::vector<Value> iterate(Heap& heap, const Value& value) {
  std::vector<Value> items;
  switch (value.kind()) {
    case Kind::Undefined: return items;
    case Kind::String:
      for (const std::string_view character : characters(value.text()))
        items.push_back(heap.text(std::string(character)));
      break;
    case Kind::Dict:
      for (const auto& [key, unused] : value.as<Dict>().entries()) items.push_back(key);
      break;
    case Kind::Range: {
      const Range& range = value.as<Range>();
      for (int64_t i = 0; i < range.size(); ++i)
        items.push_back(Value::integer(range.start + i * range.step));
      break;
    }
    case Kind::Generator: {
      Elements& elements = value.as<Elements>();
      if (!std::exchange(elements.is_consumed, true)) items = elements.items;
      break;
    }
    case Kind::List:
    case Kind::Tuple:
    case Kind::View: items = value.as<Elements>().items; break;
    default: fail_type(fmt::format("'{}' object is not iterable", type_name(value)));
  }
  heap.step(static_cast<int64_t>(items.size()));
  return items;
}

bool is_equal(Heap& heap, const Value& a, const Value& b) { return equal(&heap, a, b, 0); }
bool is_less(Heap& heap, const Value& a, const Value& b, const char* symbol) {
  return less(heap, a, b, symbol, 0);
}

bool contains(Heap& heap, const Value& container, const Value& value) {
  if (container.is_string()) {
    if (!value.is_string())
      fail_type(fmt::format("'in <string>' requires string as left operand, not {}", type_name(value)));
    heap.step(static_cast<int64_t>(container.text().size() / 64));
    return container.text().find(value.text()) != std::string::npos;
  }
  if (container.is(Kind::Dict)) return container.as<Dict>().find(value) != nullptr;
  if (!can_iterate(container))
    fail_type(fmt::format("argument of type '{}' is not iterable", type_name(container)));
  for (const Value& item : iterate(heap, container))
    if (is_equal(heap, item, value)) return true;
  return false;
}

}  // namespace weft::models::jinja
