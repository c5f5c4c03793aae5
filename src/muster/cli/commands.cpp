#include "muster/cli/commands.h"

#include "muster/cli/agent.h"
#include "muster/cli/collectives.h"
#include "muster/cli/completion.h"
#include "muster/cli/docker_shim.h"
#include "muster/cli/doctor/doctor.h"
#include "muster/cli/engine/commands.h"
#include "muster/cli/job.h"
#include "muster/cli/process/commands.h"
#include "muster/cli/process/template.h"
#include "muster/cli/reference.h"
#include "muster/cli/run.h"
#include "muster/cli/version.h"

namespace muster::cli {

std::span<const Command> commands() {
  static constexpr Command kCommands[] = {
      {"run", "Run a program several times side by side, as ranks of one group",
       "muster run -n 4 -- python train.py --epochs 3\n"
       "muster run -n 2 --no-prefix ./allreduce  # output as it comes\n"
       "muster run -n 8 --keep-going -- python train.py  # for programs that go on without a rank",
       set_up_run},
      {"collectives", "Print which algorithm each collective operation uses",
       "muster collectives\n"
       "muster collectives -o json\n"
       "MUSTER_COLLECTIVES=allreduce/host:1M-:stream muster collectives  # with that changed\n"
       "MUSTER_COLLECTIVES=@choices.txt muster collectives  # with what is in a file",
       set_up_collectives},
      {"job", "Look at descriptions of jobs",
       "muster job validate train.yml\n"
       "muster job schema > job.schema.json",
       nullptr},
      {"job validate", "Check descriptions of jobs and schedules, and say all that is wrong",
       "muster job validate train.yml\n"
       "muster job validate *.yml -o json  # with the job as it will be stored",
       set_up_job_validate},
      {"job schema", "Print a JSON Schema of job descriptions, for editors",
       "muster job schema > job.schema.json", set_up_job_schema},
      {"process", "Run jobs on this machine",
       "muster process create\n"
       "muster process job start train.yml --wait\n"
       "muster process delete",
       nullptr},
      {"process create", "Set process mode up: a folder, a Redis server and an agent",
       "muster process create\n"
       "muster process create settings.yml",
       set_up_process_create},
      {"process delete", "End all jobs and remove everything that process mode made",
       "muster process delete", set_up_process_delete},
      {"process status", "Show whether the agent runs, and how many jobs there are",
       "muster process status\n"
       "muster process status -o json",
       set_up_process_status},
      {"process setting", "Show or change how process mode runs",
       "muster process setting show\n"
       "muster process setting set parallel_level 4",
       nullptr},
      {"process setting show", "Show the settings", "muster process setting show",
       set_up_setting_show},
      {"process setting set", "Change a setting; the agent takes it over at once",
       "muster process setting set parallel_level 4", set_up_setting_set},
      {"process job", "Start, stop and look at jobs",
       "muster process job start train.yml\n"
       "muster process job logs train -f",
       nullptr},
      {"process job start", "Queue a job",
       "muster process job start train.yml\n"
       "muster process job start train.yml --wait  # ends with the job's exit status",
       set_up_job_start},
      {"process job stop", "End a job; what is known of it stays", "muster process job stop train",
       set_up_job_stop},
      {"process job delete", "End a job and forget it, with its logs",
       "muster process job delete train", set_up_job_delete},
      {"process job list", "List the jobs",
       "muster process job list\n"
       "muster process job list --label scenario=pendulum\n"
       "muster process job list -o json",
       set_up_job_list},
      {"process job describe", "Show all that is known of a job",
       "muster process job describe train", set_up_job_describe},
      {"process job logs", "Print what the components of a job printed",
       "muster process job logs train\n"
       "muster process job logs train --component learner -f\n"
       "muster process job logs train --tail 20",
       set_up_job_logs},
      {"process schedule", "Start and stop several jobs that differ in their names only",
       "muster process schedule start nightly.yml", nullptr},
      {"process schedule start", "Queue the jobs of a schedule, all or none",
       "muster process schedule start nightly.yml", set_up_schedule_start},
      {"process schedule stop", "End the jobs of a schedule",
       "muster process schedule stop nightly", set_up_schedule_stop},
      {"process schedule list", "List the schedules and their jobs", "muster process schedule list",
       set_up_schedule_list},
      {"process template", "Write commented examples of job descriptions, which run as they are",
       "muster process template\n"
       "muster process template jobs --force",
       set_up_process_template},
      {"scheduler", "Run the scheduler of an array cluster",
       "muster scheduler -p 7103\n"
       "MUSTER_SECRET=… muster scheduler -a 10.0.0.5 -p 7103  # for workers on other hosts",
       set_up_scheduler},
      {"worker", "Run a worker of an array cluster; SIGTERM makes it hand over its data and leave",
       "muster worker -s 127.0.0.1:7103\n"
       "muster worker -a 10.0.0.6 -s 10.0.0.5:7103 --memory 16g --spill-dir /data/spill",
       set_up_worker},
      {"web", "Run the web role of an array cluster, which sessions connect to",
       "muster web -p 7104 -s 127.0.0.1:7103\n"
       "muster web -a 0.0.0.0 -p 7104 -s 10.0.0.5:7103 --token-file token",
       set_up_web},
      {"local-cluster", "Run an array cluster on this machine, until Ctrl-C",
       "muster local-cluster --workers 2\n"
       "muster local-cluster --workers 4 --web-port 7104 --memory 4g --spill-dir /tmp/spill",
       set_up_local_cluster},
      {"engine", "Look at an array cluster",
       "muster engine status -u http://127.0.0.1:7104\n"
       "muster engine workers -u http://127.0.0.1:7104",
       nullptr},
      {"engine status", "Show how the cluster is",
       "muster engine status -u http://127.0.0.1:7104\n"
       "MUSTER_WEB=http://127.0.0.1:7104 muster engine status -o json",
       set_up_engine_status},
      {"engine workers", "List the workers", "muster engine workers -u http://127.0.0.1:7104",
       set_up_engine_workers},
      {"engine sessions", "List the open sessions",
       "muster engine sessions -u http://127.0.0.1:7104", set_up_engine_sessions},
      {"engine tasks", "List the tasks of running computations",
       "muster engine tasks -u http://127.0.0.1:7104 --state running", set_up_engine_tasks},
      {"doctor", "Check what is installed and reachable, and say how to mend it",
       "muster doctor\n"
       "muster doctor -o json",
       set_up_doctor},
      {"completion", "Print a script that completes commands, options and their values in a shell",
       "source <(muster completion bash)  # in ~/.bashrc\n"
       "source <(muster completion zsh)   # in ~/.zshrc\n"
       "muster completion fish > ~/.config/fish/completions/muster.fish",
       set_up_completion},
      {"version", "Print the version, the compiler and the built drivers",
       "muster version\n"
       "muster version -o json",
       set_up_version},
      {"agent", "The daemon of process mode", "muster agent --root DIR", set_up_agent, true},
      {"docker-shim", "Watches over one container", "muster docker-shim DIR", set_up_docker_shim,
       true},
      {"complete", "What may stand at the end of a command line, for the scripts of 'completion'",
       "muster complete =job =val", set_up_complete, true},
      {"reference", "Print a page of docs/reference", "muster reference cli", set_up_reference,
       true},
  };
  return kCommands;
}

}  // namespace muster::cli
