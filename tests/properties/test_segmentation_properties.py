"""What holds for every text: nothing raises, both sides agree, and a user word takes nothing away (SPEC R2, R7, O1)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jiyi.text.segmentation import LONGEST, Segmenter, StopWords

STOP_WORDS = StopWords(
    frozenset(["的", "了", "我", "the", "我们"]), frozenset(["怎么", "什么", "为什么", "how", "problem"])
)
PLAIN = Segmenter(stop_words=STOP_WORDS)
RUST, PYTHON = Segmenter(stop_words=STOP_WORDS, engine="rjieba"), Segmenter(stop_words=STOP_WORDS, engine="jieba")

# Whole words beside single characters: random characters alone hardly ever form a dictionary word.
PIECES = [
    *"的了我在和是人大中国水电脑王李乙",
    *(
        "数据库",
        "反向代理",
        "怎么",
        "為什麼",
        "我们",
        "中华人民共和国",
        "结婚",
        "和尚",
        "研究生",
        "生命",
        "起源",
        "乒乓球拍卖完",
    ),
    *(
        "proxy_pass",
        "getUserName",
        "C++",
        ".env",
        "https://a.b/c",
        "3.11.4",
        "don't",
        "café",
        "İ",
        "ß",
        "ΐ",
        "а́б",
        "१२",
    ),
    *(
        "タワー",
        "한국어",
        "ไทย",
        "😀",
        "👍🏽",
        "👨‍👩‍👧",
        "🇨🇳",
        "\u200d",
        "\ufe0f",
        "\u200b",
        "\ud800",
        "\udfff",
        "\x00",
        "Ａ",
    ),
    *" \n.,-_/\\:@&+#'’\"*()",
]
any_text = st.one_of(
    st.text(st.characters(), max_size=80),  # surrogates included
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.text(st.characters(min_codepoint=0x3400, max_codepoint=0x9FFF), max_size=30),
    st.text("aB1._-/:@+#'_ ", max_size=120),
)
han = st.one_of(
    st.text(st.characters(min_codepoint=0x3400, max_codepoint=0xFAFF), max_size=40),
    st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x5500), max_size=40),
    st.lists(st.sampled_from([piece for piece in PIECES if "\u4e00" <= piece[0] <= "\u9fff"]), max_size=20).map(
        "".join
    ),
    st.text(st.characters(min_codepoint=0x20000, max_codepoint=0x2FFFF), max_size=10),
)


@given(any_text)
def test_the_query_agrees_with_the_index(text: str) -> None:
    terms, asked = PLAIN.index_terms(text), PLAIN.query_terms(text)
    assert {term.text for term in asked} <= terms.counts.keys()
    assert len({term.text for term in asked}) == len(asked)
    assert bool(asked) == bool(terms.counts)
    assert terms.length == sum(terms.counts.values())
    assert all(0 < len(term) <= LONGEST and count > 0 for term, count in terms.counts.items())
    assert all(0 < term.weight <= 1 for term in asked)


@given(any_text)
def test_the_same_text_gives_the_same_terms(text: str) -> None:
    again = Segmenter(stop_words=STOP_WORDS)
    assert again.index_terms(text) == PLAIN.index_terms(text)
    assert again.query_terms(text) == PLAIN.query_terms(text)
    assert again.words(text) == PLAIN.words(text)


@given(any_text)
def test_folding_twice_is_folding_once(text: str) -> None:
    folded = PLAIN.fold(text)
    assert PLAIN.fold(folded) == folded
    folded.encode()  # nothing that a database would refuse


@given(any_text, any_text)
def test_a_text_is_found_among_others(text: str, other: str) -> None:
    """Bigrams and whole words of a document survive whatever stands around it, a line apart."""
    together = PLAIN.index_terms(f"{other}\n{text}\n{other}").counts
    assert PLAIN.index_terms(text).counts.keys() <= together.keys()


@given(any_text, st.lists(any_text, max_size=5))
def test_user_words_take_nothing_away(text: str, words: list[str]) -> None:
    inside = [text[i : i + 4] for i in range(0, len(text), 3)]
    rich = Segmenter(user_words=[*words, *inside], stop_words=STOP_WORDS)
    before, after = PLAIN.index_terms(text).counts, rich.index_terms(text).counts
    assert all(after.get(term, 0) >= count for term, count in before.items())
    assert {t.text for t in PLAIN.query_terms(text)} <= {t.text for t in rich.query_terms(text)}
    assert {t.text for t in rich.query_terms(text)} <= after.keys()
    assert PLAIN.index_terms(text).counts == before  # nothing leaked


@given(han)
def test_both_engines_give_the_same_terms(text: str) -> None:
    assert RUST.index_terms(text) == PYTHON.index_terms(text)
    assert RUST.query_terms(text) == PYTHON.query_terms(text)
