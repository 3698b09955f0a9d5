// weft.kernel's half in C++: compiles what weft/_kernel writes, and runs it for the blocks of a grid.
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "bindings.h"
#include "codegen/prelude.h"
#include "core/profiling.h"
#include "interpreter_lock.h"
#include "runtime/toolchain.h"
#include "scalar/elementary.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::python {
namespace {

// Where the first block that failed did: its number, the place in the source, the axis, the index, the size.
using Failure = std::array<int64_t, 5>;

// Runs blocks [begin, end). `words`: what the function was called with. `scratch`: this thread's.
using BlockFunction = void (*)(int64_t begin, int64_t end, const int64_t* words, char* scratch,
                               int64_t* failure);

constexpr std::align_val_t kScratchAlignment{64};

scalar::Prim elementary_prim(const std::string& name) {
  for (int prim = static_cast<int>(scalar::Prim::Exp); prim <= static_cast<int>(scalar::Prim::Hypot);
       ++prim) {
    const auto found = static_cast<scalar::Prim>(prim);
    if (scalar::prim_name(found) == name && scalar::is_elementary(found)) return found;
  }
  throw_error(ErrorKind::Internal, fmt::format("'{}' is no elementary function", name));
}

class BlockKernel {
 public:
  BlockKernel(const std::string& name, const std::string& body, const std::vector<std::string>& elementary)
      : name_(name) {
    std::set<scalar::Prim> prims;
    for (const std::string& function : elementary) prims.insert(elementary_prim(function));
    source_ = codegen::with_prelude(codegen::PreludeKind::Kernel, prims, body);
    loaded_ = runtime::load_kernel(codegen::compile_request(name, source_));
    function_ = reinterpret_cast<BlockFunction>(loaded_.module->symbol(name));
  }

  const std::string& source() const { return source_; }

  // None, or what is known of the first block that failed.
  nb::object launch(int64_t blocks, const std::vector<int64_t>& words, int64_t scratch_bytes) const {
    Failure first{};
    bool has_failed = false;
    {
      const ComputeRelease no_gil;
      profiling::OpenRange range(name_);
      std::mutex mutex;
      parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
        const std::unique_ptr<char, void (*)(char*)> scratch(
            static_cast<char*>(
                ::operator new(static_cast<size_t>(std::max<int64_t>(scratch_bytes, 64)), kScratchAlignment)),
            [](char* memory) { ::operator delete(memory, kScratchAlignment); });
        Failure failure{-1, 0, 0, 0, 0};
        function_(begin, end, words.data(), scratch.get(), failure.data());
        if (failure[0] < 0) return;
        const std::lock_guard lock(mutex);
        if (!has_failed || failure[0] < first[0]) first = failure;
        has_failed = true;
      });
      range.end();
    }
    if (!has_failed) return nb::none();
    return nb::make_tuple(first[0], first[1], first[2], first[3], first[4]);
  }

 private:
  std::string name_, source_;
  runtime::LoadedKernel loaded_;
  BlockFunction function_;
};

}  // namespace

void bind_block_kernels(nb::module_& m) {
  nb::class_<BlockKernel>(m, "_BlockKernel")
      .def(nb::init<const std::string&, const std::string&, const std::vector<std::string>&>())
      .def_prop_ro("source", &BlockKernel::source)
      .def("launch", &BlockKernel::launch);
  m.def("_host_vector_bytes", &runtime::host_vector_bytes);
}

}  // namespace weft::python
