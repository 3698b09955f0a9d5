// What a service throws ends its request; the server goes on.
#include "serve/http.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

namespace weft::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class ThrowingService : public Service {
 public:
  void handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) override {
    const auto fail = [] { throw std::runtime_error("out of luck"); };
    if (request.path == "/handle") fail();
    if (request.path == "/task") return exchange->post(fail);
    if (request.path == "/stream") {
      exchange->begin("text/event-stream");
      exchange->write("first");
      return exchange->post(fail);
    }
    if (request.path == "/end") return exchange->on_end([fail](ExchangeEnd) { fail(); });
    exchange->respond({.body = "fine"});
  }
  HttpResponse refusal(int status, const std::string& message) override {
    return {.status = status, .body = message};
  }
};

class HttpServers : public ::testing::Test {
 protected:
  // What is answered until the server closes the connection; the sending half is closed by then, or the
  // whole.
  std::string ask(const std::string& path, bool closes_at_once = false) const {
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string request = "GET " + path + " HTTP/1.1\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(::send(client, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    std::string answer;
    char part[4096];
    for (ssize_t count = 0; !closes_at_once && (count = ::recv(client, part, sizeof part, 0)) > 0;)
      answer.append(part, static_cast<size_t>(count));
    ::close(client);
    return answer;
  }

  HttpServer server{{}, std::make_shared<ThrowingService>()};
};

TEST_F(HttpServers, GoOnWhereServicesThrow) {
  std::thread thread([&] { server.run(); });
  for (int round = 0; round < 3; ++round) {
    for (const char* path : {"/handle", "/task"}) {
      EXPECT_THAT(ask(path), StartsWith("HTTP/1.1 500 ")) << path;
      EXPECT_THAT(ask(path), HasSubstr("out of luck")) << path;
    }
    const std::string cut = ask("/stream");
    EXPECT_THAT(cut, StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(cut, ::testing::Not(HasSubstr("0\r\n\r\n")));  // the end of a whole answer
    ask("/end", true);
    EXPECT_THAT(ask("/fine"), HasSubstr("fine"));
  }
  server.stop();
  thread.join();
}

}  // namespace
}  // namespace weft::serve
