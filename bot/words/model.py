"""What goes wrong with the model's endpoint."""

from __future__ import annotations


def model_unreachable(where: str) -> str:
    return f"I could not reach the model at {where}. Check OPENAI_BASE_URL and the network."


def model_timed_out(where: str) -> str:
    return f"The model at {where} did not answer in time. Ask again in a moment."


def model_key_refused(where: str) -> str:
    return f"{where} refused the key. Put a valid OPENAI_API_KEY into .env and restart Treadle."


def model_unknown(model: str, where: str) -> str:
    return (
        f"{where} does not know the model {model!r}. "
        "Set OPENAI_MODEL (or [model] name) to one that it offers."
    )


def model_not_there(model: str, where: str) -> str:
    return (
        f"{where} answered 404: the address or the model {model!r} is not there. Check "
        "OPENAI_BASE_URL (it usually ends in /v1), then OPENAI_MODEL (or [model] name)."
    )


def model_quota(where: str) -> str:
    return f"The account at {where} has no credit left. Add credit there, then ask again."


def model_busy(where: str) -> str:
    return f"{where} is limiting requests and kept refusing. Ask again in a few minutes."


def model_down(where: str, status: int) -> str:
    return f"{where} has trouble (HTTP {status}) and kept failing. Ask again in a few minutes."


def model_refused(where: str, status: int, said: str) -> str:
    return f"{where} refused the request (HTTP {status}): {said}"


def model_broken_reply(where: str, said: str) -> str:
    return f"{where} sent a reply that I could not read ({said}). Ask again."


def model_no_stream(where: str, kind: str) -> str:
    return (
        f"{where} sent {kind} where a streamed reply belongs. Check OPENAI_BASE_URL: it usually "
        "ends in /v1."
    )


def model_context_too_long() -> str:
    return "This thread is longer than the model can read. Start a new thread with what matters."


def model_cut_stream() -> str:
    return "The model's reply broke off several times. Ask again in a moment."


def model_cut_off() -> str:
    return (
        "The model reached its length limit in the middle of a reply, so I did nothing with it. "
        "Ask for something smaller."
    )


def model_empty() -> str:
    return "The model sent an empty reply. Ask again, perhaps in other words."


def model_unreadable(times: int) -> str:
    return (
        f"The model's reply could not be read {times} times in a row, so I stopped. "
        "Ask again, or set [model] dialect to a format that this model can write."
    )


def model_filtered() -> str:
    return "The model's provider filtered this reply. Ask in other words."
