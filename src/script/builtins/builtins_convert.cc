// int(), float(), bool(), str() and their like; ranges, hashes, devices, enums and messages.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdio>
#include <numeric>

#include "core/memory_limit.h"
#include "script/builtins/builtin.h"
#include "script/builtins/format.h"
#include "values/containers.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

using Complex = std::complex<double>;
using Text = const std::string&;

std::string_view stripped(Text text) {
  constexpr const char* kSpaces = " \t\n\r\f\v";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string::npos) return {};
  return std::string_view(text).substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

// A number's text without what Python allows around and in it: spaces, a plus sign, underscores between
// digits.
std::string number_text(Text text) {
  std::string digits;
  const std::string_view body = stripped(text);
  const auto is_digit = [&](size_t i) {
    return i < body.size() && std::isdigit(static_cast<unsigned char>(body[i]));
  };
  for (size_t i = 0; i < body.size(); ++i) {
    if (!(body[i] == '_' && i > 0 && is_digit(i - 1) && is_digit(i + 1))) digits += body[i];
  }
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.erase(0, 1);
  return digits;
}

int64_t int_of_text(Text text) {
  const std::string digits = number_text(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  WEFT_CHECK(error != std::errc::result_out_of_range,
             fmt::format("int(): {} does not fit a 64-bit integer", IValue(text).repr()));
  WEFT_CHECK(error == std::errc() && end == digits.data() + digits.size(),
             fmt::format("invalid literal for int() with base 10: {}", IValue(text).repr()));
  return value;
}

double float_of_text(Text text) {
  const std::string body = number_text(text);
  double value = 0;
  auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), value);
  if (error == std::errc::result_out_of_range) {  // too large or too small: the nearest there is
    value = std::strtod(body.c_str(), nullptr);
    error = std::errc();
  }
  WEFT_CHECK(!body.empty() && error == std::errc() && end == body.data() + body.size(),
             fmt::format("could not convert string to float: {}", IValue(text).repr()));
  return value;
}

int64_t int_of_float(double x) {
  WEFT_CHECK(!std::isnan(x), "cannot convert float NaN to integer");
  WEFT_CHECK(x >= -0x1p63 && x < 0x1p63, fmt::format("int(): {} does not fit a 64-bit integer", x));
  return static_cast<int64_t>(x);
}

// "0x1f", "-0b11": Python's hex(), oct() and bin().
std::string in_base(int64_t value, const char* prefix, int base) {
  char digits[65];
  const uint64_t magnitude = value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  const char* end = std::to_chars(digits, digits + sizeof digits, magnitude, base).ptr;
  return (value < 0 ? "-" : "") + std::string(prefix) +
         std::string(digits, static_cast<size_t>(end - digits));
}

int register_numbers() {
  builtin("aten::Int.int(int a) -> int", [](int64_t a) { return a; });
  builtin("aten::Int.float(float a) -> int", Call<int_of_float>{});
  builtin("aten::Int.bool(bool a) -> int", [](int64_t a) { return a; });
  builtin("aten::Int.Scalar(Scalar a) -> int",
          [](IValue& a) { return a.is_double() ? int_of_float(a.to_double()) : a.to_int(); });
  builtin("aten::Int.str(str a) -> int", Call<int_of_text>{});
  builtin("aten::Float.float(float a) -> float", [](double a) { return a; });
  builtin("aten::Float.int(int a) -> float", [](double a) { return a; });
  builtin("aten::Float.bool(bool a) -> float", [](double a) { return a; });
  builtin("aten::Float.Scalar(Scalar a) -> float", [](double a) { return a; });
  builtin("aten::Float.str(str a) -> float", Call<float_of_text>{});
  builtin("aten::Bool.bool(bool a) -> bool", [](bool a) { return a; });
  builtin("aten::Bool.int(int a) -> bool", [](int64_t a) { return a != 0; });
  builtin("aten::Bool.float(float a) -> bool", [](double a) { return a != 0; });
  builtin("aten::Bool.Scalar(Scalar a) -> bool", [](Complex a) { return a != Complex(); });
  builtin("aten::Complex.Scalar(Scalar a) -> complex", [](Complex a) { return a; });
#define WEFT_COMPLEX_OF(X, Y)                                       \
  builtin("aten::Complex." X "_" Y "(" X " x, " Y " y) -> complex", \
          [](double x, double y) { return Complex(x, y); });
  WEFT_COMPLEX_OF("int", "int")
  WEFT_COMPLEX_OF("int", "float")
  WEFT_COMPLEX_OF("int", "bool")
  WEFT_COMPLEX_OF("float", "int")
  WEFT_COMPLEX_OF("float", "float")
  WEFT_COMPLEX_OF("float", "bool")
  WEFT_COMPLEX_OF("bool", "int")
  WEFT_COMPLEX_OF("bool", "float")
  WEFT_COMPLEX_OF("bool", "bool")
  builtin("prim::real(complex a) -> float", [](Complex a) { return a.real(); });
  builtin("prim::imag(complex a) -> float", [](Complex a) { return a.imag(); });
  return 0;
}

// ---- ranges ----------------------------------------------------------------------------------------------
int64_t range_length(int64_t low, int64_t high, int64_t step) {
  WEFT_CHECK(step != 0, "range() arg 3 must not be zero");
  if (step > 0 ? low >= high : low <= high) return 0;
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(high) - static_cast<uint64_t>(low)
                                     : static_cast<uint64_t>(low) - static_cast<uint64_t>(high);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : ~static_cast<uint64_t>(step) + 1;
  return static_cast<int64_t>((distance - 1) / stride + 1);
}

std::vector<int64_t> range_list(int64_t n) {
  check_list_fits_memory("range", n, sizeof(int64_t));
  std::vector<int64_t> values(static_cast<size_t>(std::max<int64_t>(n, 0)));
  std::iota(values.begin(), values.end(), int64_t{0});
  return values;
}

// ---- text ------------------------------------------------------------------------------------------------
void format_builtin(std::span<IValue> arguments, IValue* results) {
  results[0] = format_values(arguments[0].to_string(), arguments.subspan(1));
}

// printf's conversions, as Python's % has them.
void percent_format(std::span<IValue> arguments, IValue* results) {
  const std::string& format = arguments[0].to_string();
  std::span<const IValue> values = arguments.subspan(1);
  if (values.size() == 1 && values[0].is(IValue::Tag::Tuple)) values = values[0].to_tuple()->values;
  std::string text;
  size_t used = 0;
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      text += format[at];
      continue;
    }
    const size_t conversion = std::min(format.find_first_not_of("-+ #0123456789.", at + 1), format.size());
    WEFT_CHECK(conversion < format.size(), fmt::format("incomplete format, in {}", arguments[0].repr()));
    std::string spec = format.substr(at + 1, conversion - at - 1);
    const char type = format[conversion];
    at = conversion;
    if (type == '%') {
      text += '%';
      continue;
    }
    WEFT_CHECK_TYPE(used < values.size(),
                    fmt::format("not enough arguments for format string {}", arguments[0].repr()));
    const IValue& value = values[used++];
    const bool is_left = spec.starts_with('-');
    if (is_left) spec.erase(0, 1);
    if (type == 's' || type == 'r') {
      const std::vector<IValue> one = {type == 's' ? display(value) : value.repr()};
      text += format_values("{:" + std::string(is_left || spec.empty() ? "<" : ">") + spec + "}", one);
    } else {
      const bool is_integer = type == 'd' || type == 'i' || type == 'u';
      const std::vector<IValue> one = {
          is_integer && value.is_double() ? IValue(int_of_float(value.to_double())) : value};
      text +=
          format_values("{:" + std::string(is_left ? "<" : "") + spec + (is_integer ? 'd' : type) + "}", one);
    }
  }
  WEFT_CHECK_TYPE(used == values.size(),
                  fmt::format("not all arguments converted by format string {}", arguments[0].repr()));
  results[0] = text;
}

int register_text() {
  register_builtin("aten::format(str self, ...) -> str", format_builtin);
  register_builtin("aten::percentFormat(str self, ...) -> str", percent_format);
  builtin("aten::str(t elem) -> str", Call<display>{});
  builtin("aten::hex(int i) -> str", [](int64_t i) { return in_base(i, "0x", 16); });
  builtin("aten::oct(int i) -> str", [](int64_t i) { return in_base(i, "0o", 8); });
  builtin("aten::bin(int i) -> str", [](int64_t i) { return in_base(i, "0b", 2); });
  builtin(
      "aten::warn(str message, int stacklevel=2) -> ()",
      [](Text message, int64_t) { std::fprintf(stderr, "UserWarning: %s\n", message.c_str()); }, false);
  return 0;
}

// ---- hashes ----------------------------------------------------------------------------------------------
// PyTorch's: of C++'s own, and combined as boost::hash_combine does.
size_t hash_of(const IValue& value) {
  switch (value.tag()) {
    case IValue::Tag::None: return 0;
    case IValue::Tag::Bool: return std::hash<bool>()(value.to_bool());
    case IValue::Tag::Int: return std::hash<int64_t>()(value.to_int());
    case IValue::Tag::Float: return std::hash<double>()(value.to_double());
    case IValue::Tag::String: return std::hash<std::string>()(value.to_string());
    case IValue::Tag::Tensor: return std::hash<const void*>()(value.to_tensor().impl().get());
    case IValue::Tag::Tuple: {
      size_t seed = 0;
      for (const IValue& element : value.elements())
        seed ^= hash_of(element) + 0x9e3779b9 + (seed << 6) + (seed >> 2);
      return seed;
    }
    case IValue::Tag::Device: {
      const Device device = value.to_device();
      const bool has_index = device.type == DeviceType::CUDA;
      const uint32_t kind = has_index ? 1 : device.type == DeviceType::CPU ? 0 : 14;  // PyTorch's numbers
      return std::hash<uint32_t>()(kind << 16 | static_cast<uint8_t>(has_index ? device.index : -1));
    }
    default: break;
  }
  throw_error(ErrorKind::Type, fmt::format("unhashable type: '{}'", value.type()->str()));
}

// ---- the rest --------------------------------------------------------------------------------------------
int64_t identity_of(const IValue& value) {
  return value.is_none() ? 0 : static_cast<int64_t>(reinterpret_cast<intptr_t>(value.to_object().get()));
}

int register_others() {
  builtin("aten::__range_length(int lo, int hi, int step) -> int", Call<range_length>{});
  builtin("aten::__derive_index(int index, int start, int step) -> int",
          [](int64_t index, int64_t start, int64_t step) { return start + index * step; });
  builtin("prim::rangelist(int n) -> int[]", Call<range_list>{}, false);
  builtin("aten::hash.generic(t value) -> int",
          [](IValue& value) { return static_cast<int64_t>(hash_of(value)); });
  builtin(
      "prim::id(AnyClassType? x) -> int", [](IValue& x) { return identity_of(x); }, false);
  builtin("aten::device(str a) -> Device", [](Text a) { return Device::parse(a); });
  builtin("prim::type(Device self) -> str",
          [](Device self) { return self.str().substr(0, self.str().find(':')); });
  builtin("prim::index(Device self) -> int?", [](Device self) -> IValue {
    const std::string text = self.str();
    const size_t colon = text.find(':');
    return colon == std::string::npos ? IValue() : IValue(int_of_text(text.substr(colon + 1)));
  });
  builtin("aten::Size(int[] sizes) -> int[]", [](IValue& sizes) { return sizes; });
  builtin("aten::is_scripting() -> bool", [] { return true; });
  builtin("aten::is_grad_enabled() -> bool", [] { return false; });
  builtin(
      "aten::set_grad_enabled(bool val) -> ()", [](bool) {}, false);
  builtin("aten::is_autocast_enabled() -> bool", [] { return false; });
  builtin("aten::is_autocast_cpu_enabled() -> bool", [] { return false; });
  builtin("aten::_get_tracing_state() -> bool", [] { return false; });
  builtin(
      "prim::AddStatValue(str key, int val) -> ()", [](Text, int64_t) {}, false);
  builtin(
      "prim::TimePoint() -> int", [] { return int64_t{0}; }, false);
  builtin("aten::has_torch_function(...) -> bool", [] { return false; });
  builtin("prim::IfThenElse(bool cond, Any x, Any y) -> Any",
          [](bool cond, IValue& x, IValue& y) -> IValue { return cond ? x : y; });
  builtin("aten::_unwrap_optional(t(a)? optional) -> t(a)", [](IValue& optional) -> IValue {
    WEFT_CHECK(!optional.is_none(), "Unwrapping null optional");
    return optional;
  });
  builtin("prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)",
          [](IValue& optional) -> IValue { return optional; });
  return 0;
}

[[maybe_unused]] const int registered_convert = register_numbers() + register_text() + register_others();

}  // namespace
}  // namespace weft::jit
