#include "muster/comm/collective/choice.h"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace muster::comm::collective {
namespace {

using shared::Way;
using testing::HasSubstr;

Call call_of(Operation operation, std::size_t bytes) {
  Call call;
  call.operation = operation;
  call.count = bytes;
  return call;
}

std::string chosen(const ChoiceTable& table, const Call& call, const Place& place) {
  return std::string(table.choose(call, place).name);
}

std::string error_of(std::string_view text) {
  const Result<ChoiceTable> table = ChoiceTable::parse(text);
  return table ? "no error" : table.error().message();
}

TEST(ChoiceTable, CoversEveryOperationAndLayoutFromZeroBytesOn) {
  const ChoiceTable table = ChoiceTable::builtin();
  for (const Operation operation : kOperations)
    for (const Layout layout : kLayouts) {
      int lines = 0;
      std::size_t next = 0;
      for (std::size_t i = 0; i < table.rows().size(); ++i) {
        const ChoiceRow& row = table.rows()[i];
        if (row.operation != operation || row.layout != layout) continue;
        EXPECT_EQ(row.from, next) << name(operation);
        next = table.end_of(i);
        ++lines;
      }
      EXPECT_GT(lines, 0) << name(operation) << " " << name(layout);
      EXPECT_EQ(next, SIZE_MAX);
    }
}

TEST(ChoiceTable, ChoosesBySize) {
  const ChoiceTable table = ChoiceTable::builtin();
  EXPECT_EQ(chosen(table, call_of(Operation::allreduce, 8), {0, 4, {}}), "recursive_doubling");
  EXPECT_EQ(chosen(table, call_of(Operation::allreduce, 8 << 20), {0, 4, {}}), "ring");
}

TEST(ChoiceTable, UsesTwoLevelsWhenRanksShareHosts) {
  const ChoiceTable table = ChoiceTable::builtin();
  const int apart[] = {0, 1, 2, 3};
  const int together[] = {0, 0, 0, 0};
  const int mixed[] = {0, 0, 1, 1};
  for (const Operation operation : kOperations) {
    const Call call = call_of(operation, 8);
    EXPECT_EQ(chosen(table, call, {0, 4, mixed}), "two_level") << name(operation);
    EXPECT_NE(chosen(table, call, {0, 4, apart}), "two_level") << name(operation);
    EXPECT_NE(chosen(table, call, {0, 4, together}), "two_level") << name(operation);
  }
}

TEST(ChoiceTable, LeavesTwoLevelsWhereBytesCountMoreThanMessages) {
  const ChoiceTable table = ChoiceTable::builtin();
  const int mixed[] = {0, 0, 1, 1};
  const auto by_total = [&](Operation operation, std::size_t bytes) {
    return chosen(table, call_of(operation, bytes / 4), {0, 4, mixed});
  };
  EXPECT_EQ(by_total(Operation::all_to_all, 512), "two_level");
  EXPECT_EQ(by_total(Operation::all_to_all, 1 << 10), "bruck");
  EXPECT_EQ(by_total(Operation::all_to_all, 32 << 10), "linear");
  EXPECT_EQ(by_total(Operation::all_to_all, 512 << 10), "pairwise");
  for (const Operation operation : {Operation::allgather, Operation::reduce_scatter}) {
    EXPECT_EQ(by_total(operation, 128 << 10), "two_level") << name(operation);
    EXPECT_EQ(by_total(operation, 256 << 10), "ring") << name(operation);
  }
}

TEST(ChoiceTable, LetsBlocksThatTheLeadersDoNotKnowGoStraightToTheirRank) {
  const ChoiceTable table = ChoiceTable::builtin();
  const int mixed[] = {0, 0, 1, 1};
  for (const Operation operation : {Operation::scatter, Operation::gather, Operation::all_to_all}) {
    Call call = call_of(operation, 8);
    call.variable = true;
    call.counts = {1, 2, 3, 4};
    EXPECT_EQ(chosen(table, call, {0, 4, mixed}), "linear") << name(operation);
  }
}

TEST(ChoiceTable, HasWaysForRanksOnOneHostAndAlgorithmsForOthers) {
  const ChoiceTable table = ChoiceTable::builtin();
  for (const ChoiceRow& row : table.rows()) {
    const auto* const algorithm = std::get_if<const AlgorithmRow*>(&row.chosen);
    EXPECT_EQ(algorithm == nullptr, row.layout == Layout::host)
        << name(row.operation) << " " << row.name();
    if (algorithm != nullptr) {
      EXPECT_EQ((*algorithm)->operation, row.operation);
    }
  }
}

TEST(ChoiceTable, LetsRanksOnOneHostFindOutHowLargeBlocksGo) {
  const shared::Ways ways = ChoiceTable::builtin().ways();
  for (const Operation operation : kOperations) {
    if (operation == Operation::barrier) continue;
    const std::size_t from = (operation == Operation::allreduce ? 64 : 16) << 10;
    EXPECT_EQ(ways.of(operation, from - 1), Way::stage) << name(operation);
    EXPECT_EQ(ways.of(operation, from), std::nullopt) << name(operation);
    EXPECT_EQ(ways.of(operation, std::size_t{1} << 40), std::nullopt) << name(operation);
  }
}

TEST(ChoiceTable, KeepsTheOrderOfRanksForAReductionThatNeedsIt) {
  const ChoiceTable table = ChoiceTable::builtin();
  Call call = call_of(Operation::allreduce, 8 << 20);
  call.reduction = Reduction::of([](std::byte*, const std::byte*, std::size_t) {}, false);
  for (const Operation operation :
       {Operation::allreduce, Operation::reduce, Operation::reduce_scatter}) {
    call.operation = operation;
    EXPECT_TRUE(table.choose(call, {0, 4, {}}).ordered) << name(operation);
  }
}

TEST(ChoiceTable, TakesOverridesForRangesOfBytes) {
  const auto table =
      ChoiceTable::parse("allreduce:1k-64k:ring, broadcast/flat:*:scatter_allgather");
  ASSERT_TRUE(table) << table.error().message();
  const Place place = {0, 4, {}};
  EXPECT_EQ(chosen(*table, call_of(Operation::allreduce, 1023), place), "recursive_doubling");
  EXPECT_EQ(chosen(*table, call_of(Operation::allreduce, 1024), place), "ring");
  EXPECT_EQ(chosen(*table, call_of(Operation::allreduce, 65535), place), "ring");
  EXPECT_EQ(chosen(*table, call_of(Operation::allreduce, 65536), place), "rabenseifner");
  EXPECT_EQ(chosen(*table, call_of(Operation::broadcast, 0), place), "scatter_allgather");
}

TEST(ChoiceTable, TakesOverridesForRanksOnOneHost) {
  const auto table = ChoiceTable::parse(
      "allreduce/host:16k-:quickest,allreduce/host:1M-:stream,gather/host:20000-30000:lend");
  ASSERT_TRUE(table) << table.error().message();
  const shared::Ways ways = table->ways();
  EXPECT_EQ(ways.of(Operation::allreduce, (16 << 10) - 1), Way::stage);
  EXPECT_EQ(ways.of(Operation::allreduce, (1 << 20) - 1), std::nullopt);
  EXPECT_EQ(ways.of(Operation::allreduce, 1 << 20), Way::stream);
  EXPECT_EQ(ways.of(Operation::gather, 19'999), std::nullopt);
  EXPECT_EQ(ways.of(Operation::gather, 20'000), Way::lend);
  EXPECT_EQ(ways.of(Operation::gather, 30'000), std::nullopt);
  const int together[] = {0, 0, 0, 0};
  const Call call = call_of(Operation::allreduce, 8 << 20);
  EXPECT_EQ(chosen(*table, call, {0, 4, together}), "ring") << "by messages";
}

TEST(ChoiceTable, LeavesRanksOnOneHostAloneWhereNoLayoutIsNamed) {
  const auto rows_on_host = [](const ChoiceTable& table) {
    std::vector<std::string> texts;
    for (const ChoiceRow& row : table.rows())
      if (row.layout == Layout::host) texts.emplace_back(row.name());
    return texts;
  };
  EXPECT_EQ(rows_on_host(ChoiceTable::parse("allreduce:*:ring").value()),
            rows_on_host(ChoiceTable::builtin()));
}

TEST(ChoiceTable, TakesForRanksOnOneHostWhatIsTrueAnyway) {
  for (const char* text :
       {"barrier/host:*:inline", "allreduce/host:0-361:inline", "gather/host:361-16k:stage"}) {
    const auto table = ChoiceTable::parse(text);
    ASSERT_TRUE(table) << table.error().message();
    EXPECT_EQ(table->digest(), ChoiceTable::builtin().digest()) << text;
  }
}

TEST(ChoiceTable, SaysWhatRanksOnOneHostCannotDo) {
  EXPECT_THAT(error_of("allreduce/host:0-1k:inline"),
              HasSubstr("at position 21, in 'allreduce/host:0-1k:inline': 'inline' takes blocks of "
                        "up to 360 bytes, and the range 0-1k ends above"));
  EXPECT_THAT(
      error_of("allreduce/host:*:stage"),
      HasSubstr("'stage' takes blocks of 361 bytes and more, and the range * begins below"));
  for (const std::string way : {"lend", "stream", "quickest"})
    EXPECT_THAT(error_of("allreduce/host:8k-:" + way),
                HasSubstr("'" + way +
                          "' takes blocks of 16384 bytes and more, and the range 8k- "
                          "begins below"));
  EXPECT_THAT(error_of("barrier/host:*:stage"),
              HasSubstr("'stage' is not a way for barrier on one host; there are inline"));
  EXPECT_THAT(error_of("allreduce/host:1M-:steam"),
              testing::AllOf(HasSubstr(": 'steam' is not a way for allreduce"),
                             HasSubstr("perhaps 'stream' is meant"), HasSubstr("quickest")));
  EXPECT_THAT(error_of("allreduce/host:1M-:ring"), HasSubstr("'ring' is not a way"));
  EXPECT_THAT(error_of("allreduce:1M-:lend"),
              HasSubstr("'lend' is for ranks on one host, as in allreduce/host:16384-:lend"));
  EXPECT_THAT(error_of("allreduce/hosts:1M-:lend"), HasSubstr("perhaps 'host' is meant"));
}

TEST(ChoiceTable, HasTheSameDigestWhereItChoosesAlike) {
  const auto digest = [](const char* text) { return ChoiceTable::parse(text).value().digest(); };
  EXPECT_EQ(digest(""), ChoiceTable::builtin().digest());
  EXPECT_EQ(digest("allreduce:*:ring"), digest("allreduce:4k-:ring allreduce:0-4k:ring"));
  EXPECT_EQ(digest("barrier/flat:*:dissemination"), digest(""));
  EXPECT_NE(digest("allreduce:*:ring"), digest(""));
  EXPECT_NE(digest("allreduce:1k-:ring"), digest("allreduce:2k-:ring"));
  EXPECT_NE(digest("allreduce/flat:*:ring"), digest("allreduce/mixed:*:ring"));
  EXPECT_EQ(digest("gather/host:1M-:lend"), digest("gather/host:1M-2M:lend gather/host:2M-:lend"));
  EXPECT_NE(digest("gather/host:1M-:lend"), digest(""));
  EXPECT_NE(digest("gather/host:1M-:lend"), digest("gather/host:1M-:stage"));
  EXPECT_NE(digest("gather/host:1M-:lend"), digest("gather/host:2M-:lend"));
}

TEST(ChoiceTable, ReadsOverridesFromAFile) {
  const test::TempDir folder;
  const std::string path = folder.path() / "table";
  std::ofstream(path) << "\xEF\xBB\xBF# ours\nallreduce:0-:ring # always\n";
  const auto table = ChoiceTable::parse("@" + path);
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_EQ(chosen(*table, call_of(Operation::allreduce, 0), {0, 4, {}}), "ring");
  std::ofstream(path) << "allreduce:0-:rink";
  EXPECT_THAT(error_of("@" + path),
              HasSubstr(path + ": at line 1, position 14, in 'allreduce:0-:rink': 'rink' is"));
  EXPECT_THAT(error_of("@/nowhere/at/all"), HasSubstr("cannot read the file '/nowhere/at/all'"));
  EXPECT_THAT(error_of("@/tmp"), HasSubstr("'/tmp' is a folder, not a file"));
}

TEST(ChoiceTable, SaysInWhichOfSeveralLinesAnOverrideIsWrong) {
  EXPECT_THAT(error_of("# ours\n\n  gather:*:linear, scatter/mixed:*:liner # no\nbarrier"),
              HasSubstr("at line 3, position 36, in 'scatter/mixed:*:liner': 'liner' is"));
  EXPECT_THAT(error_of("gather:*:linear\nbarrier"),
              HasSubstr("at line 2, position 8, in 'barrier': a ':' is missing"));
  EXPECT_THAT(error_of("gather:*:liner\n"), HasSubstr("at line 1, position 10, in"));
}

TEST(ChoiceTable, SaysWhereAnOverrideIsWrongAndWhatCouldStandThere) {
  EXPECT_THAT(
      error_of("alreduce:0-8k:ring"),
      testing::AllOf(
          HasSubstr("at position 1, in 'alreduce:0-8k:ring': 'alreduce' is not an operation"),
          HasSubstr("perhaps 'allreduce' is meant"), HasSubstr("reduce_scatter")));
  EXPECT_THAT(
      error_of("barrier:*:dissemination,allreduce:0-8k:rings"),
      testing::AllOf(HasSubstr("at position 40, in 'allreduce:0-8k:rings': 'rings' is not an "
                               "algorithm for allreduce"),
                     HasSubstr("perhaps 'ring' is meant"), HasSubstr("rabenseifner")));
  EXPECT_THAT(error_of("allreduce:8q-:ring"),
              HasSubstr("at position 11, in 'allreduce:8q-:ring': '8q-' is not a range"));
  EXPECT_THAT(error_of("allreduce:8k-1k:ring"), HasSubstr("the range 8k-1k is empty"));
  EXPECT_THAT(error_of("allreduce ring"),
              HasSubstr("at position 10, in 'allreduce': a ':' is missing"));
  EXPECT_THAT(error_of("allreduce/flt:*:ring"), HasSubstr("perhaps 'flat' is meant"));
  EXPECT_THAT(error_of("ALLREDUCE:*:ring"), HasSubstr("perhaps 'allreduce' is meant"));
  EXPECT_THAT(error_of("allreduce:0-8k:ring:twice"),
              HasSubstr("at position 20, in 'allreduce:0-8k:ring:twice': nothing stands behind the "
                        "algorithm"));
  EXPECT_THAT(error_of("barrier:4k-:dissemination"),
              HasSubstr("at position 9, in 'barrier:4k-:dissemination': a barrier has no bytes"));
}

}  // namespace
}  // namespace muster::comm::collective
