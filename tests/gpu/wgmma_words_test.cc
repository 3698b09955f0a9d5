// The words that products by wgmma are written in (text/wgmma.inc): one instruction, its operands in shared
// memory in each layout that descriptors know. On the emulated device also what is wrong or left out, which
// must give other numbers.
#include "device/cuda/driver.h"
#include "device/cuda/written_kernel.h"
#include "gpu/same_call.h"

namespace weft {
namespace {

using namespace gpu_testing;

constexpr int64_t kRows = 64, kColumns = 128, kDepth = 16;

float number_of(int64_t row, int64_t depth, int64_t seed) {
  return static_cast<float>((row * 7 + depth * 5 + row * depth * 3 + seed) % 9 - 4);
}
// Rows along depth, or the same turned over.
Tensor operand(int64_t rows, bool across, int64_t seed) {
  Tensor numbers = Tensor::empty(across ? Shape{kDepth, rows} : Shape{rows, kDepth}, DType::F32);
  auto* const data = static_cast<float*>(numbers.data());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t depth = 0; depth < kDepth; ++depth)
      data[across ? depth * rows + row : row * kDepth + depth] = number_of(row, depth, seed);
  return numbers.to(DType::BF16).to(kThere);
}

struct Layout {
  bool across;
  std::string place;       // in bytes, of chunk `c` of 8 numbers of line `r`
  std::string descriptor;  // of what is at the address `x`
};
std::string descriptor(int leading, int stride, int mode) {
  return fmt::format("(u64)(x >> 4) | (u64){} << 16 | (u64){} << 32 | (u64){} << 62", leading / 16,
                     stride / 16, mode);
}

std::string text_of(const Layout& layout) {
  // Chunks of a line of `a` and of `b`, and lines of both.
  const std::string chunks = layout.across ? "is_left ? 8 : 16" : "2",
                    all = layout.across ? "16 * (8 + 16)" : "(64 + 128) * 2",
                    of_left = layout.across ? "16 * 8" : "64 * 2";
  return fmt::format(R"(begin_asynchronous();
  const u32 room = launch_room();
  const auto at = [](u32 x) WEFT_HERE {{ return {descriptor}; }};
  for (int k = thread_index(); k < {all}; k += kThreads) {{
    const bool is_left = k < {of_left};
    const int chunks = {chunks}, number = is_left ? k : k - {of_left}, r = number / chunks, c = number % chunks;
    copy_16(room + (is_left ? 0 : 8192) + {place}, (is_left ? a : b) + number * 8, 16);
  }}
  end_copies();
  wait_for_copies<0>();
  show_copies();
  barrier();
  f32 sums[64] = {{}};
  begin_products();
  add_product<bf16, {across}, {across}>(sums, at(room), at(room + 8192));
  end_products();
  wait_for_products<0>();
  WEFT_UNROLLED for (int k = 0; k < 64; ++k) touch(sums[k]);
  const int thread = thread_index(), row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
  if (thread < 128)
    WEFT_UNROLLED for (int k = 0; k < 64; ++k) out[(row + k % 4 / 2 * 8) * 128 + column + k / 4 * 8 + k % 2] = sums[k];)",
                     fmt::arg("descriptor", layout.descriptor), fmt::arg("all", all),
                     fmt::arg("of_left", of_left), fmt::arg("chunks", chunks),
                     fmt::arg("place", layout.place), fmt::arg("across", layout.across));
}

// Whether the kernel gives what the product is.
bool is_right(const std::string& text, bool across) {
  const Tensor a = operand(kRows, across, 1), b = operand(kColumns, across, 2),
               out = Tensor::empty({kRows, kColumns}, DType::F32, kThere);
  cuda::WrittenKernel kernel("wgmma_words", 0);
  kernel.with(cuda::Text::Operands).with(cuda::Text::Products).with(cuda::Text::Wgmma);
  kernel.reads("a", a).reads("b", b).writes("out", out).launch_shared(8192 + 16384 + 1024);
  kernel.launch(text, 1);
  const Tensor got = out.to(Device());
  const auto* const data = static_cast<const float*>(got.data());
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < kColumns; ++column) {
      float want = 0;
      for (int64_t depth = 0; depth < kDepth; ++depth)
        want += number_of(row, depth, 1) * number_of(column, depth, 2);
      if (data[row * kColumns + column] != want) return false;
    }
  return true;
}

const Layout kAlong128{false, "r * 128 + (c ^ r % 8) * 16", descriptor(16, 1024, 1)};
const Layout kAlong64{false, "r * 64 + (c ^ r / 2 % 4) * 16", descriptor(16, 512, 2)};
const Layout kAlong32{false, "r * 32 + (c ^ r / 4 % 2) * 16", descriptor(16, 256, 3)};
const Layout kAlongPlain{false, "r / 8 * 256 + c * 128 + r % 8 * 16", descriptor(128, 256, 0)};
const Layout kAcross128{true, "c / 8 * 2048 + r * 128 + (c % 8 ^ r % 8) * 16", descriptor(2048, 1024, 1)};
const Layout kAcross64{true, "c / 4 * 1024 + r * 64 + (c % 4 ^ r / 2 % 4) * 16", descriptor(1024, 512, 2)};
const Layout kAcross32{true, "c / 2 * 512 + r * 32 + (c % 2 ^ r / 4 % 2) * 16", descriptor(512, 256, 3)};
const Layout kAcrossPlain{true, "c * 128 + r / 8 * 2048 + r % 8 * 16", descriptor(2048, 128, 0)};

TEST(WgmmaWords, ReadOperandsInEachLayout) {
  if (!cuda::driver().facts(0).has_wgmma) GTEST_SKIP() << "the GPU has no wgmma";
  for (const Layout& layout :
       {kAlong128, kAlong64, kAlong32, kAlongPlain, kAcross128, kAcross64, kAcross32, kAcrossPlain}) {
    SCOPED_TRACE(layout.descriptor + (layout.across ? " across" : " along"));
    EXPECT_TRUE(is_right(text_of(layout), layout.across));
  }
}

TEST(WgmmaWords, ShowWhatIsLeftOutOrWrong) {
  if (!cuda::driver().is_emulated()) GTEST_SKIP() << "on a GPU it may go well";
  const std::string text = text_of(kAlong128);
  for (const auto& [part, other] : std::vector<std::pair<std::string, std::string>>{
           {"wait_for_copies<0>();", ""},
           {"wait_for_copies<0>();", "wait_for_copies<1>();"},
           {"end_copies();", ""},
           {"show_copies();", ""},
           {"barrier();", ""},
           {"begin_products();", ""},
           {"end_products();", ""},
           {"wait_for_products<0>();", ""},
           {"wait_for_products<0>();", "wait_for_products<1>();"},
           {"end_products();", "end_products(); copy_16(room, a + 64, 16);"},
           {"launch_room()", "launch_address()"},
           {"c ^ r % 8", "c"},
           {"(u64)1 << 62", "(u64)2 << 62"},
           {"(u64)1 << 62", "(u64)1 << 62 | (u64)1 << 49"},
           {"(u64)64 << 32", "(u64)32 << 32"},
           {"at(room + 8192)", "at(room)"},
           {"<bf16, false, false>", "<bf16, false, true>"}}) {
    SCOPED_TRACE(part + " becomes " + other);
    std::string wrong = text;
    const size_t found = wrong.find(part);
    ASSERT_NE(found, std::string::npos);
    wrong.replace(found, part.size(), other);
    EXPECT_FALSE(is_right(wrong, false));
  }
}

}  // namespace
}  // namespace weft
