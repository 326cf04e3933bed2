"""What `ports.TextIndex` promises."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.scope import Scope
from jiyi.ports import BM25, MAX_QUERY_TERMS, Document, Hit, Kind, Store, Unit
from jiyi.testing.contract_base import ME, OTHERS, Contract, fresh_scope, shared_store
from jiyi.testing.strategies import HOSTILE_TERMS, documents, terms

KINDS = tuple(Kind)


def document(seq: int, words: str) -> Document:
    """A document of space-separated terms."""
    counts: dict[str, int] = {}
    for word in words.split():
        counts[word] = counts.get(word, 0) + 1
    return Document(seq, counts, sum(counts.values()))


def put(store: Store, *held: Document, scope: Scope = ME, kind: Kind = Kind.MESSAGE) -> None:
    store.write(lambda unit: unit.text.add(scope, kind, held))


def mark(store: Store, seq: int, scope: Scope = ME) -> None:
    store.write(lambda unit: unit.text.mark_indexed_up_to(scope, seq))


def query(words: str) -> list[tuple[str, float]]:
    return [(word, 1.0) for word in words.split()]


def bm25_by_hand(corpus: Sequence[Document], asked: Mapping[str, float], policy: BM25) -> dict[int, float]:
    """Okapi BM25 term by term over the whole corpus: `{seq: score}` of the documents with a match."""
    average = sum(d.length for d in corpus) / len(corpus) if corpus else 1.0
    scores: dict[int, float] = {}
    for term, weight in asked.items():
        holders = [d for d in corpus if term in d.terms]
        rarity = math.log(1.0 + (len(corpus) - len(holders) + 0.5) / (len(holders) + 0.5))
        for d in holders:
            saturation = d.terms[term] + policy.k1 * (1.0 - policy.b + policy.b * (d.length / average))
            gain = weight * rarity * (d.terms[term] * (policy.k1 + 1.0)) / saturation
            scores[d.seq] = scores.get(d.seq, 0.0) + gain
    return scores


class TextIndexContract(Contract):
    # ------------------------------------------------------------------ helpers

    def _matches(self, store: Store, words: str, scope: Scope = ME, kind: Kind = Kind.MESSAGE) -> dict[int, int]:
        """`{seq: matched}` with no limit to speak of."""
        with store.read() as unit:
            return {hit.seq: hit.matched for hit in unit.text.search(scope, kind, query(words), 10_000)}

    def _check_search(
        self, store: Store, corpus: Sequence[Document], asked: Sequence[tuple[str, float]], scope: Scope = ME
    ) -> None:
        """Hold a search without a limit to the computation by hand, and cut lists to the whole one."""
        with store.read() as unit:
            hits = unit.text.search(scope, Kind.MESSAGE, asked, 10_000)
            cut = [unit.text.search(scope, Kind.MESSAGE, asked, limit) for limit in range(4)]
        bits = {
            d.seq: sum(1 << i for i, (term, _) in enumerate(asked) if term in d.terms)
            for d in corpus
            if any(term in d.terms for term, _ in asked)
        }
        assert {hit.seq: hit.matched for hit in hits} == bits
        assert len(hits) == len(bits)
        assert [len(c) for c in cut] == [min(limit, len(hits)) for limit in range(4)]
        assert all({hit.seq: hit.matched for hit in c}.items() <= bits.items() for c in cut)
        if self.exact_scores:
            expected = bm25_by_hand(corpus, dict(asked), self.bm25)
            assert {hit.seq: hit.score for hit in hits} == pytest.approx(expected, abs=2e-6)
            assert hits == sorted(hits, key=lambda hit: (-hit.score, -hit.seq))
            assert cut == [hits[:limit] for limit in range(4)]

    # ------------------------------------------------------------------ search

    def test_an_empty_index_finds_nothing(self, store: Store) -> None:
        with store.read() as unit:
            for kind in KINDS:
                assert unit.text.search(ME, kind, query("a b"), 10) == []
                assert unit.text.frequencies(ME, kind, ["a"]) == (0, {})
            assert unit.text.indexed_up_to(ME) == 0

    def test_a_document_is_found_by_any_of_the_terms(self, store: Store) -> None:
        put(
            store, document(1, "nginx proxy_pass 反向代理 代理"), document(2, "venv python"), document(3, "代理 python")
        )
        assert self._matches(store, "代理") == {1: 1, 3: 1}
        assert self._matches(store, "nginx python") == {1: 0b01, 2: 0b10, 3: 0b10}
        assert self._matches(store, "python 代理 venv") == {1: 0b010, 2: 0b101, 3: 0b011}
        assert self._matches(store, "ruby") == {}
        with store.read() as unit:
            assert unit.text.search(ME, Kind.MESSAGE, [], 10) == []

    def test_scores_are_bm25(self, store: Store) -> None:
        corpus = [
            document(1, "数据库 数据库 数据库 mysql"),
            document(2, "数据库 postgresql 换成 了 昨天"),
            document(3, "库存 超卖 怎么 解决 库存 锁 缓存 队列 数据库"),
            document(4, "tea"),
        ]
        put(store, *corpus)
        for words in ("数据库", "数据库 mysql 库存", "tea", "数据库 nothing", "解决"):
            self._check_search(store, corpus, query(words))

    def test_a_weight_multiplies_the_score_of_its_term(self, store: Store) -> None:
        corpus = [document(1, "a a b"), document(2, "b c"), document(3, "c c c a")]
        put(store, *corpus)
        self._check_search(store, corpus, [("a", 0.1), ("b", 7.5), ("c", 1e-3)])

    def test_a_common_term_still_counts_for_something(self, store: Store) -> None:
        corpus = [document(i, "the word") for i in range(1, 6)]
        put(store, *corpus)
        self._check_search(store, corpus, query("the"))
        if self.exact_scores:
            with store.read() as unit:
                assert all(hit.score > 0 for hit in unit.text.search(ME, Kind.MESSAGE, query("the"), 9))

    def test_occurrences_of_frequent_words_in_named_documents(self, store: Store) -> None:
        put(store, document(1, "的 我 的 nginx"), document(2, "我 venv"), document(3, "的"), document(4, "他"))
        with store.read() as unit:
            held = unit.text.occurrences(ME, Kind.MESSAGE, ["的", "我", "nobody"], [1, 2, 4, 99, 2])
            assert sorted(held) == [(1, "我", 1, 4), (1, "的", 2, 4), (2, "我", 1, 2)]
            assert unit.text.occurrences(ME, Kind.MESSAGE, [], [1]) == []
            assert unit.text.occurrences(ME, Kind.MESSAGE, ["的"], []) == []
            assert unit.text.occurrences(ME, Kind.MEMORY, ["的"], [1]) == []
            assert unit.text.occurrences(OTHERS[0], Kind.MESSAGE, ["的"], [1]) == []

    def test_equal_scores_go_by_the_higher_number(self, store: Store) -> None:
        corpus = [document(seq, "一样 的 话") for seq in (5, 2, 9, 1)] + [document(3, "别的 话")]
        put(store, *corpus)
        self._check_search(store, corpus, query("一样"))
        if self.exact_scores:
            with store.read() as unit:
                hits = unit.text.search(ME, Kind.MESSAGE, query("一样"), 3)
            assert [hit.seq for hit in hits] == [9, 5, 2]
            assert len({hit.score for hit in hits}) == 1

    def test_scores_have_six_decimals(self, store: Store) -> None:
        corpus = [document(i, "词 " * (i % 4 + 1) + f"填{i}") for i in range(1, 30)]
        put(store, *corpus)
        with store.read() as unit:
            hits = unit.text.search(ME, Kind.MESSAGE, query("词 填3"), 99)
        assert all(isinstance(hit, Hit) and (not self.exact_scores or hit.score == round(hit.score, 6)) for hit in hits)
        assert len(hits) == 29

    def test_62_terms_fit(self, store: Store) -> None:
        words = [f"词{i}" for i in range(MAX_QUERY_TERMS)]
        corpus = [document(1, " ".join(words)), document(2, words[-1]), document(3, words[0])]
        put(store, *corpus)
        assert self._matches(store, " ".join(words)) == {1: 2**62 - 1, 2: 1 << 61, 3: 1}
        self._check_search(store, corpus, query(" ".join(words)))

    @pytest.mark.parametrize("term", HOSTILE_TERMS)
    def test_a_term_matches_itself_and_nothing_else(self, store: Store, term: str) -> None:
        corpus = [Document(i, {t: 1, "共同": 1}, 2) for i, t in enumerate(HOSTILE_TERMS, 1)]
        put(store, *corpus)
        seq = HOSTILE_TERMS.index(term) + 1
        with store.read() as unit:
            hits = unit.text.search(ME, Kind.MESSAGE, [("没有", 1.0), (term, 1.0)], 10)
            assert [(hit.seq, hit.matched) for hit in hits] == [(seq, 0b10)]
            assert unit.text.frequencies(ME, Kind.MESSAGE, [term]) == (len(corpus), {term: 1})

    @given(
        st.lists(documents(), max_size=8, unique_by=lambda d: d.seq),
        st.lists(st.tuples(terms(), st.floats(0.01, 10)), max_size=5, unique_by=lambda t: t[0]),
        st.sets(st.integers(0, 7)),
    )
    @shared_store
    def test_any_corpus_scores_by_hand(
        self, store: Store, corpus: list[Document], asked: list[tuple[str, float]], gone: set[int]
    ) -> None:
        scope = fresh_scope()
        put(store, *corpus, scope=scope)
        self._check_search(store, corpus, asked, scope)
        leaving = [d for i, d in enumerate(corpus) if i in gone]
        store.write(lambda unit: unit.text.remove(scope, Kind.MESSAGE, leaving))
        self._check_search(store, [d for d in corpus if d not in leaving], asked, scope)

    # ------------------------------------------------------------------ add, remove, clear

    def test_kinds_are_apart(self, store: Store) -> None:
        messages = [document(1, "a b"), document(2, "a")]
        put(store, *messages)
        put(store, document(1, "a c"), *(document(i, "a a a a") for i in range(2, 9)), kind=Kind.MEMORY)
        self._check_search(store, messages, query("a b c"))
        assert self._matches(store, "c") == {}
        assert self._matches(store, "c", kind=Kind.MEMORY) == {1: 1}
        with store.read() as unit:
            assert unit.text.frequencies(ME, Kind.MESSAGE, ["a", "b", "c"]) == (2, {"a": 2, "b": 1})
            assert unit.text.frequencies(ME, Kind.MEMORY, ["a", "b", "c"]) == (8, {"a": 8, "c": 1})

    def test_documents_may_come_one_by_one(self, store: Store) -> None:
        corpus = [document(i, f"a w{i} " + "b " * i) for i in (3, 1, 2)]
        for one in corpus:
            put(store, one)
        put(store)
        self._check_search(store, corpus, query("a b w2"))

    def test_a_removed_document_leaves_no_trace(self, store: Store) -> None:
        corpus = [document(1, "a b"), document(2, "a a c c c"), document(3, "c")]
        put(store, *corpus)
        store.write(lambda unit: unit.text.remove(ME, Kind.MESSAGE, [corpus[1]]))
        self._check_search(store, [corpus[0], corpus[2]], query("a c"))
        with store.read() as unit:
            assert unit.text.frequencies(ME, Kind.MESSAGE, ["a", "b", "c"]) == (2, {"a": 1, "b": 1, "c": 1})
        store.write(lambda unit: unit.text.remove(ME, Kind.MESSAGE, [corpus[0], corpus[2]]))
        assert self._matches(store, "a b c") == {}
        put(store, *corpus)
        self._check_search(store, corpus, query("a c"))

    def test_removing_what_is_not_there_changes_nothing(self, store: Store) -> None:
        corpus = [document(1, "a b"), document(2, "a a c")]
        put(store, *corpus)

        def work(unit: Unit) -> None:
            unit.text.remove(ME, Kind.MESSAGE, [document(3, "a b c"), document(4, "d")])
            unit.text.remove(ME, Kind.MEMORY, corpus)
            for other in OTHERS:
                unit.text.remove(other, Kind.MESSAGE, corpus)

        store.write(work)
        self._check_search(store, corpus, query("a b c d"))
        store.write(lambda unit: unit.text.remove(ME, Kind.MESSAGE, [corpus[0]]))
        store.write(lambda unit: unit.text.remove(ME, Kind.MESSAGE, [corpus[0]]))
        self._check_search(store, corpus[1:], query("a b c d"))

    def test_a_document_without_terms_is_neither_found_nor_counted(self, store: Store) -> None:
        empty, corpus = Document(1, {}, 0), [document(2, "a b")]
        put(store, empty, *corpus)
        self._check_search(store, corpus, query("a"))
        store.write(lambda unit: unit.text.remove(ME, Kind.MESSAGE, [empty]))
        self._check_search(store, corpus, query("a"))
        with store.read() as unit:
            assert unit.text.frequencies(ME, Kind.MESSAGE, ["a"]) == (1, {"a": 1})

    def test_frequencies_leave_out_what_is_absent(self, store: Store) -> None:
        put(store, document(1, "a a a b"), document(2, "a"))
        with store.read() as unit:
            assert unit.text.frequencies(ME, Kind.MESSAGE, ["a", "b", "c"]) == (2, {"a": 2, "b": 1})
            assert unit.text.frequencies(ME, Kind.MESSAGE, []) == (2, {})

    def test_slips_are_the_words_held_that_are_one_slip_away(self, store: Store) -> None:
        put(
            store,
            document(1, "because becaus cause 因为"),
            document(2, "because bcause because"),
            document(3, "beccause"),
        )
        put(store, document(1, "because"), kind=Kind.MEMORY)
        with store.read() as unit:
            assert unit.text.slips(ME, Kind.MESSAGE, "becuase") == {"because": 2}
            assert unit.text.slips(ME, Kind.MESSAGE, "because") == {"becaus": 1, "bcause": 1, "beccause": 1}
            assert unit.text.slips(ME, Kind.MEMORY, "becausee") == {"because": 1}
            assert unit.text.slips(ME, Kind.MEMORY, "pecause") == {} == unit.text.slips(ME, Kind.SUMMARY, "becuase")
            assert unit.text.slips(OTHERS[0], Kind.MESSAGE, "becuase") == {}

    def test_the_mark_stays_where_it_is_put(self, store: Store) -> None:
        mark(store, 7)
        mark(store, 9)
        with store.read() as unit:
            assert unit.text.indexed_up_to(ME) == 9
            assert [unit.text.indexed_up_to(other) for other in OTHERS] == [0, 0]

    def test_clear_drops_the_scope_and_nothing_else(self, store: Store) -> None:
        corpus = [document(1, "a b"), document(2, "a")]
        for scope in (ME, *OTHERS):
            for kind in KINDS:
                put(store, *corpus, scope=scope, kind=kind)
            mark(store, 2, scope)
        store.write(lambda unit: unit.text.clear(ME))
        with store.read() as unit:
            assert unit.text.indexed_up_to(ME) == 0
            assert [unit.text.frequencies(ME, kind, ["a"]) for kind in KINDS] == [(0, {})] * len(KINDS)
            assert [unit.text.search(ME, kind, query("a"), 9) for kind in KINDS] == [[]] * len(KINDS)
            assert [unit.text.indexed_up_to(other) for other in OTHERS] == [2, 2]
        for other in OTHERS:
            self._check_search(store, corpus, query("a b"), other)
        put(store, *corpus)
        self._check_search(store, corpus, query("a b"))

    # ------------------------------------------------------------------ scopes

    @pytest.mark.parametrize("other", OTHERS, ids=str)
    def test_another_scope_is_neither_found_nor_counted(self, store: Store, other: Scope) -> None:
        mine = [document(1, "a b"), document(2, "b")]
        theirs = [document(1, "a c"), *(document(i, "a a a a a") for i in range(3, 12))]
        put(store, *mine)
        put(store, *theirs, scope=other)
        self._check_search(store, mine, query("a b c"))
        self._check_search(store, theirs, query("a b c"), other)
        assert self._matches(store, "c") == {}
        store.write(lambda unit: unit.text.remove(other, Kind.MESSAGE, theirs[:1]))
        self._check_search(store, mine, query("a b"))

    def test_nothing_of_a_failed_write_is_kept(self, store: Store) -> None:
        corpus = [document(1, "a b"), document(2, "b")]
        put(store, *corpus)

        def work(unit: Unit) -> None:
            unit.text.add(ME, Kind.MESSAGE, [document(3, "a")])
            unit.text.remove(ME, Kind.MESSAGE, corpus[:1])
            unit.text.mark_indexed_up_to(ME, 9)
            raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            store.write(work)
        self._check_search(store, corpus, query("a b"))
        with store.read() as unit:
            assert unit.text.indexed_up_to(ME) == 0
