// SPDX-License-Identifier: Apache-2.0
#include "cli/support/program.h"

#include <array>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/places.h"

namespace reprise::test {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    close_end(read);
    close_end(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  int read = -1;
  int write = -1;
};

std::string drain(int fd) {
  std::string text;
  std::array<char, 4096> block{};
  for (ssize_t got = 0; (got = ::read(fd, block.data(), block.size())) > 0;) {
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// `out` is the program's standard output; -1: closed.
Ran run_with(const std::vector<std::string>& arguments, std::string_view in, int out,
             Pipe* captured) {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe input;
  Pipe errors;
  const std::string path = program_path();
  std::vector<char*> argv{const_cast<char*>("reprise")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(input.read, STDIN_FILENO);
    ::dup2(errors.write, STDERR_FILENO);
    if (out >= 0) {
      ::dup2(out, STDOUT_FILENO);
    } else {
      ::close(STDOUT_FILENO);
    }
    ::execv(path.c_str(), argv.data());
    ::_exit(127);
  }
  Pipe::close_end(input.read);
  Pipe::close_end(errors.write);
  if (captured != nullptr) Pipe::close_end(captured->write);
  Ran ran;
  std::thread feed([&] {
    while (!in.empty()) {
      const ssize_t done = ::write(input.write, in.data(), in.size());
      if (done <= 0) break;
      in.remove_prefix(static_cast<std::size_t>(done));
    }
    Pipe::close_end(input.write);
  });
  std::thread listen([&] { ran.err = drain(errors.read); });
  if (captured != nullptr) ran.out = drain(captured->read);
  feed.join();
  listen.join();
  int status = 0;
  ::waitpid(child, &status, 0);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

// What a build with CUDA says on a machine without a GPU to whoever leaves the device to it.
Ran without_host_note(Ran ran) {
  if (ran.err.starts_with(kHostNote)) ran.err.erase(0, ran.err.find('\n') + 1);
  return ran;
}

}  // namespace

Ran run_program(const std::vector<std::string>& arguments, std::string_view in) {
  return without_host_note(run_program_noted(arguments, in));
}

Ran run_program_noted(const std::vector<std::string>& arguments, std::string_view in) {
  Pipe out;
  return run_with(arguments, in, out.write, &out);
}

Ran run_program_into(const std::string& path, const std::vector<std::string>& arguments) {
  const int out = path.empty() ? -1 : ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const Ran ran = run_with(arguments, {}, out, nullptr);
  if (out >= 0) ::close(out);
  return without_host_note(ran);
}

Ran run_program_unread(const std::vector<std::string>& arguments) {
  Pipe out;
  Pipe::close_end(out.read);
  return without_host_note(run_with(arguments, {}, out.write, nullptr));
}

std::string comma_list(const std::vector<std::int32_t>& ids) {
  return fmt::format("{}", fmt::join(ids, ","));
}

std::vector<std::int32_t> read_array(const std::string& line) {
  if (line.empty() || line.find('\n') != line.size() - 1) throw std::runtime_error("not one line");
  return nlohmann::json::parse(line).get<std::vector<std::int32_t>>();
}

void expect_refusal(const Ran& ran, int status, const std::string& culprit) {
  EXPECT_EQ(ran.status, status) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(ran.err.starts_with("reprise: error: ")) << ran.err;
  EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << "one line: " << ran.err;
  EXPECT_NE(ran.err.find(culprit), std::string::npos) << culprit << " in " << ran.err;
}

std::string demo_folder() { return source_folder() / "models/demo"; }

}  // namespace reprise::test
