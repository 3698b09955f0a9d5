// Loop nests on the processor: how they are scheduled, printed, compiled and called.
#pragma once

#include <span>
#include <string_view>

#include "core/backend.h"
#include "nest/passes.h"
#include "nest/vocabulary.h"

namespace weft::cpu {

const nest::Vocabulary& vocabulary();
std::span<const nest::NestPass> schedule();
LoadedDeviceKernel load(const codegen::PrintedKernel& printed, std::string_view toolchain);

}  // namespace weft::cpu
