"""What of a model's words may stand in a review. Pure, and strict: whatever is not plainly allowed is refused.

A text is plain English: letters, a little punctuation, slots, and quotations of what the agent wrote. There is no
character in it that could be a digit, a tag, a link, Markdown or invisible; numbers in words, strong verdicts without
the evidence for them, unknown slots and invented quotations are refused. What is let through can be wrong in what it
says, but it cannot hold a figure, promise evidence or carry a command.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retro.narrate.beside import foreign_slots, misused_slots, sentences
from retro.narrate.numerals import numbers_in
from retro.narrate.slots import SLOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.narrate.slots import Slots

__all__ = ["LONGEST", "Ground", "Objection", "faults_in", "folded", "tidy"]

LONGEST: Final = 1500
"""Characters a text may have, slots as they are written."""

_PUNCTUATION: Final = frozenset(" .,;:!?'\"()/-\u2013\u2014\u2018\u2019\u201c\u201d\u2026")
_DOUBLE: Final = re.compile(r"[\"\u201c\u201d]")
_QUOTED: Final = re.compile(
    r"[\"\u201c\u201d]([^\"\u201c\u201d]*)[\"\u201c\u201d]|(?<!\w)['\u2018]((?:[^'\u2018\u2019\"]|(?<=\w)['\u2019](?=\w))+)['\u2019](?!\w)"
)
_BEGINS: Final = re.compile(r"[A-Za-z\u00c0-\u024f{\"\u201c(]")
_ABBREVIATIONS: Final = re.compile(r"\b(?:e\.g|i\.e|a\.m|p\.m|U\.S)\.")
_ADDRESS: Final = re.compile(r"[^\W\d_]\.[^\W\d_]|\}\.[^\W\d_]|[^\W\d_]:\S|//|(?<![^\W\d_])/|/(?![^\W\d_])")

_PROOF: Final = re.compile(
    r"\b(?:supported|supports|well[ -](?:supported|founded|grounded)|prov(?:e|es|ed|en|ing|ably)|proofs?|confirm\w*"
    r"|significan\w+|conclusive\w*|certain(?:ly|ty)|undeniabl\w+|undoubtedl?y?|indisputabl\w+|unquestionabl\w+"
    r"|definit(?:e|ely|ive|ively)|establish(?:es|ed)|demonstrat\w+|guarantee\w*|validat\w+|verif(?:y|ies|ied)|statistical\w*"
    r"|bulletproof|irrefutabl\w+|incontrovertib\w+|incontestab\w+|unassailab\w+|ironclad|airtight|foolproof|rock[ -]?solid"
    r"|substantiat\w+|corroborat\w+|vindicat\w+|attest\w*|borne out|bears? (?:it |this |that )?out|sure[ -]?fire"
    r"|beyond (?:any |all |a )?(?:reasonable |shadow of a )?(?:doubt|dispute|question)|no (?:doubt|question)"
    r"|without (?:a |any )?(?:doubt|question)|for sure|evidence[ -]based|speaks? for (?:itself|themselves)"
    r"|(?:backed|underpinned|carried) (?:up )?by (?:the |hard |real |good )*(?:evidence|data|numbers|figures)"
    r"|(?:evidence|data|numbers|figures|record) backs?"
    r"|evidence (?:is|was|looks|seems) (?:very |quite |already )?(?:strong|solid|compelling|hard|sound|firm|ample|robust"
    r"|sufficient|enough|convincing|good|clear)"
    r"|(?:strong(?:est)?|solid|compelling|hard|sound|firm|ample|robust|sufficient|enough|convincing|good|clear) "
    r"(?:\w+ )?evidence"
    r"|overwhelming\w*|risk[ -]?free|cannot lose|can't lose|sure thing)\b"
)
_MODEST: Final = re.compile(
    r"\b(?:no|not|without|lacks?|lacking|hardly)(?: yet| any| a| the)* (?:strong|solid|hard|firm|sufficient|enough|good|clear)"
    r" (?:\w+ )?evidence\b"
)
_ALWAYS: Final = re.compile(
    r"\b(?:always|never|reliabl[ey]|consistent(?:ly)?|invariably|every (?:single )?time|robust(?:ly)?|clear(?:ly)?"
    r"|obvious(?:ly)?|evident(?:ly)?|plainly|unmistakabl\w+|dependabl\w+|trustworth\w+|without exception|works"
    r"|doesn't work|does not work|(?:has|have|is) an? (?:\w+ )?edge|a (?:sure |safe |proven )?winner)\b"
)
_SUGGESTIVE: Final = re.compile(r"\bsuggestive\b")
_ORDERS: Final = (
    (
        re.compile(r"\b(?:retir\w+|abandon\w*|discard\w*|scrap(?:ped|ping)?|delet\w+|banish\w*)\b"),
        "demote",
        True,
    ),
    (re.compile(r"\bdemot\w+\b"), "demote", False),
    (re.compile(r"\bpromot\w+\b"), "keep", True),
    (re.compile(r"\b(?:scal(?:e|ing) up|siz(?:e|ing) up|double down|all[ -]in)\b"), "", True),
)
_GRADES: Final = ("none", "weak", "suggestive", "supported")


@dataclass(frozen=True, slots=True)
class Ground:
    """What words must rest on: the slots there are, and what the agent wrote."""

    slots: Slots
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a text is refused: `kind` in our own words, `detail` possibly in the model's, for the model alone."""

    where: str
    kind: str
    detail: str = ""


def tidy(text: str) -> str:
    """The text in composed characters, white space as single spaces: what is checked is what is kept."""
    return unicodedata.normalize("NFC", " ".join(text.split()))


def folded(text: str) -> str:
    """Lower case without accents, curly marks as straight ones: the form in which words are looked for."""
    marks = text.replace("\u2019", "'").replace("\u2018", "'").replace("\u2013", "-").replace("\u2014", "-")
    apart = unicodedata.normalize("NFD", marks)
    return "".join(c for c in apart if not unicodedata.combining(c)).lower()


def faults_in(
    where: str, text: str, ground: Ground, *, slots: bool = True, about: str | None = None
) -> list[Objection]:
    """Everything wrong with one tidy text; without `slots` it may hold none, `about` one position only that one's."""
    objections = [Objection(where, kind, detail) for kind, detail in _faults(text, ground, slots=slots)]
    if about is not None:
        objections += [
            Objection(where, "a figure of another position", name) for name in foreign_slots(text, about)
        ]
    return list(dict.fromkeys(objections))


def _faults(text: str, ground: Ground, *, slots: bool) -> Iterator[tuple[str, str]]:
    if not text or len(text) > LONGEST:
        yield "too long" if text else "an empty text", ""
        return
    names = SLOT.findall(text)
    for name in names:
        if not slots:
            yield "a slot where none may stand", name
        elif name not in ground.slots.by_name:
            why = ground.slots.absent.get(name)
            yield ("a slot without a value", f"{name}: {why}") if why else ("an unknown slot", name)
    strange = sorted({c for c in "".join(SLOT.split(text)[::2]) if not _allowed(c)})
    if strange:
        yield _kind_of(strange), " ".join(map(ascii, strange[:8]))
        return
    prose = SLOT.sub("{}", text)
    if not _BEGINS.match(text):
        yield "a text that begins with neither a word nor a slot", ""
    for match in _ADDRESS.finditer(_ABBREVIATIONS.sub(" ", prose)):
        yield "something like an address or a command", match[0]
    yield from misused_slots(text, ground.slots)
    for number in numbers_in(prose, folded(prose)):
        yield "a number in words", number
    yield from _quotations(text, ground)
    yield from _verdicts(text, ground)


def _allowed(c: str) -> bool:
    """A letter of the Latin alphabet, accented or not, or a little punctuation."""
    if c.isascii():
        return c.isalpha() or c in _PUNCTUATION
    if c in _PUNCTUATION:
        return True
    apart = unicodedata.normalize("NFD", c)
    return (
        len(apart) == 2 and apart[0].isascii() and apart[0].isalpha() and unicodedata.combining(apart[1]) > 0
    )


def _kind_of(strange: list[str]) -> str:
    """What the strangest of some characters is."""
    if any(c.isnumeric() or c in "%\u2030$\u20ac\u00a3" for c in strange):
        return "a number that code did not write"
    if any(c in "{}" for c in strange):
        return "a broken slot"
    if any(c in "<>&`*_#[]|~\\^=+@" for c in strange):
        return "markup"
    if any(unicodedata.category(c).startswith("C") for c in strange):
        return "an invisible character"
    return "a character that is no plain English"


def _quotations(text: str, ground: Ground) -> Iterator[tuple[str, str]]:
    if len(_DOUBLE.findall(text)) % 2:
        yield "a quotation that does not end", ""
    sources = [_plain_marks(source) for source in ground.texts]
    for match in _QUOTED.finditer(text):
        quoted = _plain_marks(match[1] if match[1] is not None else match[2]).strip()
        words = quoted.rstrip(".,;:!?\u2026 ")  # the sentence's own mark may stand inside
        if not words or not any(words in source for source in sources):
            yield "a quotation of nothing the agent wrote", quoted


def _plain_marks(text: str) -> str:
    return (
        tidy(text).replace("\u2019", "'").replace("\u2018", "'").replace("\u201c", '"').replace("\u201d", '"')
    )


def _verdicts(text: str, ground: Ground) -> Iterator[tuple[str, str]]:
    """Claims stronger than the evidence of the heuristics they are about; about none, none may be strong."""
    for sentence in sentences(text):
        about = [ground.slots.by_name.get(name) for name in SLOT.findall(sentence)]
        standings = [slot.standing for slot in about if slot is not None and slot.standing is not None]
        weakest = min((_GRADES.index(standing.evidence) for standing in standings), default=0)
        proven = weakest == _GRADES.index("supported")
        plain = _MODEST.sub("{}", folded(SLOT.sub("{}", sentence)))
        for words, allowed in (
            (_PROOF, proven),
            (_ALWAYS, proven or not standings),
            (_SUGGESTIVE, weakest > 1),
        ):
            if not allowed and (match := words.search(plain)):
                yield "a verdict stronger than the evidence", match[0]
        for order, kind, proof in _ORDERS if standings else ():
            meant = all(standing.recommendation == kind for standing in standings) and (proven or not proof)
            if not meant and (match := order.search(plain)):
                yield "a recommendation that the audit does not make", match[0]
