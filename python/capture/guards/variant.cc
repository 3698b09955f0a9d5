#include "capture/guards/variant.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "bindings.h"
#include "capture/guards/float_warnings.h"
#include "capture/objects/classes.h"
#include "capture/objects/host_tensors.h"
#include "capture/objects/lifetimes.h"
#include "capture/objects/numpy_api.h"
#include "capture/objects/release.h"
#include "capture/values/memory_order.h"
#include "core/distinct_elements.h"
#include "core/profiling.h"
#include "ir/symbols.h"
#include "ops/effects.h"
#include "ops/view.h"
#include "runtime/float_flags.h"
#include "weft/error.h"
#include "weft/generator.h"

namespace weft::capture {

namespace {

using Op = BuildStep::Op;

bool is_array(GraphInput::Type type) {
  return type == GraphInput::Type::Array || type == GraphInput::Type::Tensor;
}

class Builder {
 public:
  Builder(const Variant& variant, Registers& registers, const std::vector<Tensor>& inputs,
          const std::vector<Tensor>& outputs)
      : variant_(variant),
        registers_(registers),
        inputs_(inputs),
        outputs_(outputs),
        num_registers_(static_cast<size_t>(variant.guards.num_registers())),
        built_(static_cast<size_t>(variant.num_slots) - num_registers_) {}

  PyObject* slot(int index) const {
    if (index < 0) return nullptr;
    const auto i = static_cast<size_t>(index);
    return i < num_registers_ ? registers_.values[i] : built_[i - num_registers_].get();
  }

  void perform(const BuildStep& s) {
    if (s.op >= Op::SetList) return perform_effect(s);
    Ref& built = built_[static_cast<size_t>(s.dst) - num_registers_];
    if (!built) built = build(s);  // or a view of it was built before
  }

 private:
  Ref build(const BuildStep& s) {
    switch (s.op) {
      case Op::Const: return s.object;
      case Op::Output: return s.is_read_only ? read_only(output(s)) : output(s);
      case Op::SymInt: return checked(PyLong_FromLongLong(s.sym.evaluate(registers_.symbols)));
      case Op::Tuple: return s.object ? build_named_tuple(s.object.get(), tuple(s.args)) : tuple(s.args);
      case Op::List: {
        Ref list = checked(PyList_New(static_cast<Py_ssize_t>(s.args.size())));
        for (size_t i = 0; i < s.args.size(); ++i)
          PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Py_NewRef(slot(s.args[i])));
        return list;
      }
      case Op::Dict: {
        Ref dict = checked(PyDict_New());
        fill(dict.get(), s.args);
        return dict;
      }
      case Op::Slice: return checked(PySlice_New(slot(s.args[0]), slot(s.args[1]), slot(s.args[2])));
      case Op::Function: return function(s);
      case Op::Method: return checked(PyMethod_New(slot(s.args[1]), slot(s.args[0])));
      case Op::Bound: return checked(PyObject_GetAttr(slot(s.args[0]), s.object.get()));
      case Op::DictView: return checked(PyObject_CallMethodNoArgs(slot(s.args[0]), s.object.get()));
      case Op::Cell: return checked(PyCell_New(slot(s.args[0])));
      case Op::IterSequence: {
        Ref iterator = checked(PyObject_GetIter(slot(s.args[0])));
        if (s.imm > 0)
          checked(PyObject_CallMethod(iterator.get(), "__setstate__", "L", static_cast<long long>(s.imm)));
        return iterator;
      }
      case Op::IterReversed: {
        Ref iterator =
            checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyReversed_Type), slot(s.args[0])));
        checked(PyObject_CallMethod(iterator.get(), "__setstate__", "L", static_cast<long long>(s.imm)));
        return iterator;
      }
      case Op::IterAdvanced: {
        const Ref container = s.object ? checked(PyObject_CallMethodNoArgs(slot(s.args[0]), s.object.get()))
                                       : Ref::borrow(slot(s.args[0]));
        Ref iterator = checked(PyObject_GetIter(container.get()));
        for (int64_t i = 0; i < s.imm; ++i) checked(PyIter_Next(iterator.get()));
        return iterator;
      }
      case Op::IterRange: {
        // The rest of the range: its iterators keep no other state.
        Ref start = checked(PyLong_FromLongLong(s.imm)),
            rest = checked(PySlice_New(start.get(), nullptr, nullptr));
        return checked(PyObject_GetIter(checked(PyObject_GetItem(s.object.get(), rest.get())).get()));
      }
      case Op::IterEnumerate:
        return checked(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyEnum_Type), "OL", slot(s.args[0]),
                                             static_cast<long long>(s.imm)));
      case Op::IterZip:
        return checked(PyObject_CallObject(reinterpret_cast<PyObject*>(&PyZip_Type), tuple(s.args).get()));
      case Op::Instance: {
        auto* type = reinterpret_cast<PyTypeObject*>(s.object.get());
        PyTypeObject* const maker = is_namespace_class(type) ? type
                                    : is_dict_class(type)    ? &PyDict_Type
                                                             : &PyBaseObject_Type;
        Ref empty = checked(PyTuple_New(0)), instance = checked(maker->tp_new(type, empty.get(), nullptr));
        const auto num_contents = static_cast<size_t>(s.imm);
        const auto set_item = PyODict_Check(instance.get()) ? PyODict_SetItem : PyDict_SetItem;
        for (size_t i = 0; i < num_contents; i += 2)
          if (set_item(instance.get(), slot(s.args[i]), slot(s.args[i + 1])) < 0) throw PythonError{};
        for (size_t i = num_contents; i < s.args.size(); i += 2)
          if (PyObject_GenericSetAttr(instance.get(), slot(s.args[i]), slot(s.args[i + 1])) < 0)
            throw PythonError{};
        return instance;
      }
      case Op::Exception: {
        const auto attributes = s.args.begin() + 2 + s.imm;
        Ref exception = real_exception(s.object.get(), tuple({s.args.begin() + 2, attributes}));
        for (auto at = attributes; at != s.args.end(); at += 2)
          if (PyObject_GenericSetAttr(exception.get(), slot(at[0]), slot(at[1])) < 0) throw PythonError{};
        if (PyObject* context = slot(s.args[0]); context && context != Py_None)
          PyException_SetContext(exception.get(), Py_NewRef(context));
        if (PyObject* cause = slot(s.args[1]))
          PyException_SetCause(exception.get(), cause == Py_None ? nullptr : Py_NewRef(cause));
        return exception;
      }
      case Op::Handled: {
        Ref handled = Ref::steal(PyErr_GetHandledException());
        return handled ? handled : Ref::borrow(Py_None);
      }
      case Op::Generator: {
        std::vector<PyObject*> args;
        for (size_t i = 1; i < s.args.size(); ++i) args.push_back(slot(s.args[i]));
        const size_t named = s.object ? static_cast<size_t>(PyTuple_GET_SIZE(s.object.get())) : 0;
        return checked(
            PyObject_Vectorcall(slot(s.args[0]), args.data(), args.size() - named, s.object.get()));
      }
      case Op::Set: return checked(PySet_New(s.object.get()));
      case Op::Tensor: return tensor_of_array(slot(s.args[0]));
      default: break;
    }
    throw_error(ErrorKind::Internal, "unknown build step");
  }

  void perform_effect(const BuildStep& s) {
    switch (s.op) {
      case Op::SetList: {
        PyObject* list = slot(s.args[0]);
        Ref items = checked(PyList_New(static_cast<Py_ssize_t>(s.args.size() - 1)));
        for (size_t i = 1; i < s.args.size(); ++i)
          PyList_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i - 1), Py_NewRef(slot(s.args[i])));
        if (PyList_SetSlice(list, 0, PyList_GET_SIZE(list), items.get()) < 0) throw PythonError{};
        break;
      }
      case Op::AppendToList:
        for (size_t i = 1; i < s.args.size(); ++i)
          if (PyList_Append(slot(s.args[0]), slot(s.args[i])) < 0) throw PythonError{};
        break;
      case Op::SetDict: {
        PyObject* dict = slot(s.args[0]);
        keep_keys(dict, s.args);
        fill(dict, std::vector<int>(s.args.begin() + 1, s.args.end()));
        break;
      }
      case Op::SetAttribute:
        if (PyObject_GenericSetAttr(slot(s.args[0]), s.object.get(), slot(s.args[1])) < 0)
          throw PythonError{};
        break;
      case Op::SetHandled: {
        PyObject* handled = slot(s.args[0]);
        PyErr_SetHandledException(handled == Py_None ? nullptr : handled);
        break;
      }
      case Op::SetAutocast: ops::set_autocast(s.autocast); break;
      case Op::SetGradMode: set_grad_mode(s.grad_mode); break;
      case Op::SetCell: PyCell_Set(slot(s.args[0]), slot(s.args[1])); break;
      case Op::SetGlobal:
        if (PyDict_SetItem(s.object.get(), s.object2.get(), slot(s.args[0])) < 0) throw PythonError{};
        break;
      default: break;
    }
  }

  Ref tuple(const std::vector<int>& slots) {
    Ref result = checked(PyTuple_New(static_cast<Py_ssize_t>(slots.size())));
    for (size_t i = 0; i < slots.size(); ++i)
      PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), Py_NewRef(slot(slots[i])));
    return result;
  }

  // Of the keys that the dict has, those stay that come in the same order in what it gets: they are set in
  // place, and the others are added behind them, as the program does. Who goes over the dict goes on.
  void keep_keys(PyObject* dict, const std::vector<int>& slots) {
    const auto is_same = [](PyObject* a, PyObject* b) {
      return a == b || (Py_TYPE(a) == Py_TYPE(b) && PyObject_RichCompareBool(a, b, Py_EQ) == 1);
    };
    const Ref keys = checked(PySequence_List(dict));
    size_t next = 1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i) {
      PyObject* key = PyList_GET_ITEM(keys.get(), i);
      if (next < slots.size() && is_same(slot(slots[next]), key))
        next += 2;
      else if (PyDict_DelItem(dict, key) < 0)
        throw PythonError{};
    }
  }

  void fill(PyObject* dict, const std::vector<int>& slots) {
    for (size_t i = 0; i < slots.size(); i += 2)
      if (PyDict_SetItem(dict, slot(slots[i]), slot(slots[i + 1])) < 0) throw PythonError{};
  }

  Ref function(const BuildStep& s) {
    Ref result = checked(PyFunction_New(s.object.get(), s.object2.get()));
    auto* function = reinterpret_cast<PyFunctionObject*>(result.get());
    if (PyObject* defaults = slot(s.args[0])) PyFunction_SetDefaults(result.get(), defaults);
    if (PyObject* defaults = slot(s.args[1])) PyFunction_SetKwDefaults(result.get(), defaults);
    if (PyObject* annotations = slot(s.args[2]))
      Py_XSETREF(function->func_annotations, Py_NewRef(annotations));
    if (PyObject* closure = slot(s.args[3])) PyFunction_SetClosure(result.get(), closure);
#if PY_VERSION_HEX >= 0x030E0000
    if (PyObject* annotate = slot(s.args[4])) Py_XSETREF(function->func_annotate, Py_NewRef(annotate));
#endif
    return result;
  }

  // The array whose memory the tensor is a view of, if it is one of the inputs.
  PyObject* base_of(const Tensor& tensor) const {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].storage() == tensor.storage())
        return is_array(variant_.inputs[i].type) ? slot(variant_.inputs[i].reg) : nullptr;
    return nullptr;
  }

  // The graph may compute one value for what are different arrays to Python.
  bool shares_memory(const Tensor& tensor, int root) {
    const Storage* storage = tensor.storage().get();
    if (base_of(tensor)) return true;
    for (const auto& [other, owner] : given_)
      if (other == storage) return owner != root;
    given_.emplace_back(storage, root);
    return false;
  }

  Tensor view_of_root(const Tensor& tensor, const BuildStep& s) {
    Tensor& root = roots_[s.root];
    if (!root.defined()) {
      const bool is_shared = shares_memory(tensor, s.root);
      if (!s.root_order.empty())
        root = to_order(to_order(tensor, s.root_order).clone(), inverse(s.root_order));
      else
        root = is_shared ? tensor.clone() : tensor.contiguous();
    }
    return take_views(root, s);
  }

  Tensor take_views(Tensor tensor, const BuildStep& s) const {
    for (const auto& [op, attrs] : s.views) {
      if (op->kind == ops::OpKind::View)
        tensor = ops::call(*op, {{tensor}, ir::evaluate(attrs, registers_.symbols)}).at(0);
      else
        tensor = ops::memory_part(
            op->name, tensor, op->name == "bitcast" ? attrs.get<DType>("dtype") : real_dtype(tensor.dtype()));
    }
    return tensor;
  }

  Ref output_on_meta(const BuildStep& s) const {
    const Tensor& tensor = outputs_[static_cast<size_t>(s.imm)];
    if (s.is_scalar)
      throw_error(ErrorKind::NotImplemented,
                  "a Python number is made of elements, and there are none on 'meta'");
    if (!s.order.empty()) return object_of_tensor(to_order(tensor, inverse(s.order)));
    return object_of_tensor(s.is_of_root || s.input >= 0 ? take_views(tensor, s) : tensor);
  }

  static Ref read_only(Ref result) {
    if (PyArray_Check(result.get()))
      PyArray_CLEARFLAGS(reinterpret_cast<PyArrayObject*>(result.get()), NPY_ARRAY_WRITEABLE);
    return result;
  }

  Ref output(const BuildStep& s) {
    const Tensor& tensor = outputs_[static_cast<size_t>(s.imm)];
    if (tensor.device().type == DeviceType::Meta) return output_on_meta(s);
    if (s.is_scalar) {
      const Scalar value = tensor.item();
      if (s.weak == WeakKind::Bool) return Ref::borrow(value.to_bool() ? Py_True : Py_False);
      if (s.weak == WeakKind::Int) return checked(PyLong_FromLongLong(value.to_int()));
      if (s.weak == WeakKind::Float) return checked(PyFloat_FromDouble(value.to_double()));
      const std::complex<double> z = value.to_complex();
      return checked(PyComplex_FromDoubles(z.real(), z.imag()));
    }
    if (s.flavor == Flavor::NumpyScalar) return make_numpy_scalar(tensor);
    if (s.is_tensor) {
      Ref made = object_of_tensor(tensor_output(s, tensor), s.is_array);
      if (s.requires_grad && PyObject_SetAttrString(made.get(), "requires_grad", Py_True) < 0)
        throw PythonError{};
      return made;
    }
    if (!s.order.empty()) {
      const Tensor whole = shares_memory(tensor, s.root) ? tensor.clone() : tensor.contiguous();
      return with_base(permuted(whole, inverse(s.order)), s, true, whole);
    }
    if (s.input >= 0) {
      const auto index = static_cast<size_t>(s.input);
      return make_array(take_views(inputs_[index], s), slot(variant_.inputs[index].reg));
    }
    if (s.root < 0) return make_array(tensor, base_of(tensor));
    if (s.is_of_root) return with_base(view_of_root(tensor, s), s, false);
    const bool in_one_piece = !s.is_view && !s.shares_root;
    // Elements that Python may set one by one share their memory where one number filled the array.
    if ((in_one_piece && !tensor.is_contiguous()) || expanded_dimension(tensor))
      return with_base(tensor.contiguous(), s, true);
    return with_base(shares_memory(tensor, s.root) ? tensor.clone() : tensor, s, !s.shares_root);
  }

  static Tensor permuted(const Tensor& tensor, const AxisOrder& axes) {
    Shape shape;
    Strides strides;
    for (const int64_t axis : axes) {
      shape.push_back(tensor.shape()[static_cast<size_t>(axis)]);
      strides.push_back(tensor.strides()[static_cast<size_t>(axis)]);
    }
    return {tensor.storage(), tensor.dtype(), shape, strides, tensor.impl()->offset};
  }

  Tensor tensor_output(const BuildStep& s, const Tensor& tensor) {
    if (!s.order.empty())
      return permuted(shares_memory(tensor, s.root) ? tensor.clone() : tensor.contiguous(), inverse(s.order));
    if (s.input >= 0) return take_views(inputs_[static_cast<size_t>(s.input)], s);
    if (s.root < 0) return tensor;
    if (s.is_of_root) return view_of_root(tensor, s);
    const bool in_one_piece = !s.is_view && !s.shares_root;
    if ((in_one_piece && !tensor.is_contiguous()) || expanded_dimension(tensor)) {
      if (s.is_view) return tensor.contiguous();
      // One for all results that are the same tensor (detach()).
      Tensor& root = roots_[s.root];
      if (!root.defined()) root = tensor.contiguous();
      return root;
    }
    // What has no elements may be a view of what has some.
    const bool has_other_memory = in_one_piece && tensor.numel() == 0 && tensor.storage()->nbytes() > 0;
    return has_other_memory || shares_memory(tensor, s.root) ? tensor.clone() : tensor;
  }

  // The array, over memory of its own or, where NumPy has another array that owns it, over that one's: the
  // result that does, or an array that only its views know.
  Ref with_base(const Tensor& tensor, const BuildStep& s, bool may_copy, const Tensor& whole = {}) {
    if (!s.has_base) return make_array(tensor, nullptr, may_copy);
    Ref owner = owner_of(s, tensor);
    if (!owner) {
      const auto root = roots_.find(s.root);
      owner = make_array(s.is_of_root && root != roots_.end() ? root->second
                         : whole.defined()                    ? whole
                                                              : tensor,
                         nullptr, false);
      if (s.shares_root) owners_[s.root] = owner;
    }
    return make_array(tensor, owner.get(), false);
  }

  Ref owner_of(const BuildStep& view, const Tensor& tensor) {
    if (const auto found = owners_.find(view.root); found != owners_.end()) return found->second;
    if (!view.shares_root) return Ref();
    for (const BuildStep& s : variant_.steps) {
      if (s.op != Op::Output || s.root != view.root || s.has_base || s.flavor != Flavor::NdArray) continue;
      if (outputs_[static_cast<size_t>(s.imm)].storage() != tensor.storage() && !s.is_of_root) return Ref();
      perform(s);
      return owners_[view.root] = Ref::borrow(slot(s.dst));
    }
    return Ref();
  }

  const Variant& variant_;
  Registers& registers_;
  const std::vector<Tensor>& inputs_;
  const std::vector<Tensor>& outputs_;
  size_t num_registers_;
  std::vector<Ref> built_;
  std::map<int, Tensor> roots_;                        // what several results look at
  std::map<int, Ref> owners_;                          // arrays that own it, where results are views of them
  std::vector<std::pair<const Storage*, int>> given_;  // memory of results, and their roots
};

Tensor make_input(const GraphInput& input, PyObject* object, const std::vector<int64_t>& symbols) {
  switch (input.type) {
    case GraphInput::Type::Sym: return Tensor::scalar(Scalar(input.sym.evaluate(symbols)), DType::I64);
    case GraphInput::Type::Array:
    case GraphInput::Type::Tensor: return borrow_memory(object);
    case GraphInput::Type::NumpyScalar: return scalar_tensor(object, input.dtype);
    case GraphInput::Type::Float: return Tensor::scalar(PyFloat_AS_DOUBLE(object), DType::F64);
    case GraphInput::Type::Int:
      return Tensor::scalar(Scalar(static_cast<int64_t>(PyLong_AsLongLong(object))), DType::I64);
  }
  return {};
}

// Inputs on the device of the graph. Where `with weft.device(...)` has chosen it, what is Python's or NumPy's
// is copied there, and tensors are where the program wants them; elsewhere the graph's operators have them
// where they want them.
std::vector<Tensor> placed(const std::vector<GraphInput>& inputs, const std::vector<Tensor>& tensors,
                           Device device) {
  const bool is_chosen = python::default_device() == device;
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool is_misplaced = is_chosen && inputs[i].type == GraphInput::Type::Tensor &&
                              tensors[i].device() != device && tensors[i].dim() > 0;
    if (is_misplaced)
      throw GraphFailed{ErrorKind::Runtime,
                        fmt::format("Expected all tensors to be on the same device, but found at least two "
                                    "devices, {} and {}!",
                                    device.str(), tensors[i].device().str())};
    result.push_back(tensors[i].to(device));
  }
  return result;
}

// What NumPy's arrays and scalars are made of comes to the host, and so do tensors that the program has
// there; what shares memory there, shares it here.
void bring_to_host(const Variant& variant, std::vector<Tensor>& outputs) {
  std::map<const Storage*, std::shared_ptr<Storage>> brought;
  for (const BuildStep& step : variant.steps) {
    if (step.op != BuildStep::Op::Output) continue;
    const size_t number = static_cast<size_t>(step.imm);
    const bool stays = step.is_scalar || (step.is_tensor && variant.result_devices[number] != Device{});
    Tensor& output = outputs[number];
    if (stays || !output.defined() || output.device() == Device{}) continue;
    std::shared_ptr<Storage>& here = brought[output.storage().get()];
    if (!here) {
      const int64_t count = static_cast<int64_t>(output.storage()->nbytes()) / itemsize(output.dtype());
      here = Tensor(output.storage(), output.dtype(), {count}, {1}, 0).to(Device{}).storage();
    }
    output = Tensor(here, output.dtype(), output.shape(), output.strides(), output.impl()->offset);
  }
}

template <class Warn>
std::vector<Tensor> run_graph(const Executable& executable, const std::vector<Tensor>& inputs,
                              unsigned watched_flags, std::atomic<int64_t>* passes, const Warn& warn) {
  try {
    if (profiling::is_on(profiling::kStacks))
      profiling::remember_stack();  // it cannot be read without the lock
    LockRelease release(inputs);
    const std::function<void()> on_raised = [&] {
      release.take_back();
      warn();
    };
    const runtime::FlagWatch watch(watched_flags, passes, &on_raised);
    return executable.run(inputs);
  } catch (const Error& error) {
    throw GraphFailed{error.kind(), error.what()};
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  throw PythonError{};
}

// The generators that the graph draws from, as they are before it runs. Where it fails, Python performs all
// again and draws the same numbers.
class GeneratorStates {
 public:
  GeneratorStates(const Variant& variant, const std::vector<Tensor>& inputs) {
    if (!variant.drawn_handles) variant.drawn_handles = handles_in(*variant.graph);
    for (const DrawnHandle& handle : *variant.drawn_handles) {
      const Tensor& tensor = handle.input < 0 ? handle.constant : inputs[static_cast<size_t>(handle.input)];
      const Generator generator = Generator::of_handle(tensor);
      states_.emplace_back(generator, generator.get_state());
    }
  }
  void restore() const {
    for (const auto& [generator, state] : states_) generator.set_state(state);
  }

 private:
  static std::vector<DrawnHandle> handles_in(ir::Graph& graph) {
    std::vector<DrawnHandle> found;
    std::set<const ir::Value*> seen;
    ir::for_each_node(graph.body(), [&](ir::Node& node) {
      if (node.kind != ir::NodeKind::Op || !ops::draws(*node.op)) return;
      if (node.op->params.empty() || node.op->params[0].name != "generator") return;  // ranks' collectives
      const ir::Value* const handle = node.inputs[0];
      if (!seen.insert(handle).second) return;
      if (!handle->def)
        found.push_back({static_cast<int>(handle->index), {}});
      else if (handle->def->kind == ir::NodeKind::Constant)
        found.push_back({-1, handle->def->constant});
    });
    return found;
  }

  std::vector<std::pair<Generator, Tensor>> states_;
};

}  // namespace

Ref Variant::run(Registers& registers, State& state) const {
  std::vector<Ref> held;
  held.reserve(held_registers.size());
  for (int reg : held_registers) held.push_back(Ref::borrow(registers.values[static_cast<size_t>(reg)]));
  std::vector<Tensor> tensors, outputs;
  if (executable) {
    tensors.reserve(inputs.size());
    for (const GraphInput& input : inputs)
      tensors.push_back(make_input(input,
                                   input.reg < 0 ? nullptr : registers.values[static_cast<size_t>(input.reg)],
                                   registers.symbols));
    const GeneratorStates generators(*this, tensors);
    const auto run_on = [&](const std::vector<Tensor>& arguments) {
      try {
        return run_graph(*executable, arguments, flags_to_watch(*this), &passes,
                         [&] { perform_for_warnings(state, *this, tensors, registers); });
      } catch (const GraphFailed&) {
        generators.restore();
        throw;
      }
    };
    if (device == Device{}) {
      outputs = run_on(tensors);
    } else {
      const std::vector<Tensor> there = placed(inputs, tensors, device);
      outputs = run_on(there);
      bring_to_host(*this, outputs);
      for (const ir::WriteBack& back : graph->write_backs)
        if (tensors[back.input].device() != device) tensors[back.input].copy_from(there[back.input]);
    }
  }
  Builder builder(*this, registers, tensors, outputs);
  bool has_changed = graph && !graph->write_backs.empty();
  for (const BuildStep& step : steps) {
    try {
      builder.perform(step);
    } catch (const Error& error) {
      // Out of memory for a result: as long as nothing has changed, it can be tried as it is.
      if (has_changed || error.kind() != ErrorKind::Memory) throw;
      throw GraphFailed{error.kind(), error.what()};
    }
    has_changed = has_changed || step.op >= BuildStep::Op::SetList;
  }
  if (returns) {
    Ref returned = Ref::borrow(builder.slot(result));
    outputs.clear();
    for (size_t i = 0; i < tensors.size(); ++i)
      if (inputs[i].type == GraphInput::Type::Array) give_back_borrowed(std::move(tensors[i]));
    return returned;
  }
  const auto rebuild = [&](const FrameRecipe& recipe, Frame& frame) {
    frame.code = recipe.code;
    frame.globals = recipe.globals;
    frame.builtins = recipe.builtins;
    frame.ip = recipe.ip;
    frame.on_return = recipe.on_return;
    frame.extra = Ref::borrow(builder.slot(recipe.extra));
    frame.locals.reserve(recipe.locals.size());
    frame.stack.reserve(recipe.stack.size());
    for (size_t i = 0; i < recipe.locals.size(); ++i) {
      PyObject* const local = builder.slot(recipe.locals[i]);
      const bool is_kept = local && (!recipe.fading[i] || !ends_quietly(local));
      frame.locals.push_back(is_kept ? Ref::borrow(local) : Ref());
    }
    for (int slot : recipe.stack) frame.stack.push_back(Ref::borrow(builder.slot(slot)));
  };
  if (frames.size() == 1 && state.frames.size() == 1) {  // the usual case, without another list of frames
    Frame frame;
    rebuild(frames[0], frame);
    std::swap(state.frames[0], frame);
    state.was_warning_raised = false;
    return Ref();
  }
  State next;
  next.frames.resize(frames.size());
  for (size_t f = 0; f < frames.size(); ++f) rebuild(frames[f], next.frames[f]);
  state = std::move(next);
  return Ref();
}

Ref Variant::run_on_meta(Registers& registers) const {
  std::vector<Tensor> outputs;
  for (const ir::Value* value : graph->outputs()) {
    Shape shape;
    for (Sym size : value->tensor().shape) shape.push_back(size.evaluate(registers.symbols));
    outputs.push_back(Tensor::empty(shape, value->tensor().dtype, Device{DeviceType::Meta, 0}));
  }
  Builder builder(*this, registers, {}, outputs);
  for (const BuildStep& step : steps) builder.perform(step);
  return Ref::borrow(builder.slot(result));
}

}  // namespace weft::capture
