// Python functions that native loops call, which are entered: those of modules and classes, and those that
// the program makes itself, over its local variables.
#include <fmt/format.h>

#include <algorithm>

#include "capture/bytecode/entered.h"
#include "capture/loops/builder.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

constexpr size_t kMaxDepth = 12;  // of calls that are entered

}  // namespace

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
  for (const char* part : {"__code__", "__defaults__"}) {
    PyObject* now = part[2] == 'c' ? function->func_code : function->func_defaults;
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
  for (int i = 0; entered.code->unsupported.empty() && i < entered.code->num_free; ++i)
    cells.push_back(pinned_cell(PyTuple_GET_ITEM(function->func_closure, i)));
  enter(std::move(entered), function->func_defaults, cells, std::move(args), keywords);
}

// A function over the program's local variables.
void LoopBuilder::call_nested(const LoopValue& function, std::vector<LoopValue> args,
                              const Keywords& keywords) {
  LoopFrame entered;
  entered.code = &decode(reinterpret_cast<PyCodeObject*>(function.object));
  entered.globals = frames_.front().globals;
  entered.builtins = frames_.front().builtins;
  enter(std::move(entered), nullptr, function.items, std::move(args), keywords);
}

void LoopBuilder::enter(LoopFrame entered, PyObject* defaults, const std::vector<LoopValue>& cells,
                        std::vector<LoopValue> args, const Keywords& keywords) {
  const Code& code = *entered.code;
  if (!code.unsupported.empty()) throw LoopUnsupported{code.name() + "() is called: " + code.unsupported};
  if (frames_.size() >= kMaxDepth) throw LoopUnsupported{"calls that are nested deeply"};
  if (measuring) note_entered(*frames_.front().code, code);
  const auto given = static_cast<int>(args.size());
  const Py_ssize_t num_defaults = defaults ? PyTuple_GET_SIZE(defaults) : 0;
  if (code.var_args || code.var_keywords || code.keyword_only > 0 || given > code.positional ||
      code.num_locals < code.num_free)
    throw LoopUnsupported{fmt::format("a call of {}() with these arguments", code.name())};
  args.resize(static_cast<size_t>(code.positional));
  for (const auto& [name, value] : keywords) {
    int slot = code.positional - 1;
    while (slot >= code.positional_only &&
           PyUnicode_Compare(code.local_names[static_cast<size_t>(slot)].get(), name) != 0)
      --slot;
    if (slot < std::max(given, code.positional_only) ||
        args[static_cast<size_t>(slot)].kind != LoopKind::Unbound)
      throw LoopUnsupported{fmt::format("a call of {}() with these keywords", code.name())};
    args[static_cast<size_t>(slot)] = value;
  }
  for (int i = given; i < code.positional; ++i) {
    const Py_ssize_t k = num_defaults - code.positional + i;
    LoopValue& arg = args[static_cast<size_t>(i)];
    if (arg.kind != LoopKind::Unbound) continue;
    if (k < 0) throw LoopUnsupported{fmt::format("a call of {}() that lacks arguments", code.name())};
    arg = constant(PyTuple_GET_ITEM(defaults, k));
  }
  entered_.insert(&code);
  entered.locals = std::move(args);
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

void LoopBuilder::call(const Instruction& in) {
  PyObject* names = nullptr;
  if (in.op == Op::CallKw) {
    const LoopValue given = pop();
    if (given.kind != LoopKind::Const) throw LoopUnsupported{"a call with keywords"};
    names = given.object;
  } else if (in.arg2 >= 0) {
    names = frame().code->constants[static_cast<size_t>(in.arg2)].get();
  }
  std::vector<LoopValue> args(static_cast<size_t>(in.arg));
  for (size_t i = args.size(); i-- > 0;) args[i] = pop();
  LoopValue second = pop(), first = pop();
  if (first.kind != LoopKind::Null) {
    if (second.kind != LoopKind::Null) args.insert(args.begin(), second);
    second = first;
  }
  const bool is_of_generator =
      second.kind == LoopKind::Method && generator_kind_of(second.items[0]) != GeneratorKind::None;
  PyObject* const generator = second.kind == LoopKind::Const ? generator_of_method(second.object) : nullptr;
  if (is_of_generator || generator) {
    Keywords keywords;
    for (Py_ssize_t i = names ? PyTuple_GET_SIZE(names) : 0; i-- > 0; args.pop_back())
      keywords.emplace_back(PyTuple_GET_ITEM(names, i), args.back());
    const std::string method = is_of_generator ? utf8(second.object) : plain_name(second.object);
    if (!call_draw(is_of_generator ? second.items[0] : constant(generator), method, std::move(args),
                   keywords))
      unsupported(fmt::format("the draw '{}' of these arguments", method));
    return;
  }
  if (second.kind == LoopKind::Method && second.items[0].kind == LoopKind::Appended) {
    if (names || args.size() != 1) throw LoopUnsupported{"append() of these arguments"};
    append(second.items[0], args[0]);
    return push(loop_const(Py_None));
  }
  if (second.kind == LoopKind::Method && second.items[0].kind == LoopKind::Resized) {
    if (names || !call_list_method(second.items[0], utf8(second.object), args))
      throw LoopUnsupported{fmt::format("the method '{}' of a list", utf8(second.object))};
    return;
  }
  if (second.kind == LoopKind::Method && second.items[0].is_number()) {
    if (names || !call_number_method(second.items[0], utf8(second.object), args))
      throw LoopUnsupported{fmt::format("{}() of these arguments", utf8(second.object))};
    return;
  }
  if (second.kind == LoopKind::Method && second.items[0].is_complex()) {
    if (names || !args.empty()) throw LoopUnsupported{"conjugate() of these arguments"};
    return push(conjugate(second.items[0], second.items[0].kind == LoopKind::NumpyComplex));
  }
  if (second.kind == LoopKind::Method) {
    const std::string name = utf8(second.object);
    args.insert(args.begin(), second.items[0]);
    if (names && is_fold(name) && is_arraylike(args[0])) return push(reduction(name, args, names));
    if (!names && args.size() == 1 && name == "copy" && is_arraylike(args[0]))
      return push(materialized(args[0], true));
    if (names || !call_array(name, args)) throw LoopUnsupported{fmt::format("the method '{}'", name)};
    return;
  }
  const bool is_nested = second.kind == LoopKind::Function;
  if (second.kind != LoopKind::Const && !is_nested) throw LoopUnsupported{"a call of what is not known"};
  PyObject* callable = second.object;
  const bool is_function = is_nested || PyFunction_Check(callable);
  if (names && !args.empty() && is_arraylike(args[0]) && !is_function &&
      callable_name(callable).starts_with("numpy.") && is_fold(plain_name(callable)))
    return push(reduction(plain_name(callable), args, names));
  Keywords keywords;
  for (Py_ssize_t i = names ? PyTuple_GET_SIZE(names) : 0; i-- > 0; args.pop_back())
    keywords.emplace_back(PyTuple_GET_ITEM(names, i), args.back());
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
