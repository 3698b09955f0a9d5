// parallel_info() and build_info().
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "kernels/cpu/blas.h"
#include "runtime/thread_pool.h"
#include "runtime/toolchain.h"
#include "weft/config.h"
#include "weft/env.h"
#include "weft/error.h"
#include "weft/parallel.h"

// src/CMakeLists.txt sets these for this file.
#ifndef WEFT_BUILD_SETTINGS
#define WEFT_BUILD_SETTINGS ""
#endif

namespace weft {
namespace {

std::string blas_line() {
  try {
    return fmt::format("BLAS: {}", kernels::blas_description());
  } catch (const Error&) {
    return "BLAS not found";
  }
}

std::string variable_line(const char* name) {
  const char* value = std::getenv(name);
  return fmt::format("\t{} : {}\n", name, value != nullptr ? env::shown(value) : "[not set]");
}

std::string compiler_line() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("GCC {}.{}", __GNUC__, __GNUC_MINOR__);
#endif
}

const char* cpu_capability() {
  switch (runtime::host_vector_bytes()) {
    case 64: return "AVX512";
    case 32: return "AVX2";
    default: return "DEFAULT";
  }
}

}  // namespace

std::string parallel_info() {
  std::string text = "weft/Parallel:\n";
  text += fmt::format("\tweft::get_num_threads() : {}\n", get_num_threads());
  text += fmt::format("\tweft::get_num_interop_threads() : {}\n", get_num_interop_threads());
  text += fmt::format("{}\n\t{}\n", runtime::backend_version(), runtime::backend_limit());
  text += "MKL not found\n";
  text += blas_line() + "\n";
  text += fmt::format("std::thread::hardware_concurrency() : {}\n", std::thread::hardware_concurrency());
  text += "Environment variables:\n" + variable_line("OMP_NUM_THREADS") + variable_line("MKL_NUM_THREADS");
  return text + fmt::format("weft parallel backend: {}\n", threading_backend());
}

std::string build_info() {
  std::string text = "weft built with:\n";
  for (const std::string& line :
       {compiler_line(), fmt::format("C++ Version: {}", __cplusplus), runtime::backend_version(), blas_line(),
        fmt::format("CPU capability usage: {}", cpu_capability()),
        std::string("Build settings: WEFT_VERSION=" WEFT_VERSION_STRING ", " WEFT_BUILD_SETTINGS)}) {
    text += fmt::format("  - {}\n", line);
  }
  return text;
}

}  // namespace weft
