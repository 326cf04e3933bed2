"""What the one tokenizer promises, example by example (SPEC R1, R2, R3, R7, O1)."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unicodedata import normalize

import pytest

import jiyi
from jiyi.errors import MissingExtra, SettingsError
from jiyi.text import segmentation
from jiyi.text.segmentation import LONGEST, QueryTerm, Segmenter, StopWords, parse_dictionary

VOCABULARY = Path(jiyi.__file__).parent / "vocabulary"
STOP_WORDS = StopWords.parse(tomllib.loads((VOCABULARY / "stopwords.toml").read_text(encoding="utf-8")))
DICTIONARY = parse_dictionary((VOCABULARY / "dictionary.txt").read_text(encoding="utf-8"))

SENTENCES = """\
周末打算带孩子去郊外的湿地公园看候鸟
新来的同事负责把旧系统的报表迁移到云端
他每天早上七点半坐地铁去公司上班
冰箱里的牛奶后天过期记得先喝掉
阳台上的薄荷又被邻居家的猫啃了
会议改到下周二下午三点在二楼小会议室
我对花生过敏点菜的时候请避开
数据库主从延迟超过五秒就会报警
老王的女儿今年考上了南京的大学
这台打印机只能用黑色墨盒
合同的付款方式从月结改成了季结
登录接口返回四零一说明令牌已经失效
奶奶喜欢听越剧尤其是红楼梦选段
上线之前要先把灰度比例调到百分之五
我们把反向代理从旧机房搬到了新机房
他不吃香菜也不喜欢太甜的点心
下雨天骑车容易打滑所以改走路
缓存没有命中的时候直接查主库
客厅的灯泡坏了需要买暖光的
请把日志保留时间改成三十天
去年冬天我们在哈尔滨看了冰灯
她正在学习用陶轮做杯子
发票抬头写研究所的全称
服务器的磁盘快满了清理一下旧备份
孩子的家长会安排在周五晚上
这个功能等产品经理确认以后再做
医生建议每周至少运动三次
他的键盘是静音红轴的
搜索结果按时间倒序排列比较方便
项目代号叫青鸟由三个小组合作完成
地下车库的入口在小区北门旁边
昨天的面试官问了很多并发的问题
我想把书房改成工作室
火车票已经改签到明天中午
他们公司的年会节目是合唱
订单超时未支付会自动关闭并释放库存
小狗打完疫苗以后精神不太好
这道菜的关键是火候不能太大
测试环境的证书下个月到期
他把积蓄的一半买了国债
雨停了以后彩虹出现在山谷上方
论文的第三章还需要补充实验
我习惯先写测试再写实现
供应商报价比去年高了一成
夜里十一点以后不要给我打电话
他收藏了许多老式收音机
接口文档放在团队的知识库里
乒乓球拍卖完了要等下一批
研究生命起源的科学家来做讲座
结婚的和尚未结婚的都可以报名
""".splitlines()


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    return Segmenter(user_words=DICTIONARY, stop_words=STOP_WORDS)


def content(segmenter: Segmenter, question: str) -> dict[str, QueryTerm]:
    return {term.text: term for term in segmenter.query_terms(question) if not term.stop}


def meet(segmenter: Segmenter, question: str, document: str) -> set[str]:
    """The content terms of the question that are in the document."""
    return content(segmenter, question).keys() & segmenter.index_terms(document).counts.keys()


# ── questions find documents ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("question", "document", "by"),
    [
        ("代理", "网关前面加一层反向代理", "代理"),
        ("數據庫", "数据库每晚备份", "数据库"),
        ("数据库", "數據庫每晚備份", "数据库"),
        ("ＮＧＩＮＸ", "nginx is the gateway", "nginx"),
        ("nginx", "用ＮＧＩＮＸ转发", "nginx"),
        ("DB配置在哪", "数据库连接串在 .env 的 DB_URL", "db"),
        ("env", "写在 .env 里", "env"),
        (".env", "config/.env is not committed", ".env"),
        ("deploy.sh", "run scripts/deploy.sh first", "deploy.sh"),
        ("script", "run scripts/deploy.sh first", "script"),
        ("user name", "call getUserName()", "name"),
        ("getusername", "call getUserName()", "getusernam"),
        ("C++", "他主要写c++和C#", "c++"),
        ("c#", "他主要写c++和C#", "c#"),
        ("Python 3.11", "pinned to Python 3.11.4", "3.11"),
        ("2.0", "since v2.0", "2.0"),
        ("universities", "a university town", "universiti"),
        ("example.com", "write to li.ming@example.com", "example.com"),
        ("github.com/acme/tool", "see https://github.com/acme/tool/", "github.com/acme/tool"),
        ("café", "the cafe round the corner", "cafe"),
        ("CAFÉ", "un café noir", "café"),
        ("Москва", "поезд в МОСКВА", "москва"),
        ("タワー", "東京タワーに行った", "タワ"),
        ("도서관", "도서관에서 만나요", "도서"),
        ("😀", "好的😀😀", "😀"),
        ("👍", "收到👍🏽", "👍"),
        ("❤", "谢谢❤️", "❤"),
        ("1000000", "预算 1,000,000 元", "1000000"),
        ("𠮷野家", "在𠮷野家吃饭", "𠮷野"),
        ("数\u200b据\u00ad库", "数据库", "数据库"),
        ("O'Brien", "ask O’Brien", "o'brien"),
    ],
)
def test_finds(segmenter: Segmenter, question: str, document: str, by: str) -> None:
    assert by in meet(segmenter, question, document)


def test_proxy_pass_is_whole_and_in_parts(segmenter: Segmenter) -> None:
    terms = {term.text: (term.kind, term.weight) for term in segmenter.query_terms("Nginx proxy_pass")}
    assert terms == {"nginx": ("word", 1.0), "proxy_pass": ("word", 1.0), "proxi": ("part", 0.6), "pass": ("part", 0.6)}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("DB_URL", {"db_url", "db", "url"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
        ("URLs", {"url"}),
        ("node.js", {"node.js", "node", "js"}),
        ("__init__", {"__init__", "init"}),
        (
            "postgresql://db.local:5432/app",
            {"db.local:5432/app", "db.local", "db", "local", "5432", "app", "postgresql"},
        ),
        ("12:30", {"12:30", "12", "30"}),
        ("don't", {"don't"}),
        ("it's", {"it"}),
        ("  …——!?「」,.;:'\"#*()[]{}<>|~^`_ -- \t\r\n\x00", set()),
        ("═══ ─── ███", set()),
        ("🇨🇳", {"🇨🇳"}),
        ("👨‍👩‍👧", {"👨‍👩‍👧", "👨", "👩", "👧"}),
        ("\ud83d x\udfff", {"x"}),
        ("", set()),
    ],
)
def test_terms_of(segmenter: Segmenter, text: str, terms: set[str]) -> None:
    assert set(segmenter.index_terms(text).counts) == terms


def test_counts_and_length(segmenter: Segmenter) -> None:
    terms = segmenter.index_terms("数据库，数据库 db DB")
    assert terms.counts == {"数据库": 2, "数据": 2, "据库": 2, "db": 2}
    assert terms.length == 8


# ── weights and stop words ────────────────────────────────────────────────────────────────────────────────────────────


def test_user_word_stays_whole_and_in_pieces(segmenter: Segmenter) -> None:
    terms = content(segmenter, "库存超卖怎么解决")
    assert terms["库存超卖"] == QueryTerm("库存超卖", 1.0, "word", "")
    assert terms["库存"] == QueryTerm("库存", 1.0, "word", "")
    assert terms["超卖"] == QueryTerm("超卖", 0.5, "bigram", "")
    assert not terms.keys() & {"怎么", "解决", "么解"}
    assert {"库存超卖", "库存", "超卖", "超", "卖"} <= segmenter.index_terms("昨晚库存超卖了").counts.keys()


def test_sub_words_weigh_less_than_the_word(segmenter: Segmenter) -> None:
    terms = content(segmenter, "数据库")
    assert terms["数据库"].weight > terms["数据"].weight
    assert terms["数据"].kind == "part"


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("哪里比较安静", {"安静"}),
        ("库存管理应该先解决什么问题", {"库存管理", "库存", "管理", "存管"}),
        ("我喜欢什么", {"喜欢"}),
        ("我的生日是哪天", {"生日"}),
        ("What is my dog's name?", {"dog", "name"}),
        ("How should I solve the nginx problem?", {"nginx"}),
        ("who is Smith", {"smith"}),
        ("他和林老师聊过什么", {"老师", "林老", "和林"}),
    ],
)
def test_what_a_question_is_about(segmenter: Segmenter, question: str, words: set[str]) -> None:
    assert set(content(segmenter, question)) == words


@pytest.mark.parametrize(
    "question",
    [
        "怎么解决这个问题",
        "请问你还记得我上次说的那个东西吗",
        "我应该怎么做",
        "为什么",
        "怎么",
        "问题",
        "How?",
        "what did I tell you about it last time",
        "the",
        "How should I solve these problems, please?",
        "and/or",
    ],
)
def test_generic_questions_select_nothing_and_lose_nothing(segmenter: Segmenter, question: str) -> None:
    terms = segmenter.query_terms(question)
    assert terms
    assert all(term.stop and 0 < term.weight <= 0.1 for term in terms)


@pytest.mark.parametrize(
    "question", ["阿里云方案", "配置内容", "竞品方案", "name", "Doe", "于老师", "过敏", "设计模式"]
)
def test_nouns_and_names_are_content(segmenter: Segmenter, question: str) -> None:
    assert any(term.weight >= 0.5 for term in content(segmenter, question).values())


def test_a_character_beside_others_is_not_asked_for(segmenter: Segmenter) -> None:
    assert not meet(segmenter, "李明喜欢什么", "明天开会说明情况")
    assert "林" in content(segmenter, "林和谁一起")


def test_a_stop_word_that_the_dictionary_cuts() -> None:
    question = "我司食堂"
    assert "我司" in content(Segmenter(), question)
    assert set(content(Segmenter(stop_words=StopWords(frozenset(["我司"]), frozenset())), question)) == {"食堂"}


def test_stop_words_do_not_touch_the_index(segmenter: Segmenter) -> None:
    assert {"怎么", "的"} <= segmenter.index_terms("我的怎么").counts.keys()


def test_shipped_stop_words() -> None:
    assert not STOP_WORDS.function & STOP_WORDS.generic
    nouns = {"方案", "配置", "内容", "喜欢", "数据", "name", "like", "issue", "error", "于", "何", "李"}
    assert not nouns & (STOP_WORDS.function | STOP_WORDS.generic)


def test_stop_words_of_another_shape() -> None:
    assert StopWords.parse({}) == StopWords(frozenset(), frozenset())
    for data in ({"function": ["the"]}, {"generic": {"en": "how"}}):
        with pytest.raises(SettingsError, match="lists"):
            StopWords.parse(data)


# ── user dictionary ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_parse_dictionary() -> None:
    assert parse_dictionary("\ufeff# comment\n库存超卖\r\n\n  C# \n#x\n库存超卖") == ("库存超卖", "C#")


def test_user_words_do_not_leak() -> None:
    text = "昨晚库存超卖了"
    before = Segmenter().index_terms(text)
    assert "库存超卖" in Segmenter(user_words=["库存超卖"]).index_terms(text).counts
    assert Segmenter().index_terms(text) == before


def test_overlapping_user_words() -> None:
    counts = (
        Segmenter(user_words=["甲乙丙", "乙丙丁", "甲乙", "T恤", "3D打印", "go"])
        .index_terms("甲乙丙丁，两件t恤，3d打印，mongo")
        .counts
    )
    assert {"甲乙丙", "乙丙丁", "甲乙", "t恤", "3d打印"} <= counts.keys()
    assert "go" not in counts
    assert counts["甲乙"] == 1


def test_a_user_word_the_dictionary_knows_counts_once() -> None:
    assert Segmenter(user_words=["数据库"]).index_terms("数据库").counts["数据库"] == 1


def test_identity_depends_on_the_user_words_only() -> None:
    plain = Segmenter().identity
    assert plain.startswith("jiyi-seg/")
    assert Segmenter(stop_words=STOP_WORDS, engine="jieba").identity == plain
    one, two = Segmenter(user_words=["庫存超賣", "T恤"]), Segmenter(user_words=["t恤", "库存超卖", "T恤", " "])
    assert one.identity == two.identity != plain


# ── any text ──────────────────────────────────────────────────────────────────────────────────────────────────────────

HOSTILE = [
    '"',
    "*",
    "((",
    "a NEAR b",
    "-x",
    "'; DROP TABLE",
    "%_",
    "\x00",
    "\ud800",
    "𝔘𝔫𝔦",
    "ΐ",
    "İstanbul",
    "ﬃ",
    "ß",
    "a\u0301" * 50,
]


@pytest.mark.parametrize("text", [*HOSTILE, "王" * 80, "A" * 80, "长" * 40 + "x" * 40, "名字 " * 20, "aGVsbG8" * 200])
def test_any_text_finds_itself(segmenter: Segmenter, text: str) -> None:
    counts = segmenter.index_terms(text).counts
    asked = segmenter.query_terms(text)
    assert {term.text for term in asked} <= counts.keys()
    assert bool(asked) == bool(counts)
    assert all(0 < len(term) <= LONGEST for term in counts)
    assert segmenter.fold(segmenter.fold(text)) == segmenter.fold(text)


@pytest.mark.parametrize(
    "unit", ["_", ".", "1.", "a@", "a://", "c++", "\\", "a'", "中华人民共和国", "あ", "👨\u200d", "a\u0301", "1,000"]
)
def test_long_texts_take_linear_time(segmenter: Segmenter, unit: str) -> None:
    text = unit * (100_000 // len(unit))  # quadratic work would take minutes
    assert {term.text for term in segmenter.query_terms(text)} <= segmenter.index_terms(text).counts.keys()


def test_long_tokens_are_found_by_their_beginning(segmenter: Segmenter) -> None:
    token = "9" + "a8" * 60
    assert meet(segmenter, token, f"key {token}!") == {token[:LONGEST]}


def test_words_are_for_people(segmenter: Segmenter) -> None:
    words = segmenter.words("請問 DB_URL 的庫存超賣怎麼解決? Universities😀")
    assert words == ["请问", "db_url", "的", "库存超卖", "库存", "超", "卖", "怎么", "解决", "universities", "😀"]


def test_query_terms_come_in_order_and_once(segmenter: Segmenter) -> None:
    assert [term.text for term in segmenter.query_terms("代理 nginx 代理")] == ["代理", "nginx"]


def test_fold(segmenter: Segmenter) -> None:
    assert segmenter.fold("ＮＧＩＮＸ 數據庫\u200b Straße\x00") == "nginx 数据库 strasse "


@pytest.mark.parametrize("after", ["", "\u0338", "\u0301", "a", "猫"])
def test_marks_fold_as_unicode_says(segmenter: Segmenter, after: str) -> None:
    for wide in "，？！：；（）":
        assert segmenter.fold(f"猫{wide}{after}") == normalize("NFKC", f"猫{wide}{after}")


# ── engines ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_engines_agree() -> None:
    assert len(SENTENCES) == 50
    rust, python = (Segmenter(user_words=DICTIONARY, stop_words=STOP_WORDS, engine=e) for e in ("rjieba", "jieba"))
    for sentence in [*SENTENCES, "".join(SENTENCES)]:
        assert rust.index_terms(sentence) == python.index_terms(sentence)
        assert rust.query_terms(sentence) == python.query_terms(sentence)
        assert rust.words(sentence) == python.words(sentence)


@pytest.fixture
def _fresh_dictionary() -> Iterator[None]:
    segmentation._dictionary.cache_clear()
    yield
    segmentation._dictionary.cache_clear()


@pytest.mark.usefixtures("_fresh_dictionary")
def test_without_rjieba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rjieba", None)
    assert Segmenter().words("安静的办公室") == ["安静", "的", "办公室"]
    with pytest.raises(MissingExtra):
        Segmenter(engine="rjieba")


@pytest.mark.usefixtures("_fresh_dictionary")
def test_without_any_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rjieba", None)
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(MissingExtra, match="pip install"):
        Segmenter()


def test_threads_share_a_segmenter(segmenter: Segmenter) -> None:
    texts = [f"running{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10 % 10]}ations 数据库" for i in range(100)] * 4
    segmentation._stem.cache_clear()
    segmentation._known.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(segmenter.index_terms, texts))
    segmentation._stem.cache_clear()
    segmentation._known.cache_clear()
    assert together == [segmenter.index_terms(text) for text in texts]
