// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/post_processor.h"

#include <string>

namespace reprise::tokenizer {
namespace {

/// ["[SEP]", 102]
std::int32_t read_token_id(const JsonField& field) {
  const std::vector<JsonField> pair = field.elements();
  if (pair.size() != 2) field.fail("must be a token and its id");
  return pair[1].id();
}

PostProcessor read_template(const JsonField& field) {
  const JsonField tokens = field["special_tokens"];
  const JsonField single = field["single"];
  PostProcessor result;
  int texts = 0;
  single.each_element([&](const JsonField& part) {
    const JsonField text = part["Sequence"];
    if (!text.is_null()) {
      if (text["id"].text() != "A") text["id"].fail("must be \"A\" in the template of one text");
      ++texts;
      return;
    }
    const JsonField special = part["SpecialToken"];
    if (special.is_null()) part.fail("must be a Sequence or a SpecialToken");
    const std::string name = special["id"].text();
    const JsonField token = tokens[name];
    if (token.is_null()) special["id"].fail("is \"" + name + "\", which special_tokens lacks");
    token["ids"].each_element([&](const JsonField& id) {
      (texts == 0 ? result.before : result.after).push_back(id.id());
    });
  });
  if (texts != 1) single.fail("must hold the text (Sequence A) exactly once");
  return result;
}

}  // namespace

PostProcessor read_post_processor(const JsonField& field) {
  PostProcessor result;
  if (field.is_null()) return result;
  const std::string type = field["type"].text();
  if (type == "ByteLevel") return result;  // it only moves offsets
  if (type == "TemplateProcessing") return read_template(field);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    return {{read_token_id(field["cls"])}, {read_token_id(field["sep"])}};
  }
  if (type == "Sequence") {
    for (const JsonField& part : field["processors"].elements()) {
      if (part.is_null()) part.fail("must be a post-processor");
      const PostProcessor next = read_post_processor(part);
      if (next.empty()) continue;
      if (!result.empty())
        part.fail("is a second processor that adds tokens; only one is supported");
      result = next;
    }
    return result;
  }
  field["type"].fail("is \"" + type +
                     "\", a post-processor that is not supported (supported: Sequence, "
                     "TemplateProcessing, ByteLevel, BertProcessing, RobertaProcessing)");
}

}  // namespace reprise::tokenizer
