// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <fmt/format.h>

#include <reprise/error.h>

#include "commands.h"
#include "core/json_writer.h"
#include "core/text.h"
#include "model/json.h"
#include "model/tokenizer/tokenizer.h"
#include "output.h"

namespace reprise::cli {
namespace {

// What comes in is the caller's, so a fault in it is one of use, not of a model.
std::vector<std::int32_t> read_ids(const std::string& text, std::size_t vocabulary) try {
  const JsonValue root = JsonFile::parse(text, "standard input").root();
  if (!root.is(JsonValue::Kind::array)) {
    throw UsageError("standard input: --decode takes a JSON array of token ids, such as [1,15,27]");
  }
  std::vector<std::int32_t> ids;
  const auto largest = static_cast<std::int64_t>(vocabulary) - 1;
  for (const JsonValue& item : root.items()) {
    ids.push_back(static_cast<std::int32_t>(item.integer(0, largest)));
  }
  return ids;
} catch (const ModelError& fault) {
  throw UsageError(fault.what());
}

Tokenizer open_tokenizer(const std::string& model) {
  if (model.starts_with("random:")) {
    throw ModelError(printable(model) + " has no tokenizer; give a folder with a tokenizer.json");
  }
  if (model.empty()) throw ModelError("the model argument is empty; give a folder");
  return Tokenizer::load(model);
}

}  // namespace

int tokenize(const TokenizeOptions& options) {
  const Tokenizer tokenizer = open_tokenizer(options.model);
  const std::string input = read_in();
  if (options.decode) {
    const std::vector<std::int32_t> ids = read_ids(input, tokenizer.vocabulary_size());
    write_out(tokenizer.decode(ids, options.no_special));
  } else {
    const std::vector<std::int32_t> ids = tokenizer.encode(input, !options.no_special);
    write_out(JsonWriter().array(ids).text() + "\n");
  }
  return 0;
}

}  // namespace reprise::cli
