"""What goes in: a document, in one of two forms."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """A text, put into the batch's prompt template."""

    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """A whole chat-completion body as JSON object, sent as it is."""

    body: str


Input: TypeAlias = Text | Request


@dataclass(frozen=True, slots=True)
class Document:
    """One piece of work. Its id names the outcome."""

    id: str
    """Names the outcome. Any text; unique among the documents that have no outcome yet."""
    input: Input
    """What is to be analysed."""
