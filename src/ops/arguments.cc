#include "ops/arguments.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::ops {

SymShape list_arg(const Attrs& attrs, std::string_view name) {
  const Attr& attr = attrs.at(name);
  if (const Sym* single = std::get_if<Sym>(&attr)) return {*single};
  return attrs.get<SymShape>(name);
}

std::vector<int64_t> int_list_arg(const Attrs& attrs, std::string_view name) {
  std::vector<int64_t> result;
  for (const Sym& value : list_arg(attrs, name)) result.push_back(sym_specialize(value));
  return result;
}

Sym sym_arg(const Attrs& attrs, std::string_view name) { return attrs.get<Sym>(name); }

std::optional<Sym> optional_sym_arg(const Attrs& attrs, std::string_view name) {
  if (attrs.is_none(name)) return std::nullopt;
  return attrs.get<Sym>(name);
}

int64_t int_arg(const Attrs& attrs, std::string_view name) { return attrs.get_int(name); }

Scalar scalar_arg(const Attrs& attrs, std::string_view name) {
  const Attr& attr = attrs.at(name);
  if (const bool* value = std::get_if<bool>(&attr)) return Scalar(*value);
  if (const double* value = std::get_if<double>(&attr)) return Scalar(*value);
  if (const Sym* value = std::get_if<Sym>(&attr)) return Scalar(sym_specialize(*value));
  return attrs.get<Scalar>(name);
}

double float_arg(const Attrs& attrs, std::string_view name) { return scalar_arg(attrs, name).to_double(); }

std::optional<DType> dtype_arg(const Attrs& attrs, std::string_view name) {
  if (attrs.is_none(name)) return std::nullopt;
  return attrs.get<DType>(name);
}

Device device_arg(const Attrs& attrs) {
  return attrs.is_none("device") ? Device{} : attrs.get<Device>("device");
}

std::vector<int64_t> normalize_dims(std::string_view op, std::vector<int64_t> dims, int64_t ndim) {
  for (int64_t& dim : dims) dim = normalize_dim(op, dim, ndim);
  std::vector<int64_t> sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  WEFT_CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
             fmt::format("{}: each dimension may be named once: got {}", op, weft::str(dims)));
  return dims;
}

const OpDef& define_composite(const char* name, const char* schema, const char* doc, const char* numpy,
                              CompositeFn body, std::vector<std::string> aliases,
                              std::vector<std::string> methods) {
  return register_op({.name = name,
                      .schema = schema,
                      .kind = OpKind::Composite,
                      .doc = doc,
                      .numpy = numpy,
                      .aliases = std::move(aliases),
                      .methods = std::move(methods),
                      .composite = std::move(body)});
}

std::string describe_operands(const OpDef& op, const OpArgs& args) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : args.tensors)
    types.push_back(tensor.defined() ? type_of(tensor) : TensorType{.absent = true});
  return describe_operands(op, types);
}

void fail_for(const OpDef& op, std::span<const TensorType> operands, const std::string& what) {
  throw_error(ErrorKind::Value, fmt::format("{}: {}{}", op.name, what, describe_operands(op, operands)));
}

}  // namespace weft::ops
