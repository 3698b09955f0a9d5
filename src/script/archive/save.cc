// Writing archives that PyTorch loads.
#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <unordered_set>

#include "io/archive.h"
#include "io/pickle.h"
#include "script/archive/python_print.h"
#include "script/builtins/quantized/packed_classes.h"
#include "weft/error.h"
#include "weft/jit/module.h"

namespace weft::jit {
namespace {

// The newest format that PyTorch 1.13 reads; no operator has an older meaning under it.
constexpr const char* kFormatVersion = "10";

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// What __getstate__ gives, where the class has one.
std::optional<IValue> get_state(const std::shared_ptr<Object>& object) {
  if (object->type->name().starts_with(packed::kPrefix)) return packed::get_state(*object);
  const std::shared_ptr<Function> method = object->type->find_method("__getstate__");
  if (!method) return std::nullopt;
  return (*method)({IValue(object)});
}

// The classes of the objects that `value` holds: an attribute's declared type may be an interface.
void note_classes(const IValue& value, SourceReferences& references, std::unordered_set<const void*>& seen) {
  if (value.is(IValue::Tag::Object)) {
    const auto& object = value.to_object();
    if (!seen.insert(object.get()).second) return;
    references.note(object->type);
    for (const IValue& slot : object->slots) note_classes(slot, references, seen);
  } else if (value.is_list() || value.is(IValue::Tag::Tuple)) {
    for (const IValue& element : value.elements()) note_classes(element, references, seen);
  } else if (value.is(IValue::Tag::Dict)) {
    for (const auto& [key, item] : value.to_dict()->items()) note_classes(item, references, seen);
  }
}

void write(const Module& module, const ExtraFiles& extra_files, ArchiveWriter& archive) {
  SourceReferences references;
  std::unordered_set<const void*> seen;
  note_classes(IValue(module.object()), references, seen);
  const std::map<std::string, std::string> files = print_program(module.object()->type, references);
  WEFT_CHECK(
      references.python_functions.empty(),
      fmt::format(
          "save: {} calls the Python function '{}' (@weft.jit.ignore), which an archive cannot hold; mark it "
          "@weft.jit.unused where it is not needed",
          module.type_name(), references.python_functions[0]));
  PickleOptions options;
  options.get_state = get_state;
  options.type_text = [&](const TypePtr& type) { return references.text(type); };
  const std::string data = pickle(IValue(module.object()), archive, options);
  archive.add("data.pkl", bytes_of(data));
  for (const auto& [path, text] : files) archive.add(path, bytes_of(text), true);
  std::vector<IValue> constants(references.constants.begin(), references.constants.end());
  options.storages = "constants";
  options.type_tags = false;
  const std::string table = pickle(IValue::tuple(std::move(constants)), archive, options);
  archive.add("constants.pkl", bytes_of(table));
  for (const auto& [name, content] : extra_files) archive.add("extra/" + name, bytes_of(content));
  archive.add("version", bytes_of(std::string(kFormatVersion) + "\n"));
}

}  // namespace

void Module::save(const std::string& path, const ExtraFiles& extra_files) const {
  ArchiveWriter archive(std::filesystem::path(path).stem().string());
  write(*this, extra_files, archive);
  archive.finish_to_file(path);
}

std::string Module::save_to_bytes(const ExtraFiles& extra_files) const {
  ArchiveWriter archive("archive");
  write(*this, extra_files, archive);
  return archive.finish();
}

std::string Module::code() const {
  SourceReferences references;
  return print_function(*method("forward"), references);
}

}  // namespace weft::jit
