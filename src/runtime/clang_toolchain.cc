#include "runtime/clang_toolchain.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

#include <chrono>
#include <filesystem>
#include <mutex>

#include "runtime/clang_plugin/plugin.h"
#include "runtime/files.h"
#include "runtime/log.h"
#include "runtime/own_stack.h"
#include "runtime/precompiled_prelude.h"
#include "runtime/under_way.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

struct Plugin {
  std::string error;  // why it did not load; empty when it did
  WeftClangCompile compile = nullptr;
  PreludeCompiler prelude;
};

constexpr char kPluginName[] = "libweft_clang.so";

std::string plugin_path() {
  const std::string set = env::get("WEFT_CLANG_PLUGIN");
  if (!set.empty()) return set;
  // Beside libweft, or in the package weft_compiler beside weft's, whose folder lib/ holds libweft.
  const std::filesystem::path folder = std::filesystem::path(own_library_path()).parent_path();
  const std::filesystem::path own = folder / kPluginName;
  const std::filesystem::path package = folder.parent_path().parent_path() / "weft_compiler" / kPluginName;
  std::error_code ignored;
  const bool is_package = !std::filesystem::exists(own, ignored) && std::filesystem::exists(package, ignored);
  return (is_package ? package : own).string();
}

// libclang-cpp's symbols carry no version: if the program has one of its own in the global scope, the plugin
// must see the one it was linked with first.
int binding_mode() {
#if defined(RTLD_DEEPBIND)
  const bool foreign =
      ::dlsym(RTLD_DEFAULT, "_ZN5clang16CompilerInstance17createDiagnosticsEPNS_18DiagnosticConsumerEb");
  if (foreign) return RTLD_DEEPBIND;
#endif
  return 0;
}

// Held during a compilation, and while the process forks: a child must not inherit a compiler in mid-work.
std::mutex& compile_mutex() {
  static std::mutex& instance = *new std::mutex;
  return instance;
}
// Registered as the library is loaded (under_way.cc says why).
[[maybe_unused]] const int clang_at_fork = pthread_atfork(
    [] { compile_mutex().lock(); }, [] { compile_mutex().unlock(); }, [] { compile_mutex().unlock(); });

Plugin load(const std::string& path) {
  Plugin plugin;
  const auto start = std::chrono::steady_clock::now();
  void* handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | binding_mode());
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    plugin.error = reason != nullptr ? reason : "cannot load " + path;
    return plugin;
  }
  plugin.compile = reinterpret_cast<WeftClangCompile>(::dlsym(handle, "weft_clang_compile"));
  const auto precompile = reinterpret_cast<WeftClangPrecompile>(::dlsym(handle, "weft_clang_precompile"));
  const auto release = reinterpret_cast<WeftClangRelease>(::dlsym(handle, "weft_clang_release"));
  const auto version = reinterpret_cast<WeftClangVersion>(::dlsym(handle, "weft_clang_version"));
  if (plugin.compile == nullptr || precompile == nullptr || release == nullptr || version == nullptr) {
    plugin.error = path + " is not the Clang plugin of this version of weft";
    return plugin;
  }
  plugin.prelude = {precompile, release, version(), std::filesystem::path(path).parent_path().string()};
  wait_for_work_at_exit();
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  log::write(log::Channel::Cache, fmt::format("loaded {} in {:.1f} ms", path, elapsed.count()));
  return plugin;
}

std::mutex& plugin_mutex() {
  static std::mutex& instance = *new std::mutex;
  return instance;
}

// Loaded once per path, and never unloaded: LLVM registers handlers that outlive a dlclose.
Plugin& plugin() {
  static std::string& loaded_path = *new std::string;
  static Plugin& loaded = *new Plugin;
  const std::lock_guard<std::mutex> lock(plugin_mutex());
  const std::string path = plugin_path();
  if (path != loaded_path) {
    with_stack(kCompilerStack, [&] { loaded = load(path); });
    loaded_path = path;
  }
  return loaded;
}

struct Output {
  std::string bytes, message, unknown_flag;
};

// LLVM has given up in the middle of its work: it cannot be called again.
void leave_plugin(const std::string& why) {
  log::warning(fmt::format("the compiler in this process is not used any more: {}", why));
  Plugin& broken = plugin();
  const std::lock_guard<std::mutex> lock(plugin_mutex());
  broken.error = "it gave up: " + why;
}

Output compile_once(const Plugin& clang, const CompileRequest& request, const std::vector<std::string>& flags,
                    const std::string* precompiled) {
  std::vector<const char*> flag_pointers;
  for (const std::string& flag : flags) flag_pointers.push_back(flag.c_str());
  const std::string library = own_library_path();
  WeftClangRequest input = {};
  input.name = request.name.c_str();
  input.source = {request.source.data(), request.source.size()};
  input.flags = flag_pointers.data();
  input.flag_count = flag_pointers.size();
  input.library = library.find(".so") != std::string::npos ? library.c_str() : nullptr;
  if (precompiled != nullptr) {
    input.precompiled = {precompiled->data(), precompiled->size()};
    input.prelude = {request.prelude.data(), request.prelude.size()};
  }
  WeftClangResult result = {};
  with_stack(kCompilerStack, [&] { clang.compile(&input, &result); });
  log::write(log::Channel::Cache,
             fmt::format("clang: {}: {:.1f} ms to IR, {:.1f} ms to machine code, {:.1f} ms linking",
                         request.name, result.frontend_ms, result.backend_ms, result.link_ms));
  Output output;
  if (result.bytes != nullptr) output.bytes.assign(result.bytes, result.size);
  if (result.message != nullptr) output.message = result.message;
  if (result.unknown_flag != nullptr) output.unknown_flag = result.unknown_flag;
  if (result.has_given_up != 0) leave_plugin(output.message);
  clang.prelude.release(&result);
  return output;
}

class ClangToolchain final : public Toolchain {
 public:
  std::string_view name() const override { return "clang"; }

  std::string id() const override { return file_identity(plugin_path()); }

  bool available(std::string* why_not) const override {
    if (id().empty()) {
      if (why_not != nullptr)
        *why_not = fmt::format(
            "not installed: no file {}; the wheel weft-compiler, weft[compiler], brings it", plugin_path());
      return false;
    }
    const Plugin& clang = plugin();
    const std::lock_guard<std::mutex> lock(plugin_mutex());
    const std::string error = clang.error;
    if (why_not != nullptr) *why_not = error;
    return error.empty();
  }

  std::string compile(const CompileRequest& request) const override {
    return compile_with_clang(request, kernel_flags());
  }
};

}  // namespace

std::string compile_with_clang(const CompileRequest& request, const std::vector<std::string>& flags) {
  const UnderWay under_way;
  const std::lock_guard<std::mutex> lock(compile_mutex());
  const Plugin& clang = plugin();
  if (!clang.error.empty()) throw_error(ErrorKind::Runtime, "clang: " + clang.error);
  const std::string* precompiled = precompiled_prelude(clang.prelude, request.prelude, flags);
  Output output = compile_once(clang, request, flags, precompiled);
  if (output.bytes.empty() && precompiled != nullptr && clang.error.empty()) {
    output = compile_once(clang, request, flags, nullptr);
    if (!output.bytes.empty()) drop_precompiled_prelude(precompiled);
  }
  WEFT_ASSERT(output.unknown_flag.empty(),
              fmt::format("clang: no translation of the flag '{}'", output.unknown_flag));
  if (output.bytes.empty()) {
    throw_error(ErrorKind::Runtime,
                fmt::format("clang: compiling kernel '{}' failed:\n{}", request.name, output.message));
  }
  return output.bytes;
}

std::string shipped_prelude(std::string_view prelude, const std::vector<std::string>& flags) {
  const UnderWay under_way;
  const std::lock_guard<std::mutex> lock(compile_mutex());
  const Plugin& clang = plugin();
  if (!clang.error.empty()) throw_error(ErrorKind::Runtime, "clang: " + clang.error);
  return make_shipped_prelude(clang.prelude, prelude, flags);
}

const Toolchain& clang_toolchain() {
  static const ClangToolchain& instance = *new ClangToolchain;
  return instance;
}

}  // namespace weft::runtime
