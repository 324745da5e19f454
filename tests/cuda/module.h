// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include "engine/abi.h"

namespace grainless::test {

extern const AbiBackend* g_module;  // the module of the command line

// A session on the first card.
class ModuleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    AbiMessage message{};
    ASSERT_EQ(g_module->open(0, 0, &session_, &message), 0) << message.text;
  }
  void TearDown() override { g_module->close(session_); }

  AbiSession* session_ = nullptr;
};

}  // namespace grainless::test
