// What a kernel does at each run, in terms of the graph's sizes: for the profiler.
#pragma once

#include "nest/loop_nest.h"

namespace weft::nest {

struct NestWork {
  Sym bytes = 0;       // read and written; what is read several times counts once
  Sym operations = 0;  // per element; elementary functions count as 20
  DType arithmetic = DType::F32;
};

NestWork work_of(const LoopNest& nest);

}  // namespace weft::nest
