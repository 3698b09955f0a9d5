#include "device/cuda/wgmma.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "device/cuda/driver.h"
#include "device/cuda/products.h"
#include "runtime/log.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

// Of fewer rows or columns half of the smallest tile and more would be zeros, and of less depth there is
// nothing to copy while a part is multiplied.
constexpr int64_t kLeastSide = 64;

// Each fills most of a multiprocessor's shared memory.
constexpr WgmmaTile kWide{128, 256, 256, 2, 4}, kSquare{128, 128, 128, 2, 5}, kFlat{64, 256, 128, 1, 5};

int64_t tiles(const WgmmaProduct& p, const WgmmaTile& tile) {
  return p.batches * ((p.rows + tile.rows - 1) / tile.rows) * ((p.columns + tile.columns - 1) / tile.columns);
}

WgmmaTile best_tile(const WgmmaProduct& p, int64_t multiprocessors) {
  if (p.rows <= kFlat.rows) return kFlat;
  return tiles(p, kWide) >= multiprocessors ? kWide : kSquare;
}

// What decides which kernel it is, beside what becomes of the sums.
using Kind = std::tuple<int, DType, bool, bool, int64_t, int64_t>;
struct Checks {
  std::mutex mutex;
  std::map<Kind, bool> found;
  std::set<int> broken;  // devices
  bool fails = false;
};
Checks& checks() {
  static Checks& instance = *new Checks;
  return instance;
}

// Whole numbers from -4 to 4: sums of a few hundred products are exact in any order.
Tensor whole_numbers(int64_t lines, int64_t length, DType dtype, int device, uint32_t seed) {
  const Tensor numbers = Tensor::empty({lines, length}, DType::I8);
  auto* const data = static_cast<int8_t*>(numbers.data());
  for (int64_t k = 0; k < lines * length; ++k) {
    seed = seed * 1664525 + 1013904223;
    data[k] = static_cast<int8_t>(static_cast<int>((seed >> 16) % 9) - 4);
  }
  return numbers.to(dtype).to(Device{DeviceType::CUDA, device});
}

ProductSide side(int64_t rows, int64_t depth, bool along, const WgmmaProduct& p, uint32_t seed) {
  if (along) return {whole_numbers(rows, depth, p.dtype, p.device, seed), depth, 1};
  return {whole_numbers(depth, rows, p.dtype, p.device, seed), 1, rows};
}

// The same small product both ways: a tile with edges, deep enough for stages to be used again.
bool gives_the_same(const WgmmaProduct& p, const WgmmaTile& tile) {
  const int64_t rows = tile.rows - 8, columns = tile.columns - 16, depth = 7 * 128 / itemsize(p.dtype) + 48;
  Product product{.rows = rows,
                  .columns = columns,
                  .depth = depth,
                  .left = side(rows, depth, p.left_along, p, 1),
                  .right = side(columns, depth, p.right_along, p, 2),
                  .end = {.out = Tensor()}};
  const auto result = [&](auto run) {
    product.end.out = Tensor::empty({rows, columns}, p.dtype == DType::I8 ? DType::I32 : DType::F32,
                                    Device{DeviceType::CUDA, p.device});
    run();
    return product.end.out.to(Device());
  };
  const Tensor want = result([&] { run_product_by_warps(product); }),
               got = result([&] { run_product_by_warpgroups(product, tile); });
  return std::memcmp(want.data(), got.data(), static_cast<size_t>(rows * columns * 4)) == 0;
}

void warn(const WgmmaProduct& p, const WgmmaTile& tile, const std::string& problem) {
  log::warning(fmt::format(
      "cuda: products of {} by wgmma, tiles of {} x {}, {} on cuda:{} ({}): mma.sync computes products there "
      "from now on",
      name(p.dtype), tile.rows, tile.columns, problem, p.device, driver().facts(p.device).name));
}

bool works(const WgmmaProduct& p, const WgmmaTile& tile) {
  Checks& c = checks();
  const Kind kind{p.device, p.dtype, p.left_along, p.right_along, tile.rows, tile.columns};
  bool fails = false;
  {
    const std::lock_guard<std::mutex> lock(c.mutex);
    if (c.broken.contains(p.device)) return false;
    if (const auto found = c.found.find(kind); found != c.found.end()) return found->second;
    fails = c.fails;
  }
  // Without the lock: who records waits for none of this folder, and who launches may wait for who records.
  if (driver().is_recording(p.device)) return false;
  std::string problem;
  try {
    if (!gives_the_same(p, tile) || fails) problem = "give wrong numbers";
  } catch (const Error& error) {
    problem = fmt::format("do not run ({})", error.what());
  }
  const std::lock_guard<std::mutex> lock(c.mutex);
  c.found[kind] = problem.empty();
  if (problem.empty()) return true;
  if (c.broken.insert(p.device).second) warn(p, tile, problem);
  return false;
}

}  // namespace

std::optional<WgmmaTile> wgmma_tile(const WgmmaProduct& p) {
  const DeviceFacts& facts = driver().facts(p.device);
  if (!facts.has_wgmma || p.rows < kLeastSide || p.columns < kLeastSide || p.depth < kLeastSide)
    return std::nullopt;
  const std::string wanted = env::get("WEFT_CUDA_PRODUCTS");
  if (wanted == "mma") return std::nullopt;
  const WgmmaTile tile = best_tile(p, facts.multiprocessors);
  // Tiles of mma.sync are smaller, and keep more multiprocessors busy.
  if (wanted == "auto" && (driver().is_emulated() || 2 * tiles(p, tile) < facts.multiprocessors))
    return std::nullopt;
  return works(p, tile) ? std::optional(tile) : std::nullopt;
}

void forget_wgmma_checks(bool fails) {
  Checks& c = checks();
  const std::lock_guard<std::mutex> lock(c.mutex);
  c.found.clear(), c.broken.clear();
  c.fails = fails;
}

}  // namespace weft::cuda
