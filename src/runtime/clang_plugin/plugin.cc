#include "runtime/clang_plugin/plugin.h"

#include <clang/Basic/Version.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "runtime/clang_plugin/compiler.h"
#include "runtime/clang_plugin/recovery.h"

namespace {

using weft::clang_plugin::ObjectCode;

char* copy_of(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

WeftClangResult result_of(const ObjectCode& code, const std::string& bytes, double link_ms) {
  return {bytes.empty() ? nullptr : copy_of(bytes),
          bytes.size(),
          copy_of(code.message),
          code.frontend_ms,
          code.backend_ms,
          link_ms,
          code.unknown_flag.empty() ? nullptr : copy_of(code.unknown_flag),
          code.has_given_up};
}

ObjectCode recovered(ObjectCode (*step)(const WeftClangRequest&), const WeftClangRequest& request) {
  ObjectCode code, failed;
  if (weft::clang_plugin::run_recoverable([&] { code = step(request); }, &failed.message)) return code;
  failed.has_given_up = true;
  return failed;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void weft_clang_compile(const WeftClangRequest* request,
                                                               WeftClangResult* result) {
  // LLD keeps its state in globals.
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  ObjectCode object = recovered(weft::clang_plugin::compile_object, *request);
  std::string shared;
  const auto start = std::chrono::steady_clock::now();
  if (object.is_text)
    shared = object.bytes;
  else if (!object.bytes.empty())
    shared = weft::clang_plugin::link_shared(object, request->library);
  const std::chrono::duration<double, std::milli> link_time = std::chrono::steady_clock::now() - start;
  *result = result_of(object, shared, link_time.count());
}

__attribute__((visibility("default"))) void weft_clang_compile_object(const WeftClangRequest* request,
                                                                      WeftClangResult* result) {
  const ObjectCode object = recovered(weft::clang_plugin::compile_object, *request);
  *result = result_of(object, object.bytes, 0);
}

__attribute__((visibility("default"))) void weft_clang_precompile(const WeftClangRequest* request,
                                                                  WeftClangResult* result) {
  const ObjectCode code = recovered(weft::clang_plugin::precompile, *request);
  *result = result_of(code, code.bytes, 0);
}

__attribute__((visibility("default"))) const char* weft_clang_version() {
  static const std::string& version = *new std::string(clang::getClangFullVersion());
  return version.c_str();
}

__attribute__((visibility("default"))) void weft_clang_release(WeftClangResult* result) {
  std::free(result->bytes);
  std::free(result->message);
  std::free(result->unknown_flag);
  *result = {};
}

}  // extern "C"
