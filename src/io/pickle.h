// Pickle, protocol 2 to 5, without executing anything: only tensors, containers, primitive values and objects
// of the classes that a resolver knows can come out.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/archive.h"
#include "weft/ivalue.h"

namespace weft::jit {

struct UnpickleOptions {
  // The entry folder of tensor storages: "data" or "constants" ("data/0" is storage '0').
  std::string storages = "data";
  // "__torch__.M" to its type (class, NamedTuple, enum); null: refused. Unset: every such class is refused.
  std::function<TypePtr(const std::string& qualified_name)> find_type;
  // Called for an object whose class has __setstate__ with the state; otherwise slots are set by name.
  std::function<void(const std::shared_ptr<Object>& object, IValue state)> set_state;
  size_t max_depth = 1000, max_items = size_t{1} << 28;
};

// Storages of equal key are shared; tensors come to the CPU. A value that contains itself is refused. Refused
// with the name of what was asked for: any global but those of tensors, parameters, OrderedDict, torch's size
// and dtypes/devices, and the archive's classes. A damaged stream is a ValueError naming the opcode and its
// offset.
IValue unpickle(std::string_view bytes, const ArchiveReader* archive, const UnpickleOptions& options = {});

struct PickleOptions {
  std::string storages = "data";  // the entry folder that tensors' storages go to
  // Types of containers, which TorchScript needs and torch.load with weights_only refuses.
  bool type_tags = true;
  // What __getstate__ of the object gives; nullopt: its attributes by name. Unset: always its attributes.
  std::function<std::optional<IValue>(const std::shared_ptr<Object>& object)> get_state;
  // A type as the source has it; unset: by its own name.
  std::function<std::string(const TypePtr& type)> type_text = nullptr;
};

// The pickle of `value`, protocol 2; tensors' storages are added to `archive`, each once. ValueError for what
// has no place in a pickle: futures, functions, meta and traced tensors, values that contain themselves.
std::string pickle(const IValue& value, ArchiveWriter& archive, const PickleOptions& options = {});

// torch.load/torch.save of plain values: state dicts, lists, tensors. A script archive is refused with a
// hint. A dtype is its number (weft/ivalue.h), an OrderedDict a Dict, a torch.Size a tuple. `verify`: as of
// jit::load.
IValue load_value(const std::string& path, bool verify = false);
IValue load_value_bytes(std::string bytes, bool verify = false);
void save_value(const IValue& value, const std::string& path);
std::string save_value_bytes(const IValue& value);

}  // namespace weft::jit
