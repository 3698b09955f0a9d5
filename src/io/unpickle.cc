// Pickles as weft's own values. Everything that is made is in the pool until the end, so that no stream,
// however it nests its containers, makes destructors recurse.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/printable.h"
#include "io/pickle.h"
#include "io/pickle_machine.h"
#include "io/unpickle_call.h"
#include "values/nesting.h"
#include "weft/error.h"

namespace weft::jit {

namespace {

const char* describe(const PickleValue& value) {
  if (const auto* plain = std::get_if<IValue>(&value)) return str(plain->tag());
  if (std::holds_alternative<StorageRef>(value)) return "a storage";
  return std::holds_alternative<std::shared_ptr<const Global>>(value) ? "a name" : "a tuple with names";
}

// A base of its own, and the first: it outlives the machine's stack and memo, which refer to its containers.
struct HasPool {
  ContainerPool pool_;
};

class Unpickler : private HasPool, private PickleMachine<Unpickler, PickleValue> {
 public:
  Unpickler(std::string_view bytes, const ArchiveReader* archive, const UnpickleOptions& options)
      : PickleMachine(bytes, archive ? fmt::format("archive '{}'", archive->name()) : "", options.max_items),
        archive_(archive),
        options_(options) {}

  IValue run() { return std::get<IValue>(PickleMachine::run()); }

 private:
  friend PickleMachine;
  static constexpr bool kMakesPythonValues = false;

  // ---- plain values ------------------------------------------------------------------------------------
  static PickleValue none() { return IValue(); }
  static PickleValue boolean(bool value) { return IValue(value); }
  static PickleValue integer(int64_t value) { return IValue(value); }
  static PickleValue floating(double value) { return IValue(value); }

  // Two's complement of any length.
  static PickleValue long_integer(std::string_view digits) {
    uint64_t value = !digits.empty() && (digits.back() & 0x80) ? ~uint64_t{0} : 0;
    const uint8_t sign = static_cast<uint8_t>(value);
    for (size_t i = 0; i < digits.size(); ++i) {
      const uint8_t digit = static_cast<uint8_t>(digits[i]);
      if (i >= 8 ? digit != sign : i == 7 && (digit & 0x80) != (sign & 0x80))
        fail_unpickling("the integer does not fit 64 bits");
      if (i < 8) value = (value & ~(uint64_t{0xff} << (8 * i))) | uint64_t{digit} << (8 * i);
    }
    return IValue(static_cast<int64_t>(value));
  }

  static PickleValue text(std::string_view text) {
    if (!is_utf8(text)) fail_unpickling(fmt::format("a string that is not UTF-8: '{}'", printable(text)));
    return IValue(std::string(text));
  }

  void charge_value(const IValue& value) {
    switch (value.tag()) {
      case IValue::Tag::List:
      case IValue::Tag::Tuple: return charge(value.elements().size());
      case IValue::Tag::Dict: return charge(value.to_dict()->size());
      case IValue::Tag::String: return charge(value.to_string().size());
      default: return;
    }
  }

  static IValue plain_value(const PickleValue& value, const char* what) {
    const auto* plain = std::get_if<IValue>(&value);
    if (!plain) fail_unpickling(fmt::format("expected {}, got {}", what, describe(value)));
    return *plain;
  }

  // ---- containers --------------------------------------------------------------------------------------
  static std::vector<IValue> plain_values(const std::vector<PickleValue>& values, const char* what) {
    std::vector<IValue> result;
    result.reserve(values.size());
    for (const PickleValue& value : values) {
      const auto* plain = std::get_if<IValue>(&value);
      if (!plain) fail_unpickling(fmt::format("{} cannot hold {}", what, describe(value)));
      result.push_back(*plain);
    }
    return result;
  }

  PickleValue list() { return pool_.add(IValue::list(Type::any())); }
  PickleValue dict() { return pool_.add(IValue::dict(Type::any(), Type::any())); }

  PickleValue tuple(std::vector<PickleValue> values) {
    bool is_plain = true;
    for (const PickleValue& value : values) {
      is_plain = is_plain && std::holds_alternative<IValue>(value);
      if (std::holds_alternative<std::shared_ptr<const PickleTuple>>(value))
        fail_unpickling("a name or storage is nested too deep");
    }
    if (is_plain) return pool_.add(IValue::tuple(plain_values(values, "a tuple")));
    return std::make_shared<const PickleTuple>(PickleTuple{std::move(values)});
  }

  static void append(PickleValue& to, const std::vector<PickleValue>& values) {
    const IValue* list = std::get_if<IValue>(&to);
    if (!list || !list->is_list()) fail_unpickling(fmt::format("expected a list, got {}", describe(to)));
    List& target = *list->to_list();
    // Its type would no longer be true; what writes pickles fills a list first.
    if (!target.element->is(TypeKind::Any) && !values.empty())
      fail_unpickling("the list is filled after its type was stated");
    for (IValue& value : plain_values(values, "a list")) target.values.push_back(std::move(value));
  }

  static void set_items(PickleValue& to, const std::vector<PickleValue>& values) {
    const IValue* dict = std::get_if<IValue>(&to);
    if (!dict || !dict->is(IValue::Tag::Dict))
      fail_unpickling(fmt::format("expected a dictionary, got {}", describe(to)));
    Dict& target = *dict->to_dict();
    if (!target.value->is(TypeKind::Any) && !values.empty())
      fail_unpickling("the dictionary is filled after its type was stated");
    const std::vector<IValue> items = plain_values(values, "a dictionary");
    for (size_t i = 0; i < items.size(); i += 2) {
      const IValue& key = items[i];
      if (!key.is_string() && !key.is_number() && !key.is_none() && !key.is_tensor())
        fail_unpickling(fmt::format(
            "expected str, int, float, bool, complex, None or Tensor as a key, got {}", str(key.tag())));
      target.set(key, items[i + 1]);
    }
  }

  // ---- names -------------------------------------------------------------------------------------------
  PickleValue global(const std::string& module, const std::string& name) {
    PickleValue& found = globals_[module + '\n' + name];
    if (const auto* value = std::get_if<IValue>(&found); value && value->is_none())
      found = find_global(module, name, options_);
    return found;
  }

  PickleValue stack_global(const PickleValue& module, const PickleValue& name) {
    const IValue words[] = {plain_value(module, "a module's name"), plain_value(name, "a name")};
    if (!words[0].is_string() || !words[1].is_string()) fail_unpickling("expected two strings");
    return global(words[0].to_string(), words[1].to_string());
  }

  std::vector<PickleValue> tuple_elements(const PickleValue& value) {
    if (const auto* mixed = std::get_if<std::shared_ptr<const PickleTuple>>(&value)) return (*mixed)->values;
    const auto* plain = std::get_if<IValue>(&value);
    if (!plain || !plain->is(IValue::Tag::Tuple))
      fail_unpickling(fmt::format("expected a tuple of arguments, got {}", describe(value)));
    charge_value(*plain);
    for (const IValue& element : plain->elements()) charge_value(element);
    return {plain->elements().begin(), plain->elements().end()};
  }

  static const Global& as_global(const PickleValue& value) {
    const auto* global = std::get_if<std::shared_ptr<const Global>>(&value);
    if (!global) fail_unpickling(fmt::format("expected a function or class, got {}", describe(value)));
    return **global;
  }

  PickleValue reduce(const PickleValue& function, const PickleValue& arguments) {
    const Global& global = as_global(function);
    if (global.kind == Global::Kind::StorageType)
      fail_unpickling(fmt::format("'{}' cannot be called", global.name));
    if (global.kind == Global::Kind::Class) return construct(global, arguments);
    return pool_.add(global.call(tuple_elements(arguments), options_));
  }

  PickleValue new_object(const PickleValue& of, const PickleValue& arguments) {
    const Global& global = as_global(of);
    if (global.kind != Global::Kind::Class) fail_unpickling(fmt::format("'{}' is no class", global.name));
    return construct(global, arguments);
  }

  PickleValue construct(const Global& global, const PickleValue& arguments) {
    if (global.type->is(TypeKind::Enum)) {
      // TorchScript gives the value itself, Python a tuple of it.
      const auto* value = std::get_if<IValue>(&arguments);
      if (value && !value->is(IValue::Tag::Tuple)) return make_enum(global.type, *value);
      return make_enum(global.type, value_argument(tuple_elements(arguments), 0));
    }
    const std::vector<PickleValue> elements = tuple_elements(arguments);
    if (global.type->is(TypeKind::Tuple))
      return pool_.add(make_named_tuple(global.type, plain_values(elements, "a NamedTuple")));
    if (!elements.empty()) fail_unpickling(fmt::format("{}: expected no arguments", global.name));
    auto object = std::make_shared<Object>();
    object->type = std::const_pointer_cast<ClassType>(std::static_pointer_cast<const ClassType>(global.type));
    charge(object->type->attributes().size());
    object->slots.resize(object->type->attributes().size());
    if (!object->slots.empty()) unset_.emplace(object.get(), object);
    return pool_.add(object);
  }

  void build(const PickleValue& made, const PickleValue& with) {
    const IValue state = plain_value(with, "an object's state");
    const IValue* target = std::get_if<IValue>(&made);
    if (target && target->is(IValue::Tag::Dict))
      return;  // attributes of an OrderedDict: a state dict's versions
    if (!target || !target->is(IValue::Tag::Object))
      fail_unpickling(fmt::format("expected an object, got {}", describe(made)));
    const std::shared_ptr<Object>& object = target->to_object();
    // Objects of PyTorch's own classes are what their state says.
    if (object->type->find_method("__setstate__") ||
        object->type->name().starts_with("__torch__.torch.classes.")) {
      if (!options_.set_state)
        fail_unpickling(fmt::format("{}: __setstate__ cannot be called here", object->type->name()));
      check_nesting(state, options_.max_depth);
      options_.set_state(object, state);
    } else {
      set_attributes(object, state);
    }
    unset_.erase(object.get());
  }

  // ---- storages ----------------------------------------------------------------------------------------
  // ('storage', torch.FloatStorage, '0', 'cpu', 12)
  PickleValue persistent(const PickleValue& named) {
    const std::vector<PickleValue> id = tuple_elements(named);
    if (id.size() != 5) fail_unpickling(fmt::format("a persistent id of {} parts: expected 5", id.size()));
    const IValue &kind = value_argument(id, 0), &key = value_argument(id, 2), &count = value_argument(id, 4);
    const auto* type = std::get_if<std::shared_ptr<const Global>>(&id[1]);
    if (!kind.is_string() || kind.to_string() != "storage" || !type ||
        (*type)->kind != Global::Kind::StorageType || !key.is_string() || !count.is_int())
      fail_unpickling("expected ('storage', type, key, location, number of elements)");
    return StorageRef{load_storage(key.to_string(), **type, count.to_int()), (*type)->dtype,
                      (*type)->is_typed};
  }

  std::shared_ptr<Storage> load_storage(const std::string& key, const Global& type, int64_t count) {
    if (!archive_) fail_unpickling("a tensor, and no archive to read it from");
    const std::string entry = fmt::format("{}/{}", options_.storages, key);
    const int64_t size = static_cast<int64_t>(archive_->size(entry));
    const int64_t itemsize = weft::itemsize(type.dtype);
    if (count < 0 || size % itemsize != 0 || size / itemsize != count)
      fail_unpickling(fmt::format("storage '{}' has {} bytes: expected {} elements of {} bytes", entry, size,
                                  count, itemsize));
    std::shared_ptr<Storage>& storage = storages_[key];
    if (!storage) storage = archive_->map(entry);
    return storage;
  }

  void finish(const PickleValue& value) {
    const IValue result = plain_value(value, "a value");
    require_end();
    if (!unset_.empty())
      fail_unpickling(fmt::format("an object of {} has no attributes", unset_.begin()->second->type->name()));
    pool_.keep(check_nesting(result, options_.max_depth));
  }

  const ArchiveReader* archive_;
  const UnpickleOptions& options_;
  std::unordered_map<std::string, PickleValue> globals_;
  std::unordered_map<std::string, std::shared_ptr<Storage>> storages_;
  std::unordered_map<const Object*, std::shared_ptr<Object>> unset_;  // made, and without attributes so far
};

}  // namespace

std::string_view opcode_name(uint8_t opcode) {
  static const auto& kNames = *new std::unordered_map<int, std::string_view>{
      {'(', "MARK"},
      {'.', "STOP"},
      {'0', "POP"},
      {'1', "POP_MARK"},
      {'2', "DUP"},
      {'F', "FLOAT"},
      {'I', "INT"},
      {'J', "BININT"},
      {'K', "BININT1"},
      {'L', "LONG"},
      {'M', "BININT2"},
      {'N', "NONE"},
      {'P', "PERSID"},
      {'Q', "BINPERSID"},
      {'R', "REDUCE"},
      {'S', "STRING"},
      {'T', "BINSTRING"},
      {'U', "SHORT_BINSTRING"},
      {'V', "UNICODE"},
      {'X', "BINUNICODE"},
      {'a', "APPEND"},
      {'b', "BUILD"},
      {'c', "GLOBAL"},
      {'d', "DICT"},
      {'}', "EMPTY_DICT"},
      {'e', "APPENDS"},
      {'g', "GET"},
      {'h', "BINGET"},
      {'i', "INST"},
      {'j', "LONG_BINGET"},
      {'l', "LIST"},
      {']', "EMPTY_LIST"},
      {'o', "OBJ"},
      {'p', "PUT"},
      {'q', "BINPUT"},
      {'r', "LONG_BINPUT"},
      {'s', "SETITEM"},
      {'t', "TUPLE"},
      {')', "EMPTY_TUPLE"},
      {'u', "SETITEMS"},
      {'G', "BINFLOAT"},
      {'B', "BINBYTES"},
      {'C', "SHORT_BINBYTES"},
      {0x80, "PROTO"},
      {0x81, "NEWOBJ"},
      {0x82, "EXT1"},
      {0x83, "EXT2"},
      {0x84, "EXT4"},
      {0x85, "TUPLE1"},
      {0x86, "TUPLE2"},
      {0x87, "TUPLE3"},
      {0x88, "NEWTRUE"},
      {0x89, "NEWFALSE"},
      {0x8a, "LONG1"},
      {0x8b, "LONG4"},
      {0x8c, "SHORT_BINUNICODE"},
      {0x8d, "BINUNICODE8"},
      {0x8e, "BINBYTES8"},
      {0x8f, "EMPTY_SET"},
      {0x90, "ADDITEMS"},
      {0x91, "FROZENSET"},
      {0x92, "NEWOBJ_EX"},
      {0x93, "STACK_GLOBAL"},
      {0x94, "MEMOIZE"},
      {0x95, "FRAME"},
      {0x96, "BYTEARRAY8"},
      {0x97, "NEXT_BUFFER"},
      {0x98, "READONLY_BUFFER"},
  };
  const auto found = kNames.find(opcode);
  return found == kNames.end() ? "unknown opcode" : found->second;
}

IValue unpickle(std::string_view bytes, const ArchiveReader* archive, const UnpickleOptions& options) {
  return Unpickler(bytes, archive, options).run();
}

}  // namespace weft::jit
