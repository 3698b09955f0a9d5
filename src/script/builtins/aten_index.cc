// Reading and writing by index tensors and masks.
#include <fmt/format.h>

#include "core/printable.h"
#include "script/builtins/aten.h"

namespace weft::jit::aten {
namespace {

Attr axis(int64_t dim) { return number(dim); }

Tensor index(const Tensor& x, const IValue& indices) {
  Tensors operands = tensor_list(indices);
  operands.insert(operands.begin(), x);
  return call(op<"index">(), std::move(operands));
}

Tensor index_put(const Tensor& x, const IValue& indices, const Tensor& values, bool accumulate) {
  WEFT_CHECK_TYPE(
      values.dtype() == x.dtype() || values.dim() == 0,
      fmt::format(
          "index_put: values must have the dtype of the tensor they are put into\n  self: {}   values: {}",
          describe(x), describe(values)));
  Tensors operands = tensor_list(indices);
  operands.insert(operands.begin(), {x, cast(values, x.dtype())});
  return call(op<"index_put">(), std::move(operands), {{"accumulate", accumulate}});
}

Tensor full_of(const Tensor& like, Scalar value, const Tensor& shaped) {
  return call(op<"full_like">(), {shaped}, {{"value", value}, {"dtype", like.dtype()}});
}

// "add" or "multiply": what several values for one element do.
Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                      const std::string& reduce) {
  if (reduce == "add") return call(op<"scatter_add">(), {x, index, src}, {{"dim", axis(dim)}});
  if (reduce == "multiply")
    return call(op<"scatter_combine">(), {x, index, src}, {{"dim", axis(dim)}, {"reduce", std::string("prod")}});
  throw_error(ErrorKind::Runtime,
              fmt::format("scatter(): reduce argument must be either add or multiply, got {}.", printable(reduce)));
}

Tensor scatter_value(const Tensor& x, int64_t dim, const Tensor& index, Scalar value) {
  return call(op<"scatter">(), {x, index, full_of(x, value, index)}, {{"dim", axis(dim)}});
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  // Masks of uint8 are what programs of old versions have.
  return call(op<"masked_fill">(), {x, mask.dtype() == DType::U8 ? cast(mask, DType::Bool) : mask},
              {{"value", value}});
}

Tensor masked_fill_by(const Tensor& x, const Tensor& mask, const Tensor& value) {
  WEFT_CHECK(value.dim() == 0,
             fmt::format("masked_fill: value must be a number or a tensor without dimensions, got {}",
                         describe(value)));
  return promoted(op<"where">(), {mask, cast(value, x.dtype()), x});
}

Tensor embedding(const Tensor& weight, const Tensor& indices) {
  return call(op<"embedding">(), {indices, weight});
}

Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, OptionalInt dim) {
  return call(op<"repeat_interleave">(), {x, repeats}, {{"dim", number(dim)}});
}

// A copy of x with `part`, a function of it that gives a view, replaced by src.
template <class View>
Tensor replaced(const Tensor& x, const Tensor& src, View view) {
  Tensor result = x.clone();
  view(result).copy_from(src);
  return result;
}

[[maybe_unused]] const bool kIndexing = [] {
  define("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
         [](const Tensor& x, const IValue& indices) { return index(x, indices); });
  define("index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
         [](const Tensor& x, const IValue& indices) { return index(x, indices); });
  for (const char* name : {"", ".hacked_twin"}) {
    const std::string list = *name ? "Tensor[] indices" : "Tensor?[] indices";
    with_inplace("index_put" + std::string(name) + "(Tensor self, " + list +
                     ", Tensor values, bool accumulate=False) -> Tensor",
                 [](const Tensor& x, const IValue& indices, const Tensor& values, bool accumulate) {
                   return index_put(x, indices, values, accumulate);
                 });
    define("_index_put_impl_" + std::string(name) + "(Tensor(a!) self, " + list +
               ", Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor(a!)",
           [](const Tensor& x, const IValue& indices, const Tensor& values, bool accumulate, bool) {
             x.copy_from(index_put(x, indices, values, accumulate));
             return x;
           });
  }
  same<"index_select">("index_select(Tensor self, int dim, Tensor index) -> Tensor");
  define("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
         [](const Tensor& x, int64_t dim, const Tensor& index, bool) {
           return call(op<"gather">(), {x, index}, {{"dim", axis(dim)}});
         });
  same_with_inplace<"scatter">("scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor");
  same_with_inplace<"scatter_add">("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor");
  with_inplace("scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
               [](const Tensor& x, int64_t dim, const Tensor& index, Scalar value) {
                 return scatter_value(x, dim, index, value);
               });
  with_inplace("scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
               [](const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                  const std::string& reduce) { return scatter_reduce(x, dim, index, src, reduce); });
  with_inplace(
      "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
      [](const Tensor& x, int64_t dim, const Tensor& index, Scalar value, const std::string& reduce) {
        return scatter_reduce(x, dim, index, full_of(x, value, index), reduce);
      });
  same_with_inplace<"index_add">(
      "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar "
      "alpha=1) -> Tensor");
  same_with_inplace<"index_copy">("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor");
  same_with_inplace<"index_fill">(
      "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> "
      "Tensor");
  with_inplace("index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
               [](const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value) {
                 return call(op<"index_fill">(), {x, index}, {{"dim", axis(dim)}, {"value", value.item()}});
               });
  define("take(Tensor self, Tensor index) -> Tensor",
         [](const Tensor& x, const Tensor& index) { return call(op<"take">(), {x, index}); });
  same<"take_along_dim">("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor");
  return true;
}();

[[maybe_unused]] const bool kMasks = [] {
  with_inplace("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
               [](const Tensor& x, const Tensor& mask, Scalar value) { return masked_fill(x, mask, value); });
  with_inplace("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
               [](const Tensor& x, const Tensor& mask, const Tensor& value) {
                 return masked_fill_by(x, mask, value);
               });
  same<"masked_select">("masked_select(Tensor self, Tensor mask) -> Tensor");
  same<"nonzero">("nonzero(Tensor self) -> Tensor");
  same<"nonzero">("argwhere(Tensor self) -> Tensor");
  for (const char* schema :
       {"nonzero_numpy(Tensor self) -> Tensor[]", "where(Tensor condition) -> Tensor[]"}) {
    define(schema, [](const Tensor& x) {
      const Tensor shaped = x.dim() == 0 ? call(op<"reshape">(), {x}, {{"shape", sizes(Ints{1})}}) : x;
      return call_all(op<"unbind">(), {call(op<"nonzero">(), {shaped})}, {{"dim", axis(1)}});
    });
  }
  return true;
}();

[[maybe_unused]] const bool kLookups = [] {
  define(
      "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool "
      "sparse=False) -> Tensor",
      [](const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
        return embedding(weight, indices);
      });
  define("embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)",
         [](const Tensor& weight, const Tensor& indices, double max_norm, double norm_type) {
           weight.copy_from(call(op<"embedding_renorm">(), {weight, indices},
                                 {{"max_norm", max_norm}, {"norm_type", norm_type}}));
           return weight;
         });
  same<"one_hot">("one_hot(Tensor self, int num_classes=-1) -> Tensor");
  define(
      "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) "
      "-> "
      "Tensor",
      [](const Tensor& x, const Tensor& repeats, OptionalInt dim, OptionalInt) {
        return repeat_interleave(x, repeats, dim);
      });
  define(
      "repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> "
      "Tensor",
      [](const Tensor& x, int64_t repeats, OptionalInt dim, OptionalInt) {
        return repeat_interleave(x, Tensor::of(Ints{repeats}), dim);
      });
  define("repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor",
         [](const Tensor& repeats, OptionalInt) {
           const Tensor numbers = call(op<"arange">(), {}, {{"start", Scalar(repeats.size(0))}});
           return repeat_interleave(numbers, repeats, 0);
         });
  return true;
}();

[[maybe_unused]] const bool kReplacements = [] {
  define("select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor",
         [](const Tensor& x, const Tensor& src, int64_t dim, int64_t index) {
           return replaced(x, src, [&](const Tensor& copy) {
             return call(op<"select">(), {copy},
                         {{"dim", axis(dim)}, {"index", number(index < 0 ? index + x.size(dim) : index)}});
           });
         });
  define("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
         [](const Tensor& x, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
           return replaced(x, src, [&](const Tensor& copy) {
             return call(op<"diagonal">(), {copy},
                         {{"offset", number(offset)}, {"dim1", number(dim1)}, {"dim2", number(dim2)}});
           });
         });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
