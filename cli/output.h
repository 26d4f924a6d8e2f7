// SPDX-License-Identifier: Apache-2.0
// Standard input and output of the program: the answer goes out, everything else to standard error.
#pragma once

#include <string>
#include <string_view>

namespace reprise::cli {

/// To be called before anything else: a reader that goes away becomes an error instead of a signal,
/// and a standard stream that the caller has closed cannot be mistaken for a file opened later.
void prepare_standard_streams() noexcept;

/// Writes all of `text` to standard output now, unbuffered. Throws Error if it cannot.
void write_out(std::string_view text);
/// A line for standard error; what cannot be written there is lost.
void write_err(std::string_view line) noexcept;

/// All of standard input. Throws Error if it cannot be read.
std::string read_in();

}  // namespace reprise::cli
