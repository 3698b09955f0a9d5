// source: docs/gguf.md of ggml.
#include "models/gguf.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <optional>

#include "core/printable.h"
#include "kernels/cpu/weight_blocks.h"
#include "runtime/mapped_file.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::models {
namespace {

constexpr std::string_view kGgufMagic = "GGUF";
constexpr uint32_t kGgufVersion = 3, kFirstVersion = 2;
constexpr uint32_t kMostDims = 4;  // as ggml
constexpr uint64_t kDefaultAlignment = 32, kMostAlignment = 1 << 20;

enum class GgufValueKind : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, Text, List, U64, I64, F64 };

struct ElementType {
  uint32_t number;
  const char* name;
  std::optional<DType> dtype = std::nullopt;  // neither this nor blocks: weft does not compute with it
  BlockFormat blocks = BlockFormat::None;
};
// source: enum ggml_type.
constexpr ElementType kElementTypes[] = {
    {0, "F32", DType::F32},
    {1, "F16", DType::F16},
    {2, "Q4_0", std::nullopt, BlockFormat::Q4_0},
    {3, "Q4_1", std::nullopt, BlockFormat::Q4_1},
    {6, "Q5_0", std::nullopt, BlockFormat::Q5_0},
    {7, "Q5_1", std::nullopt, BlockFormat::Q5_1},
    {8, "Q8_0", std::nullopt, BlockFormat::Q8_0},
    {9, "Q8_1"},
    {10, "Q2_K"},
    {11, "Q3_K"},
    {12, "Q4_K", std::nullopt, BlockFormat::Q4_K},
    {13, "Q5_K", std::nullopt, BlockFormat::Q5_K},
    {14, "Q6_K", std::nullopt, BlockFormat::Q6_K},
    {15, "Q8_K"},
    {16, "IQ2_XXS"},
    {17, "IQ2_XS"},
    {18, "IQ3_XXS"},
    {19, "IQ1_S"},
    {20, "IQ4_NL", std::nullopt, BlockFormat::IQ4_NL},
    {21, "IQ3_S"},
    {22, "IQ2_S"},
    {23, "IQ4_XS"},
    {24, "I8", DType::I8},
    {25, "I16", DType::I16},
    {26, "I32", DType::I32},
    {27, "I64", DType::I64},
    {28, "F64", DType::F64},
    {29, "IQ1_M"},
    {30, "BF16", DType::BF16},
    {34, "TQ1_0"},
    {35, "TQ2_0"},
    {39, "MXFP4", std::nullopt, BlockFormat::MXFP4},
};

std::string known_types() {
  std::vector<std::string> names;
  for (const ElementType& type : kElementTypes)
    if (type.dtype || type.blocks != BlockFormat::None) names.push_back(type.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// The file from front to back; each step says what it reads.
class GgufCursor {
 public:
  GgufCursor(const std::string& path, const char* bytes, size_t size)
      : path_(path), bytes_(bytes), size_(size) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw_error(ErrorKind::Value, fmt::format("GGUF file '{}': {}", path_, why));
  }
  void require(bool condition, const std::string& why) const {
    if (!condition) fail(why);
  }
  size_t at() const { return at_; }
  size_t left() const { return size_ - at_; }

  template <class T>
  T number(const std::string& what) {
    if (left() < sizeof(T)) fail(fmt::format("it ends within {}", what));
    T value;
    std::memcpy(&value, bytes_ + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text(const std::string& what) {
    const auto length = number<uint64_t>(what);
    if (length > left())
      fail(fmt::format("{} is said to have {} bytes, and {} follow", what, length, left()));
    std::string result(bytes_ + at_, length);
    at_ += length;
    require(is_utf8(result), fmt::format("{} is not UTF-8", what));
    return result;
  }
  // How many follow, each of at least `least` bytes.
  uint64_t count(uint64_t value, uint64_t least, const std::string& what) const {
    if (value > left() / least)
      fail(fmt::format("it is said to have {} {}, and {} bytes follow", value, what, left()));
    return value;
  }

 private:
  const std::string& path_;
  const char* bytes_;
  size_t size_, at_ = 0;
};

Json read_value(GgufCursor& cursor, uint32_t kind, const std::string& what, bool in_list = false);

Json read_list(GgufCursor& cursor, const std::string& what) {
  const auto kind = cursor.number<uint32_t>(what);
  const auto count = cursor.count(cursor.number<uint64_t>(what), 1, "entries in " + what);
  Json list = Json::array();
  for (uint64_t i = 0; i < count; ++i) list.push_back(read_value(cursor, kind, what, true));
  return list;
}

Json read_value(GgufCursor& cursor, uint32_t kind, const std::string& what, bool in_list) {
  switch (static_cast<GgufValueKind>(kind)) {
    case GgufValueKind::U8: return cursor.number<uint8_t>(what);
    case GgufValueKind::I8: return cursor.number<int8_t>(what);
    case GgufValueKind::U16: return cursor.number<uint16_t>(what);
    case GgufValueKind::I16: return cursor.number<int16_t>(what);
    case GgufValueKind::U32: return cursor.number<uint32_t>(what);
    case GgufValueKind::I32: return cursor.number<int32_t>(what);
    case GgufValueKind::F32: return cursor.number<float>(what);
    case GgufValueKind::Bool: {
      const auto value = cursor.number<uint8_t>(what);
      cursor.require(value <= 1, fmt::format("{} is a boolean of value {}", what, value));
      return value == 1;
    }
    case GgufValueKind::Text: return cursor.text(what);
    case GgufValueKind::List:
      cursor.require(!in_list, fmt::format("{} is a list of lists, which weft does not read", what));
      return read_list(cursor, what);
    case GgufValueKind::U64: return cursor.number<uint64_t>(what);
    case GgufValueKind::I64: return cursor.number<int64_t>(what);
    case GgufValueKind::F64: return cursor.number<double>(what);
  }
  cursor.fail(fmt::format("{} has values of kind {}, which there is not", what, kind));
}

uint64_t aligned(uint64_t at, uint64_t alignment) { return (at + alignment - 1) / alignment * alignment; }

}  // namespace

bool is_gguf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[kGgufMagic.size()] = {};
  return file.read(magic, sizeof magic) && std::string_view(magic, sizeof magic) == kGgufMagic;
}

GgufFile::GgufFile(const std::string& path) : GgufFile(path, runtime::map_file(path, "GGUF file")) {}

GgufFile GgufFile::from_bytes(std::string bytes, const std::string& name) {
  const auto owned = std::make_shared<std::string>(std::move(bytes));
  return GgufFile(name, Storage::wrap(owned->data(), owned->size(), [owned] {}));
}

GgufFile::GgufFile(std::string path, std::shared_ptr<Storage> file)
    : path_(std::move(path)), file_(std::move(file)) {
  static_assert(std::endian::native == std::endian::little);
  const size_t size = file_->nbytes();
  GgufCursor cursor(path_, static_cast<const char*>(file_->data()), size);
  std::array<char, kGgufMagic.size()> magic{};
  for (char& letter : magic) letter = cursor.number<char>("the first four bytes");
  cursor.require(std::string_view(magic.data(), magic.size()) == kGgufMagic, "it does not begin with 'GGUF'");
  const auto version = cursor.number<uint32_t>("the version");
  cursor.require(version >= kFirstVersion && version <= kGgufVersion,
                 version << 16 != 0 || version == 0
                     ? fmt::format("version {} is not supported; weft has {} and {}", version, kFirstVersion,
                                   kGgufVersion)
                     : "it is big-endian, which weft does not read");
  const auto num_tensors = cursor.number<uint64_t>("the number of tensors");
  const auto num_values = cursor.number<uint64_t>("the number of metadata values");
  cursor.count(num_values, 8 + 4 + 1, "metadata values");
  cursor.count(num_tensors, 8 + 4 + 4 + 8, "tensors");
  for (uint64_t i = 0; i < num_values; ++i) {
    const std::string key = cursor.text(fmt::format("the key of metadata value {}", i));
    const std::string what = fmt::format("metadata '{}'", printable(key));
    const auto kind = cursor.number<uint32_t>(what);
    Json value = read_value(cursor, kind, what);
    cursor.require(metadata_.emplace(key, std::move(value)).second, what + " is there twice");
  }
  uint64_t alignment = kDefaultAlignment;
  if (const auto found = metadata_.find("general.alignment"); found != metadata_.end()) {
    cursor.require(found->is_number_unsigned() && std::has_single_bit(found->get<uint64_t>()) &&
                       found->get<uint64_t>() <= kMostAlignment,
                   fmt::format("general.alignment must be a power of two of at most {}, got {}",
                               kMostAlignment, printable(found->dump())));
    alignment = found->get<uint64_t>();
  }

  std::vector<std::pair<std::string, uint64_t>> offsets;
  for (uint64_t i = 0; i < num_tensors; ++i) {
    const std::string name = cursor.text(fmt::format("the name of tensor {}", i));
    const std::string what = fmt::format("tensor '{}'", printable(name));
    const auto dims = cursor.number<uint32_t>(what);
    cursor.require(dims >= 1 && dims <= kMostDims,
                   fmt::format("{} has {} dimensions, weft reads 1 to {}", what, dims, kMostDims));
    Entry entry;
    uint64_t elements = 1;
    for (uint32_t dim = 0; dim < dims; ++dim) {
      const auto count = cursor.number<uint64_t>(what);
      cursor.require(
          count > 0 && !__builtin_mul_overflow(elements, count, &elements) && elements <= INT64_MAX / 8,
          fmt::format("{} has a size of {} in dimension {}: more elements than a file can have, or none",
                      what, count, dim));
      entry.shape.insert(entry.shape.begin(), static_cast<int64_t>(count));
    }
    const auto number = cursor.number<uint32_t>(what);
    const auto type = std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                                   [&](const ElementType& known) { return known.number == number; });
    cursor.require(type != std::end(kElementTypes),
                   fmt::format("{} has elements of type {}, which weft does not know; it has {}", what,
                               number, known_types()));
    cursor.require(type->dtype || type->blocks != BlockFormat::None,
                   fmt::format("{} has elements of type {}, which weft does not compute with; it has {}",
                               what, type->name, known_types()));
    entry.blocks = type->blocks;
    entry.dtype = type->dtype.value_or(DType::F32);
    const BlockSize block = block_size(entry.blocks);
    const auto in = static_cast<uint64_t>(entry.shape.back()),
               per_block = static_cast<uint64_t>(block.elements);
    cursor.require(in % per_block == 0, fmt::format("{}: rows of {} are not whole blocks of {} {}", what, in,
                                                    block.elements, type->name));
    entry.bytes = type->dtype ? elements * static_cast<uint64_t>(itemsize(entry.dtype))
                              : elements / per_block * static_cast<uint64_t>(block.bytes);
    const auto offset = cursor.number<uint64_t>(what);
    cursor.require(
        offset % alignment == 0,
        fmt::format("{}: its offset {} is not a multiple of the alignment {}", what, offset, alignment));
    cursor.require(entries_.emplace(name, entry).second, what + " is there twice");
    offsets.emplace_back(name, offset);
  }
  const uint64_t data = num_tensors == 0 ? size : aligned(cursor.at(), alignment);
  cursor.require(data <= size, "it ends before its tensors' data");
  std::vector<std::pair<uint64_t, const std::string*>> order;
  for (const auto& [name, offset] : offsets) {
    Entry& entry = entries_.at(name);
    cursor.require(
        offset <= size - data && entry.bytes <= size - data - offset,
        fmt::format("tensor '{}' of {} bytes at {} ends outside the file, which has {} bytes of data",
                    printable(name), entry.bytes, offset, size - data));
    entry.begin = data + offset;
    order.emplace_back(offset, &name);
  }
  std::sort(order.begin(), order.end());
  for (size_t i = 1; i < order.size(); ++i)
    cursor.require(order[i - 1].first + entries_.at(*order[i - 1].second).bytes <= order[i].first,
                   fmt::format("tensors '{}' and '{}' overlap", printable(*order[i - 1].second),
                               printable(*order[i].second)));
}

std::vector<std::string> GgufFile::names() const {
  std::vector<std::string> result;
  for (const auto& item : entries_) result.push_back(item.first);
  return result;
}

const GgufFile::Entry& GgufFile::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  WEFT_CHECK(found != entries_.end(), fmt::format("GGUF file '{}': no tensor '{}'", path_, printable(name)));
  return found->second;
}

Tensor GgufFile::stored(const std::string& name) const {
  const Entry& found = entry(name);
  Shape shape = found.shape;
  const DType dtype = found.blocks == BlockFormat::None ? found.dtype : DType::U8;
  if (found.blocks != BlockFormat::None) {
    const BlockSize block = block_size(found.blocks);
    shape.back() = shape.back() / block.elements * block.bytes;
  }
  const auto item = static_cast<size_t>(itemsize(dtype));
  const auto address = reinterpret_cast<uintptr_t>(file_->data()) + found.begin;
  if (found.begin % item == 0 && address % item == 0)
    return Tensor(file_, dtype, shape, contiguous_strides(shape), static_cast<int64_t>(found.begin / item));
  const Tensor copy = Tensor::empty(shape, dtype);
  std::memcpy(copy.data(), static_cast<const char*>(file_->data()) + found.begin, found.bytes);
  return copy;
}

Tensor GgufFile::tensor(const std::string& name) const {
  const Entry& found = entry(name);
  return found.blocks == BlockFormat::None ? stored(name)
                                           : blocks_in_float32(stored(name), found.blocks, found.shape);
}

namespace {

class GgufHead {
 public:
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view text) {
    number(static_cast<uint64_t>(text.size()));
    bytes_ += text;
  }
  void value(const nlohmann::ordered_json& value) {
    if (!value.is_array()) {
      number(static_cast<uint32_t>(kind_of(value)));
      return element(value, kind_of(value));
    }
    // Of several kinds of numbers, the widest.
    GgufValueKind kind = value.empty() ? GgufValueKind::U32 : kind_of(value[0]);
    for (const auto& item : value) {
      const GgufValueKind own = kind_of(item);
      const bool both_whole = (own == GgufValueKind::I64 && kind == GgufValueKind::U32) ||
                              (own == GgufValueKind::U32 && kind == GgufValueKind::I64);
      WEFT_CHECK(own == kind || both_whole, "save_gguf: a list of values of several kinds");
      if (both_whole) kind = GgufValueKind::I64;
    }
    number(static_cast<uint32_t>(GgufValueKind::List));
    number(static_cast<uint32_t>(kind));
    number(static_cast<uint64_t>(value.size()));
    for (const auto& item : value) element(item, kind);
  }
  void pad(uint64_t alignment) { bytes_.resize(aligned(bytes_.size(), alignment)); }
  const std::string& bytes() const { return bytes_; }

 private:
  static GgufValueKind kind_of(const nlohmann::ordered_json& value) {
    if (value.is_string()) return GgufValueKind::Text;
    if (value.is_boolean()) return GgufValueKind::Bool;
    if (value.is_number_float()) return GgufValueKind::F32;
    WEFT_CHECK(value.is_number_integer(),
               "save_gguf: a value that is neither text, boolean, number nor a list of these");
    return value >= 0 && value <= UINT32_MAX ? GgufValueKind::U32 : GgufValueKind::I64;
  }
  void element(const nlohmann::ordered_json& value, GgufValueKind kind) {
    switch (kind) {
      case GgufValueKind::Text: return text(value.get_ref<const std::string&>());
      case GgufValueKind::Bool: return number(static_cast<uint8_t>(value.get<bool>()));
      case GgufValueKind::F32: return number(value.get<float>());
      case GgufValueKind::U32: return number(value.get<uint32_t>());
      default: return number(value.get<int64_t>());
    }
  }
  std::string bytes_;
};

}  // namespace

void save_gguf(const std::string& path, const nlohmann::ordered_json& metadata,
               const std::vector<std::pair<std::string, GgufTensor>>& tensors) {
  GgufHead head;
  for (const char letter : kGgufMagic) head.number(letter);
  head.number(kGgufVersion);
  head.number(static_cast<uint64_t>(tensors.size()));
  head.number(static_cast<uint64_t>(metadata.size()));
  for (const auto& [key, value] : metadata.items()) {
    head.text(key);
    head.value(value);
  }
  uint64_t offset = 0;
  for (const auto& [name, item] : tensors) {
    const auto type =
        std::find_if(std::begin(kElementTypes), std::end(kElementTypes), [&](const ElementType& known) {
          return item.blocks == BlockFormat::None ? known.dtype == item.tensor.dtype()
                                                  : known.blocks == item.blocks;
        });
    WEFT_CHECK(type != std::end(kElementTypes),
               fmt::format("save_gguf: '{}' is {}, which the format does not have", printable(name),
                           weft::name(item.tensor.dtype())));
    Shape shape = item.tensor.shape();
    const BlockSize block = block_size(item.blocks);
    WEFT_CHECK(!shape.empty() && shape.size() <= kMostDims && shape.back() % block.bytes == 0,
               fmt::format("save_gguf: '{}' has shape {}: expected 1 to {} dimensions, and whole blocks",
                           printable(name), str(shape), kMostDims));
    shape.back() = shape.back() / block.bytes * block.elements;
    head.text(name);
    head.number(static_cast<uint32_t>(shape.size()));
    for (size_t dim = shape.size(); dim-- > 0;) head.number(static_cast<uint64_t>(shape[dim]));
    head.number(type->number);
    head.number(offset);
    offset = aligned(offset + static_cast<uint64_t>(item.tensor.numel() * itemsize(item.tensor.dtype())),
                     kDefaultAlignment);
  }
  head.pad(kDefaultAlignment);
  runtime::OutputFile file(path, "GGUF file");
  file.write(head.bytes());
  for (const auto& item : tensors) {
    const Tensor dense = item.second.tensor.contiguous();
    const auto bytes = static_cast<size_t>(dense.numel() * itemsize(dense.dtype()));
    file.write(dense.data(), bytes);
    file.write(std::string(aligned(bytes, kDefaultAlignment) - bytes, '\0'));
  }
  file.commit();
}

Tensor blocks_of(const Tensor& weight, BlockFormat format) {
  const BlockSize block = block_size(format);
  const Tensor dense = weight.to(DType::F32).contiguous();
  Shape shape = dense.shape();
  const int64_t in = shape.back(), rows = dense.numel() / std::max<int64_t>(1, in);
  WEFT_CHECK(in % block.elements == 0,
             fmt::format("{}: rows of {} are not whole blocks of {}", block.name, in, block.elements));
  shape.back() = in / block.elements * block.bytes;
  const Tensor result = Tensor::empty(shape, DType::U8);
  parallel_for(0, rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      kernels::make_blocks(format, dense.data_as<float>() + row * in, in,
                           result.data_as<uint8_t>() + row * shape.back());
  });
  return result;
}

Tensor blocks_in_float32(const Tensor& rows, BlockFormat format, const Shape& shape) {
  const Tensor bytes = rows.contiguous(), result = Tensor::empty(shape, DType::F32);
  const int64_t in = shape.back(), count = numel(shape) / in, row_bytes = rows.size(-1);
  parallel_for(0, count, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      kernels::dequantize_blocks(format, bytes.data_as<uint8_t>() + row * row_bytes, in,
                                 result.data_as<float>() + row * in);
  });
  return result;
}

}  // namespace weft::models
