// TorchScript: everything a program needs to load and run archives.
#pragma once

#include "weft/ivalue.h"
#include "weft/jit/module.h"
#include "weft/jit/operator.h"
#include "weft/jit/schema.h"
#include "weft/jit/type.h"
