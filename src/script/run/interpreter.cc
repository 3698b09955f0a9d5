#include "script/run/interpreter.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <new>

#include "core/profiling.h"
#include "runtime/interop.h"
#include "script/builtins/arithmetic.h"
#include "script/builtins/format.h"
#include "script/builtins/prim.h"
#include "script/program/function.h"
#include "script/run/frame.h"
#include "script/run/stretch.h"

namespace weft::jit {
namespace {

void put(IValue& target, int64_t value) {
  if (int64_t* slot = const_cast<int64_t*>(target.if_int())) [[likely]]
    *slot = value;
  else
    target = IValue(value);
}
void put(IValue& target, double value) {
  if (double* slot = const_cast<double*>(target.if_double())) [[likely]]
    *slot = value;
  else
    target = IValue(value);
}
void put(IValue& target, bool value) {
  if (bool* slot = const_cast<bool*>(target.if_bool())) [[likely]]
    *slot = value;
  else
    target = IValue(value);
}

bool is_instance(const IValue& value, const ir::ScriptPayload& tested) {
  const auto names = [&](std::string_view kind) { return tested.text.find(kind) != std::string::npos; };
  return (value.is_list() && names("list")) || (value.is(IValue::Tag::Tuple) && names("tuple")) ||
         (tested.type && value.is_instance(*tested.type));
}

int64_t int_of(const IValue& value) {
  if (const int64_t* found = value.if_int()) [[likely]]
    return *found;
  return value.to_int();
}
double number_of(const IValue& value) {
  if (const double* found = value.if_double()) [[likely]]
    return *found;
  return value.to_double();
}

class Machine {
 public:
  // Runs the thread's innermost call, and those it makes, until it returns.
  explicit Machine(FrameStack& stack) : stack_(stack), entry_(stack.depth()) { resume(); }

  IValue run() {
    const Instruction* begin = code_->instructions.data();
    const Instruction* at = begin;
    for (;; ++at) {
      frame_->at = at;
      switch (at->op) {
        case OpCode::Jump: at = begin + at->dst - 1; break;
        case OpCode::JumpUnless:
          if (!value(at->a).to_bool()) at = begin + at->dst - 1;
          break;
        case OpCode::LoopHead:
          if (!value(at->b).to_bool() || int_of(registers_[at->slot]) >= int_of(value(at->a)))
            at = begin + at->dst - 1;
          break;
        case OpCode::LoopNext: {
          const int64_t next = int_of(registers_[at->slot]) + 1;
          put(registers_[at->slot], next);
          if (value(at->b).to_bool() && next < int_of(value(at->a))) at = begin + at->dst - 1;
          break;
        }
        case OpCode::Return: {
          IValue value = result(*at);
          if (stack_.depth() == entry_) return value;
          stack_.leave();
          resume();
          at = frame_->at;
          begin = code_->instructions.data();
          give(*at, std::move(value));
          break;
        }
        case OpCode::Move: registers_[at->dst] = take(at->a); break;
        case OpCode::Drop: registers_[at->dst] = IValue(); break;

        case OpCode::AddInt: put(dst(at), wrapping_add(int_of(value(at->a)), int_of(value(at->b)))); break;
        case OpCode::SubInt: put(dst(at), wrapping_sub(int_of(value(at->a)), int_of(value(at->b)))); break;
        case OpCode::MulInt: put(dst(at), wrapping_mul(int_of(value(at->a)), int_of(value(at->b)))); break;
        case OpCode::FloorDivInt: put(dst(at), floor_div(int_of(value(at->a)), int_of(value(at->b)))); break;
        case OpCode::ModInt: put(dst(at), floor_mod(int_of(value(at->a)), int_of(value(at->b)))); break;
        case OpCode::NegInt: put(dst(at), wrapping_sub(0, int_of(value(at->a)))); break;
        case OpCode::AddFloat: put(dst(at), number_of(value(at->a)) + number_of(value(at->b))); break;
        case OpCode::SubFloat: put(dst(at), number_of(value(at->a)) - number_of(value(at->b))); break;
        case OpCode::MulFloat: put(dst(at), number_of(value(at->a)) * number_of(value(at->b))); break;
        case OpCode::DivFloat:
          put(dst(at), true_div(number_of(value(at->a)), number_of(value(at->b))));
          break;
        case OpCode::NegFloat: put(dst(at), -number_of(value(at->a))); break;
        case OpCode::LtInt: put(dst(at), int_of(value(at->a)) < int_of(value(at->b))); break;
        case OpCode::LeInt: put(dst(at), int_of(value(at->a)) <= int_of(value(at->b))); break;
        case OpCode::GtInt: put(dst(at), int_of(value(at->a)) > int_of(value(at->b))); break;
        case OpCode::GeInt: put(dst(at), int_of(value(at->a)) >= int_of(value(at->b))); break;
        case OpCode::EqInt: put(dst(at), int_of(value(at->a)) == int_of(value(at->b))); break;
        case OpCode::NeInt: put(dst(at), int_of(value(at->a)) != int_of(value(at->b))); break;
        case OpCode::LtFloat: put(dst(at), number_of(value(at->a)) < number_of(value(at->b))); break;
        case OpCode::LeFloat: put(dst(at), number_of(value(at->a)) <= number_of(value(at->b))); break;
        case OpCode::GtFloat: put(dst(at), number_of(value(at->a)) > number_of(value(at->b))); break;
        case OpCode::GeFloat: put(dst(at), number_of(value(at->a)) >= number_of(value(at->b))); break;
        case OpCode::EqFloat: put(dst(at), number_of(value(at->a)) == number_of(value(at->b))); break;
        case OpCode::NeFloat: put(dst(at), number_of(value(at->a)) != number_of(value(at->b))); break;
        case OpCode::Not: put(dst(at), !value(at->a).to_bool()); break;
        case OpCode::And: put(dst(at), value(at->a).to_bool() && value(at->b).to_bool()); break;
        case OpCode::Or: put(dst(at), value(at->a).to_bool() || value(at->b).to_bool()); break;
        case OpCode::IsNone: put(dst(at), value(at->a).is_none()); break;
        case OpCode::IsNotNone: put(dst(at), !value(at->a).is_none()); break;
        case OpCode::ListLen:
          put(dst(at), static_cast<int64_t>(value(at->a).to_list()->values.size()));
          break;
        case OpCode::ListGet: list_get(*at); break;
        case OpCode::ListAppend: list_append(*at); break;
        case OpCode::ListSet: list_set(*at); break;

        case OpCode::GetSlot: get_slot(*at); break;
        case OpCode::SetSlot: set_slot(*at); break;
        case OpCode::GetAttribute:
          assign(dst(at), IValue(value(at->a).to_object()->attribute(at->payload->text)));
          break;
        case OpCode::SetAttribute:
          value(at->a).to_object()->set_attribute(at->payload->text, value(at->b));
          break;
        case OpCode::CallBuiltin: call_builtin(*at); break;
        case OpCode::CallFunction:
        case OpCode::CallMethod:
          call(*at, at->op == OpCode::CallMethod ? method(*at) : *at->payload->function);
          begin = code_->instructions.data();
          at = begin - 1;
          break;
        default: rarely(*at); break;
      }
    }
  }

 private:
  const IValue& value(Ref ref) const {
    return ref.is_constant() ? code_->constants[ref.index()] : registers_[ref.index()];
  }
  IValue& dst(const Instruction* at) { return registers_[at->dst]; }
  Ref operand(const Instruction& at, size_t i) const { return code_->refs[at.operands + i]; }
  IValue take(Ref ref) {
    if (ref.is_constant()) return code_->constants[ref.index()];
    IValue& from = registers_[ref.index()];
    if (!ref.moves()) return from;
    IValue result = std::move(from);
    from = IValue();
    return result;
  }
  std::vector<IValue> take_all(const Instruction& at) {
    std::vector<IValue> values;
    values.reserve(at.num_operands);
    for (size_t i = 0; i < at.num_operands; ++i) values.push_back(take(operand(at, i)));
    return values;
  }
  static void assign(IValue& target, IValue value) { target = std::move(value); }
  // The one result; dropped when nobody takes it.
  void give(const Instruction& at, IValue value) {
    if (at.num_results == 1) registers_[at.dst] = std::move(value);
  }
  void give_all(const Instruction& at, const std::vector<IValue>& values) {
    if (at.num_results == 1)
      registers_[at.dst] = IValue(values[0]);
    else
      for (size_t i = 0; i < at.num_results; ++i) registers_[code_->results[at.dst + i]] = values[i];
  }

  IValue result(const Instruction& at) {
    if (at.num_operands == 1) return take(at.a);
    if (at.num_operands == 0) return {};
    return IValue::tuple(take_all(at));
  }

  // ---- lists -------------------------------------------------------------------------------------------
  static size_t position(const List& list, int64_t index) {
    const auto size = static_cast<int64_t>(list.values.size());
    const int64_t at = index < 0 ? index + size : index;
    if (at < 0 || at >= size) [[unlikely]] {
      throw_error(ErrorKind::Index,
                  fmt::format("list index out of range: index {} of a list of {}", index, size));
    }
    return static_cast<size_t>(at);
  }
  void list_get(const Instruction& at) {
    const List& list = *value(at.a).to_list();
    const IValue& item = list.values[position(list, int_of(value(at.b)))];
    if (const int64_t* number = item.if_int())
      put(registers_[at.dst], *number);
    else
      assign(registers_[at.dst], IValue(item));
  }
  void list_append(const Instruction& at) {
    value(at.a).to_list()->values.push_back(value(at.b));
    give(at, value(at.a));
  }
  void list_set(const Instruction& at) {
    List& list = *value(at.a).to_list();
    list.values[position(list, int_of(value(at.b)))] = value(operand(at, 2));
    give(at, value(at.a));
  }

  // ---- attributes --------------------------------------------------------------------------------------
  void get_slot(const Instruction& at) {
    const Object& object = *value(at.a).to_object();
    check_slot(object, at.slot);
    assign(registers_[at.dst], IValue(object.slots[at.slot]));
  }
  void set_slot(const Instruction& at) {
    Object& object = *value(at.a).to_object();
    check_slot(object, at.slot);
    object.slots[at.slot] = value(at.b);
  }
  static void check_slot(const Object& object, size_t slot) {
    if (slot >= object.slots.size()) [[unlikely]] {
      throw_error(ErrorKind::Value,
                  fmt::format("an object of {} has {} attributes, the script asks for number {}",
                              object.type->name(), object.slots.size(), slot));
    }
  }

  // ---- calls -------------------------------------------------------------------------------------------
  void call_builtin(const Instruction& at) {
    IValue* const staged = registers_ + code_->num_registers;
    for (size_t i = 0; i < at.num_operands; ++i) staged[i] = take(operand(at, i));
    const std::span arguments(staged, at.num_operands);
    const profiling::Span span(at.builtin->qualified.c_str(), profiling::Kind::Script);
    if (at.num_results == 1 && at.builtin->schema.returns.size() == 1) {
      at.builtin->run(arguments, &registers_[at.dst]);
    } else {
      IValue* const results = staged + at.num_operands;
      at.builtin->run(arguments, results);
      if (at.num_results == 1)
        registers_[at.dst] = std::move(results[0]);
      else
        for (size_t i = 0; i < at.num_results; ++i)
          registers_[code_->results[at.dst + i]] = std::move(results[i]);
      for (size_t i = 0; i < std::max<size_t>(at.builtin->schema.returns.size(), at.num_results); ++i)
        results[i] = IValue();
    }
    for (IValue& argument : arguments) {
      if (!argument.is_none()) argument = IValue();
    }
  }

  const Function& method(const Instruction& at) const {
    if (at.payload->function) return *at.payload->function;
    const ClassTypePtr& type = value(at.a).to_object()->type;
    const std::shared_ptr<Function> found = type->find_method(at.payload->text);
    WEFT_CHECK(found, fmt::format("{} has no method '{}'", type->name(), at.payload->text));
    return *found;  // the class keeps it
  }

  // Goes on in the function; its Return comes back to the instruction after this one.
  void call(const Instruction& at, const Function& function) {
    const Code& callee = code_of(function.impl());
    check_count(callee, at.num_operands);
    Frame& entered = stack_.enter(callee);
    for (size_t i = 0; i < at.num_operands; ++i) entered.registers[i] = take(operand(at, i));
    resume();
  }
  // Takes up the innermost call.
  void resume() {
    frame_ = &stack_.top();
    code_ = frame_->code;
    registers_ = frame_->registers;
  }

 public:
  static void check_count(const Code& code, size_t given) {
    WEFT_ASSERT(given == code.num_arguments, fmt::format("{}: called with {} arguments, takes {}",
                                                         code.function_name, given, code.num_arguments));
  }

 private:
  // ---- the rest: out of the way of the loop above ------------------------------------------------------
  [[gnu::noinline]] void rarely(const Instruction& at) {
    switch (at.op) {
      case OpCode::CreateObject: create_object(at); break;
      case OpCode::MakeList: give(at, IValue::list(at.type->element(), take_all(at))); break;
      case OpCode::MakeDict: make_dict(at); break;
      case OpCode::MakeTuple: make_tuple(at); break;
      case OpCode::UnpackTuple: unpack(at, value(at.a).to_tuple()->values); break;
      case OpCode::UnpackList: unpack(at, value(at.a).to_list()->values); break;
      case OpCode::TupleIndex: tuple_index(at); break;
      case OpCode::TupleSlice: tuple_slice(at); break;
      case OpCode::IsInstance: put(registers_[at.dst], is_instance(value(at.a), *at.payload)); break;
      case OpCode::Cast: cast(at); break;
      case OpCode::Raise: raise(at);
      case OpCode::Fork: fork(at); break;
      case OpCode::Print: print(at); break;
      case OpCode::Format: format(at); break;
      case OpCode::EnumName: give(at, value(at.a).to_enum()->name); break;
      case OpCode::EnumValue: give(at, IValue(value(at.a).to_enum()->value)); break;
      case OpCode::RunStretch: run_stretch(at); break;
      default: throw_error(ErrorKind::Internal, "an instruction that the interpreter does not know");
    }
  }

  void create_object(const Instruction& at) {
    auto type = std::const_pointer_cast<Type>(at.type->shared_from_this());
    auto object = std::make_shared<Object>();
    object->type = std::static_pointer_cast<ClassType>(std::move(type));
    object->slots.resize(object->type->attributes().size());
    give(at, std::move(object));
  }
  void make_dict(const Instruction& at) {
    IValue dict = IValue::dict(at.type->elements()[0], at.type->elements()[1]);
    std::vector<IValue> values = take_all(at);
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      dict.to_dict()->set(std::move(values[i]), std::move(values[i + 1]));
    give(at, std::move(dict));
  }
  void make_tuple(const Instruction& at) {
    std::vector<IValue> values = take_all(at);
    if (at.type->fields().empty())
      give(at, IValue::tuple(std::move(values)));
    else
      give(at, IValue::named_tuple(at.type->shared_from_this(), std::move(values)));
  }
  void unpack(const Instruction& at, const std::vector<IValue>& values) {
    if (values.size() != at.num_results) {
      throw_error(ErrorKind::Value,
                  fmt::format("{} values to unpack, expected {}", values.size(), at.num_results));
    }
    const IValue keep = value(at.a);  // a result may take the operand's register
    give_all(at, values);
  }
  void tuple_index(const Instruction& at) {
    const std::vector<IValue>& values = value(at.a).elements();
    const int64_t index = int_of(value(at.b)), size = static_cast<int64_t>(values.size());
    const int64_t position = index < 0 ? index + size : index;
    WEFT_CHECK_INDEX(position >= 0 && position < size,
                     fmt::format("tuple index out of range: index {} of a tuple of {}", index, size));
    assign(registers_[at.dst], IValue(values[static_cast<size_t>(position)]));
  }
  void tuple_slice(const Instruction& at) {
    const std::vector<IValue>& values = value(at.a).elements();
    const auto size = static_cast<int64_t>(values.size());
    const auto bound = [&](Ref ref) {
      const int64_t index = int_of(value(ref));
      return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
    };
    const int64_t begin = bound(at.b), end = std::max(begin, bound(operand(at, 2)));
    give(at, IValue::tuple({values.begin() + begin, values.begin() + end}));
  }
  void cast(const Instruction& at) {
    const Type& wanted = at.payload && at.payload->type ? *at.payload->type : *at.type;
    WEFT_CHECK_TYPE(value(at.a).is_instance(wanted), fmt::format("expected a value of type {}, got {}",
                                                                 wanted.str(), value(at.a).type()->str()));
    give(at, take(at.a));
  }
  [[noreturn]] void raise(const Instruction& at) {
    const std::string name = at.payload && !at.payload->text.empty() ? at.payload->text : "Exception";
    const std::string message = at.num_operands ? display(value(at.a)) : "";
    throw_error(name == "NotImplementedError" ? ErrorKind::NotImplemented : ErrorKind::Runtime,
                message.empty() ? name : name + ": " + message);
  }
  void fork(const Instruction& at) {
    const std::shared_ptr<Function>& function = at.payload->function;
    auto future = std::make_shared<Future>(at.type->element());
    runtime::interop_launch(
        [function, program = function->impl().unit.lock(), future, arguments = take_all(at)]() mutable {
          const profiling::Span span([&] { return "fork " + function->impl().qualified_name; },
                                     profiling::Kind::Script);
          try {
            future->set_value(run_code(code_to_call(function->impl()), arguments));
          } catch (...) {
            future->set_error(std::current_exception());
          }
        });
    give(at, std::move(future));
  }
  void print(const Instruction& at) {
    std::string line;
    for (size_t i = 0; i < at.num_operands; ++i) line += (i ? " " : "") + display(value(operand(at, i)));
    line += "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
    give(at, IValue());
  }
  void format(const Instruction& at) {
    std::vector<IValue> values;
    for (size_t i = 1; i < at.num_operands; ++i) values.push_back(value(operand(at, i)));
    give(at, format_values(value(at.a).to_string(), values));
  }

  void run_stretch(const Instruction& at) {
    const Stretch& stretch = *static_cast<const StretchPayload*>(at.payload)->stretch;
    if (stretch.is_idle())
      return put(registers_[at.num_results == 1 ? at.dst : code_->results[at.dst]], false);
    constexpr size_t kFew = 32;
    std::array<const IValue*, kFew> few;
    std::vector<const IValue*> many(at.num_operands > kFew ? at.num_operands : 0);
    const std::span inputs(many.empty() ? few.data() : many.data(), at.num_operands);
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = &value(operand(at, i));
    std::vector<IValue> outputs(at.num_results - 1u);
    const bool ran = stretch.run(inputs, outputs);
    put(registers_[outputs.empty() ? at.dst : code_->results[at.dst]], ran);
    for (size_t i = 0; ran && i < outputs.size(); ++i)
      registers_[code_->results[at.dst + 1 + i]] = std::move(outputs[i]);
  }

  FrameStack& stack_;
  const size_t entry_;  // depth of the call that this runs
  const Code* code_;
  Frame* frame_;
  IValue* registers_;
};

// Leaves the calls that an error leaves open as well.
class CallScope {
 public:
  explicit CallScope(const Code& code) : stack_(FrameStack::current()), outside_(stack_.depth()) {
    stack_.enter(code);
  }
  ~CallScope() {
    while (stack_.depth() > outside_) stack_.leave();
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  FrameStack& stack() { return stack_; }

 private:
  FrameStack& stack_;
  const size_t outside_;
};

}  // namespace

IValue run_code(const Code& code, std::span<IValue> arguments) {
  Machine::check_count(code, arguments.size());
  CallScope scope(code);
  for (size_t i = 0; i < arguments.size(); ++i) scope.stack().top().registers[i] = std::move(arguments[i]);
  const profiling::Span span([&] { return code.function_name; }, profiling::Kind::Script);
  // The innermost call gives an error the stack.
  try {
    return Machine(scope.stack()).run();
  } catch (const ScriptError&) {
    throw;
  } catch (const Error& error) {
    throw ScriptError(error.kind(), error.what() + traceback());
  } catch (const std::bad_alloc&) {
    throw ScriptError(ErrorKind::Memory, "out of memory" + traceback());
  }
}

}  // namespace weft::jit
