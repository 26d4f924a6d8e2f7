// SPDX-License-Identifier: Apache-2.0
#include "diag/svg.h"

#include <iterator>

#include <fmt/format.h>

#include "diag/markup.h"
#include "diag/page_files.h"

namespace reprise {

std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

void SvgWriter::close(std::string_view element, std::string_view tip) {
  if (tip.empty()) {
    body_ += "/>\n";
  } else {
    fmt::format_to(std::back_inserter(body_), "><title>{}</title></{}>\n", markup_escaped(tip),
                   element);
  }
}

void SvgWriter::box(const Box& box, std::string_view style, std::string_view tip) {
  fmt::format_to(
      std::back_inserter(body_), R"(<rect class="{}" x="{}" y="{}" width="{}" height="{}")", style,
      coordinate(box.x), coordinate(box.y), coordinate(box.width), coordinate(box.height));
  if (box.radius > 0) {
    fmt::format_to(std::back_inserter(body_), R"( rx="{}")", coordinate(box.radius));
  }
  close("rect", tip);
}

void SvgWriter::text(double x, double y, std::string_view style, std::string_view content,
                     std::string_view tip) {
  fmt::format_to(std::back_inserter(body_), R"(<text class="{}" x="{}" y="{}">)", style,
                 coordinate(x), coordinate(y));
  if (!tip.empty()) body_ += "<title>" + markup_escaped(tip) + "</title>";
  body_ += markup_escaped(content) + "</text>\n";
}

void SvgWriter::path(std::string_view path, std::string_view style, std::string_view tip) {
  fmt::format_to(std::back_inserter(body_), R"(<path class="{}" d="{}")", style, path);
  close("path", tip);
}

std::string SvgWriter::finish(double width, double height, std::string_view title,
                              std::string_view description) const {
  return fmt::format(
      R"svg(<svg xmlns="http://www.w3.org/2000/svg" class="reprise" role="img" width="{0}" height="{1}" viewBox="0 0 {0} {1}">
<title>{2}</title>
<desc>{3}</desc>
<style>
{4}</style>
<defs><pattern id="reprise-free" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch-ground" width="6" height="6"/><rect class="hatch-line" width="1.5" height="6"/></pattern></defs>
<rect class="ground" width="{0}" height="{1}"/>
{5}</svg>
)svg",
      coordinate(width), coordinate(height), markup_escaped(title), markup_escaped(description),
      page::kPictureCss, body_);
}

}  // namespace reprise
