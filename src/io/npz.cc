#include "weft/npz.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "core/printable.h"
#include "io/archive.h"
#include "io/npy.h"
#include "runtime/files.h"
#include "runtime/mapped_file.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr std::string_view kSuffix = ".npy";

std::string array_name(std::string_view name) { return fmt::format("array '{}'", printable(name)); }
std::string array_of(const std::string& archive, std::string_view name) {
  return fmt::format("archive '{}': {}", archive, array_name(name));
}

NamedValues arrays_of(const jit::ArchiveReader& archive) {
  NamedValues values;
  for (const std::string& entry : archive.entries()) {
    const std::string where = array_of(archive.name(), entry);
    WEFT_CHECK(entry.ends_with(kSuffix) && entry.size() > kSuffix.size(),
               fmt::format("{}: its name does not end in .npy: is this a .npz file?", where));
    values.emplace_back(entry.substr(0, entry.size() - kSuffix.size()),
                        io::parse_npy(archive.read(entry), where));
  }
  return values;
}

void write_arrays(jit::ArchiveWriter& archive, const std::string& name, const NamedValues& values,
                  bool compress) {
  for (const auto& [array, value] : values) {
    const std::string bytes = io::npy_bytes(value, array_of(name, array));
    archive.add(array + std::string(kSuffix), std::as_bytes(std::span(bytes)), compress);
  }
}

}  // namespace

IValue load_npy(const std::string& path) {
  const std::optional<std::string> bytes = runtime::read_file(path);
  if (!bytes)
    throw_error(ErrorKind::Runtime,
                fmt::format("{}: cannot read: {}", array_name(path), std::strerror(errno)));
  return io::parse_npy(*bytes, array_name(path));
}

NamedValues load_npz(const std::string& path) {
  return arrays_of(*jit::ArchiveReader::open(path, jit::ArchiveLayout::Flat));
}

void save_npy(const std::string& path, const IValue& value) {
  const std::string bytes = io::npy_bytes(value, array_name(path));
  runtime::OutputFile file(path, "array");
  file.write(bytes);
  file.commit();
}

void save_npz(const std::string& path, const NamedValues& values, bool compress) {
  jit::ArchiveWriter archive("");
  write_arrays(archive, path, values, compress);
  archive.finish_to_file(path);
}

NamedValues io::parse_npz(std::string bytes, const std::string& name, uint64_t max_bytes) {
  const auto archive = jit::ArchiveReader::from_bytes(std::move(bytes), name, jit::ArchiveLayout::Flat);
  uint64_t total = 0;
  for (const std::string& entry : archive->entries()) {
    total += archive->size(entry);  // a deflated entry's is limited by its compressed one
    WEFT_CHECK(total <= max_bytes,
               fmt::format("archive '{}': its arrays have more than {} bytes", name, max_bytes));
  }
  return arrays_of(*archive);
}

std::string io::npz_bytes(const NamedValues& values, const std::string& name) {
  jit::ArchiveWriter archive("");
  write_arrays(archive, name, values, false);
  return archive.finish();
}

}  // namespace weft
