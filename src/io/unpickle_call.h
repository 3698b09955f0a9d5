// What a pickle may name and call, and what comes of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/pickle.h"
#include "io/pickle_machine.h"

namespace weft::jit {

// A storage that a persistent id named. One that is not typed is bytes, which a tensor's own dtype tells how
// to read.
struct StorageRef {
  std::shared_ptr<Storage> storage;
  DType dtype = DType::U8;
  bool is_typed = false;
};

struct Global;
struct PickleTuple;

// What the unpickler's stack holds: a value, a name, a storage, or a tuple with one of the latter two in it.
using PickleValue =
    std::variant<IValue, std::shared_ptr<const Global>, StorageRef, std::shared_ptr<const PickleTuple>>;
struct PickleTuple {
  std::vector<PickleValue> values;
};

struct Global {
  enum class Kind { Function, StorageType, Class };
  using Call = IValue (*)(const std::vector<PickleValue>& arguments, const UnpickleOptions& options);
  Kind kind;
  std::string name;
  Call call = nullptr;      // Function
  DType dtype = DType::U8;  // StorageType
  bool is_typed = false;
  TypePtr type;  // Class: a class, an enum or a NamedTuple
};

// The meaning of a module's name: a Global, or a value (torch.float32). ValueError for every other name.
PickleValue find_global(const std::string& module, const std::string& name, const UnpickleOptions& options);

// ValueError where a tensor of these sizes and strides (elements) would reach outside a storage of `nbytes`, or has more
// bytes than can be counted.
void check_extent(const Shape& shape, const Strides& strides, int64_t offset, DType dtype, size_t nbytes);

// The value of an argument; ValueError where it is a name, a storage, or not there.
const IValue& value_argument(const std::vector<PickleValue>& arguments, size_t index);

// An enum's member by its value, a NamedTuple by its values.
IValue make_enum(const TypePtr& type, const IValue& value);
IValue make_named_tuple(const TypePtr& type, std::vector<IValue> values);

// Gives the object the attributes that `state`, a dictionary, holds.
void set_attributes(const std::shared_ptr<Object>& object, const IValue& state);

}  // namespace weft::jit
