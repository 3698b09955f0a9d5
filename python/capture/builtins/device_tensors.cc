#include "capture/builtins/device_tensors.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "capture/builtins/weft_tensors.h"
#include "capture/numpy/names.h"

namespace weft::capture {

// Without realizing it, which would guard what the function may never look at. Lists are nested a few times
// at most, since one can hold itself.
static bool has_device_tensor(PyObject* object, int depth = 0) {
  constexpr int kDeepest = 4;
  if (const Tensor* tensor = captured_tensor(object)) return tensor->device() != Device{};
  if (depth == kDeepest || (!PyList_CheckExact(object) && !PyTuple_CheckExact(object))) return false;
  PyObject** const items = PySequence_Fast_ITEMS(object);
  return std::any_of(items, items + PySequence_Fast_GET_SIZE(object),
                     [&](PyObject* item) { return has_device_tensor(item, depth + 1); });
}

static V array_on_device(Evaluator& ev, const V& value) {
  if (value->kind == Kind::Lazy && !has_device_tensor(value->object.get())) return value;
  ev.realize(value);
  if (value->kind == Kind::Tensor) {
    const Tensor& tensor = ev.realize(value->items[0])->tensor;
    return tensor.device() == Device{} || tensor.dtype() == DType::BF16 ? value : ev.realize(value->items[0]);
  }
  if ((value->kind != Kind::List && value->kind != Kind::Tuple) || value->object_type) return value;
  std::vector<V> items;
  bool has_any = false;
  for (const V& item : value->items) {
    items.push_back(array_on_device(ev, item));
    has_any |= items.back() != item;
  }
  if (!has_any) return value;
  return value->kind == Kind::List ? list_value(std::move(items)) : tuple_value(std::move(items));
}

void take_for_arrays(Evaluator& ev, CallArgs& args) {
  for (V& value : args.args) value = array_on_device(ev, value);
  for (auto& [key, value] : args.keywords) value = array_on_device(ev, value);
}

V tensor_on_device(Evaluator& ev, const V& value) {
  if (ev.realize(value)->kind != Kind::Array || value->tensor.device() == Device{}) return value;
  V tensor = tensor_value(value->flavor == Flavor::NdArray ? value : array_value(value->tensor));
  tensor->is_array = ev.has_device_arrays();
  return tensor;
}

bool is_of_two_devices(Evaluator& ev, const std::string& name, const std::vector<V>& operands) {
  static constexpr std::string_view kOfTwo[] = {"copy_", "to", "type_as", "getitem", "setitem"};
  if (std::find(std::begin(kOfTwo), std::end(kOfTwo), name) != std::end(kOfTwo)) return false;
  std::optional<Device> found;
  bool has_two = false;
  const auto note = [&](const V& operand) {
    if (operand->kind != Kind::Tensor) return;
    const Tensor& tensor = ev.realize(operand->items[0])->tensor;
    if (tensor.device() == Device{} && tensor.dim() == 0) return;
    has_two |= found.value_or(tensor.device()) != tensor.device();
    found = tensor.device();
  };
  for (const V& operand : operands) {
    note(operand);
    if (operand->kind == Kind::List || operand->kind == Kind::Tuple)
      for (const V& item : operand->items) note(ev.realize(item));
  }
  return has_two;
}

}  // namespace weft::capture
