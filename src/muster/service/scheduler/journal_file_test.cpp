#include "muster/service/scheduler/journal_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "muster/service/errc.h"

namespace muster::service {
namespace {

using namespace engine;

struct JournalFileTest : testing::Test {
  JournalFileTest() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "muster-journal-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
    folder = root + "/deep/journal";
  }
  ~JournalFileTest() override { std::filesystem::remove_all(root); }

  [[nodiscard]] std::unique_ptr<JournalFile> open() const {
    auto file = JournalFile::open(folder);
    if (!file) throw std::runtime_error(file.error().message());
    return *std::move(file);
  }
  static std::vector<JournalEntry> read(JournalFile& file) {
    std::vector<JournalEntry> entries;
    const auto count =
        file.replay([&](JournalEntry entry) { entries.push_back(std::move(entry)); });
    EXPECT_TRUE(count.has_value()) << count.error().message();
    return entries;
  }

  std::string root;
  std::string folder;
};

TEST_F(JournalFileTest, RefusesOneThatOthersMayWrite) {
  (void)open();
  ASSERT_EQ(::chmod((folder + "/journal").c_str(), 0666), 0);
  const auto refused = JournalFile::open(folder);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(Errc::refused));
  EXPECT_NE(refused.error().message().find("--journal-dir"), std::string::npos);
}

TEST_F(JournalFileTest, GivesBackWhatWasWritten) {
  StageSubmitted stage{SessionId(3), GraphId(1), "run", {}, {0, 0}, {5, 6}, {0, 1}};
  stage.bodies = {Buffer::copy_of(as_bytes(std::string(1000, 'x')))};
  TensorKept kept{SessionId(3), {"key", GraphId(1), Type::i64, {{3, 4}, {5}}, {7, 8}}};
  {
    const auto file = open();
    EXPECT_TRUE(read(*file).empty());
    file->append(ServiceRecord(SessionOpened{SessionId(3), "me", 12.5, true}));
    file->append(JournalRecord{17, WorkerLost{WorkerId(4), false}});
    file->append(ServiceRecord(stage));
    file->append(ServiceRecord(kept));
    file->append(ServiceRecord(ShapesLearned{{SessionId(3), 9}, {{1, 2}, {}}}));
    ASSERT_TRUE(file->flush().has_value());
  }
  const auto file = open();
  const auto entries = read(*file);
  ASSERT_EQ(entries.size(), 5u);
  const auto& opened = std::get<SessionOpened>(std::get<ServiceRecord>(entries[0]));
  EXPECT_EQ(opened.session, SessionId(3));
  EXPECT_EQ(opened.name, "me");
  EXPECT_EQ(opened.timeout, 12.5);
  EXPECT_TRUE(opened.trusted);
  const auto& event = std::get<JournalRecord>(entries[1]);
  EXPECT_EQ(event.now, 17);
  EXPECT_EQ(std::get<WorkerLost>(event.event), (WorkerLost{WorkerId(4), false}));
  const auto& staged = std::get<StageSubmitted>(std::get<ServiceRecord>(entries[2]));
  EXPECT_EQ(staged.bodies, stage.bodies);
  EXPECT_EQ(staged.first_output, stage.first_output);
  const auto& tensor = std::get<TensorKept>(std::get<ServiceRecord>(entries[3])).tensor;
  EXPECT_EQ(tensor.splits, kept.tensor.splits);
  EXPECT_EQ(tensor.dtype, kept.tensor.dtype);
  EXPECT_EQ(tensor.chunks, kept.tensor.chunks);
  const auto& shapes = std::get<ShapesLearned>(std::get<ServiceRecord>(entries[4]));
  EXPECT_EQ(shapes.shapes, (std::vector<Shape>{{1, 2}, {}}));
}

TEST_F(JournalFileTest, CutsOffWhatIsTornAndGoesOnThere) {
  {
    const auto file = open();
    file->append(ServiceRecord(SessionEnded{SessionId(1)}));
    file->append(ServiceRecord(SessionEnded{SessionId(2)}));
    ASSERT_TRUE(file->flush().has_value());
    std::filesystem::resize_file(folder + "/journal", file->size() - 1);
  }
  {
    const auto file = open();
    EXPECT_EQ(read(*file).size(), 1u);
    EXPECT_GT(file->cut(), 0u);
    file->append(ServiceRecord(SessionEnded{SessionId(3)}));
    ASSERT_TRUE(file->flush().has_value());
  }
  const auto file = open();
  const auto entries = read(*file);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(std::get<SessionEnded>(std::get<ServiceRecord>(entries[1])).session, SessionId(3));
}

TEST_F(JournalFileTest, IsForOneSchedulerAndItsUserOnly) {
  const auto file = open();
  struct stat status{};
  ASSERT_EQ(::stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((folder + "/journal").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const auto second = JournalFile::open(folder);
  ASSERT_FALSE(second.has_value());
  EXPECT_TRUE(second.error().is(Errc::refused));
}

TEST_F(JournalFileTest, RefusesAFileThatIsNotItsOwn) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/journal") << "somebody's diary, which is long enough to be read";
  const auto file = open();
  const auto read_it = file->replay([](JournalEntry) {});
  ASSERT_FALSE(read_it.has_value());
  EXPECT_TRUE(read_it.error().is(Errc::malformed)) << read_it.error().message();
}

TEST_F(JournalFileTest, RefusesOneOfAnotherVersionAndLeavesItAsItIs) {
  {
    const auto file = open();
    file->append(ServiceRecord(SessionEnded{SessionId(1)}));
    ASSERT_TRUE(file->flush().has_value());
  }
  const auto contents = [&] {
    std::ifstream in(folder + "/journal", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string entries = contents().substr(contents().find('\n') + 1);
  for (const std::string line :
       {"muster scheduler journal 1\n", "muster scheduler journal 2 of muster 99.0.0, layout 1\n"})
    for (const std::string& rest : {entries, std::string()}) {
      std::ofstream(folder + "/journal", std::ios::binary) << line << rest;
      const auto file = open();
      const auto read_it = file->replay([](JournalEntry) {});
      ASSERT_FALSE(read_it.has_value()) << line;
      EXPECT_TRUE(read_it.error().is(Errc::malformed));
      const std::string message = read_it.error().message();
      EXPECT_NE(message.find("another version"), std::string::npos) << message;
      EXPECT_NE(message.find("move the file away"), std::string::npos) << message;
      EXPECT_EQ(contents(), line + rest);
    }
}

TEST_F(JournalFileTest, LeavesAShortFileOfOthersAlone) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/journal") << "my diary";
  const auto file = open();
  EXPECT_FALSE(file->replay([](JournalEntry) {}).has_value());
  EXPECT_EQ(std::filesystem::file_size(folder + "/journal"), 8u);
}

TEST_F(JournalFileTest, BeginsAnewWhenItsFirstLineIsTorn) {
  {
    (void)open();
  }
  std::filesystem::resize_file(folder + "/journal", 30);
  const auto file = open();
  EXPECT_TRUE(read(*file).empty());
}

TEST_F(JournalFileTest, StartsOver) {
  const auto file = open();
  for (std::uint32_t i = 0; i < 100; ++i) file->append(ServiceRecord(SessionEnded{SessionId(i)}));
  ASSERT_TRUE(file->flush().has_value());
  const std::size_t before = file->size();
  file->append(ServiceRecord(LifeBegan{7, 6, SessionId(5), WorkerId(4)}));
  ASSERT_TRUE(file->start_over().has_value());
  EXPECT_LT(file->size(), before);
  const auto entries = read(*file);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(std::get<LifeBegan>(std::get<ServiceRecord>(entries[0])).epoch, 7u);
}

}  // namespace
}  // namespace muster::service
