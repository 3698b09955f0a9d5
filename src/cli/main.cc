// The `weft` command: runs and shows TorchScript archives; what weft sees of this machine, its kernel cache,
// and the machine's limits.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "cli/commands.h"
#include "cli/llm.h"
#include "cli/ranks.h"
#include "cli/serve.h"
#include "cli/usage.h"
#include "weft/env.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace {

CLI::App* add_run(CLI::App& app, weft::cli::RunOptions& options) {
  CLI::App* run = app.add_subcommand(
      "run", "Run an exported program (.pt2), or a method of a TorchScript archive, on arrays from files");
  run->add_option("model", options.model, "The archive (.pt)")->required();
  run->add_option("--input,-i", options.inputs,
                  "A .npz with the arguments by name or position, or a .npy for each argument in order")
      ->take_all()
      ->check(weft::cli::ending_in({".npz", ".npy"}));
  run->add_option("--output,-o", options.output, "The .npz (out, or out.0, out.1, ...) or .npy to write")
      ->check(weft::cli::ending_in({".npz", ".npy"}));
  run->add_option("--method", options.method, "The method (default: forward)");
  run->add_flag("--optimize,!--no-optimize", options.optimize,
                "Freeze the module and optimize it for inference first (default: no)");
  run->add_option("--threads", options.threads, "Intra-op threads")->check(weft::cli::integer_in(1, 1024));
  run->add_option("--interop-threads", options.interop_threads, "Inter-op threads")
      ->check(weft::cli::integer_in(1, 1024));
  run->add_option("--repeat", options.repeat, "Time that many calls, after the first and the warm-up")
      ->check(weft::cli::integer_in(1, 100'000'000));
  run->add_option("--warmup", options.warmup, "Calls between the first and the timed ones (default: 3)")
      ->check(weft::cli::integer_in(0, 1'000'000));
  run->add_option("--profile", options.profile,
                  "File to write a timeline of the calls to, which Perfetto opens");
  run->add_flag("--json", options.json, "Print JSON");
  return run;
}

CLI::App* add_inspect(CLI::App& app, weft::cli::InspectOptions& options) {
  CLI::App* inspect = app.add_subcommand(
      "inspect", "Methods, parameters, buffers and sizes of an archive; what a language model is made of");
  inspect
      ->add_option("model", options.model,
                   "The archive (.pt), or a folder or GGUF file with a language model")
      ->required();
  inspect->add_flag("--code", options.code, "Also forward's code");
  inspect->add_flag("--verify", options.verify,
                    "Read the whole file and compare the checksum (CRC-32) of every entry first");
  inspect->add_flag("--json", options.json, "Print JSON");
  return inspect;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("weft compiles array programs and runs TorchScript archives.\n", "weft");
  app.set_version_flag("--version", "weft " WEFT_VERSION_STRING);
  app.require_subcommand(1);
  app.footer(
      "\nExamples:\n"
      "  weft inspect model.pt           methods, parameters, buffers, sizes\n"
      "  weft run model.pt --input x.npz --output y.npz\n"
      "  weft run model.pt --input x.npz --optimize --threads 2 --repeat 100\n"
      "  weft convert model.pt model.pt2 --input x.npz   TorchScript becomes an exported program\n"
      "  weft compile script.py --report a Python program with its NumPy functions compiled\n"
      "  weft torch program.py           a program whose `import torch` finds weft.torch\n"
      "  weft segment photo.jpg --checkpoint sam_vit_b.pth --point 400,300 --output masks\n"
      "  weft generate --model DIR --prompt 'Once upon a time'\n"
      "  weft serve --model DIR --quantize int8   OpenAI's completions on http://127.0.0.1:8080\n"
      "  weft serve --archive model.pt            its results for JSON and .npz; --checkpoint: masks\n"
      "  weft quantize DIR OUT --scheme int4-g32\n"
      "  weft bench llm --shape llama-1b --random-weights --schemes bfloat16,int8,int4-g32\n"
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

  weft::cli::RunOptions run_options;
  weft::cli::InspectOptions inspect_options;
  const CLI::App* run = add_run(app, run_options);
  const CLI::App* inspect = add_inspect(app, inspect_options);
  // Its options are Python's to read.
  CLI::App* compile = app.add_subcommand("compile", "Run a Python script with its NumPy functions compiled");
  CLI::App* torch = app.add_subcommand("torch", "Run a program written for PyTorch on weft");
  CLI::App* segment =
      app.add_subcommand("segment", "Masks of what is in photographs, with Segment Anything's checkpoints");
  CLI::App* convert = app.add_subcommand("convert", "A TorchScript archive as an exported program (.pt2)");
  for (CLI::App* python : {compile, torch, segment, convert}) {
    python->prefix_command();
    python->set_help_flag();
  }
  CLI::App* info = app.add_subcommand("info", "Version, CPU, threads, toolchains, devices and cache");
  add_json(info);
  CLI::App* parallel =
      app.add_subcommand("parallel_info", "Numbers of threads, their libraries and settings");
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
  CLI::App* bench_sam = bench->add_subcommand("sam", "Images per second of Segment Anything, step by step");
  bench_sam->prefix_command();
  bench_sam->set_help_flag();
  const weft::cli::ModelCommands models(app, *bench);
  const weft::cli::ServeCommand serve(app);
  const weft::cli::BenchServeCommand bench_serve(*bench);
  ceilings->add_option("--threads", threads, "Number of threads (default: one, and all)")
      ->check(weft::cli::integer_in(1, 1024));

  try {
    app.parse(argc, argv);
    if (compile->parsed()) return weft::cli::run_python(argv[0], "weft.script", {argv + 2, argv + argc});
    if (torch->parsed()) return weft::cli::run_python(argv[0], "weft.torch", {argv + 2, argv + argc});
    if (segment->parsed())
      return weft::cli::run_python(argv[0], "weft.models.sam.command", {argv + 2, argv + argc});
    if (convert->parsed())
      return weft::cli::run_python(argv[0], "weft.torch.export.command", {argv + 2, argv + argc});
    if (bench_sam->parsed())
      return weft::cli::run_python(argv[0], "weft.models.sam.ladder", {argv + 3, argv + argc});
    weft::env::check();
    if (run->parsed()) return weft::cli::run(run_options);
    if (inspect->parsed()) return weft::cli::inspect(inspect_options);
    if (models.is_asked()) {
      const int status = models.run();
      weft::cli::finish_ranks();
      return status;
    }
    if (serve.is_asked()) return serve.run();
    if (bench_serve.is_asked()) return bench_serve.run();
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
    return weft::cli::fail(app, error);
  } catch (const weft::cli::UsageError& error) {
    return weft::cli::fail(error.what(), 2);
  } catch (const weft::Error& error) {
    return weft::cli::fail(error.what(), 1);
  } catch (const std::bad_alloc&) {
    return weft::cli::fail("out of memory", 1);
  }
  return 0;
}
