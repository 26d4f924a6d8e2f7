// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <reprise/error.h>

namespace reprise::cli {
namespace {

// True where the call may be tried again: interrupted, or (a pipe set to non-blocking) ready again.
bool try_again(int fd, short events) noexcept {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  pollfd ready{.fd = fd, .events = events, .revents = 0};
  return ::poll(&ready, 1, -1) >= 0 || errno == EINTR;
}

bool write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done >= 0) {
      text.remove_prefix(static_cast<std::size_t>(done));
    } else if (!try_again(fd, POLLOUT)) {
      return false;
    }
  }
  return true;
}

}  // namespace

void prepare_standard_streams() noexcept {
  // Writing then fails, which is reported, instead of ending the program without a word.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // Takes the free number. Standard output is opened for reading, so that writing to it fails.
    const int opened = ::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != fd) ::close(opened);
  }
}

void write_out(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return;
  throw Error(fmt::format("standard output cannot be written to: {}", std::strerror(errno)));
}

void write_err(std::string_view line) noexcept { write_all(STDERR_FILENO, line); }

std::string read_in() {
  std::string text;
  std::array<char, 1 << 16> block;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (got == 0) return text;
    if (got > 0) {
      text.append(block.data(), static_cast<std::size_t>(got));
    } else if (!try_again(STDIN_FILENO, POLLIN)) {
      throw Error(fmt::format("standard input cannot be read: {}", std::strerror(errno)));
    }
  }
}

}  // namespace reprise::cli
