// Methods of all but strings, and global functions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <unordered_map>

#include "models/jinja/evaluator.h"

namespace weft::models::jinja {
namespace {

template <char what>
Value view_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("dict method", arguments, {});
  std::vector<Value> items;
  for (const auto& [key, value] : self.as<Dict>().entries())
    items.push_back(what == 'k' ? key : what == 'v' ? value : evaluator.heap.tuple({key, value}));
  const Value view = evaluator.heap.elements(Kind::View, std::move(items));
  view.as<Elements>().view = what == 'k' ? "dict_keys" : what == 'v' ? "dict_values" : "dict_items";
  return view;
}

Value get_method(Evaluator&, const Value& self, Arguments& arguments) {
  const Bound bound("get", arguments, {"key", "default"}, 1);
  const Value* found = self.as<Dict>().find(bound.get(0));
  return found != nullptr ? *found : bound.get(1);
}

Value copy_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("copy", arguments, {});
  if (self.is(Kind::List)) return evaluator.heap.list(self.as<Elements>().items);
  return self;  // nothing changes a dict
}

Value count_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("count", arguments, {"value"}, 1);
  const auto& items = self.as<Elements>().items;
  return Value::integer(std::count_if(items.begin(), items.end(), [&](const Value& item) {
    return is_equal(evaluator.heap, item, bound.get(0));
  }));
}

Value index_method(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  const Bound bound("index", arguments, {"value"}, 1);
  const auto& items = self.as<Elements>().items;
  for (size_t i = 0; i < items.size(); ++i)
    if (is_equal(evaluator.heap, items[i], bound.get(0))) return Value::integer(static_cast<int64_t>(i));
  fail("ValueError", fmt::format("{} is not in list", to_repr(evaluator.heap, bound.get(0))));
}

Value cycle_method(Evaluator&, const Value& self, Arguments& arguments) {
  if (arguments.positional.empty()) fail_type("no items for cycling given");
  const auto at = static_cast<size_t>(self.as<Loop>().index0) % arguments.positional.size();
  return arguments.positional[at];
}

Value changed_of_loop(Evaluator& evaluator, const Value& self, Arguments& arguments) {
  Loop& loop = self.as<Loop>();
  const bool is_same =
      loop.has_changed && loop.last_changed.size() == arguments.positional.size() &&
      std::equal(loop.last_changed.begin(), loop.last_changed.end(), arguments.positional.begin(),
                 [&](const Value& a, const Value& b) { return is_equal(evaluator.heap, a, b); });
  loop.has_changed = true;
  loop.last_changed = arguments.positional;
  return Value::boolean(!is_same);
}

Value next_method(Evaluator&, const Value& self, Arguments&) {
  Cycler& cycler = self.as<Cycler>();
  const Value item = cycler.items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.size();
  return item;
}

Value reset_method(Evaluator&, const Value& self, Arguments&) {
  self.as<Cycler>().position = 0;
  return {};
}

Value is_integer_method(Evaluator&, const Value& self, Arguments&) {
  return Value::boolean(std::isfinite(self.real()) && self.real() == std::floor(self.real()));
}

using Table = std::unordered_map<std::string_view, NativeFunction>;

const Table* methods_of(Kind kind) {
  static const auto& dicts = *new Table{{"items", view_method<'i'>},
                                        {"keys", view_method<'k'>},
                                        {"values", view_method<'v'>},
                                        {"get", get_method},
                                        {"copy", copy_method}};
  static const auto& lists =
      *new Table{{"count", count_method}, {"index", index_method}, {"copy", copy_method}};
  static const auto& tuples = *new Table{{"count", count_method}, {"index", index_method}};
  static const auto& loops = *new Table{{"cycle", cycle_method}, {"changed", changed_of_loop}};
  static const auto& cyclers = *new Table{{"next", next_method}, {"reset", reset_method}};
  static const auto& floats = *new Table{{"is_integer", is_integer_method}};
  switch (kind) {
    case Kind::Dict: return &dicts;
    case Kind::List: return &lists;
    case Kind::Tuple: return &tuples;
    case Kind::Loop: return &loops;
    case Kind::Cycler: return &cyclers;
    case Kind::Float: return &floats;
    default: return nullptr;
  }
}

// Global functions.

Value make_range(Evaluator& evaluator, const Value&, Arguments& arguments) {
  constexpr int64_t kMostElements = 100'000;  // as jinja2's sandbox has it
  const Bound bound("range", arguments, {"start", "stop", "step"}, 1);
  const bool has_stop = bound.find(1) != nullptr;
  const int64_t start = has_stop ? bound.integer(0, 0) : 0, stop = bound.integer(has_stop ? 1 : 0, 0),
                step = bound.integer(2, 1);
  if (step == 0) fail("ValueError", "range() arg 3 must not be zero");
  constexpr int64_t kFarthest = int64_t{1} << 60;
  for (const int64_t number : {start, stop, step})
    if (number < -kFarthest || number > kFarthest)
      fail("OverflowError", "a range of numbers that large is not supported");
  const Range range(start, stop, step);
  if (range.size() > kMostElements)
    fail("OverflowError",
         fmt::format("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", kMostElements));
  return {Kind::Range, evaluator.heap.make<Range>(range)};
}

Dict* dict_of(Evaluator& evaluator, const Arguments& arguments) {
  if (arguments.positional.size() > 1)
    fail_type(fmt::format("dict expected at most 1 argument, got {}", arguments.positional.size()));
  Dict* const dict = evaluator.heap.make<Dict>();
  const auto set = [&](const Value& key, const Value& value) {
    evaluator.heap.charge(64);
    dict->set(key, value);
  };
  if (!arguments.positional.empty()) {
    const Value& first = arguments.positional[0];
    if (first.is(Kind::Dict)) {
      for (const auto& [key, value] : first.as<Dict>().entries()) set(key, value);
    } else {
      for (const Value& pair : iterate(evaluator.heap, first)) {
        const std::vector<Value> parts = iterate(evaluator.heap, pair);
        if (parts.size() != 2)
          fail("ValueError",
               fmt::format("dictionary update sequence element has length {}; 2 is required", parts.size()));
        set(parts[0], parts[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) set(evaluator.string(name), value);
  return dict;
}

Value make_dict(Evaluator& evaluator, const Value&, Arguments& arguments) {
  return {Kind::Dict, dict_of(evaluator, arguments)};
}

Value make_namespace(Evaluator& evaluator, const Value&, Arguments& arguments) {
  auto* const space = evaluator.heap.make<Namespace>();
  space->attributes = dict_of(evaluator, arguments);
  return {Kind::Namespace, space};
}

Value make_cycler(Evaluator& evaluator, const Value&, Arguments& arguments) {
  if (arguments.positional.empty()) fail("RuntimeError", "at least one item has to be provided");
  auto* const cycler = evaluator.heap.make<Cycler>();
  cycler->items = arguments.positional;
  return {Kind::Cycler, cycler};
}

Value make_joiner(Evaluator& evaluator, const Value&, Arguments& arguments) {
  const Bound bound("joiner", arguments, {"sep"});
  auto* const joiner = evaluator.heap.make<Joiner>();
  joiner->separator = bound.get(0, evaluator.string(", "));
  return {Kind::Joiner, joiner};
}

Value raise_exception(Evaluator& evaluator, const Value&, Arguments& arguments) {
  const Bound bound("raise_exception", arguments, {"message"}, 1);
  fail("TemplateError", to_text(evaluator.heap, bound.get(0)));
}

Value now_as_text(Evaluator& evaluator, const Value&, Arguments& arguments) {
  const Bound bound("strftime_now", arguments, {"format"}, 1);
  const std::string& format = bound.text(0);
  if (format.size() > 1024) fail("ValueError", "strftime_now: the format has more than 1024 bytes");
  if (format.empty()) return evaluator.string("");
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::string text(64 * format.size() + 64, '\0');
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &local));
  return evaluator.string(std::move(text));
}

Value refuse_lipsum(Evaluator&, const Value&, Arguments&) {
  fail("TemplateRuntimeError", "lipsum() is not supported: its text is random");
}

}  // namespace

Method find_method(Kind kind, std::string_view name) {
  if (kind == Kind::String) return find_text_method(name);
  const Table* table = methods_of(kind);
  if (table == nullptr) return {};
  const auto found = table->find(name);
  return found == table->end() ? Method() : Method{found->first.data(), found->second};
}

bool is_mutator(Kind kind, std::string_view name) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (kind == Kind::Dict) return is_one_of({"clear", "pop", "popitem", "setdefault", "update"});
  return kind == Kind::List &&
         is_one_of({"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"});
}

Method find_global(std::string_view name) {
  static const auto& table = *new Table{{"range", make_range},
                                        {"dict", make_dict},
                                        {"namespace", make_namespace},
                                        {"cycler", make_cycler},
                                        {"joiner", make_joiner},
                                        {"lipsum", refuse_lipsum},
                                        {"raise_exception", raise_exception},
                                        {"strftime_now", now_as_text}};
  const auto found = table.find(name);
  return found == table.end() ? Method() : Method{found->first.data(), found->second};
}

}  // namespace weft::models::jinja
