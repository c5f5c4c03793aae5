"""Job descriptions: the examples are valid and run, and the JSON Schema agrees with the reader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MUSTER = ROOT / "build" / "release" / "bin" / "muster"
EXAMPLES = sorted((ROOT / "examples" / "jobs").glob("*.yml"))
SCHEMA = ROOT / "docs" / "reference" / "job.schema.json"

pytestmark = pytest.mark.timeout(120)

COMPONENT = "name: x\ncomponents:\n  a:\n    command: run\n    "
BAD = {
    "no name": "components: {a: {command: run}}",
    "no components": "name: x",
    "empty components": "name: x\ncomponents: {}",
    "no command": "name: x\ncomponents: {a: {num: 2}}",
    "unknown key": "name: x\nnum: 1\ncomponents: {a: {command: run}}",
    "unknown key in a component": COMPONENT + "comand: run",
    "no number": COMPONENT + "num: five",
    "too few": COMPONENT + "num: 0",
    "no size": COMPONENT + "resources: {memory: 12x}",
    "no cores": COMPONENT + "resources: {cpu: -1}",
    "no time": COMPONENT + "timeout: soon",
    "no policy": COMPONENT + "restart: {policy: perhaps}",
    "no flag": COMPONENT + "shell: maybe",
    "no variable": COMPONENT + "env: {1A: x}",
    "no path": COMPONENT + "mount: {target: data}",
    "no name of a component": "name: x\ncomponents: {'a b': {command: run}}",
    "no mode": "mode: proces\nname: x\ncomponents: {a: {command: run}}",
    "empty command": "name: x\ncomponents: {a: {command: []}}",
    "no condition": COMPONENT + "depends_on: {a: finished}",
    "no job names": "name: x\njob_names: []\ncomponents: {a: {command: run}}",
}


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    content = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(content)
    return jsonschema.Draft202012Validator(content)


def validate(*files: Path) -> tuple[int, list[dict]]:
    done = subprocess.run(
        [MUSTER, "job", "validate", "-o", "json", *files],
        capture_output=True,
        text=True,
        timeout=30,
    )
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_examples_are_valid_for_the_reader_and_the_schema(file, schema):
    status, [result] = validate(file)
    assert status == 0, result
    schema.validate(yaml.safe_load(file.read_text()))
    schema.validate(result["spec"])  # and as it is stored


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_what_the_schema_refuses_the_reader_refuses_too(text, schema, tmp_path):
    file = tmp_path / "job.yml"
    file.write_text(text)
    assert not schema.is_valid(yaml.safe_load(text))
    status, [result] = validate(file)
    assert status == 1
    assert result["problems"][0]["message"]


class Run:
    """Runs a job's components as an agent would, without one."""

    def __init__(self, file: Path, folder: Path) -> None:
        _, [result] = validate(file)
        self.spec = result["spec"]
        self.variables = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "MUSTER_RUNTIME_DIR": str(folder / "runtime"),
            "JOB_NAME": self.spec["name"],
            "JOB_ID": f"{self.spec['name']}-{os.getpid()}",
        }

    def start(self, name: str) -> list[subprocess.Popen[str]]:
        component = self.spec["components"][name]
        command = component["command"]
        words = ["/bin/sh", "-c", command] if component.get("shell") else command
        return [
            subprocess.Popen(
                words,
                cwd=component["working_dir"],
                env={
                    **self.variables,
                    **component.get("env", {}),
                    "COMPONENT_TYPE": name,
                    "COMPONENT_INDEX": str(index),
                    "COMPONENT_NAME": f"{name}_{index}",
                },
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for index in range(component["num"])
        ]


def outputs(processes: list[subprocess.Popen[str]]) -> list[str]:
    """What they print; all end with 0."""
    try:
        texts = [process.communicate(timeout=60)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * len(processes), texts
    return texts


def test_the_hello_example_runs(tmp_path):
    run = Run(ROOT / "examples" / "jobs" / "hello.yml", tmp_path)
    greetings = outputs(run.start("greeter"))
    assert greetings == [f"hello from greeter_{index} of job hello\n" for index in range(3)]
    assert outputs(run.start("farewell")) == ["all greeters have finished\n"]


def test_the_learner_and_actors_example_runs(tmp_path):
    run = Run(ROOT / "examples" / "jobs" / "learner_actors.yml", tmp_path)
    [learner, *_] = outputs(run.start("learner") + run.start("actor"))
    assert "round 14" in learner


def test_the_pendulum_example_learns(tmp_path, monkeypatch):
    run = Run(ROOT / "examples" / "jobs" / "pendulum.yml", tmp_path)
    picture = tmp_path / "curve.png"
    for component in run.spec["components"].values():
        component["command"][0] = sys.executable  # wherever these tests run
    run.spec["components"]["learner"]["command"] += ["--picture", str(picture)]
    [learner, *_] = outputs(run.start("learner") + run.start("actor"))
    assert "The pendulum stands" in learner
    assert picture.read_bytes().startswith(b"\x89PNG")
