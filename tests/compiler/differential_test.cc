// Compiled graphs against the interpreter: operators, layouts, sizes around the number of lanes, dtypes.
#include "compare.h"
#include "ops/registry.h"
#include "runtime/toolchain.h"
#include "weft/parallel.h"

namespace weft::compiler::harness {
namespace {

using namespace ops::build;
using Tensors = std::vector<Tensor>;

Tensor op(std::string_view name, Tensors operands, ops::Attrs attrs = {}) {
  return ops::call1(name, std::move(operands), std::move(attrs));
}
Tensor reduce(std::string_view name, const Tensor& x, std::vector<int64_t> dims, bool keepdim = false) {
  if (name == "argmin" || name == "argmax") {
    ops::Attr dim = dims.empty() ? ops::Attr(std::monostate()) : ops::Attr(Sym(dims[0]));
    return op(name, {x}, {{"dim", dim}, {"keepdim", keepdim}});
  }
  return op(name, {x}, {{"dim", SymShape(dims.begin(), dims.end())}, {"keepdim", keepdim}});
}
Tensor constant(double value, DType dtype) { return Tensor::scalar(value, dtype); }

Tensors chain(const Tensors& in) {
  Tensor y = op("mul", {op("add", {in[0], in[1]}), in[0]});
  return {op("sub", {y, op("sqrt", {op("abs", {in[1]})})})};
}

Tensors softmax(const Tensors& in) {
  const Tensor& x = in[0];
  int64_t last = x.dim() - 1;
  Tensor e = op("exp", {op("sub", {x, reduce("amax", x, {last}, true)})});
  return {op("div", {e, reduce("sum", e, {last}, true)})};
}

Tensors layer_norm(const Tensors& in) {
  const Tensor& x = in[0];
  int64_t last = x.dim() - 1;
  const Tensor n = constant(static_cast<double>(x.size(last)), x.dtype());
  Tensor centered = op("sub", {x, op("div", {reduce("sum", x, {last}, true), n})});
  Tensor variance = op("div", {reduce("sum", op("mul", {centered, centered}), {last}, true), n});
  return {op("mul",
             {op("div", {centered, op("sqrt", {op("add", {variance, constant(1e-5, x.dtype())})})}), in[1]})};
}

TEST(Differential, PointwiseAtEverySize) {
  for (DType dtype : {DType::F32, DType::F64, DType::I32, DType::I64})
    for (int64_t n : {0, 1, 2, 7, 8, 9, 31, 33, 1000}) {
      Function f = is_floating(dtype) ? Function(chain) : [](const Tensors& in) {
        return Tensors{op("sub", {op("mul", {in[0], in[1]}), in[0]})};
      };
      run_case({"chain", f, {sample({n}, dtype, 1, true), sample({n}, dtype, 2, true)}}, {},
               n == 1000 || n == 33);
    }
}

TEST(Differential, Large) {
  run_case({"chain", chain, {sample({1000003}, DType::F64, 1), sample({1000003}, DType::F64, 2)}});
  run_case({"chain", chain, {sample({4000037}, DType::F32, 1), sample({4000037}, DType::F32, 2)}});
  run_case({"sum",
            [](const Tensors& in) { return Tensors{reduce("sum", in[0], {0})}; },
            {sample({1000003}, DType::F64, 1)},
            1e-13});
}

TEST(Differential, Broadcasts) {
  const Tensor x = sample({5, 19}, DType::F32, 1);
  for (const Shape& shape :
       {Shape{19}, Shape{5, 1}, Shape{1, 19}, Shape{1}, Shape{}, Shape{3, 5, 19}, Shape{3, 1, 1}})
    run_case({"broadcast",
              [](const Tensors& in) { return Tensors{op("mul", {op("add", {in[0], in[1]}), in[0]})}; },
              {x, sample(shape, DType::F32, 2)}},
             {}, shape.size() == 3);
}

TEST(Differential, Layouts) {
  const Tensor base = sample({24, 36}, DType::F64, 1);
  const Tensor other = sample({36, 24}, DType::F64, 2);
  std::vector<Tensor> views = {base.as_strided({36, 24}, {1, 36}, 0),
                               base.as_strided({12, 18}, {72, 2}, 0),
                               base.as_strided({24, 36}, {-36, -1}, 24 * 36 - 1),
                               base.as_strided({24, 36}, {0, 1}, 36),
                               base.as_strided({24, 12}, {36, 3}, 1),
                               base.as_strided({36}, {24}, 0),
                               base.as_strided({100}, {-2}, 300)};
  for (const Tensor& view : views)
    run_case({"layout",
              [](const Tensors& in) {
                return Tensors{op("mul", {in[0], op("add", {in[0], constant(1, DType::F64)})})};
              },
              {view}});
  run_case({"both", [](const Tensors& in) { return Tensors{op("mul", {in[0], in[1]})}; }, {views[0], other}});
}

TEST(Differential, LayoutsAfterCompiling) {
  auto f = [](const Tensors& in) { return Tensors{op("mul", {in[0], in[0]})}; };
  const Tensor x = sample({12, 10}, DType::F32, 3);
  const auto graph = trace("f", f, {x}, true);
  const auto compiled = compile(graph->clone());
  for (int64_t step = 1; step < 14; ++step) {
    const Tensor big = sample({12, 10 * step}, DType::F32, 4);
    const Tensor view = big.as_strided({12, 10}, {10 * step, step}, 0);
    expect_equal(compiled->run({view})[0], ir::interpret(*graph, {view})[0], 0, "step");
  }
}

TEST(Differential, Views) {
  const Tensor x = sample({6, 8, 10}, DType::F32, 1);
  auto twice = [](const Tensor& t) { return op("add", {t, op("mul", {t, t})}); };
  std::vector<std::pair<std::string, Function>> cases = {
      {"permute", [&](const Tensors& in) { return Tensors{twice(permute(in[0], {2, 0, 1}))}; }},
      {"reshape merge", [&](const Tensors& in) { return Tensors{twice(reshape(in[0], {48, 10}))}; }},
      {"reshape split", [&](const Tensors& in) { return Tensors{twice(reshape(in[0], {6, 2, 4, 5, 2}))}; }},
      {"reshape across", [&](const Tensors& in) { return Tensors{twice(reshape(in[0], {5, 96}))}; }},
      {"reshape of a permutation",
       [&](const Tensors& in) { return Tensors{twice(reshape(permute(twice(in[0]), {2, 0, 1}), {60, 8}))}; }},
      {"slice", [&](const Tensors& in) { return Tensors{twice(slice(in[0], 1, Sym(1), Sym(7), 2))}; }},
      {"reverse",
       [&](const Tensors& in) { return Tensors{twice(slice(in[0], 2, std::nullopt, std::nullopt, -1))}; }},
      {"diagonal",
       [&](const Tensors& in) {
         return Tensors{
             twice(op("diagonal", {in[0]}, {{"offset", Sym(1)}, {"dim1", Sym(1)}, {"dim2", Sym(2)}}))};
       }},
      {"unfold",
       [&](const Tensors& in) {
         return Tensors{twice(op("unfold", {in[0]}, {{"dim", Sym(2)}, {"size", Sym(3)}, {"step", Sym(2)}}))};
       }},
      {"expand",
       [&](const Tensors& in) {
         return Tensors{twice(expand(slice(in[0], 1, Sym(0), Sym(1)), {6, 8, 10}))};
       }},
      {"output view",
       [&](const Tensors& in) { return Tensors{permute(twice(in[0]), {1, 0, 2}), reshape(in[0], {480})}; }},
      {"flip and add",
       [&](const Tensors& in) {
         Tensor r = slice(in[0], 2, std::nullopt, std::nullopt, -1);
         return Tensors{op("sub", {in[0], r})};
       }},
      {"neighbours",
       [&](const Tensors& in) {
         return Tensors{
             op("sub", {slice(in[0], 2, Sym(1), std::nullopt), slice(in[0], 2, std::nullopt, Sym(-1))})};
       }},
  };
  for (const auto& [name, f] : cases) run_case({name, f, {x}});
  for (const auto& [name, f] : cases)
    if (name == "permute" || name == "neighbours" || name == "reverse" || name == "flip and add")
      run_case({name + " symbolic", f, {x}}, {}, true);
}

TEST(Differential, Reductions) {
  for (DType dtype : {DType::F32, DType::F64, DType::I32, DType::U8, DType::Bool, DType::F16, DType::BF16})
    for (const auto& dims : std::vector<std::vector<int64_t>>{{0}, {1}, {}}) {
      Function exact = [=](const Tensors& in) {
        Tensors results;
        for (const char* name : {"amin", "amax", "argmin", "argmax", "any", "all"})
          results.push_back(reduce(name, in[0], dims));
        if (!is_floating(dtype)) results.push_back(reduce("sum", in[0], dims));
        if (!is_floating(dtype)) results.push_back(reduce("prod", in[0], dims));
        return results;
      };
      run_case({"exact " + std::string(short_name(dtype)), exact, {sample({21, 70}, dtype, 5)}});
      if (!is_floating(dtype)) continue;
      run_case({"special " + std::string(short_name(dtype)), exact, {sample({33, 40}, dtype, 6, true)}});
      double tolerance = dtype == DType::F64 ? 1e-13 : dtype == DType::F32 ? 1e-5 : 2e-2;
      Function rounded = [=](const Tensors& in) {
        return Tensors{reduce("sum", in[0], dims), reduce("prod", in[1], dims)};
      };
      run_case({"rounded " + std::string(short_name(dtype)),
                rounded,
                {sample({21, 70}, dtype, 5), sample({9, 11}, dtype, 5)},
                tolerance});
    }
}

TEST(Differential, ReductionShapes) {
  for (const auto& dims : std::vector<std::vector<int64_t>>{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}})
    for (bool keepdim : {false, true})
      for (const Shape& shape : {Shape{3, 4, 5}, Shape{17, 9, 33}, Shape{2, 3, 600}})
        run_case({"sum",
                  [=](const Tensors& in) {
                    return Tensors{reduce("sum", op("mul", {in[0], in[0]}), dims, keepdim)};
                  },
                  {sample(shape, DType::F64, 1)},
                  1e-13},
                 {}, shape[0] == 17 && keepdim);
}

TEST(Differential, RowKernels) {
  for (const Shape& shape : {Shape{7, 5}, Shape{64, 64}, Shape{3, 1000}, Shape{2, 3, 130}, Shape{1, 40}}) {
    for (DType dtype : {DType::F32, DType::F64}) {
      double tolerance = dtype == DType::F32 ? 1e-5 : 1e-13;
      run_case({"softmax", softmax, {sample(shape, dtype, 1)}, tolerance}, {}, shape[0] == 64);
      run_case(
          {"layer norm", layer_norm, {sample(shape, dtype, 1), sample({shape.back()}, dtype, 2)}, tolerance});
    }
  }
}

TEST(Differential, SeveralReductionsAndStages) {
  const Tensor x = sample({40, 300}, DType::F64, 1);
  std::vector<std::pair<std::string, Function>> cases = {
      {"range",
       [](const Tensors& in) {
         return Tensors{op("sub", {reduce("amax", in[0], {1}), reduce("amin", in[0], {1})})};
       }},
      {"sum and sum of squares",
       [](const Tensors& in) {
         return Tensors{reduce("sum", in[0], {0, 1}), reduce("sum", op("mul", {in[0], in[0]}), {0, 1})};
       }},
      {"normalize all",
       [](const Tensors& in) {
         return Tensors{op("div", {in[0], reduce("sum", op("abs", {in[0]}), {0, 1})})};
       }},
      {"normalize columns",
       [](const Tensors& in) { return Tensors{op("sub", {in[0], reduce("amax", in[0], {0}, true)})}; }},
      {"rows then all",
       [](const Tensors& in) {
         return Tensors{reduce("sum", op("sqrt", {reduce("sum", op("mul", {in[0], in[0]}), {1})}), {0})};
       }},
      {"values and their sum",
       [](const Tensors& in) {
         Tensor e = op("exp", {op("neg", {op("abs", {in[0]})})});
         return Tensors{e, reduce("sum", e, {1})};
       }},
      {"both sums",
       [](const Tensors& in) { return Tensors{reduce("sum", in[0], {0}), reduce("sum", in[0], {1})}; }},
      {"pairwise distance",
       [](const Tensors& in) {
         Tensor a = slice(in[0], 0, Sym(0), Sym(9)), b = slice(in[0], 0, Sym(9), Sym(20));
         Tensor d = op("sub", {unsqueeze(a, 1), unsqueeze(b, 0)});
         return Tensors{op("sqrt", {reduce("sum", op("mul", {d, d}), {2})})};
       }},
      {"nearest of many",
       [](const Tensors& in) {
         Tensor a = slice(slice(in[0], 0, Sym(0), Sym(30)), 1, Sym(0), Sym(3)),
                b = slice(slice(in[0], 0, Sym(20), Sym(40)), 1, Sym(0), Sym(3));
         Tensor d = op("sub", {unsqueeze(a, 1), unsqueeze(b, 0)});
         return Tensors{reduce("argmin", op("sqrt", {reduce("sum", op("mul", {d, d}), {2})}), {1})};
       }},
  };
  for (const auto& [name, f] : cases) run_case({name, f, {x}, 1e-12});
  for (const auto& [name, f] : cases)
    if (name.find("pair") == std::string::npos && name.find("nearest") == std::string::npos)
      run_case({name + " symbolic", f, {x}, 1e-12}, {}, true);
}

TEST(Differential, CastsAndMixedWidths) {
  const DType dtypes[] = {DType::Bool, DType::U8,  DType::I8,  DType::I16, DType::U16,
                          DType::I32,  DType::U32, DType::I64, DType::U64, DType::F16,
                          DType::BF16, DType::F32, DType::F64};
  for (DType from : dtypes) {
    Tensor x = sample({37}, from, 1);
    Function f = [&](const Tensors& in) {
      Tensors results;
      for (DType to : dtypes) {
        bool risky = is_floating(from) &&
                     (to == DType::U8 || to == DType::U16 || to == DType::U32 || to == DType::U64);
        if (to != from && !risky) results.push_back(cast(in[0], to));
      }
      return results;
    };
    run_case({"casts from " + std::string(short_name(from)), f, {x}});
  }
  run_case({"compare and select",
            [](const Tensors& in) {
              Tensor mask = op("lt", {in[0], in[1]});
              return Tensors{op("where", {mask, in[0], in[1]}), mask,
                             op("logical_and", {mask, op("lt", {in[1], constant(0, DType::F32)})})};
            },
            {sample({77}, DType::F32, 1, true), sample({77}, DType::F32, 2, true)}});
  run_case({"masks of two widths",
            [](const Tensors& in) {
              Tensor a = op("lt", {in[0], constant(0, DType::F32)}),
                     b = op("lt", {in[1], constant(0, DType::F64)});
              return Tensors{op("logical_or", {a, b}),
                             op("where", {op("logical_and", {a, b}), in[1], op("neg", {in[1]})})};
            },
            {sample({77}, DType::F32, 1, true), sample({77}, DType::F64, 2, true)}});
}

TEST(Differential, Halves) {
  for (DType dtype : {DType::F16, DType::BF16})
    run_case({"halves", chain, {sample({70}, dtype, 1), sample({70}, dtype, 2)}});
}

TEST(Differential, Creation) {
  run_case({"iota",
            [](const Tensors& in) {
              return Tensors{op("add", {in[0], iota(19, Scalar(2.0), Scalar(0.5), DType::F32)}),
                             iota(7, Scalar(0), Scalar(1), DType::I64)};
            },
            {sample({5, 19}, DType::F32, 1)}});
  run_case({"full",
            [](const Tensors& in) {
              return Tensors{op("add", {in[0], full({5, 19}, Scalar(2.5), DType::F32)}),
                             full({3}, Scalar(1), DType::I64)};
            },
            {sample({5, 19}, DType::F32, 1)}});
}

TEST(Differential, OperatorCallsBetweenKernels) {
  run_case({"matmul",
            [](const Tensors& in) {
              if (!ops::find_op("matmul")) return Tensors{in[0]};
              Tensor y = op("matmul", {op("add", {in[0], in[0]}), in[1]});
              return Tensors{op("mul", {y, y}), reduce("sum", y, {0})};
            },
            {sample({8, 12}, DType::F64, 1), sample({12, 5}, DType::F64, 2)},
            1e-12});
}

void widths_and_toolchains(const runtime::Toolchain& toolchain, int width) {
  CompileOptions options{
      .toolchain = std::string(toolchain.name()), .vector_bytes = width, .input_strides = {}};
  SCOPED_TRACE(options.toolchain + " " + std::to_string(width));
  run_case({"chain", chain, {sample({101}, DType::F32, 1, true), sample({101}, DType::F32, 2, true)}},
           options);
  run_case({"softmax", softmax, {sample({5, 77}, DType::F32, 1)}, 1e-5}, options);
  run_case({"argmax",
            [](const Tensors& in) {
              return Tensors{reduce("argmax", in[0], {0}), reduce("argmin", in[0], {1}),
                             reduce("amax", in[0], {})};
            },
            {sample({45, 77}, DType::F64, 1, true)}},
           options);
  run_case({"halves", chain, {sample({70}, DType::BF16, 1), sample({70}, DType::BF16, 2)}}, options);
  run_case({"halves", chain, {sample({70}, DType::F16, 1), sample({70}, DType::F16, 2)}}, options);
  run_case(
      {"deinterleave",
       [](const Tensors& in) {
         return Tensors{reduce("sum", in[0], {1}), reduce("argmax", in[1], {1}), reduce("amin", in[2], {1})};
       },
       {sample({45, 2}, DType::F32, 1), sample({45, 3}, DType::F64, 1), sample({45, 4}, DType::I32, 1)},
       1e-6},
      options);
}

// A compiler that is spawned takes seconds for what is compiled in the process in a tenth of one: one width
// of it.
TEST(Differential, WidthsAndToolchains) {
  for (const runtime::Toolchain* toolchain : runtime::toolchains()) {
    if (!toolchain->available(nullptr)) continue;
    for (int width : {16, 32, 64})
      if (toolchain == runtime::toolchains().front() || width == 32) widths_and_toolchains(*toolchain, width);
  }
}

TEST(LongDifferential, WidthsAndToolchains) {
  for (const runtime::Toolchain* toolchain : runtime::toolchains()) {
    if (!toolchain->available(nullptr)) continue;
    for (int width : {16, 32, 64}) widths_and_toolchains(*toolchain, width);
  }
}

}  // namespace
}  // namespace weft::compiler::harness
