#include "op_results.h"

#include <Python.h>
#include <fmt/format.h>

#include <algorithm>

#include "array.h"
#include "core/backend.h"
#include "core/distinct_elements.h"
#include "memory_format.h"
#include "once.h"
#include "ops/torch_rules.h"
#include "weft/error.h"

namespace weft::python {

using ops::OpDef;

namespace {

// In-place results may lose precision and range within a kind. NumPy takes unsigned integers for a kind below
// the signed ones.
void check_kind(const OpDef& op, const Tensor& target, const Tensor& result, Promotion rules) {
  const auto kind = [&](DType dtype) {
    const DTypeKind k = info(dtype).kind;
    return k == DTypeKind::Unsigned && rules == Promotion::Torch ? DTypeKind::Signed : k;
  };
  WEFT_CHECK_TYPE(kind(result.dtype()) <= kind(target.dtype()),
                  fmt::format("{}: the result type {} cannot be stored in the target {}", op.name,
                              name(result.dtype()), describe(target)));
}

// PyTorch writes into one of the inputs, or beside them, but not into a part of one. It looks at tensors
// whose elements lie densely.
void check_overlap(const OpDef& op, const Tensor& target, std::span<const Tensor> inputs) {
  using Overlap = ops::OutRules::Overlap;
  if (inputs.empty()) return;
  const Overlap refused = ops::out_rules_of(op).refused;
  if (refused == Overlap::None) return;
  for (const Tensor& input : inputs) {
    if (!may_overlap(target, input) || !target.is_contiguous() || !input.is_contiguous()) continue;
    const bool is_input = target.data() == input.data() && target.shape() == input.shape();
    if (!is_input || refused == Overlap::Any)
      throw_error(
          ErrorKind::Runtime,
          fmt::format("{}: unsupported operation: some elements of the input tensor and the written-to "
                      "tensor refer to a single memory location. Please clone() the tensor before "
                      "performing the operation.\n  input: {}   out: {}",
                      op.name, describe(input), describe(target)));
  }
}

}  // namespace

void store_result(const OpDef& op, const Tensor& target, const Tensor& result, Promotion rules) {
  check_kind(op, target, result, rules);
  const SymShape from = ops::sym_shape(result), into = ops::sym_shape(target);
  WEFT_CHECK(std::equal(from.begin(), from.end(), into.begin(), into.end(), sym_eq),
             fmt::format("{}: the result {} does not have the shape of the target {}", op.name,
                         describe(result), describe(target)));
  if (rules == Promotion::Torch) check_distinct_elements(target);
  target.copy_from(result);
}

void check_made_dtype(const OpDef& op, const OpArguments& arguments, PyObject* out) {
  const Tensor* const target = tensor_of_python(out);
  if (!target || !arguments.operands.empty() || op.find_param("dtype") == nullptr ||
      arguments.attrs.is_none("dtype"))
    return;
  const DType dtype = arguments.attrs.get<DType>("dtype");
  if (dtype != target->dtype())
    throw_error(ErrorKind::Runtime, fmt::format("{}: dtype {} does not match dtype of out parameter ({})",
                                                op.name, name(dtype), name(target->dtype())));
}

void store_out(const OpDef& op, PyObject* out, const Tensor& result, Promotion rules,
               std::span<const Tensor> inputs) {
  const Tensor* target = tensor_of_python(out);
  WEFT_CHECK_TYPE(target, fmt::format("{}: out must be a Tensor, got {}", op.name, Py_TYPE(out)->tp_name));
  const bool is_resized = rules == Promotion::Torch && !target->is_traced() && !result.is_traced() &&
                          target->shape() != result.shape();
  check_kind(op, *target, result, rules);
  if (torch_refuses(rules) && target->dtype() != result.dtype() && ops::out_rules_of(op).own_dtype)
    throw_error(ErrorKind::Runtime, fmt::format("{}: expected out of dtype {}, as the result has, got {}",
                                                op.name, name(result.dtype()), describe(*target)));
  // PyTorch resizes out= within its memory, and looks for overlaps then.
  if (!is_resized || ops::out_rules_of(op).refused == ops::OutRules::Overlap::Any)
    check_overlap(op, *target, inputs);
  if (is_resized)
    *nb::inst_ptr<Tensor>(out) = Tensor::empty(result.shape(), target->dtype(), target->device());
  store_result(op, *target, result, rules);
}

nb::object named_results(const OpDef& op, const nb::list& values, bool of_out) {
  static constinit MadeOnce<nb::object> types;
  const nb::object& table =
      types.get([] { return nb::object(nb::module_::import_("weft.return_types").attr("TYPES")); });
  PyObject* type = PyDict_GetItemString(table.ptr(), op.name.c_str());
  if (!type) return nb::tuple(values);
  return of_out ? nb::handle(type).attr("of_out")(*values) : nb::borrow(type)(*values);
}

nb::object wrap_results(const OpDef& op, const std::vector<Tensor>& results, Promotion rules) {
  if (op.num_outputs == 1) {
    const Tensor& result = results.at(0);
    if (op.schema.ends_with("-> bool") && !result.is_traced()) return nb::bool_(result.item().to_bool());
    return to_python(result, rules);
  }
  if (results.size() == 1 && op.schema.ends_with("|Tensor")) return to_python(results[0], rules);
  nb::list list;
  for (const Tensor& result : results) list.append(to_python(result, rules));
  return named_results(op, list);
}

nb::object as_made(nb::object result, PyObject* requires_grad, PyObject* memory_format) {
  if (memory_format && memory_format != Py_None && !repr_text(memory_format).ends_with(".preserve_format"))
    result = result.attr("contiguous")(nb::arg("memory_format") = nb::handle(memory_format));
  if (requires_grad && PyObject_IsTrue(requires_grad) == 1)
    nb::setattr(result, "requires_grad", nb::bool_(true));
  return result;
}

nb::object in_order_beside(nb::object result, PyObject* beside) {
  const Tensor *made = tensor_of_python(result), *given = tensor_of_python(beside);
  if (!made || !given || given->is_contiguous()) return result;
  if (!has_memory(made->device())) return result;
  const Tensor ordered = in_order_of(*made, *given);
  return ordered.impl() == made->impl() ? result : to_python(ordered);
}

}  // namespace weft::python
