// `weft serve` and `weft bench serve`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/llm.h"
#include "serve/api_service.h"

namespace weft::cli {

class ServeCommand {
 public:
  explicit ServeCommand(CLI::App& app);
  bool is_asked() const { return command_->parsed(); }
  int run() const;

 private:
  void add_model_options();
  void add_archive_options();
  void add_http_options();
  std::string api_key() const;
  std::string name_of(const std::string& path) const;  // what clients call what lies there
  serve::ApiServiceOptions api(const std::string& path) const;
  serve::HttpOptions http() const;
  int serve_model() const;
  int serve_archive() const;
  int serve_checkpoint() const;
  void serve_until_stopped(serve::HttpServer& server, const std::string& path) const;

  CLI::App* command_;
  ModelArguments model_;
  std::string archive_, checkpoint_, method_ = "forward";
  bool optimize_ = false;
  double batch_window_ms_ = 2;
  int64_t max_input_mib_ = 1024, decoder_heads_ = 8;
  std::string name_, chat_template_;
  std::string address_ = "127.0.0.1", api_key_, api_key_file_;
  int64_t max_batch_ = 16, cache_mib_ = 0, page_tokens_ = 16, prompt_tokens_ = 64, max_queue_ = 256;
  int64_t port_ = 8080, max_body_kib_ = 4096, max_connections_ = 256;
  double read_seconds_ = 30, write_seconds_ = 30, request_seconds_ = 600;
};

class BenchServeCommand {
 public:
  explicit BenchServeCommand(CLI::App& bench);
  bool is_asked() const { return command_->parsed(); }
  int run() const;

 private:
  CLI::App* command_;
  std::string shape_, scheme_ = "int8";
  std::vector<int64_t> streams_ = {1, 4, 16};
  int64_t layers_ = 0, prompt_ = 32, generate_ = 64, repetitions_ = 3, threads_ = 0;
  bool json_ = false;
};

}  // namespace weft::cli
