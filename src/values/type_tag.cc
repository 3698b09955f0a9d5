#include "values/type_tag.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "weft/error.h"

namespace weft::jit {

namespace {

constexpr int kMaxTypeDepth = 100;

class TypeTagParser {
 public:
  TypeTagParser(std::string_view text, const FindType& find_type) : text_(text), find_type_(find_type) {}

  TypePtr parse() {
    const TypePtr type = parse_type(0);
    skip_spaces();
    if (position_ != text_.size()) fail("expected its end");
    return type;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw_error(ErrorKind::Value,
                fmt::format("'{}' is no type: {} at column {}", text_.substr(0, 200), what, position_ + 1));
  }
  void skip_spaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool accept(char c) {
    skip_spaces();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("expected '{}'", c));
  }

  std::string word() {
    skip_spaces();
    const size_t end = std::min(text_.find_first_of("[](), ", position_), text_.size());
    if (end == position_) fail("expected a name");
    const std::string result(text_.substr(position_, end - position_));
    position_ = end;
    return result;
  }

  std::vector<TypePtr> parameters(int depth) {
    expect('[');
    std::vector<TypePtr> types;
    if (accept('(')) {  // Tuple[()]
      expect(')');
      expect(']');
      return types;
    }
    do types.push_back(parse_type(depth + 1));
    while (accept(','));
    expect(']');
    return types;
  }
  TypePtr only(std::vector<TypePtr> types) const {
    if (types.size() != 1) fail("expected one type in the brackets");
    return types[0];
  }

  TypePtr parse_type(int depth) {
    if (depth > kMaxTypeDepth) fail("it is nested too deep");
    const std::string name = word();
    static const auto& kSimple = *new std::unordered_map<std::string_view, TypePtr (*)()>{
        {"Tensor", Type::tensor},   {"int", Type::integer},         {"float", Type::floating},
        {"complex", Type::complex}, {"bool", Type::boolean},        {"str", Type::string},
        {"NoneType", Type::none},   {"None", Type::none},           {"Any", Type::any},
        {"number", Type::number},   {"Scalar", Type::number},       {"Device", Type::device},
        {"device", Type::device},   {"Generator", Type::generator},
    };
    if (const auto found = kSimple.find(name); found != kSimple.end()) return found->second();
    if (name == "List") return Type::list(only(parameters(depth)));
    if (name == "Optional") return Type::optional(only(parameters(depth)));
    if (name == "Future") return Type::future(only(parameters(depth)));
    if (name == "Tuple") return Type::tuple(parameters(depth));
    if (name == "Union") return Type::union_of(parameters(depth));
    if (name == "Dict") {
      const std::vector<TypePtr> types = parameters(depth);
      if (types.size() != 2) fail("expected two types in the brackets of a Dict");
      return Type::dict(types[0], types[1]);
    }
    const TypePtr type = name.starts_with("__torch__.") && find_type_ ? find_type_(name) : nullptr;
    if (!type) fail(fmt::format("there is no type '{}'", name));
    return type;
  }

  std::string_view text_;
  const FindType& find_type_;
  size_t position_ = 0;
};

bool conform_list(List& list, const TypePtr& element) {
  if (list.element->equals(*element)) return true;
  if (!list.element->is(TypeKind::Any)) return false;
  for (IValue& value : list.values) {
    if (!conform(value, element)) return false;
  }
  list.element = element;
  return true;
}

bool conform_dict(Dict& dict, const TypePtr& key, const TypePtr& value) {
  if (dict.key->equals(*key) && dict.value->equals(*value)) return true;
  if (!dict.key->is(TypeKind::Any) || !dict.value->is(TypeKind::Any)) return false;
  for (const Dict::Item& item : dict.items()) {
    IValue item_key = item.first, item_value = item.second;
    if (!conform(item_key, key) || !conform(item_value, value)) return false;
    const_cast<IValue&>(item.second) = std::move(item_value);  // not by its key: NaN would not be found
  }
  dict.key = key;
  dict.value = value;
  return true;
}

bool conform_tuple(IValue& value, const TypePtr& type) {
  Tuple& tuple = *value.to_tuple();
  if (tuple.values.size() != type->elements().size()) return false;
  if (tuple.type) return type->name().empty() || tuple.type->name() == type->name();
  for (size_t i = 0; i < tuple.values.size(); ++i) {
    if (!conform(tuple.values[i], type->elements()[i])) return false;
  }
  if (!type->name().empty()) value = IValue::named_tuple(type, tuple.values);
  return true;
}

}  // namespace

TypePtr parse_type_tag(std::string_view text, const FindType& find_type) {
  return TypeTagParser(text, find_type).parse();
}

bool conform(IValue& value, const TypePtr& type) {
  switch (type->kind()) {
    case TypeKind::List: return value.is_list() && conform_list(*value.to_list(), type->element());
    case TypeKind::Dict:
      return value.is(IValue::Tag::Dict) &&
             conform_dict(*value.to_dict(), type->elements()[0], type->elements()[1]);
    case TypeKind::Tuple: return value.is(IValue::Tag::Tuple) && conform_tuple(value, type);
    case TypeKind::Optional: return value.is_none() || conform(value, type->element());
    case TypeKind::Union:
      return std::any_of(type->elements().begin(), type->elements().end(),
                         [&](const TypePtr& member) { return conform(value, member); });
    case TypeKind::Class:
    case TypeKind::Interface: return value.is(IValue::Tag::Object) && value.is_instance(*type);
    case TypeKind::Enum: return value.is(IValue::Tag::Enum) && value.is_instance(*type);
    case TypeKind::Future:
    case TypeKind::Function:
    case TypeKind::Var: return false;
    default: return value.is_instance(*type);  // decided by the value's tag
  }
}

}  // namespace weft::jit
