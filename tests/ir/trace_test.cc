// Operator calls on traced tensors become the graph one expects, and the graph does what the calls do eagerly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/trace.h"

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

}  // namespace
}  // namespace weft::ir
