// Records what the threads do, as a file that https://ui.perfetto.dev and chrome://tracing open: inter-op
// tasks, the pieces of parallel_for, and waits, each with its thread, begin and length.
//
// WEFT_TRACE=trace.json records a whole program. Children of fork() are not recorded.
#pragma once

#include <string>

namespace weft::profiler {

// Records from now on, for the file `path`. RuntimeError while recording, or when the file cannot be written.
void start(const std::string& path);
// Writes the file. RuntimeError when not recording, or when the file cannot be written.
void stop();
bool enabled();

}  // namespace weft::profiler
