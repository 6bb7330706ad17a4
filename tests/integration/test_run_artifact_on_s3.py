"""Artifacts on a real S3-speaking server in another process: uploaded by runs and read by every command."""

import http.client
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import s3fs

from sayagain.artifact import destinations
from sayagain.errors import ArtifactWriteError
from support.commands import Cli, Standin, events

KEY_ID, SECRET = "AKIATESTONLY", "hunter2/secret+of+the+tests"
BUCKET = "results"
QUICK = ("--kind", "tts", "--attempts", "1", "--sample", "2")
CREDENTIALS = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}


class S3Server:
    """A server with one bucket, and what its clients need in their environment."""

    def __init__(self, port: int, home: Path) -> None:
        self.port = port
        self.environment = CREDENTIALS | {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_CONFIG_FILE": str(home / "none"),
            "AWS_SHARED_CREDENTIALS_FILE": str(home / "none"),
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self._client = boto3.client(
            "s3",
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            region_name="us-east-1",
            aws_access_key_id=KEY_ID,
            aws_secret_access_key=SECRET,
        )
        self._client.create_bucket(Bucket=BUCKET)

    def objects(self) -> list[str]:
        """Return what the bucket holds."""
        return [found["Key"] for found in self._client.list_objects_v2(Bucket=BUCKET).get("Contents", [])]

    def replace(self, key: str, body: bytes) -> None:
        """Damage an object."""
        self._client.put_object(Bucket=BUCKET, Key=key, Body=body)

    def read(self, key: str) -> bytes:
        """Return an object's bytes."""
        return bytes(self._client.get_object(Bucket=BUCKET, Key=key)["Body"].read())

    def check_credentials(self, *, after: float) -> None:
        """Refuse unknown credentials after this many requests."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("POST", "/moto-api/reset-auth", str(after), {"Content-Type": "text/plain"})
        assert connection.getresponse().status == 200
        connection.close()


@pytest.fixture(scope="module")
def server_process() -> Iterator[int]:
    """A server in a process of its own; its port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", "0"], stderr=subprocess.PIPE, text=True, env=os.environ
    )
    assert process.stderr is not None
    port = next(int(found[1]) for line in process.stderr if (found := re.search(r"127\.0\.0\.1:(\d+)", line)))
    drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
    yield port
    for each in (process, drain):
        each.kill()
        each.wait()
    process.stderr.close()


@pytest.fixture
def s3(server_process: int, tmp_path: Path, cli: Cli) -> Iterator[S3Server]:
    """The server with an empty bucket; the command knows how to reach it."""
    server = S3Server(server_process, tmp_path)
    cli.env |= server.environment | {"RUN_ARTIFACT_DIR": f"s3://{BUCKET}/nightly", "TMPDIR": str(tmp_path)}
    yield server
    connection = http.client.HTTPConnection("127.0.0.1", server_process)
    connection.request("POST", "/moto-api/reset")
    connection.getresponse().read()
    connection.close()


def require_no_secret(text: str) -> None:
    assert SECRET not in text
    assert KEY_ID not in text
    assert "Signature=" not in text


def test_a_run_leaves_its_artifact_on_s3_and_every_command_reads_it_there(
    cli: Cli, standin: Standin, s3: S3Server, tmp_path: Path
) -> None:
    model = standin("ok,error,ok")
    done = cli("run", "--models", model, *QUICK, "--require-artifact")
    require_no_secret(done.stdout + done.stderr)
    assert [event["event"] for event in events(done.stderr)] == [
        "run_started",
        "case_failed",
        "run_finished",
        "run_artifact_written",
    ]
    (key,) = s3.objects()
    (written,) = (event for event in events(done.stderr) if event["event"] == "run_artifact_written")
    url = f"s3://{BUCKET}/{key}"
    assert (written["path"], written["bytes"]) == (url, len(s3.read(key)))
    assert url in done.stdout
    assert cli("artifact", "verify", url).stdout.startswith(f"{url}: whole")
    assert "(1 of 2 cases failed)" in cli("artifact", "show", url).stdout
    (failed,) = cli("artifact", "show", url, "--failed", "--json").stdout.splitlines()
    assert '"failed"' in failed
    assert cli.json("compare", url, "latest")["a"]
    replayed = cli.json("replay", url, "--models", model)
    assert replayed["status"] == "succeeded"
    (child,) = set(s3.objects()) - {key}
    assert replayed["artifact"] == f"s3://{BUCKET}/{child}"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("sayagain-")] == []


def test_an_export_goes_to_s3_and_the_second_one_replaces_nothing(
    cli: Cli, standin: Standin, s3: S3Server
) -> None:
    cli.env["RUN_ARTIFACT_DIR"] = ""
    cli("run", "--models", standin("ok"), *QUICK)
    place = f"s3://{BUCKET}/exported/"
    (url,) = cli("artifact", "export", "latest", "--to", place).stdout.split()
    (key,) = s3.objects()
    assert url == f"s3://{BUCKET}/{key}"
    before = s3.read(key)
    done = cli("artifact", "export", "latest", "--to", place, code=1)
    assert "never replaced; move it or choose another place" in done.stderr
    assert s3.read(key) == before
    s3.replace(key, before[:-200])
    torn = cli("artifact", "verify", url, code=4)
    assert torn.stdout.startswith(f"{url}: torn")
    assert f"{url}, line" in cli("compare", url, "latest", code=4).stderr


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"RUN_ARTIFACT_DIR": "s3://no-such-bucket/x"}, "no such place (NoSuchBucket)"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_MAX_ATTEMPTS": "1"}, "EndpointConnectionError"),
        ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "NoCredentialsError"),
        ({"RUN_ARTIFACT_DIR": f"s3://me:{SECRET}@{BUCKET}/x"}, "no password"),
    ],
)
def test_a_place_that_does_not_take_artifacts_is_said_before_and_after_and_the_run_is_unaffected(
    cli: Cli, standin: Standin, s3: S3Server, changed: dict[str, str], says: str
) -> None:
    cli.env |= changed
    model = standin("ok")
    done = cli("run", "--models", model, *QUICK)
    logged = {event["event"]: event for event in events(done.stderr)}
    for name in ("run_artifact_directory_unusable", "run_artifact_write_failed"):
        assert says in logged[name]["reason"]
    assert "succeeded" in done.stdout
    required = cli("run", "--models", model, *QUICK, "--require-artifact", code=2)
    (line,) = required.stderr.splitlines()
    assert says in line
    require_no_secret(done.stdout + done.stderr + required.stderr)
    assert s3.objects() == []


def test_credentials_that_the_server_refuses_are_said_with_its_code(
    cli: Cli, standin: Standin, s3: S3Server
) -> None:
    s3.check_credentials(after=0)
    try:
        done = cli("run", "--models", standin("ok"), *QUICK, "--require-artifact", code=2)
    finally:
        s3.check_credentials(after=float("inf"))
    assert "may not write there (InvalidAccessKeyId); change those or their rights" in done.stderr
    require_no_secret(done.stderr)


def test_the_server_itself_refuses_to_replace_when_two_look_at_the_same_time(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both see that nothing has the name; only the condition that goes with the upload tells them apart."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(s3fs.S3FileSystem, "exists", lambda *_, **__: False)
    s3fs.S3FileSystem.clear_instance_cache()

    def write(text: str) -> Any:
        def write_to(directory: Path) -> Path:
            path = directory / "run.jsonl"
            path.write_text(text)
            return path

        return write_to

    place = f"s3://{BUCKET}/race"
    destinations.deliver(place, write("first"))
    with pytest.raises(ArtifactWriteError, match="never replaced"):
        destinations.deliver(place, write("second"))
    assert s3.read("race/run.jsonl") == b"first"
    s3fs.S3FileSystem.clear_instance_cache()
