// The subcommands of `weft`. Each prints to stdout and returns the exit status.
#pragma once

namespace weft::cli {

int info(bool as_json);
int environment(bool as_json);
int cache_info(bool as_json);
int cache_clear();
// threads 0: on one and on all.
int ceilings(bool as_json, int threads);

}  // namespace weft::cli
