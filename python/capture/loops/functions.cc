// Python functions that native loops call, which are entered: those of modules and classes, and those that
// the program makes itself, over its local variables.
#include <fmt/format.h>

#include <algorithm>

#include "capture/bytecode/entered.h"
#include "capture/loops/builder.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

// A cell of a function that is entered: its contents are looked at again before every run.
LoopValue LoopBuilder::pinned_cell(PyObject* cell) {
  PyObject* contents = PyCell_GET(cell);
  if (!contents) throw LoopUnsupported{"an unbound closure variable"};
  LoopValue value;
  value.kind = LoopKind::Cell;
  value.object = cell;
  value.items = {constant(contents)};
  pin(cell, nullptr, nullptr, contents);
  return value;
}

// The function as it is now; its code and defaults are looked at again before every run.
void LoopBuilder::call_function(PyObject* object, std::vector<LoopValue> args, const Keywords& keywords) {
  auto* function = reinterpret_cast<PyFunctionObject*>(object);
  const std::pair<const char*, PyObject*> parts[] = {{"__code__", function->func_code},
                                                     {"__defaults__", function->func_defaults},
                                                     {"__kwdefaults__", function->func_kwdefaults}};
  for (const auto& [part, now] : parts) {
    const Ref name = checked(PyUnicode_InternFromString(part));
    pin(object, nullptr, name.get(), now ? now : Py_None);
  }
  result_.kept.push_back(Ref::borrow(function->func_globals));
  result_.kept.push_back(Ref::borrow(function->func_builtins));
  LoopFrame entered;
  entered.code = &decode(reinterpret_cast<PyCodeObject*>(function->func_code));
  entered.globals = function->func_globals;
  entered.builtins = function->func_builtins;
  std::vector<LoopValue> cells;
  const bool is_known = entered.code->unsupported.empty() || entered.code->is_generator;
  for (int i = 0; is_known && i < entered.code->num_free; ++i)
    cells.push_back(pinned_cell(PyTuple_GET_ITEM(function->func_closure, i)));
  const Defaults defaults{function->func_defaults, function->func_kwdefaults};
  if (entered.code->is_generator) return push(made_generator(object, cells, std::move(args), keywords));
  enter(std::move(entered), defaults, cells, std::move(args), keywords);
}

// A function over the program's local variables.
void LoopBuilder::call_nested(const LoopValue& function, std::vector<LoopValue> args,
                              const Keywords& keywords) {
  LoopFrame entered;
  entered.code = &decode(reinterpret_cast<PyCodeObject*>(function.object));
  entered.globals = frames_.front().globals;
  entered.builtins = frames_.front().builtins;
  enter(std::move(entered), {}, function.items, std::move(args), keywords);
}

// The locals of a call, as CPython binds its arguments.
std::vector<LoopValue> LoopBuilder::bound_arguments(const Code& code, const Defaults& defaults,
                                                    std::vector<LoopValue> args, const Keywords& keywords) {
  const auto refuse = [&](const char* what) {
    throw LoopUnsupported{fmt::format("a call of {}() with these {}", code.name(), what)};
  };
  const int named = code.positional + code.keyword_only;
  const auto given = static_cast<int>(args.size());
  if (code.var_keywords || code.num_locals < code.num_free || (given > code.positional && !code.var_args))
    refuse("arguments");
  std::vector<LoopValue> rest;
  if (given > code.positional) rest.assign(args.begin() + code.positional, args.end());
  args.resize(static_cast<size_t>(named));
  for (int i = std::min(given, code.positional); i < named; ++i) args[static_cast<size_t>(i)] = LoopValue();
  for (const auto& [name, value] : keywords) {
    int slot = named - 1;
    while (slot >= code.positional_only &&
           PyUnicode_Compare(code.local_names[static_cast<size_t>(slot)].get(), name) != 0)
      --slot;
    if (slot < std::max(std::min(given, code.positional), code.positional_only) ||
        args[static_cast<size_t>(slot)].kind != LoopKind::Unbound)
      refuse("keywords");
    args[static_cast<size_t>(slot)] = value;
  }
  const Py_ssize_t num_defaults = defaults.positional ? PyTuple_GET_SIZE(defaults.positional) : 0;
  for (int i = 0; i < named; ++i) {
    LoopValue& arg = args[static_cast<size_t>(i)];
    if (arg.kind != LoopKind::Unbound) continue;
    PyObject* given_by_default = nullptr;
    const Py_ssize_t k = num_defaults - code.positional + i;
    if (i >= code.positional && defaults.keyword_only) {
      PyObject* const name = code.local_names[static_cast<size_t>(i)].get();
      given_by_default = PyDict_GetItemWithError(defaults.keyword_only, name);
      if (given_by_default) pin(defaults.keyword_only, nullptr, name, given_by_default);
    } else if (i < code.positional && k >= 0) {
      given_by_default = PyTuple_GET_ITEM(defaults.positional, k);
    }
    if (!given_by_default)
      throw LoopUnsupported{fmt::format("a call of {}() that lacks arguments", code.name())};
    arg = constant(given_by_default);
  }
  if (code.var_args) args.push_back(loop_tuple(std::move(rest)));
  return args;
}

void LoopBuilder::enter(LoopFrame entered, const Defaults& defaults, const std::vector<LoopValue>& cells,
                        std::vector<LoopValue> args, const Keywords& keywords) {
  const Code& code = *entered.code;
  if (!code.unsupported.empty()) throw LoopUnsupported{code.name() + "() is called: " + code.unsupported};
  if (frames_.size() >= kMaxCallDepth) throw LoopUnsupported{"calls that are nested deeply"};
  const bool takes_generator = std::any_of(args.begin(), args.end(), [](const LoopValue& arg) {
    return arg.kind == LoopKind::Generator || arg.kind == LoopKind::Dict;
  });
  if (takes_generator && !is_polyfill(entered)) throw LoopUnsupported{"a generator or dict as an argument"};
  if (measuring) note_entered(*frames_.front().code, code);
  entered.locals = bound_arguments(code, defaults, std::move(args), keywords);
  entered_.insert(&code);
  entered.locals.resize(static_cast<size_t>(code.num_locals - code.num_free));
  entered.locals.insert(entered.locals.end(), cells.begin(), cells.end());
  frames_.push_back(std::move(entered));
  emit(loopir::go(jump_to(frames_)));
  block_done_ = true;
}

// Sets what the cell holds, in all places that hold the cell.
void LoopBuilder::store_in_cell(const LoopValue& cell, const LoopValue& value) {
  if (cell.kind != LoopKind::Cell || cell.index < 0)
    throw LoopUnsupported{"assignment to a closure variable"};
  if (!value.is_number() && !value.is_complex() && !is_array(value) && value.kind != LoopKind::Resized)
    throw LoopUnsupported{"assignment of what is no number, array or list to a closure variable"};
  const int index = cell.index;
  const std::function<void(LoopValue&)> visit = [&](LoopValue& part) {
    if (part.kind == LoopKind::Cell && part.index == index)
      part.items = {value};
    else
      for (LoopValue& item : part.items) visit(item);
  };
  for (LoopFrame& held : frames_) {
    for (LoopValue& local : held.locals) visit(local);
    for (LoopValue& item : held.stack) visit(item);
  }
  result_.stored_cells.insert(index);
}

LoopBuilder::Keywords LoopBuilder::Operands::take_keywords() {
  Keywords keywords;
  for (Py_ssize_t i = names ? PyTuple_GET_SIZE(names) : 0; i-- > 0; args.pop_back())
    keywords.emplace_back(PyTuple_GET_ITEM(names, i), args.back());
  return keywords;
}

LoopBuilder::Operands LoopBuilder::operands_of_call(const Instruction& in) {
  Operands operands;
  if (in.op == Op::CallKw) {
    const LoopValue given = pop();
    if (given.kind != LoopKind::Const) throw LoopUnsupported{"a call with keywords"};
    operands.names = given.object;
  } else if (in.arg2 >= 0) {
    operands.names = frame().code->constants[static_cast<size_t>(in.arg2)].get();
  }
  operands.args.resize(static_cast<size_t>(in.arg));
  for (size_t i = operands.args.size(); i-- > 0;) operands.args[i] = pop();
  operands.callable = pop();
  const LoopValue first = pop();
  if (first.kind != LoopKind::Null) {
    if (operands.callable.kind != LoopKind::Null)
      operands.args.insert(operands.args.begin(), operands.callable);
    operands.callable = first;
  }
  return operands;
}

// Of a method of a generator, a list, a number or an array.
void LoopBuilder::call_method(const LoopValue& method, std::vector<LoopValue>& args, PyObject* names) {
  const LoopValue& owner = method.items[0];
  const std::string name = utf8(method.object);
  if (owner.kind == LoopKind::Appended) {
    if (names || args.size() != 1) throw LoopUnsupported{"append() of these arguments"};
    note_effect();
    append(owner, args[0]);
    push(loop_const(Py_None));
  } else if (owner.kind == LoopKind::Resized) {
    note_effect();
    if (names || !call_list_method(owner, name, args))
      throw LoopUnsupported{fmt::format("the method '{}' of a list", name)};
  } else if (owner.kind == LoopKind::Dict) {
    if (names || name != "get" || args.size() != 2)
      throw LoopUnsupported{fmt::format("the method '{}' of a dict", name)};
    push(item_of_dict(owner, args[0], &args[1]));
  } else if (owner.is_number()) {
    if (names || !call_number_method(owner, name, args))
      throw LoopUnsupported{fmt::format("{}() of these arguments", name)};
  } else if (owner.is_complex()) {
    if (names || !args.empty()) throw LoopUnsupported{"conjugate() of these arguments"};
    push(conjugate(owner, owner.kind == LoopKind::NumpyComplex));
  } else {
    args.insert(args.begin(), owner);
    if (names && is_fold(name) && is_arraylike(args[0]))
      push(reduction(name, args, names));
    else if (!names && args.size() == 1 && name == "copy" && is_arraylike(args[0]))
      push(materialized(args[0], true));
    else if (names || !call_array(name, args))
      throw LoopUnsupported{fmt::format("the method '{}'", name)};
  }
}

// Where native code knows no way to compute it, a polyfill may.
void LoopBuilder::call(const Instruction& in) {
  const size_t code_size = block_code_.size(), num_edges = block_edges_.size();
  try {
    call_known(in);
  } catch (const LoopUnsupported& unsupported) {
    block_code_.resize(code_size);
    block_edges_.resize(num_edges);
    if (!enter_polyfill(in, unsupported.reason)) throw;
  }
}

void LoopBuilder::call_known(const Instruction& in) {
  Operands operands = operands_of_call(in);
  std::vector<LoopValue>& args = operands.args;
  PyObject* names = operands.names;
  const LoopValue& second = operands.callable;
  const bool is_of_generator =
      second.kind == LoopKind::Method && generator_kind_of(second.items[0]) != GeneratorKind::None;
  PyObject* const generator = second.kind == LoopKind::Const ? generator_of_method(second.object) : nullptr;
  if (is_of_generator || generator) {
    note_effect();
    const Keywords keywords = operands.take_keywords();
    const std::string method = is_of_generator ? utf8(second.object) : plain_name(second.object);
    if (!call_draw(is_of_generator ? second.items[0] : constant(generator), method, std::move(args),
                   keywords))
      unsupported(fmt::format("the draw '{}' of these arguments", method));
    return;
  }
  if (second.kind == LoopKind::Method) return call_method(second, args, names);
  if (second.kind == LoopKind::Closure) {
    const Keywords keywords = operands.take_keywords();
    return call_closure(second, std::move(args), keywords);
  }
  const bool is_nested = second.kind == LoopKind::Function;
  if (second.kind != LoopKind::Const && !is_nested) throw LoopUnsupported{"a call of what is not known"};
  PyObject* callable = second.object;
  const bool is_function = is_nested || PyFunction_Check(callable);
  if (names && !args.empty() && is_arraylike(args[0]) && !is_function &&
      callable_name(callable).starts_with("numpy.") && is_fold(plain_name(callable)))
    return push(reduction(plain_name(callable), args, names));
  Keywords keywords = operands.take_keywords();
  if (is_function) {
    for (LoopValue& arg : args) arg = materialized(arg);
    for (auto& [name, value] : keywords) value = materialized(value);
    parts_.insert(parts_.end(), args.begin(), args.end());
    materialize_all();
    if (is_nested) return call_nested(second, std::move(args), keywords);
    return call_function(callable, std::move(args), keywords);
  }
  if (keywords.size() == 1 && args.size() == 1 && callable == reinterpret_cast<PyObject*>(&PyEnum_Type) &&
      utf8(keywords[0].first) == "start") {
    args.push_back(keywords[0].second);
    names = nullptr;
  }
  if (keywords.size() == 1 && args.size() == 1 && utf8(keywords[0].first) == "dtype" &&
      makes_array(callable_name(callable))) {
    args.push_back(keywords[0].second);
    names = nullptr;
  }
  const std::string called = callable_name(callable);
  if (keywords.size() == 1 && args.size() == 1 && utf8(keywords[0].first) == "axis" &&
      (called == "numpy.flip" || called == "numpy.concatenate")) {
    args.push_back(keywords[0].second);
    names = nullptr;
  }
  if (keywords.size() == 1 && args.size() == 1 && utf8(keywords[0].first) == "decimals" &&
      (called == "numpy.round" || called == "numpy.around")) {
    args.push_back(keywords[0].second);
    names = nullptr;
  }
  if (keywords.size() == 1 && args.size() == 2 && utf8(keywords[0].first) == "side" &&
      called == "numpy.searchsorted") {
    args.push_back(keywords[0].second);
    names = nullptr;
  }
  if (names) throw LoopUnsupported{fmt::format("a call of {} with keywords", callable_name(callable))};
  if (!call_builtin(callable, args))
    throw LoopUnsupported{fmt::format("a call of {}", callable_name(callable))};
}

}  // namespace weft::capture
