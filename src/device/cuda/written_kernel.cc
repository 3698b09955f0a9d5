#include "device/cuda/written_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <unordered_map>

#include "codegen/prelude.h"
#include "codegen/print_expr.h"
#include "device/cuda/driver.h"
#include "device/cuda/ptx.h"
#include "nest/grid.h"
#include "runtime/log.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

std::string_view text_of(Text text) {
  static constexpr char kOperands[] =
#include "device/cuda/text/operands.inc"
      ;
  static constexpr char kProducts[] =
#include "device/cuda/text/products.inc"
      ;
  static constexpr char kWgmma[] =
#include "device/cuda/text/wgmma.inc"
      ;
  static constexpr char kWgmmaProducts[] =
#include "device/cuda/text/wgmma_products.inc"
      ;
  static constexpr char kAttention[] =
#include "device/cuda/text/attention.inc"
      ;
  static constexpr char kMoving[] =
#include "device/cuda/text/moving.inc"
      ;
  static constexpr char kSorting[] =
#include "device/cuda/text/sorting.inc"
      ;
  static constexpr char kScanning[] =
#include "device/cuda/text/scanning.inc"
      ;
  static constexpr char kComparing[] =
#include "device/cuda/text/comparing.inc"
      ;
  static constexpr char kTransforms[] =
#include "device/cuda/text/transforms.inc"
      ;
  static constexpr char kWindows[] =
#include "device/cuda/text/windows.inc"
      ;
  static constexpr char kResampling[] =
#include "device/cuda/text/resampling.inc"
      ;
  static constexpr char kRecurrent[] =
#include "device/cuda/text/recurrent.inc"
      ;
  switch (text) {
    case Text::Operands: return kOperands;
    case Text::Products: return kProducts;
    case Text::Wgmma: return kWgmma;
    case Text::WgmmaProducts: return kWgmmaProducts;
    case Text::Attention: return kAttention;
    case Text::Moving: return kMoving;
    case Text::Sorting: return kSorting;
    case Text::Scanning: return kScanning;
    case Text::Comparing: return kComparing;
    case Text::Transforms: return kTransforms;
    case Text::Windows: return kWindows;
    case Text::Resampling: return kResampling;
    case Text::Recurrent: return kRecurrent;
  }
  return {};
}

struct Loaded {
  std::shared_ptr<const LoadedModule> module = nullptr;
  void* function = nullptr;
};
struct Kernels {
  std::mutex mutex;
  std::unordered_map<std::string, Loaded> loaded;
};
Kernels& kernels() {
  static Kernels& instance = *new Kernels;
  return instance;
}

}  // namespace

int64_t blocks_of_items(int64_t items, int device) {
  constexpr int64_t kBlocksPerMultiprocessor = 32;
  return std::min<int64_t>((items + nest::kGridThreads - 1) / nest::kGridThreads,
                           kBlocksPerMultiprocessor * driver().facts(device).multiprocessors);
}

const char* word_of(DType dtype) {
  switch (itemsize(dtype)) {
    case 1: return "u8";
    case 2: return "u16";
    case 4: return "u32";
    case 8: return "u64";
    default: return "Wide";
  }
}

std::string steps_text(WrittenKernel& kernel, const std::string& name, const std::vector<int64_t>& values) {
  std::vector<std::string> names;
  for (const int64_t value : values) {
    names.push_back(fmt::format("{}_{}", name, names.size()));
    kernel.number(names.back().c_str(), value);
  }
  return fmt::format("Steps<{}>{{{{{}}}}}", values.size(), fmt::join(names, ", "));
}

std::string type_in_kernels(DType dtype) { return codegen::type_name(dtype); }

void WrittenKernel::add(std::string type, const char* name, uint64_t value, bool is_address) {
  parameters_.push_back({std::move(type), name, value, is_address});
}

WrittenKernel& WrittenKernel::reads(const char* name, const Tensor& array) { return reads(name, array, 0); }
WrittenKernel& WrittenKernel::reads(const char* name, const Tensor& array, int64_t offset) {
  const auto address =
      reinterpret_cast<uint64_t>(array.data()) + static_cast<uint64_t>(offset * itemsize(array.dtype()));
  add(fmt::format("const {}*", type_in_kernels(array.dtype())), name, address, true);
  return *this;
}
WrittenKernel& WrittenKernel::writes(const char* name, const Tensor& array) {
  add(type_in_kernels(array.dtype()) + "*", name, reinterpret_cast<uint64_t>(array.data()), true);
  return *this;
}
WrittenKernel& WrittenKernel::reads_if(const char* name, const Tensor& array, DType otherwise) {
  if (array.defined()) return reads(name, array);
  add(fmt::format("const {}*", type_in_kernels(otherwise)), name, 0, true);
  return *this;
}
WrittenKernel& WrittenKernel::address(const char* name, void* data) {
  add("void*", name, reinterpret_cast<uint64_t>(data), true);
  return *this;
}
WrittenKernel& WrittenKernel::number(const char* name, int64_t value) {
  add("i64", name, static_cast<uint64_t>(value), false);
  return *this;
}
WrittenKernel& WrittenKernel::real(const char* name, double value) {
  add("f64", name, std::bit_cast<uint64_t>(value), false);
  return *this;
}
std::string WrittenKernel::numbers(const char* name, std::initializer_list<int64_t> values) {
  std::vector<std::string> names;
  for (const int64_t value : values) {
    names.push_back(fmt::format("{}_{}", name, names.size()));
    number(names.back().c_str(), value);
  }
  return fmt::format("{{{}}}", fmt::join(names, ", "));
}

WrittenKernel& WrittenKernel::with(Text text) {
  texts_.push_back(text);
  return *this;
}
WrittenKernel& WrittenKernel::calls_elementary() {
  return calls_elementary({scalar::Prim::Exp, scalar::Prim::Erf, scalar::Prim::Tanh});
}
WrittenKernel& WrittenKernel::calls_elementary(std::set<scalar::Prim> functions) {
  elementary_ = std::move(functions);
  return *this;
}
WrittenKernel& WrittenKernel::waits() {
  waits_ = true;
  return *this;
}
WrittenKernel& WrittenKernel::shared(int64_t bytes) {
  shared_ = bytes;
  waits_ = true;
  return *this;
}

WrittenKernel& WrittenKernel::launch_shared(int64_t bytes) {
  launch_shared_ = bytes;
  waits_ = true;
  return *this;
}

std::string WrittenKernel::source(const std::string& body) const {
  std::vector<std::string> list, arguments;
  for (const Parameter& parameter : parameters_) {
    list.push_back(parameter.type + " " + parameter.name);
    arguments.push_back(fmt::format("*({}*)parameters[{}]", parameter.type, arguments.size()));
  }
  std::string text = !elementary_.empty() ? "#define WEFT_WITH_ELEMENTARY\n" : "";
  if (std::find(texts_.begin(), texts_.end(), Text::Wgmma) != texts_.end()) text += kWantsSm90a;
  text += fmt::format("WEFT_SHARED_ROOM({})\n", std::max<int64_t>(16, shared_));
  for (const Text part : texts_) text += text_of(part);
  text +=
      fmt::format("extern \"C\" __global__ void {}({}) {{\n  {}\n}}\n", name_, fmt::join(list, ", "), body);
  text += fmt::format(
      "#ifdef WEFT_EMULATED\nextern \"C\" void {0}_emulated(EmulatedThread* thread, void* const* parameters) "
      "{{\n"
      "  emulated_thread = thread;\n  {0}({1});\n}}\n#endif\n",
      name_, fmt::join(arguments, ", "));
  return codegen::with_grid_prelude(elementary_, text);
}

void WrittenKernel::launch(const std::string& body, int64_t blocks) {
  // All that the text depends on.
  std::string key = fmt::format("{}:{} {} {}", name_, device_, shared_, body);
  for (const Parameter& parameter : parameters_) key += parameter.type;
  Loaded loaded;
  {
    const std::lock_guard<std::mutex> lock(kernels().mutex);
    if (const auto found = kernels().loaded.find(key); found != kernels().loaded.end())
      loaded = found->second;
  }
  const Driver& gpu = driver();
  if (loaded.function == nullptr) {
    const std::string text = source(body);
    log::dump(name_ + ".cc", text);
    if (log::enabled(log::Channel::OutputCode))
      log::write(log::Channel::OutputCode, fmt::format("{}: {}", name_, body));
    loaded.module = gpu.load(name_, text, "", device_).module;
    loaded.function = loaded.module->function(name_);
    const std::lock_guard<std::mutex> lock(kernels().mutex);
    kernels().loaded[key] = loaded;
  }
  std::vector<void*> values;
  std::vector<uint8_t> is_address;
  for (Parameter& parameter : parameters_) {
    values.push_back(&parameter.value);
    is_address.push_back(parameter.is_address ? 1 : 0);
  }
  constexpr int64_t kMost = int64_t{1} << 30;
  gpu.launch(name_, loaded.function,
             {std::clamp<int64_t>(blocks, 1, kMost), waits_, values.data(), is_address, launch_shared_},
             device_);
}

}  // namespace weft::cuda
