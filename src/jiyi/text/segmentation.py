"""The one tokenizer: what a text brings to the index, and what a question asks of it (SPEC R1, R2, R7, O1).

    text ─▶ clean (NFKC, traditional → simplified) ─▶ runs ─┬─ han        dictionary words, bigrams
                                                            ├─ glued      kana, hangul, Thai …: the run, its bigrams …
                                                            ├─ latin      identifiers whole and in parts; words stemmed
                                                            └─ sign       an emoji is a term

Each content term of a text used as a query is among the terms of that text as a document. Nothing raises on a string, whatever
it holds. Positions and lengths count characters (code points).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, lru_cache, partial
from importlib import import_module
from itertools import groupby
from operator import add, itemgetter
from typing import Any, Literal
from unicodedata import category, normalize

import opencc
from snowballstemmer.english_stemmer import EnglishStemmer

from jiyi.errors import MissingExtra, SettingsError

NAME, VERSION = "jiyi-seg", 1  # raise VERSION with any change of the terms: it makes old indexes ask for a reindex
LONGEST = 64  # characters of a term; base64 and the like are found by their beginning

Kind = Literal["word", "part", "bigram", "char"]
Stop = Literal["", "function", "generic"]  # in this order: of two, max() is what they are together
Engine = Literal["auto", "rjieba", "jieba"]
# The kinds of a run that is not Han, and of its parts.
_KIND: dict[str, tuple[Kind, Kind]] = {"latin": ("word", "part"), "sign": ("char", "char"), "glued": ("word", "bigram")}
_Found = tuple[int, str, Kind, Stop]  # where it starts, and the term


@dataclass(frozen=True, slots=True)
class Weights:
    """How much a query term counts. Stop words count little instead of nothing: SPEC R7, down-weighted, not lost."""

    word: float = 1.0  # dictionary and user words, whole identifiers
    part: float = 0.6  # db of db_url, 数据 of 数据库
    bigram: float = 0.5  # two neighbouring characters that are no word
    char: float = 0.7  # a word of one character that stands free, an emoji
    function: float = 0.1  # 的, the
    generic: float = 0.05  # 怎么, how


_WEIGHT: dict[str, float] = asdict(Weights())


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One thing a question asks for. Only a content term (`stop == ""`) may select a document (SPEC R1)."""

    text: str
    weight: float
    kind: Kind
    stop: Stop


_query_term = lru_cache(maxsize=1 << 14)(QueryTerm)  # equal terms are shared: making one costs as much as finding it


@dataclass(frozen=True, slots=True)
class Terms:
    """What one document brings to the index: occurrences of each term, and their sum."""

    counts: Mapping[str, int]
    length: int


@dataclass(frozen=True, slots=True)
class StopWords:
    """Words that select nothing alone: `function` holds the grammar (的, the), `generic` the asking (怎么, how)."""

    function: frozenset[str]
    generic: frozenset[str]

    @classmethod
    def parse(cls, data: Mapping[str, Any], name: str = "stop words") -> StopWords:
        """From `stopwords.toml`: tables `function` and `generic`, language → list of words. Raises SettingsError."""
        if unknown := sorted(set(data) - {"function", "generic"}):
            raise SettingsError(f"{name}: [{unknown[0]}] is no table of it: use [function] or [generic]")
        tables = [data.get("function", {}), data.get("generic", {})]
        if not all(isinstance(table, Mapping) and all(type(w) is list for w in table.values()) for table in tables):
            raise SettingsError(f'{name}: write tables of lists, such as [function] en = ["the", "a"]')
        for table, of in zip(("function", "generic"), tables, strict=True):
            for language, words in of.items():
                if bad := [w for w in words if not isinstance(w, str) or not w.strip()]:
                    raise SettingsError(
                        f"{name}: [{table}] {language} holds {bad[0]!r}: write words in quotation marks"
                    )
        return cls(*(frozenset(word for words in table.values() for word in words) for table in tables))


NO_STOP_WORDS = StopWords(frozenset(), frozenset())


def parse_dictionary(text: str) -> tuple[str, ...]:
    """The words of a user dictionary: one a line; a line that begins with # is a comment (C# stays a word)."""
    lines = (line.strip() for line in text.removeprefix("\ufeff").splitlines())
    return tuple(dict.fromkeys(line for line in lines if line and not line.startswith("#")))


LONGEST_WORD = 64
_COUNTED = re.compile(r"(\S+)\s+\d+(?:\s+[a-z]+)?")


def check_dictionary(text: str, name: str) -> None:
    """Look at each line of a dictionary that somebody wrote.

    Raises:
        SettingsError: a line is no word that could ever be found; says which, and what to write.
    """
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        word = line.strip()
        if not word or word.startswith("#"):
            continue
        where = f"{name}, line {number}: {word[:LONGEST_WORD]!r}"
        if counted := _COUNTED.fullmatch(word):
            raise SettingsError(f"{where}: write one word a line, without how often it occurs: {counted[1]}")
        if len(word) > LONGEST_WORD:
            raise SettingsError(
                f"{where}… has {len(word):,} characters, a word has at most {LONGEST_WORD}: one word a line"
            )
        if not any(c.isalnum() for c in word) or not word.isprintable():
            raise SettingsError(f"{where} is no word: write one word a line, or put # before it")


@cache
def _replacements() -> tuple[dict[int, str | None], re.Pattern[str]]:
    """Characters to replace, and a pattern of any of them, which is the quicker question to ask of a text.

    opencc takes 0.5 ms for 200 characters, so it is asked once, about each character alone. Its rules for phrases
    (乾 in 乾隆) are given up, which does not matter for search: both sides fold alike.
    """
    han = [chr(code) for code in (*range(0x3400, 0xA000), *range(0xF900, 0xFB00))]
    simple = dict(zip(han, opencc.OpenCC("t2s").convert("\n".join(han)).split("\n"), strict=True))
    table: dict[int, str | None] = {ord(a): simple.get(b, b) for a, b in simple.items() if a != b}
    table |= dict.fromkeys((*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000)), " ")  # controls, surrogates
    # Invisible characters that pasted text brings along; the joiner U+200D stays because it holds emoji together.
    invisible = (0xAD, 0x180E, 0x200B, 0x200C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF)
    table |= dict.fromkeys(invisible)
    return table, re.compile(f"[{re.escape(''.join(map(chr, table)))}]")


_WIDE = [("，", ","), ("？", "?"), ("！", "!"), ("：", ":"), ("；", ";"), ("（", "("), ("）", ")")]
"""What NFKC makes of the marks of Chinese. Without them most texts are in that form already, which it sees in a fifth of the time."""


def _clean(text: str) -> str:
    """One way to write a text, with its case: NFKC, simplified, without controls and invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    table, touched = _replacements()
    for wide, plain in _WIDE:
        text = text.replace(wide, plain)
    text = normalize("NFKC", text)
    while touched.search(text) is not None:  # what is taken out can let its neighbours combine
        text = normalize("NFKC", text.translate(table))
    return text


def _fold(text: str) -> str:
    """The form in which two texts are compared: NFKC, case folded, simplified. Total and idempotent."""
    text = _clean(text)
    # A folded letter can combine with the next one; ΐ folds into pieces that combine to ΐ again.
    while (folded := text.casefold()) != text and (folded := _clean(folded)) != text:
        text = folded
    return text


_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd々〆〇"
# Scripts written without spaces, or with endings glued to the word: kana, hangul, Thai, Lao, Burmese, Khmer.
_GLUED = (
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u1100-\u11ff\u3131-\u318e"
    "\uac00-\ud7a3\ud7b0-\ud7fb\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1780-\u17d3"
)
_LETTER = rf"[^\W_{_HAN}{_GLUED}]"  # every other letter or digit
_MARKS = "".join(c for c in map(chr, (*range(0x300, 0x20D0), *range(0xA66F, 0xAC00))) if category(c) in ("Mn", "Mc"))
_WORD = rf"(?:{_LETTER}[{_MARKS}]*)+"
# What holds an identifier together: db_url, scripts/deploy.sh, ~/.ssh/config, node.js, a::b, C:\x, AT&T, 1,000, don't.
_JOINT = r"(?:://|::|:\\|_{1,4}|[/\\]\.?|[.\-@:&]|\+{1,2}|(?<=\d),(?=\d{3}(?!\d))|['’])"
_LATIN = rf"(?:(?<!\.)\.(?=[^\W\d]))?_{{0,4}}{_WORD}(?:{_JOINT}{_WORD})*(?:\+\+|\#(?!{_LETTER}))?_{{0,4}}"
_PICTURES = "".join(c for c in map(chr, (*range(0xA1, 0x2500), *range(0x25A0, 0x3300))) if category(c) == "So")
_PICTURE = rf"[{_PICTURES}\U0001f000-\U0001f1e5\U0001f200-\U0001faff][\ufe0f\U0001f3fb-\U0001f3ff]*"  # with skin tone
_SIGN = rf"[\U0001f1e6-\U0001f1ff]{{1,2}}|{_PICTURE}(?:\u200d{_PICTURE})*"  # flags are two letters
_RUN = re.compile(rf"(?P<han>[{_HAN}]+)|(?P<latin>{_LATIN})|(?P<glued>[{_GLUED}]+)|(?P<sign>{_SIGN})")
_INSIDE_WORD = re.compile(rf"(?<={_LETTER}){_LETTER}")
_CLITIC = re.compile(r"'(?:s|re|ll|ve|d|m)(?![^\W_])", re.IGNORECASE)
_STEP = re.compile(r"[/\\:@&']+")
_PIECE = re.compile(rf"{_WORD}(?:\+\+|\#)?")
_RELEASE = re.compile(r"[vV]?(\d+(?:\.\d+)+)")
_HUMP = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")  # URLs, HTTP|Server, get|User, 15
# A new stemmer each time: it keeps the word in itself, so threads must not share one.
_stem = lru_cache(maxsize=1 << 16)(lambda word: str(EnglishStemmer().stemWord(word)))


def _pieces(whole: str) -> Iterator[str]:
    """The smaller things inside an identifier, as written: path steps, words, humps of camel case, café as cafe."""
    for step in _STEP.split(whole):
        yield step
        if release := _RELEASE.fullmatch(step):  # 3.11.4 is found as 3.11, and 4 is no word
            numbers = release[1].split(".")[:4]
            yield from (".".join(numbers[:n]) for n in range(len(numbers), 1, -1))
            continue
        for word in _PIECE.findall(step):
            yield word
            if not word.isascii():
                bare = "".join(char for char in normalize("NFD", word) if category(char) != "Mn")
                yield bare if bare.isascii() else ""
            elif len(whole) <= LONGEST:  # the humps of base64 are noise
                yield from (hump for hump in _HUMP.findall(word) if len(hump) > 1)


def _latin(run: str) -> Iterator[str]:
    run = _CLITIC.sub("", run.replace("’", "'")).replace(",", "")
    scheme, _, whole = run.rpartition("://")
    yield whole
    if whole[-3:].lower() != "n't":
        yield from _pieces(whole)
    yield from (step for step in _STEP.split(scheme) if step.lower() not in ("http", "https"))


def _sign(run: str) -> Iterator[str]:
    """An emoji, and what it is made of: 👍🏽 is found by 👍 too. A flag is not made of letters."""
    yield (run := run.replace("\ufe0f", ""))
    yield from [] if "\U0001f1e6" <= run[0] <= "\U0001f1ff" else re.findall("[^\u200d\U0001f3fb-\U0001f3ff]", run)


def _analyse(run: str, script: str) -> tuple[tuple[str, str, Kind], ...]:
    """(term, readable form, kind) of a run that is not Han: the whole first, then its parts, each term once."""
    surfaces = _latin(run) if script == "latin" else _sign(run) if script == "sign" else (run, *map(add, run, run[1:]))
    first, rest = _KIND[script]
    found: dict[str, tuple[str, str, Kind]] = {}
    for surface in map(_fold, filter(None, surfaces)):
        # The term depends on the word alone, so a part meets the same word written by itself.
        word = surface[:LONGEST]
        term = _stem(word) if word.isascii() and word.isalpha() else word
        found.setdefault(term, (term, word, rest if found else first))
    return tuple(found.values())


_known = lru_cache(maxsize=1 << 15)(_analyse)


def _terms_of(run: str, script: str) -> tuple[tuple[str, str, Kind], ...]:
    return (_known if len(run) <= LONGEST else _analyse)(run, script)  # long runs must not fill the memory


@cache
def _dictionary(engine: Engine) -> tuple[Callable[[str], list[str]], Callable[[str], list[str]]]:
    """(words, words with the shorter words inside them) of a Han run; rjieba and jieba give the same.

    Guessing of unknown words (HMM) is off: it would join characters by their surroundings, and bigrams hold those anyway.
    The instances are our own, because add_word() of somebody else in this process would change the shared ones.
    """
    for name in ("rjieba", "jieba") if engine == "auto" else (engine,):
        with suppress(ImportError):
            module = import_module(name)
            if name == "rjieba":
                words = module.Jieba()
                return partial(words.cut, hmm=False), partial(words.cut_for_search, hmm=False)
            module.setLogLevel("WARNING")
            words = module.Tokenizer()
            return partial(words.lcut, HMM=False), partial(words.lcut_for_search, HMM=False)
    raise MissingExtra("the Chinese dictionary (rjieba, else jieba)", "jieba")


class Segmenter:
    """Turns text into terms. Immutable, and safe to share between threads.

    `user_words` are emitted wherever they occur, beside what the dictionary finds: a new word never takes another away.
    `stop_words` weigh queries and do not touch the index. The first Segmenter of a process loads the dictionary (0.2 s).
    """

    fold = staticmethod(_fold)

    def __init__(
        self, *, user_words: Iterable[str] = (), stop_words: StopWords = NO_STOP_WORDS, engine: Engine = "auto"
    ) -> None:
        self._cut, self._cut_for_search = _dictionary(engine)
        words = sorted({word for word in map(str.strip, map(_fold, user_words)) if word})
        # SPEC O1: all that indexed terms depend on. Not the engine, which gives the same words.
        self.identity = f"{NAME}/{VERSION} dict=sha256:{hashlib.sha256(chr(10).join(words).encode()).hexdigest()[:16]}"
        self._user_words = {first: list(group) for first, group in groupby(words, itemgetter(0))}
        self._user_word_starts = re.compile(f"[{re.escape(''.join(self._user_words))}]" if words else "(?!)")
        self._stops: dict[str, Stop] = dict.fromkeys(map(_fold, stop_words.function), "function")
        self._stops |= dict.fromkeys(map(_fold, stop_words.generic), "generic")
        self._stop_phrases: dict[str, list[list[str]]] = {}  # those that the dictionary cuts (哪/天), by first word
        for phrase in filter(lambda cut: len(cut) > 1, map(self._cut, self._stops)):
            self._stop_phrases.setdefault(phrase[0], []).append(phrase)

    def index_terms(self, text: str) -> Terms:
        """The terms of a document with their counts."""
        clean = _clean(text)
        found: list[str] = []
        for match in _RUN.finditer(clean):
            run, script = match.group(), str(match.lastgroup)
            if script == "han":
                # Words of two characters are bigrams anyway. Of the single ones only those that are words by themselves:
                # every character would make the index half as large again, and recall scans for 猫 in 猫叫.
                found += [word for word in self._cut_for_search(run) if len(word) != 2]
                found += map(add, run, run[1:])
            else:
                found += [term for term, _, _ in _terms_of(run, script)]
        counts = dict(Counter(found))
        for word, count in Counter(word for _, word in self._find_user_words(clean)).items():
            counts[word] = max(count, counts.get(word, 0))  # it may be a dictionary word as well
        return Terms(counts, sum(counts.values()))

    def query_terms(self, text: str) -> tuple[QueryTerm, ...]:
        """The terms of a question, each once, in order of appearance, with their weights."""
        clean = _clean(text)
        found: list[_Found] = [(start, word, "word", "") for start, word in self._find_user_words(clean)]
        for match in _RUN.finditer(clean):
            run, start, script = match.group(), match.start(), str(match.lastgroup)
            found += self._query_han(run, start) if script == "han" else self._query_other(run, script, start)
        found.sort(key=itemgetter(0))
        best: dict[str, tuple[float, Kind, Stop]] = {}
        for _, term, kind, stop in found:
            weight = _WEIGHT[stop or kind]
            if term not in best or weight > best[term][0]:
                best[term] = weight, kind, stop
        return tuple([_query_term(term, *how) for term, how in best.items()])

    def words(self, text: str) -> list[str]:
        """The words a person would see in the text, folded, in order; for explanations (SPEC R10)."""
        clean = _clean(text)
        found = dict.fromkeys(self._find_user_words(clean))
        for match in _RUN.finditer(clean):
            run, start, script = match.group(), match.start(), str(match.lastgroup)
            for word in self._cut(run) if script == "han" else [_terms_of(run, script)[0][1]]:
                found[start, word] = None
                start += len(word)
        return [word for _, word in sorted(found, key=itemgetter(0))]

    def pairs(self, text: str) -> list[str]:
        """The pairs of neighbouring Han characters of a text: every document that holds the text brings them to the index."""
        runs = [match.group() for match in _RUN.finditer(_clean(text)) if match.lastgroup == "han"]
        return [pair for run in runs for pair in map(add, run, run[1:])]

    def word_starts(self, text: str) -> frozenset[int]:
        """The places of a folded text where a word begins, in Chinese by the dictionary: 0 and 2 of 杭州西湖区."""
        starts = set()
        for match in _RUN.finditer(text):
            start = match.start()
            for word in self._cut(match.group()) if match.lastgroup == "han" else [match.group()]:
                starts.add(start)
                start += len(word)
        return frozenset(starts)

    def cut(self, run: str) -> list[str]:
        """The dictionary words of a run of Han characters, one after the other."""
        return self._cut(run)

    def is_stop(self, word: str) -> bool:
        """Whether a folded word is a stop word."""
        return word in self._stops

    def content_words(self, text: str) -> list[str]:
        """The words of a text that say what it is about: no stop words, no single characters, each once."""
        return [
            word
            for word in dict.fromkeys(self.words(text))
            if len(word) > 1 and not word.isdigit() and any(not t.stop for t in self.query_terms(word))
        ]

    def stems(self, text: str) -> frozenset[str]:
        """The words of a text that tell something: no stop words, English ones by their stem, so that run and running are one."""
        found: set[str] = set()
        for match in _RUN.finditer(_clean(text)):
            run, script = match.group(), str(match.lastgroup)
            words = [(w, w) for w in self._cut(run)] if script == "han" else [_terms_of(run, script)[0][:2]]
            found.update(term for term, word in words if not {term, word} & self._stops.keys())
        return frozenset(found)

    def _find_user_words(self, clean: str) -> Iterator[tuple[int, str]]:
        """Every occurrence of every user word, overlapping ones too; those of letters only where they stand free."""
        text = _fold(clean)
        for match in self._user_word_starts.finditer(text):
            start = match.start()
            for word in self._user_words[match.group()]:
                edges = start, start + len(word)
                if text.startswith(word, start) and not any(_INSIDE_WORD.match(text, edge) for edge in edges):
                    yield start, word[:LONGEST]

    def _query_other(self, run: str, script: str, start: int) -> Iterator[_Found]:
        # A word is a stop word when it, or its stem, is listed (`problem` covers problems); and/or when all parts are.
        (whole, surface, kind), *parts = _terms_of(run, script)
        stops = [self._stops.get(part) or self._stops.get(term, "") for term, part, _ in parts]
        together: Stop = max(stops, default="") if all(stops) else ""
        yield start, whole, kind, self._stops.get(surface) or self._stops.get(whole) or together
        yield from ((start, term, kind, stop) for (term, _, kind), stop in zip(parts, stops, strict=True))

    def _query_han(self, run: str, start: int) -> Iterator[_Found]:
        words = self._cut(run)
        stops: list[Stop] = ["function", *(self._stops.get(word, "") for word in words), "function"]  # with both edges
        for i, word in enumerate(words, 1):
            for phrase in self._stop_phrases.get(word, ()):
                if words[i - 1 : i - 1 + len(phrase)] == phrase:
                    stops[i : i + len(phrase)] = [self._stops["".join(phrase)]] * len(phrase)
        inner = dict.fromkeys(self._cut_for_search(run)) if max(map(len, words)) > 2 else {}
        yield from (
            (start + run.index(word), word, "part", self._stops.get(word, "")) for word in inner if len(word) > 2
        )
        for i, word in enumerate(words, 1):
            stop, after = stops[i], stops[i + 1]
            # One character is asked for where it stands free. Beside others it is a piece of a word that the dictionary
            # does not know (李明, 竞品), whose bigram says more: 明 alone would select 明天.
            if len(word) > 1 or stop or (stops[i - 1] and after):
                yield start, word, "word" if len(word) > 1 else "char", stop
            if len(word) > 2:
                for pair in map(add, word, word[1:]):
                    yield start, pair, "part" if pair in inner else "bigram", self._stops.get(pair) or stop
            start += len(word)
            if i < len(words):
                # 么解 touches stop words only, 较安 a mere piece of 安静: neither says what is asked. But 的猫 does.
                pair, whole = word[-1] + words[i][0], len(word) == len(words[i]) == 1
                says_nothing = (stop and after) or ((stop or after) and not whole)
                stop = max(stop, after) if says_nothing else self._stops.get(pair, "")
                yield start - 1, pair, "bigram", stop
