#include "ops/attrs.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::ops {
namespace {

struct AttrPrinter {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(const Sym& value) const { return value.str(); }
  std::string operator()(double value) const { return Scalar(value).str(); }
  std::string operator()(const Scalar& value) const { return value.str(); }
  std::string operator()(const std::string& value) const { return fmt::format("'{}'", value); }
  std::string operator()(DType value) const { return std::string(name(value)); }
  std::string operator()(const Device& value) const { return value.str(); }
  std::string operator()(const SymShape& value) const { return weft::str(value); }
};

// Most are the same memory, or differ in length or at the first letter, which needs no call.
bool is_same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  return a.data() == b.data() || (!a.empty() && a.front() == b.front() && a == b);
}

}  // namespace

std::string TensorType::str() const {
  return absent ? "None" : std::string(short_name(dtype)) + weft::str(shape);
}

std::string str(const Attr& attr) { return std::visit(AttrPrinter{}, attr); }

Attrs::Attrs() = default;
Attrs::Attrs(std::initializer_list<std::pair<std::string_view, Attr>> items) : items_(items) {}
Attrs::Attrs(const Attrs&) = default;
Attrs::Attrs(Attrs&&) noexcept = default;
Attrs& Attrs::operator=(const Attrs&) = default;
Attrs& Attrs::operator=(Attrs&&) noexcept = default;
Attrs::~Attrs() = default;

const Attr* Attrs::find(std::string_view name) const {
  const auto found =
      std::find_if(items_.begin(), items_.end(), [&](const auto& item) { return is_same(item.first, name); });
  return found == items_.end() ? nullptr : &found->second;
}

const Attr& Attrs::at(std::string_view name) const {
  const Attr* attr = find(name);
  WEFT_ASSERT(attr != nullptr, fmt::format("attribute '{}' is absent", name));
  return *attr;
}

bool Attrs::is_none(std::string_view name) const {
  const Attr* attr = find(name);
  return attr == nullptr || std::holds_alternative<std::monostate>(*attr);
}

void Attrs::set(std::string_view name, Attr value) {
  for (auto& item : items_) {
    if (is_same(item.first, name)) {
      item.second = std::move(value);
      return;
    }
  }
  constexpr size_t kUsual = 6;
  if (items_.capacity() == 0) items_.reserve(kUsual);
  items_.emplace_back(name, std::move(value));
}

std::vector<int64_t> Attrs::get_ints(std::string_view name) const {
  std::vector<int64_t> result;
  for (const Sym& value : get<SymShape>(name)) result.push_back(sym_specialize(value));
  return result;
}

}  // namespace weft::ops
