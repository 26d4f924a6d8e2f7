// SPDX-License-Identifier: Apache-2.0
// Writes an SVG picture, element by element. Coordinates are CSS pixels; foreign text is escaped
// here. A picture carries its own style, follows the reader's light or dark theme, and may stand
// inside an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace reprise {

class SvgWriter {
 public:
  struct Box {
    double x = 0;
    double y = 0;
    double width = 0;
    double height = 0;
    double radius = 0;
  };

  /// `tip` is shown while a pointer rests on the box; "" for none.
  void box(const Box& box, std::string_view style, std::string_view tip = {});
  /// `style` may say "end" or "mid" for text that ends at, or is centred on, x.
  void text(double x, double y, std::string_view style, std::string_view content,
            std::string_view tip = {});
  /// `path` as SVG's path data; `style` a class of picture.css.
  void path(std::string_view path, std::string_view style, std::string_view tip = {});

  /// The whole document. `title` and `description` are read out to those who cannot see it.
  std::string finish(double width, double height, std::string_view title,
                     std::string_view description) const;

 private:
  void close(std::string_view element, std::string_view tip);

  std::string body_;
};

/// A coordinate with as many digits as can be seen.
std::string coordinate(double value);

}  // namespace reprise
