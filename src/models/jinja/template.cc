#include "models/jinja/template.h"

#include <fmt/format.h>

#include "core/printable.h"
#include "models/jinja/evaluator.h"
#include "weft/error.h"

namespace weft::models::jinja {
namespace {

Value value_of(Heap& heap, const OrderedJson& json) {
  heap.step();
  switch (json.type()) {
    case OrderedJson::value_t::boolean: return Value::boolean(json.get<bool>());
    case OrderedJson::value_t::number_integer: return Value::integer(json.get<int64_t>());
    case OrderedJson::value_t::number_unsigned:
      if (json.get<uint64_t>() > INT64_MAX) fail("OverflowError", "a number has more than 64 bits");
      return Value::integer(json.get<int64_t>());
    case OrderedJson::value_t::number_float: return Value::real(json.get<double>());
    case OrderedJson::value_t::string: return heap.text(json.get<std::string>());
    case OrderedJson::value_t::array: {
      std::vector<Value> items;
      for (const OrderedJson& item : json) items.push_back(value_of(heap, item));
      return heap.list(std::move(items));
    }
    case OrderedJson::value_t::object: {
      Dict* const dict = heap.make<Dict>();
      for (const auto& [key, item] : json.items()) dict->set(heap.text(key), value_of(heap, item));
      return {Kind::Dict, dict};
    }
    default: return {};
  }
}

[[noreturn]] void throw_failure(const std::string& where, const Failure& failure, int line) {
  throw_error(ErrorKind::Value,
              fmt::format("{}: {}: {}{}", where, failure.kind, printable(failure.message, 2000),
                          line > 0 ? fmt::format(" (line {})", line) : ""));
}

}  // namespace

Template::Template(std::string_view source, std::string where) : where_(std::move(where)) {
  try {
    tree_ = parse_template(source);
  } catch (const Failure& failure) {
    throw_failure(where_, failure, 0);
  }
}

Template::~Template() = default;

std::string Template::render(const OrderedJson& variables, Limits limits) const {
  Heap heap(limits);
  Evaluator evaluator(*tree_, heap);
  try {
    std::vector<std::pair<std::string, Value>> values;
    for (const auto& [name, value] : variables.items())
      if (tree_->names.find(name) >= 0) values.emplace_back(name, value_of(heap, value));
    return evaluator.render(values);
  } catch (const Failure& failure) {
    throw_failure(where_, failure, evaluator.line());
  }
}

}  // namespace weft::models::jinja
