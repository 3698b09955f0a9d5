#include "weft/models/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/printable.h"
#include "io/json.h"
#include "runtime/mapped_file.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kLengthBytes = 8, kAlignment = 8;

struct DTypeName {
  const char* name;
  DType dtype;
};
constexpr std::array<DTypeName, 17> kDTypes = {{{"BOOL", DType::Bool},
                                                {"U8", DType::U8},
                                                {"I8", DType::I8},
                                                {"U16", DType::U16},
                                                {"I16", DType::I16},
                                                {"F16", DType::F16},
                                                {"BF16", DType::BF16},
                                                {"U32", DType::U32},
                                                {"I32", DType::I32},
                                                {"F32", DType::F32},
                                                {"U64", DType::U64},
                                                {"I64", DType::I64},
                                                {"F64", DType::F64},
                                                {"C64", DType::C64},
                                                {"F8_E4M3", DType::F8E4M3FN},
                                                {"F8_E5M2", DType::F8E5M2},
                                                {"F8_E8M0", DType::F8E8M0FNU}}};

// What is wrong with one tensor of a file.
class Problem {
 public:
  Problem(const std::string& path, const std::string& tensor)
      : where_(fmt::format("safetensors file '{}': tensor '{}'", path, printable(tensor))) {}
  [[noreturn]] void operator()(const std::string& why) const {
    throw_error(ErrorKind::Value, fmt::format("{}: {}", where_, why));
  }

 private:
  std::string where_;
};

DType element_type(const Json& entry, const Problem& problem) {
  const auto found = entry.find("dtype");
  if (found == entry.end() || !found->is_string()) problem("no dtype");
  const std::string& name = found->get_ref<const std::string&>();
  for (const DTypeName& known : kDTypes)
    if (name == known.name) return known.dtype;
  problem(fmt::format("dtype '{}' is not supported", printable(name)));
}

std::vector<uint64_t> numbers_of(const Json& entry, const char* key, const Problem& problem) {
  const auto found = entry.find(key);
  const auto is_count = [](const Json& value) { return value.is_number_unsigned(); };
  if (found == entry.end() || !found->is_array() || !std::all_of(found->begin(), found->end(), is_count))
    problem(fmt::format("{} is not a list of integers of at least 0", key));
  return found->get<std::vector<uint64_t>>();
}

// Bytes of a tensor of this shape, at most `limit`.
uint64_t bytes_of(const std::vector<uint64_t>& shape, DType dtype, uint64_t limit, const Problem& problem) {
  uint64_t bytes = static_cast<uint64_t>(itemsize(dtype));
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const uint64_t size : shape)
    if (__builtin_mul_overflow(bytes, size, &bytes) || bytes > limit)
      problem(fmt::format("shape [{}] needs more bytes than the file has", fmt::join(shape, ", ")));
  return bytes;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path)
    : SafetensorsFile(path, runtime::map_file(path, "safetensors file")) {}

SafetensorsFile SafetensorsFile::from_bytes(std::string bytes, const std::string& name) {
  const auto owned = std::make_shared<std::string>(std::move(bytes));
  return SafetensorsFile(name, Storage::wrap(owned->data(), owned->size(), [owned] {}));
}

SafetensorsFile::SafetensorsFile(std::string path, std::shared_ptr<Storage> file)
    : path_(std::move(path)), file_(std::move(file)) {
  const auto fail = [&](const std::string& why) {
    throw_error(ErrorKind::Value, fmt::format("safetensors file '{}': {}", path_, why));
  };
  const char* bytes = static_cast<const char*>(file_->data());
  if (file_->nbytes() < kLengthBytes)
    fail(fmt::format("{} bytes, too short for the header's length", file_->nbytes()));
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes, kLengthBytes);
  if (header_bytes > kMaxHeaderBytes)
    fail(fmt::format("the header is said to have {} bytes, more than 100 MB", header_bytes));
  if (header_bytes > file_->nbytes() - kLengthBytes)
    fail(fmt::format("the header is said to have {} bytes, the file has {}", header_bytes, file_->nbytes()));
  const size_t begin = kLengthBytes + header_bytes, available = file_->nbytes() - begin;
  const Json header =
      parse_json({bytes + kLengthBytes, header_bytes}, fmt::format("safetensors file '{}'", path_));
  if (!header.is_object()) fail("the header is not a JSON object");

  std::vector<std::pair<std::pair<uint64_t, uint64_t>, const std::string*>> ranges;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      if (!value.is_object()) fail("__metadata__ is not a JSON object");
      for (const auto& [key, text] : value.items())
        if (text.is_string()) metadata_[key] = text.get<std::string>();
      continue;
    }
    const Problem problem(path_, name);
    if (!value.is_object()) problem("its description is not a JSON object");
    const DType dtype = element_type(value, problem);
    const std::vector<uint64_t> shape = numbers_of(value, "shape", problem),
                                offsets = numbers_of(value, "data_offsets", problem);
    if (offsets.size() != 2 || offsets[0] > offsets[1]) problem("data_offsets is not [begin, end]");
    if (offsets[1] > available)
      problem(fmt::format("data_offsets [{}, {}] end outside the file, which has {} bytes of data",
                          offsets[0], offsets[1], available));
    const uint64_t expected = bytes_of(shape, dtype, available, problem);
    if (offsets[1] - offsets[0] != expected)
      problem(fmt::format("{} [{}] takes {} bytes, data_offsets [{}, {}] hold {}", weft::name(dtype),
                          fmt::join(shape, ", "), expected, offsets[0], offsets[1], offsets[1] - offsets[0]));
    const auto inserted = entries_.emplace(
        name, Entry{dtype, Shape(shape.begin(), shape.end()), begin + offsets[0], begin + offsets[1]});
    if (expected > 0) ranges.push_back({{offsets[0], offsets[1]}, &inserted.first->first});
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first.first < ranges[i - 1].first.second)
      fail(fmt::format("tensors '{}' and '{}' overlap", printable(*ranges[i - 1].second),
                       printable(*ranges[i].second)));
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> result;
  for (const auto& item : entries_) result.push_back(item.first);
  return result;
}

const SafetensorsFile::Entry& SafetensorsFile::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  WEFT_CHECK(found != entries_.end(),
             fmt::format("safetensors file '{}': no tensor '{}'", path_, printable(name)));
  return found->second;
}

Tensor SafetensorsFile::tensor(const std::string& name) const {
  const Entry& found = entry(name);
  const size_t item = static_cast<size_t>(itemsize(found.dtype));
  if (found.begin % item == 0)
    return Tensor(file_, found.dtype, found.shape, contiguous_strides(found.shape),
                  static_cast<int64_t>(found.begin / item));
  Tensor copy = Tensor::empty(found.shape, found.dtype);
  if (found.end > found.begin)
    std::memcpy(copy.data(), static_cast<const char*>(file_->data()) + found.begin, found.end - found.begin);
  return copy;
}

void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  // Wider elements first, so that every tensor is aligned.
  std::vector<const std::pair<const std::string, Tensor>*> order;
  for (const auto& item : tensors) order.push_back(&item);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    const auto size_a = itemsize(a->second.dtype()), size_b = itemsize(b->second.dtype());
    return size_a != size_b ? size_a > size_b : a->first < b->first;
  });
  uint64_t offset = 0;
  for (const auto* item : order) {
    const Tensor& tensor = item->second;
    const auto known = std::find_if(kDTypes.begin(), kDTypes.end(),
                                    [&](const DTypeName& d) { return d.dtype == tensor.dtype(); });
    WEFT_CHECK_TYPE(known != kDTypes.end(),
                    fmt::format("save_safetensors: '{}' is {}, which the format does not have",
                                printable(item->first), name(tensor.dtype())));
    const uint64_t bytes = static_cast<uint64_t>(tensor.numel() * itemsize(tensor.dtype()));
    header[item->first] = {
        {"dtype", known->name}, {"shape", tensor.shape()}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) {
    throw_error(ErrorKind::Value, "save_safetensors: a name is not valid UTF-8");
  }
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const uint64_t header_bytes = text.size();
  runtime::OutputFile file(path, "safetensors file");
  file.write(&header_bytes, kLengthBytes);
  file.write(text);
  for (const auto* item : order) {
    const Tensor dense = item->second.contiguous();
    if (dense.numel() > 0)
      file.write(dense.data(), static_cast<size_t>(dense.numel() * itemsize(dense.dtype())));
  }
  file.commit();
}

}  // namespace weft
