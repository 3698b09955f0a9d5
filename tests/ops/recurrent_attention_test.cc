// Shape rules of recurrent networks and attention with sizes that are symbols.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/registry.h"

namespace weft::ops {
namespace {

TensorType f32(SymShape shape) { return {DType::F32, std::move(shape)}; }

Attrs network(int64_t layers, bool bidirectional, bool batch_first) {
  return {{"has_biases", true}, {"num_layers", Sym(layers)},      {"dropout", 0.0},
          {"train", false},     {"bidirectional", bidirectional}, {"batch_first", batch_first}};
}

TEST(RecurrentShapes, KeepSymbolsWithoutGuards) {
  SymEnv env;
  const Sym steps = env.new_symbol(7), batch = env.new_symbol(3);
  std::vector<TensorType> operands{f32({batch, steps, 5}), f32({2, batch, 4}), f32({2, batch, 4})};
  for (int direction = 0; direction < 2; ++direction) {
    for (const SymShape& shape : {SymShape{16, 5}, SymShape{16, 4}, SymShape{16}, SymShape{16}})
      operands.push_back(f32(shape));
  }
  const std::vector<TensorType> results = infer(get_op("lstm"), operands, network(1, true, true));
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].str(), "f32[s1, s0, 8]");
  EXPECT_EQ(results[1].str(), "f32[2, s1, 4]");
  EXPECT_TRUE(env.guards().empty());
}

TEST(RecurrentShapes, PackedRowsAreSymbolsToo) {
  SymEnv env;
  const Sym rows = env.new_symbol(11), steps = env.new_symbol(4), batch = env.new_symbol(3);
  const std::vector<TensorType> operands{f32({rows, 5}), {DType::I64, {steps}}, f32({1, batch, 4}),
                                         f32({12, 5}),   f32({12, 4}),          f32({12}),
                                         f32({12})};
  EXPECT_EQ(infer(get_op("gru_packed"), operands, network(1, false, false))[0].str(), "f32[s0, 4]");
  EXPECT_TRUE(env.guards().empty());
}

TEST(AttentionShapes, KeepSymbols) {
  SymEnv env;
  const Sym batch = env.new_symbol(2), queries = env.new_symbol(9), keys = env.new_symbol(13);
  const std::vector<TensorType> operands{f32({batch, 8, queries, 64}), f32({batch, 2, keys, 64}),
                                         f32({batch, 2, keys, 32}), TensorType{DType::Bool, {queries, keys}}};
  const Attrs attrs{
      {"dropout_p", 0.0}, {"is_causal", false}, {"scale", std::monostate{}}, {"enable_gqa", true}};
  EXPECT_EQ(infer(get_op("scaled_dot_product_attention"), operands, attrs)[0].str(), "f32[s0, 8, s1, 32]");
  EXPECT_TRUE(env.guards().empty());
}

TEST(Recurrent, ListsAreFlattenedInTheirPlace) {
  const Tensor x = Tensor::full({2, 3}, Scalar(0.5), DType::F32),
               h = Tensor::full({2, 4}, Scalar(0.0), DType::F32);
  const Tensor w_ih = Tensor::full({16, 3}, Scalar(0.1), DType::F32),
               w_hh = Tensor::full({16, 4}, Scalar(0.1), DType::F32);
  EXPECT_EQ(call(get_op("lstm_cell"), {{x, h, h, w_ih, w_hh}, {}}).size(), 2u);
  EXPECT_THROW(call(get_op("lstm_cell"), {{x, h, h, w_ih}, {}}), Error);
}

}  // namespace
}  // namespace weft::ops
