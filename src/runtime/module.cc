#include "runtime/module.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "runtime/code_image.h"
#include "runtime/files.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

class SharedObject final : public Module {
 public:
  SharedObject(void* handle, std::string kernel) : handle_(handle), kernel_(std::move(kernel)) {}
  ~SharedObject() override { ::dlclose(handle_); }

  void* symbol(std::string_view name) const override {
    void* address = ::dlsym(handle_, std::string(name).c_str());
    WEFT_ASSERT(address != nullptr, fmt::format("kernel '{}' has no symbol '{}'", kernel_, name));
    return address;
  }

 private:
  void* handle_;
  std::string kernel_;
};

// What kernels may call lives in libraries that a host program such as Python loads privately. Kernels name
// libweft as a needed library; these others are made visible to all.
void expose_libraries() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const char* library : {"libm.so.6", "libgcc_s.so.1"}) {
      ::dlopen(library, RTLD_LAZY | RTLD_GLOBAL);
    }
  });
}

// Code for a debugger is the system's loader's, which tells it.
std::shared_ptr<const Module> load_shared(std::string_view bytes, const std::string& kernel) {
  expose_libraries();
  return env::get("WEFT_KERNEL_OPTIMIZATION") == "0" ? nullptr : load_image(bytes, kernel);
}

std::shared_ptr<const Module> open_library(const std::string& path, const std::string& kernel,
                                           std::string* error) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    *error = reason != nullptr ? reason : "dlopen failed";
    return nullptr;
  }
  return std::make_shared<SharedObject>(handle, kernel);
}

}  // namespace

std::shared_ptr<const Module> load_module_file(const std::string& path, std::string_view bytes,
                                               const std::string& kernel, std::string* error) {
  std::shared_ptr<const Module> module = load_shared(bytes, kernel);
  return module != nullptr ? module : open_library(path, kernel, error);
}

std::shared_ptr<const Module> load_module_bytes(std::string_view bytes, const std::string& kernel) {
  if (std::shared_ptr<const Module> module = load_shared(bytes, kernel)) return module;
  std::string error;
  std::string path = temporary_directory() + "/weft-" + kernel.substr(0, 64) + "-XXXXXX";
  if (const FileDescriptor file(::mkostemp(path.data(), O_CLOEXEC)); file.valid()) {
    std::shared_ptr<const Module> module;
    if (write_all(file.get(), bytes)) {
      module = open_library(path, kernel, &error);
    } else {
      error = fmt::format("{}: {}", path, std::strerror(errno));
    }
    ::unlink(path.c_str());
    if (module != nullptr) return module;
  } else {
    error = fmt::format("{}: {}", path, std::strerror(errno));
  }

  // No usable temporary folder, or one mounted noexec: memory. The loader tells libraries apart by path, so a
  // number whose path is still in use is passed over.
  std::string memory_error;
  const FileDescriptor memory(::memfd_create(kernel.c_str(), MFD_CLOEXEC));
  if (memory.valid() && write_all(memory.get(), bytes)) {
    int fd = ::fcntl(memory.get(), F_DUPFD_CLOEXEC, 0);
    while (fd >= 0) {
      const FileDescriptor holder(fd);
      path = fmt::format("/proc/self/fd/{}", fd);
      if (void* taken = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
        ::dlclose(taken);
        fd = ::fcntl(memory.get(), F_DUPFD_CLOEXEC, fd + 1);
        continue;
      }
      if (auto module = open_library(path, kernel, &memory_error)) return module;
      break;
    }
  }
  throw_error(ErrorKind::Runtime,
              fmt::format("kernel '{}': cannot load the compiled code: {}; from memory: {}", kernel, error,
                          memory_error.empty() ? std::strerror(errno) : memory_error));
}

}  // namespace weft::runtime
