// argmin and argmax along rows and of whole arrays: ties, NaN, infinities, rows that do not fill the lanes,
// chunks.
#include "compare.h"

namespace weft::compiler::harness {
namespace {

using Tensors = std::vector<Tensor>;

Tensor arg(std::string_view name, const Tensor& x, ops::Attr dim) {
  return ops::call1(name, {x}, {{"dim", dim}, {"keepdim", false}});
}

Tensors along_rows(const Tensors& in) { return {arg("argmin", in[0], Sym(1)), arg("argmax", in[0], Sym(1))}; }
Tensors of_everything(const Tensors& in) {
  return {arg("argmin", in[0], std::monostate()), arg("argmax", in[0], std::monostate())};
}

// Few different values, so that most are ties; `special` puts NaN, infinities and zeros of both signs among
// them.
Tensor with_ties(const Shape& shape, DType dtype, unsigned seed, bool special) {
  const Tensor x = sample(shape, DType::F64, seed, special);
  for (int64_t i = 0; i < x.numel(); ++i) {
    double& value = x.data_as<double>()[i];
    if (std::isfinite(value)) value = is_signed(dtype) ? std::floor(value) : std::fabs(std::floor(value));
  }
  return x.to(dtype);
}

void rows_of(DType dtype, int64_t n) {
  run_case({"rows of " + std::to_string(n), along_rows, {with_ties({7, n}, dtype, 3, is_floating(dtype))}},
           {}, n == 127);
}

TEST(ArgLanes, Rows) {
  for (DType dtype : {DType::F32, DType::I64})
    for (int64_t n : {9, 63, 64, 65, 127}) rows_of(dtype, n);
  for (DType dtype : {DType::F64, DType::I32, DType::U8, DType::I16, DType::Bool}) rows_of(dtype, 127);
}

TEST(LongArgLanes, Rows) {
  for (DType dtype : {DType::F32, DType::F64, DType::I32, DType::I64, DType::U8, DType::I16, DType::Bool})
    for (int64_t n : {9, 63, 64, 65, 127, 1000}) rows_of(dtype, n);
}

TEST(ArgLanes, Everything) {
  for (DType dtype : {DType::F32, DType::F64, DType::I64})
    for (int64_t n : {100, 16384 * 3 + 5, 5000011})
      for (bool special : {false, true})
        run_case({"all of " + std::to_string(n),
                  of_everything,
                  {with_ties({n}, dtype, 5, special && is_floating(dtype))}},
                 {}, n == 100);
}

TEST(ArgLanes, OneValueOnly) {
  for (double value : std::vector<double>{-INFINITY, INFINITY, 0.0, NAN})
    for (int64_t n : {40, 70, 40000}) {
      const Tensor x = Tensor::empty({n}, DType::F64);
      std::fill_n(x.data_as<double>(), n, value);
      run_case({"all equal", of_everything, {x}});
      run_case({"all equal", of_everything, {x.to(DType::F32)}});
      x.data_as<double>()[n - 1] = NAN;
      run_case({"NaN last", of_everything, {x}});
    }
}

}  // namespace
}  // namespace weft::compiler::harness
