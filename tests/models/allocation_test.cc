// A token of a compiled model allocates nothing. Replaces operator new of the whole program by one that
// counts.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "weft/allocator.h"
#include "weft/models/causal_model.h"

namespace {
std::atomic<int64_t> g_allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  ++g_allocations;
  void* memory = alignment == 0
                     ? std::malloc(bytes)
                     : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

// g++ sees malloc behind operator new where it inlines the one, and not that free is behind the other.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(std::size_t bytes) { return counted(bytes == 0 ? 1 : bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
// Address sanitizer has its own, whose memory the deletes below may not free.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++g_allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace weft::models {
namespace {

class Allocations : public ::testing::TestWithParam<const char*> {};

TEST_P(Allocations, NoneInATokenOfACompiledModel) {
  DecoderConfig config = named_config("tiny");
  config.max_position_embeddings = 64;
  ModelOptions options{.execution = Execution::Compiled};
  const std::string scheme = GetParam();
  (scheme.starts_with("int") ? options.quantize : options.dtype) = scheme;
  const auto model = CausalModel::random(config, options, 0);
  const auto decode = [&](KVCache& cache, int64_t tokens) {
    for (int64_t token = 1; token <= tokens; ++token) model->forward(std::span(&token, 1), cache);
  };
  // A thread of the pool makes its buffers with its first work, which may come late on a busy machine.
  int64_t allocations = 1, requests = 1;
  for (int tries = 0; tries < 8 && allocations + requests > 0; ++tries) {
    KVCache cache = model->make_cache();
    decode(cache, 8);
    allocations = g_allocations, requests = allocator_stats().num_requests;
    decode(cache, 32);
    allocations = g_allocations - allocations, requests = allocator_stats().num_requests - requests;
  }
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(requests, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Allocations,
                         ::testing::Values("float32", "bfloat16", "float16", "int8", "int4-g32"));

}  // namespace
}  // namespace weft::models
