#include "core/grad_mode.h"

namespace weft {

namespace {

thread_local GradMode mode_of_thread;

}  // namespace

GradMode grad_mode() { return mode_of_thread; }

void set_grad_mode(GradMode mode) { mode_of_thread = mode; }

}  // namespace weft
