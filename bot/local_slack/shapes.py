"""The JSON alias and the refusal that every part of the stand-in uses."""

from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


class Refusal(Exception):
    """Slack's way to say no: an error word, and for some words further fields.

    ``Refusal("missing_scope", needed="chat:write")`` becomes
    ``{"ok": false, "error": "missing_scope", "needed": "chat:write"}``.
    """

    def __init__(self, word: str, **fields: object) -> None:
        super().__init__(word)
        self.word = word
        self.fields = fields

    def answer(self) -> Json:
        """The JSON body that the Web API sends for this refusal."""
        return {"ok": False, "error": self.word, **self.fields}


class PersonError(Exception):
    """What a person (or a test) tried cannot be done; the text is one plain sentence."""
