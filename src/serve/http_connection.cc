#include "serve/http_connection.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>

#include "runtime/log.h"

namespace weft::serve {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

namespace {

constexpr size_t kLingerBytes = 8 << 20;
constexpr std::chrono::seconds kLinger{2};

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
}

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

std::string head_of(int status, const std::string& content_type, bool keeps_alive) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(status));
  return fmt::format(
      "HTTP/1.1 {} {}\r\nServer: weft\r\nContent-Type: {}\r\nX-Content-Type-Options: nosniff\r\n"
      "Cache-Control: no-store\r\nConnection: {}\r\n",
      status, text_of(reason), content_type, keeps_alive ? "keep-alive" : "close");
}

}  // namespace

// What services hold: it keeps the connection, and its calls are made in the server's thread.
class ConnectionExchange : public Exchange {
 public:
  ConnectionExchange(std::shared_ptr<Connection> connection, uint64_t number)
      : connection_(std::move(connection)), number_(number) {}
  void respond(HttpResponse response) override {
    run([this_ = connection_, number = number_, response = std::move(response)]() mutable {
      this_->respond(number, std::move(response));
    });
  }
  void begin(std::string content_type) override {
    run([this_ = connection_, number = number_, type = std::move(content_type)] {
      this_->begin(number, type);
    });
  }
  void write(std::string text) override {
    run([this_ = connection_, number = number_, text = std::move(text)] { this_->write(number, text); });
  }
  void finish() override {
    run([this_ = connection_, number = number_] { this_->finish(number); });
  }
  void post(std::function<void()> task) override {
    run([this_ = connection_, number = number_, task = std::move(task)] {
      if (this_->exchange_ != number || !this_->is_active_) return;
      try {
        task();
      } catch (const std::exception& failure) {
        this_->fail(number, failure.what());
      }
    });
  }
  void on_end(std::function<void(ExchangeEnd)> told) override {
    if (connection_->exchange_ == number_) connection_->on_end_ = std::move(told);
  }

 private:
  template <class F>
  void run(F&& f) {
    net::post(connection_->stream_.get_executor(), std::forward<F>(f));
  }
  std::shared_ptr<Connection> connection_;
  uint64_t number_;
};

Connection::Connection(net::ip::tcp::socket socket, const HttpOptions& options, Service& service)
    : stream_(std::move(socket)), deadline_(stream_.get_executor()), options_(options), service_(service) {
  error_code ignored;
  stream_.socket().set_option(net::ip::tcp::no_delay(true), ignored);
}

void Connection::start() { read_header(); }

void Connection::refuse(const std::string& why) { refuse(503, why); }

// An answer without a request.
void Connection::refuse(int status, const std::string& why) {
  begin_exchange();
  keeps_alive_ = false;
  is_head_ = false;
  respond(exchange_, service_.refusal(status, why));
}

void Connection::begin_exchange() {
  ++exchange_;
  is_active_ = true;
  is_streaming_ = is_finished_ = false;
  on_end_ = nullptr;
}

void Connection::stop() {
  if (is_active_ && !is_finished_)
    end_exchange(ExchangeEnd::Stopping);
  else if (!is_sending_)
    close();
  keeps_alive_ = false;
}

// ---- a request ---------------------------------------------------------------------------------
void Connection::read_header() {
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(options_.max_header_bytes));
  parser_->body_limit(static_cast<uint64_t>(options_.max_body_bytes));
  stream_.expires_after(milliseconds(options_.read_seconds));
  http::async_read_header(stream_, buffer_, *parser_, [this_ = shared_from_this()](error_code error, size_t) {
    if (error) return this_->on_read_error(error);
    if (beast::iequals(this_->parser_->get()[http::field::expect], "100-continue")) {
      static const std::string& go_on = *new std::string("HTTP/1.1 100 Continue\r\n\r\n");
      return net::async_write(this_->stream_, net::buffer(go_on), [this_](error_code failure, size_t) {
        failure ? this_->close() : this_->read_body();
      });
    }
    this_->read_body();
  });
}

void Connection::read_body() {
  stream_.expires_after(milliseconds(options_.read_seconds));
  http::async_read(stream_, buffer_, *parser_, [this_ = shared_from_this()](error_code error, size_t) {
    if (error) return this_->on_read_error(error);
    this_->handle();
  });
}

// After a deadline the stream is closed already.
void Connection::on_read_error(const error_code& error) {
  if (error == http::error::body_limit)
    return refuse(413, fmt::format("the request's body has more than {} bytes", options_.max_body_bytes));
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return refuse(431, fmt::format("the request's header has more than {} bytes", options_.max_header_bytes));
  if (error.category() == http::make_error_code(http::error::bad_method).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message)
    return refuse(400, "this is no HTTP request: " + error.message());
  close();
}

void Connection::handle() {
  begin_exchange();
  auto message = parser_->release();
  keeps_alive_ = message.keep_alive();
  has_chunks_ = message.version() >= 11;
  is_head_ = message.method() == http::verb::head;
  stream_.expires_never();
  HttpRequest request{.method = text_of(message.method_string()),
                      .path = text_of(message.target().substr(0, message.target().find('?'))),
                      .body = std::move(message.body()),
                      .authorization = text_of(message[http::field::authorization]),
                      .content_type = text_of(message[http::field::content_type]),
                      .accept = text_of(message[http::field::accept])};
  if (is_head_) request.method = "GET";
  deadline_.expires_after(milliseconds(options_.request_seconds));
  deadline_.async_wait([this_ = shared_from_this(), number = exchange_](error_code error) {
    if (!error && this_->exchange_ == number && this_->is_active_ && !this_->is_finished_)
      this_->end_exchange(ExchangeEnd::TimedOut);
  });
  watch();
  try {
    service_.handle(request, std::make_shared<ConnectionExchange>(shared_from_this(), exchange_));
  } catch (const std::exception& failure) {
    fail(exchange_, failure.what());
  }
}

// An answer that has begun can only be cut off.
void Connection::fail(uint64_t exchange, const std::string& why) {
  log::warning("serve: a request ends with an error: " + why);
  if (exchange == exchange_ && is_streaming_) return drop();
  respond(exchange, service_.refusal(500, why));
}

// Notices a client that goes away while it is answered.
void Connection::watch() {
  stream_.socket().async_wait(
      net::ip::tcp::socket::wait_read, [this_ = shared_from_this(), number = exchange_](error_code error) {
        if (error || !this_->is_open_ || this_->exchange_ != number || !this_->is_active_) return;
        char byte = 0;
        error_code failure;
        this_->stream_.socket().non_blocking(true, failure);
        this_->stream_.socket().receive(net::buffer(&byte, 1), net::ip::tcp::socket::message_peek, failure);
        if (failure == net::error::would_block) return this_->watch();
        if (failure) this_->drop();  // otherwise its next request
      });
}

void Connection::end_exchange(ExchangeEnd end) {
  const auto told = std::move(on_end_);
  on_end_ = nullptr;
  if (end != ExchangeEnd::Closed) keeps_alive_ = false;
  if (told)
    told(end);
  else if (end != ExchangeEnd::Closed)
    drop();
}

// ---- an answer ---------------------------------------------------------------------------------
void Connection::respond(uint64_t exchange, HttpResponse response) {
  if (exchange != exchange_ || !is_active_ || is_streaming_ || is_finished_) return;
  std::string text = head_of(response.status, response.content_type, keeps_alive_);
  for (const auto& [name, value] : response.headers) text += fmt::format("{}: {}\r\n", name, value);
  text += fmt::format("Content-Length: {}\r\n\r\n", response.body.size());
  if (!is_head_) text += response.body;
  is_finished_ = true;
  send(text);
}

void Connection::begin(uint64_t exchange, const std::string& content_type) {
  if (exchange != exchange_ || !is_active_ || is_streaming_ || is_finished_) return;
  is_streaming_ = true;
  if (!has_chunks_) keeps_alive_ = false;
  send(head_of(200, content_type, keeps_alive_) +
       (has_chunks_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n"));
}

void Connection::write(uint64_t exchange, const std::string& text) {
  if (exchange != exchange_ || !is_active_ || !is_streaming_ || is_finished_ || text.empty()) return;
  if (sending_.size() + unsent_.size() + text.size() > static_cast<size_t>(options_.max_unread_bytes))
    return drop();
  send(has_chunks_ ? fmt::format("{:x}\r\n{}\r\n", text.size(), text) : text);
}

void Connection::finish(uint64_t exchange) {
  if (exchange != exchange_ || !is_active_ || !is_streaming_ || is_finished_) return;
  is_finished_ = true;
  send(has_chunks_ ? "0\r\n\r\n" : "");
}

void Connection::send(const std::string& bytes) {
  unsent_ += bytes;
  if (!is_sending_) send_next();
}

void Connection::send_next() {
  sending_ = std::move(unsent_);
  unsent_.clear();
  is_sending_ = true;
  stream_.expires_after(milliseconds(options_.write_seconds));
  net::async_write(stream_, net::buffer(sending_), [this_ = shared_from_this()](error_code error, size_t) {
    this_->is_sending_ = false;
    if (!this_->is_open_) return;
    if (error) return this_->drop();
    this_->stream_.expires_never();
    this_->sending_.clear();
    if (!this_->unsent_.empty()) return this_->send_next();
    if (this_->is_finished_) this_->next_request();
  });
}

void Connection::next_request() {
  is_active_ = false;
  on_end_ = nullptr;
  deadline_.cancel();
  if (keeps_alive_) return read_header();
  error_code ignored;
  stream_.socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(kLinger);
  linger();
}

// Reads what a client still sends: closing before that would take the answer from it.
void Connection::linger() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(64 << 10),
                          [this_ = shared_from_this()](error_code error, size_t count) {
                            this_->lingered_bytes_ += count;
                            if (error || this_->lingered_bytes_ > kLingerBytes) return this_->close();
                            this_->linger();
                          });
}

// The client is gone.
void Connection::drop() {
  close();
  if (is_active_ && !is_finished_) end_exchange(ExchangeEnd::Closed);
  is_active_ = false;
  on_end_ = nullptr;  // it holds this connection
}

void Connection::close() {
  is_open_ = false;
  deadline_.cancel();
  error_code ignored;
  stream_.socket().shutdown(net::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
}

}  // namespace weft::serve
