// Elements that threads read and write 16 bytes at a time (nest/chunks.h): each side of every edge.
#include "nest/chunks.h"

#include "compiler/compiled_graph.h"
#include "gpu/same_call.h"
#include "ir/place.h"

namespace weft {
namespace {

using namespace gpu_testing;

// Elements from `offset` on of an array that begins at a multiple of 16 bytes.
Tensor shifted(const Shape& shape, DType dtype, int64_t offset, unsigned seed = 1) {
  return sample({numel(shape) + offset}, dtype, seed).as_strided(shape, contiguous_strides(shape), offset);
}

TEST(ChunksOnGpu, EqualTheHostAtAnyAddressAndSize) {
  for (const DType dtype :
       {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I8, DType::Bool}) {
    const int64_t lanes = 16 / itemsize(dtype);
    for (const int64_t n :
         {int64_t{1}, lanes - 1, lanes, lanes + 1, 256 * lanes - 1, 256 * lanes, 256 * lanes + 1})
      for (const int64_t offset : {int64_t{0}, int64_t{1}, lanes}) {
        if (n == 0) continue;
        SCOPED_TRACE(fmt::format("{} {} from {}", n, name(dtype), offset));
        const Tensor a = shifted({n}, dtype, offset), b = shifted({n}, dtype, 0, 2);
        expect_same("maximum", {a, b}, {}, 0);
        expect_same("where", {shifted({n}, DType::Bool, offset), a, b}, {}, 0);
        expect_same("where", {shifted({n}, DType::Bool, 0), a, a}, {}, 0);
      }
  }
}

void expect_rows(DType dtype) {
  for (const int64_t columns : {3, 4, 6, 8, 12, 16, 20})
    for (const int64_t gap : {0, 1, 8}) {
      SCOPED_TRACE(fmt::format("{} {} columns, {} between rows", columns, name(dtype), gap));
      const Tensor a = sample({40, columns + gap}, dtype).as_strided({40, columns}, {columns + gap, 1}, 0);
      expect_same("add", {a, sample({40, columns}, dtype, 2)}, {}, 0);
      expect_same("add", {a, sample({columns}, dtype, 3)}, {}, 0);  // a row
      expect_same("add", {a, sample({40, 1}, dtype, 4)}, {}, 0);    // a column
      expect_same("mul", {a, turned(sample({columns, 40}, dtype, 5))}, {}, 0);
    }
}

TEST(ChunksOnGpu, RunAlongRowsOfAnyLengthAndStep) { expect_rows(DType::F16); }

TEST(LongChunksOnGpu, RunAlongRowsOfAnyLengthAndStep) {
  for (const DType dtype : {DType::F32, DType::F64}) expect_rows(dtype);
}

TEST(ChunksOnGpu, HaveTheDtypesOfAllOperands) {
  for (const DType from : {DType::F64, DType::F32, DType::F16, DType::I8, DType::Bool})
    for (const DType to : {DType::F64, DType::F32, DType::BF16, DType::I64, DType::U8, DType::Bool})
      for (const int64_t offset : {0, 1})
        for (const int64_t n : {15, 16, 17, 2049})
          expect_same("cast", {shifted({n}, from, offset)}, {{"dtype", to}}, 0);
}

// The order of additions follows from sizes, not from where arrays lie.
void expect_one_order(DType dtype) {
  for (const Shape& shape :
       std::vector<Shape>{{4, 33}, {4, 64}, {3, 1025}, {2, 4096}, {2, 20001}, {2, 20480}}) {
    SCOPED_TRACE(weft::str(shape) + std::string(name(dtype)));
    const Tensor x = sample(shape, dtype);
    const Tensor aligned = x.to(kThere);
    const Tensor room = Tensor::empty({numel(shape) + 1}, dtype, kThere);
    const Tensor odd = room.as_strided(shape, contiguous_strides(shape), 1);
    odd.copy_from(aligned);
    for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{{1}, {0, 1}}) {
      EXPECT_EQ(difference({sum(odd, dims).to(Device())}, {sum(aligned, dims).to(Device())}), "");
      EXPECT_EQ(difference({amax(odd, dims).to(Device())}, {amax(x, dims)}), "");
    }
    EXPECT_EQ(difference({argmin(odd, 1).to(Device())}, {argmin(x, 1)}), "");
  }
}

TEST(ChunksOnGpu, AddInOneOrderAtAnyAddress) { expect_one_order(DType::F32); }

TEST(LongChunksOnGpu, AddInOneOrderAtAnyAddress) {
  for (const DType dtype : {DType::F64, DType::F16}) expect_one_order(dtype);
}

// Pairs, as those of points and of complex numbers, and results that are read where they are written.
TEST(ChunksOnGpu, TakeWhatLiesInterleaved) {
  const char* const text = R"(graph pairs(%x: f32[301, 2], %y: c64[77]) {
  %1: f32[301] = sum(%x) {dim=[1], keepdim=false, dtype=none}
  %2: c64[77] = mul(%y, %y)
  return %1, %2
}
)";
  for (const int64_t offset : {0, 1}) {
    const std::vector<Tensor> inputs{sample({301, 2}, DType::F32), sample({77}, DType::C64)};
    std::vector<Tensor> there;
    for (const Tensor& x : inputs) {
      const Tensor room = Tensor::empty({x.numel() + offset}, x.dtype(), kThere);
      there.push_back(room.as_strided(x.shape(), x.strides(), offset));
      there.back().copy_from(x.to(kThere));
    }
    std::unique_ptr<ir::Graph> graph = ir::parse_graph(text);
    const std::vector<Tensor> want = ir::interpret(*graph, inputs);
    ir::place(*graph, kThere);
    const std::vector<Tensor> got = compiler::compile(std::move(graph))->run(there);
    EXPECT_EQ(difference(testing_support::moved(got, Device()), want), "");
  }
}

}  // namespace
}  // namespace weft
