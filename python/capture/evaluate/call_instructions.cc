// Instructions that call, that look for attributes, and that make functions.
#include <bit>

#include "capture/builtins/weft_tensors.h"
#include "capture/evaluate/evaluator.h"

namespace weft::capture {

// What a CALL calls, and with what; null and a callable, or a method and its object, lie below the arguments.
struct Evaluator::Call {
  V callable;
  CallArgs args;
  int operands;
};

Evaluator::Call Evaluator::call_at(const Instruction& in) {
  const int names_on_stack = in.op == Op::CallKw ? 1 : 0;
  Ref names;
  if (names_on_stack)
    names = constant(top());
  else if (in.arg2 >= 0)
    names = frame().code->constants[static_cast<size_t>(in.arg2)];
  const int count = in.arg + names_on_stack;
  const V a = top(count + 2), b = top(count + 1);
  CallArgs args;
  if (a && b) args.args.push_back(b);
  const int named = names ? static_cast<int>(PyTuple_GET_SIZE(names.get())) : 0;
  for (int i = 0; i < in.arg; ++i) {
    V argument = top(count - i);
    if (i < in.arg - named)
      args.args.push_back(argument);
    else
      args.keywords.emplace_back(utf8(PyTuple_GET_ITEM(names.get(), i - (in.arg - named))), argument);
  }
  return {a ? a : b, std::move(args), count + 2};
}

// With a sequence of arguments, and a mapping of keywords where `arg` says so.
Evaluator::Call Evaluator::call_with_stars_at(const Instruction& in) {
  const int keywords = in.arg & 1;
  const V a = top(keywords + 3), b = top(keywords + 2);
  CallArgs args;
  if (a && b) args.args.push_back(b);
  for (const V& argument : all_for_tuple(top(keywords + 1))) args.args.push_back(argument);
  if (keywords) {
    const V dict = mapping_of(top());
    if (!dict) graph_break("keyword arguments from an unknown mapping");
    for (size_t i = 0; i < dict->keys.size(); ++i)
      args.keywords.emplace_back(to_string(dict->keys[i], "a keyword"), dict->items[i]);
  }
  return {a ? a : b, std::move(args), keywords + 3};
}

bool Evaluator::execute_calls(const Instruction& in) {
  const size_t depth = frames_.size();
  // A frame that was entered yields its value on the caller's stack when it returns: the operands are dropped
  // there now.
  const auto finish = [&](V result, int operands) {
    if (result) {
      drop(operands);
      push(std::move(result));
    } else {
      auto& stack = frames_[depth - 1].stack;
      stack.resize(stack.size() - static_cast<size_t>(operands));
    }
    return true;
  };
  switch (in.op) {
    case Op::Call:
    case Op::CallKw:
    case Op::CallEx: {
      Call one = in.op == Op::CallEx ? call_with_stars_at(in) : call_at(in);
      return finish(call(one.callable, std::move(one.args)), one.operands);
    }
    case Op::LoadAttr: return finish(read_attribute(*this, attribute(top(), name(in))), 1);
    case Op::LoadMethod: {
      V value = attribute(top(), name(in));
      auto& stack = frames_[depth - 1].stack;
      stack.back() = nullptr;  // the slot of a null below the attribute
      if (value) push(value);
      return true;
    }
    case Op::DeleteAttr:
      delete_attribute(realize(top()), name(in));
      drop(1);
      return true;
    case Op::StoreAttr:
      if (enter_store_attribute(top(1), utf8(name(in)), top(2))) {
        auto& stack = frames_[depth - 1].stack;
        stack.resize(stack.size() - 2);
        return true;
      }
      store_attribute(top(1), name(in), top(2));
      drop(2);
      return true;
    case Op::LoadSuperAttr:
    case Op::LoadSuperMethod: {
      if (!realize(top(3))->is(reinterpret_cast<PyObject*>(&PySuper_Type))) graph_break("super()");
      const V value = attribute(super_value(top(2), top(1)), name(in));
      drop(3);
      if (in.op == Op::LoadSuperMethod) push(nullptr);
      push(value);
      return true;
    }
    default: return execute_functions(in);
  }
}

bool Evaluator::execute_functions(const Instruction& in) {
  switch (in.op) {
    case Op::MakeFunction: {
      V function = make_value(Kind::Function);
      function->object = constant(top());
      function->globals = frame().globals;
      function->items.assign(5, nullptr);  // defaults, keyword defaults, annotations, closure, what gives annotations (3.14)
      int at = 2;
      for (int flag : {3, 2, 1, 0})
        if (in.arg & 1 << flag) function->items[static_cast<size_t>(flag)] = top(at++);
      drop(at - 1);
      push(function);
      return true;
    }
    case Op::SetFunctionAttribute: {
      const V function = top(1);
      function->items[static_cast<size_t>(std::countr_zero(static_cast<unsigned>(in.arg)))] = top(2);
      drop(2);
      push(function);
      return true;
    }
    default: return false;
  }
}

}  // namespace weft::capture
