"""The wire of Anthropic's messages (SPEC U8)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jiyi.domain.asking import Question
from jiyi.models.http import Reply
from jiyi.models.ladder import Ladder, count

VERSION = "2023-06-01"


class AnthropicWire(Ladder):
    def _headers(self) -> Mapping[str, str]:
        key = {"x-api-key": self._endpoint.key} if self._endpoint.key else {}
        return {"anthropic-version": VERSION, **key}

    def _url(self) -> str:
        return f"{self._endpoint.base_url}/messages"

    def _ways(self) -> list[str]:
        # A JSON object without a schema is nothing that this wire knows.
        return [way for way in super()._ways() if way != "json"]

    def _body(self, question: Question, way: str, *, bare: bool) -> Mapping[str, Any]:
        messages = [{"role": "user", "content": question.text}]
        if question.before is not None:
            said, fault = question.before
            messages += [{"role": "assistant", "content": said or "-"}, {"role": "user", "content": fault}]
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "max_tokens": question.max_tokens,
            "system": question.instructions,
            "messages": messages,
            **self._endpoint.extra,
        }
        if self._policy.stream:
            body["stream"] = True
        if bare:
            return body
        body["temperature"] = self._policy.temperature
        if way == "schema":
            body["output_config"] = {"format": {"type": "json_schema", "schema": question.schema}}
        elif way == "tool":
            body["tools"] = [{"name": question.name, "input_schema": question.schema}]
            body["tool_choice"] = {"type": "tool", "name": question.name}
        return body

    def _read(self, reply: Reply) -> tuple[str, int, int, bool]:
        return _streamed(reply) if reply.streamed else _whole(reply.documents[0])


def _whole(document: Mapping[str, Any]) -> tuple[str, int, int, bool]:
    parts = document.get("content")
    blocks = [b for b in parts if isinstance(b, Mapping)] if isinstance(parts, list) else []
    inputs = [
        json.dumps(b["input"], ensure_ascii=False) for b in blocks if b.get("type") == "tool_use" and "input" in b
    ]
    texts = [b["text"] for b in blocks if b.get("type") == "text" and isinstance(b.get("text"), str)]
    usage = document.get("usage")
    whole = document.get("stop_reason") != "max_tokens"
    return "".join(inputs or texts), count(usage, "input_tokens"), count(usage, "output_tokens"), whole


def _streamed(reply: Reply) -> tuple[str, int, int, bool]:
    texts, inputs, stop, tokens_in, tokens_out = "", "", "", 0, 0
    for event in reply.documents:
        match event.get("type"):
            case "message_start":
                message = event.get("message")
                tokens_in = count(message.get("usage") if isinstance(message, Mapping) else None, "input_tokens")
            case "content_block_delta" if isinstance(delta := event.get("delta"), Mapping):
                texts += str(delta.get("text") or "")
                inputs += str(delta.get("partial_json") or "")
            case "message_delta":
                delta = event.get("delta")
                stop = str(delta.get("stop_reason") or "") if isinstance(delta, Mapping) else ""
                tokens_out = count(event.get("usage"), "output_tokens")
    return inputs or texts, tokens_in, tokens_out, stop not in ("", "max_tokens")
