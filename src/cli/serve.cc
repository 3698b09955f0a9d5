#include "cli/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/progress.h"
#include "cli/usage.h"
#include "models/paged_batch.h"
#include "runtime/peaks.h"
#include "serve/engine.h"
#include "serve/http.h"
#include "serve/llm_service.h"
#include "weft/error.h"

namespace weft::cli {

ServeCommand::ServeCommand(CLI::App& app)
    : command_(app.add_subcommand("serve",
                                  "Answer requests over HTTP: for text, as OpenAI's clients make them, for "
                                  "calls of a TorchScript archive, or for masks of Segment Anything")) {
  model_.tensor_parallel = 1;  // mpirun's processes serve each for itself
  add_model_options();
  add_archive_options();
  add_http_options();
}

void ServeCommand::add_model_options() {
  constexpr int64_t kMostTokens = int64_t{1} << 24;
  CLI::Option* model = command_->add_option(
      "--model,-m", model_.folder,
      "Model folder: Hugging Face's or Meta's files, or what weft quantize wrote; or a GGUF file");
  command_->add_option("--name", name_, "What clients call the model (default: the folder's or file's name)")
      ->check(not_empty());
  model_.add_weights_to(command_);
  model_.add_device_to(command_);
  command_
      ->add_option("--activations", model_.activations,
                   "Inputs of products with quantized weights: auto, float32, int16 or int8")
      ->check(one_of({"auto", "float32", "int16", "int8"}));
  command_
      ->add_option(
          "--chat-template", chat_template_,
          "llama2, llama3, mistral, chatml, none, or a file with a Jinja template (default: the model's)")
      ->check(chat_template_name());
  command_
      ->add_option("--max-batch", max_batch_,
                   "Texts written at once, or rows of calls that are joined (default: 16)")
      ->check(integer_in(1, 1024));
  command_
      ->add_option("--context", model_.max_positions,
                   "Tokens of a text, its prompt included (default: the model's, at most 8192)")
      ->check(integer_in(2, kMostTokens));
  command_
      ->add_option("--cache-mib", cache_mib_,
                   "Memory of the KV cache in MiB (default: --max-batch contexts, at most 4096)")
      ->check(integer_in(1, int64_t{1} << 24));
  command_->add_option("--page-tokens", page_tokens_, "Tokens of a page of the cache (default: 16)")
      ->check(integer_in(1, 4096));
  command_
      ->add_option("--prompt-tokens", prompt_tokens_,
                   "Tokens of prompts read between two tokens of texts that are being written (default: 64)")
      ->check(integer_in(1, 65536));
  command_->add_option("--max-queue", max_queue_, "Requests that may wait (default: 256)")
      ->check(integer_in(1, 1'000'000));
  for (const char* name : {"--dtype", "--quantize", "--cache-dtype", "--activations", "--chat-template",
                           "--context", "--cache-mib", "--page-tokens", "--prompt-tokens"})
    command_->get_option(name)->needs(model);
}

void ServeCommand::add_archive_options() {
  CLI::Option* archive = command_->add_option("--archive", archive_, "TorchScript archive (.pt) to call");
  archive->excludes("--model");
  CLI::Option* checkpoint = command_->add_option(
      "--checkpoint", checkpoint_, "Segment Anything's checkpoint: sam_vit_b_01ec64.pth, ..., mobile_sam.pt");
  checkpoint->excludes("--model")->excludes(archive);
  command_->add_option("--decoder-heads", decoder_heads_)
      ->check(integer_in(1, 1024))
      ->needs(checkpoint)
      ->group("");  // of small models, for tests: no shape tells it
  command_->add_option("--method", method_, "Of the archive (default: forward)")->needs(archive);
  command_
      ->add_flag("--optimize,!--no-optimize", optimize_,
                 "Freeze the module and optimize it for inference first (default: no)")
      ->needs(archive);
  command_
      ->add_option("--batch-window-ms", batch_window_ms_,
                   "Milliseconds that a call waits for others to join it (default: 2)")
      ->check(number_in(0, Bound::Closed, 60'000))
      ->needs(archive);
  command_
      ->add_option("--max-input-mib", max_input_mib_,
                   "Memory of arrays and images of all requests that wait, in MiB (default: 1024)")
      ->check(integer_in(1, int64_t{1} << 24))
      ->excludes("--model");
}

void ServeCommand::add_http_options() {
  command_
      ->add_option("--host", address_,
                   "Address to listen on (default: 127.0.0.1; 0.0.0.0 or :: is every interface)")
      ->check(not_empty());
  command_->add_option("--port", port_, "Port to listen on; 0: any that is free (default: 8080)")
      ->check(integer_in(0, 65535));
  CLI::Option* key =
      command_->add_option("--api-key", api_key_, "Key that clients have to send (default: none)")
          ->check(not_empty());
  command_
      ->add_option("--api-key-file", api_key_file_, "A file with it, which others do not see among processes")
      ->excludes(key);
  command_->add_option("--max-body-kib", max_body_kib_, "Largest body of a request in KiB (default: 4096)")
      ->check(integer_in(1, 1 << 20));
  command_->add_option("--max-connections", max_connections_, "Connections at once (default: 256)")
      ->check(integer_in(1, 100'000));
  const auto add_seconds = [&](const char* name, double& value, const char* what) {
    command_->add_option(name, value, what)->check(number_in(0, Bound::Open, 1e6));
  };
  add_seconds("--read-timeout", read_seconds_, "Seconds for a request to arrive (default: 30)");
  add_seconds("--write-timeout", write_seconds_, "Seconds for a client to take what is sent (default: 30)");
  add_seconds("--request-timeout", request_seconds_, "Seconds for an answer (default: 600)");
}

serve::HttpOptions ServeCommand::http() const {
  return {.address = address_,
          .port = static_cast<uint16_t>(port_),
          .max_body_bytes = max_body_kib_ << 10,
          .max_connections = max_connections_,
          .read_seconds = read_seconds_,
          .write_seconds = write_seconds_,
          .request_seconds = request_seconds_};
}

std::string ServeCommand::name_of(const std::string& path) const {
  return name_.empty() ? std::filesystem::weakly_canonical(path).filename().string() : name_;
}

serve::ApiServiceOptions ServeCommand::api(const std::string& path) const {
  return {.model_name = name_of(path), .api_key = api_key()};
}

void ServeCommand::serve_until_stopped(serve::HttpServer& server, const std::string& path) const {
  fmt::print("serving  {} on http://{}:{}\n", name_of(path),
             address_.find(':') == std::string::npos ? address_ : "[" + address_ + "]", server.port());
  std::fflush(stdout);
  server.run();
}

std::string ServeCommand::api_key() const {
  if (api_key_file_.empty()) return api_key_;
  std::string key = read_text(api_key_file_);
  key.erase(std::min(key.find_first_of("\r\n"), key.size()));
  WEFT_CHECK(!key.empty(), fmt::format("serve: '{}' has no key in its first line", api_key_file_));
  return key;
}

int ServeCommand::run() const {
  if (!archive_.empty()) return serve_archive();
  if (!checkpoint_.empty()) return serve_checkpoint();
  if (model_.folder.empty()) throw UsageError("serve: give --model, --archive or --checkpoint");
  return serve_model();
}

int ServeCommand::serve_model() const {
  const serve::ApiServiceOptions options_of_api = api(model_.folder);
  const auto model = model_.load();
  const std::shared_ptr<const models::Tokenizer> tokenizer = models::Tokenizer::open(model_.folder);
  models::check_tokenizer(*model, *tokenizer, model_.folder);
  const Device device = model->options().device;
  const double read_gbs = device == Device() ? runtime::measured_peaks().bytes_per_ns : 0;

  serve::EngineOptions options{.max_batch = max_batch_,
                               .page_tokens = page_tokens_,
                               .prompt_tokens = prompt_tokens_,
                               .max_queue = max_queue_};
  if (cache_mib_ > 0)
    options.cache_tokens = (cache_mib_ << 20) / models::PagedBatch::cache_bytes_per_token(*model);
  const auto engine = std::make_shared<serve::Engine>(model, tokenizer, options);
  engine->metrics().update([&](serve::Metrics& metrics) { metrics.now.read_gbs = read_gbs; });

  const auto service =
      serve::make_llm_service(engine, tokenizer,
                              {.api = options_of_api,
                               .chat = chat_template_of(model_.folder, chat_template_, *model, tokenizer),
                               .embeddings = serve::read_embedding_defaults(model_.folder)});
  serve::HttpServer server(http(), service);
  const serve::Figures figures = engine->metrics().figures();
  fmt::print("weights  {} per step, {}\n", bytes_text(static_cast<double>(figures.weight_bytes)),
             device == Device() ? fmt::format("{:.1f} GB/s measured here", read_gbs) : "on " + device.str());
  fmt::print("cache    {}: {} pages of {} tokens of {} bytes; {} texts at once, of up to {} tokens\n",
             bytes_text(static_cast<double>(figures.cache_bytes)), figures.pages, figures.page_tokens,
             models::PagedBatch::cache_bytes_per_token(*model), max_batch_, engine->options().context);
  // The engine's thread tells the server's connections: it ends before them.
  const std::unique_ptr<serve::Engine, void (*)(serve::Engine*)> stepping(
      engine.get(), [](serve::Engine* started) { started->stop(); });
  engine->start();
  serve_until_stopped(server, model_.folder);
  engine->stop();
  fmt::print("stopped\n");
  return 0;
}

}  // namespace weft::cli
