"""The files for containers: sound to their linters, in step with the project, and without a secret in them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click import Group
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sayagain.cli import command
from sayagain.config import is_secret

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
PAGE = (ROOT / "docs" / "containers.md").read_text("utf-8")
VARIABLES = {"RUN_AS": "1000:1000", "LEDGER_PASSWORD": "not-a-secret"}


def tool(name: str) -> str:
    """Return the path of a linter; its package is in the development group, where there is one for the machine."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which(name, path=os.pathsep.join((beside, os.environ.get("PATH", ""))))
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def require_success(*args: str, **env: str) -> str:
    done = subprocess.run(
        args, capture_output=True, text=True, check=False, cwd=ROOT, env=dict(os.environ) | env, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile and what follows them, each on one line."""
    joined = DOCKERFILE.replace("\\\n", " ")
    lines = [line.strip() for line in joined.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_dockerfile_passes_hadolint() -> None:
    assert require_success(tool("hadolint"), "--failure-threshold", "style", "Dockerfile") == ""


def test_the_compose_file_is_what_the_compose_specification_allows() -> None:
    require_success(tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", "compose.yaml")


def test_the_compose_file_passes_yamllint() -> None:
    rules = "{extends: default, rules: {line-length: {max: 115}, document-start: disable}}"
    require_success(tool("yamllint"), "--strict", "--config-data", rules, "compose.yaml")


def test_docker_itself_reads_the_compose_file_and_asks_for_what_has_no_default(tmp_path: Path) -> None:
    docker = tool("docker")
    if subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("docker compose is not installed")
    for name in ("compose.yaml", "Dockerfile"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".env").write_text("".join(f"{name}={value}\n" for name, value in VARIABLES.items()))
    text = require_success(docker, "compose", "--project-directory", str(tmp_path), "config", "--format", "json")
    services = json.loads(text)["services"]
    assert services["runner"]["user"] == VARIABLES["RUN_AS"]
    (tmp_path / ".env").unlink()
    failed = subprocess.run(
        [docker, "compose", "--project-directory", str(tmp_path), "config"], capture_output=True, check=False
    )
    assert failed.returncode != 0


def test_the_image_runs_as_the_unprivileged_user_and_is_the_command() -> None:
    last = dict(instructions())
    assert last["USER"] == "65532:65532"
    assert last["ENTRYPOINT"] == '["sayagain"]'
    assert [word for word, _ in instructions()].count("FROM") == 2


def test_base_images_are_named_without_a_registry() -> None:
    names = [rest.split()[0] for word, rest in instructions() if word == "FROM"]
    names += [service["image"] for service in COMPOSE["services"].values()]
    assert all(re.fullmatch(r"[a-z0-9-]+(:[a-z0-9.-]+)?", name) for name in names), names
    assert set(names) >= {"python:3.11-slim"}


def test_nothing_is_installed_in_the_image_without_its_hash() -> None:
    commands = [part for word, rest in instructions() if word == "RUN" for part in rest.split("&&")]
    installs = [part for part in commands if "pip install" in part]
    assert len(installs) == 4
    for part in installs:
        assert "--require-hashes" in part or ("--no-deps" in part and "/tmp/wheels/" in part)  # noqa: S108
    assert all("--no-build-isolation" in part for part in commands if "uv build" in part)


def test_no_secret_is_in_the_image_or_the_compose_file() -> None:
    assert not [rest for word, rest in instructions() if word == "ARG"]
    set_here = [name for word, rest in instructions() if word == "ENV" for name in re.findall(r"(\w+)=", rest)]
    assert not [name for name in set_here if is_secret(name)]
    for service in COMPOSE["services"].values():
        for name, value in service.get("environment", {}).items():
            if is_secret(name):
                assert value.startswith("${LEDGER_PASSWORD:?")
            assert "@" not in value or ":" not in value.partition("://")[2].partition("@")[0]


def test_the_build_sees_only_what_is_listed() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    allowed = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = {
        part.partition("/")[0]
        for word, rest in instructions()
        if word == "COPY" and not rest.startswith("--from")
        for part in rest.split()[:-1]
    }
    assert copied == allowed
    assert all((ROOT / name).exists() for name in allowed)


def test_the_services_follow_each_other_and_hold_only_the_rights_they_need() -> None:
    services = COMPOSE["services"]
    assert services["migrate"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert services["runner"]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    for name in ("migrate", "runner"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["user"].startswith("${RUN_AS:?")
        assert services[name]["environment"]["DATABASE_URL"].startswith("postgresql://sayagain@database/")
    assert not any("ports" in service for service in services.values())
    assert services["runner"]["volumes"] == [
        f"./artifacts:{services['runner']['environment']['RUN_ARTIFACT_DIR']}"
    ]


def test_every_command_in_the_files_and_the_page_exists() -> None:
    said = [service["command"] for service in COMPOSE["services"].values() if "command" in service]
    said += [line.split() for line in re.findall(r"docker run .* sayagain (.+)$", PAGE, re.MULTILINE)]
    said += [line.split() for line in re.findall(r"docker compose run --rm runner (.+)$", PAGE, re.MULTILINE)]
    assert len(said) >= 6
    for words in said:
        found: Any = command
        for word in words:
            if not isinstance(found, Group):
                break
            found = found.get_command(None, word)  # type: ignore[arg-type]
            assert found is not None, words
        flags = {flag for option in found.params for flag in option.opts}
        assert {word for word in words if word.startswith("--")} <= flags


def test_every_example_that_mounts_a_directory_runs_as_its_owner() -> None:
    mounting = [line for line in PAGE.splitlines() if line.startswith("docker run") and "--volume" in line]
    assert len(mounting) >= 2
    assert all('--user "$(id -u):$(id -g)"' in line for line in mounting)


@pytest.mark.parametrize(("file", "extras"), [("runtime.txt", ("local", "s3")), ("dev.txt", ("local", "gpl"))])
def test_the_pinned_requirements_are_those_of_the_project(file: str, extras: tuple[str, ...]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = [*project["project"]["dependencies"]]
    for extra in extras:
        wanted += project["project"]["optional-dependencies"][extra]
    if file == "dev.txt":
        wanted += project["dependency-groups"]["dev"]
    text = (ROOT / "requirements" / file).read_text("utf-8").replace("\\\n", " ")
    pinned: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, version = re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==(\S+)", line).groups()  # type: ignore[union-attr]
        assert "--hash=sha256:" in line, name
        pinned.setdefault(canonicalize_name(name), []).append(version)
    for requirement in map(Requirement, wanted):
        versions = pinned.get(canonicalize_name(requirement.name))
        assert versions is not None, f"{requirement} is not in {file}: write it again as CONTRIBUTING.md says"
        assert any(requirement.specifier.contains(version) for version in versions), requirement
