import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from wyoming.asr import Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.event import Event

from sayagain.engines.endpoint import EngineEndpoint
from sayagain.engines.host import MAX_RESTARTS, EnginePool, Lease
from sayagain.errors import UsageError
from sayagain.failures import CaseFailedError, failed
from sayagain.records import FailureKind, Phase, Setting
from support import scripted_engine

ENGINE = "support.scripted_engine:INFO"
PCM = bytes(640)
PATIENCE_S = 30.0


@pytest.fixture(autouse=True)
def scripted_engine_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))


@asynccontextmanager
async def pool_of(size: int = 1, engine: str = ENGINE, **options: Setting) -> AsyncIterator[EnginePool]:
    pool = EnginePool(engine, size, options)
    try:
        await pool.start()
        yield pool
    finally:
        await pool.aclose()


@asynccontextmanager
async def connected(lease: Lease) -> AsyncIterator[AsyncTcpClient]:
    async with asyncio.timeout(PATIENCE_S), AsyncTcpClient(lease.host, lease.port) as client:
        yield client


async def say(client: AsyncTcpClient, *pieces: bytes) -> None:
    await client.write_event(AudioStart(16000, 2, 1).event())
    for pcm in pieces:
        await client.write_event(AudioChunk(16000, 2, 1, pcm).event())


async def next_event(client: AsyncTcpClient, *types: str) -> Event:
    while (event := await client.read_event()) is not None:
        if event.type in types:
            return event
    raise EOFError


async def transcript(lease: Lease) -> str:
    async with connected(lease) as client:
        await say(client, PCM)
        await client.write_event(AudioStop().event())
        return Transcript.from_event(await next_event(client, "transcript")).text


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


async def failure_of(awaitable: Awaitable[object]) -> CaseFailedError:
    with pytest.raises(CaseFailedError) as caught:
        await awaitable
    assert caught.value.failure.kind is FailureKind.ENGINE_CRASHED
    return caught.value


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_an_engine_is_ready_only_after_it_is_loaded_and_warm(tmp_path: Path) -> None:
    pool = EnginePool(ENGINE, 1, {"behaviour": "load when told", "folder": str(tmp_path)})
    starting = asyncio.create_task(pool.start())
    try:
        await until((tmp_path / "loading").exists)
        assert not starting.done()
        (tmp_path / "go").touch()
        await asyncio.wait_for(starting, PATIENCE_S)
        assert (tmp_path / "warm").exists()
        assert await transcript(await pool.acquire()) == str(len(PCM))
    finally:
        await pool.aclose()


async def test_a_lease_says_what_it_leases() -> None:
    async with pool_of() as pool:
        lease = await pool.acquire()
        assert (lease.info.engine, lease.info.engine_version, lease.info.model) == ("scripted", "1", "counting")
        assert psutil.pid_exists(lease.pid)
        assert await lease.died(0.0) is None


async def test_a_healthy_engine_serves_the_next_lease() -> None:
    async with pool_of() as pool:
        first = await pool.acquire()
        await pool.release(first, healthy=True)
        second = await pool.acquire()
        assert second.pid == first.pid
        assert await transcript(second) == str(len(PCM))


async def test_a_pool_has_as_many_processes_as_its_size_and_the_next_waits() -> None:
    async with pool_of(2) as pool:
        leases = [await pool.acquire(), await pool.acquire()]
        assert leases[0].pid != leases[1].pid
        waiting = asyncio.create_task(pool.acquire())
        done, _ = await asyncio.wait({waiting}, timeout=0.05)
        assert not done
        await pool.release(leases[1], healthy=True)
        assert (await asyncio.wait_for(waiting, PATIENCE_S)).pid == leases[1].pid


async def test_giving_up_waiting_for_a_lease_takes_none_away() -> None:
    async with pool_of() as pool:
        lease = await pool.acquire()
        waiting = asyncio.create_task(pool.acquire())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
        await pool.release(lease, healthy=True)
        assert (await asyncio.wait_for(pool.acquire(), PATIENCE_S)).pid == lease.pid


async def test_an_engine_killed_in_mid_stream_says_so_and_the_next_lease_works() -> None:
    async with pool_of() as pool:
        lease = await pool.acquire()
        async with connected(lease) as client:
            await say(client, PCM)
            await next_event(client, "transcript-partial")
            os.kill(lease.pid, signal.SIGKILL)
            with pytest.raises((EOFError, ConnectionError)):
                await next_event(client, "never")
        assert await lease.died(PATIENCE_S) == "SIGKILL"
        await pool.release(lease, healthy=False)
        assert await transcript(await pool.acquire()) == str(len(PCM))


async def test_an_engine_that_exits_by_itself_says_with_which_code() -> None:
    async with pool_of(behaviour="exit 3 on audio") as pool:
        lease = await pool.acquire()
        with pytest.raises((EOFError, ConnectionError)):
            await transcript(lease)
        assert await lease.died(PATIENCE_S) == "exit 3"


async def test_a_hung_engine_is_killed_and_replaced() -> None:
    async with pool_of() as pool:
        lease = await pool.acquire()
        os.kill(lease.pid, signal.SIGSTOP)
        assert await lease.died(0.0) is None
        await pool.release(lease, healthy=False)
        assert gone(lease.pid)
        fresh = await pool.acquire()
        assert fresh.pid != lease.pid
        assert await transcript(fresh) == str(len(PCM))


async def test_an_engine_that_died_while_nobody_used_it_is_never_leased() -> None:
    async with pool_of() as pool:
        lease = await pool.acquire()
        os.kill(lease.pid, signal.SIGKILL)
        await lease.died(PATIENCE_S)
        await pool.release(lease, healthy=True)
        assert await transcript(await pool.acquire()) == str(len(PCM))


async def test_restarts_without_one_success_are_bounded() -> None:
    async with pool_of() as pool:
        for _ in range(1 + MAX_RESTARTS):
            await pool.release(await pool.acquire(), healthy=False)
        error = await failure_of(asyncio.wait_for(pool.acquire(), PATIENCE_S))
        assert error.failure.code == "restarts"
        assert error.failure.phase is Phase.PREPARE
        await failure_of(asyncio.wait_for(pool.acquire(), PATIENCE_S))


async def test_one_success_forgives_the_restarts_before_it() -> None:
    async with pool_of() as pool:
        for healthy in (*[False] * MAX_RESTARTS, True, *[False] * MAX_RESTARTS):
            await pool.release(await pool.acquire(), healthy=healthy)
        assert await transcript(await pool.acquire()) == str(len(PCM))


async def test_a_second_release_changes_nothing() -> None:
    async with pool_of() as pool:
        lease = await pool.acquire()
        await pool.release(lease, healthy=True)
        await pool.release(lease, healthy=False)
        assert not gone(lease.pid)
        await pool.acquire()
        waiting = asyncio.create_task(pool.acquire())
        done, _ = await asyncio.wait({waiting}, timeout=0.05)
        assert not done
        waiting.cancel()


async def test_a_closed_pool_leaves_nothing_running() -> None:
    async with pool_of(2) as pool:
        pids = [(await pool.acquire()).pid, (await pool.acquire()).pid]
    assert all(map(gone, pids))


async def test_an_engine_that_cannot_be_loaded_says_why() -> None:
    pool = EnginePool(ENGINE, 1, {"behaviour": "refuse to load"})
    error = await failure_of(pool.start())
    assert "the model file is damaged" in error.failure.message
    assert error.failure.phase is Phase.PREPARE


async def test_an_engine_that_dies_while_loading_says_how_with_its_last_words() -> None:
    error = await failure_of(EnginePool(ENGINE, 1, {"behaviour": "die while loading"}).start())
    assert error.failure.code == "exit 5"
    assert "cannot allocate" in error.failure.message


async def test_an_engine_that_is_never_ready_is_given_up_and_ended() -> None:
    pool = EnginePool(ENGINE, 1, {"behaviour": "never load"}, load_timeout_s=1.0)
    error = await failure_of(pool.start())
    assert error.failure.code == "load-timeout"
    assert children() == []


async def test_a_start_that_is_cancelled_leaves_nothing_running() -> None:
    pool = EnginePool(ENGINE, 2, {"behaviour": "never load"})
    starting = asyncio.create_task(pool.start())
    await until(lambda: len(children()) == 2)
    starting.cancel()
    await asyncio.wait({starting}, timeout=PATIENCE_S)
    assert starting.cancelled()
    await until(lambda: children() == [])


async def test_what_an_engine_prints_neither_blocks_it_nor_reaches_its_ready_line() -> None:
    async with pool_of(behaviour="chatter") as pool:
        lease = await pool.acquire()
        assert await transcript(lease) == str(len(PCM))
        await until(lambda: "line 19999" in lease.stderr)
        assert len(lease.stderr.splitlines()) == 20


@pytest.mark.parametrize(
    ("engine", "options", "reason"),
    [
        ("no-such-engine", {}, "no-such-engine"),
        (ENGINE, {"no_such_setting": 1}, "no_such_setting"),
        ("support.scripted_engine:ABSENT", {}, "not installed"),
    ],
)
async def test_what_cannot_be_used_is_said_before_anything_is_started(
    engine: str, options: dict[str, Setting], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = dataclasses.replace(scripted_engine.INFO, packages={"absent": "no_such_module"})
    monkeypatch.setattr(scripted_engine, "ABSENT", absent, raising=False)
    with pytest.raises(UsageError, match=reason):
        await EnginePool(engine, 1, options).start()
    assert children() == []


def children() -> list[int]:
    """Return the engine processes of this process that run."""
    return [
        child.pid
        for child in psutil.Process().children()
        if not gone(child.pid) and "sayagain.engines" in " ".join(child.cmdline())
    ]


def started_alone(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "sayagain.engines", ENGINE, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_an_engine_ends_when_its_stdin_does() -> None:
    process = started_alone()
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["ready"] is True
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0


def test_an_engine_that_is_still_loading_ends_when_its_stdin_does() -> None:
    process = started_alone("--behaviour", "never load")
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0


def test_an_engine_ignores_an_interrupt() -> None:
    process = started_alone()
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (0, "")


def test_a_load_failure_is_one_line_and_exit_code_1() -> None:
    process = started_alone("--behaviour", "refuse to load")
    assert process.stdout is not None
    line = process.stdout.readline()
    assert json.loads(line) == {"ready": False, "error": "RuntimeError: the model file is damaged"}
    assert process.wait(PATIENCE_S) == 1
    assert process.communicate() == ("", "")


async def test_no_engine_outlives_a_parent_that_was_killed(tmp_path: Path) -> None:
    parent = (
        "import asyncio, pathlib, sys\n"
        "from sayagain.engines.host import EnginePool\n"
        "async def main():\n"
        f"    pool = EnginePool({ENGINE!r}, 1)\n"
        "    await pool.start()\n"
        "    print((await pool.acquire()).pid, flush=True)\n"
        "    await asyncio.sleep(3600)\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", parent, stdout=subprocess.PIPE)
    assert process.stdout is not None
    pid = int(await asyncio.wait_for(process.stdout.readline(), PATIENCE_S))
    assert not gone(pid)
    process.kill()
    await process.wait()
    await until(lambda: gone(pid))


@asynccontextmanager
async def endpoint_of(**options: Setting) -> AsyncIterator[EngineEndpoint]:
    endpoint = EngineEndpoint(ENGINE, 1, options)
    try:
        await endpoint.prepare()
        yield endpoint
    finally:
        await endpoint.aclose()


async def test_an_attempt_whose_engine_died_fails_as_engine_crashed_and_the_next_has_a_fresh_one() -> None:
    async with endpoint_of() as endpoint:

        async def attempt() -> None:
            async with endpoint.lease() as lease:
                os.kill(lease.pid, signal.SIGKILL)
                await transcript(lease)

        error = await failure_of(attempt())
        assert error.failure.code == "SIGKILL"
        async with endpoint.lease() as lease:
            assert await transcript(lease) == str(len(PCM))


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        (FailureKind.FINAL_TIMEOUT, False),
        (FailureKind.SERVER_ERROR, False),
        (FailureKind.BAD_REQUEST, True),
        (FailureKind.EMPTY, True),
    ],
)
async def test_a_failure_keeps_its_kind_and_decides_whether_the_engine_stays(
    kind: FailureKind, kept: bool
) -> None:
    async with endpoint_of() as endpoint:
        pids: list[int] = []

        async def attempt() -> None:
            async with endpoint.lease() as lease:
                pids.append(lease.pid)
                raise failed(kind, Phase.FINISH, "as the attempt saw it")

        with pytest.raises(CaseFailedError) as caught:
            await attempt()
        assert caught.value.failure.kind is kind
        async with endpoint.lease() as fresh:
            assert (fresh.pid == pids[0]) is kept


async def test_an_attempt_that_is_cancelled_has_its_engine_replaced() -> None:
    async with endpoint_of() as endpoint:
        entered = asyncio.Event()
        pids: list[int] = []

        async def attempt() -> None:
            async with endpoint.lease() as lease:
                pids.append(lease.pid)
                entered.set()
                await asyncio.sleep(3600)

        task = asyncio.create_task(attempt())
        await asyncio.wait_for(entered.wait(), PATIENCE_S)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        assert gone(pids[0])


async def test_an_engine_that_cannot_be_prepared_is_one_sentence_for_the_user() -> None:
    endpoint = EngineEndpoint(ENGINE, 1, {"behaviour": "refuse to load"})
    with pytest.raises(UsageError, match="the model file is damaged"):
        await endpoint.prepare()
