#include "serve/moved_values.h"

#include <memory>
#include <utility>
#include <vector>

namespace weft::serve {
namespace {

IValue moved_value(const IValue& value, Device device) {
  const auto elements = [&] {
    std::vector<IValue> result;
    for (const IValue& element : value.elements()) result.push_back(moved_value(element, device));
    return result;
  };
  if (value.is_tensor()) return value.to_tensor().defined() ? value.to_tensor().to(device) : value;
  if (value.is_list()) return IValue::list(value.to_list()->element, elements());
  if (value.is(IValue::Tag::Tuple)) {
    const auto tuple = value.to_tuple();
    return tuple->type ? IValue::named_tuple(tuple->type, elements()) : IValue::tuple(elements());
  }
  if (value.is(IValue::Tag::Dict)) {
    IValue result = IValue::dict(value.to_dict()->key, value.to_dict()->value);
    for (const auto& [key, element] : value.to_dict()->items())
      result.to_dict()->set(key, moved_value(element, device));
    return result;
  }
  return value;
}

}  // namespace

NamedValues moved(const NamedValues& values, Device device) {
  NamedValues result = values;
  for (auto& item : result) item.second = moved_value(item.second, device);
  return result;
}

}  // namespace weft::serve
