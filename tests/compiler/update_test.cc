// Arrays of which a part is replaced: the part's kernel writes where it belongs, the rest is copied.
#include "compare.h"
#include "ops/registry.h"

namespace weft::compiler::harness {
namespace {

using namespace ops::build;
using Tensors = std::vector<Tensor>;

Tensor operate(std::string_view name, Tensors operands) { return ops::call1(name, std::move(operands), {}); }
Tensor part(const Tensor& x, int64_t dim, Sym start, Sym stop) { return slice(x, dim, start, stop, 1); }
Tensor update(const Tensor& base, const Tensor& source, int64_t dim, Sym start, Sym stop) {
  return ops::call1("slice_update", {base, source},
                    {{"dim", Sym(dim)}, {"start", start}, {"stop", stop}, {"step", Sym(1)}});
}
Sym size(const Tensor& x, int64_t dim) { return ops::sym_shape(x)[static_cast<size_t>(dim)]; }

// The mean of the four neighbours, inside.
Tensor smoothed(const Tensor& u) {
  const Sym n = size(u, 0), m = size(u, 1);
  const auto at = [&](int64_t i, int64_t j) {
    return part(part(u, 0, Sym(1 + i), n - Sym(1) + Sym(i)), 1, Sym(1 + j), m - Sym(1) + Sym(j));
  };
  const Tensor sum =
      operate("add", {operate("add", {at(-1, 0), at(1, 0)}), operate("add", {at(0, -1), at(0, 1)})});
  const Tensor mean = operate("mul", {sum, Tensor::scalar(0.25, u.dtype())});
  const Tensor rows = update(part(u, 0, Sym(1), n - Sym(1)), mean, 1, Sym(1), m - Sym(1));
  return update(u, rows, 0, Sym(1), n - Sym(1));
}

Tensors stencil(const Tensors& in) { return {smoothed(in[0])}; }
Tensors three_steps(const Tensors& in) {
  const Tensor u = smoothed(smoothed(smoothed(in[0])));
  return {u, operate("add", {u, in[0]})};
}
Tensors rows_and_columns(const Tensors& in) {
  const Tensor &x = in[0], twice = operate("add", {x, x});
  const Tensor rows = update(x, part(operate("mul", {x, twice}), 0, Sym(0), Sym(3)), 0, Sym(2), Sym(5));
  const Tensor doubled = operate("add", {part(rows, 1, Sym(0), Sym(2)), part(x, 1, Sym(1), Sym(3))});
  return {update(rows, doubled, 1, Sym(2), Sym(4)), rows};
}
// The source has other uses, and one part of a source is itself the base of an update.
Tensors shared(const Tensors& in) {
  const Tensor &x = in[0], square = operate("mul", {part(x, 0, Sym(1), Sym(4)), part(x, 0, Sym(2), Sym(5))});
  const Tensor first = update(x, square, 0, Sym(0), Sym(3)),
               second = update(first, square, 0, Sym(2), Sym(5));
  return {second, operate("sub", {square, part(second, 0, Sym(0), Sym(3))})};
}
Tensors reduced(const Tensors& in) {
  const Tensor total = ops::call1("sum", {in[0]}, {{"dim", SymShape{Sym(0)}}, {"keepdim", true}});
  return {update(operate("add", {in[0], in[0]}), total, 0, Sym(3), Sym(4))};
}

TEST(Updates, PartsOfArrays) {
  for (DType dtype : {DType::F64, DType::F32, DType::I64})
    for (const Shape& shape : {Shape{7, 6}, Shape{40, 4}, Shape{9, 300}, Shape{130, 130}})
      for (bool symbolic : {false, true}) {
        const Tensors in = {sample(shape, dtype, 1)};
        if (is_floating(dtype)) run_case({"stencil", stencil, in}, {}, symbolic);
        if (is_floating(dtype)) run_case({"three steps", three_steps, in}, {}, symbolic);
        run_case({"rows and columns", rows_and_columns, in}, {}, symbolic);
        run_case({"shared", shared, in}, {}, symbolic);
        if (!is_floating(dtype)) run_case({"reduced", reduced, in}, {}, symbolic);
      }
}

TEST(Updates, OnlyThePartIsWrittenBack) {
  const auto graph = ir::parse_graph(R"(graph f[s0=50](%x: f64[s0, 20], %y: f64[s0, 20]) {
  %1: f64[s0, 18] = slice(%y) {dim=1, start=0, stop=18, step=1}
  %2: f64[s0, 18] = slice(%x) {dim=1, start=2, stop=20, step=1}
  %3: f64[s0, 18] = mul(%1, %2)
  %4: f64[s0, 20] = slice_update(%x, %3) {dim=1, start=1, stop=19, step=1}
  write %x = %4
  return
}
)");
  const auto compiled = compile(graph->clone());
  EXPECT_EQ(compiled->describe().find("copy"), std::string::npos) << compiled->describe();
  const Tensor x = sample({50, 20}, DType::F64, 1), y = sample({50, 20}, DType::F64, 2);
  const Tensor want = x.clone();
  ir::interpret(*graph, {want, y});
  compiled->run({x, y});
  expect_equal(x, want, 0, "written back");
}

}  // namespace
}  // namespace weft::compiler::harness
