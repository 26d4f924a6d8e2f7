// SPDX-License-Identifier: Apache-2.0
// Runs the program as a user does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::test {

struct Ran {
  int status = -1;  ///< exit status; 128 + signal where one ended it
  std::string out;
  std::string err;
};

/// How the note begins by which a build with CUDA says that it found no GPU.
inline constexpr std::string_view kHostNote = "reprise: note: running on the host, without a GPU: ";

/// Runs `reprise` with these arguments and `in` as standard input. The note above, which is the
/// machine's affair, is left out of `err`, here and below.
Ran run_program(const std::vector<std::string>& arguments, std::string_view in = {});

/// With that note.
Ran run_program_noted(const std::vector<std::string>& arguments, std::string_view in = {});

/// The same with standard output going to `path` (opened for writing), or closed where it is empty.
Ran run_program_into(const std::string& path, const std::vector<std::string>& arguments);

/// With standard output a pipe that nobody reads.
Ran run_program_unread(const std::vector<std::string>& arguments);

/// "1,2,3"
std::string comma_list(const std::vector<std::int32_t>& ids);
/// "[1,2,3]\n" back into numbers; throws on anything else.
std::vector<std::int32_t> read_array(const std::string& line);

/// Checks that the run was refused: exit status, nothing on standard output, exactly one line of
/// the form "reprise: error: …" that holds `culprit`.
void expect_refusal(const Ran& ran, int status, const std::string& culprit);

/// The demo model's folder.
std::string demo_folder();

}  // namespace reprise::test
