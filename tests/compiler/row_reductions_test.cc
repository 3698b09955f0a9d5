// Reductions of rows that read numbers of their row beside it, as a layer normalization and what follows it
// do.
#include "compare.h"

namespace weft::compiler::harness {
namespace {

using Tensors = std::vector<Tensor>;

// The largest magnitude of (x - m) * s * w in each row: m and s a number per row, w one per column.
Tensors largest(const Tensors& in) {
  Tensor x = ops::call1("mul", {ops::call1("sub", {in[0], in[1]}, {}), in[2]}, {});
  x = ops::call1("abs", {ops::call1("mul", {x, in[3]}, {})}, {});
  return {ops::call1("amax", {x}, {{"dim", SymShape{Sym(2)}}, {"keepdim", false}})};
}

TEST(RowReductions, NumbersOfEachRow) {
  for (const DType dtype : {DType::F32, DType::F64})
    for (const int64_t columns : {7, 16, 65, 768})
      for (const Shape& rows : {Shape{1, 33}, Shape{3, 64}})
        for (const bool symbolic : {false, true}) {
          const Tensors in = {sample({rows[0], rows[1], columns}, dtype, 1),
                              sample({rows[0], rows[1], 1}, dtype, 2),
                              sample({rows[0], rows[1], 1}, dtype, 3), sample({columns}, dtype, 4)};
          run_case({"largest", largest, in}, {}, symbolic);
        }
}

}  // namespace
}  // namespace weft::compiler::harness
