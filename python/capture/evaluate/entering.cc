// Functions that are entered: their arguments are bound, and their frames made.
#include "capture/evaluate/entering.h"

#include <fmt/format.h>

#include "capture/builtins/weft_tensors.h"
#include "capture/bytecode/entered.h"
#include "capture/objects/classes.h"
#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

static constexpr size_t kMaxDepth = 100;

void Evaluator::bind(AbstractFrame& frame, const std::vector<V>& defaults,
                     const std::vector<std::pair<std::string, V>>& kwdefaults, CallArgs args) {
  const Code& code = *frame.code;
  frame.locals.resize(static_cast<size_t>(code.num_locals));
  const auto positional = static_cast<size_t>(code.positional);
  const size_t num_named = positional + static_cast<size_t>(code.keyword_only);
  for (size_t i = 0; i < std::min(args.args.size(), positional); ++i) frame.locals[i] = args.args[i];
  if (code.var_args) {
    std::vector<V> rest;
    if (args.args.size() > positional)
      rest.assign(args.args.begin() + static_cast<std::ptrdiff_t>(positional), args.args.end());
    frame.locals[num_named] = tuple_value(std::move(rest));
  } else if (args.args.size() > positional) {
    graph_break(fmt::format("{}() is called with too many arguments", code.name()));
  }
  V keywords;
  if (code.var_keywords)
    frame.locals[num_named + (code.var_args ? 1 : 0)] = keywords = make_value(Kind::Dict);
  for (const auto& [name, value] : args.keywords) {
    size_t slot = static_cast<size_t>(code.positional_only);
    while (slot < num_named && utf8(code.local_names[slot].get()) != name) ++slot;
    if (slot < num_named) {
      if (frame.locals[slot]) graph_break("an argument is given twice");
      frame.locals[slot] = value;
    } else if (keywords) {
      keywords->keys.push_back(str_value(name));
      keywords->items.push_back(value);
    } else {
      graph_break(fmt::format("{}() has no parameter '{}'", code.name(), name));
    }
  }
  for (size_t i = 0; i < num_named; ++i) {
    if (frame.locals[i]) continue;
    if (i < positional && i + defaults.size() >= positional) {
      frame.locals[i] = defaults[i + defaults.size() - positional];
      continue;
    }
    if (i >= positional)
      for (const auto& [name, value] : kwdefaults)
        if (name == utf8(code.local_names[i].get())) frame.locals[i] = value;
    if (!frame.locals[i]) graph_break(fmt::format("{}() is called without an argument", code.name()));
  }
}

// What weft has left in a function's dict for the evaluator, or null.
static PyObject* mark_of(PyObject* function, PyObject* name) {
  PyObject* const attributes = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  return attributes ? PyDict_GetItemWithError(attributes, name) : nullptr;
}

V answer_when_captured(Evaluator& ev, PyObject* function, const CallArgs& args) {
  static constinit InternedName name("_when_captured");
  PyObject* const answer = mark_of(function, name);
  if (!answer) return nullptr;
  return answer == function ? pinned_number(ev, args) : const_value(Ref::borrow(answer));
}

// What captured code enters in its place: a function in its dict.
static PyObject* entered_instead(PyObject* function) {
  static constinit InternedName name("_when_entered");
  PyObject* const other = mark_of(function, name);
  return other && PyFunction_Check(other) ? other : function;
}

// weft.compiler.disable: Python performs the call.
static void refuse_disabled(PyObject* function) {
  static constinit InternedName mark("_weft_disabled");
  PyObject* const reason = mark_of(function, mark);
  if (!reason) return;
  const std::string name = callable_name(function);
  graph_break(PyUnicode_Check(reason) ? fmt::format("a call of {}, which is disabled: {}", name, utf8(reason))
                                      : fmt::format("a call of {}, which is disabled", name));
}

// Its code and defaults, which the program may replace.
void Evaluator::guard_function(PyObject* object) {
  const auto* function = reinterpret_cast<PyFunctionObject*>(object);
  const std::string name = decode(reinterpret_cast<PyCodeObject*>(function->func_code)).name();
  Guards& guards = variant_->guards;
  const int reg = guards.load(pinned_source(object));
  guards.add({.op = GuardOp::FunctionCode, .a = reg, .object = function->func_code},
             fmt::format("code of {} is unchanged", name));
  guards.add({.op = GuardOp::FunctionDefaults, .a = reg, .object = function->func_defaults},
             fmt::format("defaults of {} are unchanged", name));
  guards.add({.op = GuardOp::FunctionKwDefaults, .a = reg, .object = function->func_kwdefaults},
             fmt::format("keyword defaults of {} are unchanged", name));
}

void Evaluator::enter(PyObject* object, CallArgs args, OnReturn on_return, V extra) {
  object = entered_instead(object);
  auto* function = reinterpret_cast<PyFunctionObject*>(object);
  refuse_disabled(object);
  const Code& code = decode(reinterpret_cast<PyCodeObject*>(function->func_code));
  if (!code.unsupported.empty() && !code.is_generator)
    throw GraphBreak{.reason = fmt::format("call of {}(): {}", code.name(), code.unsupported),
                     .keeps_variables = true};
  if (frames_.size() >= kMaxDepth) graph_break("calls are nested deeply");
  guard_function(object);
  std::vector<V> defaults;
  for (Py_ssize_t i = 0; function->func_defaults && i < PyTuple_GET_SIZE(function->func_defaults); ++i)
    defaults.push_back(pinned(PyTuple_GET_ITEM(function->func_defaults, i)));
  std::vector<std::pair<std::string, V>> kwdefaults;
  if (function->func_kwdefaults) {
    PyObject *key, *value;
    SourceRef base = pinned_source(function->func_kwdefaults);
    for (Py_ssize_t position = 0; PyDict_Next(function->func_kwdefaults, &position, &key, &value);)
      kwdefaults.emplace_back(utf8(key), lazy_value(value, make_source({.step = Source::Step::DictItem,
                                                                        .base = base,
                                                                        .key = Ref::borrow(key),
                                                                        .object = {},
                                                                        .object2 = {}})));
  }
  AbstractFrame frame{&code,
                      Ref::borrow(function->func_globals),
                      Ref::borrow(function->func_builtins),
                      {},
                      {},
                      0,
                      on_return,
                      std::move(extra)};
  bind(frame, defaults, kwdefaults, std::move(args));
  for (int i = 0; i < code.num_free; ++i) {
    PyObject* cell = PyTuple_GET_ITEM(function->func_closure, i);
    V value = pinned(cell);
    frame.locals[static_cast<size_t>(code.num_locals - code.num_free + i)] = unify(value);
  }
  if (measuring && !frames_.empty()) note_entered(*frames_.front().code, code);
  if (is_call_of_custom_operator(function)) {
    if (!frames_.empty() &&
        history_.knows({Lesson::Kind::CustomOperator, {this->frame().code, this->frame().ip - 1}}))
      throw GraphBreak{.reason = "a custom operator", .is_planned = true};
    frame.is_custom_operator = !frames_.empty();
  }
  frames_.push_back(std::move(frame));
}

void Evaluator::enter_made(const V& function, CallArgs args) {
  const Code& code = decode(reinterpret_cast<PyCodeObject*>(function->object.get()));
  if (!code.unsupported.empty() && !code.is_generator)
    graph_break(fmt::format("call of {}(): {}", code.name(), code.unsupported));
  if (frames_.size() >= kMaxDepth) graph_break("calls are nested deeply");
  std::vector<V> defaults;
  if (function->items[0]) defaults = elements(function->items[0]);
  std::vector<std::pair<std::string, V>> kwdefaults;
  if (const V& dict = function->items[1])
    for (size_t i = 0; i < realize(dict)->keys.size(); ++i)
      kwdefaults.emplace_back(utf8(dict->keys[i]->object.get()), dict->items[i]);
  AbstractFrame frame{
      &code, function->globals, builtins_of(function->globals.get()), {}, {}, 0, OnReturn::Push, nullptr};
  bind(frame, defaults, kwdefaults, std::move(args));
  if (code.num_free) {
    std::vector<V> cells = elements(function->items[3]);
    for (int i = 0; i < code.num_free; ++i)
      frame.locals[static_cast<size_t>(code.num_locals - code.num_free + i)] = cells[static_cast<size_t>(i)];
  }
  frames_.push_back(std::move(frame));
}

}  // namespace weft::capture
