#include "ops/build.h"

#include <optional>
#include <utility>

#include "ops/view.h"

namespace weft::ops::build {
namespace {

SymShape sym_list(const std::vector<int64_t>& values) { return SymShape(values.begin(), values.end()); }

bool same_shape(const SymShape& a, const SymShape& b) {
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); ++d) {
    if (!a[d].same(b[d])) return false;
  }
  return true;
}

// Views of a tensor in the host's memory are made at once.
bool is_here(const Tensor& x) { return !x.is_traced() && x.device() == Device(); }

// x in another shape, which has as many elements, where that is a view.
std::optional<Tensor> view(const Tensor& x, const SymShape& shape) {
  Shape target;
  for (const Sym& size : shape) {
    if (!size.is_constant() || size.constant() < 0) return std::nullopt;
    target.push_back(size.constant());
  }
  if (weft::numel(target) != x.numel()) return std::nullopt;
  std::optional<Strides> strides = view_strides(x.shape(), x.strides(), target);
  if (!strides) return std::nullopt;
  return x.as_strided(std::move(target), std::move(*strides), x.offset());
}

}  // namespace

Tensor permute(const Tensor& x, const std::vector<int64_t>& dims) {
  return call1("permute", {x}, {{"dims", sym_list(dims)}});
}

Tensor reshape(const Tensor& x, const SymShape& shape) {
  if (same_shape(sym_shape(x), shape)) return x;
  if (is_here(x))
    if (std::optional<Tensor> viewed = view(x, shape)) return *viewed;
  return call1("reshape", {x}, {{"shape", shape}});
}

Tensor expand(const Tensor& x, const SymShape& shape) {
  if (same_shape(sym_shape(x), shape)) return x;
  return call1("expand", {x}, {{"shape", shape}});
}

Tensor slice(const Tensor& x, int64_t dim, const SliceRange& range) {
  return call1("slice", {x},
               {{"dim", Sym(dim)}, {"start", range.start}, {"stop", range.stop}, {"step", Sym(range.step)}});
}

Tensor slice(const Tensor& x, int64_t dim, std::optional<Sym> start, std::optional<Sym> stop, int64_t step) {
  return slice(x, dim, normalize_slice("slice", start, stop, step, sym_shape(x)[static_cast<size_t>(dim)]));
}

Tensor select(const Tensor& x, int64_t dim, Sym index) {
  SymShape shape = sym_shape(x);
  const Sym at = normalize_index(index, shape[static_cast<size_t>(dim)], dim);
  shape.erase(shape.begin() + dim);
  return reshape(slice(x, dim, {at, at + Sym(1), 1, Sym(1)}), shape);
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  SymShape shape = sym_shape(x);
  shape.insert(shape.begin() + dim, Sym(1));
  return reshape(x, shape);
}

Tensor squeeze(const Tensor& x, int64_t dim) {
  SymShape shape = sym_shape(x);
  shape.erase(shape.begin() + dim);
  return reshape(x, shape);
}

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  if (is_here(x)) {
    Shape shape = x.shape();
    Strides strides = x.strides();
    std::swap(shape[static_cast<size_t>(dim0)], shape[static_cast<size_t>(dim1)]);
    std::swap(strides[static_cast<size_t>(dim0)], strides[static_cast<size_t>(dim1)]);
    return x.as_strided(std::move(shape), std::move(strides), x.offset());
  }
  std::vector<int64_t> dims(static_cast<size_t>(x.dim()));
  for (size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<int64_t>(d);
  std::swap(dims[static_cast<size_t>(dim0)], dims[static_cast<size_t>(dim1)]);
  return permute(x, dims);
}

Tensor cast(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : call1("cast", {x}, {{"dtype", dtype}});
}

Tensor full(const SymShape& shape, Scalar value, DType dtype, Device device) {
  return call1("full", {}, {{"shape", shape}, {"value", value}, {"dtype", dtype}, {"device", device}});
}

Tensor iota(Sym size, Scalar start, Scalar step, DType dtype, Device device) {
  return call1("iota", {},
               {{"size", size}, {"start", start}, {"step", step}, {"dtype", dtype}, {"device", device}});
}

Tensor join(const std::vector<Tensor>& tensors, int64_t dim) {
  return call1("join", tensors, {{"dim", Sym(dim)}});
}

Tensor add(const Operand& a, const Operand& b, Promotion rules) { return invoke("add", {a, b}, rules); }
Tensor sub(const Operand& a, const Operand& b, Promotion rules) { return invoke("sub", {a, b}, rules); }
Tensor mul(const Operand& a, const Operand& b, Promotion rules) { return invoke("mul", {a, b}, rules); }

Tensor sum(const Tensor& x, const std::vector<int64_t>& dims, bool keepdim) {
  if (dims.empty()) return x;
  return call1("sum", {x}, {{"dim", sym_list(dims)}, {"keepdim", keepdim}, {"dtype", x.dtype()}});
}

std::vector<Tensor> promote(const std::vector<Tensor>& tensors, Promotion rules) {
  if (tensors.empty()) return tensors;
  DType dtype = tensors[0].dtype();
  for (const Tensor& tensor : tensors) dtype = promote_types(dtype, tensor.dtype(), rules);
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(cast(tensor, dtype));
  return result;
}

}  // namespace weft::ops::build
