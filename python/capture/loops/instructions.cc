// Instructions of native loops: the stack, names, jumps and iteration.
#include <fmt/format.h>
#include <opcode.h>

#include <algorithm>

#include "capture/loops/builder.h"
#include "capture/objects/numpy_api.h"
#include "capture/objects/ufuncs.h"

namespace weft::capture {

namespace {

LoopValue slice(std::vector<LoopValue> bounds) {
  for (const LoopValue& bound : bounds) {
    const bool is_none = bound.kind == LoopKind::Const && bound.object == Py_None;
    if (!is_none && bound.kind != LoopKind::Int &&
        !(bound.kind == LoopKind::Numpy && is_integral(bound.dtype)))
      unsupported("a slice between what are not ints");
  }
  LoopValue value;
  value.kind = LoopKind::Slice;
  value.items = std::move(bounds);
  return value;
}

bool is_whole(const LoopValue& slice) {
  return slice.kind == LoopKind::Slice &&
         std::all_of(slice.items.begin(), slice.items.end(), [](const LoopValue& bound) {
           return bound.kind == LoopKind::Const && bound.object == Py_None;
         });
}

}  // namespace

// An object that stays what it is while the code is used.
LoopValue LoopBuilder::constant(PyObject* object) {
  if (PyBool_Check(object)) return loop_bool(object == Py_True ? "true" : "false");
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow) unsupported("an int of more than 64 bits");
    return loop_known_int(number);
  }
  if (PyFloat_CheckExact(object)) return loop_known_float(PyFloat_AS_DOUBLE(object));
  if (PyComplex_CheckExact(object))
    return loop_complex(false, float_literal(PyComplex_RealAsDouble(object)),
                        float_literal(PyComplex_ImagAsDouble(object)));
  // The names of keywords are taken as they are.
  if (PyTuple_CheckExact(object) && PyTuple_GET_SIZE(object) > 0 &&
      !PyUnicode_Check(PyTuple_GET_ITEM(object, 0))) {
    std::vector<LoopValue> items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      items.push_back(constant(PyTuple_GET_ITEM(object, i)));
    return loop_tuple(std::move(items));
  }
  if (PyArray_CheckExact(object) || PyList_Check(object) || PyDict_Check(object))
    unsupported("a global array, list or dict");
  result_.kept.push_back(Ref::borrow(object));
  return loop_const(object);
}

LoopValue LoopBuilder::named(PyObject* dict, PyObject* builtins, PyObject* name) {
  PyObject* object = PyDict_GetItemWithError(dict, name);
  if (!object && builtins) object = PyDict_GetItemWithError(builtins, name);
  if (!object) unsupported(fmt::format("the name '{}' is not defined", utf8(name)));
  LoopValue value = constant(object);
  pin(dict, builtins, name, object);
  return value;
}

void LoopBuilder::pin(PyObject* dict, PyObject* builtins, PyObject* name, PyObject* object) {
  const bool is_known = std::any_of(result_.names.begin(), result_.names.end(), [&](const LoopName& other) {
    return other.dict.get() == dict && other.name.get() == name;
  });
  if (is_known) return;
  result_.names.push_back({Ref::borrow(dict), Ref::borrow(builtins), Ref::borrow(name), object});
  result_.kept.push_back(Ref::borrow(object));
}

LoopValue LoopBuilder::attribute(const LoopValue& owner, PyObject* name) {
  if (owner.kind == LoopKind::Const && PyModule_Check(owner.object))
    return named(PyModule_GetDict(owner.object), nullptr, name);
  if (const LoopValue* held = object_attribute(owner, name)) return *held;
  if (owner.is_complex()) return complex_attribute(owner, utf8(name));
  if (const auto part = number_attribute(owner, utf8(name))) return *part;
  if (!is_arraylike(owner)) unsupported(fmt::format("the attribute '{}'", utf8(name)));
  if (owner.kind == LoopKind::Pending) return attribute(materialized(owner), name);
  std::vector<LoopValue> sizes;
  for (int d = 0; d < num_dims(owner); ++d) {
    sizes.push_back(loop_int(size_text(owner, d), true));
    if (is_fixed(sizes.back().expr)) sizes.back().affine = affine_atom(sizes.back().expr);
  }
  const std::string text = utf8(name);
  if (text == "shape") return loop_tuple(std::move(sizes));
  if (text == "ndim") return loop_known_int(static_cast<int64_t>(sizes.size()));
  if (text == "size") {
    std::string product;
    for (const LoopValue& size : sizes) product += (product.empty() ? "" : " * ") + size.expr;
    return loop_int(temporary("i64", product), true);
  }
  if (text == "T") return transposed(owner);
  unsupported(fmt::format("the attribute '{}'", text));
}

LoopValue LoopBuilder::binary_of_any(int op, const LoopValue& a, const LoopValue& b) {
  if (a.kind == LoopKind::ScalarArray || b.kind == LoopKind::ScalarArray) {
    const bool is_in_place = op >= NB_INPLACE_ADD && a.kind == LoopKind::ScalarArray;
    if (is_in_place || operator_of(op) == NB_POWER)
      unsupported("a power or an update of an array of one number");
    return binary_of_any(op, scalar_of(a), scalar_of(b));
  }
  if (op >= NB_INPLACE_ADD && (is_arraylike(a) || a.kind == LoopKind::Resized)) note_effect();
  if (op == NB_INPLACE_ADD && a.kind == LoopKind::Resized && (is_list(b) || b.kind == LoopKind::Tuple)) {
    add_items(a, b);
    return a;
  }
  if (op == NB_MULTIPLY && a.kind == LoopKind::List && b.kind == LoopKind::Int) return repeated_list(a, b);
  if (op == NB_ADD && is_list(a) && is_list(b)) return joined_lists({a, b});
  if (op >= NB_INPLACE_ADD && (is_array(a) || a.kind == LoopKind::Pending)) return in_place(op, a, b);
  return is_arraylike(a) || is_arraylike(b) ? array_binary(op, a, b) : binary(op, a, b);
}

bool LoopBuilder::execute_operators(const Instruction& in) {
  switch (in.op) {
    case Op::Nop: return true;
    case Op::PopTop: pop(); return true;
    case Op::PushNull: {
      LoopValue null;
      null.kind = LoopKind::Null;
      push(null);
      return true;
    }
    case Op::Copy:
      top(in.arg) = as_object(materialized(top(in.arg)));
      push(LoopValue(top(in.arg)));
      return true;
    case Op::Swap: std::swap(top(1), top(in.arg)); return true;
    case Op::Negative:
    case Op::Positive:
    case Op::Invert:
    case Op::Not: push(unary(in.op, scalar_of(pop()))); return true;
    case Op::ToBool: push(loop_bool(temporary("bool", truth(pop())))); return true;
    case Op::Binary: {
      const LoopValue b = pop(), a = pop();
      push(binary_of_any(in.arg, a, b));
      return true;
    }
    case Op::Compare: {
      const LoopValue b = scalar_of(pop()), a = scalar_of(pop());
      if (is_arraylike(a) || is_arraylike(b)) {
        if (in.arg2) unsupported("the truth of an array");
        push(array_compare(in.arg, a, b));
        return true;
      }
      LoopValue result = compare(in.arg, a, b);
      push(in.arg2 ? loop_bool(result.expr) : result);
      return true;
    }
    case Op::Is: {
      const LoopValue b = pop(), a = pop();
      const bool none_b = b.kind == LoopKind::Const && b.object == Py_None;
      const bool none_a = a.kind == LoopKind::Const && a.object == Py_None;
      const bool are_known = a.kind == LoopKind::Const && b.kind == LoopKind::Const;
      if (are_known) return push(loop_bool((a.object == b.object) != (in.arg != 0) ? "true" : "false")), true;
      const auto is_class = [](const LoopValue& value) {
        return value.kind == LoopKind::Const && PyType_Check(value.object);
      };
      const auto is_no_class = [](const LoopValue& value) {
        return value.is_number() || value.is_complex() || is_arraylike(value) ||
               value.kind == LoopKind::Tuple;
      };
      const bool is_apart = (is_no_class(a) && is_class(b)) || (is_no_class(b) && is_class(a));
      if (!none_a && !none_b && !is_apart) unsupported("a test of identity");
      push(loop_bool((none_a && none_b) != (in.arg != 0) ? "true" : "false"));
      return true;
    }
    default: return false;
  }
}

bool LoopBuilder::execute_items(const Instruction& in) {
  switch (in.op) {
    case Op::Subscript: {
      const LoopValue key = pop(), container = pop();
      if (is_list(container) && is_whole(key))
        push(joined_lists({container}));
      else if (container.kind == LoopKind::Resized)
        push_item(container, key, false);
      else
        push(subscript(container, key));
      return true;
    }
    case Op::DeleteSubscript: {
      note_effect();
      const LoopValue key = pop(), container = pop();
      if (container.kind != LoopKind::Resized) unsupported("deletion of an item of what is not a list");
      delete_item(container, key);
      return true;
    }
    case Op::Contains: {
      const LoopValue container = pop(), value = pop();
      const LoopValue found = contains_item(container, value);
      push(in.arg ? loop_bool("!" + found.expr) : found);
      return true;
    }
    case Op::StoreSubscript: {
      note_effect();
      const LoopValue key = pop(), container = pop(), value = pop();
      store_subscript(container, key, value);
      return true;
    }
    case Op::BinarySlice:
    case Op::StoreSlice: {
      LoopValue key = slice({top(2), top(1), loop_const(Py_None)});
      pop(), pop();
      if (in.op == Op::StoreSlice) note_effect();
      const LoopValue container = pop();
      if (in.op == Op::BinarySlice && is_list(container) && is_whole(key))
        push(joined_lists({container}));
      else if (in.op == Op::BinarySlice)
        push(subscript(container, key));
      else
        store_subscript(container, key, pop());
      return true;
    }
    default: return false;
  }
}

bool LoopBuilder::execute_building(const Instruction& in) {
  switch (in.op) {
    case Op::BuildSlice: {
      LoopValue step = in.arg == 3 ? pop() : loop_const(Py_None), stop = pop(), start = pop();
      push(slice({start, stop, step}));
      return true;
    }
    case Op::BuildList:
    case Op::BuildTuple: {
      std::vector<LoopValue> items(frame().stack.end() - in.arg, frame().stack.end());
      frame().stack.resize(frame().stack.size() - static_cast<size_t>(in.arg));
      // Of three constants and more the compiler makes a list of none, which it extends.
      const auto& code = frame().code->instructions;
      const auto next = static_cast<size_t>(frame().ip);
      const bool is_extended = in.op == Op::BuildList && items.empty() && code[next].op == Op::LoadConst &&
                               code[next + 1].op == Op::ListExtend;
      if (in.op == Op::BuildList && items.empty() && !is_extended) return push(made_list({})), true;
      push(loop_tuple(std::move(items)));
      if (in.op == Op::BuildList) top().kind = LoopKind::List;
      return true;
    }
    case Op::MakeFunction: {
      constexpr int kClosure = 8;
      if ((in.arg & ~kClosure) != 0) unsupported("a function with defaults or annotations");
      const LoopValue code = pop();
      push(made_function(code, in.arg == kClosure ? pop() : LoopValue()));
      return true;
    }
    case Op::SetFunctionAttribute: {
      constexpr int kClosure = 8;
      if (in.arg != kClosure) unsupported("a function with defaults or annotations");
      LoopValue function = pop();
      function.items = pop().items;
      push(std::move(function));
      return true;
    }
    case Op::BuildMap:
    case Op::BuildConstKeyMap: push(written_dict(in)); return true;
    case Op::ListAppend: {
      const LoopValue value = pop(), list = top(in.arg);
      if (list.kind == LoopKind::Resized) return append_items(list, {value}), true;
      if (list.kind != LoopKind::Appended) unsupported("a list");
      append(list, value);
      return true;
    }
    case Op::ListExtend: {
      const LoopValue more = pop();
      LoopValue& list = top(in.arg);
      if (list.kind != LoopKind::List || more.kind != LoopKind::Tuple) unsupported("a list");
      list.items.insert(list.items.end(), more.items.begin(), more.items.end());
      return true;
    }
    case Op::UnpackSequence: {
      const LoopValue value = pop();
      if (is_array(value)) {
        require(fmt::format("{} == {}", size_text(value, 0), in.arg));
        for (int64_t i = in.arg; i-- > 0;) push(subscript(value, loop_known_int(i)));
        return true;
      }
      if (value.kind != LoopKind::Tuple || static_cast<int>(value.items.size()) != in.arg)
        unsupported("unpacking of what is not a tuple of that length");
      for (size_t i = value.items.size(); i-- > 0;) push(value.items[i]);
      return true;
    }
    default: return false;
  }
}

bool LoopBuilder::execute_data(const Instruction& in) {
  return execute_operators(in) || execute_items(in) || execute_building(in);
}

bool LoopBuilder::execute_names(const Instruction& in) {
  const auto slot = static_cast<size_t>(in.arg);
  switch (in.op) {
    case Op::LoadConst: push(constant(frame().code->constants[slot].get())); return true;
    case Op::LoadFast:
      if (frame().locals[slot].kind == LoopKind::Unbound) unsupported("an unbound local variable");
      push(LoopValue(frame().locals[slot]));
      top().pinned = false;
      if (top().kind == LoopKind::RangeIter || top().kind == LoopKind::Rest ||
          top().kind == LoopKind::Generator) {
        // An iterator is in one place only.
        if (frame().code->is_live(frame().ip, in.arg)) unsupported("an iterator with a name");
        frame().locals[slot] = LoopValue();
      }
      return true;
    case Op::LoadFastAndClear: {
      LoopValue value = std::exchange(frame().locals[slot], LoopValue());
      if (value.kind == LoopKind::Unbound) value.kind = LoopKind::Null;
      push(std::move(value));
      return true;
    }
    case Op::StoreFast: {
      LoopValue value = as_object(pop());
      if (value.kind == LoopKind::Null) {  // what LoadFastAndClear has kept of no value
        frame().locals[slot] = LoopValue();
        return true;
      }
      note_in_variable(value);
      frame().locals[slot] = value.kind == LoopKind::Pending ? materialized(value) : std::move(value);
      return true;
    }
    case Op::LoadDeref:
      if (frame().locals[slot].kind != LoopKind::Cell) unsupported("an unbound closure variable");
      push(LoopValue(frame().locals[slot].items[0]));
      if (top().kind == LoopKind::Unbound) unsupported("an unbound closure variable");
      return true;
    case Op::StoreDeref: {
      note_effect();
      const LoopValue value = as_object(materialized(pop()));
      store_in_cell(frame().locals[slot], value);
      return true;
    }
    case Op::LoadGlobal:
      push(named(frame().globals, frame().builtins, frame().code->names[slot].get()));
      return true;
    case Op::LoadAttr: {
      const LoopValue owner = pop();
      PyObject* name = frame().code->names[slot].get();
      if (!load_property(owner, name)) push(attribute(owner, name));
      return true;
    }
    case Op::StoreAttr: {
      const LoopValue owner = pop(), value = as_object(pop());
      note_effect();
      if (value.kind == LoopKind::Method) unsupported("a method in an attribute");
      store_attribute(owner, frame().code->names[slot].get(), materialized(value));
      return true;
    }
    case Op::LoadMethod: {
      const LoopValue owner = pop();
      const bool is_generator = generator_kind_of(owner) != GeneratorKind::None;
      PyObject* const function =
          is_generator ? nullptr : in_class(owner, frame().code->names[slot].get(), PyFunction_Type);
      if (function) {
        push(loop_const(function));
        push(owner);
        return true;
      }
      LoopValue null;
      null.kind = LoopKind::Null;
      push(null);
      const bool appends =
          owner.kind == LoopKind::Appended && utf8(frame().code->names[slot].get()) == "append";
      const bool conjugates = owner.is_complex() && utf8(frame().code->names[slot].get()) == "conjugate";
      const bool is_outer = owner.kind == LoopKind::Const && is_ufunc(owner.object) &&
                            utf8(frame().code->names[slot].get()) == "outer";
      const bool is_of_number = has_number_method(owner, utf8(frame().code->names[slot].get()));
      if (is_arraylike(owner) || is_of_number || appends || conjugates || is_outer ||
          owner.kind == LoopKind::Resized || owner.kind == LoopKind::Dict || is_generator) {
        LoopValue method;
        method.kind = LoopKind::Method;
        method.object = frame().code->names[slot].get();
        method.items = {materialized(owner)};
        push(std::move(method));
        return true;
      }
      push(attribute(owner, frame().code->names[slot].get()));
      return true;
    }
    default: return false;
  }
}

void LoopBuilder::execute_return() {
  if (frame().role == LoopFrame::Role::Generator) return end_generator();
  if (frames_.size() == 1 && !result_.is_whole) {
    frame().ip -= 1;
    emit(loopir::go(exit_to(LoopExit::Kind::Leave, frames_)));
    block_done_ = true;
    return;
  }
  if (top().kind == LoopKind::Method) unsupported("a method that is returned");
  if (frame().role == LoopFrame::Role::StandIn) return leave_stand_in();
  top() = as_object(top());
  if (frames_.size() == 1) {
    note_in_variable(top());
    frame().stack = {materialized(top())};
    for (LoopValue& local : frame().locals) local = LoopValue();
    emit(loopir::go(exit_to(LoopExit::Kind::Return, frames_)));
    block_done_ = true;
    return;
  }
  materialize_all();
  LoopValue value = pop();
  frames_.pop_back();
  push(std::move(value));
  emit(loopir::go(jump_to(frames_)));
  block_done_ = true;
}

void LoopBuilder::branch_on(const LoopValue& value, bool jump_if, int target, bool keeps_value) {
  const std::string condition = truth(value);
  materialize_all();
  std::vector<LoopFrame> taken = frames_;
  taken.back().ip = target;
  if (keeps_value) taken.back().stack.push_back(value);
  const bool back = target < frame().ip;
  if (back) poll(target);
  if (condition == "true" || condition == "false") {
    emit(loopir::go(jump_to((condition == "true") == jump_if ? taken : frames_)));
    block_done_ = true;
    return;
  }
  branch(jump_if ? condition : "!" + condition, std::move(taken), frames_);
}

void LoopBuilder::iterate(const Instruction& in) {
  LoopValue& it = top();
  if (it.kind == LoopKind::Rest) return iterate_rest(in);
  if (it.kind == LoopKind::Generator) return resume();
  if (it.kind != LoopKind::RangeIter) unsupported("iteration over what is not a range");
  if (is_unrolled(it)) return iterate_unrolled(in);
  materialize_all();
  if (const LoopValue* list = resized_under(it)) return iterate_resized(in, *list);
  const LoopValue current = it.items[0], stop = it.items[1], step = it.items[2];
  const bool is_checked = checked_ && block_id_ == checked_->head;
  const char* const before = !step.known || *step.known > 0 ? "<" : ">";
  const std::string either_way = step.known || is_checked ? "" : step.expr;
  std::vector<LoopFrame> after = frames_;
  after.back().stack.pop_back();
  after.back().ip = in.arg;
  // Signals are looked for between pieces of the range.
  const bool polls = is_checked && checked_->polls;
  loopir::Exit interrupted;
  if (polls) interrupted = exit_to(LoopExit::Kind::Interrupted, before_);
  loopir::Instruction test = loopir::test(current.expr, before, stop.expr, jump_to(after), either_way);
  if (polls) loopir::poll_between_pieces(test, block_id_, std::move(interrupted));
  emit(std::move(test));
  LoopValue next = loop_int(operation("i64", current.expr, "+", step.expr),
                            current.nonnegative && (step.known ? *step.known > 0 : is_checked));
  next.affine = affine_sum(current.affine, step.affine, false);
  it.items[0] = next;
  if (it.items.size() == 3) return push(current);
  const LoopValue gives = it.items[3];
  push(given(gives, current));
}

bool LoopBuilder::execute_control(const Instruction& in) {
  const int at = frame().ip - 1;
  switch (in.op) {
    case Op::Jump:
    case Op::JumpBack:
      materialize_all();
      if (in.arg <= at) poll(in.arg);
      frame().ip = in.arg;
      emit(loopir::go(jump_to(frames_)));
      block_done_ = true;
      return true;
    case Op::PopJumpIfTrue:
    case Op::PopJumpIfFalse: branch_on(pop(), in.op == Op::PopJumpIfTrue, in.arg, false); return true;
    case Op::PopJumpIfNone:
    case Op::PopJumpIfNotNone: {
      materialize_all();
      const LoopValue value = pop();
      const bool is_none = value.kind == LoopKind::Const && value.object == Py_None;
      if (is_none == (in.op == Op::PopJumpIfNone)) frame().ip = in.arg;
      emit(loopir::go(jump_to(frames_)));
      block_done_ = true;
      return true;
    }
    case Op::JumpIfTrueOrPop:
    case Op::JumpIfFalseOrPop: branch_on(pop(), in.op == Op::JumpIfTrueOrPop, in.arg, true); return true;
    case Op::GetIter: {
      LoopValue it = iterator(pop());
      // The counter varies, also if the loop begins at a constant.
      if (is_to_be_unrolled(it))
        it.items[0].pinned = it.items[1].pinned = true;
      else if (it.kind == LoopKind::RangeIter && it.items[0].known) {
        const LoopAffineRef affine = it.items[0].affine;
        it.items[0] = loop_int(it.items[0].expr, it.items[0].nonnegative);
        it.items[0].affine = affine;
      }
      push(std::move(it));
      return true;
    }
    case Op::ForIter: iterate(in); return true;
    default: return false;
  }
}

void LoopBuilder::execute(const Instruction& in) {
  if (in.op == Op::Return) return execute_return();
  if (in.op == Op::Call || in.op == Op::CallKw) return call(in);
  if (in.op == Op::Yield) return yield_value();
  if (execute_data(in) || execute_names(in) || execute_control(in)) return;
  unsupported(fmt::format("instruction {}", op_name(in.op)));
}

}  // namespace weft::capture
