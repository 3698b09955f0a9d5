// Element by element in native loops: what ufuncs give is a tree of operations, computed in one pass over the
// arrays where it is used.
#include <fmt/format.h>
#include <opcode.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "capture/loops/element_printer.h"
#include "capture/loops/operations.h"
#include "capture/objects/numpy_api.h"
#include "capture/objects/ufuncs.h"
#include "ops/registry.h"

namespace weft::capture {

namespace {

using scalar::Prim;

// A ufunc's operator, or that of numpy.where.
const char* operator_of(const std::string& function) {
  return function == "where" ? "where" : operator_of_ufunc(function);
}

bool is_comparison(const std::string& op) {
  return op == "eq" || op == "ne" || op == "lt" || op == "le" || op == "gt" || op == "ge";
}

// NumPy compares ints of different signs, and Python ints of any size, exactly.
bool is_unsigned(const LoopValue& v) {
  return v.kind != LoopKind::Int && v.kind != LoopKind::Float && v.kind != LoopKind::Bool &&
         is_integral(v.dtype) && !is_signed(v.dtype);
}

// NB_* numbers 0 to 12.
constexpr const char* kBinary[] = {"add",      "bitwise_and", "floor_divide", "left_shift", "matmul",
                                   "multiply", "remainder",   "bitwise_or",   "power",      "right_shift",
                                   "subtract", "true_divide", "bitwise_xor"};
constexpr const char* kCompare[] = {"less", "less_equal", "equal", "not_equal", "greater", "greater_equal"};

// An element at indices that are known to be in range.
std::string print_gather(const LoopValue& value, ElementPrinter& printer, Streams& streams) {
  const LoopValue &source = value.items[0], &key = value.items[1];
  std::string offset;
  for (int d = 0; d < source.dims; ++d) {
    const LoopValue& index = key.kind == LoopKind::Tuple ? key.items[static_cast<size_t>(d)] : key;
    const std::string given =
        printer.variable("i64", fmt::format("(i64){}", print_value(index, printer, streams)));
    const std::string in_range = is_signed(index.dtype)
                                     ? printer.variable("i64", fmt::format("{0} + ({0} < 0 ? {1} : 0)", given,
                                                                           streams.number(source.size(d))))
                                     : given;
    const LoopValue& stride = source.stride(d);
    offset += (offset.empty() ? "" : " + ") +
              (stride.known == 1 ? in_range : fmt::format("{} * {}", in_range, streams.number(stride)));
  }
  return printer.variable(c_type(value.dtype),
                          fmt::format("{}[{}]{}", streams.number(source.items[0]), offset,
                                      value.dtype == DType::Bool ? " != 0" : ""));
}

std::string load_rolled(const LoopValue& value, Streams& streams) {
  std::vector<std::string> turns(value.sizes.size());
  const LoopValue* at = &value;
  for (; at->kind == LoopKind::Pending; at = &at->items[0])
    turns[static_cast<size_t>(*at->items[2].known)] = at->expr;
  return streams.load(*at, std::move(turns));
}

}  // namespace

std::string ElementPrinter::print(const scalar::Expr& expr, const std::vector<std::string>& operands) {
  const scalar::ExprNode& node = expr.node();
  if (node.prim == Prim::Arg) return operands[static_cast<size_t>(node.index)];
  if (node.prim == Prim::Const) return literal(node.value, node.dtype);
  std::vector<Expr> args;
  for (const scalar::Expr& arg : node.args) args.emplace_back(print(arg, operands));
  const std::string type = c_type(node.dtype);
  return variable(type, cast(type, applied(node, args, elementary_, function_)));
}

std::string print_value(const LoopValue& value, ElementPrinter& printer, Streams& streams) {
  if (value.is_number()) return streams.number(value);
  if (value.is_complex()) return streams.number(loop_numpy(DType::C128, element_of_complex(value)));
  if (value.kind == LoopKind::View) return streams.load(value);
  if (value.operation == kChosen) return streams.load(value.items[0]);
  if (value.operation == kGather) return print_gather(value, printer, streams);
  if (value.operation == kRoll) return load_rolled(value, streams);
  const ops::OpDef& op = ops::get_op(value.operation);
  std::vector<std::string> operands;
  std::vector<scalar::Expr> args;
  for (size_t i = 0; i < value.items.size(); ++i) {
    const LoopValue& item = value.items[i];
    std::string text = print_value(item, printer, streams);
    const DType wanted = i == 0 && value.operation == "where" ? DType::Bool : value.compute;
    if (item.dtype != wanted && !item.is_number() && !item.is_complex())
      text = printer.variable(c_type(wanted), wanted == DType::Bool
                                                  ? text + " != 0"
                                                  : fmt::format("({}){}", c_type(wanted), text));
    operands.push_back(std::move(text));
    args.push_back(scalar::Expr::arg(static_cast<int>(i), wanted));
  }
  return printer.print(op.semantics(args, default_attributes(op)), operands);
}

std::vector<std::string> LoopBuilder::shape_of(const LoopValue& value) {
  if (value.kind == LoopKind::Pending) return value.sizes;
  std::vector<std::string> sizes;
  for (int d = 0; d < num_dims(value); ++d)
    sizes.push_back(value.kind == LoopKind::View && value.size(d).known == 1 ? "1L" : size_text(value, d));
  return sizes;
}

const std::string& LoopBuilder::size_name(const std::string& size) const {
  const auto found = size_names_.find(size);
  return found == size_names_.end() ? size : found->second;
}

void LoopBuilder::require_equal_sizes(const std::string& a, const std::string& b) {
  std::string first = size_name(a), second = size_name(b);
  if (first == second) return;
  if (loopir::Expr(second).begins_with_number()) std::swap(first, second);
  require(fmt::format("{} == {}", first, second));
  for (auto& [size, name] : size_names_)
    if (name == second) name = first;
  size_names_[second] = first;
}

std::vector<std::string> LoopBuilder::broadcast(const std::vector<std::vector<std::string>>& shapes) {
  size_t dims = 0;
  for (const auto& shape : shapes) dims = std::max(dims, shape.size());
  std::vector<std::string> result(dims);
  for (size_t from_end = 1; from_end <= dims; ++from_end) {
    std::string size = "1L";
    for (const auto& shape : shapes) {
      if (shape.size() < from_end) continue;
      const std::string& own = size_name(shape[shape.size() - from_end]);
      if (own == size || own == "1L") continue;
      if (size == "1L") {
        size = own;
        continue;
      }
      require(fmt::format("{0} == {1} || {0} == 1 || {1} == 1", size, own));
      size = temporary("i64", fmt::format("{0} == 1 ? {1} : {0}", size, own));
    }
    result[dims - from_end] = size;
  }
  return result;
}

// A function of that module, which lives as long as the code.
PyObject* LoopBuilder::kept_function(const char* module, const char* name) {
  Ref imported = checked(PyImport_ImportModule(module));
  result_.kept.push_back(checked(PyObject_GetAttrString(imported.get(), name)));
  return result_.kept.back().get();
}

LoopValue LoopBuilder::pending(const std::string& ufunc, std::vector<LoopValue> operands) {
  const char* operation = operator_of(ufunc);
  if (!operation || !ops::get_op(operation).semantics)
    throw LoopUnsupported{fmt::format("numpy.{} of arrays", ufunc)};
  const ops::OpDef& op = ops::get_op(operation);
  std::vector<ops::Operand> types;
  std::vector<std::vector<std::string>> shapes;
  const bool chooses = op.name == "where";
  for (size_t i = 0; i < operands.size(); ++i) {
    LoopValue& operand = operands[i];
    if (is_array(operand)) operand = as_view(operand);
    if (!is_arraylike(operand) && !operand.is_number() && !operand.is_complex())
      throw LoopUnsupported{"an operation on what is no array or number"};
    if (is_arraylike(operand)) shapes.push_back(shape_of(operand));
    if (chooses && i == 0 && (!is_arraylike(operand) || operand.dtype != DType::Bool))
      throw LoopUnsupported{"numpy.where of these arguments"};
    types.push_back(operand_type(operand));
  }
  const ops::PromotedTypes promoted = ops::promoted_types(op, types, Promotion::NumPy);
  if (!is_element_dtype(promoted.compute) || !is_element_dtype(promoted.result))
    throw LoopUnsupported{fmt::format("arrays of {}", name(promoted.compute))};
  if (is_comparison(op.name) && is_unsigned(operands[0]) != is_unsigned(operands[1]))
    throw LoopUnsupported{"a comparison of signed and unsigned ints"};
  for (LoopValue& operand : operands) {
    if (!operand.is_number()) continue;
    if (promoted.compute == DType::C128) {
      operand = loop_complex(true, temporary("f64", as_dtype(operand, DType::F64)), "0.0");
      continue;
    }
    operand = loop_numpy(promoted.compute,
                         temporary(c_type(promoted.compute), as_dtype(operand, promoted.compute)));
  }
  if (is_integral(promoted.compute)) check_integers(op.name, operands);
  LoopValue result;
  result.kind = LoopKind::Pending;
  result.operation = operation;
  result.dtype = promoted.result;
  result.compute = promoted.compute;
  result.object = kept_function("numpy", ufunc.c_str());
  result.sizes = broadcast(shapes);
  result.items = std::move(operands);
  // Can it be printed?
  ElementPrinter printer(elementary_, function_names());
  Streams streams;
  print_value(result, printer, streams);
  block_has_arrays_ = true;
  return printer.text.size() > 1500 ? materialized(result) : result;
}

LoopValue LoopBuilder::array_binary(int op, const LoopValue& a, const LoopValue& b) {
  op = operator_of(op);
  if (op == NB_MATRIX_MULTIPLY) return product(a, b);
  if (op == NB_POWER) {
    return power_of_array(a, b);
  }
  return pending(kBinary[op], {a, b});
}

LoopValue LoopBuilder::array_compare(int op, const LoopValue& a, const LoopValue& b) {
  return pending(kCompare[op], {a, b});
}

void LoopBuilder::collect_views(const LoopValue& value, std::vector<LoopValue>& views) const {
  if (value.kind == LoopKind::View) views.push_back(value);
  if (value.kind == LoopKind::Pending || value.kind == LoopKind::Tuple)
    for (const LoopValue& item : value.items) collect_views(item, views);
}

// Does the value read elements at other places than those it is computed for?
bool LoopBuilder::has_gather(const LoopValue& value) {
  if (value.kind != LoopKind::Pending) return false;
  return value.operation == kGather || value.operation == kRoll ||
         std::any_of(value.items.begin(), value.items.end(), has_gather);
}

bool LoopBuilder::has_roll(const LoopValue& value) {
  return value.kind == LoopKind::Pending &&
         (value.operation == kRoll || std::any_of(value.items.begin(), value.items.end(), has_roll));
}

std::string LoopBuilder::of_elements(const std::string& function, const LoopValue& given) {
  if (has_roll(given)) return of_elements(function, materialized(given));
  block_has_arrays_ = true;
  const LoopValue value = with_chosen_taken(given);
  ElementPrinter printer(elementary_, function_names());
  Streams streams;
  const std::string result = print_value(value, printer, streams);
  const std::string count = shape_of(value)[0];
  std::string text = "[&] { ", loads;
  for (const auto& [name, number] : streams.numbers)
    text += fmt::format("const {} {} = {}; ", c_type(number), name, number.expr);
  for (size_t k = 0; k < streams.all.size(); ++k) {
    const LoopValue& view = streams.all[k].view;
    const std::string pointer = fmt::format("p{}", k);
    std::string stride = view.size(0).known == 1 ? "0L" : view.stride(0).expr;
    if (stride != "0L" && size_name(view.size(0).expr) != size_name(count))
      stride = fmt::format("({} == 1 ? 0 : {})", view.size(0).expr, stride);
    text += fmt::format("const {}* const {} = {}; ", element_type(view.dtype), pointer, view.items[0].expr);
    if (stride != "1L") text += fmt::format("const i64 s{} = {}; ", k, stride);
    loads += fmt::format("const {} {} = {}[{}]{}; ", c_type(view.dtype), streams.all[k].name, pointer,
                         stride == "1L" ? "i" : fmt::format("i * s{}", k),
                         view.dtype == DType::Bool ? " != 0" : "");
  }
  return text + fmt::format("return {}({}, [&](i64 i) {{ {}{}return {}; }}); }}()", function, count, loads,
                            printer.text, result);
}

}  // namespace weft::capture
