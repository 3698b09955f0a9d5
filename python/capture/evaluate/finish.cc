// The end of a segment: the graph's outputs, recipes for what Python sees, and deferred side effects.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <unordered_set>

#include "capture/builtins/sets.h"
#include "capture/evaluate/evaluator.h"
#include "capture/guards/executable.h"
#include "capture/numpy/error_state.h"
#include "capture/objects/host_tensors.h"
#include "capture/objects/lifetimes.h"
#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"
#include "ir/place.h"
#include "ops/effects.h"
#include "weft/error.h"

namespace weft::capture {

using BuildOp = BuildStep::Op;

int Evaluator::add_step(BuildStep step, std::vector<V> operands) {
  for (const V& operand : operands) step.args.push_back(operand ? slot_of(operand) : -1);
  variant_->steps.push_back(std::move(step));
  return static_cast<int>(variant_->steps.size()) - 1;
}

// Of a tensor's array: the tensor, which guards look at, whatever its dtype.
static const SourceRef& source_of_object(const V& value) {
  return value->source->step == Source::Step::TensorArray ? value->source->base : value->source;
}

// Lists, dicts, cells and instances that were changed must not be the same object as another one met here.
void Evaluator::guard_distinct() {
  Guards& guards = variant_->guards;
  const auto distinct = [&](const V& a, const V& b, GuardOp op, const char* relation) {
    if (a == b || !a->source || !b->source ||
        (op == GuardOp::NotSame && Py_TYPE(a->object.get()) != Py_TYPE(b->object.get())))
      return;
    const SourceRef &first = source_of_object(a), &second = source_of_object(b);
    guards.add({.op = op, .a = guards.load(first), .b = guards.load(second)},
               fmt::format("{} {} {}", first->str(), relation, second->str()));
  };
  constexpr size_t kMostPairs = 256;
  if (dirty_.size() * tracked_.size() > kMostPairs) {
    std::set<PyTypeObject*> types;
    for (const V& changed : dirty_)
      if (changed->source) types.insert(Py_TYPE(changed->object.get()));
    std::vector<SourceRef> sources;
    for (const V& one : tracked_)
      if (one->source && types.count(Py_TYPE(one->object.get()))) sources.push_back(one->source);
    guards.all_distinct(sources);
  } else {
    for (const V& changed : dirty_)
      for (const V& other : tracked_) distinct(changed, other, GuardOp::NotSame, "is not");
  }
  for (int index : mutated_)
    for (const V& other : inputs_)
      distinct(inputs_[static_cast<size_t>(index)], other, GuardOp::NoOverlap, "does not share memory with");
}

void Evaluator::write_effects() {
  for (size_t k = 0; k < dirty_.size(); ++k) {
    const V value = dirty_[k];
    if (value->kind == Kind::Instance) {
      for (size_t i = 0; i < value->keys.size(); ++i) {
        if (!value->changed[i]) continue;
        BuildStep step{};
        step.op = BuildOp::SetAttribute;
        step.object = value->keys[i]->object;
        step.args = {slot_of(value), slot_of(value->items[i])};
        variant_->steps.push_back(std::move(step));
      }
      continue;
    }
    BuildStep step{};
    step.op = value->kind == Kind::List   ? BuildOp::SetList
              : value->kind == Kind::Lazy ? BuildOp::AppendToList
              : value->kind == Kind::Dict ? BuildOp::SetDict
                                          : BuildOp::SetCell;
    step.args.push_back(slot_of(value));
    for (size_t i = 0; i < value->items.size(); ++i) {
      if (value->kind == Kind::Dict) step.args.push_back(slot_of(value->keys[i]));
      step.args.push_back(value->items[i] ? slot_of(value->items[i]) : -1);
    }
    variant_->steps.push_back(std::move(step));
  }
  if (handled_) {
    BuildStep step{};
    step.op = BuildOp::SetHandled;
    step.args = {slot_of(handled_)};
    variant_->steps.push_back(std::move(step));
  }
  if (const ops::Autocast now = ops::autocast(); now != autocast_) {
    BuildStep step{};
    step.op = BuildOp::SetAutocast;
    step.autocast = now;
    variant_->steps.push_back(std::move(step));
  }
  if (const GradMode now = grad_mode(); now != grad_mode_) {
    BuildStep step{};
    step.op = BuildOp::SetGradMode;
    step.grad_mode = now;
    variant_->steps.push_back(std::move(step));
  }
  for (const std::string& key : global_order_) {
    const auto& [place, value] = global_stores_.at(key);
    BuildStep step{};
    step.op = BuildOp::SetGlobal;
    step.object = Ref::borrow(PyTuple_GET_ITEM(place.get(), 0));
    step.object2 = Ref::borrow(PyTuple_GET_ITEM(place.get(), 1));
    step.args = {slot_of(value)};
    variant_->steps.push_back(std::move(step));
  }
}

void Evaluator::finish_return(const V& value) {
  if (frames_.size() == 1) frame().locals.clear();
  check_generators();
  variant_->returns = true;
  variant_->result = slot_of(value);
  write_effects();
  finish_graph();
}

namespace {

// Is the value a real object, or one made of such ones, whose end the program may see?
bool holds_real_object(const V& value, int depth = 0) {
  constexpr int kDeepest = 4;
  if (!value || depth > kDeepest) return false;
  if (value->source)
    return value->object && !is_identity_type(value->object.get()) && value->kind != Kind::Const &&
           !(depth > 0 && ends_quietly(value->object.get()));
  if (value->kind != Kind::Tuple && value->kind != Kind::List && value->kind != Kind::Dict &&
      value->kind != Kind::Instance && value->kind != Kind::Cell)
    return false;
  return std::any_of(value->items.begin(), value->items.end(),
                     [&](const V& item) { return holds_real_object(item, depth + 1); });
}

}  // namespace

FrameRecipe Evaluator::recipe_of(const AbstractFrame& from, bool is_innermost, bool keeps_variables) {
  FrameRecipe recipe{from.code, from.globals, from.builtins, from.ip, from.on_return, -1, {}, {}, {}};
  if (from.extra) recipe.extra = slot_of(from.extra);
  for (size_t i = 0; i < from.locals.size(); ++i) {
    // An outer frame resumes behind its call, whose handler it still needs.
    const auto slot = static_cast<int>(i);
    const bool live = keeps_variables || from.code->is_live(from.ip, slot) ||
                      (from.ip > 0 && from.code->is_live(from.ip - 1, slot) && !is_innermost);
    const bool is_kept = from.locals[i] && (live || holds_real_object(from.locals[i]));
    recipe.locals.push_back(is_kept ? slot_of(from.locals[i]) : -1);
    recipe.fading.push_back(!live);
  }
  for (const V& value : from.stack) recipe.stack.push_back(value ? slot_of(value) : -1);
  return recipe;
}

void Evaluator::finish_break(const std::string& reason, bool keeps_variables) {
  check_generators();
  if (!under_way_.empty())
    leave_to_python(under_way_.front()->place,
                    fmt::format("the graph ends while a generator is under way ({})", reason));
  variant_->break_reason = reason;
  variant_->break_file = frame().code->file();
  variant_->break_line = frame().code->line(frame().ip);
  for (size_t f = 0; f < frames_.size(); ++f)
    variant_->frames.push_back(recipe_of(frames_[f], f + 1 == frames_.size(), keeps_variables));
  // What becomes an object is one for variables, too, that nothing reads any more.
  for (size_t f = 0; f < frames_.size(); ++f)
    for (size_t i = 0; i < frames_[f].locals.size(); ++i)
      if (const V& local = frames_[f].locals[i]; local && slots_.contains(local.get()))
        variant_->frames[f].locals[i] = slots_.at(local.get());
  write_effects();
  finish_graph();
}

// Is one of the views computed by the graph as an array of its own?
static bool is_computed(const ir::ViewSteps& views) {
  return std::any_of(views.begin(), views.end(), [](const auto& view) {
    return view.first->kind != ops::OpKind::View || view.first->name == "expand";
  });
}

// Is it all of what the graph computes, in another order of dimensions than C's or, of a product of several
// dimensions, in another shape?
static bool keeps_all_elements(const ir::ViewSteps& views) {
  return std::all_of(views.begin(), views.end(), [](const auto& view) {
    return view.first->name == "permute" || view.first->name == "reshape";
  });
}

// Has it a dimension of one element now that may have more at another call?
static bool may_grow(const Tensor& output) {
  const SymShape shape = ops::sym_shape(output);
  return std::any_of(shape.begin(), shape.end(),
                     [](const Sym& size) { return !size.is_constant() && size.hint() == 1; });
}

// A single view that is in one piece in NumPy, in C or Fortran order, stays so whatever the graph makes it
// of.
static void keep_in_one_piece(BuildStep& step, Tensor& output) {
  if (step.flavor != Flavor::NdArray || !output.is_traced()) return;
  const bool is_c = is_contiguous(output, false), is_fortran = is_contiguous(output, true);
  if (!is_c && !is_fortran) return;
  // What is in both orders at this call's sizes is in the view's own at others.
  if (is_c && is_fortran && may_grow(output)) return;
  step.is_view = false;
  if (is_c) return;
  step.order = fortran_order(output.dim());
  output = to_order(output, step.order);
}

// Arrays that look at one memory in NumPy must do so in the results too.
void Evaluator::keep_shared_roots() {
  std::unordered_map<int, int> count;
  std::unordered_set<int> by_memory;  // roots of views that the graph would compute as copies
  std::unordered_set<int> whole;      // roots that are no part of another value of the graph
  for (const auto& [root, number] : root_numbers_)
    if (const auto view = tracer_.base_view(root->tensor); view && keeps_all_elements(view->steps))
      whole.insert(number);
  for (const BuildStep& step : variant_->steps) {
    if (step.op != BuildOp::Output || step.is_scalar || step.root < 0) continue;
    ++count[step.root];
    const std::optional<ir::BaseView> view = tracer_.base_view(outputs_[static_cast<size_t>(step.imm)]);
    if (step.is_view && view && is_computed(view->steps) && whole.contains(step.root))
      by_memory.insert(step.root);
  }
  for (BuildStep& step : variant_->steps) {
    if (step.op != BuildOp::Output || step.is_scalar || step.root < 0) continue;
    const bool is_by_memory = by_memory.contains(step.root);
    const auto output = static_cast<size_t>(step.imm);
    const auto is_updated_view = [&] {
      const std::optional<ir::BaseView> view = tracer_.base_view(outputs_[output]);
      return view && view->is_updated && !view->steps.empty();
    };
    // A single view of an array in another order than C's has that array's strides, and so has an updated
    // part.
    if (count[step.root] == 1 &&
        !(step.is_view && (is_by_memory || !step.root_order.empty() || is_updated_view()))) {
      if (step.is_view) keep_in_one_piece(step, outputs_[output]);
      continue;
    }
    step.shares_root = true;
    if (!step.order.empty()) outputs_[output] = unordered_.at(output);
    step.order.clear();
    if (step.flavor != Flavor::NdArray) continue;
    // After an update the graph may compute each from its own values, and a copy of a view may be that view.
    std::optional<ir::BaseView> view = tracer_.base_view(outputs_[output]);
    if (view && (view->is_updated || view->copies_view || is_by_memory || !step.root_order.empty())) {
      outputs_[output] = view->base;
      step.is_of_root = true;
      step.views = std::move(view->steps);
    }
  }
}

static bool is_array(const GraphInput& input) {
  return input.type == GraphInput::Type::Array || input.type == GraphInput::Type::Tensor;
}

// Views of an argument that is updated are taken of the argument itself, after the updates are written back,
// and so are those that the graph would compute as copies.
void Evaluator::take_views_of_inputs() {
  std::vector<size_t> array_inputs;  // graph inputs of the array arguments, in order
  for (size_t i = 0; i < variant_->inputs.size(); ++i)
    if (is_array(variant_->inputs[i])) array_inputs.push_back(i);
  for (BuildStep& step : variant_->steps) {
    if (step.op != BuildOp::Output || step.input < 0) continue;
    Tensor& output = outputs_[static_cast<size_t>(step.imm)];
    const size_t input = array_inputs.at(static_cast<size_t>(step.input));
    step.input = -1;
    std::optional<ir::InputView> view = tracer_.input_view(output);
    if (!view || view->input != input || !(view->is_updated || is_computed(view->steps))) continue;
    step.input = static_cast<int>(input);
    step.views = std::move(view->steps);
    output = view->base;
  }
}

// Strides of the graph's inputs at this call; none of those in C order.
std::vector<Strides> Evaluator::input_strides() const {
  std::vector<Strides> strides(variant_->inputs.size());
  size_t array = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (!is_array(variant_->inputs[i])) continue;
    const Tensor input = borrow_memory(inputs_[array++]->object.get());
    if (!input.is_contiguous()) strides[i] = input.strides();
  }
  return strides;
}

// Does the object's place say that it is a parameter or a buffer of a module?
static bool is_module_state(SourceRef source) {
  if (source->step == Source::Step::TensorArray) source = source->base;
  if (source->step != Source::Step::DictItem || source->base->step != Source::Step::DictItem) return false;
  PyObject* const of_module = source->base->key.get();
  return PyUnicode_CheckExact(of_module) &&
         (PyUnicode_CompareWithASCIIString(of_module, "_parameters") == 0 ||
          PyUnicode_CompareWithASCIIString(of_module, "_buffers") == 0);
}

void Evaluator::finish_graph() {
  note_unrolled_loops();
  guard_distinct();
  keep_shared_roots();
  take_views_of_inputs();
  Guards& guards = variant_->guards;
  variant_->graph = tracer_.finish(outputs_);
  const size_t num_results = variant_->graph->outputs().size();
  if (keeps_errors()) keep_unused(*variant_->graph);
  // What the caller lays out in another order is made in it.
  for (const BuildStep& step : variant_->steps) {
    if (step.op != BuildOp::Output || step.order.empty()) continue;
    ir::Node* const last = variant_->graph->outputs()[static_cast<size_t>(step.imm)]->def;
    if (last && last->is("permute")) last->attrs.set(ir::kOwnMemory, true);
  }
  try {
    variant_->device = ir::device_of(*variant_->graph);
    if (const Device chosen = settings_.device; chosen != Device{} && !settings_.on_meta()) {
      if (variant_->device != Device{} && variant_->device != chosen)
        throw CaptureAborted{
            fmt::format("tensors on {} under weft.device(\"{}\")", variant_->device.str(), chosen.str())};
      variant_->device = chosen;
    }
  } catch (const Error& error) {
    throw CaptureAborted{error.what()};
  }
  if (variant_->device != Device{}) variant_->result_devices = ir::devices_of_results(*variant_->graph);
  guards.sym_guards(variant_->graph->env());
  // Built slots follow the registers.
  std::unordered_map<int, int> number;
  int next = guards.num_registers();
  for (BuildStep& step : variant_->steps)
    if (step.dst >= kBuilt) step.dst = number.emplace(step.dst, next++).first->second;
  const auto renumber = [&](int& slot) {
    if (slot >= kBuilt) slot = number.at(slot);
  };
  for (BuildStep& step : variant_->steps)
    for (int& slot : step.args) renumber(slot);
  renumber(variant_->result);
  for (FrameRecipe& frame : variant_->frames) {
    renumber(frame.extra);
    for (int& slot : frame.locals) renumber(slot);
    for (int& slot : frame.stack) renumber(slot);
  }
  variant_->num_slots = next;
  for (const GraphInput& input : variant_->inputs)
    if (input.reg >= 0) variant_->held_registers.push_back(input.reg);
  bool does_more = variant_->graph->outputs().size() > num_results;  // than giving results
  for (const auto& node : variant_->graph->body().nodes) {
    if (node->op) ++variant_->num_nodes;
    does_more |= node->op && (ops::refuses_by_value(*node->op) || ops::draws(*node->op));
  }
  if (does_more || !outputs_.empty() || !variant_->graph->write_backs.empty()) {
    std::vector<Tensor> steady(variant_->inputs.size());
    for (size_t i = 0, array = 0; i < steady.size(); ++i) {
      if (!is_array(variant_->inputs[i])) continue;
      const V& input = inputs_[array++];
      if (variant_->inputs[i].type == GraphInput::Type::Tensor && is_module_state(input->source) &&
          is_host_tensor(input->object.get()))
        steady[i] = *host_tensor(input->object.get());
    }
    const auto start = std::chrono::steady_clock::now();
    try {
      if (!settings_.on_meta())
        variant_->executable = make_executable(variant_->graph->clone(), variant_->device, input_strides(),
                                               steady, settings_.mode, &variant_->kernels);
    } catch (const Error& error) {
      // No instruction's: the graph is the tracer's no longer, so that there is no earlier end to try.
      throw CaptureAborted{error.what()};
    }
    variant_->compile_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
}

}  // namespace weft::capture
