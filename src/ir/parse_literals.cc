// Types, symbolic expressions, attributes and constant data of the graph's text form.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "ir/parser.h"
#include "weft/detail/visit_dtype.h"

namespace weft::ir {

TensorType Parser::parse_type() {
  TensorType type;
  const Token name = token_;
  const std::optional<DType> dtype = dtype_from_name(expect_name("a type, as in 'f32[4]'"));
  if (!dtype) syntax_error(name, "a dtype, as in 'f32'");
  type.dtype = *dtype;
  type.shape = parse_shape();
  if (accept("@")) type.device = parse_device();
  return type;
}

Device Parser::parse_device() {
  const Token name = token_;
  std::string text = expect_name("a device, as in 'cpu'");
  if (token_.is(":") && token_.glued) {
    take();
    text += fmt::format(":{}", expect_int());
  }
  try {
    return Device::parse(text);
  } catch (const Error&) {
    syntax_error(name, "a device, as in 'cpu' or 'cuda:1'");
  }
}

SymShape Parser::parse_shape() {
  SymShape shape;
  expect("[");
  while (!token_.is("]")) {
    shape.push_back(parse_sum());
    if (!accept(",")) break;
  }
  expect("]");
  return shape;
}

Sym Parser::parse_sum() {
  Sym result = accept("-") ? -parse_product() : parse_product();
  while (token_.is("+") || token_.is("-")) {
    const bool minus = take().text == "-";
    const Sym term = parse_product();
    result = minus ? result - term : result + term;
  }
  return result;
}

Sym Parser::parse_product() {
  Sym result = parse_atom();
  while (true) {
    if (accept("*")) {
      result = result * parse_atom();
    } else if (accept("//")) {
      result = floor_div(result, parse_atom());
    } else if (accept("%")) {
      result = floor_mod(result, parse_atom());
    } else if (token_.kind == TokenKind::Value && token_.glued) {
      // "s0%4" reads as a value's name: it is the remainder.
      token_.kind = token_.text[0] == 's' ? TokenKind::Name : TokenKind::Number;
      result = floor_mod(result, parse_atom());
    } else {
      return result;
    }
  }
}

Sym Parser::parse_atom() {
  if (token_.kind == TokenKind::Number || token_.is("-")) return expect_int();
  if (accept("(")) {
    const Sym inner = parse_sum();
    expect(")");
    return inner;
  }
  if (token_.is_name("min") || token_.is_name("max")) {
    const bool is_min = take().text == "min";
    expect("(");
    const Sym a = parse_sum();
    expect(",");
    const Sym b = parse_sum();
    expect(")");
    return is_min ? sym_min(a, b) : sym_max(a, b);
  }
  const Token name = token_;
  expect_name("an integer or a symbol");
  return symbol_named(name);
}

Sym Parser::symbol_named(const Token& token) {
  int index = -1;
  if (token.kind == TokenKind::Name && token.text.size() > 1 && token.text[0] == 's') {
    const char* end = token.text.data() + token.text.size();
    if (std::from_chars(token.text.data() + 1, end, index).ptr != end) index = -1;
  }
  if (index < 0 || index >= graph_->env().num_symbols()) syntax_error(token, "one of the graph's symbols");
  return graph_->env().symbol(index);
}

ops::Attr Parser::parse_attr(ops::Param::Type type) {
  using Kind = ops::Param::Type;
  if (accept_name("none")) return std::monostate{};
  switch (type) {
    case Kind::Bool:
      if (accept_name("true")) return true;
      if (accept_name("false")) return false;
      syntax_error(token_, "true or false");
    case Kind::Int: return parse_sum();
    case Kind::Float: return parse_double();
    case Kind::Scalar: return parse_scalar();
    case Kind::String:
      if (token_.kind != TokenKind::String) syntax_error(token_, "a string");
      return take().text;
    case Kind::DType: {
      const Token name = token_;
      const std::optional<DType> dtype = dtype_from_name(expect_name("a dtype, as in 'f32'"));
      if (!dtype) syntax_error(name, "a dtype, as in 'f32'");
      return *dtype;
    }
    case Kind::Device: return parse_device();
    case Kind::IntList: return parse_shape();
    case Kind::Tensor:
    case Kind::TensorList: break;
  }
  syntax_error(token_, "an attribute, not a tensor");
}

Scalar Parser::parse_scalar() {
  if (accept_name("true")) return true;
  if (accept_name("false")) return false;
  if (accept("(")) {
    const double real = parse_double();
    expect(",");
    const double imaginary = parse_double();
    expect(")");
    return std::complex<double>(real, imaginary);
  }
  const bool negative = token_.is("-");
  if (negative) take();
  const bool integer =
      token_.kind == TokenKind::Number && token_.text.find_first_of(".e") == std::string::npos;
  if (negative) token_.text = "-" + token_.text;
  if (!integer) return parse_double();
  int64_t value = 0;
  const char* end = token_.text.data() + token_.text.size();
  if (std::from_chars(token_.text.data(), end, value).ptr != end)
    syntax_error(token_, "an integer of 64 bits");
  take();
  return value;
}

// Reads a sign that parse_scalar has put in front of the text, too.
double Parser::parse_double() {
  const double sign = accept("-") ? -1 : 1;
  std::string_view text = token_.text;
  const bool inner_sign = text.starts_with("-");
  if (inner_sign) text.remove_prefix(1);
  double value = 0;
  if (text == "inf") {
    value = std::numeric_limits<double>::infinity();
  } else if (text == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    const bool number = token_.kind == TokenKind::Number;
    if (!number ||
        std::from_chars(text.data(), text.data() + text.size(), value).ptr != text.data() + text.size()) {
      syntax_error(token_, "a number");
    }
  }
  take();
  return std::copysign(value, inner_sign ? -sign : sign);
}

void Parser::parse_data(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const auto read_element = [&]<class T>(T& element) {
    if constexpr (std::is_same_v<T, bool>) {
      const Scalar value = parse_scalar();
      element = value.to_bool();
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      const char* end = token_.text.data() + token_.text.size();
      if (token_.kind != TokenKind::Number || std::from_chars(token_.text.data(), end, element).ptr != end) {
        syntax_error(token_, "an integer without sign");
      }
      take();
    } else if constexpr (std::is_integral_v<T>) {
      const Token token = token_;
      const int64_t value = expect_int();
      element = static_cast<T>(value);
      if (static_cast<int64_t>(element) != value)
        syntax_error(token, fmt::format("a {}", name(tensor.dtype())));
    } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      expect("(");
      const double real = parse_double();
      expect(",");
      element =
          T(static_cast<typename T::value_type>(real), static_cast<typename T::value_type>(parse_double()));
      expect(")");
    } else if constexpr (std::is_same_v<T, double>) {
      element = parse_double();
    } else {
      element = T(static_cast<float>(parse_double()));
    }
  };
  const auto read = [&]<class T>(auto& self, T*& data, size_t dim) -> void {
    if (dim == shape.size()) return read_element(*data++);
    expect("[");
    for (int64_t i = 0; i < shape[dim]; ++i) {
      if (i) expect(",");
      self(self, data, dim + 1);
    }
    expect("]");
  };
  visit_dtype(tensor.dtype(), [&]<class T>(std::type_identity<T>) {
    T* data = static_cast<T*>(tensor.data());
    read(read, data, 0);
  });
}

}  // namespace weft::ir
