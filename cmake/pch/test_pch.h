// Precompiled once for all test programs.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pch.h"
