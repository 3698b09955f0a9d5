// Pickle, protocol 2 to 5, without executing anything: only tensors, containers, primitive values and objects of the
// classes that a resolver knows can come out.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "script/archive.h"
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

// Storages of equal key are shared. Refused with the name of what was asked for: any global but those of tensors,
// parameters, OrderedDict, torch's size and dtypes/devices, and the archive's classes. A damaged stream is a ValueError
// naming the opcode and its offset.
IValue unpickle(std::string_view bytes, const ArchiveReader* archive, const UnpickleOptions& options = {});

// The pickle of `value`; tensors' storages are added to `archive` under `storages` (each once).
class StorageWriter;
std::string pickle(const IValue& value, ArchiveWriter& archive, const std::string& storages = "data");

// torch.load/torch.save of plain values: state dicts, lists, tensors. A script archive is refused with a hint.
IValue load_value(const std::string& path);
IValue load_value_bytes(std::string bytes);
void save_value(const IValue& value, const std::string& path);
std::string save_value_bytes(const IValue& value);

}  // namespace weft::jit
