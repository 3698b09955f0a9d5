// An HTTP server over Boost.Beast: requests in, answers out, whole or piece by piece. What is answered is a
// Service's matter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::serve {

struct HttpRequest {
  std::string method, path, body, authorization, content_type, accept;
};

struct HttpResponse {
  int status = 200;
  std::string body, content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};  // further ones
};

enum class ExchangeEnd : uint8_t {
  Closed,    // the client went away, or reads too slowly: nobody reads an answer
  TimedOut,  // and may be answered so
  Stopping,  // the server is; the same
};

// One request and its answer. Calls may come from any thread; those after the end do nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void respond(HttpResponse response) = 0;
  // An answer in pieces: begin(), write() any number of times, finish().
  virtual void begin(std::string content_type) = 0;
  virtual void write(std::string text) = 0;
  virtual void finish() = 0;
  // Runs `task` in the server's thread, if the exchange has not ended by then.
  virtual void post(std::function<void()> task) = 0;
  // Told where the exchange ends before its answer does. To be set before handle() returns.
  virtual void on_end(std::function<void(ExchangeEnd)> told) = 0;
};

class Service {
 public:
  virtual ~Service() = default;
  // Answers at once or later. In the server's thread; what it throws is answered with status 500.
  virtual void handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) = 0;
  // The answer to what is no request this server reads: 400, 413, 431, 500, 503.
  virtual HttpResponse refusal(int status, const std::string& message) = 0;
};

struct HttpOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;                 // 0: any that is free
  int64_t max_body_bytes = 4 << 20;  // of a request
  int64_t max_header_bytes = 16 << 10;
  int64_t max_connections = 256;
  double read_seconds = 30;            // for a request to arrive, and between two of a connection
  double write_seconds = 30;           // for a client to take what was written
  double request_seconds = 600;        // for an answer
  int64_t max_unread_bytes = 1 << 20;  // of an answer that a client has not taken
};

class HttpServer {
 public:
  // Listens from now on. RuntimeError where the address cannot be had.
  HttpServer(HttpOptions options, std::shared_ptr<Service> service);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  uint16_t port() const;
  // Serves until SIGINT, SIGTERM or stop(), which any thread may call.
  void run();
  void stop();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace weft::serve
