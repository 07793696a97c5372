"""Numbers that hide in words: spelled, Roman, as fractions, with a unit, as dates. Pure.

Written for refusing, not for understanding: English prose in plain letters has no need of any of these, because every
figure has a slot. Up to twelve may be spelled, but neither as money nor as a share or a multiple of something.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["numbers_in"]

_SMALL: Final = "zero|nil|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_MANY: Final = _SMALL.removeprefix("zero|nil|one|")

# Stems, found anywhere in a word: "twenty-five", "millionfold", "zweihundert".
_STEMS: Final = (
    r"(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twent|thirt|fort|fift|sixt|sevent|eight|ninet)(?:y|ie)"
    r"|hundre|thousan|milli(?:on|ard)|billi(?:on|ard)|trillion|quadrillion|dozen|myriad|googol|umpteen"
    r"|fourty|ninty|lakh|crore"
    # as other languages spell them, where no English word does
    r"|dreizehn|vierzehn|funfzehn|sechzehn|siebzehn|achtzehn|neunzehn|zwanzig|dreissig|dreiszig|vierzig|funfzig"
    r"|sechzig|siebzig|achtzig|neunzig|hundert|tausend|prozent|treize|quatorze|quinze|vingt|trente|quarante|cinquante"
    r"|soixante|pourcent|veint[ei]|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa|ciento|doscient|quinient"
    r"|por ?cien|vinte|trinta|quarenta|cinquenta|sessenta|oitenta|trenta|quaranta|cinquanta|sessanta|settanta|ottanta"
    r"|novanta|duecent|twintig|dertig|veertig|vijftig|zestig|zeventig|tachtig|negentig|honderd|duizend"
)

# Whole words: parts, multiples, small words that a unit makes money or a share, dates.
_WORDS: Final = (
    r"hal(?:f|ves|ved|ving)|three[- ]?quarters?|quartered|(?:a|one|two|three|four)[ -](?:third|quarter|fourth|fifth|sixth"
    r"|seventh|eighth|ninth|tenth)s?|(?:fif|six|seven|eigh|nin|ten)ths|tens|teens|twice|thrice|manifold"
    r"|(?:doubl|tripl|trebl|quadrupl|quintupl)(?:e|es|ed|ing)"
    rf"|(?:{_SMALL})[- ]?fold|(?:{_MANY})[ -](?:times|score|gross)"
    rf"|(?:{_SMALL})[ -](?:\w+[ -])?(?:percent\w*|per[ -]?cent\w*|pct|bps?|pips?|dollars?|bucks?|cents?|euros?|pounds?"
    r"|usd\w*|eur|grand|basis points?)"
    rf"|(?:{_MANY})[ -](?:points?|btc|eth|sol|bitcoins?|ethers?|sats?|gwei|r|sigmas?)"
    rf"|(?:{_SMALL})[ -](?:point|and a|in(?: every)?|out of|of every|to|or)[ -](?:{_SMALL}|hal\w*|third\w*|quarter\w*)"
    rf"|(?:{_SMALL})(?:[ -](?:{_SMALL}))+"  # digits read aloud: "one two three"
    r"|per ?mille|mille|cent pour|midnight|noon|o'? ?clock"
    r"|jan|feb|apr|jun|jul|aug|sept?|oct|nov|dec|january|february|april|june|july|august|september|october|november"
    r"|december|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|(?:in|of|on|since|until|till|by|during|early|late|mid|from|through|this|last|next)[ -](?:mar|march|may)"
    r"|(?:march|may)[ -](?:the )?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth)"
)
_HIDDEN: Final = re.compile(rf"{_STEMS}|(?<![a-z])(?:{_WORDS})(?![a-z])")
_LETTERS_APART: Final = re.compile(r"(?<![a-z])[a-z](?:[ .,/-]{1,2}[a-z](?![a-z])){3,}")
_ROMAN: Final = re.compile(
    r"(?<![A-Za-z])(?=[MDCLXVI]{2})M{0,4}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?![A-Za-z])"
)
_SHORT_ROMAN: Final = frozenset({"XV", "XX", "XL", "XC", "LX"})
_UP_TO_TWELVE: Final = frozenset({"II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"})


def numbers_in(text: str, folded: str) -> Iterator[str]:
    """Every number spelled in a text of Latin letters; `folded` is the text without accents, in lower case.

    Digits are not looked for here: no character that is one is let through at all.
    """
    closed = re.sub(r"(?<=[a-z])['-](?=[a-z])", "", folded)  # nine-ty, nine'ty
    for told in dict.fromkeys((folded, closed)):
        yield from (found[0] for found in _HIDDEN.finditer(told))
    yield from (found[0] for found in _LETTERS_APART.finditer(folded))
    for found in _ROMAN.finditer(text):
        if found[0] not in _UP_TO_TWELVE and (len(found[0]) > 2 or found[0] in _SHORT_ROMAN):
            yield found[0]
