"""wikipedia: title and text of the best article, from a host that may misbehave."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from tests.doubles.wiki import Handler, serving, wiki
from tools.base import ToolContext, Unreachable
from tools.toolset import Ran, Toolset
from tools.web import DirectHttp
from tools.wikipedia import EXTRACT, LIMIT, plain, wikipedia_at
from tools.workspace import Workspace

MODI = (
    '<p><b>Narendra Modi</b> (<span class="searchmatch">born</span> 17&nbsp;September 1950)'
    "<script>alert('x')</script> is an Indian &amp; Gujarati politician.</p>"
)


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ToolContext]:
    with Workspace.at(tmp_path) as workspace:
        yield ToolContext(workspace)


async def look_up(context: ToolContext, handler: Handler, query: str = "modi") -> Ran:
    async with serving(handler) as address:
        toolset = Toolset((wikipedia_at(address),), context)
        return await toolset.run("wikipedia", f'{{"query": "{query}"}}')


async def test_the_best_article_is_given_as_title_and_text_without_html(
    context: ToolContext,
) -> None:
    articles = {"Narendra Modi": MODI, "Modi ministry": "…", "Nirav Modi": "…"}

    found = await look_up(context, wiki(articles))

    assert found == (
        "Narendra Modi\n\n"
        "Narendra Modi (born 17 September 1950) is an Indian & Gujarati politician.\n\n"
        "Other articles: Modi ministry; Nirav Modi",
        False,
    )


async def test_a_wiki_without_extracts_gives_what_its_search_says(context: ToolContext) -> None:
    found = await look_up(context, wiki({"Narendra Modi": MODI}, extracts=False))

    assert "Narendra Modi (born 17 September 1950)" in found.text
    assert "<" not in found.text


async def test_what_an_article_says_of_tags_is_not_taken_for_tags(context: ToolContext) -> None:
    """An extract is asked for as plain text: a < in it is one that people see."""
    article = "std::vector&lt;int&gt; holds them. The &lt;script&gt; tag embeds &amp;amp; runs."

    extract = await look_up(context, wiki({"Vector": article}), "vector")
    snippet = await look_up(context, wiki({"Vector": article}, extracts=False), "vector")

    text = "std::vector<int> holds them. The <script> tag embeds &amp; runs."
    assert extract.text == snippet.text == f"Vector\n\n{text}"


async def test_a_long_article_is_cut_at_a_word(context: ToolContext) -> None:
    found = await look_up(context, wiki({"Modi": "word " * 10_000}))

    assert len(found.text) < EXTRACT + 20
    assert found.text.endswith("word …")


async def test_a_long_article_in_a_script_without_spaces_keeps_its_text(
    context: ToolContext,
) -> None:
    article = "莫迪 (印度总理)，" + "他生于古吉拉特邦。" * 1_000

    found = await look_up(context, wiki({"Modi": article}))

    assert EXTRACT - 100 < len(found.text) < EXTRACT + 20
    assert found.text.endswith(" …")


async def test_nothing_found_says_what_to_try(context: ToolContext) -> None:
    found = await look_up(context, wiki({"Modi": "x"}), "zzz qqq")

    assert found == (
        "Wikipedia has nothing about zzz qqq. Try another spelling or fewer words.",
        True,
    )


@pytest.mark.parametrize("query", ["", "   ", "x" * 301])
async def test_a_query_that_no_wiki_takes_is_answered_without_asking(
    context: ToolContext, query: str
) -> None:
    found = await look_up(context, wiki({}), query)

    assert found == ("wikipedia: give a query of 1 to 300 characters.", True)


async def _html(_: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>please sign in</html>")


async def _list(_: web.Request) -> web.StreamResponse:
    return web.json_response([1, 2])


async def _nested(_: web.Request) -> web.StreamResponse:
    return web.Response(text="[" * 100_000)


async def _refused(_: web.Request) -> web.StreamResponse:
    return web.json_response({"error": {"code": "x", "info": "Too many\u202e words."}})


async def _forbidden(_: web.Request) -> web.StreamResponse:
    raise web.HTTPForbidden


async def _busy(_: web.Request) -> web.StreamResponse:
    raise web.HTTPTooManyRequests


async def _broken(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


async def _large(_: web.Request) -> web.StreamResponse:
    return web.Response(body=b"x" * (LIMIT + 1))


async def _bomb(_: web.Request) -> web.StreamResponse:
    """A hundred megabytes packed to a hundred kilobytes."""
    body = gzip.compress(b"x" * 100_000_000, 1)
    return web.Response(body=body, headers={"Content-Encoding": "gzip"})


async def _elsewhere(_: web.Request) -> web.StreamResponse:
    raise web.HTTPFound("http://localhost:9/secret")


async def _other_port(_: web.Request) -> web.StreamResponse:
    raise web.HTTPFound("http://127.0.0.1:9/secret")


async def _other_scheme(_: web.Request) -> web.StreamResponse:
    raise web.HTTPFound("file:///etc/passwd")


async def _circle(request: web.Request) -> web.StreamResponse:
    raise web.HTTPFound(request.path)


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (_html, "127.0.0.1 did not answer as a MediaWiki does"),
        (_list, "127.0.0.1 did not answer as a MediaWiki does"),
        (_nested, "127.0.0.1 did not answer as a MediaWiki does"),
        (_refused, "127.0.0.1 refused the search: Too many\\u202e words."),
        (_forbidden, "127.0.0.1 refused the search (HTTP 403). Go on without it."),
        (_busy, "127.0.0.1 is busy (HTTP 429). Try again later or go on without it."),
        (_broken, "127.0.0.1 cannot be reached"),
        (_large, "127.0.0.1 sent more than 1.0 MB. Ask for something narrower."),
        (_bomb, "127.0.0.1 sent more than 1.0 MB. Ask for something narrower."),
        (_elsewhere, "127.0.0.1 redirects to another host (localhost:9), which is not followed."),
        (_other_port, "127.0.0.1 redirects to another host (127.0.0.1:9), which is not followed."),
        (_other_scheme, "127.0.0.1 redirects to another host (), which is not followed."),
        (_circle, "127.0.0.1 redirects in a circle. Go on without it."),
    ],
)
async def test_a_host_that_misbehaves_is_an_observation(
    context: ToolContext, handler: Handler, said: str
) -> None:
    found = await look_up(context, handler)

    assert found.is_error
    assert found.text.startswith(said)


async def test_a_redirect_within_the_host_is_followed(context: ToolContext) -> None:
    answer = wiki({"Modi": "He is a politician."})

    async def moved(request: web.Request) -> web.StreamResponse:
        if "moved" not in request.query:
            raise web.HTTPMovedPermanently(f"/w/api.php?{request.query_string}&moved=1")
        return await answer(request)

    assert (await look_up(context, moved)).text == "Modi\n\nHe is a politician."


async def test_a_host_that_does_not_answer_in_time_is_given_up() -> None:
    ended = asyncio.Event()

    async def silent(_: web.Request) -> web.StreamResponse:
        await ended.wait()
        return web.Response()

    async with serving(silent) as address:
        with pytest.raises(Unreachable, match=r"did not answer within 0\.2 seconds"):
            await DirectHttp().get(address, limit=10, timeout=0.2)
        ended.set()


async def test_a_host_that_drips_is_given_up_as_a_whole() -> None:
    """A time-out for each piece would never end."""

    async def dripping(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x")
            await asyncio.sleep(0.02)

    async with serving(dripping) as address:
        with pytest.raises(Unreachable, match="did not answer within"):
            await DirectHttp().get(address, limit=10_000, timeout=0.3)


@given(st.text())
def test_whatever_markup_comes_is_read_without_an_error(markup: str) -> None:
    plain(markup)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a<br/>b<p class='x>y'>c</p>d", "a\nb\nc\nd"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("x<!-- <b>no</b> -->y", "xy"),
        ("x<style>b{}</style >y<SCRIPT src='a'>z</SCRIPT>", "xy"),
        ("x<script>never closed", "x"),
        ("&lt;b&gt; is a tag", "<b> is a tag"),
        ("<unfinished", "<unfinished"),
    ],
)
def test_only_what_a_browser_would_show_stays(markup: str, text: str) -> None:
    assert plain(markup) == text


@pytest.mark.timeout(10)
@pytest.mark.parametrize("unit", ["<", "<!--", "&", "<a ", "</", "<![CDATA[", "<script>", "<a '"])
def test_markup_that_never_ends_is_read_in_bounded_time(unit: str) -> None:
    plain(unit * (1_000_000 // len(unit)))
