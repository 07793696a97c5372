"""What a model may say: slots and plain words. Everything that could be a figure, a promise or a command is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.narrate import plain
from retro.narrate.beside import misused_slots
from retro.narrate.ground import Objection
from retro.narrate.slots import Slots
from retro.narrate.subject import GroundedWords, Subject, check, report_subject
from retro.store.database import open_store
from tests.worlds.narrations import AGENT, GOOD, lived, with_text

FIELDS = ("what_worked", "what_failed", "hindsight", "what_went_wrong", "lesson")


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    store = open_store(str(tmp_path_factory.mktemp("week") / "retro.db"))
    week_subject = report_subject(plain.words(lived(store)))
    store.close()
    return week_subject


def kinds(subject: Subject, answer: Any) -> set[str]:
    """The kinds of faults in an answer; empty when it is taken."""
    checked = check(subject, answer if isinstance(answer, str) else json.dumps(answer))
    return {fault.kind for fault in checked} if isinstance(checked, list) else set()


NUMBER = "a number that code did not write"
WORDS = "a number in words"
VERDICT = "a verdict stronger than the evidence"
ORDER = "a recommendation that the audit does not make"
ADDRESS = "something like an address or a command"
ALTERED = "a slot whose figure is altered"
ANOTHERS = "a figure of another one than the sentence names"
QUOTE = "a quotation of nothing the agent wrote"


def test_a_sound_answer_is_taken_and_code_fills_value_unit_and_interval(subject: Subject) -> None:
    grounded = check(subject, json.dumps(GOOD))
    assert isinstance(grounded, GroundedWords)
    assert grounded.fields["what_worked"] == (
        "Trading gains came to 8.30 USDC. H-3 averaged +0.75 USDC (n = 6), with no evidence yet (n = 6)."
    )
    assert grounded.positions["t-2"][0] == "It was entered at a high and left at -5.00 USDC."
    assert grounded.candidates == {"H-7": "Add size only once the fees of the entry are earned."}


@pytest.mark.parametrize(
    "text",
    [
        "The range held, and the first entry was the best one of the week.",
        "Days later most trades paid; several did not, e.g. the long side (i.e. most of it).",
        "Nobody could have known: the ending decides, doesn't it?",
        "{agent} lost {pnl.trading_losses}… and kept {pnl.trading_gains}!",
        "The agent’s reason – “the range is good” – was about fees.",
        "It said 'Nothing else', no: it said \"Fees have paid for the gas\"."[29:],
        "{h.H-7.name} is to {h.H-7.recommendation}: {h.H-7.evidence}.",
        "{h.H-7.name} may be demoted by the thresholds.",
        "Buy/sell timing and/or size: a naïve façade.",
        "({pnl.total}) was the week's result; {agent}'s own costs are in it.",
        "A score of {score} and {inaction_superiority_rate}.",
        "The week may march on. A second look at the last entry helps; once is enough for a one-off.",
        "IV was low, the CI is wide, and it sat in the sun.",
        "{h.H-7.name} averaged {h.H-7.avg} per citation: not enough evidence to judge it.",
        "{p.t-2.name} ({p.t-2.side}, {p.t-2.instrument}) closed at {p.t-2.final_pnl} — like {p.t-4.name}.",
        "It gave back {pnl.trading_losses}, held {p.t-2.held} and left {p.t-2.exit_at}.",
    ],
)
def test_plain_sentences_pass(subject: Subject, text: str) -> None:
    assert kinds(subject, with_text(text)) == set()


@pytest.mark.parametrize(
    ("bounds", "refused"),
    [
        ("", False),
        (", 95 % interval -4.10..-0.50 at every look", True),
        (", 95 % interval -0.50 or below", True),
    ],
)
def test_a_loss_told_without_its_sign_has_no_interval_beside_it(bounds: str, refused: bool) -> None:
    slots = Slots()
    slots.put("h.H-7.avg", f"-2.30 USDC (n = 3{bounds})")
    faults = [kind for kind, _ in misused_slots("It lost {h.H-7.avg}.", slots)]
    assert faults == ["a slot whose sign the words deny"] * refused


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        # digits of any alphabet, and what stands for them
        ("It made 5 USDC.", NUMBER),
        ("It made ５.", NUMBER),
        ("It made ٥.", NUMBER),
        ("It made ५.", NUMBER),
        ("It made ⑤.", NUMBER),
        ("It made ⅴ.", NUMBER),
        ("It made ½.", NUMBER),
        ("It made x².", NUMBER),
        ("It made 五.", NUMBER),
        ("It made 𝟝.", NUMBER),
        ("It made 5️⃣.", NUMBER),
        ("H-7 lost.", NUMBER),
        ("On 2026-03-04 it lost.", NUMBER),
        ("A large % of it.", NUMBER),
        ("Many $ were made.", NUMBER),
        # spelled
        ("Seven trades.", WORDS),
        ("Three of the five trades.", WORDS),
        ("Two days later.", WORDS),
        ("Zero profit.", WORDS),
        ("The fifth trade.", WORDS),
        ("Thirteen trades.", WORDS),
        ("Hun dred trades.", WORDS),
        ("Fi f ty trades.", WORDS),
        ("Fiffty trades.", WORDS),
        ("A couple of trades.", WORDS),
        ("Double digits.", WORDS),
        ("A percent of it.", WORDS),
        ("A dollar.", WORDS),
        ("Point one.", WORDS),
        ("Minus one.", WORDS),
        ("Rule one.", WORDS),
        ("One in ten.", WORDS),
        ("Six figures.", WORDS),
        ("Last quarter.", WORDS),
        ("A decade.", WORDS),
        ("Twenty-five trades.", WORDS),
        ("Nine-ty trades.", WORDS),
        ("N i n e t y trades.", WORDS),
        ("A hundred trades.", WORDS),
        ("Dozens of trades.", WORDS),
        ("The fortieth trade.", WORDS),
        ("Five percent of it.", WORDS),
        ("One per cent of it.", WORDS),
        ("Ten dollars.", WORDS),
        ("May the fourth was bad.", WORDS),
        ("Twelve dollars.", WORDS),
        ("Half of it.", WORDS),
        ("A third of it.", WORDS),
        ("Two-thirds of it.", WORDS),
        ("It doubled.", WORDS),
        ("Twice as much.", WORDS),
        ("A tenfold gain.", WORDS),
        ("Two point five.", WORDS),
        ("One two three.", WORDS),
        ("Nine out of ten.", WORDS),
        ("Week XLVII.", WORDS),
        ("Week xlvii.", WORDS),
        ("The IX trades.", WORDS),
        ("Drei trades.", WORDS),
        ("Deux trades.", WORDS),
        ("Cinco trades.", WORDS),
        ("Dvadtsat trades.", WORDS),
        ("Juillet was bad.", WORDS),
        ("On Wed it lost.", WORDS),
        ("Mostly in a May of losses.", WORDS),
        ("Zwanzig Prozent.", WORDS),
        ("Vingt trades.", WORDS),
        ("In March it lost.", WORDS),
        ("December was bad.", WORDS),
        ("Monday was bad.", WORDS),
        ("Since may it lost.", WORDS),
        ("At noon it lost.", WORDS),
        # slots
        ("It made {pnl.profit}.", "an unknown slot"),
        ("It made {h.H-99.avg}.", "an unknown slot"),
        ("It made { pnl.total }.", "an unknown slot"),
        ("It made {p.t-0.mfe_r}.", "a slot without a value"),
        ("It made {pnl.total.", "a broken slot"),
        ("It made {{pnl.total}}.", "a broken slot"),
        ("It made {}.", "a broken slot"),
        ("It made -{pnl.total}.", ALTERED),
        ("It made - {pnl.total}.", ALTERED),
        ("It made minus {pnl.total}.", ALTERED),
        ("It made {pnl.total}{pnl.total}.", ALTERED),
        ("It made {pnl.total}k.", ALTERED),
        ("It made {pnl.total} times.", ALTERED),
        ("It made {pnl.total} k.", ALTERED),
        ("It made {pnl.total} BTC.", ALTERED),
        ("It made {pnl.total} points.", ALTERED),
        ("It made {pnl.total} per trade.", ALTERED),
        ("It made {pnl.total} a day.", ALTERED),
        ("It made {score} {pnl.total}.", ALTERED),
        ("It made USD {score}.", ALTERED),
        ("It made —{pnl.trading_gains}.", ALTERED),
        ("It gained {pnl.total}.", "a slot whose sign the words deny"),
        ("It lost {h.H-3.pnl}.", "a slot whose sign the words deny"),
        ("{h.H-3.name} averaged {h.H-7.avg}.", ANOTHERS),
        ("{h.H-3.name} has {h.H-7.evidence}.", ANOTHERS),
        ("{p.t-2.name} closed at {p.t-1.final_pnl}.", ANOTHERS),
        ("It made {pnl.total|abs}.", "an unknown slot"),
        ("It made {pnl.total:.0f}.", "an unknown slot"),
        ("It made &#49;.", NUMBER),
        ("It made %31.", NUMBER),
        ("It made x{pnl.total}.", ALTERED),
        # verdicts
        ("{h.H-3.name} is proven.", VERDICT),
        ("{h.H-3.name} is supported by {h.H-3.avg}.", VERDICT),
        ("{h.H-3.name} always pays.", VERDICT),
        ("{h.H-3.name} clearly pays.", VERDICT),
        ("See {h.H-3.name}. That is confirmed.", VERDICT),
        ("The edge is statistically significant.", VERDICT),
        ("There is strong evidence.", VERDICT),
        ("The evidence is suggestive.", VERDICT),
        ("Beyond any doubt it pays.", VERDICT),
        ("The evidence is strong.", VERDICT),
        ("{h.H-3.name} is vindicated.", VERDICT),
        ("{h.H-3.name} is backed by the data.", VERDICT),
        ("{h.H-3.name} has an edge.", VERDICT),
        ("{h.H-3.name} should be promoted.", ORDER),
        ("{h.H-3.name} should be demoted.", ORDER),
        ("{h.H-7.name} should be retired.", ORDER),
        ("Go all-in on {h.H-3.name}.", ORDER),
        # quotations
        ('It wrote "I knew it".', QUOTE),
        ("It wrote “I knew it”.", QUOTE),
        ("It wrote 'I knew it'.", QUOTE),
        ("It wrote 'they don't know'.", QUOTE),
        ('It wrote "" there.', QUOTE),
        ('It wrote "{pnl.total}".', QUOTE),
        ('It wrote "size goes up.', "a quotation that does not end"),
        ('It wrote "Accuracy was above 80 %".', NUMBER),
        # markup, addresses, invisible signs
        ("<b>gain</b>", "markup"),
        ("&lt;b&gt;", "markup"),
        ("**gain**", "markup"),
        ("`gain`", "markup"),
        ("# gain", "markup"),
        ("[gain](x)", "markup"),
        ("a | b", "markup"),
        ("a_b", "markup"),
        ("a@b", "markup"),
        ("See evil.example now.", ADDRESS),
        ("See https://evil now.", ADDRESS),
        ("See {agent}.com now.", ADDRESS),
        ("javascript:alert", ADDRESS),
        ("Then /approve it.", ADDRESS),
        ("- a list", "a text that begins with neither a word nor a slot"),
        (". ", "a text that begins with neither a word nor a slot"),
        ("ga\u200bin", "an invisible character"),
        ("\u202eniag", "an invisible character"),
        ("gain\x00", "an invisible character"),
        ("ga\u00adin", "an invisible character"),
        ("\U000e0067ain", "an invisible character"),
        ("gаin", "a character that is no plain English"),
        ("gain 📈", "a character that is no plain English"),
        ("𝐧𝐢𝐧𝐞𝐭𝐲", "a character that is no plain English"),
        ("ga\u0301\u0302in", "a character that is no plain English"),
        ("", "an empty text"),
        ("   \n ", "an empty text"),
        ("word " * 400, "too long"),
    ],
)
def test_a_text_that_holds_more_than_that_is_refused_wherever_it_stands(
    subject: Subject, text: str, kind: str
) -> None:
    for field in FIELDS:
        assert kind in kinds(subject, with_text(text, field)), field


def test_supported_may_be_said_where_the_audit_says_so(subject: Subject) -> None:
    """With supported evidence for every heuristic a sentence names, strong words are true."""
    slots = subject.ground.slots
    strong = {
        name: type(slot)(slot.text, type(slot.standing)("supported", "keep"))
        for name, slot in slots.by_name.items()
        if slot.standing is not None and name.startswith("h.H-3.")
    }
    original_slots = dict(slots.by_name)
    slots.by_name.update(strong)
    try:
        assert kinds(subject, with_text("{h.H-3.name} is supported and should be promoted.")) == set()
        assert kinds(subject, with_text("{h.H-3.name} is supported, as is {h.H-7.name}.")) == {VERDICT}
        assert kinds(subject, with_text("That is supported.")) == {VERDICT}
    finally:
        slots.by_name.update(original_slots)


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"heuristic_id": "H-3", "text": "Wait."}, "a proposal about a heuristic not listed"),
        ({"heuristic_id": "H-99", "text": "Wait."}, "a proposal about a heuristic not listed"),
        ({"heuristic_id": "h-7", "text": "Wait."}, "a proposal about a heuristic not listed"),
        ({"heuristic_id": "H-7", "text": "Wait for {pnl.total}."}, "a slot where none may stand"),
        ({"heuristic_id": "H-7", "text": "Wait " + "long " * 80}, "too long"),
        ({"heuristic_id": "H-7", "text": "Wait 3 days."}, NUMBER),
        ({"heuristic_id": "H-7", "text": "Wait {status: active}"}, "a slot where none may stand"),
        ({"heuristic_id": "H-7", "text": ""}, "an empty text"),
        (
            {"heuristic_id": "H-7", "text": "Always: fees have paid for the gas!"},
            "a proposal in the agent's own words",
        ),
    ],
)
def test_a_proposal_is_the_wording_of_a_candidate_beside_an_audited_heuristic(
    subject: Subject, entry: dict[str, Any], kind: str
) -> None:
    assert kind in kinds(subject, GOOD | {"proposals": [entry]})


def test_nothing_is_worded_twice_and_nothing_that_was_not_asked_for(subject: Subject) -> None:
    [words] = GOOD["positions"]
    [rule] = GOOD["proposals"]
    assert kinds(subject, GOOD | {"positions": [words, words]}) == {"the same one twice"}
    assert kinds(subject, GOOD | {"proposals": [rule, rule]}) == {"the same one twice"}
    stranger = words | {
        "position_id": "t-0",
        "what_went_wrong": "It was late.",
    }  # left at its best moment: the plain words are silent on it
    assert kinds(subject, GOOD | {"positions": [stranger]}) == {"words for a position not listed"}
    assert kinds(subject, GOOD | {"positions": [], "proposals": []}) == set()


def test_the_words_of_a_position_hold_figures_of_that_position_alone(subject: Subject) -> None:
    for name, expected in (
        ("p.t-1.final_pnl", {"a figure of another position"}),
        ("p.t-1.exit_at", {"a figure of another position"}),
        ("p.t-1.name", set()),
        ("p.t-2.final_pnl", set()),
        ("pnl.total", set()),
    ):
        assert kinds(subject, with_text(f"See {{{name}}}.", "what_went_wrong")) == expected, name
        assert kinds(subject, with_text(f"See {{{name}}}.")) == set()


def test_what_was_lost_is_told_without_its_sign(subject: Subject) -> None:
    """ "Lost -2.40" would be a gain."""
    grounded = check(
        subject,
        json.dumps(with_text("It lost {pnl.total}: a loss of about {h.H-7.pnl}, down by {pnl.total}.")),
    )
    assert isinstance(grounded, GroundedWords)
    assert grounded.fields["what_worked"] == (
        "It lost 2.40 USDC: a loss of about 6.90 USDC (n = 3), down by 2.40 USDC."
    )


def test_slots_are_filled_once(tmp_path: Path) -> None:
    """A strategy named like a slot is shown by its name; no figure comes in its place."""
    store = open_store(str(tmp_path / "retro.db"))
    week_subject = report_subject(plain.words(lived(store, strategy="{pnl.total}")))
    store.close()
    grounded = check(week_subject, json.dumps(with_text("{p.t-2.strategy} lost {pnl.total}.")))
    assert isinstance(grounded, GroundedWords)
    assert grounded.fields["what_worked"] == "{pnl.total} lost 2.40 USDC."


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80), st.sampled_from(FIELDS))
def test_whatever_is_written_nothing_that_counts_gets_through(
    subject: Subject, text: str, field: str
) -> None:
    """Any text at all: it is refused, or it holds letters, punctuation and slots only."""
    checked = check(subject, json.dumps(with_text(text, field)))
    if isinstance(checked, GroundedWords):
        bare = re.sub(r"\{[^{}]*\}", "", text)
        assert not any(c.isnumeric() or c in "<>&*_`#[]|@%$" or ord(c) > 0x2030 for c in bare)
    else:
        assert checked
        assert all(isinstance(fault, Objection) and fault.kind for fault in checked)


def test_the_agent_of_these_tests_is_reviewed(subject: Subject) -> None:
    assert subject.figures["figures"]["agent"] == AGENT
    assert subject.figures["may_be_proposed"] == ["H-7"]
