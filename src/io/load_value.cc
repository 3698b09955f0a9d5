// torch.load and torch.save of values that are no modules.
#include <fmt/format.h>

#include "io/pickle.h"
#include "weft/error.h"

namespace weft::jit {

namespace {

constexpr std::string_view kVersion = "3\n";  // of the archive: nothing in it depends on it

IValue load_value(const ArchiveReader& archive, bool verify) {
  WEFT_CHECK(
      !archive.has("constants.pkl"),
      fmt::format("archive '{}' holds a TorchScript module: load it with weft.jit.load", archive.name()));
  if (verify) archive.verify();
  return unpickle(archive.read("data.pkl"), &archive);
}

std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

void write_value(const IValue& value, ArchiveWriter& archive) {
  const std::string bytes =
      pickle(value, archive, {.storages = "data", .type_tags = false, .get_state = nullptr});
  archive.add("data.pkl", as_bytes(bytes));
  archive.add("version", as_bytes(kVersion));
}

}  // namespace

IValue load_value(const std::string& path, bool verify) {
  return load_value(*ArchiveReader::open(path), verify);
}
IValue load_value_bytes(std::string bytes, bool verify) {
  return load_value(*ArchiveReader::from_bytes(std::move(bytes)), verify);
}

void save_value(const IValue& value, const std::string& path) {
  ArchiveWriter archive("archive");
  write_value(value, archive);
  archive.finish_to_file(path);
}

std::string save_value_bytes(const IValue& value) {
  ArchiveWriter archive("archive");
  write_value(value, archive);
  return archive.finish();
}

}  // namespace weft::jit
