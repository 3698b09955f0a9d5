#include "io/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "core/printable.h"
#include "io/utf8.h"
#include "weft/error.h"

namespace weft::io {
namespace {

constexpr size_t kNpyAlignment = 64;  // of the elements in the file

struct NumpyType {
  std::string_view name;  // without the byte order
  DType dtype;
};
constexpr NumpyType kTypes[] = {
    {"b1", DType::Bool}, {"i1", DType::I8},  {"u1", DType::U8},  {"i2", DType::I16},   {"u2", DType::U16},
    {"i4", DType::I32},  {"u4", DType::U32}, {"i8", DType::I64}, {"u8", DType::U64},   {"f2", DType::F16},
    {"f4", DType::F32},  {"f8", DType::F64}, {"c8", DType::C64}, {"c16", DType::C128},
};

std::optional<DType> dtype_of_name(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const NumpyType& t) { return t.name == name; });
  return found == std::end(kTypes) ? std::nullopt : std::optional(found->dtype);
}

std::string name_of_dtype(DType dtype, const std::string& where) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const NumpyType& t) { return t.dtype == dtype; });
  if (found == std::end(kTypes))
    throw_error(ErrorKind::Type,
                fmt::format("{}: NumPy has no {}: convert it, to float32 for example", where, name(dtype)));
  return fmt::format("{}{}", itemsize(dtype) == 1 ? '|' : '<', found->name);
}

// Number of elements; refuses shapes whose size in bytes does not fit 64 bits, even where another dimension
// is 0.
uint64_t count_elements(const Shape& shape, uint64_t itemsize, const std::string& where) {
  int64_t extent = static_cast<int64_t>(std::max<uint64_t>(itemsize, 1));
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(extent, std::max<int64_t>(size, 1), &extent))
      throw_error(ErrorKind::Value, fmt::format("{}: its shape {} is too large", where, str(shape)));
  }
  return static_cast<uint64_t>(numel(shape));
}

void check_length(std::string_view elements, uint64_t count, uint64_t itemsize, const NpyHeader& header,
                  const std::string& where) {
  if (elements.size() == count * itemsize) return;
  throw_error(ErrorKind::Value,
              fmt::format("{}: has {} bytes of elements: {} of dtype {} need {}", where, elements.size(),
                          str(header.shape), printable(header.dtype), count * itemsize));
}

void swap_bytes(char* data, size_t size, size_t word) {
  for (size_t at = 0; at < size; at += word) std::reverse(data + at, data + at + word);
}

Tensor read_tensor(std::string_view elements, DType dtype, bool big_endian, const NpyHeader& header,
                   const std::string& where) {
  const auto itemsize = static_cast<uint64_t>(weft::itemsize(dtype));
  check_length(elements, count_elements(header.shape, itemsize, where), itemsize, header, where);
  const Shape reversed(header.shape.rbegin(), header.shape.rend());
  Strides strides = contiguous_strides(header.fortran_order ? reversed : header.shape);
  if (header.fortran_order) std::reverse(strides.begin(), strides.end());
  const std::shared_ptr<Storage> storage = Storage::allocate(elements.size());
  auto* data = static_cast<char*>(storage->data());
  if (!elements.empty()) std::memcpy(data, elements.data(), elements.size());
  if (big_endian) swap_bytes(data, elements.size(), is_complex(dtype) ? itemsize / 2 : itemsize);
  // A bool of C++ has no other values.
  if (dtype == DType::Bool)
    std::transform(data, data + elements.size(), data, [](char byte) { return byte != 0; });
  return Tensor(storage, dtype, header.shape, std::move(strides));
}

// One string of `length` code points of four bytes, the last ones zero.
std::string read_string(std::string_view bytes, bool big_endian, const std::string& where) {
  std::string text;
  size_t end = bytes.size();
  while (end >= 4 && bytes.substr(end - 4, 4) == std::string_view("\0\0\0\0", 4)) end -= 4;
  for (size_t at = 0; at < end; at += 4) {
    uint32_t code = 0;
    for (size_t i = 0; i < 4; ++i) {
      const size_t from = at + (big_endian ? 3 - i : i);
      code |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[from])) << (8 * i);
    }
    if (!append_utf8(text, code))
      throw_error(ErrorKind::Value, fmt::format("{}: {:#x} is no character", where, code));
  }
  return text;
}

// "U12": fixed-width text.
IValue read_text(std::string_view elements, std::string_view type, bool big_endian, const NpyHeader& header,
                 const std::string& where) {
  uint32_t length = 0;
  const auto [stop, error] = std::from_chars(type.data() + 1, type.data() + type.size(), length);
  if (error != std::errc() || stop != type.data() + type.size())
    throw_error(ErrorKind::Value, fmt::format("{}: unknown dtype '{}'", where, printable(header.dtype)));
  if (header.shape.size() > 1)
    throw_error(ErrorKind::Type,
                fmt::format("{}: text of shape {}: expected one string or a list", where, str(header.shape)));
  const uint64_t itemsize = uint64_t{4} * length, count = count_elements(header.shape, itemsize, where);
  check_length(elements, count, itemsize, header, where);
  // Strings without characters take no bytes in the file, but memory.
  const uint64_t most = std::min(uint64_t{1} << 24, std::max<uint64_t>(1 << 16, elements.size()));
  if (count > most) throw_error(ErrorKind::Value, fmt::format("{}: more than {} strings", where, most));
  std::vector<std::string> strings;
  for (uint64_t i = 0; i < count; ++i)
    strings.push_back(read_string(elements.substr(i * itemsize, itemsize), big_endian, where));
  if (header.shape.empty()) return strings.front();
  return strings;
}

std::string with_header(std::string_view dtype, const Shape& shape, std::string_view elements) {
  std::string sizes;
  for (const int64_t size : shape) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", dtype,
                                   sizes, shape.size() == 1 ? "," : "");
  constexpr size_t kStart = 10;
  const size_t padding = (kNpyAlignment - (kStart + header.size() + 1) % kNpyAlignment) % kNpyAlignment;
  header += std::string(padding, ' ') + "\n";
  const size_t length = header.size();
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(length & 0xff);
  bytes += static_cast<char>(length >> 8);
  return bytes.append(header).append(elements);
}

std::string tensor_bytes(const Tensor& value, const std::string& where) {
  if (!value.defined())
    throw_error(ErrorKind::Type, fmt::format("{}: an undefined tensor has no array", where));
  const Tensor tensor = value.contiguous();
  const auto size = static_cast<size_t>(tensor.numel()) * static_cast<size_t>(itemsize(tensor.dtype()));
  const std::string_view elements =
      size == 0 ? std::string_view() : std::string_view(tensor.data_as<const char>(), size);
  return with_header(name_of_dtype(tensor.dtype(), where), tensor.shape(), elements);
}

std::string text_bytes(const std::vector<std::string>& strings, const Shape& shape,
                       const std::string& where) {
  std::vector<std::u32string> decoded;
  size_t length = 1;
  for (const std::string& text : strings) {
    std::optional<std::u32string> codes = decode_utf8(text);
    if (!codes) throw_error(ErrorKind::Value, fmt::format("{}: text that is not UTF-8", where));
    length = std::max(length, codes->size());
    decoded.push_back(std::move(*codes));
  }
  std::string elements;
  for (std::u32string& codes : decoded) {
    codes.resize(length);
    for (const char32_t code : codes)
      for (int shift = 0; shift < 32; shift += 8) elements += static_cast<char>(code >> shift);
  }
  return with_header(fmt::format("<U{}", length), shape, elements);
}

}  // namespace

IValue parse_npy(std::string_view bytes, const std::string& where) {
  const NpyHeader header = parse_npy_header(bytes, where);
  const std::string_view elements = bytes.substr(header.size);
  std::string_view type = header.dtype;
  const char order = type.empty() ? '\0' : type.front();
  if (order != '<' && order != '>' && order != '|' && order != '=')
    throw_error(ErrorKind::Value, fmt::format("{}: unknown dtype '{}'", where, printable(header.dtype)));
  type.remove_prefix(1);
  if (const std::optional<DType> dtype = dtype_of_name(type))
    return read_tensor(elements, *dtype, order == '>', header, where);
  if (type.starts_with('U')) return read_text(elements, type, order == '>', header, where);
  const char* why = type.starts_with('O') ? "Python objects are never unpickled" : "there is no tensor of it";
  throw_error(ErrorKind::Type,
              fmt::format("{}: dtype '{}': {}; expected bool, int8 to int64, uint8 to uint64, float16 to "
                          "float64, complex64, complex128 or text",
                          where, printable(header.dtype), why));
}

std::string npy_bytes(const IValue& value, const std::string& where) {
  if (value.is_tensor()) return tensor_bytes(value.to_tensor(), where);
  if (value.is_bool()) return tensor_bytes(Tensor::scalar(value.to_scalar(), DType::Bool), where);
  if (value.is_int()) return tensor_bytes(Tensor::scalar(value.to_scalar(), DType::I64), where);
  if (value.is_double()) return tensor_bytes(Tensor::scalar(value.to_scalar(), DType::F64), where);
  if (value.is_number()) return tensor_bytes(Tensor::scalar(value.to_scalar(), DType::C128), where);
  if (value.is_string()) return text_bytes({value.to_string()}, {}, where);
  if (value.is_list() && value.to_list()->element->is(jit::TypeKind::String)) {
    std::vector<std::string> strings;
    for (const IValue& element : value.elements()) strings.push_back(element.to_string());
    return text_bytes(strings, {static_cast<int64_t>(strings.size())}, where);
  }
  throw_error(ErrorKind::Type, fmt::format("{}: {} is no array", where, value.type()->str()));
}

}  // namespace weft::io
