#include <fmt/format.h>

#include <algorithm>

#include "models/jinja/functions.h"

namespace weft::models::jinja {

Bound::Bound(const char* function, const Arguments& arguments, std::initializer_list<const char*> names,
             size_t required)
    : function_(function), values_(names.size()) {
  if (arguments.positional.size() > names.size())
    fail_type(fmt::format("{}() takes at most {} argument{} ({} given)", function, names.size(),
                          names.size() == 1 ? "" : "s", arguments.positional.size()));
  std::copy(arguments.positional.begin(), arguments.positional.end(), values_.begin());
  for (const auto& [name, value] : arguments.named) {
    const auto found =
        std::find_if(names.begin(), names.end(), [&](const char* other) { return name == other; });
    if (found == names.end())
      fail_type(fmt::format("{}() got an unexpected keyword argument {}", function, repr_of_text(name)));
    std::optional<Value>& place = values_[static_cast<size_t>(found - names.begin())];
    if (place)
      fail_type(fmt::format("{}() got multiple values for argument {}", function, repr_of_text(name)));
    place = value;
  }
  for (size_t i = 0; i < required; ++i)
    if (!values_[i])
      fail_type(fmt::format("{}() missing 1 required positional argument: '{}'", function, names.begin()[i]));
}

bool Bound::is_true_at(size_t index, bool fallback) const {
  return values_[index] ? is_true(*values_[index]) : fallback;
}

int64_t Bound::integer(size_t index, int64_t fallback) const {
  if (!values_[index]) return fallback;
  if (values_[index]->is_undefined()) fail_undefined(*values_[index]);
  if (!values_[index]->is_whole())
    fail_type(fmt::format("'{}' object cannot be interpreted as an integer (argument {} of {})",
                          type_name(*values_[index]), index + 1, function_));
  return values_[index]->integer();
}

const std::string& Bound::text(size_t index) const {
  const Value& value = *values_[index];
  if (!value.is_string())
    fail_type(fmt::format("{}() argument {} must be str, not {}", function_, index + 1, type_name(value)));
  return value.text();
}

std::string Bound::text(size_t index, const char* fallback) const {
  return values_[index] ? text(index) : fallback;
}

}  // namespace weft::models::jinja
