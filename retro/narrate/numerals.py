"""Numbers that hide in words: spelled, Roman, as fractions, with a unit, as dates. Pure.

Written for refusing, not for understanding: English prose about a review has no need of any of these, because every
figure has a slot. `one`, `first` and `second` are ordinary words and stand where they count and measure nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["numbers_in"]

_SMALL: Final = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|zero|nil|nought|naught"
_TEENS: Final = r"(?:thir|four|fif|six|seven|eigh|nine)teen"
_TENS: Final = r"(?:twent|thirt|fou?rt|fift|sixt|sevent|eight|nine?t)(?:y|ie)|(?:two|three|four|five)ty"
_LARGE: Final = r"hundre|thousan|milli(?:on|ard)|billi(?:on|ard)|trillion|quadrillion|dozen|myriad|googol"
_ORDINAL: Final = "third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"

# Stems, found anywhere in a word: "twenty-five", "millionfold", "zweihundert".
_STEMS: Final = (
    rf"{_TEENS}|(?:one|two|three|five)teen|{_TENS}|{_LARGE}|umpteen|lakh|crore"
    r"|pro[cz]ent|protsent|pour-?cent|porcent|percento|por ?cien"
    # as other languages spell them, where no English word does
    r"|dreizehn|vierzehn|funfzehn|sechzehn|siebzehn|achtzehn|neunzehn|zwanzig|dreissig|dreiszig|vierzig|funfzig"
    r"|sechzig|siebzig|achtzig|neunzig|hundert|tausend|treize|quatorze|quinze|vingt|trente|quarante|cinquante"
    r"|soixante|veint[ei]|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa|ciento|doscient|quinient"
    r"|vinte|trinta|quarenta|cinquenta|sessenta|oitenta|trenta|quaranta|cinquanta|sessanta|settanta|ottanta"
    r"|novanta|duecent|twintig|dertig|veertig|vijftig|zestig|zeventig|tachtig|negentig|honderd|duizend|hundra|tjugo"
    r"|dvadtsat|tridtsat|desyat|dziesi|tysia[ck]"
)

# Whole words: counts, parts, multiples, `one` where it measures, dates.
_WORDS: Final = (
    rf"(?:{_SMALL})(?:e?s|[- ]?fold|somes?)?|(?:{_ORDINAL})s?|(?:fif|six|seven|eigh|nin|ten)ths|teens?"
    r"|hal(?:f|ves|ved|ving)|quarter(?:s|ed)?|twelfths|twice|thrice|manifold|onefold|couples?|duo|trio|quartet|quintet"
    r"|sextet|septet|octet|digits?|\w*baggers?|fiver|tenner|quid|fortnights?|decades?|centur(?:y|ies)|doz"
    r"|scores of (?:trade|position|loss|gain|time|day)\w*|an? (?:score|gross) of(?! ?\{)"
    r"|(?:doubl|tripl|trebl|quadrupl|quintupl|sextupl|septupl|octupl|nonupl|decupl|centupl)(?:e|es|ed|ing|y)"
    r"|per[ -]?cents?|pct|percentage[ -]points?|basis[ -]points?|per ?mille|mille|mil|cent pour"
    r"|(?:a|one)[ -](?:dollar|buck|cent|penny|euro|pound|usd\w*|eur|btc|eth|sol|bitcoin|ether|sat|gwei|pip|bp|sigma|grand)"
    r"|(?:minus|plus|negative|point|dot|oh|number|rule|heuristic|week|month|year|tier|[b-z])[ -]one"
    r"|one[ -](?:out of|of every|oh?|one)|one, one"
    r"|midnight|midday|noon|o'? ?clock|(?:first|second) of (?:the )?(?:month|year|week)"
    r"|jan|feb|apr|jun|jul|aug|sept?|oct|nov|dec|january|february|april|june|july|august|september|october|november"
    r"|december|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|(?:in|of|on|since|until|till|by|during|early|late|mid|from|through|this|last|next)[ -](?:mar|march|may|sat|sun)"
    r"|(?:march|may)[ -](?:the )?(?:first|second)"
)
_CAPITAL: Final = re.compile(r"(?<![A-Za-z])(?:Mon|Tues?|Wed|Thur?s?|Fri|March|May)(?![A-Za-z])")

# Whole words of other languages: counts, months and days that no English word is spelled like.
_FOREIGN: Final = (
    r"zwe[io]|drei|vier|funf|fuenf|sechs|sieben|acht|neun|zehn|elf|zwoe?lf|deux|trois|quatre|cinq|huit|neuf|dix|onze|douze"
    r"|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|trece|catorce|tre|quattro|cinque|sette|otto|dieci|undici"
    r"|dodici|tredici|dois|duas|quatro|sete|oito|dez|doze|treze|twee|drie|vijf|zes|zeven|negen|tien|twaalf|fyra|sju|tio"
    r"|dwa|trzy|cztery|piec|szesc|siedem|osiem|dziewiec|sto|dva|chetyre|pyat|shest|vosem|devyat|quattuor|quinque|septem"
    r"|decem|centum|ichi|roku|shichi|hachi|juu|hyaku|yirmi|otuz|elli|yuz|pachas|pachaas"
    r"|januar|februar|marz|juni|juli|oktober|dezember|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag"
    r"|janvier|fevrier|avril|juin|juillet|aout|septembre|octobre|decembre|lundi|mardi|mercredi|jeudi|vendredi|samedi"
    r"|dimanche|enero|febrero|abril|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|lunes|martes|miercoles"
    r"|jueves|viernes|sabado|domingo|gennaio|febbraio|aprile|giugno|luglio|settembre|ottobre|dicembre"
)
_STEM: Final = re.compile(_STEMS)
_HIDDEN: Final = re.compile(rf"{_STEMS}|(?<![a-z])(?:{_WORDS}|{_FOREIGN})(?![a-z])")
_BROKEN_UP: Final = re.compile(
    rf"(?:{_SMALL})|(?:{_TEENS}|{_TENS}|{_LARGE})\w{{0,3}}|percent|half|quarter|twice|double"
)
_LONGEST: Final = 12
_PIECES: Final = 6
_LETTERS_APART: Final = re.compile(r"(?<![a-z])[a-z](?:[ .,/-]{1,2}[a-z](?![a-z])){3,}")
_ROMAN: Final = re.compile(
    r"(?<![a-z])(?=[mdclxvi]{2})m{0,4}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})(?![a-z])"
)
_NO_ROMAN: Final = frozenset(
    {"iv", "ci", "cc", "cd", "dc", "dm", "md", "mm", "mc", "mi", "di", "li", "cv", "cm", "ml", "mix", "cli"}
)
"""What is something else more often: implied volatility, a confidence interval, a market maker..."""


def numbers_in(text: str, folded: str) -> Iterator[str]:
    """Every number spelled in a text of Latin letters; `folded` is the text without accents, in lower case.

    Digits are not looked for here: no character that is one is let through at all.
    """
    closed = re.sub(r"(?<=[a-z])['-](?=[a-z])", "", folded)  # nine-ty, nine'ty
    for spelling in dict.fromkeys((folded, closed)):
        yield from (match[0] for match in _HIDDEN.finditer(spelling))
    yield from (match[0] for match in _STEM.finditer(re.sub(r"([a-z])\1+", r"\1", folded)))  # fiffty
    yield from (match[0] for match in _LETTERS_APART.finditer(folded))
    yield from _broken_up(folded)
    yield from (match[0] for match in _CAPITAL.finditer(text))
    yield from (match[0] for match in _ROMAN.finditer(folded) if match[0] not in _NO_ROMAN)


def _broken_up(folded: str) -> Iterator[str]:
    """Numbers in pieces: "hun dred", "fi f ty"."""
    pieces = re.findall("[a-z]+", folded)
    for start, piece in enumerate(pieces):
        whole = piece
        for next_piece in pieces[start + 1 : start + _PIECES]:
            whole += next_piece
            if len(whole) > _LONGEST:
                break
            if _BROKEN_UP.fullmatch(whole):
                yield whole
