"""The command chat: talk with a model that is handed memory, or see offline what it would be handed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import Annotated, Any, Protocol

import typer

from jiyi.errors import MissingExtra
from jiyi.surfaces.cli.calls import Call

NEW, QUIT, HELP = ("/new", "/新"), ("/quit", "/exit", "/退出"), ("/help", "/?", "/帮助")
HINT = "/new begins a new session, /quit ends it, /help says more. /new 开始新会话，/quit 结束，/help 查看说明。"
TOLD = """\
What you type goes to the model, with what is remembered about it; both sides are recorded, and learnt from.
  /new, /新           begin a new session: the talk so far is no longer sent along, what was learnt from it stays
  /quit, /exit, /退出  end the chat; so does Ctrl-D
  /help, /?, /帮助     this
Other commands, in another terminal: `jiyi context "…"` shows what a model is handed, `jiyi memories` what was learnt,
`jiyi forget --help` how it goes again.
你输入的话会连同相关记忆一起交给模型；双方的话都会被记录并从中学习。/new 开始新会话，/quit 结束，/help 显示本说明。"""


class Talk(Protocol):
    """A conversation, as `surfaces.chats.talk` makes it; that one is loaded when it is needed."""

    def say(self, text: str) -> Iterator[str]: ...
    def renew(self) -> None: ...


def chat(
    call: Call,
    words: Annotated[str | None, typer.Argument(help="Say only this, and end. By default line for line.")] = None,
    proxy: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Chat through a jiyi that is served there, e.g. http://127.0.0.1:8765/v1; JIYI_TOKEN holds the token, where it wants one.",
        ),
    ] = None,
    upstream: Annotated[
        str | None,
        typer.Option(metavar="NAME|URL", help="The model's provider or address; echo needs none. (proxy, else model)"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The model, as its provider writes it. (proxy.model, else model.name)"),
    ] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="The conversation; a new one by default.")] = None,
) -> None:
    """Chat with a model that remembers you. Without one, a stand-in answers with what it was handed: offline, without a key.

    What is said is recorded, and learnt from at once.
    """
    try:
        talks: Any = import_module("jiyi.surfaces.chats.talk")
    except ModuleNotFoundError as error:
        if error.name != "httpx2":
            raise
        raise MissingExtra("httpx2, which language models are reached with,", "models") from None
    with ExitStack() as stack:
        talk: Talk
        if proxy is not None:
            key = os.environ.get("JIYI_TOKEN", "")
            named = call.user if call.common.user or os.environ.get("JIYI_USER") else None
            talk = stack.enter_context(
                talks.through(proxy, model or "echo", session, call.settings.proxy, user=named, token=key)
            )
        else:
            layer = stack.enter_context(call.layer())
            target = talks.find_model(call.settings, upstream, model, os.environ)
            call.out.note(
                f"model: {target.name}" if target.model else "no model is configured: what one would be handed is shown"
            )
            talk = stack.enter_context(talks.beside(call.of(layer), layer.work, target, session, call.settings.proxy))
        _converse(call, talk, words)


def _converse(call: Call, talk: Talk, words: str | None) -> None:
    turns: list[dict[str, str]] = []
    for line in [words] if words is not None else _lines(call):
        if line.strip() in QUIT:
            break
        if line.strip() in NEW:
            talk.renew()
            continue
        if line.strip() in HELP:
            call.out.note(TOLD)
            continue
        if not line.strip():
            continue
        said = []
        for piece in talk.say(line):
            said.append(piece)
            if not call.out.json:
                call.out.piece(piece)
        if not call.out.json:
            call.out.piece("\n")
        turns.append({"you": line, "reply": "".join(said)})
    if call.out.json:
        call.out.show({"turns": turns}, [])


def _lines(call: Call) -> Iterator[str]:
    """What is typed, line for line, until the end of the input."""
    asked = sys.stdin.isatty() and not call.out.json
    if asked:
        call.out.note(HINT)
    while True:
        if asked:
            call.out.piece("> ")
        line = sys.stdin.readline()
        if not line:
            return
        yield line.rstrip("\n")
