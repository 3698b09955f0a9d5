// The `weft` command: what weft sees of this machine, its kernel cache, and the machine's limits.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.h"
#include "weft/error.h"
#include "weft/parallel.h"

int main(int argc, char** argv) {
  CLI::App app("weft compiles array programs. This command shows what it finds on this machine.\n", "weft");
  app.set_version_flag("--version", "weft " WEFT_VERSION_STRING);
  app.require_subcommand(1);
  app.footer(
      "\nExamples:\n"
      "  weft info                       CPU, threads, toolchains, devices, kernel cache\n"
      "  weft info --json                the same for programs\n"
      "  WEFT_TOOLCHAIN=c++ weft info    what would be used with that setting\n"
      "  weft parallel_info              numbers of threads, their libraries and settings\n"
      "  weft env                        every environment variable weft reads\n"
      "  weft cache clear                forget compiled kernels\n"
      "  weft bench ceilings             memory bandwidth and peak arithmetic, in some seconds\n"
      "\n"
      "In Python:  import weft;  fast = weft.compile(function);  fast(array)\n"
      "WEFT_LOGS=output_code,graph_breaks python program.py   shows what was compiled and what was not.");

  bool json = false;
  int threads = 0;
  const auto add_json = [&](CLI::App* command) { command->add_flag("--json", json, "Print JSON"); };

  CLI::App* info = app.add_subcommand("info", "Version, CPU, threads, toolchains, devices and cache");
  add_json(info);
  CLI::App* parallel = app.add_subcommand("parallel_info", "Numbers of threads, their libraries and settings");
  CLI::App* environment = app.add_subcommand("env", "Every environment variable weft reads, and its value");
  add_json(environment);
  CLI::App* cache = app.add_subcommand("cache", "The compiled kernels on disk");
  cache->require_subcommand(1);
  CLI::App* cache_info = cache->add_subcommand("info", "Folder, number of kernels and size");
  add_json(cache_info);
  CLI::App* cache_clear = cache->add_subcommand("clear", "Remove the compiled kernels");
  CLI::App* bench = app.add_subcommand("bench", "What this machine can do at most");
  bench->footer(
      "Operators and whole functions are measured by bench/run.py of the source tree (`make bench`).");
  CLI::App* ceilings = bench->add_subcommand("ceilings", "Memory bandwidth and peak arithmetic");
  bench->require_subcommand(1);
  add_json(ceilings);
  ceilings->add_option("--threads", threads, "Number of threads (default: one, and all)")
      ->check(CLI::Range(1, 1024));

  try {
    app.parse(argc, argv);
    if (info->parsed()) return weft::cli::info(json);
    if (parallel->parsed()) {
      std::fputs(weft::parallel_info().c_str(), stdout);
      return 0;
    }
    if (environment->parsed()) return weft::cli::environment(json);
    if (cache_info->parsed()) return weft::cli::cache_info(json);
    if (cache_clear->parsed()) return weft::cli::cache_clear();
    if (ceilings->parsed()) return weft::cli::ceilings(json, threads);
  } catch (const CLI::ParseError& error) {
    const std::string first = argc > 1 ? argv[1] : "";
    const bool known =
        !app.get_subcommands([&](const CLI::App* command) { return command->get_name() == first; }).empty();
    if (!first.empty() && first[0] != '-' && !known) {
      std::fprintf(stderr,
                   "weft: unknown command '%s'; the commands are info, parallel_info, env, cache and bench (weft --help)\n",
                   first.c_str());
      return 2;
    }
    return app.exit(error);
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "weft: %s\n", error.what());
    return 1;
  }
  return 0;
}
