// Recurrent networks, bags of embeddings, arrays by their parts, counts: beside the host's operators.
#include "gpu/same_call.h"
#include "ops/build.h"

namespace weft {
namespace {

using gpu_testing::bound_of;
using gpu_testing::error_of;
using gpu_testing::expect_same;
using gpu_testing::HasSubstr;
using gpu_testing::kThere;
using gpu_testing::sample;
using ops::Attrs;

struct Cell {
  const char* name;
  int64_t gates;
};

TEST(RecurrentOnGpu, EqualsTheHost) {
  constexpr int64_t kInput = 5, kState = 7, kBatch = 3;
  for (const Cell cell : {Cell{"lstm", 4}, Cell{"gru", 3}, Cell{"rnn_tanh", 1}, Cell{"rnn_relu", 1}})
    for (bool packed : {false, true})
      for (const auto& [layers, both_ways, biases] :
           {std::tuple{1, false, true}, std::tuple{2, true, true}, std::tuple{2, false, false}})
        for (int64_t projection : {0, 4})
          for (DType dtype : {DType::F64, DType::F32, DType::BF16}) {
            const bool is_lstm = cell.gates == 4;
            if (projection != 0 && !is_lstm) continue;
            const int64_t hidden = projection != 0 ? projection : kState, directions = both_ways ? 2 : 1;
            unsigned seed = 1;
            const auto some = [&](const Shape& shape) {
              return ops::build::mul(sample(shape, dtype, ++seed), Scalar(0.3));
            };
            std::vector<Tensor> operands;
            operands.push_back(packed ? some({6, kInput}) : some({4, kBatch, kInput}));
            if (packed) operands.push_back(Tensor::of(std::vector<int64_t>{3, 2, 1}));
            operands.push_back(some({layers * directions, kBatch, hidden}));
            if (is_lstm) operands.push_back(some({layers * directions, kBatch, kState}));
            for (int64_t layer = 0; layer < layers; ++layer)
              for (int64_t d = 0; d < directions; ++d) {
                operands.push_back(some({cell.gates * kState, layer == 0 ? kInput : hidden * directions}));
                operands.push_back(some({cell.gates * kState, hidden}));
                for (int k = 0; biases && k < 2; ++k) operands.push_back(some({cell.gates * kState}));
                if (projection != 0) operands.push_back(some({hidden, kState}));
              }
            Attrs attrs{{"has_biases", biases},
                        {"num_layers", Sym(layers)},
                        {"dropout", 0.0},
                        {"train", false},
                        {"bidirectional", both_ways}};
            if (!packed) attrs.set("batch_first", false);
            SCOPED_TRACE(fmt::format("{} {} {} {}", cell.name, layers, projection, name(dtype)));
            expect_same(packed ? fmt::format("{}_packed", cell.name).c_str() : cell.name, operands, attrs,
                        bound_of(dtype));
          }
}

TEST(BagsOnGpu, EqualTheHost) {
  const Tensor numbers = Tensor::of(std::vector<int64_t>{3, 1, 0, 2, 2, 1, 4, 3}),
               offsets = Tensor::of(std::vector<int64_t>{0, 3, 3, 7});
  for (const char* mode : {"sum", "mean", "max"})
    for (DType dtype : {DType::F64, DType::F32, DType::BF16})
      for (bool ends_given : {false, true})
        for (const ops::Attr& padding :
             {ops::Attr(std::monostate()), ops::Attr(Sym(2)), ops::Attr(Sym(-1))}) {
          const Attrs attrs{
              {"mode", std::string(mode)}, {"include_last_offset", ends_given}, {"padding_idx", padding}};
          const Tensor weight = sample({5, 6}, dtype);
          expect_same("embedding_bag", {numbers, weight, offsets, Tensor()}, attrs, bound_of(dtype));
          if (!ends_given)
            expect_same("embedding_bag", {numbers.as_strided({2, 4}, {4, 1}, 0), weight, Tensor(), Tensor()},
                        attrs, bound_of(dtype));
          if (std::string_view(mode) == "sum")
            expect_same("embedding_bag", {numbers, weight, offsets, sample({8}, dtype, 2)}, attrs,
                        bound_of(dtype));
        }
  const auto bags = [&](std::vector<int64_t> from, int64_t rows) {
    return error_of([&] {
      ops::call1("embedding_bag",
                 {numbers.to(kThere), sample({rows, 6}, DType::F32).to(kThere), Tensor::of(from).to(kThere),
                  Tensor()},
                 {})
          .to(Device());
    });
  };
  EXPECT_THAT(bags({0, 3}, 4), HasSubstr("an index names no element: expected one in [0, 4)"));
  EXPECT_THAT(bags({0, 5, 3}, 5), HasSubstr("offsets must begin with 0"));
}

TEST(PartsOnGpu, EqualTheHost) {
  for (DType dtype : {DType::C64, DType::C128}) {
    const double bound = dtype == DType::C64 ? 1e-5 : 1e-12;
    const Tensor x = sample({4, 6}, dtype), y = sample({6, 5}, dtype, 2);
    expect_same("matmul", {x, y}, {}, bound, 10);
    expect_same("matmul", {x.as_strided({3}, {2}, 1), x.as_strided({3}, {6}, 0)}, {}, bound, 10);
    for (const char* op : {"any", "all"}) expect_same(op, {x}, {{"dim", SymShape{Sym(1)}}}, 0);
    expect_same("sum", {x}, {{"dim", SymShape{Sym(0)}}}, bound);
    expect_same("cumsum", {x}, {{"dim", Sym(1)}}, bound);
  }
  expect_same("sum", {sample({4, 6}, DType::F32)}, {{"dim", SymShape{Sym(1)}}, {"dtype", DType::C128}}, 1e-6);
  expect_same("complex", {sample({4, 6}, DType::F32), sample({4, 6}, DType::F32, 2)}, {}, 0);
  expect_same("matmul", {sample({4, 300}, DType::Bool), sample({300, 5}, DType::Bool, 2)}, {}, 0);
  const Tensor base = sample({5, 6}, DType::I16);
  expect_same("bitcast", {base}, {{"dtype", DType::U8}}, 0);
  expect_same("bitcast", {base}, {{"dtype", DType::F32}}, 0);
  expect_same("slice_update", {base, sample({5, 3}, DType::I16, 2)},
              {{"dim", Sym(1)}, {"start", Sym(5)}, {"stop", Sym(-1)}, {"step", Sym(-2)}}, 0);
  expect_same("diagonal_update", {base, sample({4}, DType::I16, 2)}, {{"offset", Sym(-1)}}, 0);
  const Tensor holds = Tensor::full({3}, Scalar(true), DType::Bool);
  expect_same("require", {base, holds}, {}, 0);
  EXPECT_THAT(error_of([&] {
                ops::call1("require",
                           {base.to(kThere), Tensor::full({3}, Scalar(false), DType::Bool).to(kThere)});
              }),
              HasSubstr("does not hold"));
}

TEST(CountsOnGpu, EqualTheHost) {
  const Tensor x = sample({200}, DType::F64);
  for (DType dtype : {DType::F64, DType::F32, DType::BF16})
    for (const auto& [low, high] : {std::pair{0.0, 0.0}, std::pair{-1.5, 2.0}, std::pair{100.0, 101.0}})
      for (int64_t bins : {1, 7})
        expect_same("histc", {x.to(dtype)},
                    {{"bins", Sym(bins)}, {"min", Scalar(low)}, {"max", Scalar(high)}}, 0);
  const Tensor edges = Tensor::of(std::vector<double>{-2, -1, 0.5, 0.5, 2});
  expect_same("sum_between", {x, edges, sample({200}, DType::F64, 2)}, {}, 1e-12);
  const Tensor at_edges = Tensor::of(std::vector<double>{-3, -2, 0.5, 2, 3, std::nan("")});
  expect_same("sum_between", {at_edges, edges, sample({6}, DType::F64, 2)}, {}, 1e-12);
  const Tensor rows = sample({3, 4}, DType::F32);
  const auto repeated = [&](std::vector<int64_t> counts, const ops::Attr& dim) {
    expect_same("repeat_interleave", {rows, Tensor::of(counts)}, {{"dim", dim}}, 0);
  };
  repeated({2, 0, 1}, Sym(0));
  repeated({0, 0, 0}, Sym(0));
  repeated({3, 1, 0, 2}, Sym(-1));
  repeated({2}, std::monostate());
  EXPECT_THAT(error_of([&] {
                ops::call1("repeat_interleave",
                           {rows.to(kThere), Tensor::of(std::vector<int64_t>{1, -1, 2}).to(kThere)},
                           {{"dim", Sym(0)}});
              }),
              HasSubstr("repeat"));
  // Weights of int8 and int4; their last group is shorter.
  const Tensor weight = sample({5, 48}, DType::F32);
  for (const char* bits : {"int8", "int4"}) {
    const std::vector<Tensor> packed =
        ops::call(ops::get_op(fmt::format("quantize_{}", bits)), {{weight}, {}});
    for (DType dtype : {DType::F32, DType::BF16})
      expect_same(fmt::format("dequantize_{}", bits).c_str(), packed, {{"dtype", dtype}}, 1e-6);
  }
}

// A product of bytes that is rounded to 16 bits.
TEST(BytesOnGpu, AreScaledToHalves) {
  const Tensor x = sample({4, 64}, DType::F32);
  const std::vector<Tensor> tokens = ops::call(ops::get_op("quantize_tokens"), {{x}, {}}),
                            weight = ops::call(ops::get_op("quantize_int8"), {{x}, {}});
  for (DType dtype : {DType::F32, DType::BF16, DType::F16})
    expect_same("linear_int8", {tokens[0], tokens[1], weight[0], weight[1], Tensor(), Tensor()},
                {{"dtype", dtype}}, bound_of(dtype));
}

}  // namespace
}  // namespace weft
