"""Which requests come from clients of a model: they have ways of their own to send a token, and to read what went wrong."""

from __future__ import annotations

from collections.abc import Mapping

VERSION = "anthropic-version"
"""Every client of Anthropic's sends this header: without it, POST /v1/messages stores messages."""
SHARED = "/v1/messages"
CHATS = frozenset({"/v1/chat/completions", "/v1/anthropic/v1/messages", "/v1/models"})


def is_chat(path: str, headers: Mapping[str, str]) -> bool:
    """Whether a request is one of a model's clients."""
    return path in CHATS or (path == SHARED and VERSION in headers)
