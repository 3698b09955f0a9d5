// The stack machine of pickle. Everything it makes is in the pool until the end, so that no stream, however
// it nests its containers, makes destructors recurse.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "core/printable.h"
#include "io/pickle.h"
#include "io/pickle_opcodes.h"
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

constexpr size_t kMaxWorkPerByte = 64;

class Unpickler {
 public:
  Unpickler(std::string_view bytes, const ArchiveReader* archive, const UnpickleOptions& options)
      : bytes_(bytes), archive_(archive), options_(options) {}

  IValue run() {
    size_t start = 0;
    uint8_t opcode = static_cast<uint8_t>(Opcode::Proto);
    try {
      read_protocol();
      do {
        start = position_;
        opcode = take_byte();
        step(static_cast<Opcode>(opcode));
        WEFT_CHECK(stack_.size() <= options_.max_items && ++num_steps_ <= options_.max_items,
                   fmt::format("more than {} items", options_.max_items));
      } while (static_cast<Opcode>(opcode) != Opcode::Stop);
      return finish();
    } catch (const Error& error) {
      const std::string file = archive_ ? fmt::format("archive '{}': ", archive_->name()) : "";
      const ErrorKind kind = error.kind() == ErrorKind::Type ? ErrorKind::Value : error.kind();
      throw_error(
          kind, fmt::format("{}unpickle: {} at byte {}: {}", file, opcode_name(opcode), start, error.what()));
    }
  }

 private:
  // ---- the stream --------------------------------------------------------------------------------------
  std::string_view take(size_t count) {
    if (count > bytes_.size() - position_)
      fail_unpickling(fmt::format("the pickle is truncated: {} more bytes are needed, {} are left", count,
                                  bytes_.size() - position_));
    const std::string_view result = bytes_.substr(position_, count);
    position_ += count;
    return result;
  }
  template <class T>
  T take_number() {
    T result;
    std::memcpy(&result, take(sizeof(T)).data(), sizeof(T));
    return result;
  }
  uint8_t take_byte() { return take_number<uint8_t>(); }
  std::string take_line() {
    const size_t end = bytes_.find('\n', position_);
    if (end == bytes_.npos) fail_unpickling("the pickle is truncated: a line has no end");
    std::string line(bytes_.substr(position_, end - position_));
    position_ = end + 1;
    return line;
  }

  void read_protocol() {
    if (bytes_.empty() || static_cast<uint8_t>(bytes_[0]) != static_cast<uint8_t>(Opcode::Proto))
      fail_unpickling("expected a pickle of protocol 2 to 5");
    position_ = 1;
    const int protocol = take_byte();
    if (protocol < 2 || protocol > 5) fail_unpickling(fmt::format("protocol {}: expected 2 to 5", protocol));
  }

  // Two's complement of any length.
  int64_t take_long() {
    const std::string_view digits = take(take_byte());
    uint64_t value = !digits.empty() && (digits.back() & 0x80) ? ~uint64_t{0} : 0;
    const uint8_t sign = static_cast<uint8_t>(value);
    for (size_t i = 0; i < digits.size(); ++i) {
      const uint8_t digit = static_cast<uint8_t>(digits[i]);
      if (i >= 8 ? digit != sign : i == 7 && (digit & 0x80) != (sign & 0x80))
        fail_unpickling("the integer does not fit 64 bits");
      if (i < 8) value = (value & ~(uint64_t{0xff} << (8 * i))) | uint64_t{digit} << (8 * i);
    }
    return static_cast<int64_t>(value);
  }

  std::string take_text(size_t count) {
    const std::string_view text = take(count);
    if (!is_utf8(text)) fail_unpickling(fmt::format("a string that is not UTF-8: '{}'", printable(text)));
    return std::string(text);
  }

  double take_float() {
    uint64_t bits = 0;
    for (const char c : take(8)) bits = bits << 8 | static_cast<uint8_t>(c);
    return std::bit_cast<double>(bits);
  }

  // What a call reads is made of opcodes of its own in every real pickle. One that calls again and again on
  // the same long list would take time, and memory, by the square of its length.
  void charge(size_t work) {
    work_ += work;
    if (work_ > std::min(options_.max_items, kMaxWorkPerByte * bytes_.size()))
      fail_unpickling("it repeats itself more than its length allows");
  }
  void charge(const IValue& value) {
    switch (value.tag()) {
      case IValue::Tag::List:
      case IValue::Tag::Tuple: return charge(value.elements().size());
      case IValue::Tag::Dict: return charge(value.to_dict()->size());
      case IValue::Tag::String: return charge(value.to_string().size());
      default: return;
    }
  }

  // ---- the stack ---------------------------------------------------------------------------------------
  void push(PickleValue value) { stack_.push_back(std::move(value)); }
  size_t stack_floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleValue& top() {
    if (stack_.size() <= stack_floor()) fail_unpickling("the stack is empty");
    return stack_.back();
  }
  PickleValue pop() {
    PickleValue value = std::move(top());
    stack_.pop_back();
    return value;
  }
  IValue pop_value(const char* what) {
    const PickleValue value = pop();
    const auto* plain = std::get_if<IValue>(&value);
    if (!plain) fail_unpickling(fmt::format("expected {}, got {}", what, describe(value)));
    return *plain;
  }
  std::vector<PickleValue> pop_mark() {
    if (marks_.empty()) fail_unpickling("there is no mark on the stack");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleValue> values(std::make_move_iterator(first), std::make_move_iterator(stack_.end()));
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return values;
  }
  std::vector<PickleValue> pop_many(size_t count) {
    std::vector<PickleValue> values(count);
    while (count-- > 0) values[count] = pop();
    return values;
  }

  void remember(uint64_t index) {
    // A stream that writes one memo entry per opcode never needs an index beyond its length.
    if (index >= bytes_.size())
      fail_unpickling(fmt::format("memo index {} in a pickle of {} bytes", index, bytes_.size()));
    if (index >= memo_.size()) memo_.resize(index + 1);
    if (!memo_[index]) ++num_remembered_;
    memo_[index] = top();
  }
  void recall(uint64_t index) {
    if (index >= memo_.size() || !memo_[index])
      fail_unpickling(fmt::format("memo entry {} is not there", index));
    push(*memo_[index]);
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

  void push_tuple(std::vector<PickleValue> values) {
    bool is_plain = true;
    for (const PickleValue& value : values) {
      is_plain = is_plain && std::holds_alternative<IValue>(value);
      if (std::holds_alternative<std::shared_ptr<const PickleTuple>>(value))
        fail_unpickling("a name or storage is nested too deep");
    }
    if (is_plain) {
      push(pool_.add(IValue::tuple(plain_values(values, "a tuple"))));
    } else {
      push(std::make_shared<const PickleTuple>(PickleTuple{std::move(values)}));
    }
  }

  void append(std::vector<PickleValue> values) {
    const IValue* list = std::get_if<IValue>(&top());
    if (!list || !list->is_list()) fail_unpickling(fmt::format("expected a list, got {}", describe(top())));
    List& target = *list->to_list();
    // Its type would no longer be true; what writes pickles fills a list first.
    if (!target.element->is(TypeKind::Any) && !values.empty())
      fail_unpickling("the list is filled after its type was stated");
    for (IValue& value : plain_values(values, "a list")) target.values.push_back(std::move(value));
  }

  void set_items(std::vector<PickleValue> values) {
    const IValue* dict = std::get_if<IValue>(&top());
    if (!dict || !dict->is(IValue::Tag::Dict))
      fail_unpickling(fmt::format("expected a dictionary, got {}", describe(top())));
    if (values.size() % 2 != 0) fail_unpickling("a key without a value");
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
  void push_global(const std::string& module, const std::string& name) {
    PickleValue& found = globals_[module + '\n' + name];
    if (const auto* value = std::get_if<IValue>(&found); value && value->is_none())
      found = find_global(module, name, options_);
    push(found);
  }

  void stack_global() {
    const IValue name = pop_value("a name"), module = pop_value("a module's name");
    if (!name.is_string() || !module.is_string()) fail_unpickling("expected two strings");
    push_global(module.to_string(), name.to_string());
  }

  std::vector<PickleValue> tuple_elements(const PickleValue& value) {
    if (const auto* mixed = std::get_if<std::shared_ptr<const PickleTuple>>(&value)) return (*mixed)->values;
    const auto* plain = std::get_if<IValue>(&value);
    if (!plain || !plain->is(IValue::Tag::Tuple))
      fail_unpickling(fmt::format("expected a tuple of arguments, got {}", describe(value)));
    charge(*plain);
    for (const IValue& element : plain->elements()) charge(element);
    return {plain->elements().begin(), plain->elements().end()};
  }

  std::shared_ptr<const Global> pop_global() {
    const PickleValue value = pop();
    const auto* global = std::get_if<std::shared_ptr<const Global>>(&value);
    if (!global) fail_unpickling(fmt::format("expected a function or class, got {}", describe(value)));
    return *global;
  }

  void reduce() {
    const PickleValue arguments = pop();
    const std::shared_ptr<const Global> global = pop_global();
    switch (global->kind) {
      case Global::Kind::Function: push(pool_.add(global->call(tuple_elements(arguments), options_))); break;
      case Global::Kind::StorageType: fail_unpickling(fmt::format("'{}' cannot be called", global->name));
      case Global::Kind::Class: push(construct(*global, arguments)); break;
    }
  }

  void new_object() {
    const PickleValue arguments = pop();
    const std::shared_ptr<const Global> global = pop_global();
    if (global->kind != Global::Kind::Class) fail_unpickling(fmt::format("'{}' is no class", global->name));
    push(construct(*global, arguments));
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

  void build() {
    const IValue state = pop_value("an object's state");
    const IValue* target = std::get_if<IValue>(&top());
    if (target && target->is(IValue::Tag::Dict))
      return;  // attributes of an OrderedDict: a state dict's versions
    if (!target || !target->is(IValue::Tag::Object))
      fail_unpickling(fmt::format("expected an object, got {}", describe(top())));
    const std::shared_ptr<Object>& object = target->to_object();
    if (object->type->find_method("__setstate__")) {
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
  void persistent_id() {
    const std::vector<PickleValue> id = tuple_elements(pop());
    if (id.size() != 5) fail_unpickling(fmt::format("a persistent id of {} parts: expected 5", id.size()));
    const IValue &kind = value_argument(id, 0), &key = value_argument(id, 2), &count = value_argument(id, 4);
    const auto* type = std::get_if<std::shared_ptr<const Global>>(&id[1]);
    if (!kind.is_string() || kind.to_string() != "storage" || !type ||
        (*type)->kind != Global::Kind::StorageType || !key.is_string() || !count.is_int())
      fail_unpickling("expected ('storage', type, key, location, number of elements)");
    push(
        StorageRef{load_storage(key.to_string(), **type, count.to_int()), (*type)->dtype, (*type)->is_typed});
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

  // ---- one opcode --------------------------------------------------------------------------------------
  void step(Opcode opcode) {
    switch (opcode) {
      case Opcode::Stop: break;
      case Opcode::Proto: fail_unpickling("a second protocol");
      case Opcode::Frame:
        if (const uint64_t size = take_number<uint64_t>(); size > bytes_.size() - position_)
          fail_unpickling(fmt::format("the pickle is truncated: a frame of {} bytes, {} are left", size,
                                      bytes_.size() - position_));
        break;
      case Opcode::Mark: marks_.push_back(stack_.size()); break;
      case Opcode::None: push(IValue()); break;
      case Opcode::NewTrue: push(IValue(true)); break;
      case Opcode::NewFalse: push(IValue(false)); break;
      case Opcode::BinInt: push(IValue(int64_t{take_number<int32_t>()})); break;
      case Opcode::BinInt1: push(IValue(int64_t{take_byte()})); break;
      case Opcode::BinInt2: push(IValue(int64_t{take_number<uint16_t>()})); break;
      case Opcode::Long1: push(IValue(take_long())); break;
      case Opcode::BinFloat: push(IValue(take_float())); break;
      case Opcode::ShortBinUnicode: push(IValue(take_text(take_byte()))); break;
      case Opcode::BinUnicode: push(IValue(take_text(take_number<uint32_t>()))); break;
      case Opcode::BinUnicode8: push(IValue(take_text(take_number<uint64_t>()))); break;
      case Opcode::EmptyTuple: push_tuple({}); break;
      case Opcode::Tuple1: push_tuple(pop_many(1)); break;
      case Opcode::Tuple2: push_tuple(pop_many(2)); break;
      case Opcode::Tuple3: push_tuple(pop_many(3)); break;
      case Opcode::Tuple: push_tuple(pop_mark()); break;
      case Opcode::EmptyList: push(pool_.add(IValue::list(Type::any()))); break;
      case Opcode::Append: append(pop_many(1)); break;
      case Opcode::Appends: append(pop_mark()); break;
      case Opcode::EmptyDict: push(pool_.add(IValue::dict(Type::any(), Type::any()))); break;
      case Opcode::SetItem: set_items(pop_many(2)); break;
      case Opcode::SetItems: set_items(pop_mark()); break;
      case Opcode::BinPut: remember(take_byte()); break;
      case Opcode::LongBinPut: remember(take_number<uint32_t>()); break;
      case Opcode::Memoize: remember(num_remembered_); break;
      case Opcode::BinGet: recall(take_byte()); break;
      case Opcode::LongBinGet: recall(take_number<uint32_t>()); break;
      case Opcode::Global: {
        const std::string module = take_line();
        push_global(module, take_line());
        break;
      }
      case Opcode::StackGlobal: stack_global(); break;
      case Opcode::Reduce: reduce(); break;
      case Opcode::NewObj: new_object(); break;
      case Opcode::Build: build(); break;
      case Opcode::BinPersId: persistent_id(); break;
      default: fail_unpickling("the opcode is not allowed");
    }
  }

  IValue finish() {
    const IValue result = pop_value("a value");
    if (!stack_.empty() || !marks_.empty())
      fail_unpickling(fmt::format("{} items are left on the stack", stack_.size()));
    if (position_ != bytes_.size())
      fail_unpickling(fmt::format("{} bytes follow the end", bytes_.size() - position_));
    if (!unset_.empty())
      fail_unpickling(fmt::format("an object of {} has no attributes", unset_.begin()->second->type->name()));
    pool_.keep(check_nesting(result, options_.max_depth));
    return result;
  }

  std::string_view bytes_;
  const ArchiveReader* archive_;
  const UnpickleOptions& options_;
  ContainerPool pool_;  // before what refers to its containers
  size_t position_ = 0, num_steps_ = 0, num_remembered_ = 0, work_ = 0;
  std::vector<PickleValue> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::vector<std::optional<PickleValue>> memo_;
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
