// SPDX-License-Identifier: Apache-2.0
#include "model/tokenizer/metaspace.h"

#include <string>

namespace reprise::tokenizer {

MetaspaceOptions read_metaspace(const JsonField& field) {
  MetaspaceOptions options;
  options.replacement = field["replacement"].character();
  options.split = field["split"].flag_or(true);
  const bool prefix = field["add_prefix_space"].flag_or(true);
  const JsonField scheme = field["prepend_scheme"];
  if (scheme.is_null()) {
    options.scheme = prefix ? PrependScheme::always : PrependScheme::never;
    return options;
  }
  const std::string name = scheme.text();
  if (name != "always" && name != "first" && name != "never") {
    scheme.fail("is \"" + name + "\"; it must be always, first or never");
  }
  options.scheme = name == "always"  ? PrependScheme::always
                   : name == "first" ? PrependScheme::first
                                     : PrependScheme::never;
  if (!prefix && options.scheme != PrependScheme::never) {
    scheme.fail("is \"" + name + "\", which contradicts add_prefix_space: false");
  }
  return options;
}

}  // namespace reprise::tokenizer
