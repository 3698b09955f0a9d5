// Loop nests on GPUs: what generated code is called there, and how it is loaded and launched.
#pragma once

#include <span>
#include <string_view>

#include "codegen/print_cpp.h"
#include "core/backend.h"
#include "nest/passes.h"
#include "nest/vocabulary.h"

namespace weft::cuda {

const nest::Vocabulary& vocabulary();
std::span<const nest::NestPass> schedule();
LoadedDeviceKernel load(const nest::LoopNest& nest, const codegen::PrintedKernel& printed,
                        std::string_view toolchain);

}  // namespace weft::cuda
