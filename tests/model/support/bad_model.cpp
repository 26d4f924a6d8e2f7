// SPDX-License-Identifier: Apache-2.0
#include "model/support/bad_model.h"

#include <gtest/gtest.h>

#include <reprise/error.h>

#include "model/model_source.h"

namespace reprise::test {

void expect_refusal(const BadModel& bad) {
  TinyModel model;
  ASSERT_NO_THROW(open_model(model.folder().string())) << "the model is good before";
  bad.damage(model);
  std::string message;
  try {
    open_model(model.folder().string());
    FAIL() << "a bad model was accepted";
  } catch (const ModelError& error) {
    message = error.what();
  }
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_LT(message.size(), 600u) << message;
  EXPECT_NE(message.find(model.folder().string()), std::string::npos) << message;
  for (const std::string& culprit : bad.culprits) {
    EXPECT_NE(message.find(culprit), std::string::npos) << culprit << " not in: " << message;
  }
}

}  // namespace reprise::test
