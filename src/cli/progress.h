// A line on a terminal that tells how far something is; nothing in a pipe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace weft::cli {

class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(int64_t done, int64_t total, const std::string& detail = "");
  // Text for standard output, whole lines, which stand above the line that tells how far it is.
  void print(const std::string& text);

 private:
  void clear();
  std::string what_;
  bool is_terminal_, is_shown_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

// "3.21 GB"
std::string bytes_text(double bytes);

}  // namespace weft::cli
