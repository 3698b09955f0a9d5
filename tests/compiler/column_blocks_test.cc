// Reductions along rows in blocks, with lanes along columns: what is reduced so far is kept in the result.
#include "compare.h"

namespace weft::compiler::harness {
namespace {

using Tensors = std::vector<Tensor>;

Tensor reduce_columns(std::string_view name, const Tensor& x) {
  return ops::call1(name, {x}, {{"dim", SymShape{Sym(0)}}, {"keepdim", false}});
}

void reductions_of_columns(DType dtype, const Shape& shape, bool symbolic) {
  const Tensors in = {sample(shape, dtype, 1)};
  const double tolerance = dtype == DType::F32 ? 1e-5 : dtype == DType::F64 ? 1e-13 : 0;
  run_case({"sum", [](const Tensors& x) { return Tensors{reduce_columns("sum", x[0])}; }, in, tolerance}, {},
           symbolic);
  run_case({"max", [](const Tensors& x) { return Tensors{reduce_columns("amax", x[0])}; }, in}, {}, symbolic);
  run_case({"twice the least square",
            [](const Tensors& x) {
              const Tensor least = reduce_columns("amin", ops::call1("mul", {x[0], x[0]}, {}));
              return Tensors{ops::call1("add", {least, least}, {})};
            },
            in},
           {}, symbolic);
}

const Shape kRowsAndColumns[] = {{300, 65}, {1000, 100}, {513, 128}, {700, 1000}, {260, 5001}};

TEST(ColumnBlocks, AllWidths) {
  for (const Shape& shape : kRowsAndColumns) reductions_of_columns(DType::F64, shape, false);
  for (DType dtype : {DType::F32, DType::I64, DType::I32}) reductions_of_columns(dtype, {260, 5001}, false);
  for (DType dtype : {DType::F64, DType::I32}) reductions_of_columns(dtype, {513, 128}, true);
}

TEST(LongColumnBlocks, EveryDTypeAndShape) {
  for (DType dtype : {DType::F64, DType::F32, DType::I64, DType::I32})
    for (const Shape& shape : kRowsAndColumns)
      for (bool symbolic : {false, true}) reductions_of_columns(dtype, shape, symbolic);
}

}  // namespace
}  // namespace weft::compiler::harness
