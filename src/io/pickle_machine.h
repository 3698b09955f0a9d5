// The stack machine of pickle, once for all readers: the stream, the stack with its marks, the memo and the
// opcodes, each bounded by the stream's length. What the opcodes make is the business of `Maker`, which
// derives from the machine:
//
//   Value none(), boolean(bool), integer(int64_t), long_integer(digits), floating(double), text(bytes)
//   Value tuple(values), list(), dict(); void append(list&, values), set_items(dict&, values)
//   Value global(module, name), stack_global(module, name), reduce(function, arguments), new_object(class,
//   arguments) void build(target&, state); Value persistent(id)
//
// Nothing here calls, imports or sets anything by itself.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/pickle_opcodes.h"
#include "weft/error.h"

namespace weft::jit {

// ValueError: what is wrong with the pickle.
[[noreturn]] void fail_unpickling(std::string message);

template <class Maker, class Value>
class PickleMachine {
 public:
  // Where the pickle ends in `bytes`, once it has run.
  size_t position() const { return position_; }

 protected:
  PickleMachine(std::string_view bytes, std::string file, size_t max_items)
      : bytes_(bytes), file_(std::move(file)), max_items_(max_items) {}

  // The value that the pickle stands for. ValueError naming file, opcode and offset for what is wrong.
  Value run() {
    size_t start = 0;
    uint8_t opcode = static_cast<uint8_t>(Opcode::Proto);
    try {
      read_protocol();
      do {
        start = position_;
        opcode = take_byte();
        step(static_cast<Opcode>(opcode));
        WEFT_CHECK(stack_.size() <= max_items_ && ++num_steps_ <= max_items_,
                   fmt::format("more than {} items", max_items_));
      } while (static_cast<Opcode>(opcode) != Opcode::Stop);
      Value result = pop();
      if (!stack_.empty() || !marks_.empty())
        fail_unpickling(fmt::format("{} items are left on the stack", stack_.size()));
      maker().finish(result);
      return result;
    } catch (const Error& error) {
      const ErrorKind kind = error.kind() == ErrorKind::Type ? ErrorKind::Value : error.kind();
      throw_error(kind, fmt::format("{}{}unpickle: {} at byte {}: {}", file_, file_.empty() ? "" : ": ",
                                    opcode_name(opcode), start, error.what()));
    }
  }

  // What a call reads is made of opcodes of its own in every real pickle. One that calls again and again on
  // the same long list would take time, and memory, by the square of its length.
  void charge(size_t work) {
    constexpr size_t kMaxWorkPerByte = 64;
    work_ += work;
    if (work_ > std::min(max_items_, kMaxWorkPerByte * bytes_.size()))
      fail_unpickling("it repeats itself more than its length allows");
  }

  void require_end() const {
    if (position_ != bytes_.size())
      fail_unpickling(fmt::format("{} bytes follow the end", bytes_.size() - position_));
  }
  [[noreturn]] static void refuse_opcode() { fail_unpickling("the opcode is not allowed"); }

 private:
  Maker& maker() { return static_cast<Maker&>(*this); }

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
  size_t take_size() {  // of BINSTRING, whose length has a sign
    const int32_t size = take_number<int32_t>();
    if (size < 0) fail_unpickling(fmt::format("a length of {}", size));
    return static_cast<size_t>(size);
  }
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

  double take_float() {
    uint64_t bits = 0;
    for (const char c : take(8)) bits = bits << 8 | static_cast<uint8_t>(c);
    return std::bit_cast<double>(bits);
  }

  // ---- the stack and the memo --------------------------------------------------------------------------
  void push(Value value) { stack_.push_back(std::move(value)); }
  size_t stack_floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Value& top() {
    if (stack_.size() <= stack_floor()) fail_unpickling("the stack is empty");
    return stack_.back();
  }
  Value pop() {
    Value value = std::move(top());
    stack_.pop_back();
    return value;
  }
  std::vector<Value> pop_mark() {
    if (marks_.empty()) fail_unpickling("there is no mark on the stack");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Value> values(std::make_move_iterator(first), std::make_move_iterator(stack_.end()));
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return values;
  }
  std::vector<Value> pop_many(size_t count) {
    std::vector<Value> values(count);
    while (count-- > 0) values[count] = pop();
    return values;
  }

  void remember(uint64_t index) {
    // A stream that writes one memo entry per opcode never needs an index beyond its length.
    if (index >= bytes_.size())
      fail_unpickling(fmt::format("memo index {} in a pickle of {} bytes", index, bytes_.size()));
    memo_.insert_or_assign(index, top());
  }
  void recall(uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail_unpickling(fmt::format("memo entry {} is not there", index));
    push(found->second);
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
      case Opcode::None: push(maker().none()); break;
      case Opcode::NewTrue: push(maker().boolean(true)); break;
      case Opcode::NewFalse: push(maker().boolean(false)); break;
      case Opcode::BinInt: push(maker().integer(take_number<int32_t>())); break;
      case Opcode::BinInt1: push(maker().integer(take_byte())); break;
      case Opcode::BinInt2: push(maker().integer(take_number<uint16_t>())); break;
      case Opcode::Long1: push(maker().long_integer(take(take_byte()))); break;
      case Opcode::BinFloat: push(maker().floating(take_float())); break;
      case Opcode::ShortBinUnicode: push(maker().text(take(take_byte()))); break;
      case Opcode::BinUnicode: push(maker().text(take(take_number<uint32_t>()))); break;
      case Opcode::BinUnicode8: push(maker().text(take(take_number<uint64_t>()))); break;
      case Opcode::EmptyTuple: push(maker().tuple({})); break;
      case Opcode::Tuple1: push(maker().tuple(pop_many(1))); break;
      case Opcode::Tuple2: push(maker().tuple(pop_many(2))); break;
      case Opcode::Tuple3: push(maker().tuple(pop_many(3))); break;
      case Opcode::Tuple: push(maker().tuple(pop_mark())); break;
      case Opcode::EmptyList: push(maker().list()); break;
      case Opcode::Append: append(pop_many(1)); break;
      case Opcode::Appends: append(pop_mark()); break;
      case Opcode::EmptyDict: push(maker().dict()); break;
      case Opcode::SetItem: set_items(pop_many(2)); break;
      case Opcode::SetItems: set_items(pop_mark()); break;
      case Opcode::BinPut: remember(take_byte()); break;
      case Opcode::LongBinPut: remember(take_number<uint32_t>()); break;
      case Opcode::Memoize: remember(memo_.size()); break;
      case Opcode::BinGet: recall(take_byte()); break;
      case Opcode::LongBinGet: recall(take_number<uint32_t>()); break;
      case Opcode::Global: {
        const std::string module = take_line();
        push(maker().global(module, take_line()));
        break;
      }
      case Opcode::StackGlobal: {
        const Value name = pop(), module = pop();
        push(maker().stack_global(module, name));
        break;
      }
      case Opcode::Reduce: {
        const Value arguments = pop(), function = pop();
        push(maker().reduce(function, arguments));
        break;
      }
      case Opcode::NewObj: {
        const Value arguments = pop(), type = pop();
        push(maker().new_object(type, arguments));
        break;
      }
      case Opcode::Build: {
        const Value state = pop();
        maker().build(top(), state);
        break;
      }
      case Opcode::BinPersId: push(maker().persistent(pop())); break;
      default:
        if constexpr (Maker::kMakesPythonValues) {
          step_of_python(opcode);
        } else {
          refuse_opcode();
        }
    }
  }

  // What only Python has: bytes, sets, and text of Python 2.
  void step_of_python(Opcode opcode) {
    switch (opcode) {
      case Opcode::ShortBinString: push(maker().old_text(take(take_byte()))); break;
      case Opcode::BinString: push(maker().old_text(take(take_size()))); break;
      case Opcode::ShortBinBytes: push(maker().bytes(take(take_byte()))); break;
      case Opcode::BinBytes: push(maker().bytes(take(take_number<uint32_t>()))); break;
      case Opcode::BinBytes8: push(maker().bytes(take(take_number<uint64_t>()))); break;
      case Opcode::ByteArray8: push(maker().byte_array(take(take_number<uint64_t>()))); break;
      case Opcode::EmptySet: push(maker().set()); break;
      case Opcode::FrozenSet: push(maker().frozen_set(pop_mark())); break;
      case Opcode::AddItems: {
        std::vector<Value> values = pop_mark();
        maker().add_items(top(), std::move(values));
        break;
      }
      default: refuse_opcode();
    }
  }

  void append(std::vector<Value> values) { maker().append(top(), std::move(values)); }
  void set_items(std::vector<Value> values) {
    if (values.size() % 2 != 0) fail_unpickling("a key without a value");
    maker().set_items(top(), std::move(values));
  }
  std::string_view bytes_;
  std::string file_;  // for messages; "" where there is no name
  size_t max_items_;
  size_t position_ = 0, num_steps_ = 0, work_ = 0;
  std::vector<Value> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::unordered_map<uint64_t, Value> memo_;
};

}  // namespace weft::jit
