#include "weft/jit/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "script/builtins/quantized/packed_classes.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : text_(text) {}

  Schema run() {
    Schema schema;
    schema.name = qualified_name();
    if (accept('.')) schema.overload = identifier();
    arguments(schema);
    skip_space();
    if (at_ + 1 < text_.size() && text_.substr(at_, 2) == "->") {
      at_ += 2;
      returns(schema);
    }
    skip_space();
    if (at_ != text_.size()) fail("the end");
    return schema;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw_error(ErrorKind::Value,
                fmt::format("schema '{}': column {}: expected {}", text_, at_ + 1, expected));
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}'", c));
  }

  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  std::string identifier() {
    skip_space();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == begin) fail("a name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  // "aten::add", or a user's dotted name; what follows the last dot of an operator is its overload.
  std::string qualified_name() {
    std::string name = identifier();
    if (text_.substr(at_, 2) == "::") {
      at_ += 2;
      return name + "::" + identifier();
    }
    while (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      name += "." + identifier();
    }
    return name;
  }

  void arguments(Schema& schema) {
    expect('(');
    bool keyword_only = false;
    while (!accept(')')) {
      if (accept('*')) {
        keyword_only = true;
      } else if (peek() == '.') {
        at_ += 3;
        if (at_ > text_.size()) fail("'...'");
        schema.is_vararg = true;
      } else {
        schema.arguments.push_back(argument(keyword_only));
      }
      if (peek() != ')') expect(',');
    }
  }

  SchemaArgument argument(bool keyword_only) {
    SchemaArgument result;
    result.keyword_only = keyword_only;
    result.type = type(result);
    result.name = identifier();
    if (accept('=')) {
      result.default_value = literal(*result.type);
      if (result.list_length > 0 && !result.default_value->is_list() && !result.default_value->is_none()) {
        const TypePtr list = result.type->is(TypeKind::Optional) ? result.type->element() : result.type;
        result.default_value =
            IValue::list(list->element(),
                         std::vector<IValue>(static_cast<size_t>(result.list_length), *result.default_value));
      }
    }
    return result;
  }

  void returns(Schema& schema) {
    SchemaArgument scratch;
    if (!accept('(')) {
      SchemaReturn only{"", type(scratch)};
      if (is_word(peek())) only.name = identifier();
      schema.returns.push_back(std::move(only));
      return;
    }
    while (!accept(')')) {
      if (peek() == '.') {
        at_ += 3;
        schema.is_vararg = true;
      } else {
        SchemaReturn result{"", type(scratch)};
        if (is_word(peek())) result.name = identifier();
        schema.returns.push_back(std::move(result));
      }
      if (peek() != ')') expect(',');
    }
  }

  // Inner types of "Dict(str, t)" or "Dict[str, t]".
  std::vector<TypePtr> type_list() {
    const char close = accept('[') ? ']' : (expect('('), ')');
    std::vector<TypePtr> types;
    SchemaArgument scratch;
    while (!accept(close)) {
      if (accept('('))
        expect(')');  // Tuple[()]
      else
        types.push_back(type(scratch));
      if (peek() != close) expect(',');
    }
    return types;
  }

  TypePtr base_type(SchemaArgument& argument) {
    if (peek() == '(') return Type::tuple(type_list());
    std::string name = identifier();
    if (name == "__torch__") {
      while (at_ < text_.size() && text_[at_] == '.') {
        ++at_;
        name += "." + identifier();
      }
      TypePtr type = packed::find_class(name);
      if (!type) fail("a type, got '" + name + "'");
      return type;
    }
    if (name == "Tensor") {
      annotation(argument);
      return Type::tensor();
    }
    if (name == "int" || name == "ScalarType" || name == "Layout" || name == "MemoryFormat" ||
        name == "SymInt" || name == "QScheme")
      return Type::integer();
    if (name == "float") return Type::floating();
    if (name == "complex") return Type::complex();
    if (name == "bool") return Type::boolean();
    if (name == "Scalar" || name == "number") return Type::number();
    if (name == "str" || name == "Dimname") return Type::string();
    if (name == "Device") return Type::device();
    if (name == "Generator" || name == "Stream" || name == "Storage") return Type::generator();
    if (name == "NoneType") return Type::none();
    if (name == "Any" || name == "AnyClassType" || name == "AnyEnumType" || name == "AnyListType")
      return Type::any();
    if (name == "List" || name == "Optional" || name == "Future") {
      const std::vector<TypePtr> inner = type_list();
      if (inner.size() != 1) fail("one type");
      annotation(argument);
      return name == "List"       ? Type::list(inner[0])
             : name == "Optional" ? Type::optional(inner[0])
                                  : Type::future(inner[0]);
    }
    if (name == "Dict") {
      const std::vector<TypePtr> inner = type_list();
      if (inner.size() != 2) fail("two types");
      annotation(argument);
      return Type::dict(inner[0], inner[1]);
    }
    if (name == "Tuple") return Type::tuple(type_list());
    if (name == "Union") return Type::union_of(type_list());
    if (std::islower(static_cast<unsigned char>(name[0]))) {
      annotation(argument);
      return Type::variable(name);
    }
    fail("a type, got '" + name + "'");
  }

  // "(a!)" or "(a -> *)".
  void annotation(SchemaArgument& argument) {
    if (at_ >= text_.size() || text_[at_] != '(') return;
    const size_t close = text_.find(')', at_);
    if (close == std::string_view::npos) fail("')'");
    argument.is_written |= text_.substr(at_, close - at_).find('!') != std::string_view::npos;
    at_ = close + 1;
  }

  TypePtr type(SchemaArgument& argument) {
    TypePtr result = base_type(argument);
    while (at_ < text_.size()) {
      if (text_[at_] == '[') {
        ++at_;
        if (std::isdigit(static_cast<unsigned char>(peek()))) argument.list_length = list_length();
        expect(']');
        result = Type::list(result);
        annotation(argument);
      } else if (text_[at_] == '?') {
        ++at_;
        result = Type::optional(result);
      } else {
        break;
      }
    }
    return result;
  }

  int64_t list_length() {
    const std::string digits = identifier();
    const char* const end = digits.data() + digits.size();
    int64_t length = 0;
    const auto [stop, error] = std::from_chars(digits.data(), end, length);
    if (stop != end || error != std::errc()) fail("a length, got '" + digits + "'");
    return length;
  }

  IValue literal(const Type& type) {
    const Type& wanted = type.is(TypeKind::Optional) ? *type.element() : type;
    const char c = peek();
    if (c == '[') {
      const TypePtr element = wanted.is(TypeKind::List) ? wanted.element() : Type::integer();
      std::vector<IValue> values;
      expect('[');
      while (!accept(']')) {
        values.push_back(literal(*element));
        if (peek() != ']') expect(',');
      }
      return IValue::list(element, std::move(values));
    }
    if (c == '"' || c == '\'') return string(c);
    if (c == '-' || c == '+' || c == '.' || std::isdigit(static_cast<unsigned char>(c)))
      return number(wanted);
    const std::string name = identifier();
    if (name == "None") return {};
    if (name == "True") return true;
    if (name == "False") return false;
    if (name == "inf") return std::numeric_limits<double>::infinity();
    if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (name == "Mean") return 1;  // a loss's reduction
    if (name == "Sum") return 2;
    if (name == "strided" || name == "contiguous_format") return 0;
    if (name == "long") return 4;
    if (name == "float") return 6;
    fail("a value, got '" + name + "'");
  }

  IValue string(char quote) {
    ++at_;
    std::string value;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        value += text_[at_] == 'n' ? '\n' : text_[at_];
      } else {
        value += text_[at_];
      }
      ++at_;
    }
    expect(quote);
    return value;
  }

  IValue number(const Type& wanted) {
    const size_t begin = at_;
    bool is_float = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool is_sign = (c == '-' || c == '+') && (at_ == begin || text_[at_ - 1] == 'e');
      if (!std::isdigit(static_cast<unsigned char>(c)) && c != '.' && c != 'e' && !is_sign) break;
      is_float |= c == '.' || c == 'e';
      ++at_;
    }
    const std::string digits(text_.substr(begin, at_ - begin));
    if (digits == "-" && text_.substr(at_, 3) == "inf") {
      at_ += 3;
      return -std::numeric_limits<double>::infinity();
    }
    const char* const end = digits.data() + digits.size();
    int64_t integer = 0;
    const auto [stop, error] = std::from_chars(digits.data(), end, integer);
    if (!is_float && stop == end && error == std::errc()) {
      if (wanted.is(TypeKind::Float)) return static_cast<double>(integer);
      return integer;
    }
    double real = 0;
    if (std::from_chars(digits.data(), end, real).ptr != end) fail("a number");
    return real;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// The value as the argument wants it; the value itself where nothing is to do.
IValue coerce(const SchemaArgument& argument, IValue value) {
  const Type& type = argument.type->is(TypeKind::Optional) ? *argument.type->element() : *argument.type;
  if (value.is_none()) return value;
  if (type.is(TypeKind::Float) && value.is_int()) return value.to_double();
  if (type.is(TypeKind::Device) && value.is_string()) return value.to_device();
  if (!type.is(TypeKind::List) || (value.is_list() && type.element()->is(TypeKind::Var))) return value;
  const TypePtr& element = type.element();
  const bool is_number = value.is_int() || value.is_double();
  if (argument.list_length > 0 && is_number) {
    if (element->is(TypeKind::Float)) value = value.to_double();
    return IValue::list(element, std::vector<IValue>(static_cast<size_t>(argument.list_length), value));
  }
  if (!value.is_list() && !value.is(IValue::Tag::Tuple)) return value;
  if (value.is_list() && value.to_list()->element->equals(*element)) return value;
  // A literal list without a better type: its elements decide.
  std::vector<IValue> elements = value.elements();
  for (IValue& item : elements) {
    if (element->is(TypeKind::Float) && item.is_int()) item = item.to_double();
    if (!element->is(TypeKind::Var) && !item.is_instance(*element)) return value;
  }
  return IValue::list(element, std::move(elements));
}

bool accepts(const Type& type, const IValue& value) {
  if (type.is(TypeKind::Var)) return true;
  if (type.is(TypeKind::Optional)) return value.is_none() || accepts(*type.element(), value);
  if (type.is(TypeKind::List) && type.element()->is(TypeKind::Var)) return value.is_list();
  if (type.is(TypeKind::Dict) && type.elements()[1]->is(TypeKind::Var)) return value.is(IValue::Tag::Dict);
  if (type.is(TypeKind::Number)) return value.is_number();
  return value.is_instance(type);
}

}  // namespace

Schema parse_schema(std::string_view text) { return SchemaParser(text).run(); }

const SchemaArgument* Schema::find(std::string_view argument) const {
  for (const SchemaArgument& candidate : arguments) {
    if (candidate.name == argument) return &candidate;
  }
  return nullptr;
}

TypePtr Schema::return_type() const {
  if (returns.empty()) return Type::none();
  if (returns.size() == 1) return returns[0].type;
  std::vector<TypePtr> types;
  for (const SchemaReturn& result : returns) types.push_back(result.type);
  return Type::tuple(std::move(types));
}

std::string Schema::str() const {
  std::string text = name + (overload.empty() ? "" : "." + overload) + "(";
  bool keyword_only = false, first = true;
  for (const SchemaArgument& argument : arguments) {
    text += first ? "" : ", ";
    first = false;
    if (argument.keyword_only && !keyword_only) text += "*, ";
    keyword_only = argument.keyword_only;
    std::string type = argument.type->str();
    if (argument.list_length > 0 && argument.type->is(TypeKind::List)) {
      type = fmt::format("{}[{}]", argument.type->element()->str(), argument.list_length);
    } else if (argument.is_written && argument.type->is(TypeKind::Tensor)) {
      type += "(a!)";
    }
    text += type + " " + argument.name;
    if (argument.default_value) text += "=" + argument.default_value->repr();
  }
  if (is_vararg) text += first ? "..." : ", ...";
  return text + ") -> " + (returns.empty() ? "()" : return_type()->str());
}

std::vector<IValue> bind_arguments(const Schema& schema, std::vector<IValue> positional,
                                   std::vector<std::pair<std::string, IValue>> keywords) {
  const auto fail = [&](const std::string& what) {
    throw_error(ErrorKind::Type,
                fmt::format("{}() {}\n  {}", schema.name.substr(schema.name.find_last_of(".:") + 1), what,
                            schema.str()));
  };
  const size_t count = schema.arguments.size();
  std::vector<std::optional<IValue>> values(count);
  std::vector<IValue> rest;
  for (size_t i = 0; i < positional.size(); ++i) {
    if (i < count && !schema.arguments[i].keyword_only) {
      values[i] = std::move(positional[i]);
    } else if (schema.is_vararg) {
      rest.push_back(std::move(positional[i]));
    } else {
      const auto most = std::count_if(schema.arguments.begin(), schema.arguments.end(),
                                      [](const auto& a) { return !a.keyword_only; });
      fail(fmt::format("takes {} positional argument{}, got {}", most, most == 1 ? "" : "s",
                       positional.size()));
    }
  }
  for (auto& [name, value] : keywords) {
    const SchemaArgument* argument = schema.find(name);
    if (!argument) fail(fmt::format("got an unexpected keyword argument '{}'", name));
    auto& slot = values[static_cast<size_t>(argument - schema.arguments.data())];
    if (slot) fail(fmt::format("got multiple values for argument '{}'", name));
    slot = std::move(value);
  }
  std::vector<IValue> result;
  result.reserve(count + rest.size());
  for (size_t i = 0; i < count; ++i) {
    const SchemaArgument& argument = schema.arguments[i];
    if (!values[i]) {
      if (!argument.default_value)
        fail(fmt::format("is missing the argument '{}' of type {}", argument.name, argument.type->str()));
      // A list default must not be shared between calls.
      values[i] = argument.default_value->is_list() ? IValue::list(argument.default_value->to_list()->element,
                                                                   argument.default_value->elements())
                                                    : *argument.default_value;
    }
    // The default of a Tensor may be None, which no other value of it is.
    const bool is_no_tensor =
        values[i]->is_none() && argument.default_value && argument.default_value->is_none();
    IValue value = coerce(argument, std::move(*values[i]));
    if (!is_no_tensor && !accepts(*argument.type, value)) {
      fail(fmt::format("argument '{}': expected {}, got {}", argument.name, argument.type->str(),
                       value.type()->str()));
    }
    result.push_back(std::move(value));
  }
  for (IValue& value : rest) result.push_back(std::move(value));
  return result;
}

}  // namespace weft::jit
