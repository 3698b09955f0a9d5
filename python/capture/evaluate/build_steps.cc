// How Python gets the values that were made inside of a segment: a step for each, after those of its parts.
#include <algorithm>

#include "capture/builtins/sets.h"
#include "capture/evaluate/evaluator.h"
#include "capture/evaluate/mappings.h"
#include "capture/objects/classes.h"
#include "capture/objects/made_once.h"
#include "capture/values/memory_order.h"
#include "weft/error.h"

namespace weft::capture {

using BuildOp = BuildStep::Op;

namespace {

// Is this a function that stands for one of the standard library's?
bool stands_in(const V& function) {
  if (function->kind == Kind::Function) return is_stand_in(function->globals.get());
  return function->is_const() && PyFunction_Check(function->object.get()) &&
         is_stand_in(PyFunction_GetGlobals(function->object.get()));
}

// Is this a class of such functions?
bool is_of_stand_ins(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) return false;
  PyObject* const module = PyDict_GetItemString(type->tp_dict, "__module__");
  return module && PyUnicode_Check(module) && utf8(module).starts_with("weft._entered_library.");
}

// The keywords that a generator function was called with, or null.
Ref keyword_names(const V& generator) {
  if (generator->keys.empty()) return Ref();
  Ref names = checked(PyTuple_New(static_cast<Py_ssize_t>(generator->keys.size())));
  for (size_t i = 0; i < generator->keys.size(); ++i)
    PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), generator->keys[i]->object.new_reference());
  return names;
}

// What the real object is made of: its class, and the attributes that are the arguments.
std::vector<V> parts_of_stand_in(Evaluator& ev, const V& value, PyTypeObject* real) {
  static constinit InternedName made_of("__made_of__");
  std::vector<V> parts = {const_value(Ref::borrow(reinterpret_cast<PyObject*>(real)))};
  PyObject* names = _PyType_Lookup(value->object_type, made_of);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
    parts.push_back(ev.attribute(value, PyTuple_GET_ITEM(names, i)));
  return parts;
}

V class_value(PyTypeObject* type) { return const_value(Ref::borrow(reinterpret_cast<PyObject*>(type))); }

// functools.update_wrapper, the function that wraps another, and that one.
std::vector<V> parts_of_wrapper(const V& value) {
  const V function = std::make_shared<Value>(*value);
  function->context = nullptr;
  return {const_value(checked(PyObject_GetAttrString(loaded_module("functools").get(), "update_wrapper"))),
          function, value->context};
}

// functools.partial, the function and what it is given: `operands`. The names of its keywords, or null.
Ref partial_parts(Evaluator& ev, const V& value, std::vector<V>& operands) {
  const Ref partial = checked(PyObject_GetAttrString(loaded_module("functools").get(), "partial"));
  operands = {const_value(partial), value->items[0]};
  for (const V& argument : ev.elements(value->items[1])) operands.push_back(argument);
  const V& keywords = ev.realize(value->items[2]);
  if (keywords->keys.empty()) return Ref();
  Ref names = checked(PyTuple_New(static_cast<Py_ssize_t>(keywords->keys.size())));
  for (size_t i = 0; i < keywords->keys.size(); ++i) {
    PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), keywords->keys[i]->object.new_reference());
    operands.push_back(keywords->items[i]);
  }
  return names;
}

// What an iterator that has given its elements so far goes on over: nothing where it has come to its end.
std::vector<V> iterated(const V& iterator) {
  return iterator->index < 0 ? std::vector<V>{list_value({})} : iterator->items;
}

void add_pairs(std::vector<V>& operands, const std::vector<V>& keys, const std::vector<V>& values) {
  for (size_t i = 0; i < keys.size(); ++i) {
    operands.push_back(keys[i]);
    operands.push_back(values[i]);
  }
}

}  // namespace

// What is the standard library's stays inside: the program would see what stands for it.
void Evaluator::keep_library_inside(const V& value) {
  switch (value->kind) {
    case Kind::Instance:
      if (!stood_for(value) && is_of_stand_ins(value->object_type))
        leave_library("an object of the standard library leaves the function");
      return;
    case Kind::Function:
      if (stands_in(value)) leave_library("a callable of the standard library leaves the function");
      return;
    case Kind::Method:
      if (stood_for(realize(value->items[0])))
        graph_break("a method of the standard library leaves the function");
      return;
    case Kind::Bound:
    case Kind::DictView:
      if (realize(value->items[0])->within)
        leave_library("a view of a dict of the standard library leaves the function");
      return;
    case Kind::Generator:
      if (stands_in(value->items[0]))
        leave_library("an iterator of the standard library leaves the function");
      return;
    case Kind::Iter: {
      const bool is_over_keys = value->iter == IterKind::Dict || value->iter == IterKind::Set;
      if ((is_over_keys && value->items[0]->within) ||
          (value->iter == IterKind::Generator && stands_in(value->items[0])))
        leave_library("an iterator of the standard library leaves the function");
      return;
    }
    default: return;
  }
}

// An array or number of the graph's.
BuildStep Evaluator::output_step(const V& value) {
  BuildStep step{};
  step.op = BuildOp::Output;
  step.imm = static_cast<int64_t>(outputs_.size());
  step.is_scalar = value->kind == Kind::Scalar;
  step.weak = value->weak;
  step.flavor = value->flavor;
  step.is_view = step.has_base = value->view_of != nullptr;
  for (V viewed = value; viewed; viewed = viewed->view_of) step.is_read_only |= viewed->read_only;
  if (value->kind == Kind::Array && !value->view_of && value->input < 0) step.order = value->order;
  V root = value;
  while (root->view_of) root = root->view_of;
  if (std::any_of(copied_views_.begin(), copied_views_.end(),
                  [&](const CopiedView& view) { return view.copy == root; }) &&
      !settings_.fullgraph)
    leave_copied_views(root);
  if (root->input < 0)
    step.root = root_numbers_.emplace(root.get(), static_cast<int>(root_numbers_.size())).first->second;
  kept_values_.push_back(root);
  if (step.root >= 0 && root->kind == Kind::Array && !root->order.empty()) {
    const std::optional<ir::BaseView> of_root = tracer_.base_view(root->tensor);
    if (of_root && of_root->steps.empty()) step.root_order = root->order;
  }
  if (value->flavor == Flavor::NdArray) step.input = root->input;
  if (value->kind == Kind::Array && value->tensor.device() != Device{}) {  // it stays there
    step.is_tensor = true;
    step.is_array = has_device_arrays_;
    step.flavor = Flavor::NdArray;
  }
  if (step.order.empty()) {
    outputs_.push_back(value->tensor);
  } else {
    unordered_.emplace(outputs_.size(), value->tensor);
    outputs_.push_back(to_order(value->tensor, step.order));
  }
  return step;
}

BuildStep Evaluator::iterator_step(const V& value, std::vector<V>& operands) {
  BuildStep step{};
  step.imm = value->index;
  operands = value->items;
  switch (value->iter) {
    case IterKind::Sequence:
    case IterKind::Rows:
      step.op = BuildOp::IterSequence;
      operands = iterated(value);
      break;
    case IterKind::Reversed:
      step.op = BuildOp::IterReversed;
      operands = iterated(value);
      break;
    case IterKind::Dict:
    case IterKind::Set: {
      const V& container = value->items[0];
      if (value->index >= 0 && (value->length < 0 || value->version != container->version ||
                                (container->source && container->version > 0)))
        throw CaptureAborted{"an iterator over a container whose keys have changed"};
      if (value->backwards && value->index >= 0)
        throw CaptureAborted{"the graph ends while reversed() of a dict is under way"};
      step.op = value->index < 0 ? BuildOp::IterSequence : BuildOp::IterAdvanced;
      if (value->iter == IterKind::Dict && value->index >= 0)
        step.object = checked(PyUnicode_InternFromString(value->name.c_str()));
      operands = iterated(value);
      step.imm = std::max<int64_t>(value->index, 0);
      break;
    }
    case IterKind::Range:
      if (!value->object) {
        step.op = BuildOp::Generator;
        operands = {const_value(Ref::borrow(PyDict_GetItemString(PyEval_GetBuiltins(), "iter"))),
                    value->items[0]};
        break;
      }
      step.op = BuildOp::IterRange;
      step.object = value->object;
      operands.clear();
      break;
    case IterKind::Enumerate: step.op = BuildOp::IterEnumerate; break;
    case IterKind::Zip: step.op = BuildOp::IterZip; break;
    case IterKind::Generator:
      if (value->suspended) throw CaptureAborted{"the graph ends while a generator is under way"};
      step.object = value->index == 0 ? keyword_names(value) : Ref();
      step.op = value->index == 0 ? BuildOp::Generator : BuildOp::IterSequence;
      if (value->index != 0) operands = {tuple_value({})};
      step.imm = 0;
      break;
  }
  return step;
}

// The step that makes the value; `operands`: what it is made of, null where there is nothing.
BuildStep Evaluator::step_of(const V& value, std::vector<V>& operands) {
  keep_library_inside(value);
  BuildStep step{};
  operands = value->items;
  switch (value->kind) {
    case Kind::Const:
    case Kind::Lazy:
    case Kind::Opaque:
      step.op = BuildOp::Const;
      step.object = value->object;
      operands.clear();
      break;
    case Kind::Traceback: leave_traceback(value->items[0]);
    case Kind::Array:
    case Kind::Scalar: operands.clear(); return output_step(value);
    case Kind::Iter: return iterator_step(value, operands);
    case Kind::SymInt:
      step.op = BuildOp::SymInt;
      step.sym = value->sym;
      operands.clear();
      break;
    case Kind::Tuple:
      step.op = BuildOp::Tuple;
      if (value->object_type) step.object = Ref::borrow(reinterpret_cast<PyObject*>(value->object_type));
      break;
    case Kind::List: step.op = BuildOp::List; break;
    case Kind::Dict:
    case Kind::Instance:
      if (PyTypeObject* real = stood_for(value)) {
        if (is_in_stand_in()) leave_library("the graph ends within a method of the standard library");
        step.op = BuildOp::Generator;
        operands = parts_of_stand_in(*this, value, real);
        break;
      }
      step.op = value->kind == Kind::Dict ? BuildOp::Dict : BuildOp::Instance;
      step.object = Ref::borrow(reinterpret_cast<PyObject*>(value->object_type));
      operands.clear();
      refuse_apart(value);
      if (value->contents) add_pairs(operands, value->contents->keys, value->contents->items);
      step.imm = static_cast<int64_t>(operands.size());
      add_pairs(operands, value->keys, value->items);
      break;
    case Kind::Slice: step.op = BuildOp::Slice; break;
    case Kind::Function:
      if (value->context) {
        step.op = BuildOp::Generator;
        operands = parts_of_wrapper(value);
        break;
      }
      step.op = BuildOp::Function;
      step.object = value->object;
      step.object2 = value->globals;
      break;
    case Kind::Method: step.op = BuildOp::Method; break;
    case Kind::Bound:
    case Kind::DictView:
      if (const V holder = realize(value->items[0])->holder.lock();
          holder && python_method(holder, value->name.c_str()))
        graph_break("a method of dict of an object whose class has another one");
      if (value->items[0]->kind == Kind::Instance) graph_break("the __getattr__ of a module");
      step.op = value->kind == Kind::Bound ? BuildOp::Bound : BuildOp::DictView;
      step.object = checked(PyUnicode_InternFromString(value->name.c_str()));
      break;
    case Kind::Cell: step.op = BuildOp::Cell; break;
    case Kind::Exception:
      if (value->place.code) leave_to_python(value->place, "the program holds an exception that was raised");
      step.op = BuildOp::Exception;
      step.object = Ref::borrow(reinterpret_cast<PyObject*>(value->object_type));
      step.imm = static_cast<int64_t>(value->items.size());
      operands.insert(operands.begin(), {value->context, value->cause});
      add_pairs(operands, value->keys, value->attributes);
      break;
    case Kind::Super:
      step.op = BuildOp::Generator;
      operands = {class_value(&PySuper_Type), class_value(value->object_type), value->items[0]};
      break;
    case Kind::Handled:
      step.op = BuildOp::Handled;
      operands.clear();
      break;
    case Kind::Generator:
      step.op = BuildOp::Generator;
      step.object = keyword_names(value);
      break;
    case Kind::Set:
      step.op = BuildOp::Set;
      step.object = ordered_as(value->object);
      operands.clear();
      break;
    case Kind::Range:
      step.op = BuildOp::Generator;
      operands.insert(operands.begin(), class_value(&PyRange_Type));
      break;
    case Kind::Tensor: {
      V root = realize(value->items[0]);
      while (root->view_of) root = root->view_of;
      if (root->of_numpy && value->is_array)
        graph_break("an array of weft.numpy whose memory NumPy sees, too");
      if (root->of_numpy) {
        if (value->requires_grad) graph_break("a tensor of NumPy's memory that requires gradients");
        step.op = BuildOp::Tensor;
        break;
      }
      operands.clear();
      step = output_step(value->items[0]);
      step.is_tensor = true;
      step.is_array = value->is_array;
      step.requires_grad = value->requires_grad;
      break;
    }
    case Kind::Partial:
      step.op = BuildOp::Generator;
      step.object = partial_parts(*this, value, operands);
      break;
  }
  return step;
}

int Evaluator::slot_of(const V& value) {
  if (const V holder = value->holder.lock(); holder && holder->contents == value) return slot_of(holder);
  if (auto found = slots_.find(value.get()); found != slots_.end()) {
    if (found->second < 0) throw_error(ErrorKind::NotImplemented, "an object that contains itself");
    return found->second;
  }
  kept_values_.push_back(value);
  // Outside objects are themselves, changed or not.
  if (value->source) {
    const int reg = variant_->guards.load(value->source);
    variant_->held_registers.push_back(reg);
    return slots_[value.get()] = reg;
  }
  slots_[value.get()] = -1;
  // A break among its parts leaves it unbuilt: the segment ends before it.
  struct Unfinished {
    std::unordered_map<const Value*, int>& slots;
    const Value* value;
    ~Unfinished() {
      const auto found = slots.find(value);
      if (found != slots.end() && found->second < 0) slots.erase(found);
    }
  } unfinished{slots_, value.get()};
  std::vector<V> operands;
  BuildStep step = step_of(value, operands);
  for (const V& operand : operands) step.args.push_back(operand ? slot_of(operand) : -1);
  step.dst = kBuilt + num_built_++;
  const int slot = step.dst;
  variant_->steps.push_back(std::move(step));
  return slots_[value.get()] = slot;
}

}  // namespace weft::capture
