"""Checksums of numbers that are issued to people and firms. Each takes the bare number, without separators."""

from __future__ import annotations

from datetime import date

_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_ID_CHECKS = "10X98765432"
_PROVINCES = frozenset(
    map(
        str,
        (*range(11, 16), 21, 22, 23, *range(31, 38), *range(41, 47), *range(50, 55), *range(61, 66), 71, 81, 82, 83),
    )
)
_CREDIT = "0123456789ABCDEFGHJKLMNPQRTUWXY"
# Lengths by country, from the public IBAN registry.
_IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "BY": 28, "CH": 21,
    "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FO": 18, "FR": 27,
    "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26,
    "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27,
    "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30, "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25,
    "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SC": 31, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "ST": 25, "SV": 28, "TL": 23,
    "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip


def luhn(digits: str) -> bool:
    """Payment cards (ISO/IEC 7812)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_card_number(digits: str) -> bool:
    """Whether the length and the first digits are ones that card networks use; says nothing of the check digit."""
    n, two, four = len(digits), int(digits[:2]), int(digits[:4])
    return (
        (two == 62 and 16 <= n <= 19)
        or (digits[0] == "4" and n in (13, 16, 19))
        or (n == 16 and (51 <= two <= 55 or 2221 <= four <= 2720 or two == 35))
        or (two in (34, 37) and n == 15)
        or (two in (30, 36, 38) and n == 14)
        or ((four == 6011 or two in (64, 65, 60, 81)) and 16 <= n <= 19)
        or (two in (50, 56, 57, 58, 67, 68, 69) and 16 <= n <= 19)
        or (four in (9558, 9559, 9400, 9843, 9400) and 16 <= n <= 19)
    )


def id_card_place_and_birth(number: str) -> bool:
    """Whether a Chinese identity number of 15 or 18 characters names a province and a possible birth date (GB 11643)."""
    born = number[6:14] if len(number) == 18 else f"19{number[6:12]}"
    if number[:2] not in _PROVINCES or not "1880" <= born[:4] <= "2099":
        return False
    try:
        date(int(born[:4]), int(born[4:6]), int(born[6:]))
    except ValueError:
        return False
    return True


def id_card_check(number: str) -> bool:
    """The last character of an 18-character identity number (ISO 7064 MOD 11-2)."""
    total = sum(int(c) * w for c, w in zip(number, _ID_WEIGHTS, strict=False))
    return _ID_CHECKS[total % 11] == number[17].upper()


def credit_code_check(code: str) -> bool:
    """The last character of a unified social credit code (GB 32100)."""
    try:
        total = sum(_CREDIT.index(c) * pow(3, place, 31) for place, c in enumerate(code[:17]))
        return _CREDIT.index(code[17]) == (31 - total % 31) % 31
    except ValueError:
        return False


def iban_check(number: str) -> bool:
    """Length of the country and remainder 1 by 97 (ISO 13616)."""
    if _IBAN_LENGTHS.get(number[:2]) != len(number):
        return False
    return int("".join(str(int(c, 36)) for c in number[4:] + number[:4])) % 97 == 1
