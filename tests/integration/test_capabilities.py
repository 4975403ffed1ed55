"""What was found out about a model's endpoint outlives the process, for a week."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from bot.checks import examine_host
from bot.doctor import Finding
from bot.model.knowledge import DIALECT, REFUSES
from bot.storage.capabilities import KEPT_SECONDS, Capabilities
from bot.storage.database import Database, open_database
from bot.storage.migrations.run import alembic_config
from bot.storage.schema import HEAD
from bot.storage.tables import metadata
from bot.storage.writer import Writer
from tests.doubles.desk import Desk, open_desk
from tests.doubles.model_endpoint import Refuse, Reply, Request, Say
from tests.doubles.sessions import ask

HERE = "http://127.0.0.1:1/v1"


class Now:
    """A clock that stands still until it is moved."""

    seconds = 1_700_000_000.0

    def __call__(self) -> float:
        return self.seconds


@asynccontextmanager
async def opened(opens: Callable[[], Database], now: Now) -> AsyncIterator[Capabilities]:
    database = opens()
    writer = Writer(database.engine)
    try:
        yield Capabilities(writer, now)
    finally:
        await writer.close()
        database.close()


async def test_a_fact_is_there_after_a_restart_and_only_for_its_model(
    opens: Callable[[], Database],
) -> None:
    now = Now()
    async with opened(opens, now) as capabilities:
        await capabilities.learn(HERE, "m", DIALECT, "text")
        await capabilities.learn(HERE, "m", DIALECT, "xml")
    async with opened(opens, now) as capabilities:
        assert await capabilities.read(HERE, "m") == {DIALECT: "xml"}
        assert await capabilities.read(HERE, "other") == {}
        assert await capabilities.read("http://127.0.0.1:2/v1", "m") == {}


async def test_a_fact_is_forgotten_after_seven_days_unless_it_was_learned_again(
    opens: Callable[[], Database],
) -> None:
    now = Now()
    async with opened(opens, now) as capabilities:
        await capabilities.learn(HERE, "m", DIALECT, "xml")
        await capabilities.learn(HERE, "m", f"{REFUSES}stop", "yes")
        now.seconds += KEPT_SECONDS - 1
        assert len(await capabilities.read(HERE, "m")) == 2
        await capabilities.learn(HERE, "m", f"{REFUSES}stop", "yes")
        now.seconds += 1
        assert await capabilities.read(HERE, "m") == {f"{REFUSES}stop": "yes"}


async def test_forgetting_says_how_many_facts_there_were(opens: Callable[[], Database]) -> None:
    async with opened(opens, Now()) as capabilities:
        await capabilities.learn(HERE, "m", DIALECT, "xml")
        await capabilities.learn(HERE, "other", DIALECT, "xml")

        assert await capabilities.forget(HERE, "m") == 1
        assert await capabilities.read(HERE, "m") == {}
        assert await capabilities.read(HERE, "other") == {DIALECT: "xml"}


def test_the_migrations_make_the_tables_and_head_is_the_newest_of_them(tmp_path: Path) -> None:
    assert ScriptDirectory.from_config(alembic_config()).get_current_head() == HEAD
    database = open_database(tmp_path / "t.db")
    try:
        with database.engine.connect() as connection:
            context = MigrationContext.configure(connection)
            assert compare_metadata(context, metadata) == []
    finally:
        database.close()


def test_a_database_of_the_release_before_is_brought_up_to_date(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 't.db'}")
    config = alembic_config()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(text("INSERT INTO threads VALUES ('T:C:1', 1, 0, 0)"))
    engine.dispose()

    database = open_database(tmp_path / "t.db")
    try:
        with database.engine.connect() as connection:
            assert connection.scalar(text("SELECT count(*) FROM capabilities")) == 0
            assert connection.scalar(text("SELECT thread FROM threads")) == "T:C:1"
    finally:
        database.close()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened_desk:
        yield opened_desk


async def answer_of(desk: Desk) -> str:
    """What Treadle answers in a new thread; it is started and stopped for that."""
    async with desk.treadle():
        return (await ask(desk, None, "hi"))[1]


async def found(desk: Desk, *, forget: bool = False) -> str:
    return (await model_format(desk, forget=forget)).text


async def model_format(desk: Desk, *, forget: bool = False) -> Finding:
    findings = await examine_host(desk.environment(), desk.home, 0, forget=forget)
    return next(finding for finding in findings if finding.subject == "model format")


async def test_doctor_shows_what_was_found_out_and_can_forget_it(desk: Desk) -> None:
    no_tools = Refuse(400, {"error": {"message": "this model does not support tools"}})
    no_stop = Refuse(400, {"error": {"message": "Unsupported parameter: stop", "param": "stop"}})

    def script(request: Request) -> Reply:
        if "tools" in request:
            return no_tools
        return no_stop if "stop" in request else Say("<final_answer>Hi.</final_answer>")

    desk.model.play(script)
    answer = await answer_of(desk)
    shown = await found(desk)
    again = await answer_of(desk)
    asked = ["tools" in request for request in desk.model.requests]
    forgotten = await found(desk, forget=True)

    assert (answer, again) == ("Hi.", "Hi.")
    assert "format xml, as was found out" in shown
    assert "not sent, because it was refused: stop" in shown
    assert asked.count(True) == 1
    assert forgotten == "2 findings were forgotten; tools are called in the format native."


async def test_while_treadle_runs_doctor_shows_it_too_and_says_that_nothing_is_forgotten(
    desk: Desk,
) -> None:
    no_tools = Refuse(400, {"error": {"message": "this model does not support tools"}})

    def script(request: Request) -> Reply:
        return no_tools if "tools" in request else Say("<final_answer>Hi.</final_answer>")

    desk.model.play(script)
    async with desk.treadle():
        await ask(desk, None, "hi")
        shown = await model_format(desk)
        refused = await model_format(desk, forget=True)
        still = await model_format(desk)

    assert (shown.ok, still) == (True, shown)
    assert "format xml, as was found out" in shown.text
    assert not refused.ok
    assert refused.text.startswith("nothing was forgotten: Treadle is running")
