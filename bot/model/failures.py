"""What goes wrong with an endpoint, as our errors, each with a sentence for the thread."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from bot import words
from bot.errors import ContextTooLong, ModelError, ModelRefused, ModelUnavailable
from bot.model.endpoint import Endpoint

if TYPE_CHECKING:
    import openai


_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|size|window)|prompt is too long|input is too long|too many tokens|"
    r"range of input length|exceeds? (?:the )?max(?:imum)? (?:length|input)",
    re.I,
)


def check_kind(content_type: str, endpoint: Endpoint) -> None:
    """A web page or a whole document reads as a stream without any reply in it."""
    kind = content_type.split(";")[0].strip().lower()
    if kind in ("text/html", "application/json"):
        raise ModelRefused(words.model_no_stream(_where(endpoint), kind))


def _where(endpoint: Endpoint) -> str:
    return endpoint.base_url or "the OpenAI API"


def translated(error: Exception, endpoint: Endpoint) -> Exception:
    """The openai library's error as ours; anything else is a bug and stays what it is."""
    import openai

    where = _where(endpoint)
    if isinstance(error, openai.APITimeoutError) and timed_out(error):
        return ModelUnavailable(words.model_timed_out(where))
    if isinstance(error, openai.APIConnectionError):
        return ModelUnavailable(words.model_unreachable(where))
    if isinstance(error, openai.APIStatusError):
        return _status(error, endpoint, where)
    if isinstance(error, openai.OpenAIError):
        return ModelUnavailable(words.model_broken_reply(where, str(error)))
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return ModelUnavailable(words.model_broken_reply(where, "its reply is not valid JSON"))
    return error


def timed_out(error: BaseException | None) -> bool:
    """Whether time ran out: on aiohttp the library calls a refused connection a time-out too."""
    while error is not None and not isinstance(error, TimeoutError):
        error = error.__cause__
    return error is not None


def _status(error: openai.APIStatusError, endpoint: Endpoint, where: str) -> ModelError:
    code = f"{error.code or ''} {error.type or ''}"
    said = _said(error)
    match error.status_code:
        case 401 | 403:
            return ModelRefused(words.model_key_refused(where))
        case 404 if endpoint.base_url is None or "model" in f"{code} {said}".lower():
            return ModelRefused(words.model_unknown(endpoint.model, where))
        case 404:
            return ModelRefused(words.model_not_there(endpoint.model, where))
        case 429 if "insufficient_quota" in code:
            return ModelRefused(words.model_quota(where))
        case 429:
            return ModelUnavailable(words.model_busy(where))
        case 400 | 413 | 422 | 500 if "context" in code or _TOO_LONG.search(said):
            return ContextTooLong(words.model_context_too_long())
        case status if status >= 500:
            return ModelUnavailable(words.model_down(where, status))
        case status:
            return ModelRefused(words.model_refused(where, status, said))


def _said(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, Mapping):
        message = cast(Mapping[str, object], body).get("message")
        if isinstance(message, str):
            return message[:300]
    return str(error.message)[:300]
