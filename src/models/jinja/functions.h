// What templates call: filters, tests, methods, global functions. Each by its name.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/jinja/objects.h"

namespace weft::models::jinja {

using TestFunction = bool (*)(Evaluator&, const Value& subject, Arguments&);

NativeFunction find_filter(std::string_view name);
TestFunction find_test(std::string_view name);
// Of strings, lists, tuples, dicts, loops, …; `name` outlives the value.
struct Method {
  const char* name = nullptr;
  NativeFunction call = nullptr;
};
Method find_method(Kind kind, std::string_view name);
Method find_text_method(std::string_view name);
// Would it be one that changes what it is called on?
bool is_mutator(Kind kind, std::string_view name);
Method find_global(std::string_view name);

// Arguments by the names of parameters, as Python binds them. TypeError for those that do not fit.
class Bound {
 public:
  // `required`: how many of the names have no default.
  Bound(const char* function, const Arguments& arguments, std::initializer_list<const char*> names,
        size_t required = 0);
  const Value* find(size_t index) const { return values_[index] ? &*values_[index] : nullptr; }
  Value get(size_t index, const Value& fallback = Value()) const { return values_[index].value_or(fallback); }
  bool is_true_at(size_t index, bool fallback = false) const;
  // TypeError where it is no whole number, or no string.
  int64_t integer(size_t index, int64_t fallback) const;
  const std::string& text(size_t index) const;
  std::string text(size_t index, const char* fallback) const;

 private:
  const char* function_;
  std::vector<std::optional<Value>> values_;
};

// a + b, …; TypeError as Python raises it.
Value binary(Evaluator& evaluator, Operator symbol, const Value& a, const Value& b);
// value[begin:end:step]
Value sliced(Heap& heap, const Value& value, const Value& begin, const Value& end, const Value& step);
// "..." % values
std::string formatted_percent(Evaluator& evaluator, const std::string& format, const Value& values);
// "{}".format(...)
Value format_text(Evaluator& evaluator, const Value& self, Arguments& arguments);
// json.dumps(value, ensure_ascii=…, indent=…, separators=…, sort_keys=…)
Value json_text(Evaluator& evaluator, const Value& self, Arguments& arguments);
// int(text, base); nothing where it is none.
std::optional<Value> parse_integer(std::string_view text, int64_t base);
std::optional<double> parse_float(std::string_view text);
// round(value, digits), to the even one of two.
double rounded(double value, int64_t digits);

}  // namespace weft::models::jinja
