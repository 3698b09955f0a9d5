// The boundary between libweft and its Clang plugin: C, so that neither side sees the other's C++ types.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct WeftClangText {
  const char* data;  // a zero follows
  size_t size;
};

struct WeftClangRequest {
  const char* name;
  struct WeftClangText source;
  const char* const* flags;  // as for the compiler driver; --target=nvptx64-nvidia-cuda: PTX comes out
  size_t flag_count;
  const char* library;  // a shared library that the result names as needed, or null
  // What weft_clang_precompile() made of `prelude`, which the source need not say again; null: nothing.
  struct WeftClangText precompiled, prelude;
};

struct WeftClangResult {
  char* bytes;  // the shared object, or null
  size_t size;
  char* message;  // diagnostics when bytes is null
  double frontend_ms, backend_ms, link_ms;
  char* unknown_flag;  // a flag that the plugin cannot pass on, or null
  int has_given_up;    // LLVM has, in the middle of its work: it is not to be called again
};

// Thread-safe. The result is released with weft_clang_release.
typedef void (*WeftClangCompile)(const struct WeftClangRequest*, struct WeftClangResult*);
// The prelude as the compiler keeps it, for compilations with the same flags; only this version reads it.
typedef void (*WeftClangPrecompile)(const struct WeftClangRequest*, struct WeftClangResult*);
typedef void (*WeftClangRelease)(struct WeftClangResult*);
typedef const char* (*WeftClangVersion)(void);

#ifdef __cplusplus
}
#endif
