#include "compiler/kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/stages.h"
#include "runtime/log.h"

namespace weft::compiler {
namespace {

// By the program that the kernel belongs to: then what it writes should stay in the caches.
bool is_read_later(const FusionGroup& group) {
  for (const ir::Value* root : group.roots)
    for (const ir::Use& use : root->uses)
      if (use.user) return true;
  return false;
}

// What a kernel does, without its name and comments: steps of an unrolled loop are the same.
std::string code_of(const std::string& body, const std::string& name) {
  std::string code;
  for (size_t begin = 0, end; begin < body.size(); begin = end + 1) {
    end = std::min(body.find('\n', begin), body.size());
    if (body.compare(begin, 2, "//") != 0) code.append(body, begin, end - begin + 1);
  }
  if (const size_t at = code.find(" " + name + "("); at != std::string::npos) code.erase(at, name.size() + 1);
  return code;
}

}  // namespace

Kernel KernelMaker::make(const FusionGroup& group, const Memory& memory) {
  const Device device = group.roots[0]->tensor().device;
  const Backend& backend = backend_of(device);
  LowerOptions lower_options;
  lower_options.vector_bytes = options_.vector_bytes > 0 ? options_.vector_bytes : backend.vector_bytes();
  lower_options.is_read_later = is_read_later(group);
  Kernel kernel;
  LoopNest& nest = kernel.nest = make_nest(group, memory, lower_options);
  const std::string base = nest.name;
  for (int number = 2; !names_.insert(nest.name).second; ++number)
    nest.name = fmt::format("{}_{}", base, number);
  kernel.printed = print_kernel(nest);
  if (log::enabled(log::Channel::OutputCode))
    log::write(log::Channel::OutputCode, "\n" + kernel.printed.body);
  log::dump(nest.name + ".cc", kernel.printed.source);

  const auto [same, is_new] =
      by_code_.try_emplace(device.str() + "\n" + code_of(kernel.printed.body, nest.name));
  LoadedDeviceKernel& loaded = same->second;
  if (is_new) loaded = backend.load(nest, kernel.printed, options_.toolchain);
  kernel.loaded = loaded.kernel;
  kernel.compile_ms = is_new ? loaded.compile_ms : 0;
  kernel.from_cache = !is_new || loaded.from_cache;
  return kernel;
}

}  // namespace weft::compiler
