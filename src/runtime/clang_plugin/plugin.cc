#include "runtime/clang_plugin/plugin.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "runtime/clang_plugin/compiler.h"

namespace {

char* copy_of(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void weft_clang_compile(const WeftClangRequest* request,
                                                               WeftClangResult* result) {
  // LLD keeps its state in globals.
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  weft::clang_plugin::ObjectCode object = weft::clang_plugin::compile_object(*request);
  std::string shared;
  const auto start = std::chrono::steady_clock::now();
  if (!object.bytes.empty())
    shared = weft::clang_plugin::link_shared(object.bytes, request->library, &object.message);
  const std::chrono::duration<double, std::milli> link_time = std::chrono::steady_clock::now() - start;
  *result = {shared.empty() ? nullptr : copy_of(shared),
             shared.size(),
             copy_of(object.message),
             object.frontend_ms,
             object.backend_ms,
             link_time.count(),
             object.unknown_flag.empty() ? nullptr : copy_of(object.unknown_flag)};
}

__attribute__((visibility("default"))) void weft_clang_release(WeftClangResult* result) {
  std::free(result->bytes);
  std::free(result->message);
  std::free(result->unknown_flag);
  *result = {};
}

}  // extern "C"
