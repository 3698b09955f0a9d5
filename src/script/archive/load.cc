// jit::load: an archive's classes and functions, and the object that its data.pkl describes.
#include <fmt/format.h>

#include "io/archive.h"
#include "io/pickle.h"
#include "script/builtins/quantized/packed_classes.h"
#include "script/emit/importer.h"
#include "weft/error.h"
#include "weft/jit/module.h"

namespace weft::jit {
namespace {

void check_is_script(const ArchiveReader& archive) {
  if (archive.has("constants.pkl") && archive.has("data.pkl")) return;
  const char* hint = archive.has("data.pkl") ? "; it holds plain values, which weft.load reads" : "";
  throw_error(ErrorKind::Value, fmt::format("{}: not a TorchScript archive: it has no {}{}", archive.name(),
                                            archive.has("data.pkl") ? "constants.pkl" : "data.pkl", hint));
}

void set_state(const std::shared_ptr<Object>& object, IValue state) {
  if (object->type->name().starts_with(packed::kPrefix)) return packed::set_state(*object, state);
  const auto method = object->type->find_method("__setstate__");
  WEFT_CHECK(method, fmt::format("{} has no method '__setstate__'", object->type->name()));
  (*method)({object, std::move(state)});
}

// The archive's constants, "CONSTANTS.c0" on in its code.
std::vector<IValue> read_constants(const ArchiveReader& archive, Device device) {
  UnpickleOptions constants;
  constants.storages = "constants";
  constants.find_type = [](const std::string& name) { return packed::find_class(name); };
  constants.set_state = set_state;
  const IValue values = unpickle(archive.read("constants.pkl"), &archive, constants);
  WEFT_CHECK(
      values.is(IValue::Tag::Tuple) || values.is_list(),
      fmt::format("{}: constants.pkl holds {}, expected a tuple", archive.name(), values.type()->str()));
  std::vector<IValue> result = values.elements();
  for (IValue& value : result)
    if (value.is_tensor() && value.to_tensor().defined()) value = value.to_tensor().to(device);
  return result;
}

Module load_archive(const std::shared_ptr<const ArchiveReader>& archive, ExtraFiles* extra_files, bool verify,
                    Device device) {
  check_is_script(*archive);
  if (verify) archive->verify();
  const auto unit = import_archive(archive, read_constants(*archive, device));
  UnpickleOptions options;
  options.find_type = [&](const std::string& name) { return unit->find_type(name); };
  options.set_state = set_state;
  const IValue root = unpickle(archive->read("data.pkl"), archive.get(), options);
  WEFT_CHECK(root.is(IValue::Tag::Object) && root.to_object()->type->is_module(),
             fmt::format("{}: data.pkl holds {}, expected a module", archive->name(), root.type()->str()));
  if (extra_files) {
    for (auto& [name, content] : *extra_files) {
      const std::string entry = "extra/" + name;
      if (archive->has(entry)) content = archive->read(entry);
    }
  }
  const Module module(root.to_object(), unit);
  if (device != Device()) module.to(device);
  return module;
}

}  // namespace

Module load(const std::string& path, ExtraFiles* extra_files, bool verify, Device device) {
  return load_archive(ArchiveReader::open(path), extra_files, verify, device);
}

Module load_bytes(std::string bytes, ExtraFiles* extra_files, bool verify) {
  return load_archive(ArchiveReader::from_bytes(std::move(bytes)), extra_files, verify, Device());
}

}  // namespace weft::jit
