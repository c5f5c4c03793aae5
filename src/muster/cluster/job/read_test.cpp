#include "muster/cluster/job/read.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cluster/errc.h"
#include "tests/support/temp_dir.h"

namespace muster::cluster {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using Words = std::vector<std::string>;

constexpr std::uint64_t kMiB = 1 << 20;

std::vector<std::string> complaints(std::string_view text) {
  std::vector<std::string> lines;
  for (const SpecProblem& problem : read_spec(text, "job.yml").problems) {
    lines.push_back(problem.str());
  }
  return lines;
}

JobSpec job(std::string_view text) {
  EXPECT_THAT(complaints(text), IsEmpty());
  SpecReading reading = read_spec(text, "job.yml");
  const auto* spec = std::get_if<JobSpec>(&reading.spec);
  return spec != nullptr ? *spec : JobSpec();
}

/// A job with one component that has these lines.
std::string with_component(std::string_view lines) {
  return "name: x\ncomponents:\n  a:\n    command: run\n" + std::string(lines);
}

TEST(ReadJob, TakesThePredecessorsProcessJobAsItIs) {
  const JobSpec spec = job(R"(
mode: process
name: MyJobName
components:
  actor:   {num: 5, command: "python /target/path/run_actor.py"}
  learner: {num: 1, command: "python /target/path/run_learner.py"}
)");
  EXPECT_EQ(spec.mode, "process");
  EXPECT_EQ(spec.name, "MyJobName");
  ASSERT_THAT(spec.components, SizeIs(2));
  EXPECT_EQ(spec.components[0].name, "actor");
  EXPECT_EQ(spec.components[0].num, 5u);
  EXPECT_EQ(spec.components[0].command, (Words{"python", "/target/path/run_actor.py"}));
  EXPECT_TRUE(spec.components[0].resources.empty());
}

TEST(ReadJob, TakesThePredecessorsClusterJobAsItIs) {
  const JobSpec spec = job(R"(
mode: grass/azure
name: MyJobName
allocation:
  mode: single-metric-compacted
  metric: memory
components:
  actor:
    image: MyImageName
    resources: {cpu: 2, memory: 4096m, gpu: 1}
    num: 5
    mount: {target: /mnt/data}
    command: "python /mnt/data/run_actor.py"
)");
  EXPECT_EQ(spec.mode, "grass/azure");
  EXPECT_EQ(spec.allocation, (Allocation{AllocationMode::compacted, Metric::memory}));
  const ComponentSpec& actor = spec.components.at(0);
  EXPECT_EQ(actor.image, "MyImageName");
  EXPECT_EQ(actor.resources, (Resources{2000, 4096 * kMiB, 1}));
  EXPECT_THAT(actor.mounts, ElementsAre(MountSpec{"", "/mnt/data", false}));
}

TEST(ReadJob, TakesThePredecessorsMountOfAHostFolderAndItsCommandLists) {
  const JobSpec spec = job(R"(
mode: k8s/aks
name: MyJobName
components:
  actor:
    mount: {target: "/host:/container"}
    resources: {cpu: 1, memory: 4096M, gpu: 0}
    command: ["python", "/mnt/data/run actor.py"]
)");
  EXPECT_THAT(spec.components.at(0).mounts, ElementsAre(MountSpec{"/host", "/container", false}));
  EXPECT_EQ(spec.components.at(0).command, (Words{"python", "/mnt/data/run actor.py"}));
}

TEST(ReadJob, AFileWithJobNamesIsASchedule) {
  const SpecReading reading = read_spec(R"(
mode: process
name: MySchedule
job_names: [first, second]
components: {actor: {num: 2, command: run}}
)",
                                        "f");
  ASSERT_TRUE(reading.ok()) << reading.problems.front().str();
  const auto& schedule = std::get<ScheduleSpec>(reading.spec);
  EXPECT_EQ(schedule.name, "MySchedule");
  const auto jobs = schedule.jobs();
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_EQ(jobs[1].name, "second");
  EXPECT_EQ(jobs[1].components, jobs[0].components);
}

TEST(ReadJob, TakesAllOurKeys) {
  const JobSpec spec = job(R"(
name: train
priority: -5
timeout: 2h
labels: {team: rl, "example.org/run": 7}
components:
  prepare:
    command: prepare
  learner:
    num: 1
    shell: true
    command: echo $HOME | cat
    env: {SEED: 1, EMPTY: , FAST: true}
    working_dir: runs
    restart: {policy: on-failure, max: 3, backoff: 500ms}
    depends_on: {prepare: succeeded}
    timeout: 90
    logs: {max_size: 1m, keep: 0}
  actor:
    command: act
    depends_on: [learner]
    mount: [{target: /a}, {source: /b, target: /c, read_only: yes}]
)");
  EXPECT_EQ(spec.priority, -5);
  EXPECT_EQ(spec.timeout, milliseconds(7'200'000));
  EXPECT_THAT(spec.labels, ElementsAre(Pair("example.org/run", "7"), Pair("team", "rl")));
  const ComponentSpec& learner = *spec.component("learner");
  EXPECT_EQ(learner.argv(), (Words{"/bin/sh", "-c", "echo $HOME | cat"}));
  EXPECT_THAT(learner.env, ElementsAre(Pair("EMPTY", ""), Pair("FAST", "true"), Pair("SEED", "1")));
  EXPECT_EQ(learner.working_dir, "runs");
  EXPECT_EQ(learner.restart, (RestartSpec{RestartPolicy::on_failure, 3, milliseconds(500)}));
  EXPECT_THAT(learner.depends_on, ElementsAre(Dependency{"prepare", DependsUntil::succeeded}));
  EXPECT_EQ(learner.timeout, milliseconds(90'000));
  EXPECT_EQ(learner.logs, (LogSpec{kMiB, 0}));
  const ComponentSpec& actor = *spec.component("actor");
  EXPECT_THAT(actor.mounts, ElementsAre(MountSpec{"", "/a", false}, MountSpec{"/b", "/c", true}));
  EXPECT_THAT(actor.depends_on, ElementsAre(Dependency{"learner", DependsUntil::started}));
}

TEST(ReadJob, FillsInDefaults) {
  const JobSpec spec = job(with_component(""));
  EXPECT_EQ(spec.mode, "process");
  EXPECT_EQ(spec.priority, 0);
  EXPECT_EQ(spec.allocation, Allocation());
  EXPECT_EQ(spec.timeout, std::nullopt);
  const ComponentSpec& a = spec.components.at(0);
  EXPECT_EQ(a.num, 1u);
  EXPECT_EQ(a.restart, RestartSpec());
  EXPECT_EQ(a.logs, LogSpec());
  EXPECT_FALSE(a.shell);
}

TEST(ReadJob, WhatStandsForAllComponentsHoldsWhereTheySayNothing) {
  const JobSpec spec = job(R"(
name: x
components:
  a: {command: run, env: {B: 2, C: 3}}
  b: {command: run, restart: {max: 1}, working_dir: /b}
env: {A: 1, B: 1}
working_dir: /all
restart: {policy: always}
logs: {keep: 9}
)");
  const ComponentSpec& a = spec.components.at(0);
  const ComponentSpec& b = spec.components.at(1);
  EXPECT_THAT(a.env, ElementsAre(Pair("A", "1"), Pair("B", "2"), Pair("C", "3")));
  EXPECT_THAT(b.env, ElementsAre(Pair("A", "1"), Pair("B", "1")));
  EXPECT_EQ(a.working_dir, "/all");
  EXPECT_EQ(b.working_dir, "/b");
  EXPECT_EQ(b.restart.policy, RestartPolicy::always);
  EXPECT_EQ(b.restart.max, 1u);
  EXPECT_EQ(a.logs.keep, 9u);
}

TEST(ReadJob, TellsEverythingAtOnceInTheOrderOfTheFile) {
  EXPECT_THAT(
      complaints(R"(mode: proces
nmae: x
components:
  actor:
    num: five
    comand: run
    resources: {cpu: -1, memory: 12x}
  le arner:
    command: "a | b"
)"),
      ElementsAre(HasSubstr("job.yml:1: mode: 'proces' is not one of process, grass, "),
                  HasSubstr("job.yml:1: 'name' is missing: a name"),
                  "job.yml:2: unknown key 'nmae'; did you mean 'name'?",
                  HasSubstr("job.yml:5: components.actor: 'command' is missing: a command line"),
                  "job.yml:5: components.actor.num: 'five' is not a whole number from 1 to 100000",
                  "job.yml:6: components.actor: unknown key 'comand'; did you mean 'command'?",
                  "job.yml:7: components.actor.resources.cpu: '-1' is not a number of cores, such "
                  "as 2, 0.5 or 500m",
                  "job.yml:7: components.actor.resources.memory: '12x' is not a size, such as 512m "
                  "or 2g",
                  HasSubstr("job.yml:8: components.le arner: a component's name is made of"),
                  HasSubstr("job.yml:9: components.le arner.command: '|' means something to a "
                            "shell")));
}

TEST(ReadJob, TellsKeysThatComeTwiceTogetherWithTheRest) {
  EXPECT_THAT(complaints("name: x\nname: y\npriority: high\ncomponents: {a: {command: run}}\n"),
              ElementsAre("job.yml:2: key 'name' comes twice; the first is in line 1",
                          HasSubstr("job.yml:3: priority: 'high' is not a whole number")));
}

TEST(ReadJob, RefusesNumbersOutOfRange) {
  for (const char* num : {"0", "-1", "100001", "1.5", "'5'", "1e3", "99999999999999999999", "[1]",
                          "{a: 1}", "0x10"}) {
    EXPECT_THAT(complaints(with_component("    num: " + std::string(num))),
                ElementsAre(HasSubstr("a whole number from 1 to 100000")))
        << num;
  }
}

TEST(ReadJob, SuspectsMemoryWithoutAUnit) {
  EXPECT_THAT(
      complaints(with_component("    resources: {memory: 2048}")),
      ElementsAre(HasSubstr("2 KiB is less than 1 MiB; a number without a unit is in bytes")));
  EXPECT_THAT(complaints(with_component("    resources: {memory: 0}")), IsEmpty());
}

TEST(ReadJob, RefusesLogsOfNoSizeAndFoldersThatOnlyAShellKnows) {
  EXPECT_THAT(complaints(with_component("    logs: {max_size: 0}")),
              ElementsAre(HasSubstr("0 B is less than 1 KiB")));
  EXPECT_THAT(complaints(with_component("    working_dir: ~/runs")),
              ElementsAre(HasSubstr("'~' is not expanded")));
}

TEST(ReadJob, RefusesValuesOfTheWrongKind) {
  EXPECT_THAT(complaints(with_component("    env: [A=1]")),
              ElementsAre(HasSubstr("components.a.env: a list is not a map from")));
  EXPECT_THAT(complaints(with_component("    env: {A: [1]}")),
              ElementsAre(HasSubstr("the value of 'A' has to be a text, not a list")));
  EXPECT_THAT(complaints(with_component("    env: {1A: x}")),
              ElementsAre(HasSubstr("'1A' is not the name of an environment variable")));
  EXPECT_THAT(complaints(with_component("    shell: maybe")),
              ElementsAre(HasSubstr("'maybe' is not true or false")));
  EXPECT_THAT(complaints(with_component("    resources: 3")),
              ElementsAre(HasSubstr("'3' is not a map")));
  EXPECT_THAT(complaints(with_component("    timeout: soon")),
              ElementsAre(HasSubstr("'soon' is not a time, such as")));
  EXPECT_THAT(complaints(with_component("    timeout: 0")), SizeIs(1));
  EXPECT_THAT(complaints(with_component("    mount: {target: data}")),
              ElementsAre(HasSubstr("'data' is not an absolute path")));
  EXPECT_THAT(complaints(with_component("    mount: {}")),
              ElementsAre(HasSubstr("'target' is missing")));
  EXPECT_THAT(complaints(with_component("    depends_on: b")), SizeIs(1));
  EXPECT_THAT(complaints(with_component("    restart: {policy: onfailure}")),
              ElementsAre(HasSubstr("did you mean 'on-failure'?")));
}

TEST(ReadJob, RefusesCommandsThatNameNoProgram) {
  for (const char* command : {"''", "[]", "['']", "{a: b}", "[[a]]", "\"a\\0b\"", "' '"}) {
    const std::string text =
        "name: x\ncomponents:\n  a:\n    command: " + std::string(command) + "\n";
    EXPECT_THAT(complaints(text), testing::Not(IsEmpty())) << command;
  }
}

TEST(ReadJob, RefusesVariablesThatAreOurs) {
  EXPECT_THAT(complaints(with_component("    env: {COMPONENT_NAME: x}")),
              ElementsAre(HasSubstr("'COMPONENT_NAME' is set by Muster")));
}

TEST(ReadJob, RefusesAListForAShell) {
  EXPECT_THAT(complaints("name: x\ncomponents: {a: {shell: true, command: [a, b]}}"),
              ElementsAre(HasSubstr("has to be one text")));
}

TEST(ReadJob, RefusesDependenciesOnNobody) {
  EXPECT_THAT(complaints(R"(name: x
components:
  learner: {command: run}
  actor: {command: run, depends_on: [learnr, learner, learner]}
)"),
              ElementsAre("job.yml:4: components.actor.depends_on: there is no component 'learnr'; "
                          "did you mean 'learner'?",
                          "job.yml:4: components.actor.depends_on: 'learner' comes twice"));
}

TEST(ReadJob, RefusesDependenciesInACircle) {
  EXPECT_THAT(complaints(R"(name: x
components:
  z: {command: run, depends_on: [a]}
  a: {command: run, depends_on: [b]}
  b: {command: run, depends_on: [c]}
  c: {command: run, depends_on: [a]}
)"),
              ElementsAre("job.yml:4: components.a.depends_on: leads in a circle: a → b → c → a"));
  EXPECT_THAT(complaints("name: x\ncomponents: {a: {command: run, depends_on: [a]}}"),
              ElementsAre(HasSubstr("a → a")));
}

TEST(ReadJob, RefusesJobNamesThatComeTwiceOrAreNone) {
  const std::string rest = "name: x\ncomponents: {a: {command: run}}\n";
  EXPECT_THAT(complaints(rest + "job_names: [a, b, a]"),
              ElementsAre("job.yml:3: job_names: 'a' comes twice; each job needs a name of its "
                          "own"));
  EXPECT_THAT(complaints(rest + "job_names: []"), SizeIs(1));
  EXPECT_THAT(complaints(rest + "job_names: [a/b]"), ElementsAre(HasSubstr("'a/b' is not a name")));
}

TEST(ReadJob, RefusesJobsWithoutComponents) {
  EXPECT_THAT(complaints("name: x\ncomponents: {}"),
              ElementsAre(HasSubstr("at least one component")));
  EXPECT_THAT(complaints("name: x\n"), ElementsAre(HasSubstr("'components' is missing")));
  EXPECT_THAT(complaints("[a, b]"), ElementsAre(HasSubstr("not by a list")));
  EXPECT_THAT(complaints("hello"), ElementsAre(HasSubstr("not by 'hello'")));
}

TEST(ReadJob, StopsComplainingAfterAHundred) {
  std::string text = "name: x\ncomponents: {a: {command: run}}\n";
  for (int i = 0; i < 5000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(complaints(text), SizeIs(101));
}

TEST(ReadJob, ShowsNoControlCharactersAndNoEndlessValues) {
  const auto lines =
      complaints(with_component("    num: \"\\e[31m" + std::string(1000, 'x') + "\""));
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].find('\033'), std::string::npos);
  EXPECT_LT(lines[0].size(), 200u);
}

class ReadFile : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    const auto file = folder_.path() / "job.yml";
    std::ofstream(file) << text;
    return file;
  }
  test::TempDir folder_;
};

TEST_F(ReadFile, GivesTheJob) {
  const auto read = read_job_file(write(with_component("")));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->name, "x");
}

TEST_F(ReadFile, ResolvesWorkingFoldersFromThatOfTheFile) {
  const auto folders = [&](const std::string& lines) {
    const auto read = read_job_file(write(with_component(lines)));
    return read ? read->components[0].working_dir : read.error().message();
  };
  const auto here = folder_.path();
  EXPECT_EQ(folders(""), here.string());
  EXPECT_EQ(folders("    working_dir: a/../b/"), (here / "b").string());
  EXPECT_EQ(folders("    working_dir: ..\n"), here.parent_path().string());
  EXPECT_EQ(folders("    working_dir: /abs\n"), "/abs");
  EXPECT_EQ(folders("    image: x\n"), "");
  EXPECT_EQ(folders("    working_dir: x\nmode: grass\n"), "x");
}

TEST_F(ReadFile, NamesTheFileInEachLineOfTheError) {
  const auto file = write("nme: x\n");
  const auto read = read_job_file(file);
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().is(Errc::invalid_spec));
  EXPECT_THAT(read.error().message(), HasSubstr(file.string() + ":1: unknown key 'nme'"));
}

TEST_F(ReadFile, SaysHowToStartASchedule) {
  const auto file = write(with_component("job_names: [a]\n"));
  EXPECT_THAT(read_job_file(file).error().message(), HasSubstr("schedule start"));
  EXPECT_TRUE(read_schedule_file(file));
  const auto single = write(with_component(""));
  EXPECT_THAT(read_schedule_file(single).error().message(), HasSubstr("job start"));
}

TEST_F(ReadFile, RefusesWhatCannotBeRead) {
  const auto missing = read_job_file(folder_.path() / "none.yml");
  EXPECT_TRUE(missing.error().is(Errc::unreadable));
  EXPECT_THAT(missing.error().message(), HasSubstr("none.yml: there is no such file"));
  EXPECT_THAT(read_job_file(folder_.path()).error().message(), HasSubstr("is a folder"));
}

}  // namespace
}  // namespace muster::cluster
