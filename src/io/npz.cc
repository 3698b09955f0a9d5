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

}  // namespace

IValue load_npy(const std::string& path) {
  const std::optional<std::string> bytes = runtime::read_file(path);
  if (!bytes)
    throw_error(ErrorKind::Runtime,
                fmt::format("{}: cannot read: {}", array_name(path), std::strerror(errno)));
  return io::parse_npy(*bytes, array_name(path));
}

NamedValues load_npz(const std::string& path) {
  const auto archive = jit::ArchiveReader::open(path, jit::ArchiveLayout::Flat);
  NamedValues values;
  for (const std::string& entry : archive->entries()) {
    const std::string where = fmt::format("archive '{}': {}", path, array_name(entry));
    WEFT_CHECK(entry.ends_with(kSuffix) && entry.size() > kSuffix.size(),
               fmt::format("{}: its name does not end in .npy: is this a .npz file?", where));
    values.emplace_back(entry.substr(0, entry.size() - kSuffix.size()),
                        io::parse_npy(archive->read(entry), where));
  }
  return values;
}

void save_npy(const std::string& path, const IValue& value) {
  const std::string bytes = io::npy_bytes(value, array_name(path));
  runtime::OutputFile file(path, "array");
  file.write(bytes);
  file.commit();
}

void save_npz(const std::string& path, const NamedValues& values, bool compress) {
  jit::ArchiveWriter archive("");
  for (const auto& [name, value] : values) {
    const std::string bytes = io::npy_bytes(value, fmt::format("archive '{}': {}", path, array_name(name)));
    archive.add(name + std::string(kSuffix), std::as_bytes(std::span(bytes)), compress);
  }
  archive.finish_to_file(path);
}

}  // namespace weft
