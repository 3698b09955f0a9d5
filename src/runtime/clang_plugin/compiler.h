// The two steps of the in-process compiler.
#pragma once

#include <string>
#include <vector>

#include "runtime/clang_plugin/plugin.h"

namespace weft::clang_plugin {

struct ObjectCode {
  std::string bytes;         // empty on failure
  std::string message;       // diagnostics
  std::string unknown_flag;  // of the request, where one stops the compilation
  double frontend_ms = 0, backend_ms = 0;
  bool is_text = false;       // assembly: nothing to link
  bool has_given_up = false;  // recovery.h
};

// C++ to a relocatable object, or to PTX under --target=nvptx64-nvidia-cuda.
ObjectCode compile_object(const WeftClangRequest& request);
// The request's prelude as Clang's precompiled header; only `bytes` and what tells why they are empty are
// set.
ObjectCode precompile(const WeftClangRequest& request);

// A relocatable object to a shared object that needs `library` (may be null). Empty on failure, which is
// noted in `object`.
std::string link_shared(ObjectCode& object, const char* library);

}  // namespace weft::clang_plugin
