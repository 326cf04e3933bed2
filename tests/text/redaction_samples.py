"""Made-up secrets in sentences, and what only looks like one. Everything is put together here, at test time: no key-like
string stands in the tree, and every number is drawn by lot."""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from uuid import UUID

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


@dataclass(frozen=True)
class Sample:
    """`before + secret + after` is a message; `kind` is the class of the secret."""

    kind: str
    before: str
    secret: str
    after: str

    @property
    def text(self) -> str:
        return self.before + self.secret + self.after


# ------------------------------------------------------------------ numbers with a check digit, computed independently


def luhn_digit(body: str) -> str:
    return next(d for d in "0123456789" if _luhn_sum(body + d) % 10 == 0)


def _luhn_sum(number: str) -> int:
    doubled = [int(d) * 2 for d in number[-2::-2]]
    return sum(int(d) for d in number[-1::-2]) + sum(d // 10 + d % 10 for d in doubled)


def card(r: Random, start: str, length: int) -> str:
    body = start + digits(r, length - len(start) - 1)
    return body + luhn_digit(body)


def id_card(r: Random) -> str:
    place = r.choice(("110105", "310104", "440305", "330106", "510107", "610113", "420106", "230103"))
    body = f"{place}{r.randint(1940, 2015)}{r.randint(1, 12):02d}{r.randint(1, 28):02d}{r.randint(0, 999):03d}"
    # ISO 7064: the whole number, with X as ten, is 1 modulo 11.
    return next(
        body + c
        for c in "0123456789X"
        if sum((10 if d == "X" else int(d)) * pow(2, 17 - i, 11) for i, d in enumerate(body + c)) % 11 == 1
    )


def id_card_15(r: Random) -> str:
    return f"{r.choice(('110105', '310104', '440305'))}{r.randint(40, 99)}{r.randint(1, 12):02d}{r.randint(1, 28):02d}{digits(r, 3)}"


def credit_code(r: Random) -> str:
    letters = "0123456789ABCDEFGHJKLMNPQRTUWXY"
    body = f"91{r.choice(('110108', '330106', '440300'))}MA{''.join(r.choice(letters) for _ in range(7))}"
    return next(
        body + c
        for c in letters
        if sum(letters.index(d) * pow(3, i, 31) for i, d in enumerate(body + c) if i < 17) % 31
        == (-letters.index(c)) % 31
    )


def iban(r: Random, country: str, shape: str) -> str:
    body = "".join(digits(r, 1) if s == "n" else r.choice(string.ascii_uppercase) for s in shape)
    rest = int("".join(str(int(c, 36)) for c in f"{body}{country}00")) % 97
    return f"{country}{98 - rest:02d}{body}"


def digits(r: Random, n: int) -> str:
    return "".join(r.choice(string.digits) for _ in range(n))


def some(r: Random, alphabet: str, n: int) -> str:
    return "".join(r.choice(alphabet) for _ in range(n))


def mobile(r: Random) -> str:
    return f"1{r.choice('3456789')}{digits(r, 9)}"


def password(r: Random) -> str:
    return some(r, string.ascii_letters, 5) + digits(r, 3) + r.choice(("", "!", "#x", "@Q", "_z", "$K"))


def grouped(number: str, *sizes: int, by: str = " ") -> str:
    parts, at = [], 0
    for size in sizes:
        parts.append(number[at : at + size])
        at += size
    return by.join([*parts, number[at:]] if number[at:] else parts)


WIDE = str.maketrans(string.digits, "０１２３４５６７８９")


# ------------------------------------------------------------------ positives


def keys(r: Random) -> list[str]:
    """Strings in the shape of vendors' keys, put together from parts."""
    return [
        "sk" + "-" + some(r, ALNUM, 48),
        "sk" + "-proj-" + some(r, ALNUM + "-_", 40) + some(r, ALNUM, 24),
        "sk" + "-ant-api03-" + some(r, ALNUM, 60),
        "sk" + "-or-v1-" + some(r, HEX, 64),
        "gh" + "p_" + some(r, ALNUM, 36),
        "gh" + "s_" + some(r, ALNUM, 36),
        "github" + "_pat_" + some(r, ALNUM, 22) + "_" + some(r, ALNUM, 59),
        "gl" + "pat-" + some(r, ALNUM, 20),
        "AK" + "IA" + some(r, string.ascii_uppercase + string.digits, 16),
        "AS" + "IA" + some(r, string.ascii_uppercase + string.digits, 16),
        "AI" + "za" + some(r, ALNUM, 35),
        "xo" + "xb-" + digits(r, 12) + "-" + digits(r, 12) + "-" + some(r, ALNUM, 24),
        "xo" + "xp-" + digits(r, 12) + "-" + some(r, ALNUM, 24),
        "sk" + "_live_" + some(r, ALNUM, 24),
        "rk" + "_test_" + some(r, ALNUM, 24),
        "wh" + "sec_" + some(r, ALNUM, 32),
        "LT" + "AI" + some(r, ALNUM, 20),
        "AK" + "ID" + some(r, ALNUM, 32),
        "h" + "f_" + some(r, ALNUM, 34),
        "gs" + "k_" + some(r, ALNUM, 52),
        "np" + "m_" + some(r, ALNUM, 36),
        "py" + "pi-" + some(r, ALNUM, 60),
        "S" + "G." + some(r, ALNUM, 22) + "." + some(r, ALNUM, 43),
        digits(r, 10) + ":AA" + some(r, ALNUM, 33),
        "do" + "p_v1_" + some(r, HEX, 64),
        "da" + "pi" + some(r, HEX, 32),
        "shp" + "at_" + some(r, HEX, 32),
        jwt(r),
    ]


def jwt(r: Random) -> str:
    def part(data: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")

    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part({'sub': digits(r, 8), 'n': some(r, ALNUM, 6)})}.{some(r, ALNUM, 43)}"


def private_key(r: Random) -> str:
    kind = r.choice(("RSA ", "EC ", "OPENSSH ", ""))
    lines = "\n".join(some(r, ALNUM + "+/", 64) for _ in range(4))
    return f"-----BEGIN {kind}PRIVATE " + f"KEY-----\n{lines}\n-----END {kind}PRIVATE " + "KEY-----"


SURROUND: dict[str, tuple[tuple[str, str], ...]] = {
    "id_card": (
        ("我的身份证号是", "，记一下"), ("身份证：", ""), ("办理人证件号", "，已核对。"), ("他说 ", " 这个号不对"), ("My ID number is ", "."),
        ("please check ", " for me"), ("（", "）"), ("id_card=", "&x=1"),
    ),
    "mobile": (
        ("我的手机号是", "，有事打给我"), ("电话：", ""), ("加我微信", "就行"), ("李明 ", " 周五到"), ("call me on ", ", thanks"),
        ("Mobile: ", ""), ("联系人张三(", ")"), ("寄到公司，收件人王五，", "。"), ("订单的联系电话是", "，别弄错"), ("", "是我的新号"),
    ),
    "phone": (("公司座机", "，前台转我"), ("电话 ", "。"), ("Call us at ", " before noon."), ("tel: ", ""), ("传真是", "，白天有人"), ("my phone number is ", "!")),
    "bank_card": (
        ("银行卡", "，开户行是招行"), ("卡号：", ""), ("打到这张卡上：", "，谢谢"), ("card number ", " expires soon"), ("Charge my Visa ", " please"),
        ("工资卡是", "。"), ("付款用 ", " 这张"),
    ),
    "iban": (("汇到 ", "，欧元"), ("IBAN: ", ""), ("please wire it to ", " today"), ("My account is ", ".")),
    "passport": (("护照号是", "，十年有效"), ("护照：", ""), ("my passport number is ", "."), ("Passport No. ", ", valid"), ("她的护照", "快过期了")),
    "plate": (("我的车牌是", "，白色的"), ("停了一辆", "，挡路了"), ("车 ", " 已登记"), ("把", "的违章处理一下")),
    "credit_code": (("统一社会信用代码：", ""), ("税号", "，开专票"), ("our credit code is ", "."), ("公司代码 ", " 已备案")),
    "ssn": (("My SSN is ", "."), ("SSN: ", ""), ("social security number ", " on file"), ("社会安全号", "别外传"), ("she gave me ", " as her number")),
    "email": (
        ("我的邮箱是", "，发我就行"), ("邮箱：", ""), ("发到", "谢谢"), ("mail me at ", "."), ("Contact: <", ">"), ("cc ", ", please"), ("邮箱=", ";"),
        ("mailto:", " ok"),
    ),
    "ip": (("服务器IP是", "，别扫"), ("ssh root@", " 登录"), ("the server at ", " is down"), ("内网地址 ", "，端口 8080"), ("ping ", " fails"), ("访问 http://", "/admin")),
    "api_key": (
        ("我的key是 ", "，别外传"), ("OPENAI_API_KEY=", ""), ("用这个：", "。"), ("here is the key: ", "\nuse it"), ('{"token": "', '"}'),
        ("export KEY=", " && run"), ("密钥", "已过期"), ("curl -H 'X-Key: ", "' http://x"),
    ),
    "password": (
        ("密码是", "，别告诉别人"), ("密码：", ""), ("wifi密码 ", "。"), ("登录口令为", "，记得改"), ("my password is ", "."), ("password=", ""),
        ("DB_PASSWORD: ", "\nDB_USER: app"), ('"password": "', '", "x": 1'), ("mysql --password ", " -h db"), ("pwd=", ";Database=shop"),
        ("把密码改成", "了"), ("the passcode is ", ", okay?"), ("https://x.test/?password=", "&user=me"),
    ),
    "document": (
        ("驾照", "，还有两年"), ("社保卡号：", ""), ("my driver's license is ", "."), ("driving licence number ", ""), ("医保号", "。"),
    ),
    "account": (("对公账户", "，开户行是工行"), ("账号：", ""), ("my bank account is ", "."), ("account number: ", " at the branch")),
    "private_key": (("", ""), ("这是私钥：\n", "\n收好"), ("my key:\n", "\nkeep it")),
}  # fmt: skip
CONNECTIONS = (
    ("postgres://app:", "@db.internal:5432/shop"),
    ("连接串是 mysql+pymysql://root:", "@10.20.30.40:3306/erp，先别动"),
    ("redis://:", "@cache.example.com:6379/0"),
    ("mongodb+srv://svc:", "@cluster0.example.net/?retryWrites=true"),
    ("DATABASE_URL=postgresql://u:", "@localhost/db"),
    ("amqp://guest:", "@mq:5672 in the config"),
)
ADDRESSES = (
    ("我住在杭州市西湖区", "文三路{n}号{m}栋{u}单元{k}01室", "，快递放门口"),
    ("收货地址：上海市浦东新区", "张杨路{n}号{k}楼", "。"),
    ("家在", "解放大道{n}号", "旁边有地铁"),
    ("寄到深圳市南山区", "科技南路{n}-{u}号", "谢谢"),
    ("地址是", "阳光小区{m}号楼{u}单元{k}02", ""),
    ("他家住", "中山北路{n}弄{m}号{k}03室", "，白天有人"),
    ("I live at ", "{n} Maple Street", ", Springfield"),
    ("Ship it to ", "{n} North Ridge Avenue, Apt {m}", ", please"),
    ("My address is ", "{n} 5th Avenue", "."),
    ("we moved to ", "{n} Old Mill Road", " last week"),
)


def values(kind: str, r: Random) -> list[str]:
    """Secrets of a kind, each written as people write them."""
    match kind:
        case "id_card":
            n = id_card(r)
            return [n, grouped(n, 6, 8), n.lower(), n.translate(WIDE), grouped(n, 6, 4, 4), n]
        case "mobile":
            n = mobile(r)
            return [
                n, f"+86{n}", f"+86 {grouped(n, 3, 4)}", f"86-{n}", grouped(n, 3, 4), grouped(n, 3, 4, by="-"), n.translate(WIDE),
                f"(+86){n}", f"0086 {n}", grouped(n, 3, 4, by="."), n,
            ]  # fmt: skip
        case "phone":
            area = f"({r.randint(2, 9)}{digits(r, 2)})"
            local = f"{r.randint(2, 9)}{digits(r, 2)}-{digits(r, 4)}"
            home = f"{r.randint(2, 8)}{digits(r, 7)}"
            return [
                f"010-{home}", f"0{r.choice(('571', '755', '28', '21'))}-{home}", f"(0755){home}", f"{area} {local}", f"{area[1:4]}-{local}",
                f"+1 {area[1:4]}-{local}", f"1-{area[1:4]}-{local}", f"+44 20 7{digits(r, 3)} {digits(r, 4)}", f"+852 9{digits(r, 3)} {digits(r, 4)}",
                f"+49 30 {digits(r, 7)}", f"010 {grouped(home, 4)}",
            ]  # fmt: skip
        case "bank_card":
            union, visa, master, amex = card(r, "6222", 19), card(r, "4", 16), card(r, "53", 16), card(r, "37", 15)
            return [
                union, visa, master, amex, grouped(visa, 4, 4, 4), grouped(union, 4, 4, 4, 4), grouped(master, 4, 4, 4, by="-"), grouped(amex, 4, 6),
                visa.translate(WIDE), card(r, "621700", 19),
            ]  # fmt: skip
        case "iban":
            plain = [
                iban(r, "DE", "n" * 18),
                iban(r, "GB", "aaaa" + "n" * 14),
                iban(r, "FR", "n" * 23),
                iban(r, "NL", "aaaa" + "n" * 10),
            ]
            return [*plain, grouped(plain[0], 4, 4, 4, 4, 4), grouped(plain[1], 4, 4, 4, 4, 4)]
        case "passport":
            return [f"E{digits(r, 8)}", f"G{digits(r, 8)}", f"E{r.choice('ABCDFG')}{digits(r, 7)}", digits(r, 9)]
        case "plate":
            return [
                f"{r.choice('京沪粤浙苏川')}{r.choice('ABCD')}{some(r, 'ABCDEFGH', 1)}{digits(r, 4)}", f"粤{r.choice('ABS')}{r.choice('DF')}{digits(r, 5)}",
                f"{r.choice('京沪粤浙')}{r.choice('AB')}·{digits(r, 5)}", f"浙A{digits(r, 3)}{some(r, 'QWERTY', 2)}", f"京A{digits(r, 5)}",
            ]  # fmt: skip
        case "credit_code":
            return [credit_code(r), credit_code(r)]
        case "document":
            return [f"D{digits(r, 7)}", f"{digits(r, 9)}X", f"{digits(r, 12)}"]
        case "account":
            return [digits(r, 19), digits(r, 16)]
        case "ssn":
            return [f"{r.randint(100, 665)}-{r.randint(10, 99)}-{r.randint(1000, 9999)}"]
        case "email":
            name = some(r, string.ascii_lowercase, 6)
            return [
                f"{name}@qq.com", f"{name}.{name}@example.com", f"{name}+tag@mail.example.co.uk", f"{digits(r, 9)}@qq.com", f"{name}_{digits(r, 2)}@163.com",
                f"{name.upper()}@Example.ORG",
            ]  # fmt: skip
        case "ip":
            return [
                f"10.{r.randint(0, 255)}.{r.randint(0, 255)}.{r.randint(1, 254)}",
                f"203.0.113.{r.randint(1, 254)}",
                f"192.168.{r.randint(0, 9)}.{r.randint(1, 254)}",
            ]
        case "password":
            return [password(r), password(r), digits(r, 8), password(r) + password(r)]
        case "api_key":
            return keys(r)
        case "private_key":
            return [private_key(r)]
    raise AssertionError(kind)


def uuid(r: Random) -> str:
    return str(UUID(int=r.getrandbits(128), version=4))


# More ways in which people write them: class, what stands before, the secret, what stands after.
_TOLD: tuple[tuple[str, str, Callable[[Random], str], str], ...] = (
    ("password", "密码我换了，新的是", password, ""),
    ("password", "邮箱的登录密码现在是", password, "，别外传"),
    ("password", "后台密码 → ", password, ""),
    ("password", "密码（", lambda r: some(r, ALNUM, 7) + "9", "）发你了"),
    ("password", "门禁密码：", lambda r: f"*{digits(r, 4)}#", ""),
    ("password", "口令：「", lambda r: f"芝麻开门{digits(r, 4)}", "」"),
    ("password", "提取码", lambda r: some(r, string.ascii_lowercase, 3) + digits(r, 1), ""),
    ("password", "安全码", lambda r: digits(r, 3), "，快过期了"),
    ("password", "", lambda r: digits(r, 6), "是您的登录验证码"),
    ("password", "pw is ", lambda r: some(r, string.ascii_lowercase, 5) + digits(r, 3), " btw"),
    ("password", "the password for the guest wifi is ", password, "."),
    ("password", "the passwd on the NAS is ", password, ""),
    ("password", "the gate code is ", lambda r: digits(r, 4), "."),
    ("password", "OTP: ", lambda r: digits(r, 6), ""),
    ("password", "Your verification code is ", lambda r: digits(r, 6), ""),
    ("password", "Use ", lambda r: digits(r, 6), " as your login code"),
    ("password", "CVV ", lambda r: digits(r, 3), ", exp 09/28"),
    ("password", "the combination to the safe is ", lambda r: f"{r.randint(10, 99)}-{r.randint(10, 99)}-{r.randint(10, 99)}", ""),
    ("password", "<password>", password, "</password>"),
    ("password", '<add key="DbPassword" value="', password, '" />'),
    ("password", "- name: DB_PASSWORD\n  value: ", password, "\n"),
    ("password", '{\\"password\\": \\"', lambda r: some(r, ALNUM, 9) + "7", '\\"}'),
    ("password", "define('DB_PASSWORD', '", lambda r: "aB3" + some(r, ALNUM, 9), "');"),
    ("password", "curl --user 'deploy:", lambda r: some(r, ALNUM, 9) + "1!", "' https://example.com"),
    ("password", "docker login -u me -p ", lambda r: some(r, ALNUM, 12) + "4", " registry.example.com"),
    ("password", "Host=db;Password=", lambda r: f"{some(r, ALNUM, 5)} {some(r, ALNUM, 4)}", ";Database=x"),
    ("password", "jdbc:oracle:thin:scott/", lambda r: some(r, ALNUM, 8) + "9", "@//db:1521/ORCL"),
    ("password", "mongodb://admin:", lambda r: f"p@ss:w/rd{digits(r, 2)}", "@mongo1:27017/x"),
    ("password", "db.internal:5432:shop:bob:", lambda r: some(r, ALNUM, 12), " in my .pgpass"),
    ("password", "machine example.com login bob password ", lambda r: "Xa1" + some(r, ALNUM, 14), ""),
    ("password", "creds: admin/", lambda r: some(r, ALNUM, 6) + "G7!", ""),
    ("api_key", "API key is ", lambda r: some(r, ALNUM, 30) + "a1", ""),
    ("api_key", "auth_token ", lambda r: some(r, HEX, 38) + "a1", ""),
    ("api_key", "AZURE_OPENAI_KEY=", lambda r: some(r, HEX, 30) + "a1", ""),
    ("api_key", "PrivateKey = ", lambda r: some(r, ALNUM, 42) + "7=", "\nAddress = x"),
    ("api_key", "私钥是", lambda r: some(r, HEX, 62) + "a1", "别泄露"),
    ("api_key", "小程序 appsecret ", lambda r: some(r, HEX, 30) + "a1", ""),
    ("api_key", "华为云 SK ", lambda r: some(r, ALNUM, 38) + "a1", ""),
    ("api_key", "authorization: Token ", lambda r: some(r, HEX, 38) + "a1", ""),
    ("api_key", "Cookie: PHPSESSID=", lambda r: some(r, HEX, 24) + "a1", "; lang=zh"),
    ("api_key", "https://x.test/f?sig=", lambda r: some(r, ALNUM, 40) + "a1", "&sp=r"),
    ("api_key", "https://x.test/cb?code=", lambda r: some(r, ALNUM, 38) + "aB17", "&state=ok"),
    ("api_key", "https://qyapi.weixin.qq.com/cgi-bin/web" + "hook/send?key=", uuid, ""),
    ("api_key", "https://open.feishu.cn/open-apis/bot/v2/" + "hook/", uuid, ""),
    ("api_key", "heroku api key ", uuid, ""),
    ("api_key", "https://", lambda r: some(r, HEX, 30) + "a1", "@sentry.example.com/67"),
    ("api_key", "terraform ", lambda r: some(r, ALNUM, 14) + ".atlas" + "v1." + some(r, ALNUM, 64), ""),
    ("api_key", "grafana ", lambda r: "gl" + "sa_" + some(r, ALNUM, 32) + "_" + some(r, HEX, 8), ""),
    ("api_key", "钉钉加签 ", lambda r: "SE" + "C" + some(r, HEX, 64), ""),
    ("id_card", "身份证号：", lambda r: grouped(id_card(r), 3, 3, 4, 4), ""),
    ("id_card", "香港身份证", lambda r: f"A{digits(r, 6)}({digits(r, 1)})", ""),
    ("id_card", "台湾身份证", lambda r: f"A1{digits(r, 8)}", ""),
    ("mobile", "手机", lambda r: grouped(mobile(r), 3, 3, 3), ""),
    ("mobile", "妈妈的电话是", lambda r: grouped(mobile(r), 4, 4), ""),
    ("mobile", "快递电话", lambda r: f"{mobile(r)}转{digits(r, 4)}", ""),
    ("phone", "家里电话是", lambda r: f"8{digits(r, 7)}", ""),
    ("phone", "", lambda r: f"07700 {digits(r, 6)}", " is my number in England"),
    ("phone", "call ", lambda r: f"+86-21-6{digits(r, 7)} ext. {digits(r, 4)}", ""),
    ("bank_card", "card: ", lambda r: grouped(card(r, "4", 16), 4, 4, 4, by="."), ""),
    ("plate", "车牌", lambda r: f"京a{digits(r, 5)}", ""),
    ("credit_code", "纳税人识别号：", lambda r: grouped(credit_code(r), 2, 6), ""),
    ("credit_code", "EIN ", lambda r: f"{r.randint(10, 99)}-{digits(r, 7)}", ""),
    ("ssn", "my ITIN is ", lambda r: f"9{digits(r, 2)}-78-{digits(r, 4)}", ""),
    ("iban", "", lambda r: iban(r, "BE", "n" * 12).lower(), ""),
    ("email", "write to ", lambda r: f"anna{digits(r, 2)} at example dot com", "."),
    ("passport", "台胞证", lambda r: f"9{digits(r, 7)}", ""),
    ("passport", "回乡证", lambda r: f"H0{digits(r, 7)}", ""),
    ("ip", "IPv6地址：", lambda r: f"240e:3b7:{some(r, '123456789abcdef', 4)}::1", ""),
    ("address", "公司在广州市天河区", lambda r: f"天河路{r.randint(1, 999)}号维多利广场A塔", ""),
    ("address", "合肥市包河区", lambda r: f"马鞍山路{r.randint(1, 999)}号万达广场7号写字楼2801", ""),
    ("address", "河南省上蔡县黄埠镇", lambda r: f"小王村{r.randint(1, 300)}号", ""),
    ("address", "老家在", lambda r: f"李家村{r.randint(1, 300)}号", ""),
    ("address", "住杭州市", lambda r: f"复兴路甲{r.randint(1, 99)}号院4号楼", ""),
    ("address", "天津市和平区", lambda r: f"南京路 {r.randint(1, 300)} 号津汇广场 2 座 19 层", ""),
    ("address", "我住", lambda r: f"翡翠湾{r.randint(1, 9)}-1-502", ""),
    ("address", "房子在", lambda r: f"金色家园三期{r.randint(1, 20)}-2-1801", ""),
    ("address", "东莞市", lambda r: f"李屋大街{r.randint(1, 30)}巷3号", ""),
    ("address", "门牌号是", lambda r: digits(r, 4), ""),
    ("address", "send to ", lambda r: f"P.O. Box {r.randint(1, 9999)}", ", Austin"),
    ("address", "", lambda r: f"Room 1203, Building 5, No. {r.randint(1, 999)} Zhangjiang Road", ", Pudong"),
    ("address", "", lambda r: f"Apt. 12C, {r.randint(1, 999)} E 71st St", ""),
    ("address", "", lambda r: f"{r.randint(1, 99)} Albert Square, M2 4LN", ""),
    ("address", "", lambda r: f"{r.randint(1, 99)} rue de Rivoli", ", Paris"),
    ("address", "", lambda r: f"Hauptstraße {r.randint(1, 99)}", ", Berlin"),
)  # fmt: skip


def positives(seed: int, rounds: int = 8) -> Iterator[Sample]:
    """Messages with one secret each, of every class."""
    r = Random(seed)
    for kind, frames in SURROUND.items():
        for number in range(rounds if kind != "api_key" else 2):
            for value in values(kind, r):
                before, after = frames[number % len(frames)] if kind != "api_key" else r.choice(frames)
                number += 1
                yield Sample(kind, before, value, after)
    for _ in range(3):
        for before, after in CONNECTIONS:
            yield Sample("password", before, password(r).replace("@", "x").replace("#", "y"), after)
        for kind, before, make, after in _TOLD:
            yield Sample(kind, before, make(r), after)
        for before, address, after in ADDRESSES:
            filled = address.format(n=r.randint(1, 999), m=r.randint(1, 30), u=r.randint(1, 4), k=r.randint(1, 30))
            yield Sample("address", before, filled, after)
    for _ in range(10):
        yield Sample("id_card", "老的身份证号是", id_card_15(r), "，十五位的")
        yield Sample("api_key", "Authorization: Bearer ", some(r, ALNUM, 30) + "1", "")
        yield Sample("api_key", "client_secret=", some(r, ALNUM, 31) + "7", "&grant=x")
        yield Sample("ip", "the host is ", f"2001:db8:{some(r, HEX, 3)}::{some(r, HEX, 2)}1", " now")
        yield Sample("plate", "my licence plate is ", f"AB{digits(r, 2)} CDE", ", blue")


# ------------------------------------------------------------------ look-alikes

_ALIKE: tuple[Callable[[Random], str], ...] = (
    lambda r: f"订单号{r.randint(10**17, 10**18 - 1)}已发货",
    lambda r: f"订单 {card(r, '62', 16)} 退款了",
    lambda r: f"我的订单编号是{card(r, '4', 16)}，什么时候到",
    lambda r: f"快递单号SF{digits(r, 13)}到哪了",
    lambda r: f"运单号 {r.randint(10**11, 10**12 - 1)}",
    lambda r: f"order number {card(r, '5', 16)[:15]}7 was shipped",
    lambda r: f"Order #{digits(r, 10)} is late",
    lambda r: f"tracking number 1Z{some(r, string.ascii_uppercase + string.digits, 16)}",
    lambda r: f"invoice {r.randint(100, 999)}-{r.randint(10, 99)}-{r.randint(1000, 9999)} is paid",
    lambda r: f"升级到 {r.randint(1, 9)}.{r.randint(0, 20)}.{r.randint(0, 9)}.{r.randint(0, 9)} 版本",
    lambda r: f"version {r.randint(1, 9)}.{r.randint(0, 20)}.{r.randint(0, 9)}.{r.randint(0, 9)} fixes it",
    lambda r: f"we run nginx {r.randint(1, 3)}.{r.randint(0, 30)}.{r.randint(0, 9)}",
    lambda r: f"Chrome {r.randint(90, 130)}.0.{r.randint(4000, 6999)}.{r.randint(0, 200)} 报错",
    lambda r: f"openssl {r.randint(1, 3)}.{r.randint(0, 3)}.{r.randint(0, 3)}.{r.randint(1, 9)} is old",
    lambda r: f"commit {some(r, HEX, 40)} broke it",
    lambda r: f"提交 {some(r, HEX, 7)} 引入了这个问题",
    lambda r: f"md5 是 {some(r, HEX, 32)}",
    lambda r: f"sha256:{some(r, HEX, 64)}",
    lambda r: f"the hash {some(r, HEX, 16)} matches",
    lambda r: f"id={UUID(int=r.getrandbits(128), version=4)}",
    lambda r: f"请求 {UUID(int=r.getrandbits(128), version=4)} 超时",
    lambda r: f"会议定在 {r.randint(2020, 2030)}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d} {r.randint(0, 23):02d}:{r.randint(0, 59):02d}:{r.randint(0, 59):02d}",
    lambda r: f"{r.randint(2020, 2030)}年{r.randint(1, 12)}月{r.randint(1, 28)}日签的合同",
    lambda r: f"on {r.randint(2020, 2030)}/{r.randint(1, 12)}/{r.randint(1, 28)} at noon",
    lambda r: f"{r.randint(2020, 2030)}{r.randint(1, 12):02d}{r.randint(1, 28):02d}{r.randint(0, 23):02d}{r.randint(0, 59):02d}{r.randint(0, 59):02d}.log 里有",
    lambda r: f"timestamp {r.randint(1_600_000_000, 1_800_000_000)}",
    lambda r: f"时间戳{r.randint(1_600_000_000_000, 1_800_000_000_000)}",
    lambda r: f"预算{r.randint(10, 999)}万，最多{r.randint(10**10, 2 * 10**10 - 1)}元",
    lambda r: f"it costs ${r.randint(1, 99)},{r.randint(100, 999)},{r.randint(100, 999)}.{r.randint(10, 99)}",
    lambda r: f"¥{mobile(r)} 的订单金额有误",
    lambda r: f"营收{mobile(r)}元",
    lambda r: f"播放量{mobile(r)}次",
    lambda r: f"price: {r.randint(1000, 9999)}.{r.randint(10, 99)} USD",
    lambda r: f"看 h{r.randint(1, 99)} 和 m{r.randint(1, 99)}，还有 p{r.randint(1, 99)}",
    lambda r: f"ISBN 978-7-{digits(r, 3)}-{digits(r, 5)}-{digits(r, 1)}",
    lambda r: f"issue #{r.randint(1000, 99999)} in pull request {r.randint(100, 9999)}",
    lambda r: f"地铁{r.randint(1, 18)}号线在南京路站换乘",
    lambda r: f"{r.randint(1, 12)}月{r.randint(1, 28)}号在中山路见",
    lambda r: f"去{r.randint(1, 9)}号楼开会",
    lambda r: f"在人民路走了{r.randint(1, 30)}分钟",
    lambda r: f"In {r.randint(1990, 2025)} Wall Street fell by {r.randint(2, 9)} percent",
    lambda r: f"I walked {r.randint(2, 30)} miles down the road",
    lambda r: "密码是什么来着？我忘了",
    lambda r: "密码在保险柜里，密码策略要改",
    lambda r: f"密码至少{r.randint(8, 16)}位，要有数字",
    lambda r: "数据库的密码是加密的，口令是哈希过的",
    lambda r: "The password is wrong, and password is required",
    lambda r: f"my password is {r.randint(8, 20)} characters long",
    lambda r: "password: str = Field(...)",
    lambda r: "password = os.environ['DB_PASSWORD']",
    lambda r: "password=${DB_PASSWORD} and token={{ token }}",
    lambda r: f"max_tokens={r.randint(1000, 9999)}, token usage {r.randint(1000, 9999)}",
    lambda r: "the secret is to practise every day",
    lambda r: "API key is stored in config/.env, field DB_URL",
    lambda r: "数据库连接串在 config/.env 的 DB_URL 字段",
    lambda r: "token 是从 auth.get_token() 拿的",
    lambda r: f"git@github.com:acme/repo{r.randint(1, 99)}.git",
    lambda r: f"npm i @scope/pkg@{r.randint(1, 9)}.{r.randint(0, 20)}.{r.randint(0, 20)}",
    lambda r: f"icon@{r.randint(2, 3)}x.png 太大了",
    lambda r: "用 @dataclass 和 @app.route 装饰器",
    lambda r: f"proxy_pass http://127.0.0.1:{r.randint(3000, 9000)};",
    lambda r: f"bind 0.0.0.0:{r.randint(3000, 9000)}, mask 255.255.255.0",
    lambda r: f"std::vec::Vec and a::b at {r.randint(10, 23)}:{r.randint(10, 59)}:{r.randint(10, 59)}",
    lambda r: f"MAC 00:1a:2b:{some(r, HEX, 2)}:{some(r, HEX, 2)}:5e",
    lambda r: f"坐标 {r.randint(30, 40)}.{digits(r, 6)}, {r.randint(100, 120)}.{digits(r, 6)}",
    lambda r: f"1 + 2 + 3 = {r.randint(1, 9)}, 3.1415926535{digits(r, 6)}",
    lambda r: f"比分 {r.randint(100, 130)}-{r.randint(90, 120)}，{r.randint(10, 40)}分",
    lambda r: f"型号 XPS-{r.randint(1000, 9999)}-{digits(r, 4)}",
    lambda r: f"车间A{digits(r, 5)}，云服务器B{digits(r, 4)}",
    lambda r: f"他考了{r.randint(60, 100)}分，学号{digits(r, 10)}",
    lambda r: f"sk-learn-contrib-{some(r, string.ascii_lowercase, 6)}-package-for-tests",
    lambda r: f"task-management-{some(r, string.ascii_lowercase, 8)}-board-{r.randint(1, 99)}",
    lambda r: f"文件 IMG_{r.randint(2020, 2029)}0301_{digits(r, 6)}.jpg",
    lambda r: f"https://example.com/item/{r.randint(10**11, 10**12 - 1)}?page={r.randint(1, 9)}",
    lambda r: f"https://example.com/status/1{digits(r, 18)}",
    lambda r: f"error 0x{some(r, HEX, 8)} at line {r.randint(1, 9999)}",
    lambda r: f"端口 {r.randint(1024, 65535)}，PID {r.randint(1000, 99999)}",
    lambda r: f"from {r.randint(9, 11)}:00 to {r.randint(12, 18)}:30, room {r.randint(100, 999)}",
    lambda r: f"人口 {r.randint(1, 9)},{digits(r, 3)},{digits(r, 3)},{digits(r, 3)}",
    lambda r: f"{digits(r, 3)} {digits(r, 3)} 这两个房间",
    lambda r: f"验证码过期时间是{r.randint(100, 900)}秒，图片大小是{r.randint(100, 200)}x{r.randint(20, 60)}",
    lambda r: f"the password for the vault is kept by Anna, {r.randint(2, 5)} tries left",
    lambda r: "密码保存在LastPass里，算法是PBKDF2",
    lambda r: "私钥在 ~/.ssh/id_ed25519",
    lambda r: f"primary_key=user_id_{digits(r, 4)}_abcdef",
    lambda r: f"cache_key=user{digits(r, 4)}abcdefgh{digits(r, 4)}",
    lambda r: "- name: DB_PASSWORD\n  valueFrom: secretKeyRef",
    lambda r: "password = request.form['password']",
    lambda r: "['password', 'username', 'email2']",
    lambda r: "密码(8-16位)，验证码(6位)",
    lambda r: f"docker run -p {r.randint(3000, 9000)}:80 nginx",
    lambda r: f"https://example.com/?key=annual-report-{r.randint(2000, 2030)}-final",
    lambda r: f"https://example.com/?utm_campaign=spring_sale_{r.randint(2000, 2030)}_wave2",
    lambda r: f"https://example.com/commit/{some(r, HEX, 40)}",
    lambda r: f"cookie max-age={digits(r, 8)}, session=None",
    lambda r: f"dns {r.choice(('8.8.8.8', '1.1.1.1', '114.114.114.114'))}",
    lambda r: f"第 {r.randint(1, 9)}.{r.randint(1, 9)}.{r.randint(1, 9)}.{r.randint(1, 9)} 节",
    lambda r: f"社保交了{r.randint(2, 30)}年，公积金{digits(r, 5)}元",
    lambda r: f"电话会议{r.randint(8, 20)}:30，号码牌{r.randint(10, 99)}号",
    lambda r: f"尾号{digits(r, 4)}的卡",
    lambda r: f"李家村{r.randint(1, 31)}号赶集",
    lambda r: f"村口{r.randint(1, 31)}号井，村里有{r.randint(100, 900)}户",
    lambda r: f"{r.randint(1, 9)}栋楼有{r.randint(3, 9)}层，B座餐厅",
    lambda r: f"小区{r.randint(2, 3)}-{r.randint(4, 9)}万一平，花园3-4月开花",
    lambda r: f"大厦{r.randint(1, 31)}号开业，广场{r.randint(1, 31)}号集合",
    lambda r: f"2楼{r.randint(1000, 9999)}平，3楼{r.randint(1000, 9999)}人",
    lambda r: f"Unit {r.randint(2, 30)} test, Level {r.randint(2, 9)} support",
    lambda r: f"routing {r.randint(2, 30)} packets, the M{r.randint(1, 4)} chip",
    lambda r: "look at example.com on the dot, lunch @ noon",
    lambda r: f"bitcoin block 0000000000{some(r, HEX, 54)}",
)  # fmt: skip


def lookalikes(seed: int, rounds: int = 5) -> Iterator[str]:
    """Messages that hold nothing to redact."""
    r = Random(seed)
    for _ in range(rounds):
        for make in _ALIKE:
            yield make(r)
