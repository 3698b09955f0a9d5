// Filters of values and sequences. source: jinja2 3.1, filters.py.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/jinja/evaluator.h"
#include "models/jinja/filters_text.h"
#include "models/jinja/texts.h"

namespace weft::models::jinja {
namespace {

// What make_attrgetter makes: "address.city", 0, or None for the value itself.
class Getter {
 public:
  Getter(Evaluator& evaluator, const Value& attribute, bool ignores_case, Value fallback = Value())
      : evaluator_(evaluator), ignores_case_(ignores_case), fallback_(fallback) {
    if (attribute.is_none()) return;
    if (!attribute.is_string()) {
      parts_.push_back(attribute);
      return;
    }
    for (const std::string_view part : split_text(attribute.text(), ".", -1, false))
      parts_.push_back(is_all(part, CharacterClass::Digit) && part.size() < 18
                           ? Value::integer(std::stoll(std::string(part)))
                           : evaluator.string(std::string(part)));
  }
  Value operator()(Value value) const {
    for (const Value& part : parts_) {
      value = evaluator_.item(value, part);
      if (!fallback_.is_none() && value.is_undefined()) value = fallback_;
    }
    return ignores_case_ && value.is_string() ? evaluator_.string(lower_text(value.text())) : value;
  }

 private:
  Evaluator& evaluator_;
  bool ignores_case_;
  Value fallback_;
  std::vector<Value> parts_;
};

struct Keyed {
  Value key, value;
};

void sort_keyed(Heap& heap, std::vector<Keyed>& items, bool reverse) {
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    return reverse ? is_less(heap, b.key, a.key) : is_less(heap, a.key, b.key);
  });
}

Value values_of(Evaluator& evaluator, const std::vector<Keyed>& items) {
  std::vector<Value> values;
  for (const Keyed& item : items) values.push_back(item.value);
  return evaluator.heap.list(std::move(values));
}

Value sort_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const bool ignores_case = !bound.is_true_at(1);
  std::vector<Getter> getters;
  const Value attribute = bound.get(2);
  if (attribute.is_string())
    for (const std::string_view part : split_text(attribute.text(), ",", -1, false))
      getters.emplace_back(evaluator, evaluator.string(std::string(part)), ignores_case);
  else
    getters.emplace_back(evaluator, attribute, ignores_case);
  std::vector<Keyed> items;
  for (const Value& value : iterate(evaluator.heap, subject)) {
    std::vector<Value> key;
    for (const Getter& getter : getters) key.push_back(getter(value));
    items.push_back({evaluator.heap.list(std::move(key)), value});
  }
  sort_keyed(evaluator.heap, items, bound.is_true_at(0));
  return values_of(evaluator, items);
}

Value dictsort_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  if (subject.is_undefined()) fail_undefined(subject);
  if (!subject.is(Kind::Dict))
    fail("AttributeError", fmt::format("'{}' object has no attribute 'items'", type_name(subject)));
  const std::string by = bound.text(1, "key");
  if (by != "key" && by != "value")
    fail("FilterArgumentError", "You can only sort by either \"key\" or \"value\"");
  const Getter getter(evaluator, Value(), !bound.is_true_at(0));
  std::vector<Keyed> items;
  for (const auto& [key, value] : subject.as<Dict>().entries())
    items.push_back({getter(by == "key" ? key : value), evaluator.heap.tuple({key, value})});
  sort_keyed(evaluator.heap, items, bound.is_true_at(2));
  return values_of(evaluator, items);
}

Value groupby_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const Getter getter(evaluator, bound.get(0), !bound.is_true_at(2), bound.get(1));
  const Getter plain(evaluator, bound.get(0), false, bound.get(1));
  std::vector<Keyed> items;
  for (const Value& value : iterate(evaluator.heap, subject)) items.push_back({getter(value), value});
  sort_keyed(evaluator.heap, items, false);
  std::vector<Value> groups;
  for (size_t i = 0; i < items.size();) {
    std::vector<Value> members;
    const Keyed& first = items[i];
    for (; i < items.size() && is_equal(evaluator.heap, items[i].key, first.key); ++i)
      members.push_back(items[i].value);
    if (members.empty()) members.push_back(items[i++].value);  // NaN is not itself
    const Value group = evaluator.heap.tuple({plain(first.value), evaluator.heap.list(std::move(members))});
    group.as<Elements>().is_group = true;
    groups.push_back(group);
  }
  return evaluator.heap.list(std::move(groups));
}

Value unique_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  const Getter getter(evaluator, bound.get(1), !bound.is_true_at(0));
  Dict seen;
  std::vector<Value> items;
  for (const Value& value : iterate(evaluator.heap, subject)) {
    const Value key = getter(value);
    if (seen.find(key) != nullptr) continue;
    evaluator.heap.charge(64);
    seen.set(key, Value());
    items.push_back(value);
  }
  return evaluator.heap.generator(std::move(items));
}

template <bool is_max>
Value extreme_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound(is_max ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const Getter getter(evaluator, bound.get(1), !bound.is_true_at(0));
  std::optional<Keyed> best;
  for (const Value& value : iterate(evaluator.heap, subject)) {
    const Value key = getter(value);
    if (!best ||
        (is_max ? is_less(evaluator.heap, best->key, key, ">") : is_less(evaluator.heap, key, best->key)))
      best = Keyed{key, value};
  }
  return best ? best->value : evaluator.heap.undefined("No aggregated item, sequence was empty.");
}

Value sum_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("sum", arguments, {"attribute", "start"});
  const Getter getter(evaluator, bound.get(0), false);
  Value sum = bound.get(1, Value::integer(0));
  if (sum.is_string()) fail_type("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& value : iterate(evaluator.heap, subject))
    sum = binary(evaluator, Operator::Add, sum, getter(value));
  return sum;
}

Value join_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("join", arguments, {"d", "attribute"});
  const Getter getter(evaluator, bound.get(1), false);
  const std::string between = bound.find(0) != nullptr ? to_text(evaluator.heap, bound.get(0)) : "";
  std::string text;
  bool is_first = true;
  for (const Value& value : iterate(evaluator.heap, subject)) {
    if (!is_first) text += between;
    is_first = false;
    const std::string part = to_text(evaluator.heap, getter(value));
    evaluator.heap.charge(part.size() + between.size());
    text += part;
  }
  return evaluator.string(std::move(text));
}

Value map_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const auto attribute = std::find_if(arguments.named.begin(), arguments.named.end(),
                                      [](const auto& argument) { return argument.first == "attribute"; });
  std::vector<Value> items;
  if (arguments.positional.empty() && attribute != arguments.named.end()) {
    const Bound bound("map", arguments, {"attribute", "default"}, 1);
    const Getter getter(evaluator, bound.get(0), false, bound.get(1));
    for (const Value& value : iterate(evaluator.heap, subject)) items.push_back(getter(value));
    return evaluator.heap.generator(std::move(items));
  }
  if (arguments.positional.empty()) fail("FilterArgumentError", "map requires a filter argument");
  const Value name = arguments.positional[0];
  if (!name.is_string()) fail_type("map: the filter's name must be a string");
  for (const Value& value : iterate(evaluator.heap, subject)) {
    Arguments rest{{arguments.positional.begin() + 1, arguments.positional.end()}, arguments.named};
    items.push_back(evaluator.filtered(name.text(), value, rest));
  }
  return evaluator.heap.generator(std::move(items));
}

template <bool keeps, bool of_attribute>
Value select_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  std::vector<Value> items;
  if (!is_true(subject)) return evaluator.heap.generator(std::move(items));
  const auto& given = arguments.positional;
  if (of_attribute && given.empty()) fail("FilterArgumentError", "Missing parameter for attribute name");
  const size_t offset = of_attribute ? 1 : 0;
  const Getter getter(evaluator, of_attribute ? given[0] : Value(), false);
  const bool has_test = given.size() > offset;
  if (has_test && !given[offset].is_string()) fail_type("select: the test's name must be a string");
  for (const Value& value : iterate(evaluator.heap, subject)) {
    bool is_kept = false;
    if (has_test) {
      Arguments rest{{given.begin() + static_cast<ptrdiff_t>(offset) + 1, given.end()}, arguments.named};
      is_kept = evaluator.tested(given[offset].text(), getter(value), rest);
    } else {
      is_kept = is_true(getter(value));
    }
    if (is_kept == keeps) items.push_back(value);
  }
  return evaluator.heap.generator(std::move(items));
}

Value default_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("default", arguments, {"default_value", "boolean"});
  const bool is_missing = subject.is_undefined() || (bound.is_true_at(1) && !is_true(subject));
  return is_missing ? bound.get(0, evaluator.string("")) : subject;
}

Value first_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("first", arguments, {});
  const std::vector<Value> items = iterate(evaluator.heap, subject);
  return items.empty() ? evaluator.heap.undefined("No first item, sequence was empty.") : items.front();
}

Value last_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("last", arguments, {});
  if (subject.is_undefined() || subject.is(Kind::Generator) || !can_iterate(subject))
    fail_type(fmt::format("'{}' object is not reversible", type_name(subject)));
  const std::vector<Value> items = iterate(evaluator.heap, subject);
  return items.empty() ? evaluator.heap.undefined("No last item, sequence was empty.") : items.back();
}

Value length_filter(Evaluator&, const Value& subject, Arguments& arguments) {
  const Bound bound("length", arguments, {});
  return Value::integer(length_of(subject));
}

Value list_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("list", arguments, {});
  return evaluator.heap.list(iterate(evaluator.heap, subject));
}

Value reverse_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("reverse", arguments, {});
  if (subject.is_string()) return sliced(evaluator.heap, subject, Value(), Value(), Value::integer(-1));
  if (!can_iterate(subject)) fail("FilterArgumentError", "argument must be iterable");
  std::vector<Value> items = iterate(evaluator.heap, subject);
  std::reverse(items.begin(), items.end());
  if (subject.is(Kind::Generator)) return evaluator.heap.list(std::move(items));
  return evaluator.heap.generator(std::move(items));
}

Value items_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("items", arguments, {});
  std::vector<Value> items;
  if (!subject.is_undefined()) {
    if (!subject.is(Kind::Dict)) fail_type("Can only get item pairs from a mapping.");
    for (const auto& [key, value] : subject.as<Dict>().entries())
      items.push_back(evaluator.heap.tuple({key, value}));
  }
  return evaluator.heap.generator(std::move(items));
}

Value attr_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("attr", arguments, {"name"}, 1);
  bound.text(0);
  const bool is_key = subject.is(Kind::Dict) && find_method(Kind::Dict, bound.text(0)).call == nullptr;
  return is_key ? evaluator.heap.undefined_of(subject, bound.get(0))
                : evaluator.attribute(subject, bound.get(0));
}

Value batch_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("batch", arguments, {"linecount", "fill_with"}, 1);
  const int64_t size = bound.integer(0, 1);
  std::vector<Value> rows, row;
  for (const Value& value : iterate(evaluator.heap, subject)) {
    if (static_cast<int64_t>(row.size()) == size) rows.push_back(evaluator.heap.list(std::exchange(row, {})));
    row.push_back(value);
  }
  if (!row.empty()) {
    const int64_t missing = size - static_cast<int64_t>(row.size());
    if (!bound.get(1).is_none() && missing > 0) {
      evaluator.heap.charge(static_cast<size_t>(missing) * sizeof(Value));
      row.insert(row.end(), static_cast<size_t>(missing), bound.get(1));
    }
    rows.push_back(evaluator.heap.list(std::move(row)));
  }
  return evaluator.heap.generator(std::move(rows));
}

Value slice_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("slice", arguments, {"slices", "fill_with"}, 1);
  const std::vector<Value> items = iterate(evaluator.heap, subject);
  const int64_t count = bound.integer(0, 1), length = static_cast<int64_t>(items.size());
  if (count == 0) fail("ZeroDivisionError", "integer division or modulo by zero");
  std::vector<Value> slices;
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    evaluator.heap.step();
    const bool has_extra = i < length % count;
    const int64_t end = at + length / count + (has_extra ? 1 : 0);
    std::vector<Value> slice(items.begin() + at, items.begin() + end);
    if (!bound.get(1).is_none() && !has_extra) slice.push_back(bound.get(1));
    slices.push_back(evaluator.heap.list(std::move(slice)));
    at = end;
  }
  return evaluator.heap.generator(std::move(slices));
}

// Numbers.

Value abs_filter(Evaluator& evaluator, const Value& subject, Arguments& arguments) {
  const Bound bound("abs", arguments, {});
  if (!subject.is_number()) fail_type(fmt::format("bad operand type for abs(): '{}'", type_name(subject)));
  if (!subject.is_whole()) return Value::real(std::abs(subject.real()));
  return subject.integer() < 0 ? binary(evaluator, Operator::Subtract, Value::integer(0), subject)
                               : Value::integer(subject.integer());
}

Value round_filter(Evaluator&, const Value& subject, Arguments& arguments) {
  const Bound bound("round", arguments, {"precision", "method"});
  const std::string method = bound.text(1, "common");
  if (method != "common" && method != "ceil" && method != "floor")
    fail("FilterArgumentError", "method must be common, ceil or floor");
  if (subject.is_undefined()) fail_undefined(subject);
  if (!subject.is_number())
    fail_type(fmt::format("type {} doesn't define __round__ method", type_name(subject)));
  const int64_t digits = std::clamp<int64_t>(bound.integer(0, 0), -400, 400);
  if (method == "common") {
    if (!subject.is_whole()) return Value::real(rounded(subject.real(), digits));
    return digits >= 0 ? Value::integer(subject.integer())
                       : Value::integer(static_cast<int64_t>(rounded(subject.real(), digits)));
  }
  const double scale = std::pow(10.0, static_cast<double>(digits)), scaled = subject.real() * scale;
  return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Value whole_of(double value) {
  if (std::isinf(value)) fail("OverflowError", "cannot convert float infinity to integer");
  if (!(std::abs(value) < 9.2e18)) fail("OverflowError", "a number has more than 64 bits");
  return Value::integer(static_cast<int64_t>(value));
}

Value int_filter(Evaluator&, const Value& subject, Arguments& arguments) {
  const Bound bound("int", arguments, {"default", "base"});
  const Value fallback = bound.get(0, Value::integer(0));
  if (subject.is_undefined()) fail_undefined(subject);
  if (subject.is_whole()) return Value::integer(subject.integer());
  if (subject.is_number()) return std::isnan(subject.real()) ? fallback : whole_of(subject.real());
  if (!subject.is_string()) return fallback;
  if (const auto number = parse_integer(subject.text(), bound.integer(1, 10))) return *number;
  const auto number = parse_float(subject.text());
  return number && std::isfinite(*number) ? whole_of(*number) : fallback;
}

Value float_filter(Evaluator&, const Value& subject, Arguments& arguments) {
  const Bound bound("float", arguments, {"default"});
  if (subject.is_undefined()) fail_undefined(subject);
  if (subject.is_number()) return Value::real(subject.real());
  if (subject.is_string())
    if (const auto number = parse_float(subject.text())) return Value::real(*number);
  return bound.get(0, Value::real(0));
}

template <int which>
Value refused_filter(Evaluator&, const Value&, Arguments&) {
  static constexpr const char* kNames[] = {"wordwrap", "urlize", "striptags", "random", "pprint"};
  fail("TemplateRuntimeError", fmt::format("the filter '{}' is not supported", kNames[which]));
}

const FilterTable& filters() {
  static const auto& table = *[] {
    auto* made = new FilterTable{{"sort", sort_filter},
                                 {"dictsort", dictsort_filter},
                                 {"groupby", groupby_filter},
                                 {"unique", unique_filter},
                                 {"min", extreme_filter<false>},
                                 {"max", extreme_filter<true>},
                                 {"sum", sum_filter},
                                 {"join", join_filter},
                                 {"map", map_filter},
                                 {"select", select_filter<true, false>},
                                 {"reject", select_filter<false, false>},
                                 {"selectattr", select_filter<true, true>},
                                 {"rejectattr", select_filter<false, true>},
                                 {"default", default_filter},
                                 {"d", default_filter},
                                 {"first", first_filter},
                                 {"last", last_filter},
                                 {"length", length_filter},
                                 {"count", length_filter},
                                 {"list", list_filter},
                                 {"reverse", reverse_filter},
                                 {"items", items_filter},
                                 {"attr", attr_filter},
                                 {"batch", batch_filter},
                                 {"slice", slice_filter},
                                 {"abs", abs_filter},
                                 {"round", round_filter},
                                 {"int", int_filter},
                                 {"float", float_filter},
                                 {"wordwrap", refused_filter<0>},
                                 {"urlize", refused_filter<1>},
                                 {"striptags", refused_filter<2>},
                                 {"random", refused_filter<3>},
                                 {"pprint", refused_filter<4>}};
    add_text_filters(*made);
    return made;
  }();
  return table;
}

}  // namespace

NativeFunction find_filter(std::string_view name) {
  const auto found = filters().find(name);
  return found == filters().end() ? nullptr : found->second;
}

}  // namespace weft::models::jinja
