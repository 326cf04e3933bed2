"""The wire of OpenAI's chat completions, which most providers and local servers speak (SPEC U8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jiyi.domain.asking import Question
from jiyi.models.http import Reply
from jiyi.models.ladder import Ladder, count, text_of


class OpenAIWire(Ladder):
    def _headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._endpoint.key}"} if self._endpoint.key else {}

    def _url(self) -> str:
        return f"{self._endpoint.base_url}/chat/completions"

    def _body(self, question: Question, way: str, *, bare: bool) -> Mapping[str, Any]:
        messages = [
            {"role": "system", "content": question.instructions},
            {"role": "user", "content": question.text},
        ]
        if question.before is not None:
            said, fault = question.before
            messages += [{"role": "assistant", "content": said or "-"}, {"role": "user", "content": fault}]
        body: dict[str, Any] = {"model": self._endpoint.model, "messages": messages, **self._endpoint.extra}
        if self._policy.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if bare:
            return body
        body |= {self._endpoint.max_tokens: question.max_tokens, "temperature": self._policy.temperature}
        if way == "schema":
            schema = {"name": question.name, "schema": question.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif way == "tool":
            function = {"name": question.name, "parameters": question.schema}
            body["tools"] = [{"type": "function", "function": function}]
            body["tool_choice"] = {"type": "function", "function": {"name": question.name}}
        elif way == "json":
            body["response_format"] = {"type": "json_object"}
        return body

    def _read(self, reply: Reply) -> tuple[str, int, int, bool]:
        content, arguments, finish = "", "", ""
        usage: Any = None
        for document in reply.documents:
            usage = document.get("usage") or usage
            choices = document.get("choices")
            choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
            said = choice.get("delta" if reply.streamed else "message") or choice.get("message") or {}
            if isinstance(said, Mapping):
                content += text_of(said.get("content"))
                arguments += _arguments(said)
            finish = choice.get("finish_reason") or finish
        # A stream that ends without a reason was cut off on the way.
        whole = finish != "length" and not (reply.streamed and not finish)
        return arguments or content, count(usage, "prompt_tokens"), count(usage, "completion_tokens"), whole


def _arguments(said: Mapping[str, Any]) -> str:
    calls = said.get("tool_calls")
    functions = [c.get("function") for c in calls if isinstance(c, Mapping)] if isinstance(calls, list) else []
    return "".join(f["arguments"] for f in functions if isinstance(f, Mapping) and isinstance(f.get("arguments"), str))
