// Programs keep weights packed; whoever replaces one, or writes to it, is seen at the next call.
#include <gmock/gmock.h>

#include "exported/program_builder.h"
#include "weft/exported.h"
#include "weft/jit.h"

namespace weft::exported {
namespace {

// y = max(x w, x) w
ProgramText layers() {
  ProgramText program = add_weight();
  program.metas.clear();
  for (const char* name : {"p_w", "x", "a", "b", "y"}) program.metas[name] = meta({size(8), size(8)});
  program.nodes = {binary("mm", "x", tensor("p_w"), "a"), binary("maximum", "a", tensor("x"), "b"),
                   binary("mm", "b", tensor("p_w"), "y")};
  program.ranges = "{}";
  return program;
}

class ExportedWeights : public testing::Test {
 protected:
  const Tensor weight_ = Tensor::full({8, 8}, 0.5, DType::F32), x_ = Tensor::full({8, 8}, 2.0, DType::F32);
  const Program program_ = make_program(layers().json(), {{"w", weight_}}, {});

  // All elements are the same, and x is 2: y is 2 * 8 w * 8 w of a weight from 0.125 on.
  void expect(double weight) const {
    for (int call = 0; call < 3; ++call)
      EXPECT_FLOAT_EQ(program_({x_}).to_tensor().data_as<float>()[9],
                      static_cast<float>(128 * weight * weight));
  }
};

TEST_F(ExportedWeights, AreWrittenToByOperators) {
  expect(0.5);
  weight_.copy_from(Tensor::full({8, 8}, 0.25, DType::F32));
  expect(0.25);
}

TEST_F(ExportedWeights, AreReplaced) {
  expect(0.5);
  program_.module().set_attribute("w", Tensor::full({8, 8}, 3.0, DType::F32));
  expect(3);
  program_.module().to(Device());
  expect(3);
}

TEST_F(ExportedWeights, AreWrittenToByTheirAddress) {
  expect(0.5);
  const Tensor given = program_.module().named_parameters().at(0).tensor;
  expect(0.5);
  for (int64_t i = 0; i < 64; ++i) given.data_as<float>()[i] = 1.5;
  expect(1.5);
  const Tensor attribute = program_.module().attribute("w").to_tensor();
  for (int64_t i = 0; i < 64; ++i) attribute.data_as<float>()[i] = 0.75;
  expect(0.75);
}

TEST_F(ExportedWeights, AreConstantsOnceOptimized) {
  const Program fast = program_.optimize_for_inference();
  program_.module().set_attribute("w", Tensor::full({8, 8}, 3.0, DType::F32));
  expect(3);
  for (int call = 0; call < 3; ++call) EXPECT_FLOAT_EQ(fast({x_}).to_tensor().data_as<float>()[9], 32);
}

}  // namespace
}  // namespace weft::exported
