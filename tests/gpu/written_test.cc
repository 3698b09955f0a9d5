// Kernels that are written by hand (src/device/cuda/text), beside the host's operators: on the emulated
// device, whose threads go on in random order and whose shared memory holds arbitrary bytes, or on a GPU.
#include "gpu/same_call.h"

namespace weft {
namespace {

using namespace gpu_testing;

class ProductsOnGpu : public ::testing::TestWithParam<DType> {};

// Tiles and their edges, chunks of 16 bytes and what is not aligned, both memory orders of each operand.
TEST_P(ProductsOnGpu, EqualTheHost) {
  const DType dtype = GetParam();
  const double bound = bound_of(dtype);
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 1, 1},
                                                                   {3, 5, 7},
                                                                   {17, 64, 32},
                                                                   {64, 64, 64},
                                                                   {65, 63, 33},
                                                                   {130, 70, 48},
                                                                   {20, 200, 100},
                                                                   {260, 200, 48}}) {
    for (const bool turns_a : {false, true}) {
      for (const bool turns_b : {false, true}) {
        SCOPED_TRACE(fmt::format("{} x {} x {} {} {}", m, n, k, turns_a, turns_b));
        const Tensor a = turns_a ? turned(sample({k, m}, dtype)) : sample({m, k}, dtype),
                     b = turns_b ? turned(sample({n, k}, dtype, 2)) : sample({k, n}, dtype, 2);
        expect_same("matmul", {a, b}, {}, bound, 3 * static_cast<double>(k));
      }
    }
  }
}

// Every number of thin rows, and one more.
TEST_P(ProductsOnGpu, OfFewRows) {
  const DType dtype = GetParam();
  for (const int64_t m : {1, 2, 3, 4, 7, 8, 16, 17})
    for (const int64_t k : {8, 64, 300, 1025}) {
      SCOPED_TRACE(fmt::format("{} rows, {} deep", m, k));
      expect_same("matmul", {sample({m, k}, dtype), turned(sample({37, k}, dtype, 2))}, {}, bound_of(dtype),
                  3 * static_cast<double>(k));
    }
}

TEST_P(ProductsOnGpu, OfStacks) {
  const DType dtype = GetParam();
  const auto same = [&](const Tensor& a, const Tensor& b) {
    expect_same("matmul", {a, b}, {}, bound_of(dtype), 60);
  };
  same(sample({3, 4, 5}, dtype), sample({3, 5, 6}, dtype));
  same(sample({2, 3, 4, 5}, dtype), sample({3, 5, 6}, dtype));
  same(sample({2, 1, 4, 5}, dtype), sample({3, 5, 6}, dtype));
  same(sample({2, 3, 4, 5}, dtype), sample({5, 6}, dtype));
  same(sample({4, 5}, dtype), sample({2, 3, 5, 6}, dtype));
  same(sample({5}, dtype), sample({5}, dtype));
  same(sample({5}, dtype), sample({3, 5, 6}, dtype));
  same(sample({3, 4, 5}, dtype), sample({5}, dtype));
  same(sample({4, 0}, dtype), sample({0, 6}, dtype));
  same(turned(sample({2, 5, 4}, dtype)), sample({2, 5, 6}, dtype));
}

INSTANTIATE_TEST_SUITE_P(Dtypes, ProductsOnGpu,
                         ::testing::Values(DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32,
                                           DType::I8, DType::U8, DType::I64),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(LinearOnGpu, HasWeightsOfEachKindAndWhatFollows) {
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    for (const int64_t rows : {1, 5, 40, 130}) {
      for (const int64_t in : {64, 96}) {
        SCOPED_TRACE(fmt::format("{} rows of {} {}", rows, in, name(dtype)));
        const int64_t out = 70;
        const Tensor x = sample({rows, in}, dtype), weight = sample({out, in}, dtype, 2),
                     bias = sample({out}, dtype, 3), residual = sample({rows, out}, dtype, 4);
        const auto same = [&](const Tensor& w, const Tensor& scales, int64_t group, const char* activation) {
          expect_same("linear_packed", {x, w, scales, bias, residual},
                      {{"group_size", Sym(group)},
                       {"activation", std::string(activation)},
                       {"precision", std::string("float32")}},
                      bound_of(dtype), 3 * static_cast<double>(in));
        };
        same(weight, Tensor(), 0, "none");
        same(weight, Tensor(), 0, "gelu_tanh");
        const std::vector<Tensor> int8 = ops::call(ops::get_op("quantize_int8"), {{weight}, {}});
        same(int8[0], int8[1], 0, "silu");
        const std::vector<Tensor> int4 =
            ops::call(ops::get_op("quantize_int4"), {{weight}, {{"group_size", Sym(32)}}});
        same(int4[0], int4[1], 32, "relu");
        if (dtype != DType::F32)
          expect_same("linear_half", {x, weight, bias}, {}, bound_of(dtype), 3 * static_cast<double>(in));
        else
          for (const char* activation : {"none", "relu6", "hardswish", "hardsigmoid", "gelu_erf"})
            expect_same("linear_fused", {x, weight, bias, residual},
                        {{"activation", std::string(activation)}}, 1e-5, 3 * static_cast<double>(in));
      }
    }
  }
}

TEST(LinearOnGpu, TakesBytes) {
  for (const int64_t rows : {1, 33, 140}) {
    const Tensor x = sample({rows, 80}, DType::I8), weight = sample({50, 80}, DType::I8, 2);
    expect_same("_int_mm", {x, turned(weight)}, {}, 0);
    expect_same("_int_mm", {x, turned(weight).contiguous()}, {}, 0);
    for (const DType dtype : {DType::F32, DType::BF16, DType::F16})
      expect_same("linear_int8",
                  {x, sample({rows, 1}, DType::F32, 3), weight, sample({50}, DType::F32, 4),
                   sample({50}, dtype, 5), sample({rows, 50}, dtype, 6)},
                  {{"activation", std::string("relu")}, {"dtype", dtype}}, bound_of(dtype), 100);
  }
}

TEST(ConvolutionOnGpu, EqualsTheHost) {
  const auto same = [](const Shape& x, const Shape& w, bool has_bias, ops::Attrs attrs,
                       DType dtype = DType::F32) {
    SCOPED_TRACE(weft::str(x) + weft::str(w));
    const bool is_transposed = attrs.find("transposed") != nullptr;
    const int64_t groups = attrs.find("groups") ? attrs.get<Sym>("groups").constant() : 1;
    const int64_t out = is_transposed ? w[1] * groups : w[0];
    for (const auto& [name, value] :
         std::vector<std::pair<const char*, ops::Attr>>{{"stride", SymShape{Sym(1)}},
                                                        {"padding", SymShape{Sym(0)}},
                                                        {"dilation", SymShape{Sym(1)}},
                                                        {"transposed", false},
                                                        {"output_padding", SymShape{Sym(0)}},
                                                        {"groups", Sym(1)}})
      if (!attrs.find(name)) attrs.set(name, value);
    expect_same("convolution",
                {sample(x, dtype), sample(w, dtype, 2), has_bias ? sample({out}, dtype, 3) : Tensor()}, attrs,
                bound_of(dtype), 200);
  };
  same({2, 3, 16, 16}, {8, 3, 4, 4}, true, {{"stride", SymShape{Sym(4)}}});
  same({2, 3, 9, 10}, {5, 3, 3, 3}, true, {{"padding", SymShape{Sym(1)}}});
  same({1, 4, 9, 10}, {6, 2, 3, 2}, true, {{"groups", Sym(2)}, {"dilation", SymShape{Sym(2), Sym(1)}}});
  same({2, 4, 11}, {6, 4, 3}, true, {{"stride", SymShape{Sym(2)}}, {"padding", SymShape{Sym(1)}}});
  same({4, 9, 9}, {6, 4, 1, 1}, false, {});
  same({2, 4, 9, 9}, {6, 4, 3, 3}, true, {}, DType::BF16);
  same({2, 4, 9, 9}, {6, 4, 3, 3}, false, {}, DType::F64);
  same({2, 4, 5, 6}, {4, 3, 2, 2}, true, {{"transposed", true}, {"stride", SymShape{Sym(2)}}});
  same({2, 4, 5, 6}, {4, 3, 3, 3}, true,
       {{"transposed", true},
        {"stride", SymShape{Sym(2)}},
        {"padding", SymShape{Sym(1)}},
        {"output_padding", SymShape{Sym(1)}},
        {"groups", Sym(2)}});
  same({1, 2, 5}, {2, 3, 3}, false, {{"transposed", true}, {"stride", SymShape{Sym(2)}}});
}

void same_attention(const Shape& query, const Shape& key, const Shape& value, const Tensor& mask, bool causal,
                    bool grouped = false, DType dtype = DType::F32) {
  SCOPED_TRACE(weft::str(query) + weft::str(key) + std::string(name(dtype)));
  expect_same(
      "scaled_dot_product_attention",
      {sample(query, dtype), sample(key, dtype, 2), sample(value, dtype, 3), mask},
      {{"dropout_p", 0.0}, {"is_causal", causal}, {"scale", std::monostate{}}, {"enable_gqa", grouped}},
      dtype == DType::F32 ? 1e-5 : bound_of(dtype), 3);
}

TEST(AttentionOnGpu, EqualsTheHost) {
  const Tensor none;
  for (const bool causal : {false, true}) {
    same_attention({2, 3, 5, 8}, {2, 3, 5, 8}, {2, 3, 5, 8}, none, causal);
    same_attention({1, 2, 70, 64}, {1, 2, 70, 64}, {1, 2, 70, 64}, none, causal);
    same_attention({2, 33, 10}, {2, 65, 10}, {2, 65, 7}, none, causal);
    same_attention({1, 40, 160}, {1, 40, 160}, {1, 40, 136}, none, causal);
  }
  same_attention({40, 16}, {40, 16}, {40, 16}, none, false);
  same_attention({2, 4, 9, 16}, {2, 2, 9, 16}, {2, 2, 9, 16}, none, true, true);
  same_attention({2, 4, 1, 16}, {2, 1, 700, 16}, {2, 1, 700, 16}, none, false, true);  // in parts
  same_attention({1, 2, 3, 32}, {1, 2, 2000, 32}, {1, 2, 2000, 32}, none, false);
  same_attention({2, 3, 20, 16}, {2, 3, 20, 16}, {2, 3, 20, 16}, sample({20, 20}, DType::Bool), false);
  same_attention({2, 3, 20, 16}, {2, 3, 20, 16}, {2, 3, 20, 16}, sample({2, 1, 1, 20}, DType::F32), false);
  same_attention({2, 3, 20, 16}, {2, 3, 20, 16}, {2, 3, 20, 16}, Tensor::full({20, 20}, false, DType::Bool),
                 false);
  same_attention({2, 3, 37, 64}, {2, 3, 37, 64}, {2, 3, 37, 64}, none, true, false, DType::BF16);
  same_attention({2, 3, 37, 48}, {2, 3, 90, 48}, {2, 3, 90, 48}, none, false, false, DType::F16);
  same_attention({2, 3, 7, 8}, {2, 3, 9, 8}, {2, 3, 9, 8}, none, false, false, DType::F64);
}

TEST(AttentionOnGpu, KnowsWhereCellsOfAGridAre) {
  for (const DType dtype : {DType::F32, DType::BF16})
    expect_same(
        "relative_position_attention",
        {sample({2, 3, 42, 16}, dtype), sample({2, 3, 42, 16}, dtype, 2), sample({2, 3, 42, 16}, dtype, 3),
         sample({2, 3, 42, 6}, dtype, 4), sample({2, 3, 42, 7}, dtype, 5)},
        {{"scale", std::monostate{}}}, bound_of(dtype), 3);
}

TEST(AttentionOnGpu, KeepsKeysAndValues) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::F16})
    for (const bool interleaved : {false, true})
      for (const auto& [tokens, position] :
           std::vector<std::pair<int64_t, int64_t>>{{1, 0}, {1, 37}, {5, 0}, {40, 30}, {1, 599}}) {
        SCOPED_TRACE(fmt::format("{} tokens from {}, {}", tokens, position, name(dtype)));
        constexpr int64_t kHeads = 4, kOwn = 2, kDim = 16, kRoom = 600;
        const Tensor qkv = sample({tokens, (kHeads + 2 * kOwn) * kDim}, DType::F32),
                     rope = sample({kRoom, kDim / 2, 2}, DType::F32, 2);
        ops::Attrs attrs{
            {"scale", std::monostate{}}, {"sliding_window", std::monostate{}}, {"rope_interleaved", interleaved}};
        if (position == 30) attrs.set("sliding_window", Sym(12));
        const auto both = [&](Device device) {
          const Tensor keys = sample({kOwn, kRoom, kDim}, dtype, 3).to(device),
                       values = sample({kOwn, kRoom, kDim}, dtype, 4).to(device);
          // Of several tokens at once the host rounds queries to the caches' numbers: it takes them one by
          // one.
          const int64_t at_once = device == Device() && dtype != DType::F32 ? 1 : tokens;
          const Tensor out = Tensor::empty({tokens, kHeads * kDim}, DType::F32);
          for (int64_t t = 0; t < tokens; t += at_once) {
            const Tensor at = Tensor::scalar(position + t, DType::I64).to(device),
                         some = slice(qkv, 0, t, t + at_once).to(device);
            slice(out, 0, t, t + at_once)
                .copy_from(ops::call(ops::get_op("attention_with_kv_cache"),
                                     {{some, keys, values, at, rope.to(device)}, attrs})[0]);
          }
          return std::vector<Tensor>{out, keys.to(Device()), values.to(Device())};
        };
        EXPECT_EQ(difference(both(kThere), both(Device()),
                             [&](DType d, double a, double b) {
                               const double bound = dtype == DType::F32 ? 2e-4 : bound_of(dtype);
                               return is_inexact(d) && std::abs(a - b) <= bound * (1 + std::abs(b));
                             }),
                  "");
      }
  const Tensor keys = sample({1, 8, 4}, DType::F32).to(kThere);
  const Tensor out = ops::call(
      ops::get_op("attention_with_kv_cache"),
      {{sample({1, 12}, DType::F32).to(kThere), keys, keys.clone(),
        Tensor::scalar(int64_t{8}, DType::I64).to(kThere), sample({8, 2, 2}, DType::F32).to(kThere)},
       {{"scale", std::monostate{}}, {"sliding_window", std::monostate{}}, {"rope_interleaved", false}}})[0];
  EXPECT_THAT(error_of([&] { out.to(Device()); }), HasSubstr("positions are outside the cache of 8"));
}

TEST(IndexingOnGpu, EqualsTheHost) {
  const Tensor i = Tensor::of<int64_t>({3, -1, 0, 3}), j = Tensor::of<int64_t>({1, 2}, {2, 1}), none;
  for (const DType dtype : {DType::F32, DType::Bool, DType::BF16, DType::C128, DType::I64}) {
    const Tensor x = sample({5, 4, 6}, dtype);
    expect_same("gather_nd", {x, i}, {}, 0);
    expect_same("gather_nd", {x, none, i}, {}, 0);
    expect_same("gather_nd", {x, i, none, j}, {}, 0);
    expect_same("gather_nd", {turned(x), none, none, i}, {}, 0);
    const ops::Attrs plain{{"accumulate", false}};
    expect_same("scatter_nd", {x, sample({4, 4, 6}, dtype, 2), i}, plain, 0);
    expect_same("scatter_nd", {x, sample({5, 4, 6}, dtype, 2), none, Tensor::of<int64_t>({2, 0, -1, 2})},
                plain, 0);
    expect_same("scatter_nd", {x, sample({2, 4, 4}, dtype, 2), i, none, j}, plain, 0);
    expect_same("scatter_nd", {x, sample({5, 1, 6}, dtype, 2), none, Tensor::of<int64_t>({2})}, plain, 0);
    expect_same("embedding", {Tensor::of<int64_t>({1, 0, 6, 6}, {2, 2}), sample({7, 3}, dtype)}, {}, 0);
    expect_same(
        "gather",
        {x, ops::call1("where", {sample({5, 4, 6}, DType::Bool), Tensor::full({5, 4, 6}, 2, DType::I64),
                                 Tensor::full({5, 4, 6}, -1, DType::I64)})},
        {{"dim", Sym(1)}}, 0);
    expect_same("pad", {x},
                {{"pad", SymShape{Sym(1), Sym(2), Sym(0), Sym(3)}},
                 {"mode", std::string("constant")},
                 {"value", Scalar(1)}},
                0);
    expect_same("join", {x, sample({5, 3, 6}, dtype, 3)}, {{"dim", Sym(1)}}, 0);
  }
}

TEST(IndexingOnGpu, TellsOfNumbersThatNameNoElement) {
  const Tensor table = sample({7, 3}, DType::F32).to(kThere);
  const Tensor rows = ops::call1("embedding", {Tensor::of<int64_t>({1, 7}).to(kThere), table});
  EXPECT_THAT(error_of([&] { rows.to(Device()); }),
              HasSubstr("embedding: an index names no element: expected one in [0, 7)"));
  rows.to(Device());  // once
  const Tensor taken = ops::call1("gather_nd", {table, Tensor::of<int64_t>({-8}).to(kThere)});
  EXPECT_THAT(error_of([&] { taken.to(Device()); }),
              HasSubstr("gather_nd: an index names no element: expected one in [-7, 7)"));
}

TEST(ResizingOnGpu, EqualsTheHost) {
  for (const char* mode : {"bilinear", "nearest", "nearest-exact"})
    for (const DType dtype : {DType::F32, DType::F64, DType::BF16})
      for (const bool aligned : {false, true})
        for (const auto& size :
             std::vector<SymShape>{{Sym(9), Sym(12)}, {Sym(3), Sym(2)}, {Sym(5), Sym(4)}, {Sym(1), Sym(40)}})
          expect_same("upsample", {sample({2, 3, 5, 4}, dtype)},
                      {{"size", size},
                       {"mode", std::string(mode)},
                       {"align_corners", aligned},
                       {"scale_depth", std::monostate{}},
                       {"scale_height", std::monostate{}},
                       {"scale_width", std::monostate{}},
                       {"antialias", false}},
                      bound_of(dtype), 3);
}

}  // namespace
}  // namespace weft
