// Views, and what is made of views: pieces, joins, repetitions.
#include <fmt/format.h>

#include "core/printable.h"
#include "ops/build.h"
#include "script/builtins/aten.h"
#include "script/builtins/direct_views.h"

namespace weft::jit::aten {
namespace {

Tensor permute(const Tensor& x, const Ints& dims) {
  if (Tensor made = direct::permute(x, dims); made.defined()) return made;
  return call(op<"permute">(), {x}, {{"dims", sizes(dims)}});
}
Tensor reshape(const Tensor& x, const Ints& shape) {
  if (Tensor made = direct::reshape(x, shape); made.defined()) return made;
  return call(op<"reshape">(), {x}, {{"shape", sizes(shape)}});
}

// A view or an error, where reshape would copy.
Tensor view(const Tensor& x, const Ints& shape) {
  if (!x.is_traced() && !x.is_contiguous()) {
    const SymShape resolved =
        ops::resolve_shape("view", ops::sym_shape(x), SymShape(shape.begin(), shape.end()));
    Shape target;
    for (const Sym& size : resolved) target.push_back(size.constant());
    WEFT_CHECK(ops::view_strides(x.shape(), x.strides(), target).has_value(),
               fmt::format("view: size {} is not compatible with the tensor's size and strides: use "
                           "reshape\n  self: {}, strides {}",
                           str(target), describe(x), str(x.strides())));
  }
  return reshape(x, shape);
}

// The same bytes as elements of another dtype.
Tensor view_as_dtype(const Tensor& x, DType dtype) {
  if (x.is_traced() || itemsize(dtype) != itemsize(x.dtype()))
    return call(op<"bitcast">(), {x}, {{"dtype", dtype}});
  return Tensor(x.storage(), dtype, x.shape(), x.strides(), x.offset());
}

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  if (x.dim() == 0) {
    wrap_dim("transpose", dim0, 0), wrap_dim("transpose", dim1, 0);
    return alias(x);
  }
  if (Tensor made = direct::transpose(x, dim0, dim1); made.defined()) return made;
  return call(op<"transpose">(), {x}, {{"dim0", number(dim0)}, {"dim1", number(dim1)}});
}

Tensor matrix_transpose(const Tensor& x) {
  WEFT_CHECK(x.dim() <= 2, fmt::format("t: expected a tensor of at most 2 dimensions, got {}", describe(x)));
  return x.dim() == 2 ? permute(x, {1, 0}) : alias(x);
}

Tensor reverse_dims(const Tensor& x) {
  Ints dims;
  for (int64_t d = x.dim(); d-- > 0;) dims.push_back(d);
  return permute(x, dims);
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  if (Tensor made = direct::unsqueeze(x, dim); made.defined()) return made;
  const int64_t axis = ops::normalize_dim("unsqueeze", dim, x.dim() + 1);
  return call(op<"unsqueeze">(), {x}, {{"dim", sizes(Ints{axis})}});
}

Tensor squeeze(const Tensor& x, const OptionalInts& dims) {
  if (dims && x.dim() == 0) return alias(x);
  if (Tensor made = direct::squeeze(x, dims); made.defined()) return made;
  return call(op<"squeeze">(), {x}, {{"dim", sizes(dims)}});
}

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  if (Tensor made = direct::select(x, dim, index); made.defined()) return made;
  WEFT_CHECK_INDEX(x.dim() > 0,
                   fmt::format("select: expected a tensor with dimensions, got {}", describe(x)));
  const int64_t axis = ops::normalize_dim("select", dim, x.dim());
  const Sym size = x.is_traced() ? ops::sym_shape(x)[static_cast<size_t>(axis)]
                                 : Sym(x.impl()->shape[static_cast<size_t>(axis)]);
  if (!sym_lt(Sym(index), size) || sym_lt(Sym(index), -size)) {
    throw_error(ErrorKind::Index,
                fmt::format("select: index {} is out of range for dimension {} of size {}\n  self: {}", index,
                            axis, size.hint(), describe(x)));
  }
  return call(op<"select">(), {x},
              {{"dim", number(axis)}, {"index", index < 0 ? Attr(Sym(index) + size) : Attr(Sym(index))}});
}

Tensor slice(const Tensor& x, int64_t dim, OptionalInt start, OptionalInt stop, int64_t step) {
  if (Tensor made = direct::slice(x, dim, start, stop, step); made.defined()) return made;
  WEFT_CHECK(step > 0, fmt::format("slice: step must be positive, got {}\n  self: {}", step, describe(x)));
  WEFT_CHECK_INDEX(x.dim() > 0, fmt::format("slice: expected a tensor with dimensions, got {}", describe(x)));
  const auto end = [](OptionalInt value) { return value ? std::optional<Sym>(*value) : std::nullopt; };
  return ops::build::slice(x, ops::normalize_dim("slice", dim, x.dim()), end(start), end(stop), step);
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  if (Tensor made = direct::narrow(x, dim, start, length); made.defined()) return made;
  return call(op<"narrow">(), {x},
              {{"dim", number(dim)}, {"start", number(start)}, {"length", number(length)}});
}

Tensor expand(const Tensor& x, const Ints& shape) {
  if (Tensor made = direct::expand(x, shape); made.defined()) return made;
  return call(op<"expand">(), {x}, {{"shape", sizes(shape)}});
}

Tensor expand_as(const Tensor& x, const Tensor& other) {
  return call(op<"expand">(), {x}, {{"shape", ops::sym_shape(other)}});
}

Tensor movedim(const Tensor& x, const Ints& source, const Ints& destination) {
  return call(op<"movedim">(), {x}, {{"source", sizes(source)}, {"destination", sizes(destination)}});
}

// ---- pieces
// ------------------------------------------------------------------------------------------------
Tensors split(const Tensor& x, int64_t size, int64_t dim) {
  return call_all(op<"split">(), {x}, {{"split_size", number(size)}, {"dim", number(dim)}});
}
Tensors split_sizes(const Tensor& x, const Ints& split_sizes, int64_t dim) {
  return call_all(op<"split">(), {x}, {{"split_size", sizes(split_sizes)}, {"dim", number(dim)}});
}
Tensors sections(const Tensor& x, const Attr& indices_or_sections, int64_t dim) {
  return call_all(op<"array_split">(), {x},
                  {{"indices_or_sections", indices_or_sections}, {"dim", number(dim)}});
}
Tensors equal_sections(const Tensor& x, const Attr& indices_or_sections, int64_t dim) {
  return call_all(op<"split_sections">(), {x},
                  {{"indices_or_sections", indices_or_sections}, {"dim", number(dim)}});
}

Tensors tensor_sections(const Tensor& x, const Tensor& indices_or_sections, int64_t dim) {
  if (indices_or_sections.dim() == 0) return sections(x, number(indices_or_sections.item().to_int()), dim);
  Ints indices;
  for (int64_t i = 0; i < indices_or_sections.numel(); ++i)
    indices.push_back(static_cast<int64_t>(indices_or_sections.at(i)));
  return sections(x, sizes(indices), dim);
}

// ---- joins
// ------------------------------------------------------------------------------------------------- PyTorch
// passes over empty vectors, whatever the others' shapes.
Tensor cat(const IValue& list, int64_t dim) {
  Tensors tensors = tensor_list(list);
  WEFT_CHECK(!tensors.empty(), "cat: expected at least one tensor");
  const auto is_empty = [](const Tensor& x) { return !x.is_traced() && x.dim() == 1 && x.numel() == 0; };
  if (std::any_of(tensors.begin(), tensors.end(), is_empty) &&
      !std::all_of(tensors.begin(), tensors.end(), is_empty))
    std::erase_if(tensors, is_empty);
  return call(op<"concatenate">(), std::move(tensors), {{"dim", number(dim)}});
}

template <Name kName>
void join(std::string_view schema) {
  define(schema, [](const IValue& list) { return call(op<kName>(), tensor_list(list)); });
}

SymShape common_shape(const char* name, const Tensors& tensors) {
  std::vector<SymShape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(ops::sym_shape(tensor));
  return ops::broadcast_shapes(name, shapes);
}

Tensors meshgrid(const IValue& list, const std::string& indexing) {
  return call_all(op<"meshgrid">(), tensor_list(list), {{"indexing", indexing}});
}

// In place: self becomes the view.
void become(const Tensor& self, const Tensor& view) {
  WEFT_CHECK_TYPE(!self.is_traced(),
                  "changing a tensor's shape in place is not supported while it is traced");
  self.impl()->shape = view.impl()->shape;
  self.impl()->strides = view.impl()->strides;
  self.impl()->offset = view.impl()->offset;
}

// PyTorch copies where weft's operator may give a view.
Tensor own(const Tensor& x, const Tensor& result) {
  const bool is_view = !x.is_traced() && !result.is_traced() && result.storage() == x.storage();
  return is_view ? result.clone() : result;
}
template <Name kName>
void unshared(std::string_view schema) {
  define_function(schema, [](std::span<IValue> arguments, IValue* results) {
    const Tensor x = arguments[0].to_tensor();
    forward(op<kName>(), arguments, results);
    results[0] = IValue(own(x, results[0].to_tensor()));
  });
}
// PyTorch copies where weft's operator gives a view.
template <Name kName>
void copying(std::string_view schema) {
  define_function(schema, [](std::span<IValue> arguments, IValue* results) {
    forward(op<kName>(), arguments, results);
    results[0] = IValue(results[0].to_tensor().clone());
  });
}

[[maybe_unused]] const bool kViews = [] {
  define("view(Tensor(a) self, int[] size) -> Tensor(a)",
         [](const Tensor& x, const Ints& size) { return view(x, size); });
  // After the one on sizes: a dtype is an integer, too.
  define("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
         [](const Tensor& x, DType dtype) { return view_as_dtype(x, dtype); });
  define("reshape(Tensor(a) self, int[] shape) -> Tensor(a)",
         [](const Tensor& x, const Ints& shape) { return reshape(x, shape); });
  define("_unsafe_view(Tensor self, int[] size) -> Tensor",
         [](const Tensor& x, const Ints& size) { return reshape(x, size); });
  define("_reshape_alias(Tensor(a) self, int[] size, int[] stride) -> Tensor(a)",
         [](const Tensor& x, const Ints& size, const Ints&) { return reshape(x, size); });
  define("view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
         [](const Tensor& x, const Tensor& other) { return view(x, other.shape()); });
  define("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", [](const Tensor& x, const Tensor& other) {
    return call(op<"reshape">(), {x}, {{"shape", ops::sym_shape(other)}});
  });
  define("permute(Tensor(a) self, int[] dims) -> Tensor(a)",
         [](const Tensor& x, const Ints& dims) { return permute(x, dims); });
  define("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
         [](const Tensor& x, int64_t a, int64_t b) { return transpose(x, a, b); });
  define("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
         [](const Tensor& x, int64_t a, int64_t b) { return transpose(x, a, b); });
  define("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
         [](const Tensor& x, int64_t a, int64_t b) { return transpose(x, a, b); });
  define("t(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) { return matrix_transpose(x); });
  define("numpy_T(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) { return reverse_dims(x); });
  define("numpy_T.a(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) { return reverse_dims(x); });
  define("mT(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) { return transpose(x, -2, -1); });
  define("mT.a(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) { return transpose(x, -2, -1); });
  define("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
         [](const Tensor& x, int64_t from, int64_t to) { return movedim(x, {from}, {to}); });
  define("movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
         [](const Tensor& x, const Ints& from, const Ints& to) { return movedim(x, from, to); });
  define("moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
         [](const Tensor& x, int64_t from, int64_t to) { return movedim(x, {from}, {to}); });
  define("moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
         [](const Tensor& x, const Ints& from, const Ints& to) { return movedim(x, from, to); });
  define("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
         [](const Tensor& x, int64_t dim) { return unsqueeze(x, dim); });
  define("squeeze(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) { return squeeze(x, {}); });
  define("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
         [](const Tensor& x, int64_t dim) { return squeeze(x, Ints{dim}); });
  define("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
         [](const Tensor& x, const Ints& dims) { return squeeze(x, dims); });
  define("select.int(Tensor(a) self, int dim, int index) -> Tensor(a)",
         [](const Tensor& x, int64_t dim, int64_t index) { return select(x, dim, index); });
  define("slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)",
         [](const Tensor& x, int64_t dim, OptionalInt start, OptionalInt stop, int64_t step) {
           return slice(x, dim, start, stop, step);
         });
  define("narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)",
         [](const Tensor& x, int64_t dim, int64_t start, int64_t length) {
           return narrow(x, dim, start, length);
         });
  define("narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)",
         [](const Tensor& x, int64_t dim, const Tensor& start, int64_t length) {
           WEFT_CHECK(start.dim() == 0 && is_integral(start.dtype()) && start.dtype() != DType::Bool,
                      fmt::format("narrow: start must be an integer tensor without dimensions, got {}",
                                  describe(start)));
           return narrow(x, dim, start.item().to_int(), length);
         });
  define("expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)",
         [](const Tensor& x, const Ints& size, bool) { return expand(x, size); });
  define("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
         [](const Tensor& x, const Tensor& other) { return expand_as(x, other); });
  define("broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)",
         [](const Tensor& x, const Ints& size) { return expand(x, size); });
  same<"as_strided">(
      "as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)");
  same<"flatten">("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)");
  same<"unflatten">("unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)");
  same<"unfold">("unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)");
  same<"diagonal">("diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)");
  same<"diagonal">("linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)");
  define("ravel(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) { return reshape(x, {-1}); });
  define("alias(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) { return alias(x); });
  define("detach(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) { return alias(x); });
  return true;
}();

[[maybe_unused]] const bool kInPlaceViews = [] {
  define(
      "squeeze_(Tensor(a!) self) -> Tensor(a!)",
      [](const Tensor& x) {
        become(x, squeeze(x, {}));
        return x;
      },
      false);
  define(
      "squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)",
      [](const Tensor& x, int64_t dim) {
        become(x, squeeze(x, Ints{dim}));
        return x;
      },
      false);
  define(
      "unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)",
      [](const Tensor& x, int64_t dim) {
        become(x, unsqueeze(x, dim));
        return x;
      },
      false);
  define(
      "t_(Tensor(a!) self) -> Tensor(a!)",
      [](const Tensor& x) {
        become(x, matrix_transpose(x));
        return x;
      },
      false);
  define(
      "transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
      [](const Tensor& x, int64_t a, int64_t b) {
        become(x, transpose(x, a, b));
        return x;
      },
      false);
  define(
      "swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)",
      [](const Tensor& x, int64_t a, int64_t b) {
        become(x, transpose(x, a, b));
        return x;
      },
      false);
  define(
      "detach_(Tensor(a!) self) -> Tensor(a!)", [](const Tensor& x) { return x; }, false);
  return true;
}();

[[maybe_unused]] const bool kPieces = [] {
  same<"chunk">("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]");
  same<"chunk">("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]");
  define("split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]",
         [](const Tensor& x, int64_t size, int64_t dim) { return split(x, size, dim); });
  define("unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]",
         [](const Tensor& x, int64_t size, int64_t dim) { return split(x, size, dim); });
  define("split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]",
         [](const Tensor& x, const Ints& sizes, int64_t dim) { return split_sizes(x, sizes, dim); });
  define("split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
         [](const Tensor& x, const Ints& sizes, int64_t dim) { return split_sizes(x, sizes, dim); });
  define("split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
         [](const Tensor& x, const Ints& sizes, int64_t dim) { return split_sizes(x, sizes, dim); });
  define("unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
         [](const Tensor& x, const Ints& sizes, int64_t dim) { return split_sizes(x, sizes, dim); });
  define("tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]",
         [](const Tensor& x, int64_t count, int64_t dim) { return sections(x, number(count), dim); });
  define("tensor_split.indices(Tensor(a -> *) self, int[] indices, int dim=0) -> Tensor(a)[]",
         [](const Tensor& x, const Ints& indices, int64_t dim) { return sections(x, sizes(indices), dim); });
  define(
      "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int "
      "dim=0) -> Tensor(a)[]",
      [](const Tensor& x, const Tensor& indices, int64_t dim) { return tensor_sections(x, indices, dim); });
  define("hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", [](const Tensor& x, int64_t count) {
    return equal_sections(x, number(count), x.dim() == 1 ? 0 : 1);
  });
  define("hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
         [](const Tensor& x, const Ints& indices) {
           return equal_sections(x, sizes(indices), x.dim() == 1 ? 0 : 1);
         });
  define("vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
         [](const Tensor& x, int64_t count) { return equal_sections(x, number(count), 0); });
  define("vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
         [](const Tensor& x, const Ints& indices) { return equal_sections(x, sizes(indices), 0); });
  define("dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
         [](const Tensor& x, int64_t count) { return equal_sections(x, number(count), 2); });
  define("dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
         [](const Tensor& x, const Ints& indices) { return equal_sections(x, sizes(indices), 2); });
  same<"unbind">("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]");
  return true;
}();

[[maybe_unused]] const bool kJoins = [] {
  define("cat(Tensor[] tensors, int dim=0) -> Tensor",
         [](const IValue& list, int64_t dim) { return cat(list, dim); });
  define("concat(Tensor[] tensors, int dim=0) -> Tensor",
         [](const IValue& list, int64_t dim) { return cat(list, dim); });
  define("concatenate(Tensor[] tensors, int dim=0) -> Tensor",
         [](const IValue& list, int64_t dim) { return cat(list, dim); });
  define("stack(Tensor[] tensors, int dim=0) -> Tensor", [](const IValue& list, int64_t dim) {
    return call(op<"stack">(), tensor_list(list), {{"dim", number(dim)}});
  });
  join<"hstack">("hstack(Tensor[] tensors) -> Tensor");
  join<"vstack">("vstack(Tensor[] tensors) -> Tensor");
  join<"vstack">("row_stack(Tensor[] tensors) -> Tensor");
  join<"dstack">("dstack(Tensor[] tensors) -> Tensor");
  join<"column_stack">("column_stack(Tensor[] tensors) -> Tensor");
  define("meshgrid(Tensor[] tensors) -> Tensor[]", [](const IValue& list) { return meshgrid(list, "ij"); });
  define("meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
         [](const IValue& list, const std::string& indexing) { return meshgrid(list, indexing); });
  define("broadcast_tensors(Tensor[] tensors) -> Tensor[]", [](const Tensors& tensors) {
    const SymShape shape = common_shape("broadcast_tensors", tensors);
    Tensors results;
    for (const Tensor& tensor : tensors)
      results.push_back(call(op<"expand">(), {tensor}, {{"shape", shape}}));
    return results;
  });
  same<"atleast_1d">("atleast_1d(Tensor self) -> Tensor");
  same<"atleast_2d">("atleast_2d(Tensor self) -> Tensor");
  same<"atleast_3d">("atleast_3d(Tensor self) -> Tensor");
  return true;
}();

[[maybe_unused]] const bool kRepetitions = [] {
  unshared<"repeat">("repeat(Tensor self, int[] repeats) -> Tensor");
  unshared<"tile">("tile(Tensor self, int[] dims) -> Tensor");
  copying<"flip">("flip(Tensor self, int[] dims) -> Tensor");
  copying<"fliplr">("fliplr(Tensor self) -> Tensor");
  copying<"flipud">("flipud(Tensor self) -> Tensor");
  copying<"rot90">("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor");
  copying<"diag">("diag(Tensor self, int diagonal=0) -> Tensor");
  define("roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor",
         [](const Tensor& x, const Ints& shifts, const Ints& dims) {
           return own(x, call(op<"roll">(), {x},
                              {{"shifts", sizes(shifts)}, {"dims", dims.empty() ? Attr() : sizes(dims)}}));
         });
  same_with_inplace<"tril">("tril(Tensor self, int diagonal=0) -> Tensor");
  same_with_inplace<"triu">("triu(Tensor self, int diagonal=0) -> Tensor");
  same<"trace">("trace(Tensor self) -> Tensor");
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
