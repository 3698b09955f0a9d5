#include "ops/result_memory.h"

#include <algorithm>

#include "core/backend.h"
#include "core/memory_limit.h"

namespace weft::ops {
namespace {

bool fits_memory(const TensorType& type) {
  const Backend& backend = backend_of(type.device);
  if (backend.memory == MemoryKind::None) return true;
  double bytes = itemsize(type.dtype);
  for (const Sym& size : type.shape) {
    if (!size.is_constant()) return true;
    if (size.constant() < 0) return false;
    bytes *= static_cast<double>(size.constant());
  }
  return bytes <= static_cast<double>(backend.total_memory(type.device.index));
}

}  // namespace

bool results_fit_memory(const OpDef& op, std::span<const TensorType> results) {
  return op.kind == OpKind::View || std::all_of(results.begin(), results.end(), fits_memory);
}

void check_results_fit_memory(const OpDef& op, std::span<const TensorType> results) {
  if (results_fit_memory(op, results)) return;
  for (const TensorType& type : results) {
    if (fits_memory(type)) continue;
    Shape shape;
    for (const Sym& size : type.shape) shape.push_back(size.constant());
    check_fits_memory(op.name, shape, type.dtype);
  }
}

}  // namespace weft::ops
