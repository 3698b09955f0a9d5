// One connection of the HTTP server, with its requests one after another.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "serve/http.h"

namespace weft::serve {

// All in the server's one thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, const HttpOptions& options, Service& service);
  void start();
  // Answers with status 503 and closes.
  void refuse(const std::string& why);
  void stop();
  bool is_open() const { return is_open_; }

 private:
  friend class ConnectionExchange;
  void refuse(int status, const std::string& why);
  void begin_exchange();
  void read_header();
  void read_body();
  void on_read_error(const boost::system::error_code& error);
  void handle();
  void watch();
  void end_exchange(ExchangeEnd end);
  void fail(uint64_t exchange, const std::string& why);

  void respond(uint64_t exchange, HttpResponse response);
  void begin(uint64_t exchange, const std::string& content_type);
  void write(uint64_t exchange, const std::string& text);
  void finish(uint64_t exchange);
  void send(const std::string& bytes);
  void send_next();
  void next_request();
  void linger();
  void drop();
  void close();

  boost::beast::tcp_stream stream_;
  boost::asio::steady_timer deadline_;
  const HttpOptions& options_;
  Service& service_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;

  // Of the exchange that is under way; numbers tell late calls of earlier ones apart.
  uint64_t exchange_ = 0;
  bool is_active_ = false, is_streaming_ = false, is_finished_ = false;
  bool keeps_alive_ = false, has_chunks_ = false, is_head_ = false;
  std::function<void(ExchangeEnd)> on_end_;

  std::string sending_, unsent_;  // on its way, and what follows it
  size_t lingered_bytes_ = 0;
  bool is_sending_ = false, is_open_ = true;
};

}  // namespace weft::serve
