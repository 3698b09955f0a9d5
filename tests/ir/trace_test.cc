// Operator calls on traced tensors become the graph one expects, and the graph does what the calls do
// eagerly.
#include "ir/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::ir {
namespace {

using testing::HasSubstr;

Tensor op(std::string_view name, std::vector<Tensor> operands, Attrs attrs = {}) {
  return ops::call1(name, std::move(operands), std::move(attrs));
}

TEST(Trace, RecordsOperatorsWithLocations) {
  GraphTracer tracer("f");
  ops::TracerScope scope(&tracer);
  const Tensor x = tracer.input({DType::F32, {4}, {}}, "x");
  EXPECT_TRUE(x.is_traced());
  tracer.set_location({std::make_shared<const std::string>("dir/f.py"), 7});
  const Tensor y = op("cast", {op("mul", {x, x})}, {{"dtype", DType::F64}});
  EXPECT_EQ(y.dtype(), DType::F64);
  const auto graph = tracer.finish({y});
  verify(*graph);
  EXPECT_EQ(graph->str(), R"(graph f(%x: f32[4]) {
  %1: f32[4] = mul(%x, %x)  # f.py:7
  %2: f64[4] = cast(%1) {dtype=f64}  # f.py:7
  return %2
}
)");
}

TEST(Trace, ArraysFromOutsideAreConstants) {
  GraphTracer tracer("f");
  ops::TracerScope scope(&tracer);
  const Tensor x = tracer.input({DType::F32, {2}, {}}, "x");
  Tensor y = op("add", {x, Tensor::scalar(1.0, DType::F32)});
  y = op("mul", {y, Tensor::scalar(1.0, DType::F32)});
  y = op("mul", {y, Tensor::scalar(-0.0, DType::F32)});
  const auto graph = tracer.finish({y});
  verify(*graph);
  EXPECT_EQ(graph->str(), R"(graph f(%x: f32[2]) {
  %1: f32[] = constant {1.0}
  %2: f32[2] = add(%x, %1)
  %3: f32[2] = mul(%2, %1)
  %4: f32[] = constant {-0.0}
  %5: f32[2] = mul(%3, %4)
  return %5
}
)");
}

TEST(Trace, ReadingASymbolicShapePinsIt) {
  GraphTracer tracer("f");
  ops::TracerScope scope(&tracer);
  const Sym size = tracer.graph().env().new_symbol(100);
  const Tensor x = tracer.input({DType::F32, {size}, {}}, "x");
  const Tensor y = op("add", {x, x});
  EXPECT_EQ(str(ops::sym_shape(y)), "[s0]");
  EXPECT_TRUE(tracer.graph().env().guards().empty());
  EXPECT_EQ(y.shape(), Shape{100});
  const auto graph = tracer.finish({y});
  EXPECT_THAT(graph->str(), HasSubstr("guard s0 == 100"));
}

TEST(Trace, WholeUpdatesBecomeWriteBacks) {
  GraphTracer tracer("f");
  ops::TracerScope scope(&tracer);
  const Tensor x = tracer.input({DType::F32, {2}, {}}, "x");
  tracer.record_copy(x, op("add", {x, x}));
  const Tensor y = op("mul", {x, x});
  const auto graph = tracer.finish({y});
  verify(*graph);
  EXPECT_EQ(graph->str(), R"(graph f(%x: f32[2]) {
  %1: f32[2] = add(%x, %x)
  %2: f32[2] = mul(%1, %1)
  write %x = %1
  return %2
}
)");
}

TEST(Trace, TensorsOfAnotherTraceAreRefused) {
  GraphTracer one("one"), other("other");
  ops::TracerScope scope(&one);
  const Tensor x = other.input({DType::F32, {2}, {}});
  EXPECT_THROW(op("add", {x, x}), Error);
}

// ---- in-place updates through views ----------------------------------------------------------------------

Tensor iota(int64_t n, Shape shape) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i));
  return Tensor::of(values, std::move(shape));
}

Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t stop, int64_t step = 1) {
  return op("slice", {x},
            {{"dim", Sym(dim)}, {"start", Sym(start)}, {"stop", Sym(stop)}, {"step", Sym(step)}});
}

Tensor permute(const Tensor& x, SymShape dims) { return op("permute", {x}, {{"dims", std::move(dims)}}); }
Tensor reshape(const Tensor& x, SymShape shape) { return op("reshape", {x}, {{"shape", std::move(shape)}}); }
Tensor expand(const Tensor& x, SymShape shape) { return op("expand", {x}, {{"shape", std::move(shape)}}); }
Tensor twice(const Tensor& x) { return op("add", {x, x}); }

using Function = std::function<std::vector<Tensor>(const Tensor&)>;

// The traced function's outputs and what it leaves in its argument are those of the plain call.
std::string expect_same_as_eager(const Function& function, Shape shape = {3, 4}, bool transposed = false) {
  const auto make = [&] {
    const Tensor x = iota(numel(shape), shape);
    return transposed ? permute(x, {1, 0}) : x;
  };
  const Tensor eager_argument = make(), argument = make();
  const std::vector<Tensor> expected = function(eager_argument);
  GraphTracer tracer("f");
  std::unique_ptr<Graph> graph;
  {
    ops::TracerScope scope(&tracer);
    const Tensor x = tracer.input(ops::type_of(argument), "x", argument.strides());
    graph = tracer.finish(function(x));
  }
  verify(*graph);
  const std::vector<Tensor> outputs = interpret(*graph, {argument});
  EXPECT_EQ(argument.str(), eager_argument.str()) << graph->str();
  EXPECT_EQ(outputs.size(), expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(outputs[i].str(), expected[i].str()) << graph->str();
  return graph->str();
}

TEST(TraceUpdates, ThroughOneView) {
  EXPECT_EQ(expect_same_as_eager([](const Tensor& x) {
              slice(x, 0, 0, 2).copy_from(slice(x, 0, 1, 3));
              return std::vector<Tensor>{};
            }),
            R"(graph f(%x: f64[3, 4]) {
  %1: f64[2, 4] = slice(%x) {dim=0, start=0, stop=2}
  %2: f64[2, 4] = slice(%x) {dim=0, start=1, stop=3}
  %3: f64[3, 4] = slice_update(%x, %2) {dim=0, start=0, stop=2}
  write %x = %3
  return
}
)");
}

TEST(TraceUpdates, ThroughChains) {
  expect_same_as_eager([](const Tensor& x) {
    const Tensor view = reshape(slice(permute(x, {1, 0}), 0, 3, -1, -1), {4, 3, 1});
    slice(view, 1, 1, 3).copy_from(twice(slice(view, 1, 0, 2)));
    return std::vector<Tensor>{view, twice(view)};
  });
  expect_same_as_eager([](const Tensor& x) {
    op("diagonal", {x}, {{"offset", Sym(1)}}).copy_from(Tensor::scalar(-1.0, DType::F64));
    return std::vector<Tensor>{x};
  });
}

TEST(TraceUpdates, OtherAliasesSeeThem) {
  expect_same_as_eager([](const Tensor& x) {
    const Tensor row = slice(x, 0, 0, 1), column = slice(x, 1, 0, 1), before = twice(row);
    row.copy_from(Tensor::scalar(100.0, DType::F64));
    column.copy_from(twice(column));
    return std::vector<Tensor>{row, column, before, twice(row)};
  });
}

TEST(TraceUpdates, OfIntermediateValues) {
  const std::string text = expect_same_as_eager([](const Tensor& x) {
    const Tensor y = twice(x);
    slice(y, 1, 1, 3).copy_from(slice(x, 1, 0, 2));
    return std::vector<Tensor>{y};
  });
  EXPECT_THAT(text, testing::Not(HasSubstr("write")));
}

TEST(TraceUpdates, ConvertAndBroadcast) {
  expect_same_as_eager([](const Tensor& x) {
    slice(x, 0, 1, 3).copy_from(slice(x, 0, 0, 1).to(DType::I32));
    return std::vector<Tensor>{};
  });
}

TEST(TraceUpdates, AReshapeThatCopiesIsNoView) {
  const Function function = [](const Tensor& x) {
    const Tensor flat = reshape(x, {12});
    flat.copy_from(Tensor::scalar(0.0, DType::F64));
    return std::vector<Tensor>{x, flat};
  };
  EXPECT_THAT(expect_same_as_eager(function), HasSubstr("write"));
  EXPECT_THAT(expect_same_as_eager(function, {3, 4}, true), testing::Not(HasSubstr("write")));
}

TEST(TraceUpdates, ThroughRepeatedElementsAreRefused) {
  GraphTracer tracer("f");
  ops::TracerScope scope(&tracer);
  const Tensor x = tracer.input({DType::F64, {1, 4}, {}}, "x");
  try {
    expand(x, {3, 4}).copy_from(Tensor::scalar(1.0, DType::F64));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::NotImplemented);
    EXPECT_THAT(error.what(), HasSubstr("an in-place update through 'expand' cannot be traced"));
  }
}

TEST(TraceUpdates, OfArraysFromOutsideAreRefused) {
  GraphTracer tracer("f");
  ops::TracerScope scope(&tracer);
  const Tensor x = tracer.input({DType::F64, {4}, {}}, "x");
  EXPECT_THROW(iota(4, {4}).copy_from(x), Error);
}

TEST(Trace, KnowsViewsOfInputs) {
  GraphTracer tracer("f");
  ops::TracerScope scope(&tracer);
  const Tensor x = tracer.input({DType::F64, {3, 4}, {}}, "x");
  const auto view = tracer.input_view(slice(permute(x, {1, 0}), 0, 0, 2));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->input, 0u);
  ASSERT_EQ(view->steps.size(), 2u);
  EXPECT_EQ(view->steps[0].first->name, "permute");
  EXPECT_FALSE(tracer.input_view(twice(x)));
}

}  // namespace
}  // namespace weft::ir
