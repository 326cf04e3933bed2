"""What is answered to a command line that was typed wrong: a value that does not fit, a command that is not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperGroup

MEANT: Mapping[str, Sequence[str]] = {
    "recall": ("search", "find", "query", "ask", "lookup", "回忆", "回想", "搜索", "查找", "查询"),
    "remember": ("add", "save", "store", "put", "insert", "create", "note", "learn", "记住", "记", "添加", "保存"),
    "forget": ("delete", "remove", "rm", "del", "clear", "reset", "erase", "忘记", "忘掉", "删除", "清空"),
    "memories": ("list", "ls", "show", "all", "get", "get-all", "列出", "记忆", "查看"),
    "correct": ("update", "edit", "change", "modify", "改正", "修改", "更正", "更新"),
    "history": ("messages", "log", "历史"),
    "profile": ("whoami", "me", "user", "画像"),
    "serve": ("server", "start", "run", "启动"),
    "doctor": ("check", "health", "检查"),
}
"""What other tools call a command, and what it is in Chinese."""
_COMMAND_OF = {word: command for command, words in MEANT.items() for word in words}
# What pydantic finds wrong, in words for whoever typed it: `given` is what was typed, the rest is of its context.
_UNFIT: Mapping[str, str] = {
    "int_parsing": "{given!r} is not a whole number",
    "int_parsing_size": "it is too large a number",
    "int_from_float": "{given!r} is not a whole number",
    "float_parsing": "{given!r} is not a number",
    "finite_number": "{given!r} is not a number",
    "bool_parsing": "{given!r} is neither yes nor no",
    "greater_than": "it must be more than {gt}, and {given} is not",
    "greater_than_equal": "it must be at least {ge}, and {given} is not",
    "less_than": "it must be less than {lt}, and {given} is not",
    "less_than_equal": "it must be at most {le}, and {given} is not",
    "value_error": "{error}",
}


class Commands(TyperGroup):
    """A group of commands that says which one may have been meant."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of the first argument."""
        name = args[0]
        if not (ctx.resilient_parsing or name.startswith("-") or self.get_command(ctx, name)):
            meant = " or ".join(f"`{ctx.command_path} {command}`" for command in likely(name, self.list_commands(ctx)))
            ctx.fail(f"No such command {name!r}{f': did you mean {meant}?' if meant else ''}")
        return super().resolve_command(ctx, args)


def likely(typed: str, commands: Sequence[str]) -> list[str]:
    """The commands that may have been meant, the likeliest first: those that begin alike, where there are any."""
    word = typed.lower()
    if word in commands:
        return [word]
    if (command := _COMMAND_OF.get(word)) in commands:
        return [str(command)]
    longer = [c for c in commands if c.startswith(word)]
    near = [*longer, *(c for c in get_close_matches(word, commands) if c not in longer)]
    return [c for c in near if c[:1] == word[:1]] or near


def usage(error: typer.TyperException) -> str:
    """What was wrong with the command line, and where it is told how it goes."""
    context = getattr(error, "ctx", None)
    if reason := _unfit(error.__cause__):
        error.message = reason
    message = error.format_message().rstrip(".")
    about = getattr(getattr(error, "param", None), "help", None)
    if not message:
        # A group without a command has printed its help.
        message = "name a command of those above"
    elif isinstance(error, typer.BadParameter) and message.startswith("Missing") and about:
        message = f"{message}: {str(about).rstrip('.')}"
    hint = f" (`{context.command_path} --help` shows how)" if context is not None else ""
    return f"{message}{hint}"


def _unfit(cause: BaseException | None) -> str | None:
    """The first thing that pydantic, to which typer leaves the values, has against one."""
    find = getattr(cause, "errors", None)
    found = find() if callable(find) else ()
    if not found:
        return None
    first = found[0]
    words = _UNFIT.get(first["type"])
    if words is None:
        return f"{str(first['input'])[:40]!r} does not fit: {first['msg']}"
    return words.format(given=first["input"], **first.get("ctx", {}))
