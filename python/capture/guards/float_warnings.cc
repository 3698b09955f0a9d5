#include "capture/guards/float_warnings.h"

#include <algorithm>
#include <string>
#include <utility>

#include "capture/guards/counters.h"
#include "capture/objects/error_actions.h"
#include "capture/objects/made_once.h"
#include "capture/perform/enter_call.h"
#include "capture/perform/program_frame.h"
#include "runtime/float_flags.h"

namespace weft::capture {

namespace {

constexpr int kMaxSteps = 20'000;  // performed for warnings, of one segment
constexpr int kMaxDoublings = 20;  // of the runs that pass between two vain questions

// What warnings.filters say about RuntimeWarnings, and the list as it was when that was found out.
struct Filters {
  Ref list, first;
  Py_ssize_t size = -1;
  int64_t generation = 0;
  bool ignores = false;     // all of them
  bool every_time = false;  // some are shown, or raised, each time

  bool is_current(PyObject* filters) const {
    return filters == list.get() && PyList_GET_SIZE(filters) == size &&
           (size == 0 || PyList_GET_ITEM(filters, 0) == first.get());
  }
  void read(PyObject* filters);
  void add(PyObject* filter, bool& decided);
};

// A filter is (action, message, category, module, line).
void Filters::add(PyObject* filter, bool& decided) {
  if (!PyTuple_Check(filter) || PyTuple_GET_SIZE(filter) != 5) return;
  const int applies = PyObject_IsSubclass(PyExc_RuntimeWarning, PyTuple_GET_ITEM(filter, 2));
  if (applies < 0) throw PythonError{};
  if (!applies) return;
  const std::string action = utf8(PyTuple_GET_ITEM(filter, 0));
  const Ref line = Ref::borrow(PyTuple_GET_ITEM(filter, 4));
  decided = PyTuple_GET_ITEM(filter, 1) == Py_None && PyTuple_GET_ITEM(filter, 3) == Py_None &&
            PyLong_Check(line.get()) && PyLong_AsLong(line.get()) == 0;
  if (action == "error" || action == "always" || action == "all") every_time = true;
  if (decided && action == "ignore") ignores = !every_time;
}

void Filters::read(PyObject* filters) {
  list = Ref::borrow(filters);
  size = PyList_GET_SIZE(filters);
  first = size > 0 ? Ref::borrow(PyList_GET_ITEM(filters, 0)) : Ref();
  bool decided = false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters) && !decided; ++i)
    add(PyList_GET_ITEM(filters, i), decided);
}

const Filters& current_filters() {
  static constinit MadeOnce<Filters> made;
  static constinit MadeOnce<Ref> module;
  Filters& filters = made.get([] { return Filters(); });
  PyObject* names =
      PyModule_GetDict(module.get([] { return checked(PyImport_ImportModule("warnings")); }).get());
  static constinit InternedName name("filters");
  PyObject* list = PyDict_GetItemWithError(names, name);
  if (list && PyList_Check(list) && !filters.is_current(list)) {
    Filters now;
    now.read(list);
    now.generation = filters.generation + 1;
    filters = std::move(now);
  }
  return filters;
}

// What a module has been warned of: its registry's size and version.
std::pair<Py_ssize_t, Ref> warned_of(PyObject* globals) {
  PyObject* registry = PyDict_GetItemString(globals, "__warningregistry__");
  if (!registry || !PyDict_Check(registry)) return {0, Ref()};
  return {PyDict_GET_SIZE(registry), Ref::borrow(PyDict_GetItemString(registry, "version"))};
}

// A frame of weft's sources that stand for functions of NumPy's.
bool stands_for_call(const FrameRecipe& frame) {
  PyObject* const package = PyDict_GetItemString(frame.globals.get(), "__package__");
  return package && PyUnicode_Check(package) &&
         PyUnicode_CompareWithASCIIString(package, "weft._entered") == 0;
}

// Are the first frames of the state where the variant's are, the last of them so many instructions before?
bool is_at(const State& state, const Variant& variant, int before) {
  const size_t depth = state.frames.size();
  if (variant.returns || depth > variant.frames.size()) return false;
  for (size_t f = 0; f < depth; ++f) {
    const int ahead = f + 1 == depth ? before : 0;
    if (state.frames[f].code != variant.frames[f].code || state.frames[f].ip != variant.frames[f].ip - ahead)
      return false;
  }
  return true;
}

enum class Next : uint8_t { Step, LastStep, Entered, Stop };

// What is to be performed next. Nothing behind the variant's end is, which may lie in a frame that the call
// to come makes: that is entered, or NumPy's, or else left out.
Next next_step(State& state, const Variant& variant, bool is_first) {
  const size_t depth = state.frames.size();
  // A segment may end where it has begun, an iteration later.
  if (!is_first && depth == variant.frames.size() && is_at(state, variant, 0)) return Next::Stop;
  if (depth >= variant.frames.size() || !is_at(state, variant, 1)) return Next::Step;
  const auto inner = variant.frames.begin() + static_cast<std::ptrdiff_t>(depth);
  if (std::all_of(inner, variant.frames.end(), stands_for_call)) return Next::LastStep;
  return enter_call(state, *inner->code) ? Next::Entered : Next::Stop;
}

}  // namespace

// Tensors raise no warnings of NumPy's.
static bool is_over_tensors(const Variant& variant) {
  const auto has = [&](GraphInput::Type type) {
    return std::any_of(variant.inputs.begin(), variant.inputs.end(),
                       [&](const GraphInput& input) { return input.type == type; });
  };
  return has(GraphInput::Type::Tensor) && !has(GraphInput::Type::Array) &&
         !has(GraphInput::Type::NumpyScalar);
}

unsigned flags_to_watch(const Variant& variant) {
  if (!variant.executable || is_over_tensors(variant)) return 0;
  const ErrorActions& actions = current_error_actions();
  if (actions.handled) return actions.handled | actions.warned | runtime::kEveryRun;
  if (!actions.warned) return 0;
  const Filters& filters = current_filters();
  if (filters.ignores) return 0;
  if (variant.asked_under != filters.generation) {
    variant.asked_under = filters.generation;
    variant.vain_questions = 0;
    variant.passes = 0;
  }
  return filters.every_time ? actions.warned | runtime::kEveryRun : actions.warned;
}

namespace {

// The lists that a segment appends to, as long as they are now.
class AppendedLists {
 public:
  AppendedLists(const Variant& variant, const Registers& registers) {
    for (const BuildStep& step : variant.steps) {
      if (step.op != BuildStep::Op::AppendToList) continue;
      PyObject* const list = registers.values[static_cast<size_t>(step.args[0])];
      lists_.emplace_back(Ref::borrow(list), PyList_GET_SIZE(list));
    }
  }
  // Python has performed the segment, whose effects come again.
  void shorten() const {
    for (const auto& [list, length] : lists_)
      if (PyList_SetSlice(list.get(), length, PyList_GET_SIZE(list.get()), nullptr) < 0) throw PythonError{};
  }

 private:
  std::vector<std::pair<Ref, Py_ssize_t>> lists_;
};

}  // namespace

void perform_for_warnings(State& state, const Variant& variant, const std::vector<Tensor>& inputs,
                          const Registers& registers) {
  ++counters().warning_runs;
  if (current_error_actions().handled) throw ErrorHandled{};
  std::vector<Tensor> contents;
  for (const ir::WriteBack& write : variant.graph->write_backs)
    contents.push_back(inputs[write.input].clone());
  const AppendedLists appended(variant, registers);
  State performed = state;
  for (Frame& frame : performed.frames) frame.python_frame = Ref();
  performed.was_warning_raised = false;
  bool has_warned = false, is_done = false;
  Ref returned;
  for (int steps = 0; steps < kMaxSteps && !is_done; ++steps) {
    const Next next = next_step(performed, variant, steps == 0);
    if (next == Next::Stop) break;
    if (next == Next::Entered) continue;
    const Ref globals = program_frame(performed).globals;
    const auto before = warned_of(globals.get());
    is_done = step(performed, returned) == StepResult::Returned || next == Next::LastStep;
    has_warned = has_warned || !(warned_of(globals.get()) == before);
    if (performed.was_warning_raised) {
      state = std::move(performed);
      throw WarningRaised{};
    }
  }
  for (size_t i = 0; i < contents.size(); ++i)
    inputs[variant.graph->write_backs[i].input].copy_from(contents[i]);
  appended.shorten();
  variant.vain_questions = has_warned ? 0 : std::min(variant.vain_questions + 1, kMaxDoublings);
  variant.passes = (int64_t{1} << variant.vain_questions) - 1;
}

}  // namespace weft::capture
