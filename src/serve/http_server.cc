#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <cctype>
#include <csignal>

#include "core/printable.h"
#include "runtime/log.h"
#include "serve/http.h"
#include "serve/http_connection.h"
#include "weft/error.h"

namespace weft::serve {

namespace net = boost::asio;
using boost::system::error_code;
using Tcp = net::ip::tcp;

namespace {

// Of a number or a name such as localhost; of a name that has several, one of IPv4.
net::ip::address address_of(const std::string& text) {
  error_code error;
  if (const auto address = net::ip::make_address(text, error); !error) return address;
  net::io_context context;
  const auto found = Tcp::resolver(context).resolve(text, "", error);
  // Resolvers take 1.2.3 for 1.2.0.3.
  const bool is_name = std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::isalpha(c); });
  WEFT_CHECK(is_name && !error && !found.empty(),
             fmt::format("serve: '{}' is no address of a network interface, such as 127.0.0.1 or ::, nor the "
                         "name of one",
                         printable(text)));
  for (const auto& entry : found)
    if (entry.endpoint().address().is_v4()) return entry.endpoint().address();
  return found.begin()->endpoint().address();
}

}  // namespace

class HttpServer::Listener {
 public:
  Listener(HttpOptions options, std::shared_ptr<Service> service)
      : options_(std::move(options)), service_(std::move(service)), acceptor_(context_), signals_(context_) {
    error_code error;
    const Tcp::endpoint endpoint(address_of(options_.address), options_.port);
    const auto check = [&] {
      if (error)
        throw_error(ErrorKind::Runtime, fmt::format("serve: cannot listen on {}, port {}: {}",
                                                    options_.address, options_.port, error.message()));
    };
    acceptor_.open(endpoint.protocol(), error), check();
    acceptor_.set_option(Tcp::acceptor::reuse_address(true), error), check();
    acceptor_.bind(endpoint, error), check();
    acceptor_.listen(net::socket_base::max_listen_connections, error), check();
  }

  uint16_t port() const { return acceptor_.local_endpoint().port(); }

  void run() {
    for (const int signal : {SIGINT, SIGTERM}) signals_.add(signal);
    wait_for_signal();
    accept();
    // What a handler throws is its connection's matter, which its deadline ends.
    for (bool is_over = false; !is_over;) {
      try {
        context_.run();
        is_over = true;
      } catch (const std::exception& failure) {
        log::warning(fmt::format("serve: a connection's step failed: {}", failure.what()));
      }
    }
  }
  void stop() {
    net::post(context_, [this] { begin_to_stop(); });
  }

 private:
  void wait_for_signal() {
    signals_.async_wait([this](error_code error, int) {
      if (error) return;
      is_stopping_ ? context_.stop() : begin_to_stop();
      wait_for_signal();
    });
  }

  // Requests under way are answered that the server stops; after a second, nothing is waited for.
  void begin_to_stop() {
    if (is_stopping_) return;
    is_stopping_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    for (const auto& connection : connections_)
      if (const auto open = connection.lock()) open->stop();
    grace_.emplace(context_, std::chrono::seconds(1));
    grace_->async_wait([this](error_code) { context_.stop(); });
    wait_for_connections();
  }
  void wait_for_connections() {
    if (count_open() == 0) return context_.stop();
    poll_.emplace(context_, std::chrono::milliseconds(10));
    poll_->async_wait([this](error_code error) {
      if (!error) wait_for_connections();
    });
  }

  int64_t count_open() {
    std::erase_if(connections_, [](const auto& connection) {
      const auto open = connection.lock();
      return !open || !open->is_open();
    });
    return static_cast<int64_t>(connections_.size());
  }

  void accept() {
    acceptor_.async_accept([this](error_code error, Tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (error) {  // out of file descriptors, mostly: again a little later
        poll_.emplace(context_, std::chrono::milliseconds(50));
        return poll_->async_wait([this](error_code) { accept(); });
      }
      const bool is_full = count_open() >= options_.max_connections;
      auto connection = std::make_shared<Connection>(std::move(socket), options_, *service_);
      if (is_full) {
        connection->refuse(fmt::format("the server has its {} connections", options_.max_connections));
      } else {
        connections_.push_back(connection);
        connection->start();
      }
      accept();
    });
  }

  HttpOptions options_;
  std::shared_ptr<Service> service_;
  net::io_context context_{1};
  Tcp::acceptor acceptor_;
  net::signal_set signals_;
  std::optional<net::steady_timer> grace_, poll_;
  std::vector<std::weak_ptr<Connection>> connections_;
  bool is_stopping_ = false;
};

HttpServer::HttpServer(HttpOptions options, std::shared_ptr<Service> service)
    : listener_(std::make_unique<Listener>(std::move(options), std::move(service))) {}
HttpServer::~HttpServer() = default;
uint16_t HttpServer::port() const { return listener_->port(); }
void HttpServer::run() { listener_->run(); }
void HttpServer::stop() { listener_->stop(); }

}  // namespace weft::serve
