// argmin and argmax of roots, compared without taking them, against the interpreter: lengths below and above
// the vector's, ties, zeros, NaN and infinity.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "compiler/compiled_graph.h"

namespace weft::compiler {
namespace {

TEST(ArgRoot, AgreesWithTheInterpreter) {
  std::mt19937_64 random(7);
  const double infinity = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* op : {"argmin", "argmax"}) {
    for (const char* dtype : {"f32", "f64"}) {
      const auto graph = ir::parse_graph(fmt::format(R"(graph f[s0=5](%x: {0}[s0, 2]) {{
  %1: {0}[s0, 2] = mul(%x, %x)
  %2: {0}[s0] = sum(%1) {{dim=[1]}}
  %3: {0}[s0] = sqrt(%2)
  %4: i64[] = {1}(%3) {{dim=0}}
  return %4
}}
)",
                                                     dtype, op));
      const auto compiled = compile(graph->clone());
      for (int64_t n : {2, 5, 8, 9, 17, 64, 100, 5000}) {
        for (int variant = 0; variant < 8; ++variant) {
          const Tensor wide = Tensor::empty({n, 2}, DType::F64);
          double* x = wide.data_as<double>();
          std::uniform_real_distribution<double> uniform(-3, 3);
          for (int64_t i = 0; i < 2 * n; ++i) {
            const double near = std::nextafter(1.5, random() % 2 ? 9.0 : 0.0);
            x[i] = variant == 7 ? 0 : variant > 3 ? near : uniform(random);
          }
          if (variant == 2) x[2 * (n - 1)] = nan;
          if (variant == 3) x[2 * (n / 2)] = infinity;
          const Tensor input = wide.to(graph->inputs()[0]->tensor().dtype);
          EXPECT_EQ(compiled->run({input})[0].item().to_int(),
                    ir::interpret(*graph, {input})[0].item().to_int())
              << op << " " << dtype << " n=" << n << " variant " << variant;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::compiler
