// Archives of source text and the object that they describe, by weft's own writer.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/archive.h"
#include "io/pickle.h"
#include "script/emit/importer.h"

namespace weft::jit {

using Files = std::map<std::string, std::string>;

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// The archive of entries as they are, with a version.
inline std::string archive_of(const Files& entries) {
  ArchiveWriter writer("m");
  for (const auto& [name, text] : entries) writer.add(name, bytes_of(text));
  if (!entries.contains("version")) writer.add("version", bytes_of("10\n"));
  return writer.finish();
}

// An archive of source files, with the pickle of the object that `make_root` gives.
template <class MakeRoot>
std::string archive_of(const Files& code, const std::vector<IValue>& constants, MakeRoot make_root) {
  const auto unit = import_archive(ArchiveReader::from_bytes(archive_of(code)), constants);
  ArchiveWriter writer("m");
  PickleOptions options;
  options.get_state = [](const std::shared_ptr<Object>& object) -> std::optional<IValue> {
    const auto method = object->type->find_method("__getstate__");
    return method ? std::optional((*method)({IValue(object)})) : std::nullopt;
  };
  const std::string data = pickle(make_root(*unit), writer, options);
  options.storages = "constants";
  options.type_tags = false;
  const std::string table = pickle(IValue::tuple(constants), writer, options);
  writer.add("data.pkl", bytes_of(data));
  writer.add("constants.pkl", bytes_of(table));
  for (const auto& [name, text] : code) writer.add(name, bytes_of(text), true);
  writer.add("version", bytes_of("10\n"));
  return writer.finish();
}

inline IValue object_of(CompilationUnit& unit, const std::string& type,
                        const std::map<std::string, IValue>& attributes) {
  auto object = std::make_shared<Object>();
  object->type =
      std::const_pointer_cast<ClassType>(std::static_pointer_cast<const ClassType>(unit.find_type(type)));
  object->slots.resize(object->type->attributes().size());
  for (const auto& [name, value] : attributes) object->slots[*object->type->find_slot(name)] = value;
  return object;
}

}  // namespace weft::jit
