"""jiyi (记忆): long-term, cross-session memory for AI agents."""

from jiyi.assembly import open_memory, open_memory_async
from jiyi.domain.memory import Category, Language, Memory, Message, Role, Source, Status
from jiyi.domain.scope import Scope
from jiyi.errors import JiyiError
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Settings
from jiyi.surfaces.wrapped import wrap

__version__ = "0.1.0"

__all__ = [
    "Category",
    "JiyiError",
    "Language",
    "Memory",
    "MemoryLayer",
    "Message",
    "Role",
    "Scope",
    "ScopedMemory",
    "Settings",
    "Source",
    "Status",
    "open_memory",
    "open_memory_async",
    "wrap",
]
